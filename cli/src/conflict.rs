//! Which holders keep out which waiters.

use turnlock::inspect::{Claim, ClaimMode, Holder, LockStatus, Part};

/// Returns whether the holders of a lock, together, keep out a waiter that wants this of it, as long as they hold it.
pub fn keep_out<'a>(lock: &LockStatus, holders: impl IntoIterator<Item = &'a Holder>, wanted: Claim) -> bool {
    if let (Some(permits), Some(wanted)) = (lock.permits, wanted.permits) {
        let held =
            holders.into_iter().map(|holder| u64::from(holder.claim.permits.unwrap_or(0))).sum::<u64>();
        return held + u64::from(wanted) > u64::from(permits);
    }
    holders.into_iter().any(|holder| {
        let held = holder.claim;
        let both_read = matches!(
            (held.mode, wanted.mode),
            (ClaimMode::Shared, ClaimMode::Shared | ClaimMode::Upgradable)
                | (ClaimMode::Upgradable, ClaimMode::Shared)
        );
        match (held.part, wanted.part) {
            (Some(Part::Group(held)), Some(Part::Group(wanted))) => held != wanted,
            _ => !both_read && have_in_common(held.part, wanted.part),
        }
    })
}

/// Returns whether two parts of a lock, or the whole of it, have something in common.
fn have_in_common(one: Option<Part>, other: Option<Part>) -> bool {
    match (one, other) {
        (Some(Part::Range { first, last }), Some(Part::Range { first: begin, last: end })) => {
            first <= end && begin <= last
        }
        (Some(Part::Key(one)), Some(Part::Key(other))) => one == other,
        _ => true,
    }
}
