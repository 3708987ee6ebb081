//! Waiting for something else than a lock: for an event, for the others at a barrier, for the one that is at a once.
//!
//! What can be waited for again, where the file was deleted or replaced meanwhile, is waited for again in the new file.

use super::{
    create::Creation,
    describe, escape, exit,
    failed::{Failed, Failure},
    file::{self, Identity, identity},
    no_lock, print,
    signals::Signals,
    wait_line::WaitLine,
    waiting::is_held_around_us,
};
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use turnlock::{Error, LockFile, Participant};

/// How one waits, on the command line.
#[derive(Debug, clap::Args)]
pub struct Waits {
    /// Wait at most so long, in seconds; fractions allowed
    #[arg(long, short = 'w', visible_alias = "for", value_name = "SECONDS", value_parser = super::seconds::seconds,
        allow_negative_numbers = true)]
    pub timeout: Option<Duration>,
    /// The exit code when the time limit passed
    #[arg(long, short = 'E', value_name = "CODE", default_value_t = 1)]
    conflict_exit_code: u8,
    /// What it is called in `turnlock status` while it waits
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
    /// Say what is waited for and how long it took, on a terminal or not
    #[arg(long, short = 'v')]
    pub verbose: bool,
    #[command(flatten, next_help_heading = "If the lock file is created now")]
    creation: Creation,
}

/// One wait.
pub struct Wait<'a> {
    /// How.
    pub waits: &'a Waits,
    /// For how long at most; nothing: until it is over.
    pub limit: Option<Duration>,
    /// The lock file, as it was named.
    pub file: &'a Path,
    /// What is waited for there.
    pub name: &'a str,
    /// What this process is called.
    pub label: &'a str,
    /// Those that end it.
    pub signals: &'a Signals,
}

/// The file that is waited in.
pub struct Opened {
    pub file: LockFile,
    pub participant: Participant,
    /// Which one it is.
    pub identity: Identity,
    /// Where to find it again.
    pub path: PathBuf,
    lookout: Lookout,
}

impl Opened {
    /// The wait is over, and what comes now is not to be ended.
    pub fn is_over(&self) {
        self.lookout.watch().take();
    }
}

/// How often a file may be deleted or replaced during one wait.
const ROUNDS: u32 = 10_000;
/// When to look for the first time: whether waiting can end, and whether the path still names the file.
const FIRST_LOOK: Duration = Duration::from_millis(200);
/// When to look again, and to say what was seen; and how often from then on.
const FURTHER_LOOKS: Duration = Duration::from_secs(1);

impl Wait<'_> {
    /// Waits by `wait`, which is told for how long at most.
    pub fn with<T>(
        &self,
        wait: impl Fn(&Opened, Option<Duration>) -> turnlock::Result<T>,
    ) -> Result<T, Failed> {
        let began = Instant::now();
        let shown = escape::path(self.file);
        if self.waits.verbose {
            print::message(&format_args!("waiting for {:?} in {shown}", self.name));
        }
        // Each further round because the file was deleted or replaced.
        for _ in 0..ROUNDS {
            let opened = match self.open() {
                Err(Error::Replaced { .. }) => continue,
                opened => opened.map_err(failure)?,
            };
            if let Some(signal) = self.signals.asked_to_end() {
                return Err(Failed::Signal(signal));
            }
            let limit = self.limit.map(|limit| limit.saturating_sub(began.elapsed()));
            let waited = wait(&opened, limit);
            let end = opened.lookout.watch().take().and_then(|watch| watch.end);
            let interrupted = matches!(waited, Err(Error::Interrupted)) && end.is_none();
            if let Some(signal) = self.signals.asked_to_end().filter(|_| interrupted) {
                return Err(Failed::Signal(signal));
            }
            match (waited, end) {
                (Ok(done), _) => {
                    if self.waits.verbose {
                        print::message(&format_args!("waited for {:.3} s", began.elapsed().as_secs_f64()));
                    }
                    return Ok(done);
                }
                (Err(Error::Replaced { .. }), _) | (Err(Error::Interrupted), Some(End::Replaced)) => {}
                // The others that waited in the old file have gone over to the new one.
                (Err(Error::BrokenBarrier(_)), _) if identity(&opened.path) != Some(opened.identity) => {}
                (Err(Error::Interrupted), Some(End::Never(why))) => {
                    return Err(Failure { code: exit::OS, why }.into());
                }
                (Err(Error::WouldBlock(_) | Error::TimedOut(_)), _) => {
                    if self.waits.verbose {
                        print::message(&format_args!("the time is over: {:?} in {shown}", self.name));
                    }
                    return Err(Failed::Quietly(self.waits.conflict_exit_code));
                }
                (Err(error), _) => return Err(failure(error).into()),
            }
            if self.waits.verbose {
                print::message(&format_args!("{shown} was deleted or replaced: waiting in the new file"));
            }
        }
        Err(Failure::new(exit::NO_FILE, Error::Replaced { path: self.file.to_owned() }).into())
    }

    /// Opens the file. [`Error::Replaced`] if the path names another one by then.
    fn open(&self) -> turnlock::Result<Opened> {
        let lookout = Lookout::default();
        let mut options = self.waits.creation.options();
        options.label(self.waits.label.as_deref().unwrap_or(self.label)).interrupted_by({
            let (signals, lookout) = (self.signals.clone(), lookout.clone());
            move || lookout.should_stop(|| signals.asked_to_end().is_some())
        });
        let opened = file::open(&options, self.file)?;
        let path = file::path(&opened, self.file);
        let before = identity(&path);
        // Compares the path with the open file: so what the path names before and after is that file.
        let participant = opened.participant()?;
        let identity = identity(&path).filter(|after| before == Some(*after));
        let identity = identity.ok_or_else(|| Error::Replaced { path: self.file.to_owned() })?;
        let verbose = self.waits.verbose;
        *lookout.watch() = Some(Watch {
            path: path.clone(),
            identity,
            name: self.name.into(),
            line: (verbose || std::io::stderr().is_terminal()).then(|| WaitLine::new(verbose)),
            may_end_anyway: self.limit.is_some(),
            next: Instant::now() + FIRST_LOOK,
            looks: 0,
            end: None,
        });
        Ok(Opened { file: opened, participant, identity, path, lookout })
    }
}

