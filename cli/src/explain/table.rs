//! The registers of a lock file as a table.

use super::{
    picture::{Cell, Table},
    registers::slot_in,
};
use turnlock::inspect::{Held, LockRegisters};

/// A process in the table.
pub struct Member {
    /// What it calls itself.
    pub label: &'static str,
    /// Its slot.
    pub slot: usize,
    /// Its process.
    pub pid: u32,
    /// What it does.
    pub doing: &'static str,
}

/// Returns the registers that these processes have now, and before the last step.
pub fn of_registers(before: &LockRegisters, now: &LockRegisters, cast: &[Member]) -> Table {
    let row = |member: &Member| {
        let (old, new) = (cells(before, member.slot), cells(now, member.slot));
        let who = [member.slot.to_string(), format!("{} ({})", member.label, member.pid)];
        let registers = new.into_iter().zip(old).map(changed);
        who.map(Cell::plain).into_iter().chain(registers).chain([Cell::plain(member.doing)]).collect()
    };
    let words = of_the_lock(now).into_iter().zip(of_the_lock(before)).map(changed).collect();
    Table { columns: columns(now), rows: cast.iter().map(row).collect(), lines: vec![words] }
}

fn changed((text, old): (String, String)) -> Cell {
    Cell { changed: text != old, text }
}

fn columns(registers: &LockRegisters) -> Vec<(&'static str, usize)> {
    let who = [("slot", 4), ("process", 14)];
    let registers: &[(&'static str, usize)] = match registers.kind {
        "ring" => &[("wants", 8), ("S", 4), ("left", 4), ("k", 2), ("turn", 4), ("queue", 5), ("held", 7)],
        _ => &[("choosing", 8), ("number", 6), ("held", 7)],
    };
    who.iter().chain(registers).chain(&[("does", 16)]).copied().collect()
}

/// Returns what the lock's own words say.
fn of_the_lock(registers: &LockRegisters) -> Vec<String> {
    let bias = match (registers.bias_owner, registers.bias_revoked) {
        (None, _) => "none".to_owned(),
        (Some(slot), false) => format!("slot {slot}"),
        (Some(slot), true) => format!("slot {slot}, revoked"),
    };
    let state = match registers.state {
        "inconsistent" => "owner dead",
        state => state,
    };
    let mut words =
        vec![format!("last fencing token {}", registers.fencing_token), format!("state: {state}")];
    if registers.kind != "ring" {
        words.push(format!("bias: {bias}"));
    }
    words
}

/// Returns the registers of a slot, as text.
fn cells(registers: &LockRegisters, slot: usize) -> Vec<String> {
    let held = |held| match held {
        Held::Outside => "0".to_owned(),
        Held::Trying => "trying".into(),
        // The last digits: the whole is in the line of the lock, where it is the last one that was given out.
        Held::Inside(token) => format!("…{:03}", token % 1000),
    };
    let Some(seen) = slot_in(registers, slot) else {
        let blank = columns(registers).len() - 3;
        return vec!["-".into(); blank];
    };
    match &seen.machine {
        Some(machine) => vec![
            machine.membership.into(),
            machine.state.to_string(),
            machine.left.map_or("-".into(), |left| left.to_string()),
            machine.left.map_or("-".into(), |_| machine.absent.to_string()),
            if machine.privilege { "here".into() } else { "-".into() },
            match (seen.choosing, seen.number) {
                (true, _) => "door".into(),
                (false, 0) => "-".into(),
                (false, number) => number.to_string(),
            },
            held(seen.held),
        ],
        None => vec![u8::from(seen.choosing).to_string(), seen.number.to_string(), held(seen.held)],
    }
}
