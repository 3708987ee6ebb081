//! The fast path: acquisitions that need no queue, and their unlocks, by what the participant's last acquisition left. A few
//! loads and stores of words that no other participant is using, and no call.
//!
//! There are three: the bias owner takes the lock again, a biased reader does, and a participant re-enters by its reservation. The
//! file's handles come here first, with nothing but the words that it takes ([`FastPath`]); whatever is not exactly so is for
//! [`super::operations`], which come here too. So the checkers search what ships.
//!
//! The local state is written first and last, so that a signal handler of the thread finds the acquisition under way: if it comes
//! before the first store, it may take and leave the lock as if the thread had not begun; if it comes after, it is told
//! so and keeps off. An unlock writes it once, before `held`: a handler that comes between the two finds that the
//! section is over, and may take the lock again.

use super::local::{Holding, LocalState, TakenBy};
use crate::algorithm::{
    bias::{Bias, BiasWord, Mark},
    claim::{Claims, Reentry},
    eviction::EvictionWords,
    light_barrier::LightBarrier,
    ownership::Ownership,
    reservation::Reservation,
    shared_bias::SharedBias,
};
use crate::sync::{AtomicU64, Ordering::SeqCst, compiler_fence};
use crate::trace::{self, Step};

/// What the fast path takes of a participant at a lock.
#[derive(Clone, Copy)]
pub struct FastPath<'a, L> {
    /// What the participant knows of its part in the lock.
    pub local: LocalState<'a>,
    /// Its `held` word, see [`crate::algorithm::ownership`].
    pub held: &'a AtomicU64,
    /// The lock's owner words.
    pub ownership: Ownership<'a>,
    /// The participant's side of the barriers.
    pub light: L,
}

/// How an unlock by the fast path came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnlockOutcome {
    /// No participant minded.
    Done,
    /// The bias or the reservation was revoked meanwhile: the participants that wait for that have to be unparked.
    WasRevoked,
}

impl UnlockOutcome {
    #[inline(always)]
    fn of(is_unrevoked: bool) -> Self {
        if is_unrevoked { UnlockOutcome::Done } else { UnlockOutcome::WasRevoked }
    }
}

