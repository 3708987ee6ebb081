//! `turnlock run`: flock(1)'s job, in turn.

use super::{
    acquire::{self, Acquisition, Opened},
    asked::Asked,
    escape, exit,
    failed::{Failed, Failure},
    file::identity,
    lease,
    lock::Guard,
    print, shell,
    signals::{self, Ended, Signals},
    waiting,
};
use std::{
    ffi::OsString,
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
    sync::{Arc, mpsc},
    thread,
};
use turnlock::{Error, ParticipantOptions};

/// Run a command while holding a lock
///
/// Waits for its turn, runs the command, unlocks, and ends with the command's exit code. The lock file is created if it
/// is not there. As with flock(1), no -- is needed before the command: what follows its name is the command's own. The
/// options are flock(1)'s (-s, -x, -n, -w, -E, -o, -F, -c) and more; scripts written for flock(1) run as they are with
/// `turnlock flock`. For a lock that a shell holds between several commands, see `turnlock lock`.
///
/// What cron wants is what happens if nothing is said: silence, unless something is wrong; runs of the same job one after
/// the other, in the order in which they came (with -n, skipped while one is at it); the lock held as long as the
/// command runs, and no longer; the command's own exit code; nothing to clean up after a crash.
///
/// A signal sent to turnlock is passed on to the command; SIGTSTP and SIGCONT stop and continue both. Sent to one that
/// waits, it ends it, and nothing is left in the queue. The lock is held until the command ends, not until its background
/// processes do. Should turnlock itself be killed, the lock stays held until the command and what it left in the background
/// have ended (see --close), and the next holder is told that its predecessor died.
///
/// The command's environment says what came with the lock: TURNLOCK_FILE, TURNLOCK_LOCK, TURNLOCK_FENCING_TOKEN,
/// TURNLOCK_PREVIOUS_OWNER_DIED ("0" or "1") and, after a death, TURNLOCK_PREVIOUS_OWNER and
/// TURNLOCK_PREVIOUS_OWNER_PID. A command that succeeds is taken to have repaired what a dead holder left. A command
/// that is killed by a signal counts as a holder that died inside; so does one that fails after it was told of a death.
/// An exception: Ctrl-C, SIGTERM, SIGHUP, SIGQUIT and SIGPIPE are an ordinary end, of which no holder is told, unless
/// the lock was created with --on-death inform. (TURNLOCK_INSIDE is how a run inside a run of the same lock is noticed.)
///
/// What is held is all of the lock, whichever kind it is (of a semaphore, all permits), or what --shared, --permits, --range,
/// --key or --in-group say. A command that dies while it only reads, or has permits, leaves nothing to repair. A holder of a range
/// or a key is told of a death in what it holds; what it holds exclusively, and all of, counts as repaired when it
/// succeeds. A member of a group is told of the death of any other, whatever its group.
///
/// A linked lock, and permits of a linked semaphore, may be leased: this host has them until a time, and an agent renews that. Where it is not renewed the command is sent
/// SIGTERM two seconds before, and SIGKILL half a second before the lease ends, so that it does not run beside one of another host. (With
/// --no-fork nothing does that.)
///
/// On a terminal, a wait of more than a second says who is waited for, and for how long. A lock file that is deleted or
/// replaced during the wait is opened again; while the command runs, it is reported at the end, since newcomers will not
/// have waited.
#[derive(clap::Args)]
#[command(
    override_usage = "turnlock run [OPTIONS] <FILE> <CMD>...\n       turnlock run [OPTIONS] <FILE> -c <STRING>"
)]
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
  turnlock run /run/app.lock -c 'date >>log; ./import <data'   a line for the shell ($SHELL, or /bin/sh)
  turnlock run --try --lock backup /run/app.lock rsync -a /srv /backup
  turnlock run -w 5 -E 75 /run/app.lock ./import
  turnlock run --shared --lock cache /run/app.lock ./report     beside other readers
  turnlock run --exclusive --lock cache /run/app.lock ./refresh
  turnlock run --permits 4 --lock jobs /run/app.lock ./convert  four at a time
  turnlock run --lock rows --range 100-199 /run/app.lock ./fix
  turnlock run --lock users --key ada /run/app.lock ./move-home
  turnlock run --lock store --in-group 2 /run/app.lock ./convert  beside all of group 2, and none of another
  turnlock run --turn --lock stages /run/app.lock ./stage       each in turn, in whatever order they came
  */5 * * * *  turnlock run -n /run/app/poll.lock ./poll        in a crontab: not twice at once
  exec turnlock run -F /run/app.lock ./server                   one process, that keeps the lock as long as it lives")]
pub struct Run {
    /// Run this one string in a shell ($SHELL, or /bin/sh), in the place of a command and its arguments
    #[arg(long = "command", short = 'c', value_name = "STRING", conflicts_with = "command")]
    string: Option<OsString>,
    /// Become the command, in the place of starting it: it is one process, which keeps the lock until it has ended, and what
    /// it left in the background. Its end is an ordinary one, unless the lock was created with --on-death inform: then the
    /// next holder is told that it died, since no process saw how it ended
    #[arg(long, short = 'F', conflicts_with = "close")]
    no_fork: bool,
    /// Do not let the command inherit what keeps the slot alive. It makes a difference only if turnlock itself is
    /// killed: the lock then passes on at once, whether or not the command still runs. Without it, the lock stays held
    /// until the command has ended, and whatever it left in the background. (When turnlock is not killed it unlocks as
    /// soon as the command ends; background processes never keep the lock then, unlike with flock)
    #[arg(long, short = 'o')]
    close: bool,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, required_unless_present = "string", num_args = 1.., value_name = "CMD")]
    command: Vec<OsString>,
    #[command(flatten)]
    asked: Asked,
}

