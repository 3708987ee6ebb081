//! Why the program ends.

use crate::exit;
use turnlock::Error;

/// An exit code, and what went wrong.
#[derive(Debug)]
pub struct Failure {
    pub code: u8,
    pub why: String,
}

impl Failure {
    /// Something that is not as it must be.
    pub fn new(code: u8, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }

    /// What the library says of the lock file.
    pub fn of_file(error: &Error) -> Self {
        let code = match error {
            Error::InUse { .. } => exit::FAILED,
            Error::System { .. }
            | Error::NoSpace { .. }
            | Error::OutOfMemory
            | Error::ParticipantsFull { .. }
            | Error::Replaced { .. } => exit::OS,
            _ => exit::NO_FILE,
        };
        Self::new(code, error.to_string())
    }

    /// What the operating system says.
    pub fn of_system(what: &str, error: impl std::fmt::Display) -> Self {
        Self::new(exit::OS, format!("{what}: {error}"))
    }
}
