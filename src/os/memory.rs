//! Running out of memory: an error, and not the end of a C program.
//!
//! Rust ends the process where an allocation fails. A library that a C program links cannot do that to it, so the C library's
//! allocator ([`WithReserve`]) has a small reserve: a call that has begun is carried through with it, down to the words of its
//! error, and the next one that would need memory is refused by [`check`] as long as there is none.
//!
//! A signal handler may make some of the calls, and may have interrupted `malloc`: those neither take memory from it nor give any
//! back ([`WithoutMalloc`]).

use super::pool::Pool;
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::{Cell, UnsafeCell},
    marker::PhantomData,
    ptr,
};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicPtr, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

/// What a call may need at most, in one piece: asked of the allocator while the reserve is in use.
const ENOUGH: usize = 16 * 1024;

/// To be asked before something that needs memory is begun.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn check() -> Result<()> {
    if IN_USE.load(Relaxed) == 0 {
        return Ok(());
    }
    let Ok(layout) = Layout::from_size_align(ENOUGH, BLOCK_ALIGN) else { return Ok(()) };
    // SAFETY: the layout is not empty.
    let some = unsafe { take_anew(layout, false) };
    if some.is_null() {
        return Err(Error::OutOfMemory);
    }
    // SAFETY: allocated just now, with this layout.
    unsafe { WithReserve.dealloc(some, layout) };
    Ok(())
}

thread_local! {
    /// How many [`WithoutMalloc`] the thread has. Without a destructor: nothing is allocated for it.
    static WITHOUT_MALLOC: Cell<u32> = const { Cell::new(0) };
}

/// While it exists, the calling thread's memory comes from a pool of this library's own, and what it gives back that is not of
/// the pool is freed later.
pub struct WithoutMalloc(PhantomData<*const ()>);

impl WithoutMalloc {
    /// From now on.
    #[inline]
    pub fn new() -> Self {
        WITHOUT_MALLOC.set(WITHOUT_MALLOC.get() + 1);
        Self(PhantomData)
    }
}

impl Drop for WithoutMalloc {
    #[inline]
    fn drop(&mut self) {
        WITHOUT_MALLOC.set(WITHOUT_MALLOC.get() - 1);
    }
}

fn is_without_malloc() -> bool {
    WITHOUT_MALLOC.get() > 0
}

static POOL: Pool = Pool::new();

/// Memory of `malloc` that was given back by a caller that may not call `free`: the last of it, and each begins with
/// the one before.
static TO_BE_FREED: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// # Safety
/// `memory` is of `System`, and not used any more.
unsafe fn free_later(memory: *mut u8) {
    let mut last = TO_BE_FREED.load(Relaxed);
    loop {
        // SAFETY: the caller's promise; every allocator's smallest piece has room for an address, and may not be aligned.
        unsafe { memory.cast::<*mut u8>().write_unaligned(last) };
        // Release. Partner: the acquire in `free_now`.
        match TO_BE_FREED.compare_exchange_weak(last, memory, Release, Relaxed) {
            Ok(_) => return,
            Err(now) => last = now,
        }
    }
}

/// Frees what was to be freed later. By a caller that may call `free`.
fn free_now() {
    if TO_BE_FREED.load(Relaxed).is_null() {
        return;
    }
    let mut next = TO_BE_FREED.swap(ptr::null_mut(), Acquire);
    while !next.is_null() {
        let memory = next;
        // SAFETY: written by `free_later`; `free` wants no size.
        unsafe {
            next = memory.cast::<*mut u8>().read_unaligned();
            libc::free(memory.cast());
        }
    }
}

/// # Safety
/// The layout is not empty.
unsafe fn take_anew(layout: Layout, zeroed: bool) -> *mut u8 {
    match (is_without_malloc(), zeroed) {
        (true, false) => POOL.take(layout),
        (true, true) => POOL.take_zeroed(layout),
        (false, zeroed) => {
            free_now();
            // SAFETY: the caller's promise.
            unsafe { if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) } }
        }
    }
}

/// The system's allocator, with a reserve behind it; or the pool.
pub struct WithReserve;

/// How many blocks of the reserve are in use.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// Blocks of one size. Which are taken is one word, so that a signal handler may come at any moment.
#[repr(C, align(64))]
struct Blocks<const SIZE: usize, const BYTES: usize> {
    bytes: UnsafeCell<[u8; BYTES]>,
    taken: AtomicU64,
}

const BLOCK_ALIGN: usize = 64;

// SAFETY: the thread that sets a bit of `taken` has the block's bytes until it clears it.
unsafe impl<const SIZE: usize, const BYTES: usize> Sync for Blocks<SIZE, BYTES> {}

