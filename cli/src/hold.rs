//! `turnlock lock` and `turnlock unlock`: a lock that a shell holds, by an open file of its own.

use super::{
    acquire::{self, Acquisition},
    asked::Asked,
    escape, exit,
    failed::{Failed, Failure},
    file,
    lock::Guard,
    print, processes,
    signals::Signals,
    wanted::Wanted,
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};
use turnlock::{Error, LockFile, ParticipantOptions};

/// Take a lock for the shell, which holds it by a descriptor of its own
///
/// Waits for its turn, and ends while the lock stays held: by the open file that the shell has as descriptor N, and with it
/// everything that the shell starts. It is unlocked by `turnlock unlock --fd N`, or when the last copy of the
/// descriptor is closed: by `exec N>&-`, by the end of the shell, whatever ends it, and of what it left in the background
/// (start that with `N>&-`). A kill -9 of the shell therefore loses nothing.
///
/// Closing is an ordinary end, of which no holder is told, unless the lock was created with --on-death inform: then
/// only `turnlock unlock` is an ordinary end, with which what a dead holder left counts as repaired.
///
/// Open the descriptor by `exec N<>FILE`, which creates the file if it is not there. Not by `N>FILE`, which empties it.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  the lock is held
  -E CODE (1)  the lock was taken, with --try, or the time limit passed
  64  the command line is wrong
  65  the lock is closed: a holder died and its data were never repaired (see `turnlock reset`)
  66  there is no such descriptor, or it is of no lock file, or the lock is of another kind than was asked for
  71  something else went wrong, or the descriptor holds the lock already
  128 + N  signal N ended the wait

EXAMPLES
  exec 9<>/run/app.lock          in a script
  turnlock lock --fd 9 || exit   waits; with -n: does not
  ./import && ./report
  turnlock unlock --fd 9         not needed where the script ends here

  (turnlock lock --fd 9 --lock users --key ada || exit; ./move-home) 9<>/run/app.lock

  said=$(turnlock lock --fd 9 --export) || exit
  eval \"$said\"                   TURNLOCK_FENCING_TOKEN and the rest, as for `turnlock run`")]
pub struct LockByDescriptor {
    /// The descriptor, open for reading, of a lock file (or open for both, of an empty one)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    fd: i32,
    /// Print what came with the lock, as commands of the shell: TURNLOCK_FENCING_TOKEN, TURNLOCK_PREVIOUS_OWNER_DIED and the
    /// others that `turnlock run` gives its command
    #[arg(long)]
    export: bool,
    #[command(flatten)]
    asked: Asked,
}

/// Unlock what the shell holds by a descriptor
///
/// What `turnlock lock --fd N` took, whichever process of those that share the descriptor calls it. What a dead holder left
/// counts as repaired; where it is not, close the descriptor instead.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  unlocked
  1  nothing was held by this descriptor
  64  the command line is wrong
  66  there is no such descriptor, or it is of no lock file, or the file has no such lock
  71  something else went wrong

EXAMPLES
  turnlock unlock --fd 9                   everything that is held by it
  turnlock unlock --fd 9 --lock accounts   of one lock")]
pub struct UnlockByDescriptor {
    /// The descriptor that it was locked by
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    fd: i32,
    /// The name of the lock in the file; all that are held by the descriptor, if not said
    #[arg(long, short = 'l', value_name = "NAME")]
    lock: Option<String>,
}

/// Returns the path by which a descriptor is opened anew.
pub fn path_of(descriptor: i32) -> PathBuf {
    PathBuf::from(format!("/dev/fd/{descriptor}"))
}

/// Opens the lock file of a descriptor, which must be one.
pub fn existing(descriptor: i32) -> turnlock::Result<LockFile> {
    let mut options = LockFile::options();
    options.must_exist(true).label("turnlock unlock");
    file::open(&options, &path_of(descriptor))
}

impl LockByDescriptor {
    /// Of a flock(1).
    pub fn as_flock(asked: Asked, fd: i32) -> Self {
        Self { fd, export: false, asked }
    }

    /// Whether what was said goes together. If not, what does not.
    pub fn check(&self) -> Result<(), String> {
        self.asked.check()
    }

    /// Runs it.
    pub fn run(&self) -> ExitCode {
        match self.try_run() {
            Ok(said) if self.export => print::and_end(&said, 0),
            Ok(_) => ExitCode::SUCCESS,
            Err(failed) => failed.end(),
        }
    }

    /// Takes it. Gives what came with it, as commands of a shell.
    pub fn try_run(&self) -> Result<String, Failed> {
        self.refuse_what_never_ends()?;
        let system = |source| Error::System { what: "listening for signals".into(), source };
        let signals = Signals::keep().map_err(|source| Failure::new(exit::OS, system(source)))?;
        let shell = std::os::unix::process::parent_id();
        let participant = |options: &mut ParticipantOptions| {
            options.release_on_close(true);
        };
        let acquisition = Acquisition {
            asked: &self.asked,
            file: &path_of(self.fd),
            label: processes::program_of(shell).unwrap_or_default(),
            participant: &participant,
            signals: &signals,
        };
        acquisition.with(|guard, path, opened| {
            acquire::tell_of_death(&guard, &self.asked.lock);
            let said = assignments(acquire::environment(&guard, path, &self.asked.lock));
            match opened.participant.transfer_to_fd(self.fd, shell) {
                Ok(()) => {
                    std::mem::forget(guard);
                    Ok(said)
                }
                Err(error) => {
                    give_back(guard)?;
                    Err(Failure::new(exit::NO_FILE, error).into())
                }
            }
        })
    }

    /// Refuses a lock that this descriptor holds already: it will not be free before it is unlocked.
    fn refuse_what_never_ends(&self) -> Result<(), Failure> {
        let is_whole =
            matches!(self.asked.wanted()?, Wanted::Everything | Wanted::Exclusively | Wanted::Shared);
        let held = || existing(self.fd).and_then(|file| file.count_transferred(self.fd, &self.asked.lock));
        // What is wrong with the file or the descriptor is said by the call that takes the lock.
        if is_whole && held().is_ok_and(|held| held > 0) {
            let (name, fd) = (&self.asked.lock, self.fd);
            let why =
                format!("descriptor {fd} holds {name:?} already: `turnlock unlock --fd {fd}` unlocks it");
            return Err(Failure { code: exit::OS, why });
        }
        Ok(())
    }
}

/// As if it had not been taken.
fn give_back(guard: Guard) -> Result<(), Failure> {
    let given_back = if guard.acquired().previous_owner_died { guard.abandon() } else { guard.unlock() };
    given_back.map_err(|error| Failure::new(exit::OS, error))
}

fn assignments(environment: Vec<(&str, Option<OsString>)>) -> String {
    let assignment = |(name, value): (&str, Option<OsString>)| match value {
        Some(value) => format!("export {name}={}\n", escape::word(&Path::new(&value).to_string_lossy())),
        None => format!("unset {name}\n"),
    };
    environment.into_iter().map(assignment).collect()
}

impl UnlockByDescriptor {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        match existing(self.fd).and_then(|file| file.unlock_transferred(self.fd, self.lock.as_deref())) {
            Ok(0) => {
                let what = self.lock.as_ref().map_or("nothing".into(), |name| format!("nothing of {name:?}"));
                print::fail(exit::FAILED, &format!("{what} is held by descriptor {}", self.fd))
            }
            Ok(_) => ExitCode::SUCCESS,
            Err(error @ (Error::System { .. } | Error::Damaged { .. })) => print::fail(exit::OS, &error),
            Err(error) => print::fail(exit::NO_FILE, &error),
        }
    }
}
