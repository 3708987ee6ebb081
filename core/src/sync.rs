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

/// Compares a word where it lies, and goes on only if it is so: else the function returns `false`.
///
/// Compilers load an atomic word into a register before they compare it. On x86-64 this is one instruction less, and takes up no
/// register. The load is one of the machine's, aligned, of a word to which there is a reference; so relaxed, and acquire where the
/// compiler is told that memory may have changed. Elsewhere, and under a checker, the first expression says the same.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(any(loom, shuttle))))]
macro_rules! go_on_if {
    ($so:expr; $compare:literal, unless $jump:literal, $($operands:tt)*) => {
        // SAFETY: reads a word to which there is a reference, and changes nothing. Either end is one of the function.
        unsafe {
            core::arch::asm!($compare, concat!($jump, " {no}"), no = label { return false }, $($operands)*);
        }
    };
}
#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(any(loom, shuttle)))))]
macro_rules! go_on_if {
    ($so:expr; $($assembly:tt)*) => {
        if !$so {
            return false;
        }
    };
}

/// Returns whether the word is this number, its sign extended: a relaxed load.
#[inline(always)]
pub fn is<const NUMBER: i32>(word: &AtomicU64) -> bool {
    go_on_if!(
        word.load(Ordering::Relaxed) == i64::from(NUMBER).cast_unsigned();
        "cmp qword ptr [{word}], {number}", unless "jne",
        word = in(reg) word, number = const NUMBER, options(nostack, readonly)
    );
    true
}

/// Returns whether the word, as a signed number, is more than 0: a relaxed load.
#[inline(always)]
pub fn is_positive(word: &AtomicU64) -> bool {
    go_on_if!(
        word.load(Ordering::Relaxed).cast_signed() > 0;
        "cmp qword ptr [{word}], 0", unless "jle",
        word = in(reg) word, options(nostack, readonly)
    );
    true
}

/// Returns whether the word is this number: an acquire load, whose partner is the caller's.
#[inline(always)]
pub fn equals(word: &AtomicU64, number: u64) -> bool {
    // Not `readonly`: no access behind it is moved before it.
    go_on_if!(
        word.load(Ordering::Acquire) == number;
        "cmp qword ptr [{word}], {number}", unless "jne",
        word = in(reg) word, number = in(reg) number, options(nostack)
    );
    true
}

/// Returns whether one of the words is this number: a relaxed load.
#[inline(always)]
pub fn one_equals<const AT: usize, const N: usize>(words: &[AtomicUsize; N], number: usize) -> bool {
    const { assert!(AT < N) };
    go_on_if!(
        words[AT].load(Ordering::Relaxed) == number;
        "cmp qword ptr [{words} + 8 * {at}], {number}", unless "jne",
        words = in(reg) words, at = const AT, number = in(reg) number, options(nostack, readonly)
    );
    true
}

/// [`one_equals`], of words that are as long everywhere.
#[inline(always)]
pub fn one_of_64_equals<const AT: usize, const N: usize>(words: &[AtomicU64; N], number: u64) -> bool {
    const { assert!(AT < N) };
    go_on_if!(
        words[AT].load(Ordering::Relaxed) == number;
        "cmp qword ptr [{words} + 8 * {at}], {number}", unless "jne",
        words = in(reg) words, at = const AT, number = in(reg) number, options(nostack, readonly)
    );
    true
}

/// Returns whether the lower half of one of the words is this number: a relaxed load.
#[inline(always)]
pub fn low_half_is<const AT: usize, const NUMBER: u32, const N: usize>(words: &[AtomicU64; N]) -> bool {
    const { assert!(AT < N) };
    go_on_if!(
        words[AT].load(Ordering::Relaxed) as u32 == NUMBER;
        "cmp dword ptr [{words} + 8 * {at}], {number}", unless "jne",
        words = in(reg) words, at = const AT, number = const NUMBER, options(nostack, readonly)
    );
    true
}

/// Returns whether the upper half of one of the words is this number: a relaxed load.
#[inline(always)]
pub fn high_half_equals<const AT: usize, const N: usize>(words: &[AtomicU64; N], number: u32) -> bool {
    const { assert!(AT < N) };
    go_on_if!(
        (words[AT].load(Ordering::Relaxed) >> 32) as u32 == number;
        "cmp dword ptr [{words} + 8 * {at} + 4], {number:e}", unless "jne",
        words = in(reg) words, at = const AT, number = in(reg) number, options(nostack, readonly)
    );
    true
}

/// Tells the processor that this is a spin loop.
#[inline]
pub fn spin_hint() {
    core::hint::spin_loop();
}