impl<const SIZE: usize, const BYTES: usize> Blocks<SIZE, BYTES> {
    const COUNT: usize = BYTES / SIZE;

    const fn new() -> Self {
        assert!(SIZE.is_multiple_of(BLOCK_ALIGN) && BYTES.is_multiple_of(SIZE) && Self::COUNT <= 64);
        Self { bytes: UnsafeCell::new([0; BYTES]), taken: AtomicU64::new(0) }
    }

    fn take(&self, layout: Layout) -> Option<*mut u8> {
        if layout.size() > SIZE || layout.align() > BLOCK_ALIGN {
            return None;
        }
        for block in 0..Self::COUNT {
            // Acquire. Partner: the release in `give_back`.
            if self.taken.fetch_or(1 << block, Acquire) & (1 << block) == 0 {
                IN_USE.fetch_add(1, Relaxed);
                return Some(self.bytes.get().cast::<u8>().wrapping_add(block * SIZE));
            }
        }
        None
    }

    /// Returns which block begins at `memory`, if one does.
    fn block_of(&self, memory: *mut u8) -> Option<usize> {
        let offset = memory.addr().checked_sub(self.bytes.get().addr())?;
        (offset < BYTES).then_some(offset / SIZE)
    }

    fn give_back(&self, memory: *mut u8) -> bool {
        let Some(block) = self.block_of(memory) else { return false };
        IN_USE.fetch_sub(1, Relaxed);
        self.taken.fetch_and(!(1 << block), Release);
        true
    }
}

static SMALL: Blocks<256, { 256 * 64 }> = Blocks::new();
static MIDDLE: Blocks<1024, { 1024 * 32 }> = Blocks::new();
static LARGE: Blocks<ENOUGH, { ENOUGH * 8 }> = Blocks::new();

fn take(layout: Layout) -> *mut u8 {
    let taken = SMALL.take(layout).or_else(|| MIDDLE.take(layout)).or_else(|| LARGE.take(layout));
    taken.unwrap_or(ptr::null_mut())
}

fn is_reserve(memory: *mut u8) -> bool {
    SMALL.block_of(memory).or(MIDDLE.block_of(memory)).or(LARGE.block_of(memory)).is_some()
}

// SAFETY: what it gives out is the system's, or a block of the pool or the reserve that is as large and as aligned as asked for
// and belongs to no other thread; what it takes back goes where it came from. It does not unwind.
unsafe impl GlobalAlloc for WithReserve {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = unsafe { take_anew(layout, false) };
        if memory.is_null() { take(layout) } else { memory }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = unsafe { take_anew(layout, true) };
        if !memory.is_null() {
            return memory;
        }
        let memory = take(layout);
        if !memory.is_null() {
            // SAFETY: a block of at least this size.
            unsafe { memory.write_bytes(0, layout.size()) };
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if POOL.give_back(memory, layout)
            || SMALL.give_back(memory)
            || MIDDLE.give_back(memory)
            || LARGE.give_back(memory)
        {
            return;
        }
        if is_without_malloc() {
            // SAFETY: it is the system's, and the caller's promise.
            return unsafe { free_later(memory) };
        }
        free_now();
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !is_reserve(memory) && !POOL.has(memory, layout) && !is_without_malloc() {
            // SAFETY: it is the system's, and the caller's promise.
            let moved = unsafe { System.realloc(memory, layout, new_size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller promises that the new size, rounded up, is a layout's.
        let moved = unsafe { self.alloc(Layout::from_size_align_unchecked(new_size, layout.align())) };
        if !moved.is_null() {
            // SAFETY: two pieces of memory, each as long as what is copied; the old one is not used after.
            unsafe {
                ptr::copy_nonoverlapping(memory, moved, layout.size().min(new_size));
                self.dealloc(memory, layout);
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_given_out_once_and_come_back() {
        static BLOCKS: Blocks<128, { 128 * 3 }> = Blocks::new();
        let of = |size| Layout::from_size_align(size, 8).unwrap();
        let taken: Vec<_> = (0..3).map(|_| BLOCKS.take(of(128)).unwrap()).collect();
        assert_eq!(BLOCKS.take(of(1)), None);
        assert!(BLOCKS.give_back(taken[1]) && !BLOCKS.give_back(ptr::dangling_mut()));
        assert_eq!(BLOCKS.take(of(1)), Some(taken[1]));
        assert_eq!(BLOCKS.take(of(129)), None);
        for memory in taken {
            assert!(BLOCKS.give_back(memory));
        }
    }
}
