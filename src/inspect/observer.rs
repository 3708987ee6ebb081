//! The observer, which puts the registers of a mapped file into words. Never writes.

use super::{
    coordination,
    sees_slots::SeesSlots,
    shown,
    slot_keepers::SlotKeepers,
    status::{
        Activity, Claim, DeadOwner, Holder, Life, LockStatus, Part, ParticipantStatus, Waiter, WaiterState,
    },
};
use crate::kind::{Named, names_of};
use crate::layout::{Kind, LivenessLockKind, SlotRecord, SlotState, View};
use crate::os::{
    clock,
    identity::Identity,
    liveness_lock::Seen,
    memory,
    process::{self, ProcessState},
};
use crate::registers::{Claimed, FileLock};
use std::cell::Cell;
use turnlock_core::acquire::{reservation, site::Lock};
use turnlock_core::algorithm::{
    Place, Protocol,
    claim::{Claims, Relation},
    ownership::{Health, token_in},
    ring::{Machines, Membership, Ring, Rule},
};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    Ordering::{Acquire, Relaxed},
    fence,
};

/// An observer of a mapped file, which asks the kernel which slots are alive.
pub struct Observer<'a> {
    view: View<'a>,
    look: &'a dyn Fn(usize) -> Result<Seen>,
    keepers: SlotKeepers,
    namespace: u64,
}

/// The registers of one slot in a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Registers {
    slot: usize,
    /// How often the slot was taken and given back, before the rest was read.
    generation: u64,
    place: Place,
    /// Its fencing token, if it is the holder.
    held: Option<u64>,
    /// Whether its call waits.
    waits: bool,
}

impl SeesSlots for Observer<'_> {
    fn view(&self) -> View<'_> {
        self.view
    }

    fn participant(&self, slot: usize) -> Result<ParticipantStatus> {
        let record = &self.view.slots()[slot];
        for _ in 1..LOOKS {
            // Acquire. Partners: as in `steady_look` and `is_still`.
            let generation = record.generation.load(Acquire);
            let participant = self.look_at_slot(slot, record)?;
            fence(Acquire);
            if record.generation.load(Relaxed) == generation {
                return Ok(participant);
            }
        }
        self.look_at_slot(slot, record)
    }

    fn activity_of_process(&self, slot: usize) -> Activity {
        let record = &self.view.slots()[slot];
        if record.pid_namespace.load(Relaxed) != self.namespace {
            return Activity::Unknown;
        }
        match process::state_of(record.pid.load(Relaxed), record.tid.load(Relaxed)) {
            ProcessState::Running => Activity::Running,
            ProcessState::Sleeping => Activity::Sleeping,
            ProcessState::Stopped => Activity::Stopped,
            ProcessState::Unknown => Activity::Unknown,
        }
    }

    fn is_still(&self, slot: usize, generation: u64) -> bool {
        // Partner: the fence in `slots::occupy`. If we have read a store of a newcomer, we see that the slot was taken again.
        fence(Acquire);
        let record = self.records().get(slot);
        record.map_or(0, |record| record.generation.load(Relaxed)) == generation
    }
}

impl<'a> Observer<'a> {
    /// Returns an observer of `view`, whose `look` asks whether the byte lock of a slot is held.
    pub fn new(view: View<'a>, look: &'a dyn Fn(usize) -> Result<Seen>) -> Self {
        Self { view, look, keepers: SlotKeepers::of(None), namespace: process::pid_namespace() }
    }

    /// Has it look for the keepers of slots whose process has ended, in this file.
    pub fn with_keepers(self, file: Identity) -> Self {
        Self { keepers: SlotKeepers::of(Some(file)), ..self }
    }

    /// Returns whether the participant of a slot is alive, as far as its byte lock says.
    pub(super) fn seen(&self, slot: usize) -> Result<Seen> {
        (self.look)(slot)
    }

    /// Returns all participants.
    pub fn participants(&self) -> Result<Vec<ParticipantStatus>> {
        let records = self.records().iter().enumerate();
        let taken = records.filter(|(_, record)| record.state.load(Acquire) != SlotState::Free as u32);
        taken.map(|(slot, _)| self.participant(slot)).collect()
    }

