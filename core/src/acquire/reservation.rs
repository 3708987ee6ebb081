//! The reservation of a place in the queue, from both sides: its participant's acquisitions by it, and how waiters behind it
//! revoke it. The rules stand in [`crate::algorithm::reservation`].

use super::{
    bias::{self, Use},
    eviction,
    fast_path::UnlockOutcome,
    link,
    local::Idle,
    site::{Attempt, BlockedBy, Limit, Lock, RevokeOutcome, Site, Waiter},
};
use crate::algorithm::{
    Place, Protocol,
    bakery::Registers,
    bias::BiasOwner,
    claim::{Claims, HoldClass},
    eviction::Skipped,
    ownership::{Health, TRYING},
    reservation::Reservation,
};
use crate::error::Result;
use crate::sync::Ordering::Acquire;
use crate::trace::{self, Step};

fn place_of<L: Lock>(lock: &L, me: usize) -> Reservation<'_> {
    Reservation { held: lock.held(me), eviction: lock.eviction(me) }
}

/// Takes the lock by the participant's reservation, if it has one that suits. Returns the fencing token.
pub fn retake<S: Site>(attempt: &Attempt<S>) -> Option<u64> {
    let (site, lock, me) = (&attempt.site, attempt.site.lock(), attempt.site.me());
    if !matches!(lock.queue().place(me), Place::Numbered(_)) {
        return None;
    }
    let note = || site.note_claim(attempt.claim);
    attempt.fast_path().reenter(place_of(lock, me), (lock.queue().claims, me), attempt.claim, note)
}

/// Gives the reservation up: the waiters behind it go on.
#[cold]
pub fn give_up<S: Site>(attempt: &Attempt<S>) {
    let (lock, me) = (attempt.site.lock(), attempt.site.me());
    if lock.queue().place(me) != Place::Idle {
        attempt.withdraw();
    } else {
        // The waiter that revoked it has gone on; but others may have seen us try, or inside, and sleep.
        lock.unpark_waiters_of(me);
    }
    lock.unpark_standby(me, true);
}

/// Retains the place of the holder, which has just come in by its number, if that is likely to pay.
pub fn begin<S: Site>(attempt: &Attempt<S>, token: u64, in_demand: bool) {
    let (site, lock, me) = (&attempt.site, attempt.site.lock(), attempt.site.me());
    let claims = lock.queue().claims;
    if attempt.config.may_be_biased
        && claims.may_be_reserved(attempt.claim)
        && attempt.health() == Health::Consistent
        && lock.ownership().has_tokens_for_bias()
        && link::may_begin_bias(attempt)
        && site.wants_reservation(in_demand)
        // Not over the heads of those that wait.
        && !attempt.is_another_waiting()
    {
        site.bias_begins(token);
        claims.reserve(me);
    }
}

/// Leaves after the first section with the place, which is kept if it is a retained one. `false`: it is not, or is lost, and
/// nothing was done.
pub fn leave<S: Site>(attempt: &Attempt<S>) -> bool {
    let (site, lock, me) = (&attempt.site, attempt.site.lock(), attempt.site.me());
    if !lock.queue().claims.is_reserved(me) || lock.eviction(me).is_evicted() {
        return false;
    }
    lock.set_since(me, 0);
    if !place_of(lock, me).leave() {
        give_up(attempt);
        site.local().record(None);
        return true;
    }
    trace::at(Step::Wake);
    // A waiter that came before the place was reserved waits for its number to go; those that come from now on revoke it instead.
    lock.unpark_waiters_of(me);
    lock.unpark_standby(me, true);
    site.local().record_reservation();
    true
}

/// Unlocks what [`retake`] took.
pub fn leave_retaken<S: Site>(attempt: &Attempt<S>) {
    let (site, lock, me) = (&attempt.site, attempt.site.lock(), attempt.site.me());
    if !site.is_shared() {
        if attempt.fast_path().end_reserved(place_of(lock, me)) == UnlockOutcome::WasRevoked {
            complete_leave(attempt);
        }
        return;
    }
    // The local state is ours until it says that nothing is held: no other thread takes the lock as this participant before, so the
    // place that is given up is not the next one's.
    trace::at(Step::Exit);
    if place_of(lock, me).leave() {
        site.local().record_reservation();
    } else {
        give_up(attempt);
        site.local().record(None);
    }
}

/// Completes an unlock by the fast path that found the place lost.
#[cold]
pub fn complete_leave<S: Site>(attempt: &Attempt<S>) {
    let (site, lock, me) = (&attempt.site, attempt.site.lock(), attempt.site.me());
    if site.is_shared() {
        // The next of its threads may be inside by now, and neither the local state nor the number is ours any more. The lost place may
        // stand: a waiter that finds no participant inside ends it, and so does the participant's next doorway.
        lock.unpark_standby(me, true);
        return;
    }
    let local = site.local();
    // Else a signal handler has come between, and has seen to it.
    match local.begin() {
        Some(Idle::Reserved) => {
            give_up(attempt);
            local.record(None);
        }
        Some(Idle::Biased) => local.record_biased(),
        Some(Idle::Bare) => local.record(None),
        None => {}
    }
}

/// Returns whether the place of `slot` is one that this participant may go past, once it has told it so and passed the barrier:
/// reserved, and its participant outside, or inside as a reader beside which it may be.
pub fn may_pass<S: Site>(attempt: &Attempt<S>, slot: usize) -> bool {
    let lock = attempt.site.lock();
    is_reserved(lock, slot) && may_be_beside(attempt, lock.held(slot).load(Acquire), slot)
}

/// Returns whether a number stands in `slot` that is a reservation. One that is in its next doorway may seem to have its last
/// claim still.
pub fn is_reserved<L: Lock>(lock: &L, slot: usize) -> bool {
    matches!(lock.queue().place(slot), Place::Numbered(_)) && lock.queue().claims.is_reserved(slot)
}

