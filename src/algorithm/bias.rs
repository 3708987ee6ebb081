//! The retained privilege: who was last in may enter again without asking anyone.
//!
//! As in the algorithms by messages (Ricart and Agrawala 1983, Suzuki and Kasami 1985: "as long as a process keeps the
//! token it may enter without asking the others"). Each lock has a word `control`: nobody, or the slot that retains the
//! privilege, or that slot with a request. Only the *candidate* writes it: whoever is at the head of the bakery's line,
//! so the bakery makes it single-writer.
//!
//! ```text
//! retainer    held[i] = TRYING; BARRIER; control == i exactly? then in: held[i] = token
//!             leaves: held[i] = 0; BARRIER; control == i still? else wake who asked
//! candidate   control = r, asked; HEAVY BARRIER; wait until held[r] == 0; now the privilege is its own, and it either
//!   plainly   control = nobody; its number is held through the section
//!   retains   held[i] = token; control = i; number[i] = 0, in that order; leaves as a retainer
//! ```
//! Who has somebody behind it in the line does not retain: it would enter again and again before the next one is awake.
//! Nor does one who gives up asking take its request back then: the retainer would pass those behind it.
//!
//! BARRIER keeps only the compiler in order where HEAVY BARRIER is `membarrier`, which is a full fence in every process
//! that may retain; else (in *fenced* mode) both are full fences. The argument is Dekker's: either the candidate sees
//! `held[r] != 0`, or the retainer sees that it is asked. `spec/retained_tso.pml` goes through every execution.

use super::ownership::{Health, Ownership};
use crate::mutants::{Mutant, planted};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    compiler_fence, full_fence,
};
use crate::trace::{self, Step};

const SLOT: u64 = 0xffff;
const ASKED: u64 = 1 << 16;
const FENCED: u64 = 1 << 17;
const NOBODY: u64 = 0;

/// How `control` reads while a slot retains the privilege and nobody has asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    /// Of no slot: how `control` reads while nobody retains the privilege.
    pub const NONE: Self = Self(NOBODY);

    /// Of slot `slot`; `fenced`: its process is not registered for membarrier, so its retained entries have full
    /// fences.
    pub fn new(slot: usize, fenced: bool) -> Self {
        Self((slot as u64 + 1) | if fenced { FENCED } else { 0 })
    }

    /// Have its entries full fences?
    pub fn is_fenced(self) -> bool {
        self.0 & FENCED != 0
    }

    #[inline(always)]
    fn barrier(self) {
        if self.is_fenced() && !planted(Mutant::NoFenceInFencedMode) {
            full_fence();
        } else {
            compiler_fence(SeqCst);
        }
    }
}

/// Another slot retains the privilege.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BiasOwner {
    /// Which.
    pub slot: usize,
    /// Is its own full fence the partner of ours (and membarrier not needed)?
    pub fenced: bool,
}

impl BiasOwner {
    fn word(self) -> u64 {
        Mark::new(self.slot, self.fenced).0
    }
}

/// One lock's words about the privilege. `control` is written by candidates; the others by the holder.
#[derive(Clone, Copy)]
pub struct Bias<'a> {
    /// Who retains it.
    pub control: &'a AtomicU64,
    /// The lock's fencing token when the present retention began.
    pub began_at: &'a AtomicU64,
    /// So many plain entries must come before the next retention.
    pub back_off: &'a AtomicU64,
    /// So many have come.
    pub plain_entries: &'a AtomicU64,
    /// The slot of the last of them, plus 1.
    pub last: &'a AtomicU64,
}

/// A retention with fewer entries than this did not pay: revoking it costs as much as some thirty of its entries save.
const PAYS: u64 = 32;
const FIRST_BACK_OFF: u64 = 16;
const MOST_BACK_OFF: u64 = 1 << 16;

