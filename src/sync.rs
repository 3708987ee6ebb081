//! The one door to the atomics: the real ones, or those of a model checker.
//!
//! No other file names `core::sync::atomic`, `loom` or `shuttle` (kept by `tests/house.rs`). Built with
//! `--cfg loom` or `--cfg shuttle`, the rooms that need no kernel (`algorithm`, `seeded`) run under that checker.

#[cfg(not(any(loom, shuttle)))]
pub use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence,
    fence,
};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(shuttle)]
pub use shuttle::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Keeps the compiler (not the processor) from moving memory accesses across this point.
///
/// Under a model checker nothing is moved by a compiler, so nothing is done.
#[cfg(any(loom, shuttle))]
pub fn compiler_fence(_: Ordering) {}

/// Tells the processor that this is a spin loop.
#[cfg(not(any(loom, shuttle)))]
pub fn spin_hint() {
    core::hint::spin_loop();
}
