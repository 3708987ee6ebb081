//! What a wait at a condition came to.

use crate::error::OrRaise;
use crate::thread;
use pyo3::prelude::*;
use turnlock::{Error, Result};

/// Returns whether the lock could not be taken again, so that what was held is lost.
pub fn has_lost_the_lock(waited: &Result<()>) -> bool {
    matches!(
        waited,
        Err(Error::NotRecoverable | Error::Damaged { .. } | Error::Replaced { .. } | Error::NotOwner)
    )
}

/// What a wait at a condition came to: whether it was notified within the time; or what a signal handler raised, also if it did so
/// while the lock was taken again.
pub fn notified(py: Python, waited: Result<()>) -> PyResult<bool> {
    if let Some(raised) = thread::take_raised() {
        return Err(raised);
    }
    match waited {
        Err(Error::TimedOut(_) | Error::WouldBlock(_)) => Ok(false),
        waited => waited.map(|()| true).or_raise(py),
    }
}
