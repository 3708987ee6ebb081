//! What a holder is, whichever algorithm let it in: a fencing token, and the owner-dead notice.
//!
//! | word | its writer | when |
//! |---|---|---|
//! | `token` | the holder | on entering: last token + 1 |
//! | `held[i]` | participant i; or the holder of its byte lock after its death | its token while inside; [`TRYING`] in an entry
//!   that may still fail ([`super::bias`]); else 0 |
//! | `state` | the holder; or the reaper of a dead holder | see [`Health`] |
//!
//! Death between winning and `held` is clean: the algorithm's register still blocks every other participant, and
//! nothing was touched. The claim, the place in the queue and the owner record are one slot with one writer, so there
//! is no moment at which the lock is taken and no holder is written down.

use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    compiler_fence,
};
use crate::trace::{self, Step};

/// A fencing token of this or more is not one that a holder ever had: the sign bit, which costs no constant to look at.
pub const TOKEN_LIMIT: u64 = 1 << 63;

/// With a larger token than this no bias and no reservation begins: their acquisitions do not look at the range again. A holder
/// that took one of the 2^61 up to the next bit each nanosecond would need 73 years.
const MOST_BEFORE_BIAS: u64 = 1 << 61;

/// In `held`: on the way in, if it may. Not a holder: nothing was touched yet.
pub const TRYING: u64 = u64::MAX;

/// The fencing token in a `held` word; `None`: not a holder.
#[inline]
pub fn token_in(held: u64) -> Option<u64> {
    Some(held).filter(|held| !matches!(*held, 0 | TRYING))
}

/// Whether the data that the lock protects can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Health {
    /// No holder died inside, or the data were repaired since.
    Consistent = 0,
    /// A holder died inside; the next one gets the owner-dead notice and is expected to repair the data.
    Inconsistent = 1,
    /// A holder that had the notice unlocked without repairing: closed until a reset.
    NotRecoverable = 2,
}

impl Health {
    /// What the word says; a value that no participant writes is taken for the state that lets no participant in.
    #[inline]
    pub fn of(word: u32) -> Self {
        match word {
            0 => Health::Consistent,
            1 => Health::Inconsistent,
            _ => Health::NotRecoverable,
        }
    }
}

/// A lock's own words.
#[derive(Clone, Copy)]
pub struct Ownership<'a> {
    /// The last fencing token given out.
    pub token: &'a AtomicU64,
    /// A [`Health`].
    pub state: &'a AtomicU32,
}

