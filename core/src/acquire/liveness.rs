//! Acting for a participant that is dead: a reaper that holds its slot's byte lock is that slot.
//!
//! ```text
//! clear(q), each step repeatable by the next reaper should this one die:
//!   1 if held[q] != 0, and its claim let it change the data: write q down as the dead owner; if state == consistent:
//!     state = inconsistent (of a part of a lock: that this part is; of a member of a group: count its death)
//!   2 held[q] = 0 (also where q was only trying to enter: that is no death inside)
//!   3 number[q] = 0, choosing[q] = 0; on a ring: no membership, so that a waiter may act for q's machine
//!   4 unpark the waiters for q
//! ```
//! The bias word is left alone: only the queue head writes it, and it may go on naming a slot without a participant.

use super::site::Lock;
use crate::algorithm::{
    Protocol,
    claim::{Claims, HoldClass},
    ownership::{Health, token_in},
    ring::{Machines, Membership},
};
use crate::sync::Ordering::Acquire;
use crate::trace::{self, Step};

/// Unlocks what `slot` holds of a lock, as its holder would after it repaired what a dead one left: for a participant
/// that left its slot to others. Returns whether it held anything. With the slot's byte lock in hand, and no other call
/// at it.
pub fn unlock<L: Lock>(lock: &L, slot: usize) -> bool {
    let held = lock.held(slot);
    // Acquire. Partner: the release store in `Ownership::claim_token`.
    let holds = token_in(held.load(Acquire)).is_some();
    if holds {
        let claims = lock.queue().claims;
        let claim = claims.read(slot);
        match claims.hold_class(claim) {
            HoldClass::Alone => {
                if lock.ownership().health() == Health::Inconsistent {
                    lock.ownership().mark_consistent();
                }
                lock.ownership().exit(held);
            }
            HoldClass::Granule | HoldClass::Member => {
                lock.mark_deaths_consistent(slot, claim, false);
                lock.ownership().exit_unchanged(held);
            }
            HoldClass::Reader | HoldClass::Upgradable | HoldClass::Permits => {
                lock.ownership().exit_unchanged(held)
            }
        }
        // The section is over; if we die here, a reaper finishes the rest.
        clear(lock, slot);
    }
    holds
}

/// Clears what `slot` left in a lock, so that it blocks no waiter and the next holder of what it held gets the owner-dead
/// notice. With the slot's byte lock in hand.
pub fn clear<L: Lock>(lock: &L, slot: usize) {
    trace::at(Step::Reap);
    lock.ownership().forget(lock.held(slot), |token| lock.record_death(slot, token));
    lock.set_since(slot, 0);
    lock.forget_wait(slot);
    trace::at(Step::ReapNotice);
    lock.eviction(slot).mend();
    lock.queue().forget(slot);
    // Release, in there. Partner: the acquire load of a membership. A waiter that reads ours has the notice before it acts for the
    // machine; one that does not leaves the machine alone.
    lock.machines().set_membership(slot, Membership::None);
    trace::at(Step::ReapCleared);
    lock.unpark_waiters_of(slot);
    lock.unpark_standby(slot, false);
}