impl Bias<'_> {
    /// Does this one retain it, and is not asked? To be seen before [`Bias::enter`], except in a hurry: so that
    /// one who is asked does not raise `held` again and again, and the candidate meets it at most once more.
    pub fn is_unasked(&self, mark: Mark) -> bool {
        self.control.load(Relaxed) == mark.0
    }

    /// The retainer goes in: its token, and it is written down as the holder. `None`: it may not; go the slow way, and
    /// wake who sleeps on our spot, if we still are the one who retains it: they may have seen us try.
    #[inline(always)]
    pub fn enter(&self, held: &AtomicU64, mark: Mark, ownership: &Ownership) -> Option<u64> {
        if planted(Mutant::FlagAfterCheck) && self.control.load(Acquire) == mark.0 {
            trace::at(Step::Try);
            return ownership.enter(held);
        }
        held.store(super::ownership::TRYING, Relaxed);
        trace::at(Step::Try);
        // Partner: the candidate's heavy barrier, after it asked. If theirs comes first, we see that we are asked; if
        // ours does, they see that we try, and wait for us.
        mark.barrier();
        // Acquire. Partner: the release store in `take_back`; for our own `retain` none is needed.
        if self.control.load(Acquire) == mark.0
            && ownership.health() == Health::Consistent
            && let Some(token) = ownership.enter(held)
        {
            return Some(token);
        }
        // Release, though nothing was done: whoever reads this 0 must have our last section too.
        held.store(0, Release);
        None
    }

    /// The retainer is no longer inside. `false`: it is asked, or was: wake who sleeps on its spot.
    #[inline(always)]
    pub fn leave(&self, held: &AtomicU64, mark: Mark) -> bool {
        // Release. Partner: the acquire load of `held` by the candidate that waits for it.
        held.store(0, Release);
        trace::at(Step::Leave);
        // Partner: the candidate's heavy barrier. If theirs comes first, we see that we are asked and wake them; if
        // ours does, they see that we are out.
        mark.barrier();
        self.control.load(Acquire) == mark.0
    }

    /// Candidate `me`: does nobody else retain the privilege? The first question, quicker than [`Bias::retainer`].
    #[inline]
    pub fn is_free_for(&self, me: usize) -> bool {
        // Acquire, as in `retainer`.
        let control = self.control.load(Acquire);
        control == NOBODY || control & !(ASKED | FENCED) == me as u64 + 1
    }

    /// Candidate `me`: who else retains the privilege, if anyone does? `held` are all slots' words.
    pub fn retainer<'h>(
        &self,
        me: usize,
        mut held: impl ExactSizeIterator<Item = &'h AtomicU64>,
    ) -> Option<BiasOwner> {
        // Acquire. Partner: the release stores of former candidates; what they did before is before us.
        let control = self.control.load(Acquire);
        if control == NOBODY {
            return None;
        }
        let fenced = control & FENCED != 0;
        let slot = (control & SLOT).checked_sub(1).map(|slot| slot as usize);
        match slot.filter(|slot| *slot < held.len() && control & !(SLOT | ASKED | FENCED) == 0) {
            Some(slot) => (slot != me).then_some(BiasOwner { slot, fenced }),
            // Written by nobody: the file was overwritten. Whoever is inside all the same shows by its own word.
            None => {
                let inside = |(slot, held): (usize, &AtomicU64)| slot != me && held.load(Acquire) != 0;
                let slot = held.by_ref().enumerate().position(inside)?;
                Some(BiasOwner { slot, fenced: false })
            }
        }
    }

    /// The candidate asks; the heavy barrier comes next, then `held` of the retainer.
    pub fn ask(&self, retainer: BiasOwner) {
        self.control.store(retainer.word() | ASKED, Release);
        trace::at(Step::Ask);
    }

    /// The candidate gives up: the retainer keeps it.
    pub fn take_back(&self, retainer: BiasOwner) {
        self.control.store(retainer.word(), Release);
    }

    /// The candidate has come by another's privilege: did that one's retention pay?
    pub fn learn(&self, token: u64) {
        let entries = token.saturating_sub(self.began_at.load(Relaxed));
        let back_off = self.back_off.load(Relaxed).min(MOST_BACK_OFF);
        let next =
            if entries < PAYS { (back_off * 2).clamp(FIRST_BACK_OFF, MOST_BACK_OFF) } else { back_off / 4 };
        self.back_off.store(next, Relaxed);
        self.plain_entries.store(0, Relaxed);
    }

    /// Should candidate `me`, who has the privilege, retain it? `in_demand`: it was taken from one who used it all the
    /// time.
    pub fn should_retain(&self, me: usize, in_demand: bool) -> bool {
        let entries = self.plain_entries.load(Relaxed).saturating_add(1);
        self.plain_entries.store(entries, Relaxed);
        let again = self.last.load(Relaxed) == me as u64 + 1;
        self.last.store(me as u64 + 1, Relaxed);
        entries > self.back_off.load(Relaxed) && (again || in_demand)
    }

    /// The candidate is the holder by its number alone.
    pub fn hold_plainly(&self) {
        if self.control.load(Relaxed) != NOBODY {
            self.control.store(NOBODY, Release);
        }
    }

    /// The candidate, written down as the holder with `token`, retains the privilege; its number is given up right
    /// after.
    pub fn retain(&self, mark: Mark, token: u64) {
        self.began_at.store(token, Relaxed);
        // Release. Partner: the acquire load in `retainer` of the next candidate, who must find `held` written.
        self.control.store(mark.0, Release);
        trace::at(Step::Retain);
    }

    /// Nobody retains it: after a boot, with every slot's byte lock in hand.
    pub fn clear(&self) {
        for word in [self.control, self.began_at, self.back_off, self.plain_entries, self.last] {
            word.store(0, Relaxed);
        }
    }

    /// Which slot retains it, asked or not.
    pub fn seen(&self) -> Option<usize> {
        (self.control.load(Acquire) & SLOT).checked_sub(1).map(|slot| slot as usize)
    }

    /// Is it asked to give it up?
    pub fn is_asked(&self) -> bool {
        self.control.load(Relaxed) & ASKED != 0
    }
}
