//! Futexes: sleeping on a word of the file until a wake-up or the end of a time.
//!
//! Never with FUTEX_PRIVATE_FLAG: the parked are in other processes. Every sleep has an end, since a process can
//! die between its unlock and its wake.

use nix::errno::Errno;
use std::time::Duration;
use turnlock_core::sync::AtomicU32;

/// Sleeps while `word` is `seen`, at most for `at_most`. May return early for no reason. Returns whether a signal
/// handler ran.
pub fn wait(word: &AtomicU32, seen: u32, at_most: Duration) -> bool {
    let timeout = libc::timespec {
        tv_sec: at_most.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: at_most.subsec_nanos() as libc::c_long,
    };
    // SAFETY: `word` is an aligned 32-bit word that lives through the call, and `timeout` a relative timespec of our
    // own. Every outcome (woken, value changed, timed out, interrupted) means the same to the caller: look again.
    let woken = unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &timeout, 0usize, 0u32)
    };
    // With a timeout it is never restarted after a handler, whatever SA_RESTART says.
    woken != 0 && Errno::last() == Errno::EINTR
}

/// Wakes every thread that sleeps on `word`, in any process. Returns whether there was one.
pub fn wake_all(word: &AtomicU32) -> bool {
    // SAFETY: only the address of `word` is used.
    let woken = unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX, 0usize, 0usize, 0u32)
    };
    woken > 0
}
