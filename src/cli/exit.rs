//! Exit codes: those of sysexits.h that flock(1) uses, and a few more of the same list.

/// Something was not as asked for.
pub const FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 64;
/// The data under the lock are not consistent, and it is closed.
pub const NOT_CONSISTENT: u8 = 65;
/// The lock file cannot be opened or created.
pub const NO_FILE: u8 = 66;
/// The command could not be started.
pub const CANNOT_RUN: u8 = 69;
/// The operating system, or the file under us, failed; or standard output cannot be written to.
pub const OS: u8 = 71;
