//! The mapped file as references: the only code that turns offsets into memory.

use super::{
    Cell, DirectoryEntry, Geometry, LiveHeader, LockWords, MailView, SlotRecord,
    mail::{MailWords, PeerRecord},
    recording::{RecordingView, RecordingWords},
};
use std::ptr::NonNull;
use turnlock_core::sync::{
    AtomicPtr, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// A mapped file, seen through its geometry.
#[derive(Clone, Copy)]
pub struct View<'map> {
    base: NonNull<u8>,
    geometry: &'map Geometry,
    _map: std::marker::PhantomData<&'map [AtomicU64]>,
}

// SAFETY: a View only hands out shared references to atomics, which any thread may use.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}

/// One lock's region.
///
/// Small, since every entry that goes through the queue hands it on: the arrays are found from its start, at each use.
#[derive(Clone, Copy)]
pub struct LockView<'map> {
    /// The lock's own words.
    pub words: &'map LockWords,
    /// The header, for `slots_in_use` and the incarnation.
    pub header: &'map LiveHeader,
    start: NonNull<u8>,
    geometry: &'map Geometry,
}

// SAFETY: as for `View`.
unsafe impl Send for LockView<'_> {}
// SAFETY: as above.
unsafe impl Sync for LockView<'_> {}

impl<'map> LockView<'map> {
    /// Returns `number[slot]`: the bakery's register, one for each participant.
    #[inline]
    pub fn numbers(&self) -> &'map [AtomicU64] {
        // SAFETY: where a region has them.
        unsafe { self.array(self.geometry.numbers_in_region()) }
    }

    /// Returns `passive[slot]`: since when the participant has waited, while it is in the passive set.
    #[inline]
    pub fn passive(&self) -> &'map [AtomicU64] {
        // SAFETY: where a region has them.
        unsafe { self.array(self.geometry.passive_in_region()) }
    }

    /// Returns `entry[slot]`: of a condition or a barrier, what the participant waits for ([`turnlock_core::coordination`]).
    #[inline]
    pub fn entries(&self) -> &'map [AtomicU64] {
        // SAFETY: where a region has them.
        unsafe { self.array(self.geometry.entries_in_region()) }
    }

    /// Returns what else each slot says, one for each participant.
    #[inline]
    pub fn cells(&self) -> &'map [Cell] {
        // SAFETY: where a region has them.
        unsafe { self.array(self.geometry.cells_in_region()) }
    }

    /// # Safety
    /// `offset` is where a region of this geometry has a `T` for each participant.
    #[inline]
    unsafe fn array<T>(&self, offset: usize) -> &'map [T] {
        let participants = self.geometry.participants() as usize;
        // SAFETY: `start` is where a region of the mapping begins, see `View::lock`; and the caller's promise.
        unsafe { array(self.start, offset, participants) }
    }
}

/// Where one lock's region lies, computed once for a handle that enters it often.
#[derive(Clone, Copy, Debug)]
pub struct RegionPointer(NonNull<LockWords>);

// SAFETY: only an address; `RegionPointer::words` says when it may be used.
unsafe impl Send for RegionPointer {}
// SAFETY: as above.
unsafe impl Sync for RegionPointer {}

/// A [`RegionPointer`] in one word: one that was stored there, or that with which it began.
#[derive(Debug)]
pub struct RegionWord(AtomicPtr<LockWords>);

impl RegionWord {
    /// Returns a word that says this.
    pub fn new(RegionPointer(at): RegionPointer) -> Self {
        Self(AtomicPtr::new(at.as_ptr()))
    }

    /// Loads it, without an order.
    #[inline(always)]
    pub fn load(&self) -> RegionPointer {
        // SAFETY: every one that was stored is not NULL.
        RegionPointer(unsafe { NonNull::new_unchecked(self.0.load(Relaxed)) })
    }

    /// Stores it, without an order.
    pub fn store(&self, RegionPointer(at): RegionPointer) {
        self.0.store(at.as_ptr(), Relaxed);
    }
}

/// How far a slot's cell lies from the start of each region of a file, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct CellOffset(usize);

impl CellOffset {
    /// The offset of no slot.
    pub const NONE: Self = Self(0);
}

