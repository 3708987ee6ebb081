//! The bias of a rwlock towards its readers: as long as it lasts, a reader enters and leaves without the queue, and writes
//! no line that another reader writes.
//!
//! BRAVO (D. Dice and A. Kogan, "BRAVO: Biased Locking for Reader-Writer Locks", USENIX ATC 2019) does it with a table of
//! visible readers; the slots are one. The rest is as with the bias towards one participant ([`super::bias`]), whose bias
//! word it uses:
//!
//! ```text
//! biased reader   held[i] = TRYING; BARRIER; bias word == READERS exactly? then in: held[i] = the last writer's token
//!                 leaves: held[i] = 0; bias word == READERS still? else unpark the waiter for i
//! reader inside by its number
//!                 may bias the lock: bias word UNBIASED -> READERS, by a compare-exchange
//! writer, queued for good behind others
//!                 may suspend it: bias word READERS -> SUSPENDED, by a compare-exchange; a reader inside by its number may end that:
//!                 SUSPENDED -> READERS, likewise
//! writer, head of the queue
//!                 unless the bias word is UNBIASED: takes an entry step, in it bias word = READERS, REVOKED; HEAVY BARRIER;
//!                 waits until held[j] == 0 for every other j; takes its entry step again; inside, bias word = UNBIASED
//! upgrade         mode[i] = UPGRADING; bias word = UPGRADING; HEAVY BARRIER; waits until no earlier claim conflicts, and then
//!                 until held[j] == 0 for every other j; mode[i] = EXCLUSIVE; leaves: held[i] = TRYING; bias word = UNBIASED;
//!                 held[i] = 0; number[i] = 0; or downgrades: bias word = UNBIASED; mode[i] = less
//! reader, entering by its number
//!                 after its entry step, where the bias word is UPGRADING: looks again whether an earlier claim conflicts
//! ```
//!
//! - A reader that enters by the queue looks at the modes of the claims before it. It may look before an upgrade
//!   begins, and enter after that. So it looks at the bias word once its `held` is written, as a biased reader does. If
//!   the upgrade's store to the bias word comes first, the reader sees UPGRADING, and looks again; if the reader's
//!   store to `held` comes first, the upgrade sees it, and waits. The reader may enter even after the upgrade came
//!   about; therefore the bias word says UPGRADING until the writer's section is over.
//! - A writer that leaves after an upgrade writes the bias word while its `held` is not 0. Otherwise other participants
//!   could pass over it, and bias the lock or upgrade, before it writes the word.
//! - A writer that did not upgrade leaves the bias word alone when it leaves or downgrades. The word says UNBIASED or,
//!   after the downgrade, READERS, by a reader that entered.
//! - A participant that gives up a revocation or an upgrade leaves READERS behind, not UNBIASED: biased readers may be
//!   inside. No writer is inside then, so READERS is right however many readers there are. Where the lock is not consistent it
//!   leaves SUSPENDED: a dead writer's notice ended no bias, since the bias had ended before that writer was inside, and a biased
//!   reader does not look for one. Likewise where the lock is leased ([`super::link`]): a biased reader looks at no lease.
//! - SUSPENDED means the same as READERS to all participants except biased readers, which do not enter. So any
//!   participant may set or end it, as long as it replaces READERS alone, and READERS replaces it. It excludes no
//!   participant and needs no barrier. It only keeps later readers from passing a writer that waits for a reader
//!   inside.
//! - A reader that biases the lock looks afterwards whether a participant waits, and suspends the bias then. A waiter
//!   that suspended the bias between the reader's look and its exchange stood in the queue already, so the later look
//!   finds it.
//! - A reader biases the lock by a compare-exchange: with a store it would write over UPGRADING. Every other write is
//!   by a writer at the head of the queue, in an entry step or inside, or by the one upgradable holder.
//! - A dead participant may leave UPGRADING or a revoked bias behind. Such a bias word reads as READERS, revoked: it
//!   says that biased readers may be inside.

use super::{
    bias::BiasWord,
    light_barrier::{LightBarrier, before_leaver_looks},
    ownership::{Ownership, TRYING},
};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::trace::{self, Step};

const UNBIASED: u64 = 0;
/// No slot's mark: of the slots there are fewer.
const READERS: u64 = 0xffff;
const READERS_REVOKED: u64 = READERS | 1 << 16;
const READERS_SUSPENDED: u64 = READERS | 1 << 17;
const UPGRADING: u64 = 1 << 18;

/// How the bias word reads while a lock is biased to its readers and the bias is not being revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct ReadersMark(u64);

impl ReadersMark {
    /// The mark of the lock whose name has this generation. It is in the mark, since the bias of a lock that was removed is
    /// not that of the next one in its place: a handle of the former must not enter by it.
    pub const fn new(generation: u64) -> Self {
        Self(READERS | generation << 32)
    }

    /// Returns it as a word.
    pub const fn word(self) -> u64 {
        self.0
    }
}

/// When a lock is biased to its readers: not before a multiple of the time has passed that the last revocation took. Written
/// by writers; safety never depends on it.
#[derive(Clone, Copy)]
pub struct ReadersPolicy<'a> {
    /// Not before this time, in nanoseconds.
    pub not_before: &'a AtomicU64,
}

/// So many times as long as a revocation takes: with nine, as BRAVO has (section 3), writers are slowed down by a tenth at most;
/// with three by a third, and of 99 readers to a writer twice as many enter by the bias (one process, measured).
const PAYS: u64 = 3;
/// A revocation that seems to take longer was stopped in the midst of it, or the word was overwritten.
const MOST_BACK_OFF: u64 = 1_000_000_000;

