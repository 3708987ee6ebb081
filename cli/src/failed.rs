//! How a command ends that takes a lock, where it did not do what it was asked to.

use super::{print, signals};
use std::{fmt::Display, path::Path, process::ExitCode};
use turnlock::Error;

/// How a command ends that did not do what it was asked to.
pub enum Failed {
    /// An exit code: the message was printed, or is not wanted (that the lock is held).
    Quietly(u8),
    /// An exit code, and why.
    Because(Failure),
    /// A signal asked for the end, while nothing was held any more or yet.
    Signal(i32),
}

/// An exit code, and why.
pub struct Failure {
    pub code: u8,
    pub why: String,
}

impl Failure {
    /// Returns what the library says.
    pub fn new(code: u8, error: Error) -> Self {
        let how = match &error {
            Error::ParticipantsFull { slots, most, .. } if slots < most => {
                " (`turnlock create --participants N` does)"
            }
            Error::LocksFull { locks, most, .. } if locks < most => " (`turnlock create --locks N` does)",
            _ => "",
        };
        Self { code, why: format!("{error}{how}") }
    }
}

/// A file that was named and of which the command could not do what it was to do, as its JSON has it.
#[derive(serde::Serialize)]
pub struct FileError {
    path: String,
    error: String,
}

impl FileError {
    /// Returns what is said of it.
    pub fn new(path: &Path, error: &dyn Display) -> Self {
        Self { path: path.to_string_lossy().into_owned(), error: print::in_words(error) }
    }
}

impl Failed {
    /// Ends the command so.
    pub fn end(self) -> ExitCode {
        match self {
            Failed::Quietly(code) => ExitCode::from(code),
            Failed::Because(failure) => print::fail(failure.code, &failure.why),
            Failed::Signal(signal) => signals::end_by(signal),
        }
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Failed::Because(failure)
    }
}
