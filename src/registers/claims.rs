//! What the participants of a lock in a file claim of it.

use crate::layout::{Cell, Kind, LockView, View};
use turnlock_core::acquire::site::QueueHead;
use turnlock_core::algorithm::{
    claim::{Always, Claim, ClaimCell, ClaimWords, InCells, Mode, Relation},
    shared_bias::ReadersMark,
};
use turnlock_core::sync::{AtomicU64, Ordering::Relaxed, high_half_equals, low_half_is, one_of_64_equals};

/// What the participants of a lock claim of it, whichever file it is in.
pub trait FileClaims: Copy + 'static {
    /// What one participant claims.
    type Claim: Copy;
    /// The claims in one file.
    type In<'a>: QueueHead<Claim = Self::Claim>;

    /// Returns the claims of the participants of this lock.
    fn over(self, lock: LockView<'_>) -> Self::In<'_>;
    /// Returns how the bias word reads while the lock is biased to its readers.
    fn readers(&self) -> &ReadersMark;
    /// Returns which claims conflict.
    fn relation(self) -> Relation;
    /// Returns the claim as the words of a cell have it.
    fn claim(claim: Self::Claim) -> Claim;
    /// Writes how a participant claims the lock into a word of its own, which [`FileClaims::claimed`] reads.
    fn note(mode_word: &AtomicU64, claim: Self::Claim);
    /// Returns what a participant claims that holds the lock, by its own word and its cell.
    fn claimed(mode_word: &AtomicU64, cell: &Cell) -> Self::Claim;
}

/// All of a lock, always: of mutexes and rings, whose participants write no claim.
#[derive(Clone, Copy, Debug)]
pub struct Exclusively;

impl FileClaims for Exclusively {
    type Claim = ();
    type In<'a> = Always;

    #[inline(always)]
    fn over(self, _: LockView<'_>) -> Always {
        Always
    }

    fn readers(&self) -> &ReadersMark {
        const { &ReadersMark::new(0) }
    }

    fn relation(self) -> Relation {
        Relation::Always
    }

    fn claim((): ()) -> Claim {
        Claim::EVERYTHING
    }

    #[inline(always)]
    fn note(_: &AtomicU64, (): ()) {}

    #[inline(always)]
    fn claimed(_: &AtomicU64, _: &Cell) {}
}

/// What is written in the cells.
#[derive(Clone, Copy, Debug)]
pub struct Claimed {
    /// Which claims conflict.
    pub relation: Relation,
    /// How the bias word reads while the lock is biased to its readers.
    pub readers: ReadersMark,
}

impl Claimed {
    /// Of a lock of this kind, whose name has this generation.
    pub fn of(kind: Kind, generation: u64) -> Self {
        let relation = match kind {
            Kind::Mutex | Kind::TurnRing | Kind::Condition | Kind::Event | Kind::Barrier | Kind::Once => {
                Relation::Always
            }
            Kind::RwLock => Relation::Modes,
            Kind::Semaphore => Relation::Permits,
            Kind::RangeLock => Relation::Ranges,
            Kind::KeyedLock => Relation::Keys,
            Kind::GroupLock => Relation::Groups,
        };
        Self { relation, readers: ReadersMark::new(generation) }
    }

    /// Returns the claims of the lock in `region`, of any kind. The kind stays as it is while a participant is inside.
    pub fn in_region(view: View, region: usize) -> Self {
        let entry = region.checked_sub(1).map(|at| &view.directory()[at]);
        let kind = entry.and_then(|entry| Kind::of(entry.kind.load(Relaxed))).unwrap_or(Kind::Mutex);
        Self::of(kind, entry.map_or(0, |entry| entry.generation.load(Relaxed)))
    }
}

impl FileClaims for Claimed {
    type Claim = Claim;
    type In<'a> = InCells<'a, Cell>;

    #[inline]
    fn over(self, lock: LockView<'_>) -> InCells<'_, Cell> {
        InCells { cells: lock.cells(), relation: self.relation, permits: &lock.words.permits }
    }

    fn readers(&self) -> &ReadersMark {
        &self.readers
    }

    fn relation(self) -> Relation {
        self.relation
    }

    fn claim(claim: Claim) -> Claim {
        claim
    }

    #[inline]
    fn note(mode_word: &AtomicU64, claim: Claim) {
        // The weight in the low half, which is looked at alone when permits are given back.
        mode_word.store((claim.mode as u64) << 32 | u64::from(claim.weight), Relaxed);
    }

    #[inline]
    fn claimed(mode_word: &AtomicU64, cell: &Cell) -> Claim {
        let mode_word = mode_word.load(Relaxed);
        let Claim { extent, .. } = cell.claim().get();
        Claim { mode: Mode::of((mode_word >> 32) as u32), weight: mode_word as u32, extent }
    }
}

impl ClaimCell for Cell {
    #[inline]
    fn claim(&self) -> ClaimWords<'_> {
        ClaimWords { mode_word: &self.claim.mode_word, first: &self.claim.first, last: &self.claim.last }
    }

    #[inline(always)]
    fn is_reserved_as(&self, mode: Mode) -> bool {
        const RESERVED: u32 = Mode::Reserved as u32;
        const READING: u32 = Mode::ReservedReading as u32;
        match mode {
            Mode::Reserved => low_half_is::<{ Self::MODE_WORD }, RESERVED, { Self::WORDS }>(self.words()),
            Mode::ReservedReading => {
                low_half_is::<{ Self::MODE_WORD }, READING, { Self::WORDS }>(self.words())
            }
            _ => false,
        }
    }

    #[inline(always)]
    fn has_weight(&self, weight: u32) -> bool {
        high_half_equals::<{ Self::MODE_WORD }, { Self::WORDS }>(self.words(), weight)
    }

    #[inline(always)]
    fn has_first(&self, first: u64) -> bool {
        one_of_64_equals::<{ Self::FIRST }, { Self::WORDS }>(self.words(), first)
    }
}
