//! Keeping signal handlers, and cancellation, out of what must not be interrupted on one thread.
//!
//! A signal handler may call turnlock. What must not be interrupted by such a call (the fork guard, a thread's list of slots)
//! runs with signals blocked: microseconds, but for a first lock that finds every free slot held by a participant that clears
//! the file (`slots::claim`). Those that an instruction raises itself (SIGBUS above all, for a truncated file) stay as they
//! are: blocked, they would end the process.

use std::{ffi::c_int, mem::size_of, ptr};

/// The kernel's set of signals: signal n is bit n - 1.
type Mask = u64;

const fn bit(signal: c_int) -> Mask {
    1 << (signal - 1)
}

const BLOCKED: Mask = !(bit(libc::SIGBUS)
    | bit(libc::SIGSEGV)
    | bit(libc::SIGFPE)
    | bit(libc::SIGILL)
    | bit(libc::SIGTRAP)
    | bit(libc::SIGSYS));

/// While it exists, no signal handler runs on the calling thread.
pub struct SignalsBlocked {
    before: Mask,
    /// A mask belongs to a thread.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl SignalsBlocked {
    /// Blocks them.
    pub fn new() -> Self {
        let mut before: Mask = 0;
        // SAFETY: both sets are ours and have the size that the kernel is told. It cannot fail with these arguments.
        // The system call and not pthread_sigmask, whose set is sixteen times as large.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                libc::SIG_BLOCK,
                &raw const BLOCKED_SET,
                &raw mut before,
                size_of::<Mask>(),
            )
        };
        Self { before, _not_send: std::marker::PhantomData }
    }
}

static BLOCKED_SET: Mask = BLOCKED;

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: as above; the set is the one that `new` was given.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                libc::SIG_SETMASK,
                &raw const self.before,
                ptr::null_mut::<Mask>(),
                size_of::<Mask>(),
            )
        };
    }
}

/// Runs `act`, which makes a file longer: where the limit on the size of files (RLIMIT_FSIZE) does not allow it, that is an error
/// of the call (EFBIG) alone. The signal that comes with it (SIGXFSZ), which ends a program by default, is taken away.
pub fn without_sigxfsz<T>(act: impl FnOnce() -> T) -> T {
    let _blocked = SignalsBlocked::new();
    // SAFETY: plain data, filled in by the calls below, each of which has the sizes that it is told.
    let (mut set, mut pending): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: as above; the set is valid, and the time is over at once.
    let mut is_pending = || unsafe {
        libc::sigpending(&raw mut pending) == 0 && libc::sigismember(&pending, libc::SIGXFSZ) == 1
    };
    let before = is_pending();
    let done = act();
    // One that was there before is the program's.
    if !before && is_pending() {
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: as above.
        unsafe {
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGXFSZ);
            libc::sigtimedwait(&set, ptr::null_mut(), &at_once);
        }
    }
    done
}

// Not in the libc crate for Linux; glibc and musl have it with these numbers (pthread.h).
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}
const PTHREAD_CANCEL_DISABLE: c_int = 1;

/// While it exists, the calling thread is not cancelled: `open`, `close` and others that turnlock calls are
/// cancellation points, and the unwinding that cancellation begins must not pass through it. A request stays pending.
pub struct CancellationDisabled {
    before: c_int,
    _not_send: std::marker::PhantomData<*const ()>,
}

impl CancellationDisabled {
    /// Disables it. Costs no system call.
    #[inline]
    pub fn new() -> Self {
        let mut before = 0;
        // SAFETY: writes an int of ours; a valid state cannot fail.
        unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut before) };
        Self { before, _not_send: std::marker::PhantomData }
    }
}

impl Drop for CancellationDisabled {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: gives the state back that `new` was given.
        unsafe { pthread_setcancelstate(self.before, ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_blocked(signal: c_int) -> bool {
        // SAFETY: plain data, filled in by the call below.
        let mut now: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: asks for the present mask.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &mut now);
            libc::sigismember(&now, signal) == 1
        }
    }

    #[test]
    fn signals_are_blocked_as_long_as_it_says_but_those_of_an_instruction() {
        assert!(!is_blocked(libc::SIGUSR1));
        let outer = SignalsBlocked::new();
        let inner = SignalsBlocked::new();
        drop(inner);
        assert!(is_blocked(libc::SIGUSR1) && !is_blocked(libc::SIGBUS) && !is_blocked(libc::SIGSEGV));
        drop(outer);
        assert!(!is_blocked(libc::SIGUSR1));
    }
}
