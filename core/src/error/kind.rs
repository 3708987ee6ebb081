//! Errors as std has them: for programs whose functions return `std::io::Result`.

use super::Error;
use std::io::{self, ErrorKind};

impl Error {
    /// Which of std's kinds of errors this is; [`ErrorKind::Other`] if std has none.
    ///
    /// ```
    /// assert_eq!(turnlock_core::Error::Deadlock.kind(), std::io::ErrorKind::Deadlock);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::WouldBlock(_) => ErrorKind::WouldBlock,
            Error::TimedOut(_) => ErrorKind::TimedOut,
            Error::Interrupted => ErrorKind::Interrupted,
            Error::Deadlock | Error::CircularWait(_) => ErrorKind::Deadlock,
            Error::OutOfMemory => ErrorKind::OutOfMemory,
            Error::System { source, .. } => source.kind(),
            Error::NotFound { .. } => ErrorKind::NotFound,
            Error::NoSpace { .. } => ErrorKind::StorageFull,
            Error::Permission { .. } | Error::NotOwner => ErrorKind::PermissionDenied,
            Error::NotALockFile { .. } | Error::Version { .. } | Error::Damaged { .. } => {
                ErrorKind::InvalidData
            }
            Error::FileSystem { .. } | Error::Unsupported(_) => ErrorKind::Unsupported,
            Error::ParticipantBusy | Error::InUse { .. } | Error::StillHeld => ErrorKind::ResourceBusy,
            Error::ParticipantsFull { .. } | Error::LocksFull { .. } | Error::FileTooSmall { .. } => {
                ErrorKind::QuotaExceeded
            }
            Error::InvalidArgument(_)
            | Error::BadName { .. }
            | Error::Kind { .. }
            | Error::EmptyRange { .. }
            | Error::Permits { .. }
            | Error::TooManyReleased { .. }
            | Error::NotUpgradable
            | Error::NotExclusive
            | Error::NotInconsistent
            | Error::Closed => ErrorKind::InvalidInput,
            // Not `Interrupted` for what was cancelled: callers that see that try again.
            Error::Cancelled
            | Error::RecursionLimit
            | Error::NotRecoverable
            | Error::BrokenBarrier(_)
            | Error::LeaseEnded
            | Error::Replaced { .. }
            | Error::Internal(_) => ErrorKind::Other,
        }
    }
}

/// With [`Error::kind`]; [`io::Error::downcast`] gives the error back.
///
/// ```
/// fn locked() -> std::io::Result<()> {
///     Err(turnlock_core::Error::Deadlock)?
/// }
/// let error = locked().unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::Deadlock);
/// assert!(matches!(error.downcast(), Ok(turnlock_core::Error::Deadlock)));
/// ```
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        io::Error::new(error.kind(), error)
    }
}