impl Ownership<'_> {
    /// The critical section begins: takes the next fencing token and writes the owner down.
    ///
    /// `None` if the token word holds a value that no acquisition reached; nothing was written then.
    #[inline]
    pub fn claim_token(&self, held: &AtomicU64) -> Option<u64> {
        // 0, or TOKEN_LIMIT and more.
        let is_one = self.next_token().cast_signed() > 0;
        is_one.then(|| self.claim_token_unchecked(held))
    }

    /// [`Ownership::claim_token`], of a holder that enters by a bias or a reservation, which began when
    /// [`Ownership::has_tokens_for_bias`] said yes.
    #[inline(always)]
    pub fn claim_token_unchecked(&self, held: &AtomicU64) -> u64 {
        let token = self.next_token();
        self.token.store(token, Relaxed);
        trace::at(Step::Token);
        Self::write_holder(held, token);
        token
    }

    #[inline(always)]
    fn next_token(&self) -> u64 {
        // Relaxed: only holders write it, and the algorithm orders one holder after another.
        self.token.load(Relaxed).wrapping_add(1)
    }

    #[inline(always)]
    fn write_holder(held: &AtomicU64, token: u64) {
        // Release. Partner: the acquire load in `forget`. What matters after a death is that this store is there before
        // any store of the section, and the compiler must not move one of those up: the fence below.
        held.store(token, Release);
        compiler_fence(SeqCst);
        trace::at(Step::Held);
    }

    /// The critical section begins of a holder that got its fencing token by another way than the lock's word, which it
    /// is written into.
    ///
    /// `None` if it is not larger than the last one; nothing was written then.
    pub fn adopt_token(&self, held: &AtomicU64, token: u64) -> Option<u64> {
        // Relaxed, as in `claim_token`. An entry has a larger number than the hop before it.
        if token <= self.token.load(Relaxed) || token >= TOKEN_LIMIT {
            return None;
        }
        self.token.store(token, Relaxed);
        trace::at(Step::Token);
        Self::write_holder(held, token);
        Some(token)
    }

    /// The section of a reader begins, beside others: writes it down with the fencing token of the last writer.
    ///
    /// `None` if the token word holds a value that no acquisition reached; nothing was written then.
    #[inline]
    pub fn share_token(&self, held: &AtomicU64) -> Option<u64> {
        let is_one = self.last_token().cast_signed() > 0;
        is_one.then(|| self.share_token_unchecked(held))
    }

    /// [`Ownership::share_token`], as [`Ownership::claim_token_unchecked`].
    #[inline(always)]
    pub fn share_token_unchecked(&self, held: &AtomicU64) -> u64 {
        let token = self.last_token();
        Self::write_holder(held, token);
        token
    }

    /// Returns the last fencing token that was given out, as one look shows it.
    #[inline(always)]
    pub fn last_token(&self) -> u64 {
        // Relaxed. Of a holder, its last writer is before us, by the bakery's order or by the bias word; of a waiter, it is a guess.
        self.token.load(Relaxed)
    }

    /// The section begins of a holder that has a part of the lock, beside others that hold other parts: takes the next
    /// fencing token and writes the owner down.
    ///
    /// `None` if the token word holds a value that no acquisition reached.
    #[inline]
    pub fn claim_token_among(&self, held: &AtomicU64) -> Option<u64> {
        let token = self.next_token_among();
        if token.cast_signed() <= 0 {
            return None;
        }
        trace::at(Step::Token);
        Self::write_holder(held, token);
        Some(token)
    }

    /// [`Ownership::claim_token_among`], as [`Ownership::claim_token_unchecked`].
    #[inline(always)]
    pub fn claim_token_among_unchecked(&self, held: &AtomicU64) -> u64 {
        let token = self.next_token_among();
        trace::at(Step::Token);
        Self::write_holder(held, token);
        token
    }

    #[inline(always)]
    fn next_token_among(&self) -> u64 {
        // A read-modify-write, since others may take one at the same time. Relaxed: nothing else is read by it.
        self.token.fetch_add(1, Relaxed).wrapping_add(1)
    }

    /// Returns whether more tokens are left than acquisitions by a bias or a reservation can use up.
    #[inline]
    pub fn has_tokens_for_bias(&self) -> bool {
        // Relaxed: the caller is inside.
        self.token.load(Relaxed) <= MOST_BEFORE_BIAS
    }

    /// What the lock's state says.
    #[inline]
    pub fn health(&self) -> Health {
        // Relaxed: its last writer, a holder or the reaper of one, wrote before clearing the register that let us in.
        Health::of(self.state.load(Relaxed))
    }

    /// The critical section ends; the algorithm's `leave` comes right after. A holder that had the notice and did not
    /// repair closes the lock for good.
    #[inline]
    pub fn exit(&self, held: &AtomicU64) {
        self.end_section(held, 0);
    }

    /// The section ends of a holder that changed nothing, or whose death is told elsewhere.
    #[inline]
    pub fn exit_unchanged(&self, held: &AtomicU64) {
        // Release. Partner: the acquire loads of `held`.
        held.store(0, Release);
    }

    /// The data may not be changed any more by the holder that changed them, though it stays inside as a reader: a
    /// holder that had the notice and did not repair closes the lock for good.
    #[inline]
    pub fn end_changes(&self) {
        if self.health() == Health::Inconsistent {
            self.state.store(Health::NotRecoverable as u32, Relaxed);
        }
    }

    /// The critical section ends, as in [`Ownership::exit`]; but the leaver stays in the way of a participant that
    /// would pass over it, until it has stepped back ([`super::eviction::Eviction::step_back`]).
    #[inline]
    pub fn begin_exit(&self, held: &AtomicU64) {
        self.end_section(held, TRYING);
    }

    #[inline]
    fn end_section(&self, held: &AtomicU64, next: u64) {
        self.end_changes();
        // The section's stores stay before it: after a death in between, the section counts as done.
        held.store(next, Release);
    }

    /// The data were repaired. Only the holder calls it.
    pub fn mark_consistent(&self) {
        // Release: should we die right after, the repair is there before the word that claims it.
        self.state.store(Health::Consistent as u32, Release);
    }

    /// Closed until a reset: what the lock protects may not have been alone.
    pub fn close(&self) {
        self.state.store(Health::NotRecoverable as u32, Release);
    }

    /// Acts for a dead holder, if `held` says that it was one: `record` is called with its token before the state changes,
    /// and says whether the state is to change. Repeatable; the algorithm's `forget` comes after. Only with the dead one's
    /// byte lock in hand.
    pub fn forget(&self, held: &AtomicU64, record: impl FnOnce(u64) -> bool) {
        // Acquire. Partner: the release store in `claim_token`.
        let found = held.load(Acquire);
        let Some(token) = token_in(found) else {
            if found != 0 {
                held.store(0, Release);
            }
            return;
        };
        if record(token) && self.health() == Health::Consistent {
            self.state.store(Health::Inconsistent as u32, Release);
        }
        held.store(0, Release);
    }
}