impl ReadersPolicy<'_> {
    /// Returns whether a reader should bias the lock at this time, in nanoseconds.
    pub fn should_bias(&self, now: u64) -> bool {
        let not_before = self.not_before.load(Relaxed);
        now >= not_before || not_before - now > MOST_BACK_OFF
    }

    /// Notes that a revocation took from `began` to `now`.
    pub fn was_revoked(&self, began: u64, now: u64) {
        let back_off = (now.saturating_sub(began) * PAYS).min(MOST_BACK_OFF);
        self.not_before.store(now + back_off, Relaxed);
    }
}

/// One rwlock's bias.
#[derive(Debug)]
pub struct SharedBias<'a, W = AtomicU64>(pub &'a W, pub &'a ReadersMark);

impl<W> Clone for SharedBias<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<W> Copy for SharedBias<'_, W> {}

impl<W: BiasWord> SharedBias<'_, W> {
    /// Returns whether the lock is biased to its readers and the bias is not being revoked.
    #[inline(always)]
    pub fn is_unrevoked(&self) -> bool {
        self.0.load(Relaxed) == self.1.0
    }

    /// Returns whether biased readers may be inside, for a writer at the head of the queue.
    pub fn may_have_readers(&self) -> bool {
        // Acquire. Partner: the release stores of former writers.
        self.0.load(Acquire) != UNBIASED
    }

    /// Returns whether a participant upgrades, or died doing so.
    pub fn is_upgraded(&self) -> bool {
        // Acquire. Partner: the release store in `upgrade`: a reader that sees it sees the mode.
        self.0.load(Acquire) & UPGRADING != 0
    }

    /// Enters as a reader without the queue. Returns the fencing token of the last writer; `None`: it has to queue, after
    /// unparking the participants parked at its slot, which may have seen it try.
    #[inline(always)]
    pub fn take_as_reader(
        &self,
        held: &AtomicU64,
        light: impl LightBarrier,
        ownership: &Ownership,
    ) -> Option<u64> {
        held.store(TRYING, Relaxed);
        trace::at(Step::Try);
        // Partner: the heavy barrier of a writer that revokes, or upgrades. If theirs comes first, we see that; if ours does,
        // they see that we try, and wait for us.
        light.pass();
        // Acquire. Partner: the release stores of the reader that biased the lock and of the writer that gave its
        // revocation up: what former writers did is before us.
        if self.0.is(self.1.0) {
            return Some(ownership.share_token_unchecked(held));
        }
        // Release, though nothing was done: a participant that reads this 0 must have our last section too.
        held.store(0, Release);
        None
    }

    /// Leaves as a biased reader. Returns `false` if a writer waits for that: the participants parked at its slot have
    /// to be unparked.
    #[inline(always)]
    pub fn leave(&self, held: &AtomicU64) -> bool {
        // Release. Partner: the acquire load of `held` by the writer that waits for it.
        held.store(0, Release);
        trace::at(Step::Leave);
        // Partner, in a file of one process: the heavy barrier of a writer. If theirs comes first, we see that it
        // waits; if ours does, it sees that we are out.
        before_leaver_looks();
        self.0.load(Relaxed) == self.1.0
    }

    /// Suspends it, for a writer that is queued for good, wherever it stands: until a reader that is inside by its number biases the
    /// lock again, readers queue.
    pub fn suspend(&self) {
        // Release and acquire. Partner: the exchange in `begin`: the reader that biases the lock after it finds the writer in the
        // queue. That it is an exchange: with a store it would write over UPGRADING.
        self.0.compare_exchange(self.1.0, READERS_SUSPENDED);
    }

    /// Biases the lock, for a reader that is inside by its number, and looks afterwards whether a participant waits
    /// ([`SharedBias::suspend`]). Returns whether it is biased now.
    pub fn begin(&self) -> bool {
        // Release. Partner: the acquire load in `take_as_reader`: what former writers did is before us, and so before biased readers.
        // That it is an exchange: see above.
        let biased = self.0.compare_exchange(UNBIASED, self.1.0)
            || self.0.compare_exchange(READERS_SUSPENDED, self.1.0)
            || self.is_unrevoked();
        trace::at(Step::Bias);
        biased
    }

    /// Revokes it, for a writer at the head of the queue, in an entry step. The heavy barrier comes next, then the others'
    /// `held`.
    pub fn revoke(&self) {
        self.0.store(READERS_REVOKED, Release);
        trace::at(Step::Revoke);
    }

    /// Gives up a revocation, in an entry step, or an upgrade. `suspended`: others wait, or a biased reader would have to be told of a
    /// death.
    pub fn cancel(&self, suspended: bool) {
        self.0.store(if suspended { READERS_SUSPENDED } else { self.1.0 }, Release);
    }

    /// The upgradable holder upgrades, whose mode says so already. The heavy barrier comes next.
    pub fn upgrade(&self) {
        // Release. Partner: the acquire load in `is_upgraded`.
        self.0.store(UPGRADING, Release);
        trace::at(Step::Revoke);
    }

    /// Ends it, for a writer that is inside, or whose `held` is not 0 yet.
    pub fn end(&self) {
        if self.0.load(Relaxed) != UNBIASED {
            self.0.store(UNBIASED, Release);
        }
        trace::at(Step::Unbias);
    }
}
