//! A memory barrier on every processor that runs a registered process, paid for by the one who asks.
//!
//! `membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED)` returns after every running thread of every registered process has
//! executed a full barrier; one that does not run executes it when it is switched to. So whoever stores a word, asks
//! for the barrier and then loads, and a registered one that stores and then loads with nothing but a compiler barrier
//! between, see each other as if both had a full fence. 0.2 microseconds, on two cores, to who asks; an interrupt to
//! who is asked. It came with Linux 4.16; a seccomp filter may refuse it.

use super::fork;
use crate::error::{Error, Result};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Release},
};
use std::{ffi::c_int, io};

/// The process (by its mark) that is registered.
static REGISTERED: AtomicU64 = AtomicU64::new(0);

/// Registers this process, once. `false`: not possible here, neither to register nor to ask.
///
/// After [`fork::prepare`]. A process with several threads may wait some milliseconds for the kernel, once.
pub fn register() -> bool {
    // Acquire. Partner: the release store below. A forked child has another mark and registers anew.
    if REGISTERED.load(Acquire) == fork::process_mark() {
        return true;
    }
    let done = command(libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED).is_ok() && everywhere().is_ok();
    if done {
        REGISTERED.store(fork::process_mark(), Release);
    }
    done
}

/// Returns whether the kernel has what [`register`] wants, and lets this process ask. Registers nothing.
pub fn is_there() -> bool {
    // SAFETY: as in `command`.
    let commands = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0, 0) };
    let wanted = [libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED, libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED];
    commands >= 0 && wanted.into_iter().all(|wanted| commands & libc::c_long::from(wanted) != 0)
}

/// Has every registered process pass a full barrier, and this thread too.
pub fn everywhere() -> Result<()> {
    command(libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED)
        .map_err(|source| Error::System { what: "asking for a memory barrier (membarrier)".into(), source })
}

fn command(command: c_int) -> io::Result<()> {
    // SAFETY: membarrier takes three numbers and touches no memory.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
