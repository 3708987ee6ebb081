//! What an observer sees of what is no lock: conditions, events and barriers; and whether a once is done.

use super::{
    no_lock::{BarrierStatus, BrokenBarrier, ConditionStatus, EventStatus, OnceStatus},
    sees_slots::SeesSlots,
    shown,
    status::{Life, LockStatus, Waiter, WaiterState},
};
use crate::kind::{Named, names_of};
use crate::layout::{CoordinationWords, Kind, SlotState, View};
use crate::os::{clock, memory};
use crate::registers::{self, coordination_words};
use turnlock_core::coordination::{Breach, Cause, Party, Stage};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::Ordering::{Acquire, Relaxed};

/// One participant that waits.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Wait {
    /// Of a condition: where it stands.
    stage: Option<Stage>,
    /// Since when.
    since: u64,
    slot: usize,
    /// How often the slot was taken and given back, before the rest was read.
    generation: u64,
}

/// Returns what is named, which is no lock, without the waiters whose slots were given to others meanwhile, and whether there
/// were none.
pub(super) fn look_at(observer: &impl SeesSlots, named: &Named, kind: Kind) -> Result<(LockStatus, bool)> {
    memory::check()?;
    let (seen, now) = (steady_look(observer, named, kind)?, clock::monotonic_ns());
    let mut is_of_one_moment = true;
    let mut queue = Vec::new();
    queue.try_reserve_exact(seen.len()).map_err(|_| Error::OutOfMemory)?;
    for wait in &seen {
        let participant = observer.participant(wait.slot)?;
        let activity = observer.activity_of_process(wait.slot);
        if !observer.is_still(wait.slot, wait.generation) {
            is_of_one_moment = false;
            continue;
        }
        // The event does not wait for it. A condition and a barrier have something to do about its death.
        if kind == Kind::Event && participant.life == Life::Dead {
            continue;
        }
        queue.push(Waiter {
            participant,
            state: match wait.stage {
                Some(Stage::Notified) => WaiterState::Notified,
                _ => WaiterState::Queued,
            },
            activity,
            claim: None,
            blocked_by: None,
            takes_part: None,
            for_seconds: (wait.since != 0).then(|| now.saturating_sub(wait.since) as f64 / 1e9),
        });
    }
    let status = shown::without_holders(observer.view(), named);
    let status = match kind {
        Kind::Condition => of_condition(observer.view(), named, LockStatus { queue, ..status }),
        Kind::Event => of_event(observer.view(), named, LockStatus { queue, ..status }),
        _ => of_barrier(observer.view(), named, LockStatus { queue, ..status }),
    };
    Ok((status, is_of_one_moment))
}

/// Returns those that wait: at a condition first those that were notified, then in the order in which they are notified; else in
/// the order in which they came. Looks again until two looks agree; where that does not happen, the last look stands.
fn steady_look(observer: &impl SeesSlots, named: &Named, kind: Kind) -> Result<Vec<Wait>> {
    const LOOKS: usize = 20;
    let view = observer.view();
    let cells = view.lock(named.region).cells();
    let slots = view.slots_bound().min(cells.len());
    let condition = registers::condition(view, named.region, named.generation);
    let barrier = registers::barrier(view, named.region, named.generation, named.permits);
    let look = || -> Result<Vec<Wait>> {
        let mut found = Vec::new();
        for (slot, cell) in cells.iter().enumerate().take(slots) {
            // First. Partner: the release in `slots::vacate`: if we see it, nothing below is the former participant's.
            let generation = view.slots()[slot].generation.load(Acquire);
            let since = cell.waiting_since.load(Relaxed);
            let stage = condition.stage(slot).filter(|_| kind == Kind::Condition);
            let waits = match kind {
                Kind::Condition => matches!(stage, Some(Stage::Waiting(_) | Stage::Notified)),
                Kind::Barrier => barrier.party(slot) == Some(Party::InWait),
                _ => since != 0,
            };
            if waits {
                found.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                found.push(Wait { stage, since, slot, generation });
            }
        }
        // One that has not yet said since when has just come.
        found.sort_by_key(|wait| (wait.stage, wait.since == 0, wait.since, wait.slot));
        Ok(found)
    };
    let mut before = look()?;
    for _ in 1..LOOKS {
        let now = look()?;
        if now == before {
            break;
        }
        before = now;
    }
    Ok(before)
}

/// What its words say is impossible: they are another name's, or the file was overwritten.
const UNKNOWN: &str = "unknown";

fn of_condition(view: View, named: &Named, status: LockStatus) -> LockStatus {
    let condition = registers::condition(view, named.region, named.generation);
    let orphans = (0..condition.entries.len()).filter(|slot| condition.stage(*slot) == Some(Stage::Orphan));
    let in_state = |state| status.queue.iter().filter(|waiter| waiter.state == state).count();
    let partner = coordination_words(view, named.region).partner.load(Acquire);
    let is_it = |lock: &Named| CoordinationWords::partner_word(lock.region, lock.generation) == partner;
    let of_condition = ConditionStatus {
        waiting: in_state(WaiterState::Queued),
        notified: in_state(WaiterState::Notified),
        orphans: orphans.count(),
        used_with: names_of(view).find(is_it).map(|lock| lock.name),
    };
    let state = if status.queue.is_empty() { "idle" } else { "waited_for" };
    LockStatus { state, condition: Some(of_condition), ..status }
}

