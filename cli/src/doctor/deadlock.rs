//! Deadlocks: participants each of which holds what the next one waits for.

use super::{
    super::{conflict::keep_out, describe, escape},
    finding::Finding,
};
use std::collections::BTreeMap;
use turnlock::inspect::{FileStatus, Life, LockStatus, ParticipantStatus, Waiter, WaiterState};

/// A participant waits at a lock for another one that has it, or that is before it in the queue.
#[derive(Clone, Copy)]
struct Wait<'a> {
    lock: &'a LockStatus,
    waiter: &'a ParticipantStatus,
    /// The slot of the other one.
    behind: usize,
}

/// A wait, by what is the same at another look if none of it has moved on: the lock, who waits, for whom, and the fencing token of
/// that one, if it holds the lock.
type Seen = (String, usize, usize, Option<u64>);

impl Wait<'_> {
    fn seen(&self) -> Seen {
        let holder = self.lock.holders.iter().find(|holder| holder.participant.slot == self.behind);
        let token = holder.map(|holder| holder.fencing_token);
        (self.lock.name.clone(), self.waiter.slot, self.behind, token)
    }
}

/// Returns a finding for each circle of participants that wait for one another. A slot is a thread, as a rule, which holds and
/// waits by it. `again` looks once more: one look reads the locks one after another, and may see a circle of what was never at one
/// moment.
pub fn findings(status: &FileStatus, again: impl FnOnce() -> Option<FileStatus>) -> Vec<Finding> {
    let circles = circles(status);
    if circles.is_empty() {
        return Vec::new();
    }
    let Some(later) = again() else { return Vec::new() };
    let still: Vec<Vec<Seen>> = self::circles(&later).iter().map(|circle| seen(circle)).collect();
    circles.iter().filter(|circle| still.contains(&seen(circle))).map(|circle| finding(circle)).collect()
}

fn seen(circle: &[Wait]) -> Vec<Seen> {
    circle.iter().map(Wait::seen).collect()
}

fn circles(status: &FileStatus) -> Vec<Vec<Wait<'_>>> {
    let mut waits: BTreeMap<usize, Vec<Wait>> = BTreeMap::new();
    for wait in status.locks.iter().flat_map(waits_at) {
        waits.entry(wait.waiter.slot).or_default().push(wait);
    }
    // Each circle once: from the lowest slot in it, through higher ones only.
    waits.keys().filter_map(|first| circle(&waits, *first, *first, &mut vec![*first])).collect()
}

/// Permits are left out: one that waits for some waits for whichever holder gives back first.
fn waits_at(lock: &LockStatus) -> impl Iterator<Item = Wait<'_>> {
    let waiters = lock.queue.iter().filter(|waiter| {
        lock.permits.is_none()
            && waiter.state != WaiterState::RingMember
            && waiter.participant.life != Life::Dead
    });
    waiters.flat_map(move |waiter: &Waiter| {
        let slot = waiter.participant.slot;
        let holders = lock.holders.iter().filter(move |holder| {
            holder.participant.slot != slot
                && holder.participant.life != Life::Dead
                && waiter.claim.is_some_and(|claim| keep_out(lock, [*holder], claim))
        });
        let behind = holders.map(|holder| holder.participant.slot).chain(waiter.blocked_by);
        behind.map(move |behind| Wait { lock, waiter: &waiter.participant, behind })
    })
}

/// Returns the waits that lead from a slot back to the first, through slots above it that were not seen yet.
fn circle<'a>(
    waits: &BTreeMap<usize, Vec<Wait<'a>>>,
    first: usize,
    from: usize,
    seen: &mut Vec<usize>,
) -> Option<Vec<Wait<'a>>> {
    for wait in waits.get(&from).into_iter().flatten() {
        if wait.behind == first {
            return Some(vec![*wait]);
        }
        if wait.behind > first && !seen.contains(&wait.behind) {
            seen.push(wait.behind);
            if let Some(rest) = circle(waits, first, wait.behind, seen) {
                return Some([vec![*wait], rest].concat());
            }
        }
    }
    None
}

fn finding(circle: &[Wait]) -> Finding {
    let each = circle.iter().map(|wait| {
        let who = describe::without_colours(&describe::who(wait.waiter));
        format!("{who} waits for {:?}", escape::text(&wait.lock.name))
    });
    let each: Vec<String> = each.collect();
    // The pid of another PID namespace would be another process's here.
    let own = circle.iter().map(|wait| wait.waiter).find(|waiter| waiter.same_pid_namespace);
    let how = own.map(|waiter| format!(" (kill {})", waiter.pid)).unwrap_or_default();
    Finding::problem(
        "deadlock",
        format!(
            "each of these waits for what the next one has, and the last for what the first has: {}",
            each.join("; ")
        ),
        format!(
            "end one of them{how}; in the programs, take the locks in the same order everywhere, or with a time limit"
        ),
    )
}
