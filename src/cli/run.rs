//! `turnlock run`: flock(1)'s job, in turn.

use super::{
    command::{self, Signals},
    create::Creation,
    escape, exit,
    file::{self, Identity, identity},
    lock::{Algorithm, Guard, Lock, OnDeath, OpenOptions},
    print,
    waiting::{self, NotAcquired, Waiting},
    wanted::{Parts, Wanted},
};
use std::{
    ffi::OsString,
    io::IsTerminal,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
    time::{Duration, Instant},
};
use turnlock::{Acquired, Error, LockFile, Participant};

/// Run a command while holding a lock
///
/// Waits for its turn, runs the command, unlocks, and ends with the command's exit code. The lock file is created if it
/// is not there. As with flock(1), no -- is needed before the command: what follows its name is the command's own.
///
/// A signal sent to turnlock is passed on to the command; SIGTSTP and SIGCONT stop and continue both. The lock is held
/// until the command ends, not until its background processes do. Should turnlock itself be killed, the lock stays held
/// until the command and what it left in the background have ended (see --close), and the next holder is told that its
/// predecessor died.
///
/// The command's environment says what came with the lock: TURNLOCK_FILE, TURNLOCK_LOCK, TURNLOCK_FENCING_TOKEN,
/// TURNLOCK_PREVIOUS_OWNER_DIED ("0" or "1") and, after a death, TURNLOCK_PREVIOUS_OWNER and
/// TURNLOCK_PREVIOUS_OWNER_PID. A command that succeeds is taken to have repaired what a dead holder left. A command
/// that is killed by a signal counts as a holder that died inside; so does one that fails after it was told of a death.
/// (TURNLOCK_INSIDE is how a run inside a run of the same lock is noticed.)
///
/// What is held is all of the lock, whichever kind it is (of a semaphore, all permits), or what --shared, --permits, --range
/// or --key say. A command that dies while it only reads, or has permits, leaves nothing to repair. Who holds a range or a
/// key is told of a death in what it holds; what it holds exclusively, and all of, counts as repaired when it succeeds.
///
/// On a terminal, a wait of more than a second says who is waited for. A lock file that is deleted or replaced during
/// the wait is opened again; while the command runs, it is reported at the end, since newcomers will not have waited.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  the command's own; 128 + N if signal N killed it
  -E CODE (1)  the lock was taken, with --try, or the time limit passed
  64  the command line is wrong
  65  the lock is closed: a holder died and its data were never repaired (see `turnlock reset`)
  66  the lock file cannot be opened or created, or the lock is of another kind than was asked for
  69  the command could not be started
  71  something else went wrong, or this runs inside another `turnlock run` of the same lock

EXAMPLES
  turnlock run /run/app.lock ./nightly-report
  turnlock run --try --lock backup /run/app.lock -- rsync -a /srv /backup
  turnlock run --timeout 5 -E 75 /run/app.lock -- ./import
  turnlock run --shared --lock cache /run/app.lock ./report     beside other readers
  turnlock run --exclusive --lock cache /run/app.lock ./refresh
  turnlock run --permits 4 --lock jobs /run/app.lock ./convert  four at a time
  turnlock run --lock rows --range 100-199 /run/app.lock ./fix
  turnlock run --lock users --key ada /run/app.lock ./move-home")]
pub struct Run {
    /// The name of the lock in the file, 1 to 63 bytes
    #[arg(long, short = 'l', value_name = "NAME", default_value = "default")]
    lock: String,
    /// Do not wait: end at once if the lock is taken
    #[arg(long = "try", short = 'n', visible_alias = "nonblock", conflicts_with = "timeout")]
    try_once: bool,
    /// Wait at most so long, in seconds; fractions allowed
    #[arg(long, short = 'w', visible_alias = "wait", value_name = "SECONDS", value_parser = super::seconds::seconds)]
    timeout: Option<Duration>,
    /// What the lock must be, and is to be if it is created now: a mutex (bakery), a ring, whose turn goes round, or a mutex by
    /// messages, in a file with --mailboxes. If not said, whatever it is, and bakery if it is created now
    #[arg(long, value_enum, value_name = "NAME")]
    algorithm: Option<Algorithm>,
    #[command(flatten)]
    parts: Parts,
    /// With --algorithm sum: from one slot to the next in the order of turns; coprime to the file's participant slots
    #[arg(long, value_name = "N", requires = "algorithm")]
    step: Option<u32>,
    /// If the lock is created now, as a mutex, a rwlock or a semaphore: how long those who wait for it let others pass before they queue
    /// for good, in seconds; 0 is strict first come first served. One millisecond if not said; a lock that exists
    /// keeps what it has
    #[arg(long, value_name = "SECONDS", value_parser = super::seconds::seconds)]
    patience: Option<Duration>,
    /// If the lock is created now: what the death of a holder means. `release`, if not said, since no command repairs
    /// another one's data: the next command is told (TURNLOCK_PREVIOUS_OWNER_DIED=1), and that is all. A lock that exists
    /// keeps what it has
    #[arg(long, value_enum, value_name = "POLICY", default_value_t)]
    on_death: OnDeath,
    /// The exit code when the lock was taken or the time limit passed
    #[arg(long, short = 'E', value_name = "CODE", default_value_t = 1)]
    conflict_exit_code: u8,
    /// Do not let the command inherit what keeps the slot alive. It makes a difference only if turnlock itself is
    /// killed: the lock then passes on at once, whether or not the command still runs. Without it, the lock stays held
    /// until the command has ended, and whatever it left in the background. (When turnlock is not killed it unlocks as
    /// soon as the command ends; background processes never keep the lock then, unlike with flock)
    #[arg(long, short = 'o')]
    close: bool,
    /// What the holder is called in `turnlock status`; the command's name if not said
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Say what is waited for and how long it took, on a terminal or not
    #[arg(long, short = 'v')]
    verbose: bool,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, required = true, num_args = 1.., value_name = "CMD")]
    command: Vec<OsString>,
    #[command(flatten, next_help_heading = "If the lock file is created now")]
    creation: Creation,
}

