//! `turnlock once`: runs a command unless that was done.

use super::{
    escape, exit,
    failed::{Failed, Failure},
    file, print,
    run::exit_code,
    signals::{self, Ended, Signals},
    waiting,
    waits::{self, Opened, Wait, Waits},
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};
use turnlock::{Error, LockFile, OnceRun};

/// Run a command once, of all processes that call this
///
/// Runs the command unless it was done: the first one runs it, and those that come meanwhile wait. If it succeeds, with exit
/// code 0, it is done, and they end with 0 too, and so do all that come later, without having run theirs. If it fails, or is
/// killed, the next one runs its command. What is done stays done until a --reset, or until the machine boots, unless
/// --across-boots was said when it was created. The lock file and the once are created if they are not there.
///
/// Should turnlock itself be killed, the next one runs its command, whether or not the command of the killed one still runs, and is
/// told: TURNLOCK_PREVIOUS_OWNER_DIED=1, with TURNLOCK_PREVIOUS_OWNER and TURNLOCK_PREVIOUS_OWNER_PID, so that it can clean up what
/// is half-done. TURNLOCK_FILE and TURNLOCK_LOCK are the file and the name. A signal sent to turnlock is passed on to the command;
/// sent to one that waits, it ends it.
#[derive(clap::Args)]
#[command(
    override_usage = "turnlock once [OPTIONS] <FILE> <NAME> [--] <CMD>...\n       turnlock once --reset <FILE> <NAME>"
)]
#[command(after_help = "\
EXIT CODES
  0  it is done, by this one or by an earlier one
  the command's own, if that fails; 128 + N if signal N killed it: it is not done
  -E CODE (1)  another one was at it, with --try, or the time limit passed
  64  the command line is wrong
  66  the lock file cannot be opened or created, or the name is that of something else
  69  the command could not be started
  71  something else went wrong, or this runs inside the command of the same once

EXAMPLES
  turnlock once /run/app.lock warm-cache -- ./warm-cache        by whichever worker comes first
  turnlock once --across-boots /var/lib/app/app.lock schema-7 -- ./migrate 7
  turnlock once --reset /run/app.lock warm-cache                 the next one does it again
  turnlock status --lock schema-7 /var/lib/app/app.lock          whether it is done, or who is at it")]
pub struct RunOnce {
    /// Do not wait: end at once if another one is at it
    #[arg(long = "try", short = 'n', visible_alias = "nonblock", conflicts_with = "timeout")]
    try_once: bool,
    /// Have it be done again by the next one, and run nothing. Waits while one is at it
    #[arg(long, conflicts_with_all = ["command", "across_boots", "try_once", "timeout"])]
    reset: bool,
    /// What is done stays done when the machine boots, if the once is created now: for work on a disk, on which the lock file lies
    /// too
    #[arg(long)]
    across_boots: bool,
    /// Do not say that it is done
    #[arg(long, short = 'q')]
    quiet: bool,
    #[command(flatten)]
    waits: Waits,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
    /// The name of the once in the file, 1 to 63 bytes
    name: String,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, required_unless_present = "reset", num_args = 1.., value_name = "CMD")]
    command: Vec<OsString>,
}

/// What came of it.
enum Outcome {
    /// It was done by an earlier one.
    WasDone,
    /// It was run.
    Ran(Result<ExitCode, Failed>),
}

