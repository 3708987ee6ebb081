//! A participant is whoever has a slot: finding one, writing down who we are, giving it back.
//!
//! A slot belongs to whoever holds its byte lock ([`DeathNotice`]); the record in the slot table is for people, and a
//! hint where to look for a free one.

use crate::error::{Error, Result};
use crate::layout::{DeathNoticeKind, SlotState, View};
use crate::os::{
    clock,
    death_notice::{DeathNotice, if_slots_are_free},
    file::Reopen,
    process,
};
use crate::sync::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::{collections::BTreeMap, fmt::Write, time::Duration};

/// Takes the byte lock of a free or dead slot. What a dead one left in it is still there.
pub fn claim(file: &Reopen, view: View, kind: DeathNoticeKind, inherited: bool) -> Result<DeathNotice> {
    let is_free = |slot: &usize| view.slots()[*slot].state.load(Acquire) == SlotState::Free as u32;
    let all = 0..view.geometry().participants() as usize;
    // Somebody who lowers the bound holds every free slot's byte for a few microseconds: then look again.
    for _ in 0..100 {
        let free: Vec<usize> = all.clone().filter(is_free).collect();
        let candidates = free.iter().copied().chain(all.clone().filter(|slot| !is_free(slot)));
        if let Some(notice) = DeathNotice::claim(file, candidates, kind, inherited)? {
            return Ok(notice);
        }
        if free.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(Error::ParticipantsFull { path: file.path().into(), slots: all.len(), holders: holders(view) })
}

/// Writes down who has the slot, and has scans reach it. Before its first doorway.
pub fn occupy(view: View, slot: usize, kind: DeathNoticeKind, label: &str) {
    let record = &view.slots()[slot];
    let program = process::program_name();
    record.generation.fetch_add(1, Relaxed);
    record.death_notice.store(kind as u32, Relaxed);
    record.pid.store(process::pid(), Relaxed);
    record.tid.store(process::tid(), Relaxed);
    record.pid_namespace.store(process::pid_namespace(), Relaxed);
    record.attached_realtime_ns.store(clock::realtime_ns(), Relaxed);
    record.label.set(if label.is_empty() { &program } else { label });
    record.program.set(&program);
    // Release. Partner: the acquire load in `claim` and of those who look on.
    record.state.store(SlotState::InUse as u32, Release);
    // Attaching's one read-modify-write: it must not lose a higher bound that another newcomer sets at the same time.
    // Before our first doorway, so fence A there has it seen by whoever our register must be seen by.
    view.header().slots_in_use.fetch_max(slot as u32 + 1, SeqCst);
}

/// Writes down that nobody has the slot. Its registers are cleared by now; its byte lock is given back after.
pub fn vacate(view: View, slot: usize) {
    let record = &view.slots()[slot];
    record.generation.fetch_add(1, Relaxed);
    // Release. Partner: the acquire load in `claim`: who sees it free sees its registers cleared.
    record.state.store(SlotState::Free as u32, Release);
}

/// Has scans stop at the highest slot in use, if some above it were given back.
///
/// Safe, since every slot from the new bound up is held meanwhile: whoever would raise the bound must hold one first.
pub fn lower_bound(file: &Reopen, view: View) -> Result<()> {
    let in_use = |slot: &usize| view.slots()[*slot].state.load(Acquire) != SlotState::Free as u32;
    let all = 0..view.slots().len();
    let wanted = all.clone().rev().find(in_use).map_or(0, |slot| slot + 1);
    let bound = &view.header().slots_in_use;
    if wanted >= bound.load(Relaxed) as usize {
        return Ok(());
    }
    if_slots_are_free(file, wanted..all.end, || {
        if !(wanted..all.end).any(|slot| in_use(&slot)) {
            bound.store(wanted as u32, SeqCst);
        }
    })
    .map(drop)
}

/// Who has the slots, for an error message: the most numerous first.
fn holders(view: View) -> String {
    let mut processes = BTreeMap::<(u32, String), usize>::new();
    for record in view.slots() {
        *processes.entry((record.pid.load(Relaxed), record.label.get())).or_default() += 1;
    }
    let mut processes: Vec<_> = processes.into_iter().collect();
    processes.sort_by_key(|(_, slots)| std::cmp::Reverse(*slots));
    let mut text = String::new();
    for (at, ((pid, label), slots)) in processes.iter().enumerate() {
        if at == 8 {
            let _ = write!(text, " and {} more processes", processes.len() - at);
            break;
        }
        let _ = write!(text, "{}{label} (pid {pid}, {slots})", if at == 0 { "" } else { ", " });
    }
    text
}
