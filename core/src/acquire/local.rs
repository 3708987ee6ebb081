//! What a participant itself knows of its part in one lock.
//!
//! The word is private to the process, so that what others write into the file never decides what a participant believes
//! to hold. It is written first on the way in and on the way out, and again last: a signal handler that comes between
//! finds the acquisition under way. A biased unlock on the fast path writes it once, before `held`: a handler that comes
//! between may take the lock as the bias owner, since the section is over.

#[cfg(doc)]
use crate::algorithm::ownership::Ownership;
use crate::error::{Error, Result};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    compiler_fence, equals, is, is_positive, spin_hint,
};

/// On the way in, or out. No token is that large.
const UNDER_WAY: u64 = u64::MAX;
/// Nothing is held, and the last acquisition was a biased one: the lock may still be biased to this participant. Others
/// do not look at the bias word before they stand in the queue: they would wait for its cache line twice, for reading
/// and then for writing. No token is that large.
const BIASED: u64 = as_word(BIASED_NUMBER);
/// [`BIASED`], as [`is`] compares it.
const BIASED_NUMBER: i32 = -2;
/// Nothing is held, and the participant may still have a reservation in the queue ([`crate::algorithm::reservation`]). No
/// token is that large.
const RESERVED: u64 = as_word(RESERVED_NUMBER);
/// [`RESERVED`], likewise.
const RESERVED_NUMBER: i32 = -3;
/// Held, while one call does to it what only one may do at a time: it changes how it is held, or marks the data consistent. No
/// token is that large.
const CHANGING: u64 = u64::MAX - 3;
/// It came in by the queue, where its number stands while the lock is held. No token is that large.
const UNBIASED: u64 = 1 << 63;
/// It came in by the bias towards readers, so without `UNBIASED`. No token that was taken so is that large
/// ([`Ownership::has_tokens_for_bias`]). What came in by the other fast path that a lock of its kind has, the bias towards one
/// participant or a reservation, has neither bit.
const AMONG_READERS: u64 = 1 << 62;

const fn as_word(number: i32) -> u64 {
    (number as i64).cast_unsigned()
}

/// How often a call looks whether another call is done with what both change, which takes some hundred instructions
/// unless the other waits.
const LOOKS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 1000 };

/// What is left of the last acquisition of a participant that holds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Nothing.
    Bare,
    /// The lock may be biased to it.
    Biased,
    /// It may have a reservation.
    Reserved,
}

/// How a participant holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The fencing token.
    pub token: u64,
    /// It came in by the queue (or has a ring's privilege); else by a bias, or by its reservation.
    pub unbiased: bool,
    /// It came in by the bias towards readers.
    pub among_readers: bool,
}

impl Holding {
    /// Returns whether it is the acquisition with this token, where one is named. But for the bits that say how it came in: a token
    /// that the fast path took from an overwritten word may have them, and what was taken by it must go back.
    #[inline]
    fn has(self, token: Option<u64>) -> bool {
        token.is_none_or(|token| (token ^ self.token) & !(UNBIASED | AMONG_READERS) == 0)
    }
}

/// How the fast path took a lock that is held, one that is biased to its readers or has reserved places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenBy {
    /// By the bias towards readers.
    Bias,
    /// By the participant's reservation.
    Reservation,
}

/// A participant's word for one lock: 0, `BIASED`, `RESERVED`, `UNDER_WAY`, `CHANGING`, or the fencing token of the acquisition, or'ed with
/// `UNBIASED` or `AMONG_READERS`. Changed by one call at a time.
#[derive(Clone, Copy)]
pub struct LocalState<'a>(pub &'a AtomicU64);