impl RunOnce {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let name = escape::text(&self.name);
        if self.reset {
            let path = escape::path(&self.file);
            return match self.reset() {
                Ok(()) => print::and_end(&format!("{name:?} in {path} is to be done again\n"), 0),
                Err(failed) => failed.end(),
            };
        }
        match self.try_run() {
            Ok(Outcome::WasDone) => {
                if !self.quiet {
                    print::message(&format_args!("{name:?} is done already"));
                }
                ExitCode::SUCCESS
            }
            Ok(Outcome::Ran(ended)) => ended.unwrap_or_else(Failed::end),
            Err(failed) => failed.end(),
        }
    }

    fn wait<'a>(&'a self, signals: &'a Signals, label: &'a str) -> Wait<'a> {
        let limit = if self.try_once { Some(Duration::ZERO) } else { self.waits.timeout };
        Wait { waits: &self.waits, limit, file: &self.file, name: &self.name, label, signals }
    }

    fn reset(&self) -> Result<(), Failed> {
        let mut options = LockFile::options();
        options.must_exist(true).label("turnlock once");
        drop(file::open(&options, &self.file).map_err(waits::failure)?);
        let signals = waits::keep_signals()?;
        self.wait(&signals, "turnlock once").with(|opened, _| {
            let mut options = opened.file.once_options();
            options.must_exist(true).open(&self.name)?.reset()
        })
    }

    fn try_run(&self) -> Result<Outcome, Failed> {
        let signals = waits::keep_signals()?;
        let label = Path::new(&self.command[0]).file_name().unwrap_or_default().to_string_lossy();
        self.wait(&signals, &label).with(|opened, limit| {
            let mut options = opened.file.once_options();
            let once = options.across_boots(self.across_boots).open(&self.name)?;
            let run = match limit {
                None => once.begin(),
                Some(limit) => once.begin_for(limit),
            }?;
            opened.is_over();
            let Some(run) = run else { return Ok(Outcome::WasDone) };
            let inside = once.status()?.holders.first().map(|holder| {
                waiting::acquisition(opened.identity, holder.participant.slot, holder.fencing_token)
            });
            Ok(Outcome::Ran(self.run_command(run, opened, inside, &signals)))
        })
    }

    fn run_command(
        &self,
        run: OnceRun,
        opened: &Opened,
        inside: Option<String>,
        signals: &Signals,
    ) -> Result<ExitCode, Failed> {
        // Begun, and nothing has happened yet.
        if let Some(signal) = signals.asked_to_end() {
            drop(run);
            return Err(Failed::Signal(signal));
        }
        let name = escape::text(&self.name);
        let dead = run.previous_runner();
        if let Some(dead) = &dead {
            print::message(&format_args!(
                "the one that was at {name:?}, {} (pid {}), died: what it did may be half-done",
                dead.label, dead.pid
            ));
        }
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        command.env("TURNLOCK_FILE", &opened.path).env("TURNLOCK_LOCK", &self.name);
        command.env("TURNLOCK_PREVIOUS_OWNER_DIED", if dead.is_some() { "1" } else { "0" });
        let of_the_dead = dead.map(|dead| (dead.label, dead.pid.to_string())).unzip();
        for (name, value) in
            [("TURNLOCK_PREVIOUS_OWNER", of_the_dead.0), ("TURNLOCK_PREVIOUS_OWNER_PID", of_the_dead.1)]
        {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let around = std::env::var(waiting::INSIDE).ok();
        command.env(waiting::INSIDE, around.into_iter().chain(inside).collect::<Vec<_>>().join(" "));
        let status = match signals.run(&mut command) {
            Ok(Ended { status: Err(source), .. }) => {
                let error = Error::System { what: "waiting for the command".into(), source };
                return Err(Failure::new(exit::OS, error).into());
            }
            Ok(Ended { by_interrupt: true, .. }) => {
                drop(run);
                return Err(Failed::Signal(signals::INTERRUPT));
            }
            Ok(Ended { status: Ok(status), .. }) => status,
            Err(source) => {
                let code = match source.kind() {
                    std::io::ErrorKind::OutOfMemory | std::io::ErrorKind::WouldBlock => exit::OS,
                    _ => exit::CANNOT_RUN,
                };
                let what = format!("cannot start {:?}", self.command[0]);
                return Err(Failure::new(code, Error::System { what, source }).into());
            }
        };
        if !status.success() {
            drop(run);
            print::message(&format_args!(
                "{name:?} is not done: the command failed, and the next one runs it"
            ));
            return Ok(exit_code(status));
        }
        run.complete().map_err(waits::failure)?;
        if !self.quiet {
            print::message(&format_args!("{name:?} is done"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
