//! The biased lock: the participant that held the lock last may take it again without the queue.
//!
//! The literature calls such a lock *biased* to its last owner. It is the *privilege* of the token algorithms, kept by one
//! process until another process asks for it (Ricart and Agrawala 1983, Suzuki and Kasami 1985: "as long as a process
//! keeps the token it may enter without asking the others"). Each lock has a *bias word*: no slot, or the slot of the
//! *bias owner*, or that slot and a mark of revocation. Only the *queue head* writes it, inside its entry step
//! ([`super::eviction`]), which makes it single-writer.
//!
//! ```text
//! bias owner   held[i] = TRYING; BARRIER; bias == i exactly? then in: held[i] = token
//!              leaves: held[i] = 0; bias == i still? else unpark the revoker
//! queue head   held[me] = TRYING; BARRIER; not skipped? then it has taken the entry step, and goes on
//!              bias = r, revoked; HEAVY BARRIER; wait until held[r] == 0; now the lock is its own, and it holds it
//!   unbiased   bias = 0; its number stands in the queue through the critical section
//!   biased     bias = 0; held[i] = token; bias = i; number[i] = 0, in that order; leaves as the bias owner
//! ```
//! A queue head that has a waiter queued for good behind it does not take the bias: it would acquire the lock again and
//! again before the next one is awake. Nor does a queue head that gives up cancel its revocation then: the bias owner
//! would pass the waiters behind it.
//!
//! The bias owner does not look whether the lock is consistent. A bias begins only while it is; and the bias word is 0 before
//! `held` says that the queue head holds the lock: if it dies before its own bias begins, the word does not name the former
//! owner, whom a queue head that cancels its revocation would let in without an owner-dead notice.
//!
//! BARRIER is the light side and HEAVY BARRIER the other one of [`super::light_barrier`]: no instruction and `membarrier` where
//! one process alone takes part, full fences on both sides else. The argument is Dekker's: either the queue head sees
//! `held[r] != 0`, or the bias owner sees the revocation. `spec/biased_tso.pml` goes through every execution.

use super::{
    light_barrier::{LightBarrier, before_leaver_looks},
    ownership::Ownership,
};
use crate::sync::{
    AtomicU64, Ordering,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    equals,
};
use crate::trace::{self, Step};

const SLOT: u64 = 0xffff;
const REVOKED: u64 = 1 << 16;
const UNBIASED: u64 = 0;

/// How the bias word reads while the lock is biased to a slot and the bias is not being revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    /// The mark of no slot: how the bias word reads while the lock is unbiased.
    pub const NONE: Self = Self(UNBIASED);

    /// Returns the mark of slot `slot`.
    pub fn new(slot: usize) -> Self {
        Self(slot as u64 + 1)
    }
}

/// Another slot, to which the lock is biased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BiasOwner {
    /// The slot.
    pub slot: usize,
}

impl BiasOwner {
    fn word(self) -> u64 {
        Mark::new(self.slot).0
    }
}

/// The bias word, as memory: an atomic word, or one that a model checker watches.
pub trait BiasWord {
    /// Loads it.
    fn load(&self, order: Ordering) -> u64;
    /// Stores it.
    fn store(&self, value: u64, order: Ordering);
    /// Returns whether it is this, by an acquire load.
    #[inline(always)]
    fn is(&self, value: u64) -> bool {
        self.load(Acquire) == value
    }
    /// Makes it `new` if it is `old`, with acquire and release order. Returns whether it was.
    fn compare_exchange(&self, old: u64, new: u64) -> bool;
}

impl BiasWord for AtomicU64 {
    #[inline(always)]
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }

    #[inline(always)]
    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }

    #[inline(always)]
    fn is(&self, value: u64) -> bool {
        equals(self, value)
    }

    fn compare_exchange(&self, old: u64, new: u64) -> bool {
        AtomicU64::compare_exchange(self, old, new, AcqRel, Relaxed).is_ok()
    }
}