    /// Returns the records of slots that were ever taken. Behind them the file may have a hole.
    fn records(&self) -> &'a [SlotRecord] {
        &self.view.slots()[..self.view.slots_bound()]
    }

    fn look_at_slot(&self, slot: usize, record: &SlotRecord) -> Result<ParticipantStatus> {
        memory::check()?;
        let (pid, thread) = (record.pid.load(Relaxed), record.tid.load(Relaxed));
        let same_pid_namespace = record.pid_namespace.load(Relaxed) == self.namespace;
        let is_stopped = || same_pid_namespace && process::state_of(pid, thread) == ProcessState::Stopped;
        let life = match (self.look)(slot)? {
            Seen::Dead => Life::Dead,
            Seen::Unknown => Life::Unknown,
            Seen::Alive if is_stopped() => Life::Stopped,
            Seen::Alive => Life::Alive,
        };
        Ok(ParticipantStatus {
            slot,
            label: record.label.get(),
            program: record.program.get(),
            pid,
            thread,
            same_pid_namespace,
            life,
            attached_unix_seconds: record.attached_realtime_ns.load(Relaxed) / 1_000_000_000,
            cannot_probe: record.cannot_probe.load(Relaxed) != 0,
            keepers: if life == Life::Alive && same_pid_namespace {
                self.keepers.find(slot, record.generation.load(Acquire), pid)
            } else {
                Vec::new()
            },
            kept_by: if record.liveness_lock.load(Relaxed) == LivenessLockKind::Mapping as u32 {
                "mapping"
            } else {
                "descriptor"
            },
        })
    }

    /// Returns every named lock.
    pub fn locks(&self) -> Result<Vec<LockStatus>> {
        names_of(self.view).map(|named| self.lock(named)).collect()
    }

    /// Returns what a waiter does just now.
    fn activity(&self, lock: &FileLock<Claimed>, is_ring: bool, waiter: &Registers) -> Activity {
        let eviction = lock.eviction(waiter.slot);
        let is_queued = matches!(lock.queue().place(waiter.slot), Place::Choosing | Place::Numbered(_));
        // On a ring it lost its turn, and waits without being a member.
        let has_no_turn = waiter.waits && waiter.place == Place::Idle;
        if (is_queued || is_ring && has_no_turn) && eviction.is_evicted() {
            return Activity::PassedOver;
        }
        self.activity_of_process(waiter.slot)
    }

    fn bias_owner_of(&self, lock: &FileLock<Claimed>) -> Option<usize> {
        let slot = lock.bias().owner().filter(|_| !lock.bias().is_being_revoked())?;
        let record = self.view.slots()[..self.view.slots_bound()].get(slot)?;
        (record.state.load(Acquire) != SlotState::Free as u32).then_some(slot)
    }

    /// Returns one lock. Looks again when a slot was given to another participant between the look at the lock and that at the
    /// slot, since the newcomer is not the one that was seen. If that goes on, those slots are left out.
    pub fn lock(&self, named: Named) -> Result<LockStatus> {
        for _ in 1..LOOKS {
            let (status, is_of_one_moment) = self.look_at(&named)?;
            if is_of_one_moment {
                return Ok(status);
            }
        }
        Ok(self.look_at(&named)?.0)
    }

    /// Returns one lock without the participants whose slots were given to others meanwhile, and whether there were none.
    fn look_at(&self, named: &Named) -> Result<(LockStatus, bool)> {
        if let Some(kind) = named.kind.filter(|kind| !kind.is_lock()) {
            return coordination::look_at(self, named, kind);
        }
        let claims = Claimed::of(named.kind.unwrap_or(Kind::Mutex), named.generation);
        let lock = FileLock::claimed(self.view, named.region, claims);
        let claim_of = |slot: usize| {
            let claim = lock.queue().claims.read(slot);
            let key_beginning = match claims.relation {
                Relation::Keys => self.view.slots()[slot].key.get(claim.extent),
                _ => None,
            };
            Claim { key_beginning, ..shown::claim(claims.relation, claim) }
        };
        let rule = named.rule();
        let ring = |rule| Ring { rule, machines: lock.machines() };
        let takes_part = |slot: usize| {
            rule.map(|rule| match ring(rule).machines.membership(slot) {
                Membership::EveryTurn => "member",
                _ => "on demand",
            })
        };
        memory::check()?;
        let (seen, now) = (steady_look(&lock, self.records(), rule)?, clock::monotonic_ns());
        let span = |since: u64| (since != 0).then(|| now.saturating_sub(since) as f64 / 1e9);
        let is_of_one_moment = Cell::new(true);
        let holder = |seen: &Registers, fencing_token: u64| -> Result<Option<Holder>> {
            let slot = seen.slot;
            let (since, at_least) = match lock.since(slot) {
                // A biased acquisition does not write down when it began; a revocation writes down when that began.
                0 => (lock.revoking_since(), true),
                since => (since, false),
            };
            let holder = Holder {
                participant: self.participant(slot)?,
                claim: claim_of(slot),
                fencing_token,
                takes_part: takes_part(slot),
                for_seconds: span(since),
                at_least,
            };
            let is_it = self.is_still(slot, seen.generation);
            is_of_one_moment.set(is_of_one_moment.get() && is_it);
            Ok(is_it.then_some(holder))
        };
        // No member of the passive set is recorded as queued for good; but those that have outwaited their patience
        // keep their order there.
        let has_patience = |slot: usize| {
            let since = lock.waiting_since(slot);
            let is_passive = lock.lock.passive()[slot].load(Relaxed) != 0;
            lock.since(slot) == 0 && !(is_passive && now.saturating_sub(since) >= named.patience)
        };
        let waiter = |seen: &Registers| -> Result<Waiter> {
            let takes_part = takes_part(seen.slot);
            Ok(Waiter {
                participant: self.participant(seen.slot)?,
                state: match takes_part {
                    Some("member") if !seen.waits => WaiterState::RingMember,
                    None if named.patience != 0 && has_patience(seen.slot) => WaiterState::BackedOff,
                    _ => WaiterState::Queued,
                },
                activity: self.activity(&lock, rule.is_some(), seen),
                claim: Some(claim_of(seen.slot)),
                blocked_by: rule.is_none().then(|| blocked_by(&lock, seen)).flatten(),
                takes_part,
                for_seconds: span(lock.waiting_since(seen.slot)),
            })
        };
        let holders = seen.iter().filter_map(|seen| holder(seen, seen.held?).transpose());
        let holders = holders.collect::<Result<_>>()?;
        let mut waiting: Vec<Registers> = seen.into_iter().filter(|seen| seen.held.is_none()).collect();
        // Participants in the doorway have no number yet and come after those that have one; after them, those in the
        // standby queue.
        let outside = |place| match place {
            Place::Idle => 2,
            Place::Choosing => 1,
            _ => 0,
        };
        let since = |slot| if rule.is_none() { lock.waiting_since(slot) } else { 0 };
        waiting.sort_by_key(|seen| match outside(seen.place) {
            0 => (0, Some(seen.place), 0, seen.slot),
            how => (how, None, since(seen.slot), seen.slot),
        });
        let mut queue = with_room(waiting.len())?;
        for seen in &waiting {
            let waiter = waiter(seen)?;
            if !self.is_still(seen.slot, seen.generation) {
                is_of_one_moment.set(false);
                continue;
            }
            // A dead one that had backed off is in no one's way.
            if seen.place != Place::Idle || waiter.participant.life != Life::Dead {
                queue.push(waiter);
            }
        }
        let dead_parts: Vec<Part> =
            lock.dead_parts().map(|dead| shown::part_of(claims.relation, dead)).collect();
        let has_dead_members = claims.relation == Relation::Groups && lock.member_deaths().untold().is_some();
        let (dead_token, dead_pid, dead_thread, dead_label) = lock.death();
        let health = match shown::health(named, &lock) {
            Health::Consistent if dead_parts.is_empty() && !has_dead_members => "consistent",
            Health::Consistent => "inconsistent",
            Health::Inconsistent => "inconsistent",
            Health::NotRecoverable => "not_recoverable",
        };
        let once = (named.kind == Some(Kind::Once)).then(|| coordination::of_once(self.view, named, health));
        // Nothing is done by the fencing tokens of a once, and its queue and its death policy are always the same.
        let is_for_its_own_sake = once.is_none();
        let status = LockStatus {
            algorithm: is_for_its_own_sake.then(|| named.algorithm_name()),
            state: once.map_or(health, |(_, state)| state),
            fencing_token: is_for_its_own_sake.then(|| lock.lock.words.token.load(Relaxed)),
            death_policy: is_for_its_own_sake.then(|| named.death_policy.name()),
            recursive: named.recursive,
            patience_seconds: is_for_its_own_sake.then_some(named.patience as f64 / 1e9),
            once: once.map(|(once, _)| once),
            ring_step: match rule {
                Some(Rule::Sum { step }) => Some(step),
                _ => None,
            },
            turn_of: rule.and_then(|rule| ring(rule).who()),
            biased_to: match claims.relation {
                Relation::Always => self.bias_owner_of(&lock),
                Relation::Modes => (0..self.view.slots_bound()).find(|slot| {
                    reservation::is_reserved(&lock, *slot) && !lock.eviction(*slot).is_evicted()
                }),
                _ => None,
            },
            biased_to_readers: claims.relation == Relation::Modes && lock.shared_bias().is_unrevoked(),
            by_messages: shown::by_messages(self.view, named.region),
            permits: (claims.relation == Relation::Permits).then(|| {
                match lock.lock.words.total.load(Relaxed) {
                    0 => lock.queue().claims.permits(),
                    over_all_hosts => over_all_hosts,
                }
            }),
            dead_parts,
            holders,
            queue,
            previous_owner: (dead_token != 0).then_some(DeadOwner {
                label: dead_label,
                pid: dead_pid,
                thread: dead_thread,
                fencing_token: dead_token,
            }),
            ..shown::without_holders(self.view, named)
        };
        Ok((status, is_of_one_moment.get()))
    }
}