impl RegionPointer {
    /// Returns the lock's words, and the cell at `offset`.
    ///
    /// # Safety
    /// `self` and `offset` come from views of the same mapping, which exists for all of `'map`.
    #[inline(always)]
    pub unsafe fn words<'map>(self, offset: CellOffset) -> (&'map LockWords, &'map Cell) {
        // SAFETY: both addresses lie in the mapping, since `View::region_pointer` and `View::cell_offset` checked region and
        // slot against its geometry; all fields are atomics.
        unsafe { (self.0.as_ref(), self.0.byte_add(offset.0).cast().as_ref()) }
    }

    /// Returns the cell at `offset` for a way that compares what is in it, while others only store there: the address is computed where this
    /// is called, in one instruction, and not for all of them.
    ///
    /// # Safety
    /// As [`RegionPointer::words`].
    #[cfg_attr(
        all(target_arch = "x86_64", target_pointer_width = "64"),
        expect(clippy::pointers_in_nomem_asm_block, reason = "the sum of two addresses")
    )]
    #[inline(always)]
    pub unsafe fn cell_here<'map>(self, offset: CellOffset) -> &'map Cell {
        #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
        // SAFETY: the sum that `words` computes; and as there.
        unsafe {
            let cell: *const Cell;
            std::arch::asm!(
                "lea {cell}, [{region} + {offset}]",
                cell = lateout(reg) cell,
                region = in(reg) self.0.as_ptr(),
                offset = in(reg) offset.0,
                options(pure, nomem, nostack, preserves_flags)
            );
            &*cell
        }
        #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64")))]
        // SAFETY: as in `words`.
        unsafe {
            self.0.byte_add(offset.0).cast().as_ref()
        }
    }

    /// Returns the lock's words.
    ///
    /// # Safety
    /// As [`RegionPointer::words`].
    #[inline(always)]
    pub unsafe fn own_words<'map>(self) -> &'map LockWords {
        // SAFETY: as in `words`.
        unsafe { self.0.as_ref() }
    }
}

impl<'map> View<'map> {
    /// Returns a view of `geometry.file_size()` bytes at `base`.
    ///
    /// # Safety
    /// `base` is aligned to 4096, and for all of `'map` that many bytes from it are mapped shared, readable, and (if anything
    /// is stored through the view) writable. No references to them are made but through views.
    #[inline]
    pub unsafe fn new(base: NonNull<u8>, geometry: &'map Geometry) -> Self {
        debug_assert_eq!(base.addr().get() % 4096, 0);
        Self { base, geometry, _map: std::marker::PhantomData }
    }

    /// Returns the shape of the file.
    pub fn geometry(&self) -> Geometry {
        *self.geometry
    }

