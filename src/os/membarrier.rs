//! A memory barrier on every processor that runs a thread of this process, or of any process, paid for by the caller.
//!
//! A thread that stores a word, asks for the barrier and then loads, and a thread that stores and then loads with nothing but a
//! compiler barrier between, see each other as if both had a full fence. `MEMBARRIER_CMD_PRIVATE_EXPEDITED` (Linux 4.14) does
//! so for the threads of this process: 0.2 microseconds, on two cores, for the caller, and an interrupt for each thread
//! that is asked. `MEMBARRIER_CMD_GLOBAL` (Linux 4.3) does so for all processes, and waits until every processor has
//! been through the scheduler: some milliseconds. A seccomp filter may refuse both; a kernel that keeps its ticks from
//! some processors (`nohz_full`) refuses the second.
//!
//! `MEMBARRIER_CMD_GLOBAL_EXPEDITED`, which is to do for registered processes what the first does for one, is not used: it misses
//! processors (seen with Linux 6.18; docs/reliability.md has how). It asks each processor what the process that it runs is
//! registered for, and a thread that exits has the processor forget that: `exit_mm` clears it, and a switch from there to another
//! thread of the same process does not set it again.

use super::fork;
use std::{ffi::c_int, fs, io, os::unix::fs::MetadataExt};
use turnlock_core::sync::{
    AtomicU64,
    Ordering::{Acquire, Release},
};

/// The process (by its mark) that is registered.
static REGISTERED: AtomicU64 = AtomicU64::new(0);

/// Registers this process for [`in_this_process`], once. `false`: not possible here, neither to register nor to ask.
///
/// After [`fork::prepare`]. A process with several threads may wait some milliseconds for the kernel, once.
pub fn register() -> bool {
    // Acquire. Partner: the release store below. A forked child has another mark and registers anew.
    if REGISTERED.load(Acquire) == fork::process_mark() {
        return true;
    }
    let done = command(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED).is_ok() && in_this_process().is_ok();
    if done {
        REGISTERED.store(fork::process_mark(), Release);
    }
    done
}

/// Registers this process if it has one thread only, which takes the kernel no time then: a process that starts threads before it
/// takes its first lock would wait for the kernel there. Whether it could is nothing to the caller. After [`fork::prepare`].
pub fn register_while_alone() {
    // Two links, and one for each thread (proc(5)).
    if fs::metadata("/proc/self/task").is_ok_and(|tasks| tasks.nlink() == 3) {
        register();
    }
}

/// Returns whether the kernel has both barriers, and lets this process ask. Registers nothing.
pub fn is_there() -> bool {
    // SAFETY: as in `command`.
    let commands = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0, 0) };
    let wanted = [
        libc::MEMBARRIER_CMD_GLOBAL,
        libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED,
        libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
    ];
    commands >= 0 && wanted.into_iter().all(|wanted| commands & libc::c_long::from(wanted) != 0)
}

/// Has every thread of this process pass a full barrier, which has registered.
pub fn in_this_process() -> io::Result<()> {
    command(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}

/// Has every thread of every process pass a full barrier.
pub fn in_every_process() -> io::Result<()> {
    command(libc::MEMBARRIER_CMD_GLOBAL)
}

fn command(command: c_int) -> io::Result<()> {
    // SAFETY: membarrier takes three numbers and touches no memory.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