impl Run {
    /// Whether what was said goes together. If not, what does not.
    pub fn check(&self) -> Result<(), String> {
        self.parts.wanted()?;
        match self.algorithm {
            None | Some(Algorithm::Bakery) => Ok(()),
            Some(_) if self.patience.is_none() => Ok(()),
            Some(algorithm) if algorithm.is_by_messages() => {
                Err("--patience is not for locks by messages: leave it out".into())
            }
            Some(_) => Err("--patience is not for rings; on a ring nobody overtakes, so leave it out".into()),
        }
    }

    /// Runs it.
    pub fn run(&self) -> ExitCode {
        self.try_run().unwrap_or_else(|failure| print::fail(failure.code, &failure.why))
    }

    fn try_run(&self) -> Result<ExitCode, Failure> {
        let began = Instant::now();
        // Checked before.
        let wanted = self.parts.wanted().map_err(|why| Failure { code: exit::USAGE, why })?;
        let limit = if self.try_once { Some(Duration::ZERO) } else { self.timeout };
        let shown = escape::path(&self.file);
        if self.verbose {
            print::message(&format_args!("waiting for {:?} in {shown}", self.lock));
        }
        // Each further round because somebody deleted or replaced the file.
        for _ in 0..ROUNDS {
            let opened = match self.open(&wanted) {
                Err(Error::Replaced { .. }) => continue,
                opened => opened.map_err(|error| Failure::new(exit::NO_FILE, error))?,
            };
            let path = file::path(&opened.file, &self.file);
            let wait = Waiting {
                path: &path,
                file: opened.identity,
                name: &self.lock,
                participant: &opened.participant,
                wanted: &wanted,
                limit: limit.map(|limit| limit.saturating_sub(began.elapsed())),
                tell: self.verbose || std::io::stderr().is_terminal(),
            };
            let guard = match wait.acquire(&opened.lock) {
                Ok(guard) => guard,
                Err(NotAcquired::Error(Error::Replaced { .. })) => {
                    if self.verbose {
                        print::message(&format_args!(
                            "{shown} was deleted or replaced: waiting in the new file"
                        ));
                    }
                    continue;
                }
                Err(NotAcquired::Error(Error::WouldBlock | Error::TimedOut)) => {
                    if self.verbose {
                        print::message(&format_args!("{:?} in {shown} is taken", self.lock));
                    }
                    return Ok(ExitCode::from(self.conflict_exit_code));
                }
                Err(NotAcquired::Error(error @ Error::NotRecoverable)) => {
                    return Err(Failure::new(exit::NOT_CONSISTENT, error));
                }
                Err(NotAcquired::Error(error @ Error::InvalidArgument(_))) => {
                    return Err(Failure::new(exit::NO_FILE, error));
                }
                Err(NotAcquired::Error(error)) => return Err(Failure::new(exit::OS, error)),
                Err(NotAcquired::HeldByAncestor(why)) => return Err(Failure { code: exit::OS, why }),
            };
            if self.verbose {
                print::message(&format_args!("got it after {:.3} s", began.elapsed().as_secs_f64()));
            }
            let ended = self.run_command(guard, &path, &opened);
            if identity(&path) != Some(opened.identity) {
                print::message(&format_args!(
                    "{shown} was deleted or replaced while the command ran: whoever came since did not wait for it, and \
                     may have run beside it"
                ));
            }
            return ended;
        }
        Err(Failure::new(exit::NO_FILE, Error::Replaced { path: self.file.clone() }))
    }

