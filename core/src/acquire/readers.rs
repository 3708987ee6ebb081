//! Readers and writers: the bias towards readers from both sides, and the head of a queue of claims. The rules stand in
//! [`crate::algorithm::shared_bias`].

use super::{
    bias, eviction,
    fast_path::UnlockOutcome,
    link,
    local::Holding,
    reservation, share,
    site::{Attempt, Limit, Lock, Overwritten, Progress, Site, Waiter},
};
use crate::algorithm::{
    Protocol,
    bakery::Registers,
    claim::{Claims, HoldClass},
    eviction::{Eviction, Skipped},
    ownership::Health,
};
use crate::error::Result;
use crate::mutants::{self, Mutant};
use crate::sync::{Ordering::Acquire, full_fence};
use crate::trace::{self, Step};

/// Takes the lock as a reader without the queue, if the lock is biased to its readers. Returns the fencing token.
pub fn retake<S: Site>(attempt: &Attempt<S>) -> Option<u64> {
    // A look first: a reader that tries under revocation has to unpark the waiters for it to be outside. The fast path does not
    // look.
    if attempt.hold_class() != HoldClass::Reader || !attempt.site.lock().shared_bias().is_unrevoked() {
        return None;
    }
    // If a signal handler came between our look at the local state and our first store, it may have claimed something else.
    let claim = || {
        attempt.site.note_claim(attempt.claim);
        attempt.write_claim();
    };
    attempt.fast_path().take_as_reader(attempt.site.lock().shared_bias(), claim)
}

/// Gives up what [`retake`] goes by: the participant is about to queue.
pub fn forgo<S: Site>(attempt: &Attempt<S>) {
    let (lock, me) = (attempt.site.lock(), attempt.site.me());
    // If this is a signal handler that came in the midst of an unlock by the fast path, after the local state and before `held`, a
    // writer waits for the section before it to end; and we would wait for that writer.
    Eviction::step_back(lock.held(me));
    // And a writer may have seen us try, and sleep.
    lock.unpark_waiters_of(me);
}

/// Unlocks what [`retake`] took.
pub fn leave_retaken<S: Site>(attempt: &Attempt<S>) {
    let (site, lock) = (&attempt.site, attempt.site.lock());
    if attempt.fast_path().end_as_reader(lock.shared_bias(), site.is_shared()) == UnlockOutcome::WasRevoked {
        lock.unpark_waiters_of(site.me());
    }
}

/// Takes the entry step at once, from the head of the queue. `false`: that takes more, or the place is lost.
#[inline]
pub fn take_at_once<S: Site>(attempt: &Attempt<S>, number: u64) -> bool {
    let lock = attempt.site.lock();
    let hold_class = attempt.hold_class();
    if hold_class == HoldClass::Alone && lock.shared_bias().may_have_readers()
        || !eviction::publish_trying(attempt)
    {
        return false;
    }
    let may_enter = match hold_class {
        HoldClass::Alone => !lock.shared_bias().may_have_readers(),
        HoldClass::Reader => !is_before_an_upgrade(attempt, number, &Skipped::NONE),
        HoldClass::Permits => !has_capacity_changed(attempt),
        HoldClass::Upgradable | HoldClass::Granule | HoldClass::Member => true,
    };
    if may_enter && link::is_admitted(attempt) {
        return true;
    }
    step_back(attempt);
    false
}

/// Takes the entry step of the head of the queue, once no participant is inside that conflicts with its claim, and the link admits it.
pub fn take_as_head<S: Site>(
    attempt: &Attempt<S>,
    waiter: &mut S::Waiter,
    number: u64,
    skipped: &Skipped,
) -> Result<Progress<bool>> {
    loop {
        let progress = if attempt.hold_class() == HoldClass::Alone {
            take_as_writer(attempt, waiter)?
        } else {
            take_beside_others(attempt, number, skipped)
        };
        if matches!(progress, Progress::LookAgain) {
            share::wait_if_too_small(attempt, waiter)?;
        }
        if !matches!(progress, Progress::Done(_)) || link::is_admitted(attempt) {
            return Ok(progress);
        }
        if attempt.hold_class() == HoldClass::Alone {
            // All are outside: the readers need not be waited for anew, and one that gives up has no revocation to cancel.
            end_bias(attempt);
        }
        step_back(attempt);
        if !link::wait_until_admitted(attempt, waiter)? {
            return Ok(Progress::Evicted);
        }
    }
}

fn take_beside_others<S: Site>(attempt: &Attempt<S>, number: u64, skipped: &Skipped) -> Progress<bool> {
    if !eviction::publish_trying(attempt) {
        return Progress::Evicted;
    }
    let looks_again = match attempt.hold_class() {
        HoldClass::Reader => is_before_an_upgrade(attempt, number, skipped),
        HoldClass::Permits => has_capacity_changed(attempt) && !has_capacity_now(attempt, number, skipped),
        _ => false,
    };
    if looks_again {
        step_back(attempt);
        return Progress::LookAgain;
    }
    Progress::Done(false)
}

