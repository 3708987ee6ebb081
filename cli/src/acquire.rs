//! A lock is taken: the file opened, the turn waited for, and something done while it is held.

use super::{
    asked::Asked,
    escape, exit,
    failed::{Failed, Failure},
    file::{self, Identity, identity},
    lock::{Guard, Lock},
    print,
    signals::Signals,
    waiting::{Lookout, NotAcquired, Waiting},
    wanted::Wanted,
};
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};
use turnlock::{Error, LockFile, Participant, ParticipantOptions};

/// How often a file may be deleted or replaced during one wait.
const ROUNDS: u32 = 10_000;

/// One acquisition that is to be.
pub struct Acquisition<'a> {
    /// What is asked of the lock.
    pub asked: &'a Asked,
    /// The lock file, as it was named.
    pub file: &'a Path,
    /// The participant's label, if none was given.
    pub label: String,
    /// Which participant it is to be.
    pub participant: &'a dyn Fn(&mut ParticipantOptions),
    /// What asks for an end meanwhile.
    pub signals: &'a Signals,
}

/// What is needed of the lock file. In the order in which it is dropped.
pub struct Opened {
    /// The lock.
    pub lock: Lock,
    /// As whom the lock is held.
    pub participant: Participant,
    /// The file.
    pub file: LockFile,
    /// Which one it is.
    pub identity: Identity,
}

impl Acquisition<'_> {
    /// Waits for its turn, and does `act` with what is held by then.
    pub fn with<T>(&self, act: impl FnOnce(Guard, &Path, &Opened) -> Result<T, Failed>) -> Result<T, Failed> {
        let began = Instant::now();
        let Asked { lock: name, verbose, conflict_exit_code, messages, .. } = self.asked;
        let (wanted, limit) = (self.asked.wanted()?, self.asked.limit());
        let shown = escape::path(self.file);
        if *verbose {
            print::message(&format_args!("waiting for {name:?} in {shown}"));
        }
        let lookout = Lookout::default();
        // Each further round because the file was deleted or replaced.
        for _ in 0..ROUNDS {
            let opened = match self.open(&wanted, &lookout) {
                Err(Error::Replaced { .. }) => continue,
                opened => opened.map_err(|error| Failure::new(exit::NO_FILE, error))?,
            };
            let path = file::path(&opened.file, self.file);
            let wait = Arc::new(Waiting {
                path: path.clone(),
                file: opened.identity,
                name: name.clone(),
                participant: opened.participant.clone(),
                wanted: wanted.clone(),
                limit: limit.map(|limit| limit.saturating_sub(began.elapsed())),
                verbose: *verbose,
                tell: *verbose || std::io::stderr().is_terminal(),
            });
            if let Some(signal) = self.signals.asked_to_end() {
                return Err(Failed::Signal(signal));
            }
            let guard = match wait.acquire(&opened.lock, &opened.participant, &lookout) {
                Ok(guard) => guard,
                Err(NotAcquired::Error(Error::Replaced { .. })) => {
                    if *verbose {
                        print::message(&format_args!(
                            "{shown} was deleted or replaced: waiting in the new file"
                        ));
                    }
                    continue;
                }
                Err(NotAcquired::Error(Error::WouldBlock(by) | Error::TimedOut(by))) => {
                    if *verbose {
                        print::message(&format_args!("{name:?} in {shown} is taken{}", wait.by_whom(by)));
                    }
                    (messages.taken)(messages.waits);
                    return Err(Failed::Quietly(*conflict_exit_code));
                }
                Err(NotAcquired::Error(error)) => {
                    return Err(match (self.signals.asked_to_end(), error) {
                        (Some(signal), Error::Interrupted) => Failed::Signal(signal),
                        (_, error @ Error::NotRecoverable) => {
                            Failure::new(exit::NOT_CONSISTENT, error).into()
                        }
                        (_, error @ Error::InvalidArgument(_)) => Failure::new(exit::NO_FILE, error).into(),
                        (_, error) => Failure::new(exit::OS, error).into(),
                    });
                }
                Err(NotAcquired::HeldByAncestor(why)) => {
                    return Err(Failure { code: exit::OS, why }.into());
                }
            };
            if *verbose {
                print::message(&format_args!("got it after {:.3} s", began.elapsed().as_secs_f64()));
            }
            (messages.got)(began.elapsed());
            // Inside, and nothing has happened yet.
            if let Some(signal) = self.signals.asked_to_end() {
                let os = |error| Failure::new(exit::OS, error);
                if guard.acquired().previous_owner_died { guard.abandon() } else { guard.unlock() }
                    .map_err(os)?;
                return Err(Failed::Signal(signal));
            }
            return act(guard, &path, &opened);
        }
        Err(Failure::new(exit::NO_FILE, Error::Replaced { path: self.file.to_owned() }).into())
    }

    /// Opens the file and what is needed in it. [`Error::Replaced`] if the path names another one by then.
    fn open(&self, wanted: &Wanted, lookout: &Lookout) -> turnlock::Result<Opened> {
        let label = self.asked.label.as_ref().unwrap_or(&self.label);
        // One that is there has the mailboxes that it has.
        let is_new = self.asked.is_by_messages() && identity(self.file).is_none();
        let creation = &self.asked.creation;
        let mut options = if is_new { creation.with_mailboxes().options() } else { creation.options() };
        options.interrupted_by({
            let (signals, lookout) = (self.signals.clone(), lookout.clone());
            move || lookout.should_stop(|| signals.asked_to_end().is_some())
        });
        let file = file::open(options.label(label), self.file)?;
        let path = file::path(&file, self.file);
        let before = identity(&path);
        // Compares the path with the open file: so what the path names before and after is that file.
        let mut participant = file.participant_options();
        (self.participant)(&mut participant);
        if let Some(slot) = self.asked.slot {
            participant.slot(slot);
        }
        let participant = participant.open()?;
        let identity = identity(&path).filter(|after| before == Some(*after));
        let identity = identity.ok_or_else(|| Error::Replaced { path: self.file.to_owned() })?;
        let lock = Lock::open(&file, &self.asked.lock, &self.asked.open_options(wanted))?;
        Ok(Opened { lock, participant, file, identity })
    }
}

