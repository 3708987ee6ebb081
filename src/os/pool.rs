//! Memory without `malloc`: for calls that a signal handler may make, which may have interrupted `malloc` itself.
//!
//! Blocks of some sizes, in chunks that the kernel gives, each twice as large as the one before. Which are taken is a bit each:
//! no lock, so that a handler may come at any moment, and a child of `fork` finds nothing half done. A chunk is never given
//! back, but what large blocks held is.

use std::{alloc::Layout, ptr};
use turnlock_core::sync::{
    AtomicPtr, AtomicU64,
    Ordering::{AcqRel, Acquire, Release},
};

const PAGE: usize = 4096;
/// How much the first chunk of a size has at least.
const FIRST: usize = 64 * 1024;
/// Blocks of this size or more are whole pages, which the kernel zeroes when they are given back.
const LARGE: usize = 64 * 1024;
const CHUNKS: usize = 16;
/// What every block is aligned to: a cache line.
const ALIGN: usize = 64;
/// An odd number of cache lines, or of pages: words at the same place in many blocks are then in different sets of a cache. The
/// largest is enough for a participant's words in a file with as many locks as there may be.
const SIZES: [usize; 14] = [
    ALIGN,
    3 * ALIGN,
    7 * ALIGN,
    17 * ALIGN,
    25 * ALIGN,
    41 * ALIGN,
    65 * ALIGN,
    129 * ALIGN,
    257 * ALIGN,
    513 * ALIGN,
    17 * PAGE,
    65 * PAGE,
    257 * PAGE,
    1025 * PAGE,
];

/// Memory in blocks.
pub struct Pool([Blocks; SIZES.len()]);

/// The blocks of one size.
struct Blocks {
    size: usize,
    /// Each begins with a bit for each of its blocks; those begin at the next page.
    chunks: [AtomicPtr<u8>; CHUNKS],
}

impl Pool {
    /// Returns one that has no memory yet.
    pub const fn new() -> Self {
        let mut all = [const { Blocks { size: 0, chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS] } };
            SIZES.len()];
        let mut at = 0;
        while at < SIZES.len() {
            all[at].size = SIZES[at];
            at += 1;
        }
        Self(all)
    }

    fn blocks(&self, layout: Layout) -> Option<&Blocks> {
        let size = layout.size().max(layout.align());
        self.0.iter().find(|blocks| blocks.size >= size).filter(|_| layout.align() <= ALIGN)
    }

    /// Returns a block for this layout; NULL if there is no memory.
    pub fn take(&self, layout: Layout) -> *mut u8 {
        self.blocks(layout).and_then(Blocks::take).unwrap_or(ptr::null_mut())
    }

    /// [`Pool::take`], full of zeros.
    pub fn take_zeroed(&self, layout: Layout) -> *mut u8 {
        let memory = self.take(layout);
        if !memory.is_null() && self.blocks(layout).is_some_and(|blocks| blocks.size < LARGE) {
            // SAFETY: a block of at least this size.
            unsafe { memory.write_bytes(0, layout.size()) };
        }
        memory
    }

    /// Takes a block back that [`Pool::take`] gave for this layout. `false`: it is none.
    pub fn give_back(&self, memory: *mut u8, layout: Layout) -> bool {
        self.blocks(layout).is_some_and(|blocks| blocks.give_back(memory))
    }

    /// Returns whether it is a block for this layout.
    pub fn has(&self, memory: *mut u8, layout: Layout) -> bool {
        self.blocks(layout).is_some_and(|blocks| blocks.find(memory).is_some())
    }
}

impl Blocks {
    /// Returns how many blocks the chunk `at` has.
    fn count(&self, at: usize) -> usize {
        (FIRST / self.size).max(1) << at
    }

    /// Returns how many bytes of the chunk `at` come before its blocks.
    fn head(&self, at: usize) -> usize {
        (self.count(at).div_ceil(64) * size_of::<u64>()).next_multiple_of(PAGE)
    }

