//! One lock's registers, as its algorithm has them.

use super::{
    app::App,
    words::{BAD, FAINT, STRONG},
};
use crate::escape;
use ratatui::{
    style::Style,
    text::{Line, Span},
};
use turnlock::inspect::{Held, LockRegisters, SlotRegisters};

/// Returns the lines about the selected lock.
pub fn lines(app: &App) -> Vec<Line<'static>> {
    let (Some(row), Some(registers)) = (&app.selected, &app.registers) else { return Vec::new() };
    let source = &app.sources[row.file];
    let registers = match registers {
        Ok(registers) => registers,
        Err(error) => return vec![Line::styled(format!(" {}", escape::text(error)), BAD)],
    };
    let participants = source.status().map(|status| &status.participants[..]).unwrap_or_default();
    let who = |slot: usize| {
        let label = participants.iter().find(|one| one.slot == slot).map(|one| escape::text(&one.label));
        label.unwrap_or_else(|| "none".into())
    };
    let ring = registers.slots.iter().any(|slot| slot.machine.is_some());
    let mut lines = vec![of_the_lock(registers)];
    let head = match ring {
        true => format!(
            " {:>4}  {:<12} {:<8} {:>6} {:>4} {:>4}  {:<4}  {:<19}",
            "SLOT", "LABEL", "WANTS", "S", "LEFT", "K", "TURN", "HELD"
        ),
        false => format!(" {:>4}  {:<12} {:<8} {:>8}  {:<20}", "SLOT", "LABEL", "CHOOSING", "NUMBER", "HELD"),
    };
    lines.push(Line::styled(head, STRONG));
    for slot in &registers.slots {
        let label: String = who(slot.slot).chars().take(12).collect();
        let text = match &slot.machine {
            Some(machine) => {
                let left = machine.left.map_or("-".into(), |left| left.to_string());
                let absent = machine.left.map_or("-".into(), |_| machine.absent.to_string());
                let turn = if machine.privilege { "here" } else { "" };
                format!(
                    " {:>4}  {label:<12} {:<8} {:>6} {left:>4} {absent:>4}  {turn:<4}  {:<19}",
                    slot.slot,
                    machine.membership,
                    machine.state,
                    held(slot)
                )
            }
            None => {
                let choosing = u8::from(slot.choosing);
                format!(" {:>4}  {label:<12} {choosing:<8} {:>8}  {:<20}", slot.slot, slot.number, held(slot))
            }
        };
        let in_ring =
            slot.machine.is_some_and(|machine| machine.left.is_some() || machine.membership != "none");
        let idle =
            !slot.choosing && slot.number == 0 && slot.held == Held::Outside && !slot.waits && !in_ring;
        let mut spans = vec![Span::styled(text, if idle { FAINT } else { Style::new() })];
        for (is_so, word) in [(slot.waits, " waits"), (slot.parked, " parked"), (slot.evicted, " evicted")] {
            if is_so {
                spans.push(Span::styled(word, FAINT));
            }
        }
        lines.push(Line::from(spans));
    }
    lines.push(Line::raw(""));
    let what = match ring {
        true => [
            " S: the machine's state. LEFT: its left neighbour on the ring (VG), and K absent between.",
            " States and links say who has the turn; no message is sent. HELD: with which fencing token.",
        ],
        false => [
            " The smallest (NUMBER, SLOT) that is not 0 is next. CHOOSING: in the doorway, taking one.",
            " HELD: inside, with which fencing token; a bias owner is inside without a number.",
        ],
    };
    lines.extend(what.map(|line| Line::styled(line, FAINT)));
    lines
}

fn of_the_lock(registers: &LockRegisters) -> Line<'static> {
    let mut text = format!(" last fencing token {}", registers.fencing_token);
    text += &match (registers.bias_owner, registers.bias_revoked) {
        (Some(slot), false) => format!("   bias: slot {slot}"),
        (Some(slot), true) => format!("   bias: slot {slot}, being revoked"),
        (None, _) if registers.biased_to_readers => "   bias: readers".into(),
        (None, _) => "   bias: none".into(),
    };
    if let Some(slot) = registers.designated_waker {
        text += &format!("   designated waker: slot {slot}");
    }
    Line::raw(text)
}

fn held(slot: &SlotRegisters) -> String {
    match slot.held {
        Held::Outside => "0".into(),
        Held::Trying => "trying".into(),
        Held::Inside(token) => token.to_string(),
    }
}