/// Returns the environment that says what came with the lock; nothing: the variable is to be taken away.
pub fn environment(
    guard: &Guard,
    path: &Path,
    name: &str,
) -> Vec<(&'static str, Option<std::ffi::OsString>)> {
    let acquired = guard.acquired();
    let died = if acquired.previous_owner_died { "1" } else { "0" };
    let dead = guard.previous_owner();
    let pid = dead.as_ref().map(|dead| dead.pid.to_string());
    vec![
        ("TURNLOCK_FILE", Some(PathBuf::from(path).into())),
        ("TURNLOCK_LOCK", Some(name.into())),
        ("TURNLOCK_FENCING_TOKEN", Some(acquired.fencing_token.to_string().into())),
        ("TURNLOCK_PREVIOUS_OWNER_DIED", Some(died.into())),
        ("TURNLOCK_PREVIOUS_OWNER", dead.map(|dead| dead.label.into())),
        ("TURNLOCK_PREVIOUS_OWNER_PID", pid.map(Into::into)),
    ]
}

/// Says that the last holder died, if this one was told so. The file does not say whether it was killed, or a `turnlock run` gave the
/// lock on that way.
pub fn tell_of_death(guard: &Guard, name: &str) {
    let Some(dead) = guard.previous_owner() else { return };
    if guard.is_part() {
        print::message(&format_args!(
            "a holder of this part of {name:?} died meanwhile, or failed without having repaired what a dead holder left; of that \
             lock's holders {} (pid {}) was the last",
            dead.label, dead.pid
        ));
    } else {
        print::message(&format_args!(
            "the previous holder of {name:?}, {} (pid {}), did not end well while it had the lock: it died, or failed without \
             having repaired what a dead holder left",
            dead.label, dead.pid
        ));
    }
}