/// How often a lock is looked at whose slots change hands meanwhile.
const LOOKS: usize = 20;

/// Returns the first of those that stand in the way of a waiter in the queue.
fn blocked_by(lock: &FileLock<Claimed>, waiter: &Registers) -> Option<usize> {
    let Place::Numbered(number) = waiter.place else { return None };
    let mut first = None;
    lock.queue().each_before(waiter.slot, number, |slot, place| {
        if place != Place::Choosing {
            first = first.filter(|first| *first < (place, slot)).or(Some((place, slot)));
        }
    });
    first.map(|(_, slot)| slot)
}

/// Returns all in one lock's queue. Looks again until two looks agree, so that none appears twice or in a place that was never
/// its own; where the queue moves too fast for that, the last look stands.
fn steady_look(
    lock: &FileLock<Claimed>,
    records: &[SlotRecord],
    rule: Option<Rule>,
) -> Result<Vec<Registers>> {
    let look = || -> Result<Vec<Registers>> {
        let in_turn = rule.map(|rule| in_order_of_turns(lock, rule));
        let place = |slot: usize| match &in_turn {
            None => lock.queue().place(slot),
            Some(slots) => slots
                .iter()
                .position(|other| *other == slot)
                .map_or(Place::Idle, |before| Place::Numbered(before as u64)),
        };
        let all = (0..lock.slots()).map(|slot| Registers {
            slot,
            // Acquire, first. Partner: the release in `slots::vacate`: if we see it, nothing below is the former participant's.
            generation: records.get(slot).map_or(0, |record| record.generation.load(Acquire)),
            place: place(slot),
            held: token_in(lock.held(slot).load(Acquire)),
            waits: lock.waiting_since(slot) != 0,
        });
        let there = all.filter(|seen| {
            let queued = seen.place != Place::Idle && !reservation::is_unused(lock, seen.slot);
            queued || seen.held.is_some() || seen.waits
        });
        let mut found = with_room(lock.slots())?;
        found.extend(there);
        Ok(found)
    };
    let mut before = look()?;
    for _ in 0..20 {
        let now = look()?;
        if now == before {
            break;
        }
        before = now;
    }
    Ok(before)
}

/// Returns an empty vector with room for so many, which may be more than there is memory for.
fn with_room<T>(capacity: usize) -> Result<Vec<T>> {
    let mut empty = Vec::new();
    empty.try_reserve_exact(capacity).map_err(|_| Error::OutOfMemory)?;
    Ok(empty)
}

/// Returns the slots that want turns of a ring, first the one whose turn it is.
fn in_order_of_turns(lock: &FileLock<Claimed>, rule: Rule) -> Vec<usize> {
    let ring = Ring { rule, machines: lock.machines() };
    let first = ring.who().filter(|slot| ring.machines.membership(*slot) != Membership::None);
    let from = first.or_else(|| ring.who()).unwrap_or(0);
    first.into_iter().chain(ring.members_right_of(from).filter(|slot| Some(*slot) != first)).collect()
}