/// Returns whether that leaves room for this participant: what stands in the `held` of a reservation.
fn may_be_beside<S: Site>(attempt: &Attempt<S>, held: u64, slot: usize) -> bool {
    // After `held`: a reader that is seen to be inside, and comes in no more, stays one.
    let reads = || attempt.site.lock().queue().claims.reads_by_reservation(slot);
    let only_reads = matches!(attempt.hold_class(), HoldClass::Reader | HoldClass::Upgradable);
    held == 0 || only_reads && held != TRYING && reads()
}

/// Returns whether the place of `slot` is reserved, and its participant outside.
pub fn is_unused<L: Lock>(lock: &L, slot: usize) -> bool {
    is_reserved(lock, slot) && lock.held(slot).load(Acquire) == 0
}

/// What a waiter has done about the reservations before it, since its number was published.
#[derive(Debug, Default)]
pub struct Revocations {
    /// The slots that it told that their reservations are lost. That another waiter told them is not enough to sleep behind them: their
    /// participants may have left without seeing that.
    told: Skipped,
    /// Whether one of them was used all the time.
    pub in_demand: bool,
    /// Whether no slot could be told so, though places are in the way: the words say what no participant writes.
    pub in_vain: bool,
    /// Whether the agent of a linked semaphore was told that permits are wanted.
    pub agent_was_told: bool,
}

impl Revocations {
    /// Another number is about to be published.
    pub fn forget(&mut self) {
        (self.told, self.agent_was_told) = (Skipped::NONE, false);
    }
}

/// Revokes the reservations in the way of this participant whose participants are outside.
pub fn revoke_others<S: Site>(
    attempt: &Attempt<S>,
    waiter: &mut S::Waiter,
    number: u64,
    skipped: &mut Skipped,
    revocations: &mut Revocations,
) -> Result<RevokeOutcome> {
    let (site, lock, me) = (&attempt.site, attempt.site.lock(), attempt.site.me());
    let claims = lock.queue().claims;
    // One that was told, and inside after the barrier, finds out when it leaves: it is not told again until it is outside.
    let is_in_the_way = |told: &Skipped, slot: usize| {
        claims.is_reserved(slot) && (!told.has(slot) || may_pass(attempt, slot))
    };
    // A checker needs no time to pass, and would let the other one go on in it.
    let use_of = |slot: usize| match lock.held(slot) {
        // Without the token, which others may take beside it.
        held if !cfg!(any(loom, shuttle)) => bias::use_of(held, || 0),
        held if held.load(Acquire) != 0 => Use::Inside,
        _ => Use::Little,
    };
    // Those that are not used go first: they may leave room enough.
    let (mut unused, mut first_unused, mut first_busy) = (Skipped::NONE, None, None);
    lock.queue().each_before(me, number, |slot, place| {
        if skipped.has(slot) || place == Place::Choosing || !is_in_the_way(&revocations.told, slot) {
            return;
        }
        match use_of(slot) {
            how @ (Use::InAndOut | Use::Inside) if !lock.eviction(slot).is_evicted() => {
                first_busy = first_busy.or(Some((slot, how)));
            }
            _ => {
                unused.insert(slot);
                first_unused = first_unused.or(Some(slot));
            }
        }
    });
    let first_busy_slot = first_busy.map(|(slot, _)| slot);
    let Some(first) = first_unused.or(first_busy_slot) else { return Ok(RevokeOutcome::None) };
    if first_unused.is_none() {
        revocations.in_demand = true;
        // One that stays inside to read is not let pass by a reader, which goes in beside it.
        let is_beside = matches!(first_busy, Some((slot, Use::Inside)) if may_pass(attempt, slot));
        if !is_beside && waiter.lets_pass() {
            return Ok(RevokeOutcome::Busy(BlockedBy::Bias(BiasOwner { slot: first })));
        }
        // A try that will fail should not take it away.
        if waiter.limit() == Limit::Never && !may_pass(attempt, first) && !waiter.check_alive(first)? {
            return Err(Limit::Never.passed());
        }
    }
    let mut told = Skipped::NONE;
    revocations.in_vain = true;
    lock.queue().each_before(me, number, |slot, place| {
        if !skipped.has(slot)
            && place != Place::Choosing
            && (first_unused.is_none() || unused.has(slot))
            && is_in_the_way(&revocations.told, slot)
            && lock.eviction(slot).evict().is_some()
        {
            told.insert(slot);
            revocations.in_vain = false;
        }
    });
    if let Err(error) = eviction::pass_the_barrier(site) {
        // Refused from now on, see `bias::pass_the_barrier`.
        return if waiter.check_alive(first)? { Ok(RevokeOutcome::Some) } else { Err(error) };
    }
    let mut ended = RevokeOutcome::None;
    lock.queue().each_before(me, number, |slot, place| {
        let Place::Numbered(theirs) = place else { return };
        if !told.has(slot) {
            return;
        }
        // Acquire. Partner: the release stores of 0, by a participant that leaves. If we read that 0, its section is before ours, and it
        // cannot come in again by this place: after the barrier it sees that it was told. If we read TRYING, it is about to see that.
        let held = lock.held(slot).load(Acquire);
        if !may_be_beside(attempt, held, slot) {
            return;
        }
        ended = RevokeOutcome::Some;
        if held == 0 {
            // If the participant has gone on meanwhile and drawn another number, the exchange fails, and that number is larger than ours.
            lock.queue().registers.end(slot, theirs);
        } else {
            skipped.insert(slot);
        }
    });
    revocations.told.add(&told);
    trace::at(Step::PassedOver);
    site.bias_was_revoked();
    Ok(ended)
}