    /// Returns the header page.
    #[inline]
    pub fn header(&self) -> &'map LiveHeader {
        // SAFETY: offset 0 with HEADER_BYTES is inside every geometry; see `array`.
        unsafe { &*self.base.cast().as_ptr() }
    }

    /// Returns the directory, one entry for each named lock.
    #[inline]
    pub fn directory(&self) -> &'map [DirectoryEntry] {
        // SAFETY: `directory()` is where `locks` entries lie in this geometry.
        unsafe { self.array(self.geometry.directory(), self.geometry.locks() as usize) }
    }

    /// Returns one more than the highest directory entry that ever named a lock. What lies behind is not to be touched.
    pub fn locks_bound(&self) -> usize {
        // Acquire. Partner: the release store by the participant that names a lock.
        (self.header().locks_bound.load(Acquire) as usize).min(self.geometry.locks() as usize)
    }

    /// Has [`View::locks_bound`] count the lock in `region`, which was allocated, whatever something else wrote there.
    pub fn raise_locks_bound(&self, region: usize) {
        if self.locks_bound() < region {
            // Release. Partner: the acquire load in `locks_bound`.
            self.header().locks_bound.store(region as u32, Release);
        }
    }

    /// Returns one more than the highest slot that was ever taken. The records behind it are not to be touched.
    pub fn slots_bound(&self) -> usize {
        // Acquire. Partner: the `fetch_max` by a newcomer.
        (self.header().slots_bound.load(Acquire) as usize).min(self.geometry.participants() as usize)
    }

    /// Returns the regions that may have been written: the directory's own, and those of named locks.
    pub fn regions_in_use(&self) -> std::ops::RangeInclusive<usize> {
        0..=self.locks_bound()
    }

    /// Returns the slot table, one record for each participant.
    #[inline]
    pub fn slots(&self) -> &'map [SlotRecord] {
        // SAFETY: `slots()` is where `participants` records lie in this geometry.
        unsafe { self.array(self.geometry.slots(), self.geometry.participants() as usize) }
    }

    /// Returns the region of a lock: 0 for the directory's own, k + 1 for named lock k.
    ///
    /// # Panics
    /// Where the file has no such region: the caller counts from its own geometry, never from what the file says.
    #[inline]
    pub fn lock(&self, region: usize) -> LockView<'map> {
        assert!(region <= self.geometry.locks() as usize);
        // SAFETY: region <= locks, so the region lies where this geometry says, and its words first.
        let (start, words) = unsafe {
            let start = self.base.byte_add(self.geometry.lock_region(region));
            (start, start.cast().as_ref())
        };
        LockView { words, header: self.header(), start, geometry: self.geometry }
    }

    /// Returns the mail area of the lock in `region`.
    ///
    /// To be looked at only while the lock runs an algorithm by messages: else there may be a hole.
    ///
    /// # Panics
    /// As [`View::lock`], of region 0, which runs none, and where the file has no mail areas.
    pub fn mail(&self, region: usize) -> MailView<'map> {
        let participants = self.geometry.mail_participants() as usize;
        assert!((1..=self.geometry.locks() as usize).contains(&region) && participants > 0);
        let start = self.geometry.mail_area(region);
        let peer_records = start + size_of::<MailWords>();
        let mailboxes = peer_records + participants * size_of::<PeerRecord>();
        // SAFETY: 1 <= region <= locks, so all of it lies where this geometry says.
        unsafe {
            MailView {
                words: &self.array::<MailWords>(start, 1)[0],
                peer_records: self.array(peer_records, participants),
                mailboxes: self.array(mailboxes, participants * participants),
            }
        }
    }

    /// Returns the recording, if there is one.
    pub fn recording(&self) -> Option<RecordingView<'map>> {
        let events = self.geometry.recorded_events() as usize;
        let start = self.geometry.recording();
        // SAFETY: a geometry that has events has the words and so many events there.
        (events > 0).then(|| unsafe {
            let words = &self.array::<RecordingWords>(start, 1)[0];
            RecordingView { words, events: self.array(start + size_of::<RecordingWords>(), events) }
        })
    }

    /// Returns where region `region` lies. Panics as [`View::lock`].
    pub fn region_pointer(&self, region: usize) -> RegionPointer {
        assert!(region <= self.geometry.locks() as usize);
        // SAFETY: inside the mapping, as in `lock`.
        RegionPointer(unsafe { self.base.byte_add(self.geometry.lock_region(region)).cast() })
    }

    /// Returns how far the cell of `slot` lies from the start of a region.
    ///
    /// # Panics
    /// Where the file has no such slot.
    pub fn cell_offset(&self, slot: usize) -> CellOffset {
        assert!(slot < self.geometry.participants() as usize);
        CellOffset(self.geometry.cells_in_region() + slot * size_of::<Cell>())
    }

    /// # Safety
    /// `offset` is where this geometry has `count` consecutive `T`, as [`array`] wants them.
    #[inline]
    unsafe fn array<T>(&self, offset: usize, count: usize) -> &'map [T] {
        debug_assert!(offset + count * size_of::<T>() <= self.geometry.file_size() as usize);
        // SAFETY: the caller's promise and `new`'s.
        unsafe { array(self.base, offset, count) }
    }
}

/// # Safety
/// For all of `'map`, a mapped file has `count` consecutive `T` at `offset` from `start`, and every field of `T` is an atomic
/// (or is never read), so that other processes may write while this one reads.
#[inline]
unsafe fn array<'map, T>(start: NonNull<u8>, offset: usize, count: usize) -> &'map [T] {
    debug_assert_eq!(offset % align_of::<T>(), 0);
    // SAFETY: inside the mapping by the caller's promise; aligned, since a mapping is aligned to 4096, and the regions and every
    // offset of a geometry are multiples of 128; any bit pattern is a valid atomic integer.
    unsafe { std::slice::from_raw_parts(start.as_ptr().add(offset).cast(), count) }
}
