//! File systems of a test's own, in a private mount namespace: no other test sees them, and they go with the thread.

use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};
use std::path::Path;

/// From here on the mounts of this thread, and of the processes that it starts, are its own. Only for root: where that
/// is not allowed, the reason.
pub fn have_private_mounts() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(|errno| format!("no mount namespace of my own: {errno}"))?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(|errno| format!("no private mounts: {errno}"))
}

/// Mounts a file system in memory, with room for `bytes` bytes.
pub fn mount_memory(at: &Path, bytes: u64) -> Result<(), String> {
    mount(Some("none"), at, Some("tmpfs"), MsFlags::empty(), Some(format!("size={bytes}").as_str()))
        .map_err(|errno| format!("tmpfs at {}: {errno}", at.display()))
}

/// Makes a mounted file system read-only.
pub fn make_read_only(at: &Path) {
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    // Another test's child has what this process has open until it becomes its program, and it may be long before that.
    let is_over = || match mount(None::<&str>, at, None::<&str>, flags, None::<&str>) {
        Err(Errno::EBUSY) => None,
        done => Some(done),
    };
    let limit = super::limit::of_processes();
    super::limit::within(limit, is_over).expect("no file there is open for writing any more").unwrap();
}

/// Mounts an overlay of `lower`, with `upper` and `work` taking what is written.
pub fn mount_overlay(at: &Path, lower: &Path, upper: &Path, work: &Path) -> Result<(), String> {
    let layers =
        format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
    mount(Some("overlay"), at, Some("overlay"), MsFlags::empty(), Some(layers.as_str()))
        .map_err(|errno| format!("overlay at {}: {errno}", at.display()))
}

/// Runs `act` on a thread whose mounts are its own; where that cannot be, says so and leaves it out.
pub fn in_private_mounts(act: impl FnOnce() -> Result<(), String> + Send) {
    let done = super::elsewhere(|| have_private_mounts().and_then(|()| act()));
    if let Err(reason) = done {
        println!("LEFT OUT, since this machine does not allow it: {reason}");
    }
}
