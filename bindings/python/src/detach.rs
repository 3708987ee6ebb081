//! The end of a process in good order.

use crate::shared_file::{SharedFile, locked};
use crate::thread;
use pyo3::prelude::*;

/// Gives back the calling thread's participants, and those that no thread uses, in all files: the process ends, and no participant
/// of it has died.
#[pyfunction]
pub fn _detach() {
    for file in SharedFile::all() {
        let spare = std::mem::take(&mut *locked(&file.spare));
        drop(spare);
        thread::forget(&file);
    }
}
