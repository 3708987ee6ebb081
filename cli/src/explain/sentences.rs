//! What has just happened, told from the registers before and after: nothing else is known here.

use super::registers::slot_in;
use turnlock::inspect::{Held, LockRegisters, MachineRegisters, SlotRegisters};

/// Returns the sentences about one step of the process in `slot`, called `label`. `labels`: who is in which slot.
pub fn of(
    before: &LockRegisters,
    now: &LockRegisters,
    (slot, label): (usize, &str),
    labels: &[(usize, &str)],
) -> Vec<String> {
    let name = |slot: usize| {
        labels
            .iter()
            .find(|(other, _)| *other == slot)
            .map_or("no participant", |(_, label)| label)
            .to_owned()
    };
    let mut said = Vec::new();
    let (old, new) = (slot_in(before, slot), slot_in(now, slot));
    if let (Some(old), Some(new)) = (old, new) {
        of_number(&mut said, now, (old, new), label, &name);
        if let (Some(old), Some(new)) = (&old.machine, &new.machine) {
            of_machine(&mut said, (slot, label), (old, new), now);
        }
    }
    // Who leaves is told before who enters.
    let leaves = matches!(old.map(|old| old.held), Some(Held::Inside(_)));
    if let (Some(old), Some(new), true) = (old, new, leaves) {
        of_held(&mut said, (before, now), (old, new), label);
    }
    of_others(&mut said, before, now, slot, label, &name);
    if now.fencing_token != before.fencing_token {
        let has_it = |seen: &&SlotRegisters| seen.held == Held::Inside(now.fencing_token);
        let who = now.slots.iter().find(has_it).map_or_else(|| label.to_owned(), |seen| name(seen.slot));
        said.push(format!(
            "{who} takes the next fencing token: {}. Every acquisition has a larger one than all before it.",
            now.fencing_token
        ));
    }
    if let (Some(old), Some(new), false) = (old, new, leaves) {
        of_held(&mut said, (before, now), (old, new), label);
    }
    of_bias(&mut said, before, now, label, &name);
    if let (Some(old), Some(new)) = (old, new)
        && old.number != 0
        && new.number == 0
    {
        said.push(format!(
            "{label} gives its number back: number[{slot}] = 0. It is in no other's way any more."
        ));
    }
    if before.state != now.state {
        said.push(match now.state {
            "consistent" => format!("{label} has said that the data are consistent again."),
            "inconsistent" => {
                "The lock's state is now \"owner dead\": the next holder is told, and may repair the data."
                    .into()
            }
            _ => "The lock is closed: a holder that was told of a death unlocked without repair.".into(),
        });
    }
    if said.is_empty() {
        said.push(format!("{label} writes to its registers."));
    }
    said
}

/// The bakery's doorway, and the number.
fn of_number(
    said: &mut Vec<String>,
    now: &LockRegisters,
    (old, new): (&SlotRegisters, &SlotRegisters),
    label: &str,
    name: &impl Fn(usize) -> String,
) {
    let slot = new.slot;
    // A ring has a small bakery too, for members that join it.
    let queue = if new.machine.is_some() {
        "the ring's reconfiguration lock, which is a bakery"
    } else {
        "the doorway"
    };
    if new.choosing && !old.choosing {
        said.push(format!(
            "{label} enters {queue}: choosing[{slot}] = 1. A participant that looks waits until {label} has its number."
        ));
    }
    if new.number != old.number && new.number != 0 {
        let others = now.slots.iter().filter(|other| other.slot != slot);
        let largest = others.clone().map(|other| other.number).filter(|number| *number < new.number).max();
        said.push(format!(
            "{label} has read every number; the largest was {}. It takes one more: number[{slot}] = {}, and choosing[{slot}] \
             = 0 with the same store.",
            largest.unwrap_or(0),
            new.number
        ));
        for other in others.filter(|other| other.number == new.number) {
            let (first, last) = if slot < other.slot { (slot, other.slot) } else { (other.slot, slot) };
            said.push(format!(
                "{} has {} too: both read before either wrote, and nothing kept them apart. That does no harm. Of equal \
                 numbers the smaller slot goes first: {} before {}.",
                name(other.slot),
                new.number,
                name(first),
                name(last)
            ));
        }
    }
    if old.choosing && !new.choosing && new.number == 0 {
        said.push(format!("{label} has left the doorway without a number."));
    }
}

