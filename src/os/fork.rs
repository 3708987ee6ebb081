//! What `fork` does to us, and how a child finds out.
//!
//! A page that the kernel wipes in every child holds a number for this process: one load tells a child that it is a
//! child. The fork guard keeps `fork` out of the moments in which a descriptor with a byte lock on it is open, since a
//! child that inherited that descriptor would keep the byte lock, and with it a dead slot, alive.

use super::{identity::Identity, signals::SignalsBlocked, wiped_page::wiped_page};
use std::{cell::UnsafeCell, os::fd::RawFd, ptr, time::Duration};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicBool, AtomicPtr, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

static MARK: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// This process's number: above 2, and different in every forked child. [`prepare`] must have succeeded before.
#[inline]
pub fn process_mark() -> u64 {
    // SAFETY: `prepare` put a leaked, mapped page there, which is never unmapped.
    let mark = unsafe { &*MARK.load(Acquire) };
    match mark.load(Relaxed) {
        0 => first_look(mark),
        number => number,
    }
}

#[cold]
fn first_look(mark: &AtomicU64) -> u64 {
    let number = super::process::random().max(3);
    match mark.compare_exchange(0, number, Relaxed, Relaxed) {
        Ok(_) => number,
        Err(others) => others,
    }
}

/// Sets up the page and the fork guard, once in a process (its forked children included).
pub fn prepare() -> Result<()> {
    if !MARK.load(Acquire).is_null() {
        return Ok(());
    }
    let _inside = ForkGuard::enter();
    if !MARK.load(Acquire).is_null() {
        return Ok(());
    }
    // For want of memory, when the library was loaded.
    if !HANDLED.load(Relaxed) {
        handle_forks();
    }
    if !HANDLED.load(Relaxed) {
        return Err(Error::OutOfMemory);
    }
    MARK.store(wiped_page()?.cast().as_ptr(), Release);
    Ok(())
}

/// The handlers below are registered.
static HANDLED: AtomicBool = AtomicBool::new(false);

/// Run when the library is loaded, before the program that uses it: so our handler before a fork is the last to run, and those
/// after it are the first, and handlers of the program that take locks find the fork guard open. (Those of a program that loads
/// the library later find it closed by their own thread, and go in: see [`ForkGuard`].)
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = handle_forks;

extern "C" fn handle_forks() {
    // SAFETY: the three handlers only touch atomics and close descriptors.
    let failed = unsafe {
        libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child))
    };
    HANDLED.store(failed == 0, Relaxed);
}

/// The thread inside the fork guard; 0: none. What happens inside takes microseconds as a rule; clearing a large
/// file takes milliseconds.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// The thread inside is forking: it may go in once more, as fork handlers of the program do that take locks.
static FORKING: AtomicBool = AtomicBool::new(false);

/// While one exists, no thread of this process is between the start and the end of `fork` (but for the calling one, in
/// a fork handler), no other thread has a fork guard, and no signal handler runs on this thread: one that came here would
/// wait for itself.
pub struct ForkGuard {
    /// Whether it is inside the one that the calling thread closed for its `fork`.
    nested: bool,
    _signals: SignalsBlocked,
}

impl ForkGuard {
    /// Waits for the others and goes in.
    pub fn enter() -> Self {
        let _signals = SignalsBlocked::new();
        // Relaxed: only this thread writes its own number there, and FORKING with it.
        let inside = INSIDE.load(Relaxed) == this_thread();
        let nested = inside && FORKING.load(Relaxed);
        // A defect of ours, or a handler of SIGSEGV and the like that takes locks: no wait would ever end.
        assert!(nested || !inside, "the fork guard was entered twice");
        if !nested {
            close_for_fork();
        }
        ForkGuard { nested, _signals }
    }
}

impl Drop for ForkGuard {
    fn drop(&mut self) {
        if !self.nested {
            INSIDE.store(0, Release);
        }
    }
}

/// Returns a number for the calling thread, the same in a forked child. Never 0.
fn this_thread() -> usize {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::pthread_self() as usize }
}

fn close_for_fork() {
    // Acquire. Partner: the release store in `ForkGuard::drop` and in the handlers.
    let mut tries = 0;
    while INSIDE.compare_exchange_weak(0, this_thread(), Acquire, Relaxed).is_err() {
        tries += 1;
        match tries {
            0..100 => std::thread::yield_now(),
            // The thread inside may have a lower priority than we, and no processor while we only yield.
            _ => super::clock::nap(Duration::from_micros(100)),
        }
    }
}

fn open_after_fork() {
    FORKING.store(false, Relaxed);
    INSIDE.store(0, Release);
}

unsafe extern "C" fn before_fork() {
    // A signal handler of this thread may come between the two stores and wait for ever.
    let _signals = SignalsBlocked::new();
    close_for_fork();
    FORKING.store(true, Relaxed);
}

unsafe extern "C" fn after_fork_in_parent() {
    let _signals = SignalsBlocked::new();
    open_after_fork();
}

unsafe extern "C" fn after_fork_in_child() {
    if MARK.load(Acquire).is_null() {
        // Nothing was opened yet.
        return open_after_fork();
    }
    // The parent's thread that forked closed the fork guard, so the list is whole; it is open for this process only after.
    let fork_guard = ForkGuard::enter();
    let ours = process_mark();
    CLOSED_IN_CHILDREN.with(&fork_guard, |closed| {
        // What a fork handler of the program opened in this process stays.
        closed.retain(|one| {
            if one.process != ours {
                one.identity.close(one.descriptor);
            }
            one.process == ours
        });
    });
    drop(fork_guard);
    let _signals = SignalsBlocked::new();
    open_after_fork();
}

/// Something that only a thread inside the fork guard touches: unlike a `std` mutex, never left locked in a child.
pub struct ForkGuarded<T>(UnsafeCell<T>);

// SAFETY: `with` gives out one reference at a time: one thread is inside the fork guard, `with` keeps it borrowed, and no
// signal handler comes between.
unsafe impl<T: Send> Sync for ForkGuarded<T> {}

impl<T> ForkGuarded<T> {
    /// Puts `value` behind the fork guard.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Runs `act` on it. `act` enters no fork guard.
    pub fn with<R>(&self, _inside: &ForkGuard, act: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: there is one fork guard at a time in a process (a nested one belongs to a thread whose outer one is only
        // for its fork), it is `_inside`, and `act` is given no way to come here again for the same value.
        act(unsafe { &mut *self.0.get() })
    }
}

/// A descriptor that a forked child must not have.
struct ClosedInChildren {
    descriptor: RawFd,
    identity: Identity,
    process: u64,
}

static CLOSED_IN_CHILDREN: ForkGuarded<Vec<ClosedInChildren>> = ForkGuarded::new(Vec::new());

/// Has `descriptor`, of the file `identity`, closed in every forked child, so that no child keeps a byte lock on it.
pub fn close_in_children(inside: &ForkGuard, descriptor: RawFd, identity: Identity) -> Result<()> {
    CLOSED_IN_CHILDREN.with(inside, |closed| {
        closed.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
        closed.push(ClosedInChildren { descriptor, identity, process: process_mark() });
        Ok(())
    })
}

/// Takes [`close_in_children`] back: call it before closing the descriptor.
pub fn forget_close_in_children(inside: &ForkGuard, descriptor: RawFd) {
    CLOSED_IN_CHILDREN.with(inside, |closed| closed.retain(|other| other.descriptor != descriptor));
}
