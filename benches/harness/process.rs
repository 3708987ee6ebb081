//! Child processes: fork, pin to a core, watch, end.

use crate::clock;
use std::{io, panic};

/// A forked child. Dropped, it is killed and waited for, so that no process outlives its round.
pub struct Child {
    pid: i32,
    ended: Option<i32>,
}

impl Child {
    /// Runs `job` in a new process. The bench has one thread, so that a child may do whatever it likes.
    pub fn fork(job: impl FnOnce()) -> io::Result<Self> {
        // SAFETY: one thread; the child runs `job` and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: should the bench die, so does the child.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                let status = panic::catch_unwind(panic::AssertUnwindSafe(job)).map_or(101, |()| 0);
                // SAFETY: ends the child without running what the parent put into its exit handlers.
                unsafe { libc::_exit(status) }
            }
            pid => Ok(Self { pid, ended: None }),
        }
    }

    /// Processor time used so far, in nanoseconds.
    pub fn cpu_time(&self) -> u64 {
        clock::cpu_time(self.pid)
    }

    /// The wait status, if it has ended: 0 is well.
    pub fn ended(&mut self) -> Option<i32> {
        if self.ended.is_none() {
            let mut status = 0;
            // SAFETY: our own child, not waited for before.
            if unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) } == self.pid {
                self.ended = Some(status);
            }
        }
        self.ended
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended().is_none() {
            // SAFETY: our own child, not waited for before.
            unsafe {
                libc::kill(self.pid, libc::SIGKILL);
                libc::waitpid(self.pid, std::ptr::null_mut(), 0);
            }
        }
    }
}

/// The cores that we may run on.
pub fn cores() -> Vec<usize> {
    // SAFETY: a set of our own; all zeros is the empty one.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &set)).collect()
    }
}

/// Keeps the calling process on one core.
pub fn pin(core: usize) {
    // SAFETY: a set of our own; all zeros is the empty one.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}