impl Run {
    /// Of a flock(1).
    pub fn as_flock(asked: Asked, file: PathBuf, command: Vec<OsString>, no_fork: bool, close: bool) -> Self {
        Self { asked, string: None, no_fork, close, file, command }
    }

    /// Whether what was said goes together. If not, what does not.
    pub fn check(&self) -> Result<(), String> {
        self.asked.check()
    }

    /// Runs it.
    pub fn run(&self) -> ExitCode {
        self.try_run().unwrap_or_else(Failed::end)
    }

    /// Gives the command's exit code.
    pub fn try_run(&self) -> Result<ExitCode, Failed> {
        let command = match &self.string {
            Some(string) => shell::command(string),
            None => self.command.clone(),
        };
        let label = match &self.string {
            Some(string) => shell::label(string),
            None => Path::new(&command[0]).file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let system = |what: String| move |source| Failure::new(exit::OS, Error::System { what, source });
        let signals = Signals::keep().map_err(system("listening for signals".into()))?;
        let participant = |options: &mut ParticipantOptions| {
            options.inherited_by_children(!self.close).release_on_close(self.no_fork);
        };
        let acquisition = Acquisition {
            asked: &self.asked,
            file: &self.file,
            label,
            participant: &participant,
            signals: &signals,
        };
        acquisition.with(|guard, path, opened| {
            let ended = self.run_command(&command, guard, path, opened, &signals);
            if identity(path) != Some(opened.identity) {
                print::message(&format_args!(
                    "{} was deleted or replaced while the command ran: newcomers since then did not wait for it, and \
                     may have run beside it",
                    escape::path(&self.file)
                ));
            }
            ended
        })
    }

    fn run_command(
        &self,
        words: &[OsString],
        mut guard: Guard,
        path: &Path,
        opened: &Opened,
        signals: &Signals,
    ) -> Result<ExitCode, Failed> {
        let os = |error| Failure::new(exit::OS, error);
        let previous_owner_died = guard.acquired().previous_owner_died;
        acquire::tell_of_death(&guard, &self.asked.lock);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        for (name, value) in acquire::environment(&guard, path, &self.asked.lock) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        // Of the runs that this one is inside, and of this one.
        let mut inside = std::env::var(waiting::INSIDE).map_or(String::new(), |outer| outer + " ");
        inside +=
            &waiting::acquisition(opened.identity, opened.participant.slot(), guard.acquired().fencing_token);
        command.env(waiting::INSIDE, inside);
        (self.asked.messages.executing)(&words[0]);
        let ended = if self.no_fork {
            Err(command.exec())
        } else {
            self.run_before_the_lease_ends(&mut command, opened, signals)
        };
        let (status, by_interrupt) = match ended {
            Ok(Ended { status: Err(source), .. }) => {
                return Err(os(Error::System { what: "waiting for the command".into(), source }).into());
            }
            Ok(Ended { status: Ok(status), by_interrupt }) => (status, by_interrupt),
            Err(source) => {
                // Not started, not repaired: the one after us is told of the death again.
                if previous_owner_died { guard.abandon() } else { guard.unlock() }.map_err(os)?;
                let code = match source.kind() {
                    std::io::ErrorKind::OutOfMemory | std::io::ErrorKind::WouldBlock => exit::OS,
                    _ => exit::CANNOT_RUN,
                };
                let what = format!("cannot start {:?}", words[0]);
                return Err(Failure::new(code, Error::System { what, source }).into());
            }
        };
        let killed = status
            .signal()
            .is_some_and(|signal| !signals::is_ordinary_end(signal) || !opened.lock.releases_on_death());
        let unlocked = if killed || (previous_owner_died && !status.success()) {
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
        // Our parent process is to see that Ctrl-C ended it: a shell ends its script then too.
        if by_interrupt { Err(Failed::Signal(signals::INTERRUPT)) } else { Ok(exit_code(status)) }
    }
}

impl Run {
    /// Runs the command to its end; before a lease of the lock ends, that is made to come.
    fn run_before_the_lease_ends(
        &self,
        command: &mut Command,
        opened: &Opened,
        signals: &Signals,
    ) -> io::Result<Ended> {
        if !lease::is_linked(&opened.lock) {
            return signals.run(command);
        }
        thread::scope(|threads| {
            let (ends, has_ended) = mpsc::channel();
            let ended = signals.run_beside(command, |child| {
                let (child, name) = (Arc::clone(child), &self.asked.lock);
                threads.spawn(move || lease::end_in_time(&child, &opened.lock, name, &has_ended));
            });
            drop(ends);
            ended
        })
    }
}

/// Returns the exit code of a command that ended like this.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(exit::FAILED))
}