/// Returns whether one before this reader, which has taken its entry step, upgrades since it looked at the modes. If the upgrade's
/// bias word comes before our entry step, we see it here; if our entry step does, the one that upgrades sees our `held`, and waits for us
/// to be outside.
fn is_before_an_upgrade<S: Site>(attempt: &Attempt<S>, number: u64, skipped: &Skipped) -> bool {
    let lock = attempt.site.lock();
    lock.shared_bias().is_upgraded()
        && !matches!(lock.queue().blocker(attempt.site.me(), number, |slot| skipped.has(slot)), Ok(None))
}

/// Returns whether this participant, which has taken its entry step, may have looked for permits when there were more of them, or
/// fewer.
fn has_capacity_changed<S: Site>(attempt: &Attempt<S>) -> bool {
    let claims = attempt.site.lock().queue().claims;
    // After the barrier of the entry step. Partner: that of the participant that lowered the number of permits. It is
    // told so only when a participant that enters by the old number is inside, or sees the new one.
    claims.has_capacity_changed(attempt.site.me()) || claims.shortage(attempt.claim).is_some()
}

/// Returns whether there are permits enough beside those before it, by the present number.
fn has_capacity_now<S: Site>(attempt: &Attempt<S>, number: u64, skipped: &Skipped) -> bool {
    let queue = attempt.site.lock().queue();
    queue.claims.shortage(attempt.claim).is_none()
        && matches!(queue.blocker(attempt.site.me(), number, |slot| skipped.has(slot)), Ok(None))
}

/// Takes an entry step back, and unparks the participants that may have seen it.
fn step_back<S: Site>(attempt: &Attempt<S>) {
    eviction::step_back(attempt);
    attempt.site.lock().unpark_waiters_of(attempt.site.me());
}

fn take_as_writer<S: Site>(attempt: &Attempt<S>, waiter: &mut S::Waiter) -> Result<Progress<bool>> {
    let lock = attempt.site.lock();
    let mut alone = false;
    loop {
        if waiter.limit() == Limit::Never && lock.shared_bias().may_have_readers() {
            // A try that will fail should not disturb the readers.
            if is_another_inside(attempt)
                && !eviction::reap_insiders(attempt, waiter)?
                && is_another_inside(attempt)
            {
                return Err(Limit::Never.passed());
            }
        }
        if !eviction::publish_trying(attempt) {
            return Ok(Progress::Evicted);
        }
        if alone || !lock.shared_bias().may_have_readers() {
            return Ok(Progress::Done(false));
        }
        let began = attempt.site.exact_now();
        lock.set_revoking_since(attempt.site.now());
        lock.shared_bias().revoke();
        eviction::step_back(attempt);
        let outside = have_all_outside(attempt, waiter);
        // A child that was forked in the wait has revoked nothing.
        if outside.is_err() && !attempt.site.is_ours() {
            return outside.map(|()| Progress::Evicted);
        }
        if let Err(error) = outside {
            cancel_revocation(attempt);
            return Err(error);
        }
        attempt.site.readers_were_revoked(began);
        alone = true;
    }
}

/// The writer gives up.
fn cancel_revocation<S: Site>(attempt: &Attempt<S>) {
    // If another participant has passed over us, the revocation is its own now.
    if !eviction::publish_trying(attempt) {
        return;
    }
    attempt.site.lock().set_revoking_since(0);
    give_up_revocation(attempt);
    step_back(attempt);
}

/// Keeps later readers from passing this writer, which is queued for good behind others.
pub fn suspend_bias<S: Site>(attempt: &Attempt<S>, waiter: &mut S::Waiter) {
    // A try that will fail should not disturb the readers.
    if attempt.hold_class() != HoldClass::Alone || waiter.limit() == Limit::Never {
        return;
    }
    let shared_bias = attempt.site.lock().shared_bias();
    if shared_bias.is_unrevoked() && !waiter.lets_pass() {
        shared_bias.suspend();
    }
}

fn is_another_inside<S: Site>(attempt: &Attempt<S>) -> bool {
    let lock = attempt.site.lock();
    (0..lock.queue().registers.bound())
        .any(|slot| slot != attempt.site.me() && lock.held(slot).load(Acquire) != 0)
}

/// Passes the heavy barrier, and waits until all others are outside: biased readers, and those that came in by a number
/// before they could see what the bias word says now. None of them can come in again.
pub fn have_all_outside<S: Site>(attempt: &Attempt<S>, waiter: &mut S::Waiter) -> Result<()> {
    let site = &attempt.site;
    // Partner: the barrier of readers between their `held` and their look at the bias word. If ours comes first, a reader sees the
    // revocation, and queues; if theirs does, we see its `held` below, and wait for it.
    mutants::full_fence_unless(Mutant::NoFenceToRevokeReaders);
    site.heavy_barrier()?;
    // Read after the barrier: a newcomer that raises it later passes a full fence in its doorway, and sees the bias word.
    let bound = site.lock().queue().registers.bound();
    for slot in (0..bound).filter(|slot| *slot != site.me()) {
        // Acquire. Partner: the release stores of 0 by readers. If we read that 0, what the reader read is before what we write.
        if site.lock().held(slot).load(Acquire) != 0 {
            bias::wait_until_outside(attempt, waiter, slot)?;
        }
    }
    Ok(())
}

