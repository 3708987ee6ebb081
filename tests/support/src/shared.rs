//! Memory that several processes of a test share: what they count and what they check each other by.

use memmap2::{MmapOptions, MmapRaw};
use std::{
    cell::UnsafeCell,
    fs::OpenOptions,
    marker::PhantomData,
    ops::Deref,
    path::Path,
    sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::SeqCst},
    thread,
    time::Instant,
};

/// # Safety
/// All bytes zero is a value, and everything in it may be changed by another process at any time: atomics and
/// [`Plain`] words.
pub unsafe trait Shareable {}

// SAFETY: atomics.
unsafe impl Shareable for AtomicU8 {}
// SAFETY: atomics.
unsafe impl Shareable for AtomicU32 {}
// SAFETY: atomics.
unsafe impl Shareable for AtomicU64 {}
// SAFETY: as its elements.
unsafe impl<T: Shareable, const N: usize> Shareable for [T; N] {}

/// A number that is only right if no two threads change it at once: its load and its store are two steps.
#[derive(Default)]
#[repr(transparent)]
pub struct Plain(UnsafeCell<u64>);

// SAFETY: a 64-bit number, read and written by volatile accesses only, which do not tear on the machines that turnlock
// runs on. That no other thread does so at the same time is what the tests find out.
unsafe impl Sync for Plain {}
// SAFETY: a number; all zeros is one.
unsafe impl Shareable for Plain {}

impl Plain {
    pub fn get(&self) -> u64 {
        // SAFETY: valid, aligned, and never borrowed.
        unsafe { self.0.get().read_volatile() }
    }

    /// One more, in two steps.
    pub fn count(&self) {
        self.set(self.get() + 1);
    }

    pub fn set(&self, value: u64) {
        // SAFETY: valid, aligned, and never borrowed.
        unsafe { self.0.get().write_volatile(value) }
    }
}

/// A `T` in a file, mapped by every process that opens it.
pub struct Shared<T> {
    map: MmapRaw,
    of: PhantomData<T>,
}

impl<T: Shareable> Shared<T> {
    /// Opens it; all zeros if it is new.
    pub fn open(path: &Path) -> Self {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        let bytes = size_of::<T>().next_multiple_of(4096);
        file.set_len(bytes as u64).unwrap();
        Self { map: MmapOptions::new().len(bytes).map_raw(&file).unwrap(), of: PhantomData }
    }
}

impl<T: Shareable> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: mapped with room for a T, at a page boundary; T may be anything from all zeros on, and changed by
        // others, by `Shareable`.
        unsafe { &*self.map.as_ptr().cast() }
    }
}

/// How often one that waits looks before it sleeps: two that come together meet without.
const LOOKS: u32 = 100;

/// Where processes wait for each other.
#[repr(C)]
pub struct Barrier {
    arrived: AtomicU32,
    round: AtomicU32,
}

// SAFETY: atomics.
unsafe impl Shareable for Barrier {}

impl Barrier {
    /// Waits until `how_many` are here. One that never comes has ended, or hangs.
    pub fn wait(&self, how_many: u32) {
        let (began, limit) = (Instant::now(), super::limit::of_processes());
        let round = self.round.load(SeqCst);
        if self.arrived.fetch_add(1, SeqCst) + 1 == how_many {
            self.arrived.store(0, SeqCst);
            self.round.store(round + 1, SeqCst);
            self.wake_all();
        } else {
            let mut looks = 0;
            while self.round.load(SeqCst) == round {
                let here = self.arrived.load(SeqCst);
                assert!(began.elapsed() < limit, "after {limit:?} only {here} of {how_many} are here");
                looks += 1;
                // With more of them than processors, those that only look take what the others need to come.
                if looks < LOOKS {
                    thread::yield_now();
                } else {
                    self.sleep_while(round);
                }
            }
        }
    }

    /// Until it is woken, or for a while, if that round has not ended.
    fn sleep_while(&self, round: u32) {
        let a_while = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        // SAFETY: a word that is mapped as long as we are, and a time that the kernel only reads.
        unsafe {
            libc::syscall(libc::SYS_futex, self.round.as_ptr(), libc::FUTEX_WAIT, round, &raw const a_while)
        };
    }

    fn wake_all(&self) {
        // SAFETY: likewise; the kernel only compares the address with those that threads sleep at.
        unsafe { libc::syscall(libc::SYS_futex, self.round.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }
}