/// One lock's bias. Written by queue heads.
#[derive(Debug)]
pub struct Bias<'a, W = AtomicU64>(pub &'a W);

impl<W> Clone for Bias<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<W> Copy for Bias<'_, W> {}

impl<W: BiasWord> Bias<'_, W> {
    /// Returns whether the lock is biased to this mark's slot and the bias is not being revoked. Looked at before
    /// [`Bias::take_as_owner`] except on the fast path: an owner under revocation then does not raise `held` again and
    /// again, and the queue head meets it at most once more.
    pub fn is_unrevoked(&self, mark: Mark) -> bool {
        self.0.load(Relaxed) == mark.0
    }

    /// Takes the lock as the bias owner. Returns the fencing token; `None`: the lock is not biased to this slot, or the
    /// bias is being revoked. Then it has to queue, after unparking the participants parked at its slot if it still is
    /// the bias owner: they may have seen it try.
    #[inline(always)]
    pub fn take_as_owner(
        &self,
        held: &AtomicU64,
        mark: &Mark,
        light: impl LightBarrier,
        ownership: &Ownership,
    ) -> Option<u64> {
        held.store(super::ownership::TRYING, Relaxed);
        trace::at(Step::Try);
        // Partner: the queue head's heavy barrier, after it revoked. If theirs comes first, we see the revocation; if ours
        // does, they see that we try, and wait for us.
        light.pass();
        // Acquire. Partner: the release store in `cancel_revocation`; for our own `begin` none is needed.
        if self.0.load(Acquire) == mark.0 {
            return Some(ownership.claim_token_unchecked(held));
        }
        // Release, though nothing was done: a queue head that reads this 0 must have our last section too.
        held.store(0, Release);
        None
    }

    /// Unlocks as the bias owner. Returns `false` if the bias is being revoked, or was: then the participants parked at
    /// its slot have to be unparked.
    #[inline(always)]
    pub fn leave(&self, held: &AtomicU64, mark: &Mark) -> bool {
        // Release. Partner: the acquire load of `held` by the queue head that waits for it.
        held.store(0, Release);
        trace::at(Step::Leave);
        // Partner, in a file of one process: the queue head's heavy barrier. If theirs comes first, we see the revocation and
        // unpark them; if ours does, they see that we are out.
        before_leaver_looks();
        self.0.load(Acquire) == mark.0
    }

    /// Returns whether the lock is unbiased, or biased to `me`, the queue head. The first look, quicker than
    /// [`Bias::owner_other_than`].
    #[inline]
    pub fn is_free_for(&self, me: usize) -> bool {
        // Acquire, as in `owner_other_than`.
        let word = self.0.load(Acquire);
        word == UNBIASED || word & !REVOKED == me as u64 + 1
    }

    /// Returns the bias owner, unless that is `me`, the queue head, or there is none. `held` are all slots' words.
    pub fn owner_other_than<'h>(
        &self,
        me: usize,
        mut held: impl ExactSizeIterator<Item = &'h AtomicU64>,
    ) -> Option<BiasOwner> {
        // Acquire. Partner: the release stores of former queue heads; what they did before is before us.
        let word = self.0.load(Acquire);
        if word == UNBIASED {
            return None;
        }
        let slot = (word & SLOT).checked_sub(1).map(|slot| slot as usize);
        match slot.filter(|slot| *slot < held.len() && word & !(SLOT | REVOKED) == 0) {
            Some(slot) => (slot != me).then_some(BiasOwner { slot }),
            // No participant writes this: the file was overwritten. A holder that is inside all the same shows by its
            // own word.
            None => {
                let inside = |(slot, held): (usize, &AtomicU64)| slot != me && held.load(Acquire) != 0;
                let slot = held.by_ref().enumerate().position(inside)?;
                Some(BiasOwner { slot })
            }
        }
    }

    /// Revokes the bias, for the queue head. The heavy barrier comes next, then the owner's `held`.
    pub fn revoke(&self, owner: BiasOwner) {
        self.0.store(owner.word() | REVOKED, Release);
        trace::at(Step::Revoke);
    }

    /// Cancels the revocation, for the queue head that gives up: the lock stays biased to its owner.
    pub fn cancel_revocation(&self, owner: BiasOwner) {
        self.0.store(owner.word(), Release);
    }

    /// Ends the bias, for the queue head, which then holds the lock by its number alone.
    pub fn unbias(&self) {
        if self.0.load(Relaxed) != UNBIASED {
            self.0.store(UNBIASED, Release);
        }
        trace::at(Step::Unbias);
    }

    /// Biases the lock to the queue head, which is written down as the holder and clears its number right after.
    pub fn begin(&self, mark: Mark) {
        // Release. Partner: the acquire load in `owner_other_than` of the next queue head, which must find `held`
        // written.
        self.0.store(mark.0, Release);
        trace::at(Step::Bias);
    }

    /// Returns the slot that the lock is biased to, under revocation or not.
    pub fn owner(&self) -> Option<usize> {
        (self.0.load(Acquire) & SLOT).checked_sub(1).map(|slot| slot as usize)
    }

    /// Returns whether the bias is being revoked.
    pub fn is_being_revoked(&self) -> bool {
        self.0.load(Relaxed) & REVOKED != 0
    }

    /// Clears it: after a boot, with every slot's byte lock in hand.
    pub fn clear(&self) {
        self.0.store(UNBIASED, Relaxed);
    }
}

