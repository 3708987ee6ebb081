//! Why the calling thread last did not get a lock: for the exception that is raised at once after it.

use pyo3::prelude::*;
use std::cell::Cell;
use turnlock::LockedBy;

thread_local! {
    static LAST: Cell<LockedBy> = const { Cell::new(LockedBy::UNKNOWN) };
}

/// Notes the holders of the lock.
pub fn note(by: LockedBy) {
    LAST.set(by);
}

/// Returns who had the lock that the calling thread was refused last, as a sentence; "" if no holder was seen.
#[pyfunction]
pub fn _refused_by() -> String {
    LAST.replace(LockedBy::UNKNOWN).to_string()
}