impl<L: LightBarrier> FastPath<'_, L> {
    /// Takes the lock, if it is biased to this participant, whose mark that is. Returns the fencing token.
    #[inline(always)]
    pub fn take_as_owner<W: BiasWord>(&self, bias: Bias<'_, W>, mark: &Mark) -> Option<u64> {
        if !self.local.may_be_biased() {
            return None;
        }
        self.local.begin_biased();
        let token = bias.take_as_owner(self.held, mark, self.light, &self.ownership);
        self.end_taking(token, false, |local| local.record_biased())
    }

    /// Unlocks what [`FastPath::take_as_owner`] took (by the acquisition with this very token, where one is named). `None`: the
    /// participant does not hold the lock so, and nothing was done.
    #[inline(always)]
    pub fn leave_as_owner<W: BiasWord>(
        &self,
        bias: Bias<'_, W>,
        mark: &Mark,
        token: Option<u64>,
    ) -> Option<UnlockOutcome> {
        self.local.is_held_biased(token).then(|| self.end_as_owner(bias, mark, false))
    }

    /// [`FastPath::leave_as_owner`], where an unlock has begun. `is_shared`: several threads use the participant.
    #[inline(always)]
    pub fn end_as_owner<W: BiasWord>(
        &self,
        bias: Bias<'_, W>,
        mark: &Mark,
        is_shared: bool,
    ) -> UnlockOutcome {
        self.end_leaving(is_shared, |local| local.record_biased(), || bias.leave(self.held, mark))
    }

    /// Takes the lock as a reader, if it is biased to its readers and this participant was one of them. Returns the fencing token of
    /// the last writer. `claim`: writes down that it is a reader, where its claim may say something else.
    #[inline(always)]
    pub fn take_as_reader<W: BiasWord>(
        &self,
        shared_bias: SharedBias<'_, W>,
        claim: impl FnOnce(),
    ) -> Option<u64> {
        if !self.local.may_be_biased() {
            return None;
        }
        self.local.begin_biased();
        claim();
        let token = shared_bias.take_as_reader(self.held, self.light, &self.ownership);
        self.end_taking(token, true, |local| local.record_biased())
    }

    /// Unlocks what [`FastPath::take_as_reader`] took. As [`FastPath::leave_as_owner`].
    #[inline(always)]
    pub fn leave_as_reader<W: BiasWord>(
        &self,
        shared_bias: SharedBias<'_, W>,
        token: Option<u64>,
    ) -> Option<UnlockOutcome> {
        let is_so = self.local.taken_by(token) == Some(TakenBy::Bias);
        is_so.then(|| self.end_as_reader(shared_bias, false))
    }

    /// [`FastPath::leave_as_reader`], where an unlock has begun. As [`FastPath::end_as_owner`].
    #[inline(always)]
    pub fn end_as_reader<W: BiasWord>(
        &self,
        shared_bias: SharedBias<'_, W>,
        is_shared: bool,
    ) -> UnlockOutcome {
        self.end_leaving(is_shared, |local| local.record_biased(), || shared_bias.leave(self.held))
    }

    /// Takes what `claim` says by the participant's reservation, if it has one that suits. `me` is its slot among the `claims`;
    /// `note` writes down what it claims from now on, where that is not what it claimed before. Returns the fencing token.
    #[inline(always)]
    pub fn reenter<C: Claims>(
        &self,
        reservation: Reservation<'_, impl EvictionWords>,
        (claims, me): (C, usize),
        claim: C::Claim,
        note: impl FnOnce(),
    ) -> Option<u64> {
        if !self.local.may_have_reservation() {
            return None;
        }
        self.local.begin_biased();
        // The look comes after. If a signal handler came before it and gave the reservation up, it has written another claim, unless it
        // has not queued again; and where another participant took it away, it is evicted still.
        let reentry = claims.suits_reservation(me, claim);
        let is_inside = match reentry {
            Some(reentry) => {
                // Else it was noted when the participant was inside by its place, or came in by its number. It means nothing while
                // nothing is held; and where the place turns out to be lost, the claim is noted again before the doorway.
                if reentry == Reentry::InOtherMode {
                    note();
                }
                reservation.reenter(claims, me, (claim, reentry), self.light)
            }
            None => false,
        };
        if !is_inside {
            self.give_up(|local| local.record_reservation());
            return None;
        }
        Some(self.begin_section(reservation.claim_token(claims, claim, &self.ownership), false))
    }

    /// Unlocks what [`FastPath::reenter`] took, and [`FastPath::leave_as_reader`] does not leave. As [`FastPath::leave_as_owner`].
    #[inline(always)]
    pub fn leave_reserved(
        &self,
        reservation: Reservation<'_, impl EvictionWords>,
        token: Option<u64>,
    ) -> Option<UnlockOutcome> {
        self.local.is_held_biased(token).then(|| self.end_reserved(reservation))
    }

    /// [`FastPath::leave_reserved`], where an unlock has begun, and no other thread may use the participant meanwhile.
    #[inline(always)]
    pub fn end_reserved(&self, reservation: Reservation<'_, impl EvictionWords>) -> UnlockOutcome {
        self.end_leaving(false, |local| local.record_reservation(), || reservation.leave())
    }

    #[inline(always)]
    fn end_taking(
        &self,
        token: Option<u64>,
        among_readers: bool,
        record: impl FnOnce(LocalState<'_>),
    ) -> Option<u64> {
        match token {
            Some(token) => Some(self.begin_section(token, among_readers)),
            None => {
                self.give_up(record);
                None
            }
        }
    }

    #[inline(always)]
    fn begin_section(&self, token: u64, among_readers: bool) -> u64 {
        self.local.record(Some(Holding { token, unbiased: false, among_readers }));
        trace::at(Step::Section);
        token
    }

    #[inline(always)]
    fn give_up(&self, record: impl FnOnce(LocalState<'_>)) {
        record(self.local);
        // Keeps the compiler from making one store of this one and that of a section that begins, which would cost the way in two jumps.
        compiler_fence(SeqCst);
    }

    /// The order of the two is that of signal handlers, see above: a handler between them finds the lock left, and has itself left what
    /// it took by the time that `held` is cleared here. But where several threads use the participant, the next of them
    /// may begin as soon as the local state says that nothing is held: were `held` cleared after it, its own entry would be
    /// cleared.
    #[inline(always)]
    fn end_leaving(
        &self,
        is_shared: bool,
        record: impl FnOnce(LocalState<'_>),
        leave: impl FnOnce() -> bool,
    ) -> UnlockOutcome {
        if is_shared {
            trace::at(Step::Exit);
            let left = UnlockOutcome::of(leave());
            record(self.local);
            left
        } else {
            record(self.local);
            trace::at(Step::Exit);
            UnlockOutcome::of(leave())
        }
    }
}
