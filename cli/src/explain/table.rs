//! The registers as a table, for a screen and for a pipe.

use super::{registers::slot_in, stage::Picture};
use turnlock::inspect::{Held, LockRegisters};

/// One cell, and whether the last step has changed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
    pub changed: bool,
}

/// The heads of the columns and their widths.
pub fn columns(registers: &LockRegisters) -> Vec<(&'static str, usize)> {
    let who = [("slot", 4), ("process", 14)];
    let registers: &[(&'static str, usize)] = match registers.kind {
        "ring" => &[("wants", 8), ("S", 4), ("left", 4), ("k", 2), ("turn", 4), ("queue", 5), ("held", 7)],
        _ => &[("choosing", 8), ("number", 6), ("held", 7)],
    };
    who.iter().chain(registers).chain(&[("does", 16)]).copied().collect()
}

/// A row for each slot, in the order of [`columns`].
pub fn rows(picture: &Picture) -> Vec<Vec<Cell>> {
    let row = |slot| {
        let (old, new) = (cells(&picture.before, slot), cells(&picture.registers, slot));
        let member = picture.cast.iter().find(|member| member.slot == slot);
        let who = member.map(|member| format!("{} ({})", member.label, member.pid));
        let does = member.map_or("", |member| member.doing);
        let plain = |text: String| Cell { text, changed: false };
        let changed = |(text, old): (String, &String)| Cell { changed: text != *old, text };
        let registers = new.into_iter().zip(&old).map(changed);
        [plain(slot.to_string()), plain(who.unwrap_or_default())]
            .into_iter()
            .chain(registers)
            .chain([plain(does.into())])
            .collect()
    };
    picture.cast.iter().map(|member| row(member.slot)).collect()
}

/// Returns what the lock's own words say.
pub fn of_the_lock(registers: &LockRegisters, picture: &Picture) -> Vec<Cell> {
    let line = |registers: &LockRegisters| {
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
    };
    let (old, new) = (line(&picture.before), line(registers));
    new.into_iter().zip(old).map(|(text, old)| Cell { changed: text != old, text }).collect()
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
