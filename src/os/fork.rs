//! What `fork` does to us, and how a child finds out.
//!
//! A page that the kernel wipes in every child holds a number for this process: one load tells a child that it is a
//! child. The fork gate keeps `fork` out of the moments in which a descriptor with a byte lock on it is open, since a
//! child that inherited that descriptor would keep the byte lock, and with it a dead slot, alive.

use super::fragile::wiped_page;
use crate::error::Result;
use crate::sync::{
    AtomicPtr, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::{cell::UnsafeCell, os::fd::RawFd, ptr, sync::Once};

static MARK: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// This process's number: never 0, and another one in every forked child. [`prepare`] must have succeeded before.
#[inline]
pub fn process_mark() -> u64 {
    // SAFETY: `prepare` put a leaked, mapped page there and nobody takes it away.
    let mark = unsafe { &*MARK.load(Acquire) };
    match mark.load(Relaxed) {
        0 => first_look(mark),
        number => number,
    }
}

#[cold]
fn first_look(mark: &AtomicU64) -> u64 {
    let number = super::process::random();
    match mark.compare_exchange(0, number, Relaxed, Relaxed) {
        Ok(_) => number,
        Err(others) => others,
    }
}

/// Sets up the page and the fork gate, once in a process (its forked children included).
pub fn prepare() -> Result<()> {
    if !MARK.load(Acquire).is_null() {
        return Ok(());
    }
    let _gate = Gate::enter();
    if !MARK.load(Acquire).is_null() {
        return Ok(());
    }
    let page = wiped_page()?;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the three handlers only touch atomics and close descriptors. Registered once; where that fails for
        // want of memory, a fork in the wrong microsecond may keep a dead slot alive, which is not a safety matter.
        unsafe {
            libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child))
        };
    });
    MARK.store(page.cast().as_ptr(), Release);
    Ok(())
}

// 0 = open, 1 = somebody is inside. Private to the process, so a spin with yields is enough: what happens inside
// takes microseconds.
static GATE: AtomicU32 = AtomicU32::new(0);

/// While one exists, no thread of this process is between the start and the end of `fork`, and no other has a gate.
pub struct Gate(());

impl Gate {
    /// Waits for the others and goes in.
    pub fn enter() -> Self {
        close_gate();
        Gate(())
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        GATE.store(0, Release);
    }
}

fn close_gate() {
    // Acquire. Partner: the release store in `Gate::drop` and in the handlers.
    while GATE.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
        std::thread::yield_now();
    }
}

unsafe extern "C" fn before_fork() {
    close_gate();
}

unsafe extern "C" fn after_fork_in_parent() {
    GATE.store(0, Release);
}

unsafe extern "C" fn after_fork_in_child() {
    // The parent's thread that forked closed the gate, so the list is whole; it is open for this process only after.
    let gate = Gate(());
    KEPT.with(&gate, |kept| {
        for descriptor in kept.drain(..) {
            // SAFETY: the child's copy of a descriptor that only this library knows; the parent's stays open.
            unsafe { libc::close(descriptor) };
        }
    });
    drop(gate);
}

/// Something that only one who is inside the gate touches: unlike a `std` mutex, never left locked in a child.
pub struct Gated<T>(UnsafeCell<T>);

// SAFETY: `with` gives out one reference at a time, since there is one gate and `with` keeps it borrowed.
unsafe impl<T: Send> Sync for Gated<T> {}

impl<T> Gated<T> {
    /// Puts `value` behind the gate.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Runs `act` on it. `act` enters no gate.
    pub fn with<R>(&self, _inside: &Gate, act: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: there is one gate at a time in a process, it is `_inside`, and `act` is given no way to come here
        // again for the same value.
        act(unsafe { &mut *self.0.get() })
    }
}

static KEPT: Gated<Vec<RawFd>> = Gated::new(Vec::new());

/// Has `descriptor` closed in every forked child, so that no child keeps a byte lock on it.
pub fn close_in_children(inside: &Gate, descriptor: RawFd) {
    KEPT.with(inside, |kept| kept.push(descriptor));
}

/// Takes [`close_in_children`] back; call it before closing the descriptor.
pub fn keep_in_children(inside: &Gate, descriptor: RawFd) {
    KEPT.with(inside, |kept| kept.retain(|other| *other != descriptor));
}
