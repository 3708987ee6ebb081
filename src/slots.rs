//! The slot table: claiming a slot, writing down its participant, vacating it.
//!
//! A slot belongs to the participant that holds its byte lock ([`LivenessLock`]); its record in the slot table is for people,
//! and a hint which slots are free.

use crate::layout::{LivenessLockKind, MAX_PARTICIPANTS, SlotState, View};
use crate::os::{
    clock,
    liveness_lock::{LivenessLock, Probe},
    process,
    reopen::Reopen,
};
use crate::recording;
use std::{collections::BTreeMap, fmt::Write, time::Duration};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};
use turnlock_core::trace::{self, Step};

/// All free slots may be locked by a participant that clears the file after a boot, for milliseconds as a rule.
const LOOKS_FOR_A_SLOT: u32 = 300;
/// Those of the dead may be locked by one that checks whether the file is in use, for microseconds.
const LOOKS_FOR_A_DEAD_ONE: u32 = 3;
const BETWEEN_THEM: Duration = Duration::from_millis(1);

/// Takes the byte lock of a free or dead slot, of `chosen` if one is chosen. What a dead participant left in it is still there.
pub fn claim(
    file: &Reopen,
    view: View,
    kind: LivenessLockKind,
    inherited: bool,
    chosen: Option<usize>,
) -> Result<LivenessLock> {
    let all = match chosen {
        Some(slot) if slot < view.slots().len() => slot..slot + 1,
        Some(slot) => return Err(no_such_slot(file, view, slot)),
        None => 0..view.slots().len(),
    };
    let known = view.slots_bound();
    let is_free =
        |slot: &usize| *slot >= known || view.slots()[*slot].state.load(Acquire) == SlotState::Free as u32;
    let candidates = all.clone().filter(is_free).chain(all.clone().filter(|slot| !is_free(slot)));
    for look in 1..=LOOKS_FOR_A_SLOT {
        if let Some(liveness_lock) = LivenessLock::claim(file, candidates.clone(), kind, inherited)? {
            return Ok(liveness_lock);
        }
        if look >= LOOKS_FOR_A_DEAD_ONE && !all.clone().any(|slot| is_free(&slot)) {
            break;
        }
        std::thread::sleep(BETWEEN_THEM);
    }
    Err(match chosen {
        Some(slot) => taken(file, view, slot),
        None => full(file, view, holders(view)),
    })
}

fn no_such_slot(file: &Reopen, view: View, slot: usize) -> Error {
    Error::InvalidArgument(format!(
        "{}: it has no slot {slot}; its slots are 0 to {}",
        file.path().display(),
        view.slots().len() - 1
    ))
}

fn taken(file: &Reopen, view: View, slot: usize) -> Error {
    let record = &view.slots()[slot];
    // Its record may not be allocated yet. Between two participants it says nothing.
    let by = if slot < view.slots_bound() && record.state.load(Acquire) == SlotState::InUse as u32 {
        format!("process {} ({})", record.pid.load(Relaxed), record.label.get())
    } else {
        "another participant".into()
    };
    let why = format!("slot {slot} is taken by {by}; take another slot, or wait until it is free");
    Error::InUse { path: file.path(), why }
}

fn full(file: &Reopen, view: View, holders: String) -> Error {
    Error::ParticipantsFull {
        path: file.path(),
        slots: view.slots().len(),
        most: MAX_PARTICIPANTS as usize,
        holders,
    }
}

/// The error of a request for so many parts at once that there is not a slot for each.
pub fn too_many(file: &Reopen, view: View, parts: usize) -> Error {
    full(file, view, format!("this request alone, which has {parts} parts"))
}

/// Writes down which participant has the slot, and has scans reach it. Before its first doorway.
pub fn occupy(view: View, slot: usize, kind: LivenessLockKind, label: &str, of_thread: bool) {
    let record = &view.slots()[slot];
    let program = process::program_name();
    let generation = record.generation.fetch_add(1, Relaxed).wrapping_add(1);
    // Partner: the fence in `inspect::observer`: an observer that reads a store below sees that the slot was taken again.
    fence(Release);
    record.cannot_probe.store(0, Relaxed);
    // First no wait: by a mark of the new generation an old one would be believed.
    record.wait.store(0, Relaxed);
    record.thread_generation.store(if of_thread { generation as u32 } else { 0 }, Release);
    record.liveness_lock.store(kind as u32, Relaxed);
    record.pid.store(process::pid(), Relaxed);
    record.tid.store(process::tid(), Relaxed);
    record.pid_namespace.store(process::pid_namespace(), Relaxed);
    record.attached_realtime_ns.store(clock::realtime_ns(), Relaxed);
    record.label.set(if label.is_empty() { &program } else { label });
    record.program.set(&program);
    // Release. Partner: the acquire load in `claim` and of observers.
    record.state.store(SlotState::InUse as u32, Release);
    // The one read-modify-write of attaching: a plain store could lose the higher bound of another newcomer, which scans would
    // then not reach. Before our first doorway. If another's fence B comes after this, its scan reaches our register; if
    // before, it reads the old bound, and our fence A comes after its number is written, so our scan sees that.
    view.header().slots_in_use.fetch_max(slot as u32 + 1, SeqCst);
    note(view, slot);
}

