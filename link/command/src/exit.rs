//! Exit codes: those of the `turnlock` command.

/// Something was not as asked for.
pub const FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 64;
/// The lock file cannot be opened or created.
pub const NO_FILE: u8 = 66;
/// The engine cannot be reached, or refuses.
pub const NO_ENGINE: u8 = 69;
/// The operating system, or the file under us, failed; or standard output cannot be written to.
pub const OS: u8 = 71;