impl LocalState<'_> {
    /// Returns whether nothing is held and the last acquisition was a biased one.
    #[inline(always)]
    pub fn may_be_biased(self) -> bool {
        is::<BIASED_NUMBER>(self.0)
    }

    /// Records that nothing is held, after a biased acquisition.
    #[inline(always)]
    pub fn record_biased(self) {
        // Release, as in `record`.
        self.0.store(BIASED, Release);
    }

    /// Returns whether nothing is held and a reservation may be left.
    #[inline(always)]
    pub fn may_have_reservation(self) -> bool {
        is::<RESERVED_NUMBER>(self.0)
    }

    /// Records that nothing is held, and a place retained.
    #[inline(always)]
    pub fn record_reservation(self) {
        // Release, as in `record`.
        self.0.store(RESERVED, Release);
    }

    /// Begins an acquisition. Returns what is left of the last one; `None`: the participant holds the lock, or is on the way
    /// in or out.
    #[inline]
    pub fn begin(self) -> Option<Idle> {
        let idle = self.idle()?;
        self.begin_biased();
        Some(idle)
    }

    /// Returns what is left of the last acquisition; `None`: the participant holds the lock, or is on the way in or out.
    #[inline]
    pub fn idle(self) -> Option<Idle> {
        // Acquire. Partner: the release in `record`, by a thread that unlocked as the same participant.
        match self.0.load(Acquire) {
            0 => Some(Idle::Bare),
            BIASED => Some(Idle::Biased),
            RESERVED => Some(Idle::Reserved),
            _ => None,
        }
    }

    /// Begins an acquisition where [`LocalState::may_be_biased`] or [`LocalState::may_have_reservation`] said yes.
    #[inline(always)]
    pub fn begin_biased(self) {
        self.0.store(UNDER_WAY, Relaxed);
        // A signal handler of this thread that finds anything of the acquisition in the file finds this.
        compiler_fence(SeqCst);
    }

    /// Begins an unlock. Returns how the participant holds the lock; what it holds afterwards is for [`LocalState::record`] to
    /// say.
    ///
    /// `shared`: several threads use this participant.
    ///
    /// # Errors
    /// [`Error::NotOwner`]: it does not hold it (with this very token, where one is named), or another call unlocks it;
    /// [`Error::ParticipantBusy`]: it holds it, and another call changes how.
    #[inline]
    pub fn begin_unlock(self, token: Option<u64>, shared: bool) -> Result<Holding> {
        self.begin_as_holder(UNDER_WAY, token, shared)
    }

    /// Begins what only the holder may do, and leaves the lock held. As [`LocalState::begin_unlock`].
    #[inline]
    pub fn begin_change(self, token: Option<u64>, shared: bool) -> Result<Holding> {
        self.begin_as_holder(CHANGING, token, shared)
    }

    /// What [`LocalState::begin_change`] began turns out to be an unlock.
    #[inline]
    pub fn go_on_to_unlock(self) {
        self.0.store(UNDER_WAY, Relaxed);
        compiler_fence(SeqCst);
    }

    #[inline]
    fn begin_as_holder(self, begun: u64, token: Option<u64>, shared: bool) -> Result<Holding> {
        let mut looks = 0;
        loop {
            let word = self.0.load(Relaxed);
            if word == CHANGING && shared && looks < LOOKS {
                looks += 1;
                spin_hint();
                continue;
            }
            let holding = Self::decode(word).filter(|holding| holding.has(token));
            let Some(holding) = holding else { return Err(Self::refusal(word)) };
            if !shared {
                self.0.store(begun, Relaxed);
            } else if self.0.compare_exchange(word, begun, Acquire, Relaxed).is_err() {
                // Another thread has just begun: look what. Acquire. Partner: the release in `record`.
                continue;
            }
            compiler_fence(SeqCst);
            return Ok(holding);
        }
    }

    fn refusal(word: u64) -> Error {
        if word == CHANGING { Error::ParticipantBusy } else { Error::NotOwner }
    }

    /// Checks that the participant holds the lock (with this very token, where one is named).
    ///
    /// # Errors
    /// As [`LocalState::begin_unlock`].
    #[inline]
    pub fn check_held(self, token: Option<u64>) -> Result<()> {
        let word = self.0.load(Relaxed);
        if Self::says_held(word, token) { Ok(()) } else { Err(Self::refusal(word)) }
    }

    /// Returns whether [`LocalState::check_held`] finds that it does.
    #[inline]
    pub fn is_held_by(self, token: Option<u64>) -> bool {
        Self::says_held(self.0.load(Relaxed), token)
    }

    #[inline]
    fn says_held(word: u64, token: Option<u64>) -> bool {
        match Self::decode(word) {
            Some(holding) => holding.has(token),
            None => word == CHANGING && token.is_none(),
        }
    }

    /// Records what the participant holds. `None` is recorded last, when nothing of the acquisition is left in the file.
    #[inline(always)]
    pub fn record(self, holding: Option<Holding>) {
        let word = holding.map_or(0, |Holding { token, unbiased, among_readers }| {
            token | if unbiased { UNBIASED } else { 0 } | if among_readers { AMONG_READERS } else { 0 }
        });
        self.0.store(word, Release);
    }

    /// Returns whether nothing is held, and nothing under way.
    #[inline]
    pub fn is_idle(self) -> bool {
        matches!(self.0.load(Relaxed), 0 | BIASED | RESERVED)
    }

    /// Returns whether the participant holds the lock, also while a call changes how.
    #[inline]
    pub fn is_held(self) -> bool {
        self.is_held_by(None)
    }

    /// Returns whether an acquisition, an unlock or a change is under way: of the calling thread's own, a signal handler finds
    /// that.
    #[inline]
    pub fn is_under_way(self) -> bool {
        matches!(self.0.load(Relaxed), UNDER_WAY | CHANGING)
    }

    /// Returns how the participant holds the lock, if it does and nothing changes that.
    #[inline(always)]
    pub fn holding(self) -> Option<Holding> {
        Self::decode(self.0.load(Relaxed))
    }

    #[inline(always)]
    fn decode(word: u64) -> Option<Holding> {
        let unbiased = word & UNBIASED != 0;
        let among_readers = !unbiased && word & AMONG_READERS != 0;
        let token = word & !if unbiased { UNBIASED } else { AMONG_READERS };
        let holding = Holding { token, unbiased, among_readers };
        (!matches!(word, 0 | BIASED | RESERVED | UNDER_WAY | CHANGING)).then_some(holding)
    }

    /// Returns whether the lock is held by its fast path, and not by a bias towards readers, which the caller has ruled out (with this
    /// very token, where one is named).
    #[inline(always)]
    pub fn is_held_biased(self, token: Option<u64>) -> bool {
        match token {
            // Neither 0 nor with the bit `UNBIASED`.
            None => is_positive(self.0),
            // Likewise: then the word is not either.
            Some(token) => token.cast_signed() > 0 && equals(self.0, token),
        }
    }

    /// Returns how the fast path took the lock (with this very token, where one is named). `None`: it is not held, or it was taken
    /// otherwise.
    #[inline(always)]
    pub fn taken_by(self, token: Option<u64>) -> Option<TakenBy> {
        let word = self.0.load(Relaxed);
        if word == 0 || word & UNBIASED != 0 || token.is_some_and(|token| token != word & !AMONG_READERS) {
            return None;
        }
        Some(if word & AMONG_READERS == 0 { TakenBy::Reservation } else { TakenBy::Bias })
    }
}
