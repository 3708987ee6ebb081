//! What changed between two looks at a lock file.

use super::change::{Change, Event};
use crate::no_lock;
use std::time::Instant;
use turnlock::inspect::{
    Activity, ClaimMode, FileStatus, Holder, Life, LockStatus, ParticipantStatus, Waiter, WaiterState,
};

/// A look and when it was.
pub struct Seen {
    pub status: FileStatus,
    pub at: Instant,
}

/// Returns what is found at the first look.
pub fn at_first(now: &FileStatus) -> Vec<Change> {
    let mut found = Vec::new();
    for lock in &now.locks {
        for holder in &lock.holders {
            let held_seconds = holder.for_seconds;
            found.push(Change { held_seconds, ..Change::of_holder(Event::Holds, &lock.name, holder) });
        }
        for waiter in waiting(lock) {
            let waited_seconds = waiter.for_seconds;
            found.push(Change { waited_seconds, ..Change::of_waiter(Event::Waits, &lock.name, waiter) });
        }
        if no_lock::is_ill(lock) || matches!(lock.state, "set" | "done") {
            found.push(Change::of_state(lock));
        }
    }
    found
}

/// Returns what changed from one look at a file to the next, in an order in which it can have happened.
pub fn between(before: &Seen, now: &Seen) -> Vec<Change> {
    let mut found = Vec::new();
    let (old, new) = (&before.status, &now.status);
    for participant in
        new.participants.iter().filter(|one| !old.participants.iter().any(|other| same(one, other)))
    {
        found.push(Change::of_participant(Event::Attached, participant));
    }
    for lock in &new.locks {
        match old.locks.iter().find(|other| other.name == lock.name && other.kind == lock.kind) {
            Some(other) => of_lock(&mut found, (other, lock), now.at.duration_since(before.at).as_secs_f64()),
            None => found.push(Change::of_lock(Event::LockCreated, &lock.name)),
        }
    }
    for lock in &old.locks {
        if !new.locks.iter().any(|other| other.name == lock.name && other.kind == lock.kind) {
            found.push(Change::of_lock(Event::LockRemoved, &lock.name));
        }
    }
    deaths_and_departures(&mut found, old, new);
    found
}

/// Deaths of participants that held nothing (those of holders are told with their locks), and slots that are free again.
fn deaths_and_departures(found: &mut Vec<Change>, old: &FileStatus, new: &FileStatus) {
    for participant in &old.participants {
        let is = |change: &Change| change.participant.as_ref().is_some_and(|one| same(one, participant));
        let told = found.iter().any(|change| change.event == Event::Died && is(change));
        match new.participants.iter().find(|other| same(other, participant)) {
            Some(now) if now.life == Life::Dead && participant.life != Life::Dead && !told => {
                found.push(Change::of_participant(Event::Died, now));
            }
            Some(_) => {}
            None => {
                let dead = told || participant.life == Life::Dead;
                let event = if dead { Event::Reaped } else { Event::Detached };
                found.push(Change::of_participant(event, participant));
            }
        }
    }
}