fn of_event(view: View, named: &Named, status: LockStatus) -> LockStatus {
    match registers::event(view, named.region, named.generation).times_set() {
        None => LockStatus { state: UNKNOWN, ..status },
        Some((set, times_set)) => LockStatus {
            state: if set { "set" } else { "not_set" },
            event: Some(EventStatus { set, times_set }),
            ..status
        },
    }
}

fn of_barrier(view: View, named: &Named, status: LockStatus) -> LockStatus {
    let barrier = registers::barrier(view, named.region, named.generation, named.permits);
    let Some(progress) = barrier.progress() else { return LockStatus { state: UNKNOWN, ..status } };
    let slots_that_are = |party| {
        let is_it = move |slot: &usize| barrier.party(*slot) == Some(party);
        (0..barrier.entries.len()).filter(is_it).collect()
    };
    let of_barrier = BarrierStatus {
        parties: named.permits,
        arrived: progress.arrived,
        generation: progress.generation,
        members: slots_that_are(Party::Member),
        dead_members: slots_that_are(Party::Died),
        broken: progress.breach.map(|breach| broken(view, named, breach)),
    };
    let state = if progress.breach.is_some() { "broken" } else { "open" };
    LockStatus { state, barrier: Some(of_barrier), ..status }
}

/// Returns why a barrier broke, and who it was, as far as that is known still: the slot may have another participant by now.
fn broken(view: View, named: &Named, Breach { cause, slot }: Breach) -> BrokenBarrier {
    let why = match cause {
        Cause::Died => "died",
        Cause::GaveUp => "gave_up",
        Cause::Aborted => "aborted",
        _ => "reset",
    };
    let cell = view.lock(named.region).cells().get(slot).filter(|_| cause != Cause::Reset);
    let pid = cell.map(|cell| (cell.claim.last.load(Relaxed) >> 32) as u32).filter(|pid| *pid != 0);
    let record = view.slots().get(slot).filter(|record| {
        slot < view.slots_bound()
            && record.state.load(Acquire) == SlotState::InUse as u32
            && Some(record.pid.load(Relaxed)) == pid
    });
    BrokenBarrier { why, slot, pid, label: record.map(|record| record.label.get()) }
}

/// Returns whether a once is done, and what its state is: `health` is that of the lock of those that do it.
pub(super) fn of_once(view: View, named: &Named, health: &'static str) -> (OnceStatus, &'static str) {
    // Acquire. Partner: the release in `complete_once`.
    let done = coordination_words(view, named.region).state.load(Acquire) != 0;
    let state = match health {
        _ if done => "done",
        "consistent" => "not_done",
        health => health,
    };
    (OnceStatus { done, across_boots: named.permits == 1 }, state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LockFile, inspect::snapshot};

    /// Numbers that look like none (xorshift), and those at which something may be special.
    struct Garbage(u64);

    impl Garbage {
        fn word(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            match self.0 % 8 {
                0 => 0,
                1 => u64::MAX,
                2 => self.0 % 8,
                3 => self.0 & 0xff00_0000_0000_ffff,
                _ => self.0,
            }
        }
    }

    #[test]
    fn an_observer_gets_along_with_whatever_stands_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let file = LockFile::options().participants(4).open(&path).unwrap();
        let _participants = [file.participant().unwrap(), file.participant().unwrap()];
        let condition = file.condition("c").unwrap();
        drop((file.event("e").unwrap(), file.barrier("b", 3).unwrap(), file.once("o").unwrap()));
        let view = condition.handle().open_file().view();
        let mut garbage = Garbage(0x9e37_79b9_7f4a_7c15);
        let (mut known, mut unknown) = (0, 0);
        // Where the event is. All are the first of their places, whose tag is 0.
        const EVENT: usize = 2;
        for round in 0..5000 {
            for region in 1..=4 {
                let (lock, words) = (view.lock(region), coordination_words(view, region));
                // In some rounds the tag is right: then all of the rest is believed.
                let tag = if region == EVENT { 0xfff << 1 } else { 0xfff << 21 };
                words.state.store(garbage.word() & if round % 2 == 0 { !tag } else { u64::MAX }, Relaxed);
                words.partner.store(garbage.word(), Relaxed);
                words.sequence.store(garbage.word(), Relaxed);
                words.wake.store(garbage.word() as u32, Relaxed);
                for (entry, cell) in lock.entries().iter().zip(lock.cells()) {
                    entry.store(
                        garbage.word() & if round % 2 == 0 { !(0xfff << 3) } else { u64::MAX },
                        Relaxed,
                    );
                    cell.waiting_since.store(garbage.word(), Relaxed);
                    cell.claim.last.store(garbage.word(), Relaxed);
                }
            }
            let status = snapshot(&path).unwrap();
            assert_eq!(status.locks.len(), 4);
            for lock in status.locks {
                assert!(lock.queue.len() <= 4, "{lock:?}");
                match lock.state {
                    UNKNOWN => unknown += 1,
                    _ => known += 1,
                }
                if let Some(condition) = &lock.condition {
                    assert_eq!(condition.waiting + condition.notified, lock.queue.len());
                    assert!(condition.orphans <= 4);
                }
                if let Some(barrier) = lock.barrier {
                    assert!(barrier.members.iter().chain(&barrier.dead_members).all(|slot| *slot < 4));
                }
            }
        }
        assert!(known > 5000 && unknown > 1000, "{known} known, {unknown} unknown");
        for region in 1..=4 {
            let kind = [Kind::Condition, Kind::Event, Kind::Barrier, Kind::Once][region - 1];
            registers::clear_coordination(view, region, kind, 1, false);
            view.lock(region).cells().iter().for_each(|cell| cell.waiting_since.store(0, Relaxed));
        }
    }
}
