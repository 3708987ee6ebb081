//! The recording of a file, with the names of participants and locks.

use crate::kind::names_of;
use crate::layout::{SlotState, View};
use crate::os::clock;
use crate::recording::{self, Recorded, What};
use std::collections::HashMap;
use turnlock_core::event::{Event, ValueIs};
use turnlock_core::sync::Ordering::{Acquire, Relaxed};

/// The latest events of a file, as [`super::recording`] found them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recording {
    /// How many of the latest events the file keeps.
    pub capacity: u32,
    /// How many have been recorded since the machine was started.
    pub recorded: u64,
    /// How many of those that should still be there could not be read: a participant is recording them just now, or was killed
    /// in the midst of it.
    pub unreadable: u64,
    /// The time when the file was looked at (`CLOCK_MONOTONIC`, nanoseconds).
    pub now: u64,
    /// The same moment in nanoseconds since 1970.
    pub now_unix: u64,
    /// The participants in the events, one for each time that a slot was taken.
    pub participants: Vec<RecordedParticipant>,
    /// The locks that are named in the events.
    pub locks: Vec<RecordedLock>,
    /// The events, in the order in which they were recorded; of two participants' that is nearly that of their times.
    pub events: Vec<RecordedEvent>,
}

/// A participant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedParticipant {
    /// The number of its slot; 65,535: of threads that set an event, or notified, and could not get a slot for that.
    pub slot: usize,
    /// Its process and its thread; `None`: it attached before the first event that is left, and is gone.
    pub process: Option<(u32, u32)>,
    /// Its label, of which the recording has the first 16 bytes; empty: as above.
    pub name: String,
}

/// A lock in the events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedLock {
    /// Its number in the file.
    pub region: usize,
    /// Its name; `None`: it was removed since.
    pub name: Option<String>,
}

/// One recorded event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedEvent {
    /// How many were recorded before it since the file was created.
    pub number: u64,
    /// When it happened (`CLOCK_MONOTONIC`, nanoseconds).
    pub at: u64,
    /// What happened.
    pub event: Event,
    /// The participant: which of [`Recording::participants`].
    pub participant: usize,
    /// The participant that caused it, or found it, if another: [`Event::PassedOver`], [`Event::Notified`], [`Event::PassedOn`],
    /// [`Event::BrokenByDeath`].
    pub by: Option<usize>,
    /// The lock: which of [`Recording::locks`], if any.
    pub lock: Option<usize>,
    /// Whether the hold is, or is to be, shared: of a reader, or a holder of permits.
    pub shared: bool,
    /// The fencing token, if there is one: of acquisitions, releases, deaths and recoveries.
    pub fencing_token: Option<u64>,
    /// The group that a member asks to enter: [`Event::AskedInGroup`].
    pub group: Option<u64>,
    /// The lock that is unlocked for a wait at a condition: which of [`Recording::locks`].
    pub unlocks: Option<usize>,
    /// How many were notified, of [`Event::NotifyOne`] and [`Event::NotifyAll`]; how many parties had arrived by then, of what happens
    /// at a barrier.
    pub count: Option<u32>,
    /// The generation of a barrier.
    pub generation: Option<u32>,
}

/// Reads the recording of a file, if it has one.
pub fn read(view: View) -> Option<Recording> {
    let read = recording::read(view)?;
    // After the events: none is later, but those that come meanwhile.
    let (now, now_unix) = (clock::monotonic_ns(), clock::realtime_ns());
    let mut found = Recording {
        capacity: view.geometry().recorded_events(),
        recorded: read.recorded,
        unreadable: read.unreadable,
        now,
        now_unix,
        participants: Vec::new(),
        locks: Vec::new(),
        events: Vec::with_capacity(read.events.len()),
    };
    let mut names = Names::new(view, &read.events);
    for recorded in &read.events {
        let who = names.participant(&mut found.participants, recorded);
        match recorded.what {
            What::Called(bytes) => {
                let (called, name) = (text(&bytes), &mut found.participants[who].name);
                // Of one that is there still all of it is known.
                if !name.starts_with(&called) {
                    *name = called;
                }
            }
            What::Happened { event, at, shared, value } => {
                let by = (recorded.by != recorded.slot)
                    .then(|| names.of_slot(&mut found.participants, recorded.by, recorded.number));
                let lock = (recorded.region > 0)
                    .then(|| names.lock(&mut found.locks, recorded.region, recorded.number, event));
                let (number, value_is) = (recorded.number, event.value_is());
                let is_of = |wanted: &[ValueIs]| wanted.contains(&value_is);
                let fencing_token = (is_of(&[ValueIs::FencingToken]) && value != 0).then_some(value);
                let unlocks = Some(value as usize)
                    .filter(|region| is_of(&[ValueIs::Lock]) && (1..=view.directory().len()).contains(region))
                    .map(|region| names.lock(&mut found.locks, region, number, event));
                let counts = is_of(&[ValueIs::Count, ValueIs::CountAndGeneration]);
                found.events.push(RecordedEvent {
                    number,
                    at,
                    event,
                    participant: who,
                    by,
                    lock,
                    shared,
                    fencing_token,
                    group: is_of(&[ValueIs::Group]).then_some(value),
                    unlocks,
                    count: counts.then_some(value as u32),
                    generation: is_of(&[ValueIs::CountAndGeneration]).then_some((value >> 32) as u32),
                });
            }
        }
    }
    Some(found)
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Which participant was in which slot, and which lock in which region, while the events are gone through.
struct Names<'a> {
    view: View<'a>,
    /// The participant that is in a slot now, as the events tell it so far.
    in_slot: HashMap<usize, usize>,
    /// The number of the last event that says that a slot was taken.
    last_attached: HashMap<usize, u64>,
    /// What the locks are called that are there now.
    names: HashMap<usize, String>,
    /// The lock that is in a region now, as the events tell it so far.
    in_region: HashMap<usize, usize>,
    last_created: HashMap<usize, u64>,
    /// The last party of a barrier that died in a slot, by the slot and the region.
    dead_parties: HashMap<(usize, usize), usize>,
}