/// Records which participant has the slot.
fn note(view: View, slot: usize) {
    if view.recording().is_none() {
        return;
    }
    let record = &view.slots()[slot];
    let who = (record.pid.load(Relaxed), record.tid.load(Relaxed));
    recording::record_attached(view, slot, who, &record.label.get());
}

/// Writes down that the slot was transferred to process `pid`, for people.
pub fn transfer_to_fd(view: View, slot: usize, pid: u32) {
    let record = &view.slots()[slot];
    record.pid.store(pid, Relaxed);
    record.tid.store(pid, Relaxed);
    if let Some(program) = process::program_of(pid) {
        record.program.set(&program);
    }
    note(view, slot);
}

/// Marks the slot free. Its registers are cleared by now; its byte lock is released after, so that no newcomer has the slot
/// while its predecessor's registers stand.
pub fn vacate(view: View, slot: usize) {
    let record = &view.slots()[slot];
    recording::record_detached(view, slot);
    record.wait.store(0, Relaxed);
    record.thread_generation.store(0, Relaxed);
    // Release. Partner: the acquire loads in `inspect::observer`: an observer that sees it sees the cleared registers.
    record.generation.fetch_add(1, Release);
    // Release. Partner: the acquire load in `claim`: a newcomer that sees the slot free sees its registers cleared.
    record.state.store(SlotState::Free as u32, Release);
}

/// Has scans stop at the highest slot in use, if some above it were detached. For the participant that `probe` is of.
///
/// One slot at a time, so that a participant that is stopped here keeps a single free slot from newcomers. We hold the byte
/// lock of the slot that is left out, so no newcomer is in it. A newcomer in a higher slot raises the bound: if before our
/// exchange, that fails; if after, its higher bound stands.
pub fn lower_bound(probe: &Probe, view: View) {
    let bound = &view.header().slots_in_use;
    let is_free = |slot: usize| view.slots()[slot].state.load(Acquire) == SlotState::Free as u32;
    loop {
        let before = bound.load(Relaxed);
        let Some(top) = before.checked_sub(1) else { return };
        let slot = top as usize;
        if slot >= view.slots().len() || !is_free(slot) {
            return;
        }
        let lowered = probe.act_for(slot..slot + 1, || {
            trace::at(Step::Lower);
            is_free(slot) && lower_bound_below(view, slot)
        });
        // A failure only costs time later.
        if !matches!(lowered, Ok(Some(true))) {
            return;
        }
    }
}

/// Has scans leave out `slot`, if it is the highest. With its byte lock in hand, and its registers cleared.
pub fn lower_bound_below(view: View, slot: usize) -> bool {
    let (top, before) = (slot as u32, slot as u32 + 1);
    // SeqCst, as the newcomer's fetch_max: one comes after the other, and a newcomer's is never lost.
    view.header().slots_in_use.compare_exchange(before, top, SeqCst, Relaxed).is_ok()
}

/// How many processes an error message names; there may be little memory.
const NAMED: usize = 8;

/// Returns which programs have the slots, for an error message: the most numerous first.
fn holders(view: View) -> String {
    let mut processes = BTreeMap::<(u32, String), usize>::new();
    let (mut locked, mut others) = (0, 0);
    for record in &view.slots()[..view.slots_bound()] {
        if record.state.load(Acquire) == SlotState::Free as u32 {
            locked += 1;
            continue;
        }
        let known = processes.len() < NAMED;
        let who = (record.pid.load(Relaxed), record.label.get());
        match processes.get_mut(&who) {
            Some(slots) => *slots += 1,
            None if known => drop(processes.insert(who, 1)),
            None => others += 1,
        }
    }
    let mut processes: Vec<_> = processes.into_iter().collect();
    processes.sort_by_key(|(_, slots)| std::cmp::Reverse(*slots));
    let mut text = String::new();
    for (at, ((pid, label), slots)) in processes.iter().enumerate() {
        let _ = write!(text, "{}{label} (pid {pid}, {slots})", if at == 0 { "" } else { ", " });
    }
    if others > 0 {
        let _ = write!(text, " and others ({others})");
    }
    if locked > 0 {
        let and = if processes.is_empty() { "" } else { ", and " };
        let _ = write!(text, "{and}a process that was stopped while clearing the file ({locked})");
    }
    text
}