fn of_lock(found: &mut Vec<Change>, (old, new): (&LockStatus, &LockStatus), elapsed: f64) {
    let name = &new.name;
    for holder in &old.holders {
        let held_seconds = holder.for_seconds.map(|seconds| seconds + elapsed);
        let with = |event| Change { held_seconds, ..Change::of_holder(event, name, holder) };
        match new.holders.iter().find(|other| goes_on(holder, other)) {
            Some(now) if now.participant.life == Life::Dead && holder.participant.life != Life::Dead => {
                found.push(with(Event::Died));
            }
            Some(now) if now.claim != holder.claim => {
                found.push(Change::of_holder(Event::Changed, name, now));
            }
            Some(_) => {}
            None if holder.participant.life == Life::Dead => {}
            None if told_dead(new) == Some(holder.fencing_token) && told_dead(old) != told_dead(new) => {
                found.push(with(Event::Died));
            }
            None => found.push(with(Event::Released)),
        }
    }
    // Of a condition that is said with each that waits.
    if old.state != new.state && new.condition.is_none() {
        found.push(Change::of_state(new));
    }
    for waiter in waiting(new) {
        match waiting(old).find(|other| same(&other.participant, &waiter.participant)) {
            None => found.push(Change::of_waiter(Event::Asked, name, waiter)),
            Some(before)
                if waiter.activity == Activity::PassedOver && before.activity != Activity::PassedOver =>
            {
                found.push(Change::of_waiter(Event::PassedOver, name, waiter));
            }
            Some(_) => {}
        }
    }
    let mut seen = 0;
    for holder in new.holders.iter().filter(|one| !old.holders.iter().any(|other| goes_on(other, one))) {
        let waiter = waiting(old).find(|other| same(&other.participant, &holder.participant));
        // When it entered is known, unless it entered by the bias: then it is some time since the last look.
        let entered_before = holder.for_seconds.filter(|_| !holder.at_least).unwrap_or(0.0);
        let waited =
            |waiter: &Waiter| (waiter.for_seconds.unwrap_or(0.0) + elapsed - entered_before).max(0.0);
        let waited_seconds = waiter.map(waited);
        seen += u64::from(old.fencing_token.is_some_and(|before| holder.fencing_token > before));
        found.push(Change { waited_seconds, ..Change::of_holder(Event::Acquired, name, holder) });
    }
    for waiter in waiting(old) {
        let is = |other: &ParticipantStatus| same(other, &waiter.participant);
        let inside = new.holders.iter().any(|holder| is(&holder.participant));
        if !inside
            && waiter.participant.life != Life::Dead
            && !waiting(new).any(|other| is(&other.participant))
        {
            let waited_seconds = waiter.for_seconds;
            let at_a_lock = waiter.claim.is_some();
            found.push(Change { waited_seconds, at_a_lock, ..Change::of_waiter(Event::Left, name, waiter) });
        }
    }
    let [before, now] = [old, new].map(|lock| lock.fencing_token.unwrap_or(0));
    let unseen = now.saturating_sub(before).saturating_sub(seen);
    if unseen != 0 {
        found.push(Change { acquisitions: Some(unseen), ..Change::of_lock(Event::Unseen, name) });
    }
    if old.biased_to != new.biased_to {
        let inside = new.holders.iter().map(|holder| &holder.participant);
        let mut all = inside.chain(new.queue.iter().map(|waiter| &waiter.participant));
        let participant = all.find(|one| Some(one.slot) == new.biased_to).cloned();
        let biased_to = Some(new.biased_to);
        found.push(Change { participant, biased_to, ..Change::of_lock(Event::Bias, name) });
    }
}

/// Returns those in the queue that wait: of a ring not all.
pub fn waiting(lock: &LockStatus) -> impl Iterator<Item = &Waiter> {
    lock.queue.iter().filter(|waiter| waiter.state != WaiterState::RingMember)
}

/// Returns whether both are the same participant: a slot changes hands.
fn same(one: &ParticipantStatus, other: &ParticipantStatus) -> bool {
    let of = |one: &ParticipantStatus| (one.slot, one.pid, one.thread, one.attached_unix_seconds);
    of(one) == of(other)
}

/// Returns whether what was held still is. Of readers that is known only as far as no writer came in between; an upgrade to
/// exclusive takes a fencing token of its own.
fn goes_on(before: &Holder, now: &Holder) -> bool {
    let could_upgrade = matches!(before.claim.mode, ClaimMode::Upgradable | ClaimMode::Upgrading);
    let upgraded = could_upgrade && now.claim.mode == ClaimMode::Exclusive;
    same(&before.participant, &now.participant) && (before.fencing_token == now.fencing_token || upgraded)
}

/// With which fencing token the last holder died.
fn told_dead(lock: &LockStatus) -> Option<u64> {
    lock.previous_owner.as_ref().map(|dead| dead.fencing_token)
}

#[cfg(test)]
mod tests;