/// The word that says whether one is inside.
fn of_held(
    said: &mut Vec<String>,
    (before, now): (&LockRegisters, &LockRegisters),
    (old, new): (&SlotRegisters, &SlotRegisters),
    label: &str,
) {
    let slot = new.slot;
    let by_bias = before.bias_owner == Some(slot) && new.number == 0 && old.number == 0;
    let on_ring = new.machine.is_some();
    match (old.held, new.held) {
        (Held::Outside, Held::Trying) if by_bias => said.push(format!(
            "{label} takes no number: the lock is biased to it. It says held[{slot}] = trying, and then looks whether the bias \
             word still names it. No system call, and no other register is read."
        )),
        (Held::Outside, Held::Trying) if on_ring && new.number != 0 => said.push(format!(
            "{label} has the reconfiguration lock. (held[{slot}] = trying is the last step into that too; it admits \
             none to the section.)"
        )),
        (Held::Outside, Held::Trying) if on_ring => said.push(format!(
            "{label}'s own state and its left neighbour's say that the privilege is here. It says held[{slot}] = trying, and \
             looks whether others passed over it."
        )),
        (Held::Outside, Held::Trying) if new.number == 0 => said.push(format!(
            "{label} goes by what it remembers: the lock was biased to it. It says held[{slot}] = trying, and looks at the \
             bias word."
        )),
        (Held::Outside, Held::Trying) => said.push(format!(
            "No waiter is before {label}: its pair (number, slot) is the smallest. It says held[{slot}] = trying, and \
             looks whether others passed over it in the meantime."
        )),
        (Held::Outside | Held::Trying, Held::Inside(_)) => {
            said.push(format!("{label} writes itself down as the holder: held[{slot}] = its fencing token. It is INSIDE."));
        }
        (Held::Inside(_), Held::Outside) if by_bias && (now.bias_revoked || now.bias_owner != Some(slot)) => said.push(format!(
            "{label} is outside: held[{slot}] = 0. Then it looks at the bias word once more, and finds it marked: \
             another waits."
        )),
        (Held::Inside(_), Held::Outside) if by_bias => said.push(format!(
            "{label} is outside: held[{slot}] = 0. That one store is its whole unlock; the bias stays."
        )),
        (Held::Inside(_), Held::Outside) => {
            let stays = if on_ring { "The privilege is still here" } else { "Its number still stands" };
            said.push(format!("{label}'s section is over: held[{slot}] = 0. {stays}, so no other enters yet."));
        }
        (Held::Inside(_), Held::Trying) => said.push(format!(
            "{label}'s section is over: held[{slot}] = trying, so that none passes over it while it leaves."
        )),
        (Held::Trying, Held::Outside) if new.number == 0 && !on_ring => said.push(format!(
            "The bias word does not name {label} any more. It takes its word back, held[{slot}] = 0, and goes to the queue."
        )),
        (Held::Trying, Held::Outside) if !on_ring => said.push(format!(
            "{label} steps back, held[{slot}] = 0, and keeps its number: it is next, but cannot enter yet."
        )),
        (Held::Trying, Held::Outside) if new.number != 0 => {
            said.push(format!("{label} has done what the reconfiguration lock is for: held[{slot}] = 0."));
        }
        (Held::Trying, Held::Outside) => said.push(format!("{label} is outside: held[{slot}] = 0.")),
        _ => {}
    }
}

fn of_bias(
    said: &mut Vec<String>,
    before: &LockRegisters,
    now: &LockRegisters,
    label: &str,
    name: &impl Fn(usize) -> String,
) {
    match ((before.bias_owner, before.bias_revoked), (now.bias_owner, now.bias_revoked)) {
        (old, new) if old == new => {}
        (_, (Some(slot), true)) => said.push(format!(
            "{label} is the head of the queue and revokes the bias of {}: it marks the bias word. Then comes a full fence: from here on {0} sees the mark, or {label} sees {0} inside.",
            name(slot)
        )),
        (_, (Some(slot), false)) => said.push(format!(
            "The lock is now biased to {}, who acquired it twice in a row: it may enter again without a number, until \
             another one wants the lock.",
            name(slot)
        )),
        (_, (None, _)) => {
            let head = now.slots.iter().filter(|seen| seen.number != 0).min_by_key(|seen| (seen.number, seen.slot));
            let head = head.map_or_else(|| label.to_owned(), |head| name(head.slot));
            said.push(format!(
                "The bias word names no participant: {head} takes the lock by its number, as in the paper, and the \
                 next one goes by the queue."
            ));
        }
    }
}