    /// Opens the file and what is needed in it. [`Error::Replaced`] if the path names another one by then.
    fn open(&self, wanted: &Wanted) -> turnlock::Result<Opened> {
        let name = Path::new(&self.command[0]).file_name().map(|name| name.to_string_lossy().into_owned());
        let label = self.label.clone().or(name).unwrap_or_default();
        let by_messages = self.algorithm.is_some_and(Algorithm::is_by_messages);
        // One that is there has the mailboxes that it has.
        let is_new = by_messages && identity(&self.file).is_none();
        let mut options =
            if is_new { self.creation.with_mailboxes().options() } else { self.creation.options() };
        let file = file::open(options.label(&label), &self.file)?;
        let path = file::path(&file, &self.file);
        let before = identity(&path);
        // Compares the path with the open file: so what the path names before and after is that file.
        let participant = file.participant_options().inherited_by_children(!self.close).open()?;
        let identity = identity(&path).filter(|after| before == Some(*after));
        let identity = identity.ok_or_else(|| Error::Replaced { path: self.file.clone() })?;
        let options = OpenOptions {
            algorithm: self.algorithm,
            step: self.step,
            patience: self.patience,
            on_death: self.on_death,
            wanted: wanted.clone(),
            must_exist: false,
        };
        let lock = Lock::open(&file, &self.lock, &options)?;
        Ok(Opened { lock, participant, file, identity })
    }

    fn run_command(&self, mut guard: Guard, path: &Path, opened: &Opened) -> Result<ExitCode, Failure> {
        let os = |error| Failure::new(exit::OS, error);
        let Acquired { fencing_token, previous_owner_died, .. } = guard.acquired();
        // Of the runs that this one is inside, and of this one.
        let mut inside = std::env::var(waiting::INSIDE).map_or(String::new(), |outer| outer + " ");
        inside += &waiting::acquisition(opened.identity, opened.participant.slot(), fencing_token);
        let mut command = Command::new(&self.command[0]);
        command
            .env(waiting::INSIDE, inside)
            .args(&self.command[1..])
            .env("TURNLOCK_FILE", path)
            .env("TURNLOCK_LOCK", &self.lock)
            .env("TURNLOCK_FENCING_TOKEN", fencing_token.to_string())
            .env("TURNLOCK_PREVIOUS_OWNER_DIED", if previous_owner_died { "1" } else { "0" })
            .env_remove("TURNLOCK_PREVIOUS_OWNER")
            .env_remove("TURNLOCK_PREVIOUS_OWNER_PID");
        if let Some(dead) = guard.previous_owner() {
            if guard.is_part() {
                print::message(&format_args!(
                    "somebody who held this part of {:?} died meanwhile; of that lock's holders {} (pid {}) died last",
                    self.lock, dead.label, dead.pid
                ));
            } else {
                print::message(&format_args!(
                    "the previous holder of {:?}, {} (pid {}), died while it had the lock",
                    self.lock, dead.label, dead.pid
                ));
            }
            command
                .env("TURNLOCK_PREVIOUS_OWNER", dead.label)
                .env("TURNLOCK_PREVIOUS_OWNER_PID", dead.pid.to_string());
        }
        let system = |what: String| move |source| Failure::new(exit::OS, Error::System { what, source });
        let signals = Signals::keep().map_err(system("listening for signals".into()))?;
        let status = match command::run(&mut command, signals) {
            Ok(status) => status.map_err(system("waiting for the command".into()))?,
            Err(source) => {
                // Not started, not repaired: the one after us is told of the death again.
                if previous_owner_died { guard.abandon() } else { guard.unlock() }.map_err(os)?;
                let what = format!("cannot start {:?}", self.command[0]);
                return Err(Failure::new(exit::CANNOT_RUN, Error::System { what, source }));
            }
        };
        let unlocked = if status.signal().is_some() || (previous_owner_died && !status.success()) {
            guard.abandon()
        } else {
            if previous_owner_died {
                guard.mark_consistent().map_err(os)?;
            }
            guard.unlock()
        };
        match unlocked {
            // Said below, and the command has run all the same.
            Err(Error::Replaced { .. }) => {}
            unlocked => unlocked.map_err(os)?,
        }
        Ok(exit_code(status))
    }
}

/// How often a file may be deleted or replaced during one wait.
const ROUNDS: u32 = 10_000;

/// What is needed of the lock file. In the order in which it is dropped.
struct Opened {
    lock: Lock,
    participant: Participant,
    file: LockFile,
    identity: Identity,
}

/// An exit code, and why.
struct Failure {
    code: u8,
    why: String,
}

impl Failure {
    fn new(code: u8, error: Error) -> Self {
        let how = match &error {
            Error::ParticipantsFull { .. } => " (`turnlock create --participants N` does)",
            Error::LocksFull { .. } => " (`turnlock create --locks N` does)",
            _ => "",
        };
        Self { code, why: format!("{error}{how}") }
    }
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(exit::FAILED))
}
