//! The one door to the atomics: the real ones, or those of a model checker.
//!
//! No other file names `core::sync::atomic`, `loom` or `shuttle` (kept by `tests/layers`). Built with
//! `--cfg loom` or `--cfg shuttle`, the layers that need no kernel (`algorithm`, `acquire`, `mutants`) run under that checker.

#[cfg(not(any(loom, shuttle)))]
pub use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
};

/// What sleeps with a mutex: for threads of one process only.
#[cfg(not(any(loom, shuttle)))]
pub use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
pub use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(shuttle)]
pub use shuttle::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};

/// Keeps the compiler (not the processor) from moving memory accesses across this point.
///
/// Under a model checker nothing is moved by a compiler, so nothing is done.
#[cfg(any(loom, shuttle))]
pub fn compiler_fence(_: Ordering) {}

/// A full fence: no memory access moves across it, in the compiler or in the processor; `fence(SeqCst)` in C11 terms.
///
/// On x86-64 a locked read-modify-write of the stack does what `mfence` does in less than half the time (6 ns against
/// 16 ns on a Xeon at 2.5 GHz); Linux's `smp_mb` is the same instruction. It is not the word on top of the stack: a function that has no
/// frame keeps the address there to which it returns, and its `ret` would wait for the locked instruction (3 ns of 8.4 on an AMD
/// EPYC, for lock and unlock through the C ABI).
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub fn full_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: ORs 0 into a word of our own stack's red zone (System V ABI for x86-64, 3.2.2), which changes nothing, whatever is kept
    // there; not `nomem`, so the compiler moves no access across it.
    unsafe {
        core::arch::asm!("lock or dword ptr [rsp - 64], 0", options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    fence(Ordering::SeqCst);
}

/// See the real one.
#[cfg(any(loom, shuttle))]
#[inline]
pub fn full_fence() {
    fence(Ordering::SeqCst);
}

/// Has the processor fetch the word's cache line for writing, if it can, while we go on.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub fn prefetch_for_writing(word: &AtomicU64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint about an address that exists; touches nothing. (Where the instruction is missing it does nothing.)
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) word, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

/// Tells the processor that this is a spin loop.
#[inline]
pub fn spin_hint() {
    core::hint::spin_loop();
}