/// What the thread that waits does between its sleeps: it looks how far what it waits for is.
#[derive(Clone, Default)]
struct Lookout(Arc<Mutex<Option<Watch>>>);

struct Watch {
    path: PathBuf,
    identity: Identity,
    name: String,
    /// Where it is said what is waited for.
    line: Option<WaitLine>,
    /// Whether the wait has an end, so that one that seems to have none is left alone.
    may_end_anyway: bool,
    next: Instant,
    looks: u32,
    /// Why the wait is to end.
    end: Option<End>,
}

enum End {
    /// The path names no file any more, or another one.
    Replaced,
    /// What it waits for can never come. In a sentence.
    Never(String),
}

impl Lookout {
    fn watch(&self) -> MutexGuard<'_, Option<Watch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks, if it is time to. Returns whether the wait should end.
    fn should_stop(&self, asked_to_end: impl FnOnce() -> bool) -> bool {
        let mut watch = self.watch();
        let Some(watch) = &mut *watch else { return false };
        if Instant::now() >= watch.next {
            watch.next = Instant::now() + FURTHER_LOOKS;
            watch.look();
        }
        watch.end.is_some() || asked_to_end()
    }
}

impl Watch {
    fn look(&mut self) {
        self.looks += 1;
        if identity(&self.path) != Some(self.identity) {
            self.end = Some(End::Replaced);
            return;
        }
        let Ok(status) = file::snapshot(&self.path) else { return };
        let Some(lock) = status.locks.iter().find(|lock| lock.name == self.name) else { return };
        let inside = lock.holders.iter().find(|holder| is_held_around_us(self.identity, holder));
        if let Some(holder) = inside.filter(|_| !self.may_end_anyway) {
            let who = describe::without_colours(&describe::who(&holder.participant));
            let (name, path) = (&self.name, escape::path(&self.path));
            self.end = Some(End::Never(format!(
                "{name:?} in {path} is being done by {who}, and this runs inside it: waiting would never end"
            )));
            return;
        }
        if self.looks == 1 {
            return;
        }
        let state = match &lock.holders[..] {
            [holder] => Some(describe::runner(holder)),
            _ => no_lock::state(lock),
        };
        let text = format!("waiting for {}: {}", escape::text(&self.name), state.unwrap_or_default());
        let text = describe::without_colours(&text);
        let shown = self.line.as_mut().map(|line| line.show(|columns| describe::shortened(&text, columns)));
        if shown == Some(false) {
            self.line = None;
        }
    }
}

/// Keeps signals that ask for an end from here on.
pub fn keep_signals() -> Result<Signals, Failure> {
    let system = |source| Error::System { what: "listening for signals".into(), source };
    Signals::keep().map_err(|source| Failure::new(exit::OS, system(source)))
}

/// Returns how a command ends that gets this error.
pub fn failure(error: Error) -> Failure {
    Failure::new(exit::code(&error), error)
}
