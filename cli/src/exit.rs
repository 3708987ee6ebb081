//! Exit codes: those of sysexits.h that flock(1) uses, and a few more of the same list.

use turnlock::Error;

/// Something was not as asked for.
pub const FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 64;
/// The data under the lock are not consistent, and it is closed; or a barrier is broken.
pub const NOT_CONSISTENT: u8 = 65;
/// The lock file cannot be opened or created.
pub const NO_FILE: u8 = 66;
/// The command could not be started.
pub const CANNOT_RUN: u8 = 69;
/// The operating system, or the file under us, failed; or standard output cannot be written to.
pub const OS: u8 = 71;

/// Returns the code for an error of the library, where a command has none of its own for it.
pub fn code(error: &Error) -> u8 {
    match error {
        Error::InUse { .. } | Error::TimedOut(_) | Error::CircularWait(_) => FAILED,
        Error::NotRecoverable | Error::BrokenBarrier(_) => NOT_CONSISTENT,
        Error::System { .. }
        | Error::NoSpace { .. }
        | Error::OutOfMemory
        | Error::ParticipantsFull { .. }
        | Error::Replaced { .. }
        | Error::WouldBlock(_) => OS,
        _ => NO_FILE,
    }
}
