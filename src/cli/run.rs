//! `turnlock run`: flock(1)'s job, in turn.

use super::{
    exit,
    lock::{Algorithm, Lock, Wish},
};
use anstream::eprintln;
use shared_child::{SharedChild, unix::SharedChildExt};
use signal_hook::{
    consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH},
    iterator::{SignalsInfo, exfiltrator::origin::WithOrigin},
    low_level::siginfo::Cause,
};
use std::{
    ffi::OsString,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
    sync::Arc,
    time::Duration,
};
use turnlock::{Acquired, Error, LockFile, ParticipantGuard};

/// Run a command while holding a lock
///
/// Waits for its turn, runs the command, gives the lock back, and ends with the command's exit code. The lock file is
/// created if it is not there. A signal sent to turnlock is passed on to the command.
///
/// The command inherits what keeps the lock's slot alive: should turnlock itself be killed, the lock stays held until
/// the command has ended too, and the next one is told that its holder died.
///
/// The command's environment says what came with the lock: TURNLOCK_FENCING_TOKEN, TURNLOCK_PREVIOUS_OWNER_DIED ("0" or
/// "1") and, after a death, TURNLOCK_PREVIOUS_OWNER and TURNLOCK_PREVIOUS_OWNER_PID. A command that succeeds is taken
/// to have repaired what a dead holder left. A command that is killed by a signal counts as a holder that died inside;
/// so does one that fails after it was told of a death.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  the command's own; 128 + N if signal N killed it
  -E CODE (1)  the lock was taken, with --try, or the time limit passed
  64  the command line is wrong
  65  the lock is closed: a holder died and its data were never repaired (see `turnlock reset`)
  66  the lock file cannot be opened or created
  69  the command could not be started
  71  something else went wrong

EXAMPLES
  turnlock run /run/app.lock -- ./nightly-report
  turnlock run --try --lock backup /run/app.lock -- rsync -a /srv /backup
  turnlock run --timeout 5 -E 75 /run/app.lock -- ./import")]
pub struct Run {
    /// The name of the lock in the file, 1 to 63 bytes
    #[arg(long, short = 'l', value_name = "NAME", default_value = "default")]
    lock: String,
    /// Do not wait: end at once if the lock is taken
    #[arg(long = "try", short = 'n', visible_alias = "nonblock", conflicts_with = "timeout")]
    try_once: bool,
    /// Wait at most so long, in seconds; fractions allowed
    #[arg(long, short = 'w', visible_alias = "wait", value_name = "SECONDS", value_parser = super::seconds)]
    timeout: Option<Duration>,
    /// What the lock must be, and is to be if it is created now: a mutex (bakery), or a ring, whose turn goes round. If
    /// not said, whatever it is, and bakery if it is created now
    #[arg(long, value_enum, value_name = "NAME")]
    algorithm: Option<Algorithm>,
    /// With --algorithm sum: from one slot to the next in the order of turns; coprime to the file's participant slots
    #[arg(long, value_name = "N", requires = "algorithm")]
    step: Option<u32>,
    /// If the lock is created now, as a mutex: how long those who wait for it let others pass before they insist on
    /// their place, in seconds; 0 is strict first come first served. One millisecond if not said; a lock that exists
    /// keeps what it has
    #[arg(long, value_name = "SECONDS", value_parser = super::seconds)]
    patience: Option<Duration>,
    /// The exit code when the lock was taken or the time limit passed
    #[arg(long, short = 'E', value_name = "CODE", default_value_t = 1)]
    conflict_exit_code: u8,
    /// Do not let the command inherit what keeps the slot alive: background processes that it leaves behind can then
    /// not hold the lock, and the lock passes on if turnlock is killed, whether or not the command still runs
    #[arg(long, short = 'o')]
    close: bool,
    /// What the holder is called in `turnlock status`; the command's name if not said
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Say what is waited for and how long it took
    #[arg(long, short = 'v')]
    verbose: bool,
    /// The lock file
    file: PathBuf,
    /// The command and its arguments
    #[arg(last = true, required = true, num_args = 1.., value_name = "CMD")]
    command: Vec<OsString>,
}

impl Run {
    /// Does what was said go together? If not, what does not.
    pub fn check(&self) -> Result<(), String> {
        match self.algorithm {
            None | Some(Algorithm::Bakery) => Ok(()),
            Some(_) if self.patience.is_none() => Ok(()),
            Some(_) => Err("--patience is for mutexes; on a ring nobody overtakes, so leave it out".into()),
        }
    }

    /// Runs it.
    pub fn run(&self) -> ExitCode {
        self.try_run().unwrap_or_else(|(code, error)| super::fail(code, &error))
    }

