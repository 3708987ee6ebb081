//! How many processors the machine has.

use std::sync::OnceLock;

/// Returns how many processors are online; of no use to one that needs to know it exactly, since it may change.
pub fn online() -> usize {
    static ONLINE: OnceLock<usize> = OnceLock::new();
    // Not those that this process may run on: the others may have others.
    // SAFETY: it only asks.
    *ONLINE.get_or_init(|| usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1))
}
