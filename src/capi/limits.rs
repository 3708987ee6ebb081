//! How long a call waits, from C.

use super::boundary::invalid;
use crate::os::clock;
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::error::Result;

/// `wait` of a request: as long as it takes. What a request gets that is all 0.
pub const TURNLOCK_WAIT_FOREVER: u32 = 0;
/// `wait` of a request: not at all; where it would have to, TURNLOCK_ERROR_WOULD_BLOCK.
pub const TURNLOCK_WAIT_NEVER: u32 = 1;
/// `wait` of a request: at most `time_ns` nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
pub const TURNLOCK_WAIT_AT_MOST: u32 = 2;
/// `wait` of a request: until CLOCK_MONOTONIC shows `time_ns` nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
pub const TURNLOCK_WAIT_UNTIL: u32 = 3;

/// Returns how long to wait.
pub(super) fn limit(wait: u32, time_ns: u64) -> Result<Limit> {
    match wait {
        TURNLOCK_WAIT_FOREVER => Ok(Limit::Forever),
        TURNLOCK_WAIT_NEVER => Ok(Limit::Never),
        TURNLOCK_WAIT_AT_MOST => Ok(Limit::For(Duration::from_nanos(time_ns))),
        TURNLOCK_WAIT_UNTIL => {
            Ok(Limit::For(Duration::from_nanos(time_ns.saturating_sub(clock::monotonic_ns()))))
        }
        _ => Err(invalid(&format!(
            "wait is {wait}: TURNLOCK_WAIT_FOREVER is 0, _NEVER 1, _AT_MOST 2, _UNTIL 3"
        ))),
    }
}
