//! What a failed system call is called.

use turnlock_core::error::Error;

/// Returns an error of the operating system, with what was tried.
pub fn system(what: impl Into<String>) -> impl FnOnce(nix::errno::Errno) -> Error {
    let what = what.into();
    move |errno| Error::System { what, source: errno.into() }
}