impl<'a> Names<'a> {
    fn new(view: View<'a>, events: &[Recorded]) -> Self {
        let (mut last_attached, mut last_created) = (HashMap::new(), HashMap::new());
        for Recorded { number, what, slot, region, .. } in events {
            match what {
                What::Happened { event: Event::Attached, .. } => drop(last_attached.insert(*slot, *number)),
                What::Happened { event: Event::Created, .. } => drop(last_created.insert(*region, *number)),
                _ => {}
            }
        }
        let names = names_of(view).map(|named| (named.region, named.name)).collect();
        Self {
            view,
            in_slot: HashMap::new(),
            last_attached,
            names,
            in_region: HashMap::new(),
            last_created,
            dead_parties: HashMap::new(),
        }
    }

    /// Returns whose event it is.
    fn participant(&mut self, all: &mut Vec<RecordedParticipant>, recorded: &Recorded) -> usize {
        let Recorded { slot, number, what, region, .. } = *recorded;
        let What::Happened { event: Event::Attached, value, .. } = what else {
            let who = self.of_slot(all, slot, number);
            return match what {
                What::Happened { event: Event::PartyDied, .. } => {
                    self.dead_parties.insert((slot, region), who);
                    who
                }
                // Another participant may have the slot by then.
                What::Happened { event: Event::BrokenByDeath, .. } => {
                    self.dead_parties.get(&(slot, region)).copied().unwrap_or(who)
                }
                _ => who,
            };
        };
        let mut new = RecordedParticipant {
            slot,
            process: Some((value as u32, (value >> 32) as u32)),
            name: String::new(),
        };
        // The one that is there now has all of its name in the slot table.
        if self.last_attached.get(&slot) == Some(&number)
            && let Some(now) = self.now_in(slot).filter(|now| now.process == new.process)
        {
            new = now;
        }
        all.push(new);
        self.in_slot.insert(slot, all.len() - 1);
        all.len() - 1
    }

    /// Returns the participant that was in `slot` at the event of this number.
    fn of_slot(&mut self, all: &mut Vec<RecordedParticipant>, slot: usize, number: u64) -> usize {
        if let Some(known) = self.in_slot.get(&slot) {
            return *known;
        }
        let is_there_still = self.last_attached.get(&slot).is_none_or(|last| *last <= number);
        let gone = RecordedParticipant { slot, process: None, name: String::new() };
        all.push(self.now_in(slot).filter(|_| is_there_still).unwrap_or(gone));
        self.in_slot.insert(slot, all.len() - 1);
        all.len() - 1
    }

    fn now_in(&self, slot: usize) -> Option<RecordedParticipant> {
        let record = self.view.slots()[..self.view.slots_bound()].get(slot)?;
        let process = Some((record.pid.load(Relaxed), record.tid.load(Relaxed)));
        // Acquire. Partner: the release store in `slots::occupy`.
        (record.state.load(Acquire) != SlotState::Free as u32).then(|| RecordedParticipant {
            slot,
            process,
            name: record.label.get(),
        })
    }

    /// Returns at which lock it was.
    fn lock(&mut self, all: &mut Vec<RecordedLock>, region: usize, number: u64, event: Event) -> usize {
        if event != Event::Created
            && let Some(known) = self.in_region.get(&region)
        {
            return *known;
        }
        let is_there_still = self.last_created.get(&region).is_none_or(|last| *last <= number);
        let now = self.names.get(&region).filter(|_| is_there_still);
        all.push(RecordedLock { region, name: now.cloned() });
        self.in_region.insert(region, all.len() - 1);
        all.len() - 1
    }
}