    fn try_run(&self) -> Result<ExitCode, (u8, Error)> {
        let name = Path::new(&self.command[0]).file_name().map(|name| name.to_string_lossy().into_owned());
        let label = self.label.clone().or(name).unwrap_or_default();
        let no_file = |error| (exit::NO_FILE, error);
        let file = LockFile::options().label(&label).open(&self.file).map_err(no_file)?;
        let wish =
            Wish { algorithm: self.algorithm, step: self.step, patience: self.patience, must_exist: false };
        let lock = Lock::open(&file, &self.lock, wish).map_err(no_file)?;
        let options = file.participant_options();
        let options = if self.close { options } else { options.inherited_by_children() };
        let participant = options.open().map_err(no_file)?;
        if self.verbose {
            eprintln!("turnlock: waiting for {:?} in {}", self.lock, self.file.display());
        }
        let began = std::time::Instant::now();
        let limit = if self.try_once { Some(Duration::ZERO) } else { self.timeout };
        let guard = match lock.take(&participant, limit) {
            Ok(guard) => guard,
            Err(Error::WouldBlock | Error::TimedOut) => {
                if self.verbose {
                    eprintln!("turnlock: {:?} in {} is taken", self.lock, self.file.display());
                }
                return Ok(ExitCode::from(self.conflict_exit_code));
            }
            Err(error @ Error::NotRecoverable) => return Err((exit::NOT_CONSISTENT, error)),
            Err(error) => return Err((exit::OS, error)),
        };
        if self.verbose {
            eprintln!("turnlock: got it after {:.3} s", began.elapsed().as_secs_f64());
        }
        self.run_command(guard)
    }

    fn run_command(&self, mut guard: ParticipantGuard) -> Result<ExitCode, (u8, Error)> {
        let os = |error| (exit::OS, error);
        let Acquired { fencing_token, previous_owner_died } = guard.acquired();
        let mut command = Command::new(&self.command[0]);
        command
            .args(&self.command[1..])
            .env("TURNLOCK_FENCING_TOKEN", fencing_token.to_string())
            .env("TURNLOCK_PREVIOUS_OWNER_DIED", if previous_owner_died { "1" } else { "0" })
            .env_remove("TURNLOCK_PREVIOUS_OWNER")
            .env_remove("TURNLOCK_PREVIOUS_OWNER_PID");
        if let Some(dead) = guard.previous_owner() {
            eprintln!(
                "turnlock: the previous holder of {:?}, {} (pid {}), died while it had the lock",
                self.lock, dead.label, dead.pid
            );
            command
                .env("TURNLOCK_PREVIOUS_OWNER", dead.label)
                .env("TURNLOCK_PREVIOUS_OWNER_PID", dead.pid.to_string());
        }
        // Before the command is started, so that no signal is lost in between.
        let signals = SignalsInfo::<WithOrigin>::new(PASSED_ON)
            .map_err(|source| os(Error::System { what: "listening for signals".into(), source }))?;
        let status = match SharedChild::spawn(&mut command) {
            Ok(child) => wait_passing_signals_on(child, signals),
            Err(source) => {
                // Not started, not repaired: the one after us is told of the death again.
                if previous_owner_died { guard.abandon() } else { guard.unlock() }.map_err(os)?;
                let what = format!("cannot start {:?}", self.command[0]);
                return Err((exit::CANNOT_RUN, Error::System { what, source }));
            }
        };
        let status =
            status.map_err(|source| os(Error::System { what: "waiting for the command".into(), source }))?;
        if status.signal().is_some() || (previous_owner_died && !status.success()) {
            guard.abandon().map_err(os)?;
        } else {
            if previous_owner_died {
                guard.mark_consistent().map_err(os)?;
            }
            guard.unlock().map_err(os)?;
        }
        Ok(exit_code(status))
    }
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(exit::FAILED))
}

const PASSED_ON: [i32; 8] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH];

fn wait_passing_signals_on(
    child: SharedChild,
    mut signals: SignalsInfo<WithOrigin>,
) -> std::io::Result<ExitStatus> {
    let child = Arc::new(child);
    let handle = signals.handle();
    let passing = std::thread::spawn({
        let child = child.clone();
        move || {
            for origin in &mut signals {
                // What the terminal sends (Ctrl-C), the kernel sends to the whole foreground group: the command too.
                if !matches!(origin.cause, Cause::Kernel) {
                    // A command that has just ended needs no signal.
                    let _ = child.send_signal(origin.signal);
                }
            }
        }
    });
    let status = child.wait();
    handle.close();
    let _ = passing.join();
    status
}
