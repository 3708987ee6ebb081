//! The words of conditions, events, barriers and onces in the mapped file.

use crate::layout::{Cell, CoordinationWords, Kind, View};
use crate::recording;
use turnlock_core::coordination::{self, Barrier, Condition, SleeperCell, Tag};
use turnlock_core::event::{Event, Happening};
use turnlock_core::sync::{
    AtomicU32,
    Ordering::{Acquire, Relaxed},
};

impl SleeperCell for Cell {
    fn asleep(&self) -> &AtomicU32 {
        &self.asleep
    }
}

/// Returns the words in `region`. Panics as [`View::lock`].
pub fn coordination_words(view: View<'_>, region: usize) -> &CoordinationWords {
    &view.lock(region).words.coordination
}

/// Returns the condition in `region`, whose name has this generation. It records nothing.
pub fn condition(view: View<'_>, region: usize, generation: u64) -> Condition<'_, Cell> {
    let (lock, words) = (view.lock(region), coordination_words(view, region));
    Condition {
        sequence: &words.sequence,
        entries: lock.entries(),
        cells: lock.cells(),
        slots_in_use: &lock.header.slots_in_use,
        tag: Tag::of(generation),
        recorder: None,
    }
}

/// Returns the event in `region`, likewise.
pub fn event(view: View<'_>, region: usize, generation: u64) -> coordination::Event<'_> {
    let words = coordination_words(view, region);
    coordination::Event { state: &words.state, wake: &words.wake, tag: Tag::of(generation), recorder: None }
}

/// Returns the barrier of so many parties in `region`, likewise.
pub fn barrier(view: View<'_>, region: usize, generation: u64, parties: u32) -> Barrier<'_> {
    let (lock, words) = (view.lock(region), coordination_words(view, region));
    Barrier {
        state: &words.state,
        wake: &words.wake,
        entries: lock.entries(),
        slots_in_use: &lock.header.slots_in_use,
        tag: Tag::of(generation),
        parties,
        recorder: None,
    }
}

/// Returns the kind of what is named in `region`, or was last, and its generation; `None`: no kind that this version knows.
fn named_in(view: View, region: usize) -> Option<(Kind, u64)> {
    let entry = &view.directory()[region.checked_sub(1)?];
    // Acquire. Partner: the release store in `directory::name_it`.
    let generation = entry.generation.load(Acquire);
    Some((Kind::of(entry.kind.load(Relaxed))?, generation))
}

/// Clears what the dead participant of `slot` left in the condition or barrier in `region`, and writes down what outlives it. With
/// the slot's byte lock in hand; repeatable.
pub fn reap_entry(view: View, region: usize, slot: usize) {
    if view.lock(region).entries()[slot].load(Relaxed) == 0 {
        return;
    }
    // As a reaper that dies does it, it may be recorded twice: before the entry says it, as with a holder's death.
    let record = |event| {
        recording::record(view, region, slot, Happening { event, slot, shared: false, value: 0 });
    };
    match named_in(view, region) {
        Some((Kind::Condition, generation)) => {
            let condition = condition(view, region, generation);
            if condition.is_in_wait(slot) {
                record(Event::WaiterDied);
            }
            condition.reap(slot);
        }
        Some((Kind::Barrier, generation)) => {
            let barrier = barrier(view, region, generation, 0);
            if barrier.is_party(slot) {
                record(Event::PartyDied);
            }
            barrier.reap(slot);
        }
        _ => {}
    }
}

/// Has `slot`, whose participant leaves it in good order, be no party of the barrier in `region`.
pub fn leave_entry(view: View, region: usize, slot: usize) {
    if view.lock(region).entries()[slot].load(Relaxed) != 0
        && let Some((Kind::Barrier, generation)) = named_in(view, region)
    {
        barrier(view, region, generation, 0).leave(slot);
    }
}

/// Returns whether the participant of `slot` is in a wait for what is named in `region`, if that is no lock.
pub fn is_in_wait(view: View, region: usize, slot: usize) -> bool {
    match named_in(view, region) {
        Some((Kind::Condition, generation)) => condition(view, region, generation).is_in_wait(slot),
        Some((Kind::Barrier, generation)) => barrier(view, region, generation, 0).is_in_wait(slot),
        Some((Kind::Event, _)) => view.lock(region).cells()[slot].waiting_since.load(Relaxed) != 0,
        _ => false,
    }
}

/// Has what is named in `region` begin anew: `generation` is that of its name. No participant uses it. Whether an
/// event is set, and a once done, stays as it is if `keeps_state`.
pub fn clear_coordination(view: View, region: usize, kind: Kind, generation: u64, keeps_state: bool) {
    let (words, tag) = (coordination_words(view, region), Tag::of(generation));
    let state = match kind {
        _ if keeps_state => words.state.load(Relaxed),
        Kind::Event => coordination::Event::new_state(tag),
        Kind::Barrier => Barrier::new_state(tag),
        _ => 0,
    };
    words.state.store(state, Relaxed);
    words.sequence.store(0, Relaxed);
    words.partner.store(0, Relaxed);
    for entry in view.lock(region).entries() {
        // A page that is only read stays clean.
        if entry.load(Relaxed) != 0 {
            entry.store(0, Relaxed);
        }
    }
}
