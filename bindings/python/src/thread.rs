//! What belongs to a thread: its number, its participant in each file, and what a signal handler raised while it waited.

use crate::shared_file::{SharedFile, Slot};
use pyo3::prelude::*;
use std::{
    cell::{Cell, RefCell},
    sync::{
        Arc, Weak,
        atomic::{AtomicI32, AtomicU64, Ordering::Relaxed},
    },
};

/// Which process this is: 1, and one more in each forked child.
static PROCESS: AtomicU64 = AtomicU64::new(1);
/// The number of the next thread.
static NEXT: AtomicU64 = AtomicU64::new(1);
/// The thread that runs Python's signal handlers, as the kernel numbers it.
static MAIN: AtomicI32 = AtomicI32::new(0);

struct OfFile {
    file: Weak<SharedFile>,
    slot: Arc<Slot>,
}

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
    static SLOTS: RefCell<Vec<OfFile>> = const { RefCell::new(Vec::new()) };
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Has a forked child know that it is one, and says which thread is the main one.
pub fn prepare(py: Python) -> PyResult<()> {
    extern "C" fn in_child() {
        PROCESS.fetch_add(1, Relaxed);
        // The thread that forked is the child's main thread, and another thread than its parent's.
        MAIN.store(this_thread(), Relaxed);
        let _ = NUMBER.try_with(|number| number.set(0));
    }
    let main = py.import("threading")?.call_method0("main_thread")?.getattr("native_id")?;
    MAIN.store(main.extract()?, Relaxed);
    // SAFETY: a function that allocates nothing and locks nothing; the module is never unloaded.
    match unsafe { libc::pthread_atfork(None, None, Some(in_child)) } {
        0 => Ok(()),
        error => Err(std::io::Error::from_raw_os_error(error).into()),
    }
}

fn this_thread() -> i32 {
    // SAFETY: asks for a number, and nothing else.
    unsafe { libc::gettid() }
}

/// Which process this is.
#[inline]
pub fn process() -> u64 {
    PROCESS.load(Relaxed)
}

/// The calling thread's number, which no other thread ever has, of this process or of a forked one; not even after its end.
#[inline]
pub fn number() -> u64 {
    NUMBER.with(|number| match number.get() {
        0 => {
            let new = NEXT.fetch_add(1, Relaxed);
            number.set(new);
            new
        }
        known => known,
    })
}

/// Runs `act` with this thread's slot in `file`, the one that is `chosen` if one is; `attach` takes it if there is none.
pub fn with_slot<R>(
    file: &Arc<SharedFile>,
    chosen: Option<usize>,
    attach: impl FnOnce() -> turnlock::Result<Arc<Slot>>,
    act: impl FnOnce(&Arc<Slot>) -> turnlock::Result<R>,
) -> turnlock::Result<R> {
    let known = SLOTS.with_borrow(|slots| {
        let is_meant = |of: &&OfFile| {
            std::ptr::eq(of.file.as_ptr(), Arc::as_ptr(file))
                && of.slot.process == process()
                && chosen.is_none_or(|chosen| chosen == of.slot.participant.slot())
        };
        slots.iter().find(is_meant).map(|known| known.slot.clone())
    });
    match known {
        Some(slot) => act(&slot),
        None => {
            let slot = attach()?;
            let is_of_use = |of: &OfFile| of.slot.process == process() && of.file.strong_count() > 0;
            SLOTS.with_borrow_mut(|slots| {
                slots.retain(is_of_use);
                slots.push(OfFile { file: Arc::downgrade(file), slot: slot.clone() });
            });
            act(&slot)
        }
    }
}

/// Gives this thread's slot in `file` back.
pub fn forget(file: &Arc<SharedFile>) {
    // The thread may be at its end.
    let _ = SLOTS.try_with(|slots| {
        if let Ok(mut slots) = slots.try_borrow_mut() {
            slots.retain(|of| !std::ptr::eq(of.file.as_ptr(), Arc::as_ptr(file)));
        }
    });
}

/// Asked by a waiting thread, without the GIL, between its sleeps: whether a signal handler raised an exception. Only the
/// main thread runs signal handlers, so only that takes the GIL.
pub fn should_stop_waiting() -> bool {
    if this_thread() != MAIN.load(Relaxed) {
        return false;
    }
    Python::try_attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(raised) => {
            RAISED.set(Some(raised));
            true
        }
    })
    // The interpreter is at its end.
    .unwrap_or(true)
}

/// Returns whether a signal handler raised something while this thread waited.
pub fn has_raised() -> bool {
    RAISED.with_borrow(Option::is_some)
}

/// What a signal handler raised while this thread waited.
pub fn take_raised() -> Option<PyErr> {
    RAISED.take()
}