/// Ends the bias, as a writer in its entry step, with all others outside.
pub fn end_bias<S: Site>(attempt: &Attempt<S>) {
    let lock = attempt.site.lock();
    if lock.revoking_since() != 0 {
        lock.set_revoking_since(0);
    }
    lock.shared_bias().end();
}

/// Writes the head of a queue of claims, in its entry step, down as a holder.
pub fn settle<S: Site>(attempt: &Attempt<S>, in_demand: bool) -> Result<Holding> {
    trace::at(Step::Settle);
    let site = &attempt.site;
    let (lock, me, hold_class) = (site.lock(), site.me(), attempt.hold_class());
    if hold_class == HoldClass::Alone {
        end_bias(attempt);
    }
    lock.set_since(me, site.now());
    let token = match hold_class {
        HoldClass::Alone => lock.ownership().claim_token(lock.held(me)),
        HoldClass::Reader | HoldClass::Upgradable => lock.ownership().share_token(lock.held(me)),
        HoldClass::Granule | HoldClass::Permits | HoldClass::Member => {
            lock.ownership().claim_token_among(lock.held(me))
        }
    };
    let Some(token) = token else {
        attempt.withdraw();
        return Err(site.overwritten(Overwritten::Token));
    };
    // Not over the heads of writers that wait.
    if hold_class == HoldClass::Reader
        && attempt.config.may_be_biased
        && !lock.shared_bias().is_unrevoked()
        && attempt.health() == Health::Consistent
        && lock.ownership().has_tokens_for_bias()
        && link::may_begin_readers_bias(attempt)
        && site.wants_bias(false)
        && !attempt.is_another_waiting()
    {
        lock.shared_bias().begin();
        // One that came since our look.
        if attempt.is_another_waiting() {
            lock.shared_bias().suspend();
        }
    }
    reservation::begin(attempt, token, in_demand);
    trace::at(Step::Section);
    Ok(Holding { token, unbiased: true, among_readers: false })
}

/// Leaves the bias to the readers that may be inside by it, after a revocation or an upgrade that is given up. Suspended, so that no
/// other enters by it, where others wait; and where the lock is not consistent, since a biased reader does not look whether a notice is
/// due; and where it is leased, since one does not look whether the lease is over. A reader that is inside by its number ends the suspension
/// when none of these is so any more.
pub fn give_up_revocation<S: Site>(attempt: &Attempt<S>) {
    let suspended = attempt.is_another_waiting()
        || attempt.health() != Health::Consistent
        || link::is_leased(attempt.site.lock());
    attempt.site.lock().shared_bias().cancel(suspended);
}

/// Has those enter too that waited behind this one, which has waited and is inside now, and whose claims leave room.
pub fn let_others_in<S: Site>(attempt: &Attempt<S>) {
    let (lock, me) = (attempt.site.lock(), attempt.site.me());
    match attempt.hold_class() {
        HoldClass::Alone => return,
        // They wait for this one to be inside.
        HoldClass::Permits => drop(lock.unpark_waiters_of(me)),
        // Partner: the fences of those that are backed off, as in `Lock::unpark_waiters_of`. If theirs comes first, we see that they sleep and wake
        // them; if ours does, they see that we are inside, and which claims are beside us.
        _ => full_fence(),
    }
    lock.unpark_standby(me, false);
}

/// Says that a holder is outside; its number still stands.
pub fn exit<S: Site>(attempt: &Attempt<S>) {
    let lock = attempt.site.lock();
    let held = lock.held(attempt.site.me());
    match attempt.hold_class() {
        // Of one that was upgraded. Until the bias word is written no waiter passes over it: others could bias the lock, or
        // upgrade, and it would write over that.
        HoldClass::Alone if lock.shared_bias().is_upgraded() => {
            lock.ownership().begin_exit(held);
            lock.shared_bias().end();
            eviction::step_back(attempt);
        }
        HoldClass::Alone => lock.ownership().exit(held),
        _ => lock.ownership().exit_unchanged(held),
    }
}

/// Records that nothing is held, and whether the lock is biased to its readers, of which this was one.
pub fn record_left<S: Site>(attempt: &Attempt<S>) {
    let site = &attempt.site;
    if attempt.config.may_be_biased
        && attempt.hold_class() == HoldClass::Reader
        && site.lock().shared_bias().is_unrevoked()
    {
        site.local().record_biased();
    } else {
        site.local().record(None);
    }
}