/// A machine of a ring: its own process's step.
fn of_machine(
    said: &mut Vec<String>,
    (slot, label): (usize, &str),
    (old, new): (&MachineRegisters, &MachineRegisters),
    now: &LockRegisters,
) {
    if old.membership != new.membership {
        said.push(match new.membership {
            "none" => format!("{label} wants nothing of the ring now; the next one that passes the turn on leaves it out."),
            wanted => format!(
                "{label} says what it wants of the ring: {wanted}. It is not linked yet: the privilege holder does \
                 that when it passes it on."
            ),
        });
    }
    if old.state != new.state {
        let to = now.slots.iter().find(|other| other.machine.is_some_and(|machine| machine.privilege));
        let goes = match (old.privilege, to) {
            (true, Some(to)) if to.slot != slot => {
                " With this one store the privilege has gone on.".to_owned()
            }
            _ => String::new(),
        };
        said.push(format!("{label}'s state S[{slot}]: {} becomes {}.{goes}", old.state, new.state));
    }
    if (old.left, old.absent) != (new.left, new.absent) {
        said.push(link(slot, label, new));
    }
}

/// Returns what `label` writes into the registers of others: the holder of the privilege links machines; a reaper
/// clears.
fn of_others(
    said: &mut Vec<String>,
    before: &LockRegisters,
    now: &LockRegisters,
    slot: usize,
    label: &str,
    name: &impl Fn(usize) -> String,
) {
    for old in before.slots.iter().filter(|old| old.slot != slot) {
        let who = name(old.slot);
        let Some(new) = slot_in(now, old.slot) else {
            said.push(format!(
                "{label} has cleared what {who} left behind: slot {} is free again.",
                old.slot
            ));
            continue;
        };
        if let (Held::Outside | Held::Trying, Held::Inside(_)) = (old.held, new.held) {
            said.push(format!("{who} was woken, found none before it, and is INSIDE now."));
        }
        if let (Held::Inside(token), Held::Outside) = (old.held, new.held) {
            said.push(format!(
                "{label} has found {who} dead: the kernel has let go of its byte lock. It has written down who died, with which \
                 fencing token ({token}), and clears held[{}].",
                old.slot
            ));
        }
        if old.number != 0 && new.number == 0 {
            said.push(format!(
                "{label} clears number[{}], which {who} can no longer clear itself.",
                old.slot
            ));
        }
        if let (Some(before), Some(after)) = (old.machine, new.machine) {
            if before.privilege && !after.privilege && before.state != after.state {
                let to = now.slots.iter().find(|seen| seen.machine.is_some_and(|machine| machine.privilege));
                let to = to.map_or_else(|| "no participant".into(), |to| name(to.slot));
                said.push(format!(
                    "{label} passes the privilege on for {who}, as {who} would have done: S[{}] = {}. It is at {to} now.",
                    old.slot, after.state
                ));
            } else if before.state != after.state {
                said.push(format!(
                    "{label} gives {who}'s machine a state that does not have the privilege: S[{}] = {}.",
                    old.slot, after.state
                ));
            }
            if (before.left, before.absent) != (after.left, after.absent) {
                said.push(link(old.slot, &who, &after));
            }
            if before.membership != "none" && after.membership == "none" {
                said.push(format!(
                    "{label} takes {who}'s membership back: it is dead, and the ring passes it over."
                ));
            }
        }
        if new.evicted && !old.evicted {
            said.push(format!("{label} passes over {who}, which does not come."));
        }
    }
}

fn link(slot: usize, label: &str, machine: &MachineRegisters) -> String {
    match machine.left {
        Some(left) if left == slot => {
            format!(
                "{label}'s machine is linked to itself: it is alone on the ring (k = {} absent), and so has the privilege.",
                machine.absent
            )
        }
        Some(left) => format!(
            "{label}'s machine has machine {left} as its left neighbour now (VG = {left}, and k = {} absent between them).",
            machine.absent
        ),
        None => format!("{label}'s machine is taken off the ring."),
    }
}
