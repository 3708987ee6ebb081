//! `turnlock rm`: deletes a lock file that is not in use.

use super::{escape, exit, failed::FileError, file, print, users};
use std::{path::PathBuf, process::ExitCode};
use turnlock::{Error, LockFile};

/// Delete a lock file, if no process uses it
///
/// Deleted by rm(1) while it is used, a lock file goes on without a name, and newcomers create another one: two files are
/// two locks, and both sides are alone in theirs. This refuses while a process takes part, and keeps newcomers out
/// meanwhile. What is not a lock file is left alone.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  the file is deleted
  1  a process uses it; it is left as it is
  64  the command line is wrong
  66  no such lock file, or it cannot be opened
  71  something else went wrong, or standard output cannot be written to

Who takes part without holding or waiting (a thread that locked before) uses it too: `turnlock status --all` shows everyone.
With several files each is tried, and the first failure is the exit code. A file of another format is left alone; the message
says whether a process uses it, and where none does rm(1) may delete it.

EXAMPLES
  turnlock rm /run/app/app.lock
  turnlock rm --force /dev/shm/job-*.lock    what is not there is no error")]
pub struct Rm {
    /// A file that is not there is no error
    #[arg(long, short)]
    force: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
    /// The lock files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// What was done.
#[derive(serde::Serialize)]
struct Done {
    deleted: Vec<String>,
    errors: Vec<FileError>,
}

impl Rm {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let (mut deleted, mut errors, mut failed) = (Vec::new(), Vec::new(), None);
        for path in &self.files {
            let removed = match file::descriptor(path) {
                true => Err(Error::InvalidArgument(format!(
                    "{} is a descriptor, and what is deleted is a name: give the file's path",
                    path.display()
                ))),
                false => LockFile::remove(path),
            };
            match removed {
                Ok(()) => deleted.push(path.to_string_lossy().into_owned()),
                Err(Error::NotFound { .. }) if self.force => {}
                Err(error) => {
                    let error = users::with_users(error, path);
                    failed.get_or_insert(exit::code(&error));
                    print::complain(&error);
                    errors.push(FileError::new(path, &error));
                }
            }
        }
        let words: String =
            deleted.iter().map(|path| format!("{} is deleted\n", escape::text(path))).collect();
        let code = failed.unwrap_or(0);
        match self.json {
            true => print::json_and_end(&Done { deleted, errors }, code),
            false => print::and_end(&words, code),
        }
    }
}