    /// Returns the word `word` of the bits of this chunk.
    fn bits(chunk: *mut u8, word: usize) -> &'static AtomicU64 {
        // SAFETY: a chunk, which is never unmapped, begins with so many words, which are used as atomics only.
        unsafe { &*chunk.cast::<AtomicU64>().add(word) }
    }

    fn take(&self) -> Option<*mut u8> {
        for at in 0..CHUNKS {
            let chunk = self.chunk(at)?;
            for word in 0..self.count(at).div_ceil(64) {
                let first = word * 64;
                let bits = Self::bits(chunk, word);
                // Acquire. Partner: the release in `give_back`.
                let mut taken = bits.load(Acquire);
                loop {
                    let bit = (!taken).trailing_zeros() as usize;
                    if bit == 64 || first + bit >= self.count(at) {
                        break;
                    }
                    match bits.compare_exchange_weak(taken, taken | 1 << bit, AcqRel, Acquire) {
                        Ok(_) => return Some(chunk.wrapping_add(self.head(at) + (first + bit) * self.size)),
                        Err(now) => taken = now,
                    }
                }
            }
        }
        None
    }

    /// Returns the chunk `at`, made now if there is none. `None`: there is no memory.
    fn chunk(&self, at: usize) -> Option<*mut u8> {
        // Acquire. Partner: the exchange below.
        let known = self.chunks[at].load(Acquire);
        if !known.is_null() {
            return Some(known);
        }
        let bytes = self.head(at) + self.count(at) * self.size;
        let (rights, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: new memory, wherever there is room.
        let made = unsafe { libc::mmap(ptr::null_mut(), bytes, rights, flags, -1, 0) };
        if made == libc::MAP_FAILED {
            return None;
        }
        match self.chunks[at].compare_exchange(ptr::null_mut(), made.cast(), AcqRel, Acquire) {
            Ok(_) => Some(made.cast()),
            // Another thread was first, or a signal handler of this one.
            Err(known) => {
                // SAFETY: mapped above, and not published yet.
                unsafe { libc::munmap(made, bytes) };
                Some(known)
            }
        }
    }

    /// Returns which chunk and which block of it begins at `memory`, if one does.
    fn find(&self, memory: *mut u8) -> Option<(*mut u8, usize)> {
        for at in 0..CHUNKS {
            let chunk = self.chunks[at].load(Acquire);
            if chunk.is_null() {
                return None;
            }
            let blocks = chunk.addr() + self.head(at);
            if let Some(offset) = memory.addr().checked_sub(blocks)
                && offset < self.count(at) * self.size
            {
                return Some((chunk, offset / self.size));
            }
        }
        None
    }

    fn give_back(&self, memory: *mut u8) -> bool {
        let Some((chunk, block)) = self.find(memory) else { return false };
        if self.size >= LARGE {
            // SAFETY: whole pages of the block, which its owner gives back: they are zeros when they are touched again.
            unsafe { libc::madvise(memory.cast(), self.size, libc::MADV_DONTNEED) };
        }
        // Release. Partner: the acquire in `take`.
        Self::bits(chunk, block / 64).fetch_and(!(1 << (block % 64)), Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn blocks_are_given_out_once_and_come_back() {
        static POOL: Pool = Pool::new();
        for size in [1, 64, 65, 1000, 5000, 70_000, 3 << 20] {
            let layout = of(size, 8);
            // More than the first chunk has.
            let mut taken: Vec<_> =
                (0..FIRST.div_ceil(size).min(2000) + 3).map(|_| POOL.take_zeroed(layout)).collect();
            for memory in &taken {
                // SAFETY: blocks of this size.
                unsafe {
                    assert!(std::slice::from_raw_parts(*memory, size).iter().all(|byte| *byte == 0));
                    memory.write_bytes(0xff, size);
                }
            }
            let again = taken.pop().unwrap();
            assert!(POOL.has(again, layout) && POOL.give_back(again, layout) && !taken.contains(&again));
            assert_eq!(POOL.take_zeroed(layout), again);
            // SAFETY: as above.
            assert_eq!(unsafe { (again.read(), again.add(size - 1).read()) }, (0, 0));
            taken.push(again);
            taken.sort();
            assert!(taken.windows(2).all(|two| two[1].addr() - two[0].addr() >= size));
            assert!(taken.iter().all(|memory| POOL.give_back(*memory, layout)));
        }
    }

    #[test]
    fn blocks_are_aligned_and_what_is_no_block_is_told() {
        static POOL: Pool = Pool::new();
        for align in [1, 16, 64] {
            assert!(POOL.take(of(10, align)).addr().is_multiple_of(align));
        }
        assert!(POOL.take(of(10, 128)).is_null() && POOL.take(of(5 << 20, 8)).is_null());
        assert!(!POOL.give_back(ptr::dangling_mut(), of(10, 1)));
    }

    #[test]
    fn threads_take_and_give_back_at_once() {
        static POOL: Pool = Pool::new();
        std::thread::scope(|threads| {
            for thread in 1..=4u8 {
                threads.spawn(move || {
                    for _ in 0..2000 {
                        let (first, second) = (POOL.take(of(200, 8)), POOL.take(of(200, 8)));
                        // SAFETY: blocks of this size, which are this thread's.
                        unsafe {
                            first.write_bytes(thread, 200);
                            second.write_bytes(thread, 200);
                            assert!(
                                std::slice::from_raw_parts(first, 200).iter().all(|byte| *byte == thread)
                            );
                        }
                        assert!(POOL.give_back(first, of(200, 8)) && POOL.give_back(second, of(200, 8)));
                    }
                });
            }
        });
    }
}
