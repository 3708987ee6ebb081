//! A lock file of turnlock's: locked as `turnlock run` and `turnlock lock` do, with flock(1)'s words.

use super::{Flock, Job, Target, kernel, say};
use crate::{
    asked::{Asked, Messages},
    exit,
    failed::{Failed, Failure},
    hold::{self, LockByDescriptor},
    run::Run,
};
use std::{process::ExitCode, time::Duration};
use turnlock::Error;

/// Does it.
pub fn flock(flock: &Flock, job: &Job) -> Result<ExitCode, Failed> {
    let mut asked = Asked::as_flock(flock.shared, flock.limit(), flock.conflict_exit_code);
    let waits = flock.limit() != Some(Duration::ZERO);
    if flock.verbose {
        asked.messages = Messages { taken: say::not_taken, got: say::took, executing: say::executing, waits };
    }
    match (&job.target, &job.command) {
        (Target::Descriptor(fd), command) => {
            // As flock(2), which lets go of what an open file has, and takes the lock anew: not at once.
            let unlocked = hold::existing(*fd).and_then(|file| file.unlock_transferred(*fd, None));
            unlocked.map_err(|error| Failure::new(code_of(&error), error))?;
            if !flock.unlock {
                LockByDescriptor::as_flock(asked, *fd).try_run()?;
            }
            command.as_ref().map_or(Ok(ExitCode::SUCCESS), |words| kernel::run(flock, words, *fd))
        }
        // With nothing to unlock: it is only run.
        (Target::Path(_), Some(words)) if flock.unlock => kernel::run(flock, words, -1),
        (Target::Path(path), Some(words)) => {
            Run::as_flock(asked, path.clone(), words.clone(), flock.no_fork, flock.close).try_run()
        }
        (Target::Path(_), None) => Ok(ExitCode::SUCCESS),
    }
}

fn code_of(error: &Error) -> u8 {
    match error {
        Error::System { .. } | Error::Damaged { .. } => exit::OS,
        _ => exit::NO_FILE,
    }
}
