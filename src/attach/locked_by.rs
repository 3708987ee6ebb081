//! Who has a lock, for the error of a call that gives up: one look, without memory from the allocator.

use crate::os::{clock, process::pid_namespace};
use crate::registers::{FileClaims, FileLock, is_linked, link};
use turnlock_core::acquire::site::Lock;
use turnlock_core::algorithm::{
    claim::{Claims, HoldClass, Relation},
    link::Wish,
    ownership::token_in,
};
use turnlock_core::error::LockedBy;
use turnlock_core::sync::Ordering::Relaxed;

/// Returns who, other than `me`, holds the lock in a way that conflicts with `claim`, and for how long at the time `now`. `me`: the slot of
/// the caller; without one it allocates.
#[cold]
pub fn look<'a, F: FileClaims>(
    lock: &FileLock<'a, F>,
    me: Option<usize>,
    claim: <F::In<'a> as Claims>::Claim,
    now: u64,
) -> LockedBy {
    let claims = lock.queue().claims;
    // Relaxed: all of it is a guess by the time that it is read.
    let conflicts = |slot: &usize| {
        Some(*slot) != me
            && token_in(lock.held(*slot).load(Relaxed)).is_some()
            && claims.cost(claim, *slot) > 0
    };
    let alone = lock.claims.relation() == Relation::Always;
    // Where only one can have it, that is the bias owner as a rule, and one look is enough.
    if alone
        && let Some(owner) = lock.bias().owner().filter(|owner| *owner < lock.slots() && conflicts(owner))
    {
        return seen(lock, me, owner, now);
    }
    let slots = lock.lock.header.slots_in_use.load(Relaxed) as usize;
    let mut holders = (0..slots.min(lock.slots())).filter(conflicts);
    let Some(first) = holders.next() else { return of_link(lock, claims.hold_class(claim)) };
    seen(lock, me, first, now).and_others(if alone { 0 } else { holders.count() })
}

/// Returns why no program is admitted, if the lock is linked and no program is.
fn of_link<F: FileClaims>(lock: &FileLock<'_, F>, hold_class: HoldClass) -> LockedBy {
    let link = link(&lock.lock);
    let total = link.total.load(Relaxed);
    let share = lock.lock.words.permits.load(Relaxed);
    if is_linked(lock.view, lock.region) && share < total {
        return if link.agent().is_none() {
            LockedBy::NO_AGENT
        } else if share > 0 && !link.lease_runs(clock::boot_ns) {
            // Without a share the lease of before does not matter.
            LockedBy::LEASE_ENDED
        } else {
            LockedBy::OTHER_HOSTS
        };
    }
    let wish = if hold_class == HoldClass::Reader { Wish::Read } else { Wish::Write };
    match is_linked(lock.view, lock.region) && !link.admits(wish, clock::boot_ns) {
        false => LockedBy::UNKNOWN,
        true if link.agent().is_none() => LockedBy::NO_AGENT,
        true if link.is_away() => LockedBy::AWAY,
        true if !link.lease_runs(clock::boot_ns) => LockedBy::LEASE_ENDED,
        true if link.is_home_to_read() => LockedBy::HOME_TO_READ,
        true => LockedBy::NO_TOKENS,
    }
}

fn seen<F: FileClaims>(lock: &FileLock<'_, F>, me: Option<usize>, slot: usize, now: u64) -> LockedBy {
    let record = &lock.view.slots()[slot];
    // The caller wrote down its own when it took its slot.
    let written = |me: usize| lock.view.slots()[me].pid_namespace.load(Relaxed);
    let is_here = record.pid_namespace.load(Relaxed) == me.map_or_else(pid_namespace, written);
    let holder = LockedBy::holder(
        is_here.then(|| record.pid.load(Relaxed)),
        if record.label.is("") { record.program.bytes() } else { record.label.bytes() },
    );
    match (lock.since(slot), lock.revoking_since()) {
        (0, 0) => holder,
        // A biased entry does not write down when it began.
        (0, wanted) => holder.for_nanoseconds(now.saturating_sub(wanted), true),
        (since, _) => holder.for_nanoseconds(now.saturating_sub(since), false),
    }
}