/// When a lock is biased and when not: what revocations cost against what biased acquisitions save. Written by queue
/// heads; safety never depends on it.
#[derive(Clone, Copy)]
pub struct BiasPolicy<'a> {
    /// The lock's fencing token when the present bias began.
    pub began_at: &'a AtomicU64,
    /// So many unbiased acquisitions must come before the next bias.
    pub back_off: &'a AtomicU64,
    /// So many have come.
    pub unbiased: &'a AtomicU64,
    /// The slot of the last of them, plus 1.
    pub last: &'a AtomicU64,
}

/// A bias with fewer acquisitions than this did not pay: its revocation costs as much as some thirty of them save.
pub const PAYS: u64 = 32;
const FIRST_BACK_OFF: u64 = 16;
const MOST_BACK_OFF: u64 = 1 << 16;

impl BiasPolicy<'_> {
    /// Notes that the bias begins with the acquisition that has fencing token `token`.
    pub fn bias_begins(&self, token: u64) {
        self.began_at.store(token, Relaxed);
    }

    /// Notes that the bias was revoked when the lock's last fencing token was `token`. It paid from `pays` acquisitions on.
    pub fn was_revoked(&self, token: u64, pays: u64) {
        let acquisitions = token.saturating_sub(self.began_at.load(Relaxed));
        let back_off = self.back_off.load(Relaxed).min(MOST_BACK_OFF);
        let next = if acquisitions < pays {
            (back_off * 2).clamp(FIRST_BACK_OFF, MOST_BACK_OFF)
        } else {
            back_off / 4
        };
        self.back_off.store(next, Relaxed);
        self.unbiased.store(0, Relaxed);
    }

    /// Returns whether `me`, the queue head, should take the bias. `in_demand`: it was revoked from an owner that used it
    /// all the time.
    pub fn should_bias(&self, me: usize, in_demand: bool) -> bool {
        let acquisitions = self.unbiased.load(Relaxed).saturating_add(1);
        self.unbiased.store(acquisitions, Relaxed);
        let again = self.last.load(Relaxed) == me as u64 + 1;
        self.last.store(me as u64 + 1, Relaxed);
        acquisitions > self.back_off.load(Relaxed) && (again || in_demand)
    }

    /// Forgets everything: after a boot, with every slot's byte lock in hand.
    pub fn clear(&self) {
        for word in [self.began_at, self.back_off, self.unbiased, self.last] {
            word.store(0, Relaxed);
        }
    }
}
