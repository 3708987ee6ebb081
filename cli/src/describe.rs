//! Participants, in words.

use super::escape;
use anstyle::{AnsiColor, Style};
use std::{fmt::Write, path::Path};
use turnlock::inspect::{
    Activity, ByMessages, Claim, ClaimMode, Counters, Holder, KeyBeginning, Life, LockStatus, Part,
    ParticipantStatus, Waiter, WaiterState,
};

/// The style of what matters most.
pub const STRONG: Style = Style::new().bold();
/// The style of what matters least.
pub const FAINT: Style = Style::new().dimmed();
/// The style of what is not well.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Returns a participant: "make, run by turnlock (pid 4711)", where the process is turnlock and make is what it runs.
pub fn who(participant: &ParticipantStatus) -> String {
    let ParticipantStatus { label, program, pid, thread, .. } = participant;
    let mut text = format!("{STRONG}{}{STRONG:#}", escape::text(label));
    let of_turnlock = program == "turnlock" && label.split(' ').next() != Some("turnlock");
    text += if of_turnlock { ", run by turnlock (" } else { " (" };
    if !of_turnlock && program != "turnlock" && program != label {
        let _ = write!(text, "{}, ", escape::text(program));
    }
    let _ = write!(text, "pid {pid}");
    if thread != pid {
        let _ = write!(text, ", thread {thread}");
    }
    if !participant.same_pid_namespace {
        text += ", of another PID namespace";
    }
    text + ")"
}

/// Returns a path as one word of a command line.
pub fn quoted(path: &Path) -> String {
    escape::word(&path.to_string_lossy())
}

/// Returns a process, and which of its threads: "(pid 4711, thread 4712)".
pub fn process(pid: u32, thread: u32) -> String {
    if thread == pid { format!("(pid {pid})") } else { format!("(pid {pid}, thread {thread})") }
}

/// Returns who takes part in a lock by messages: "3 take part, 17 messages sent, token at slot 2", and of a ring ", second
/// token at slot 0".
pub fn by_messages(by_messages: &ByMessages) -> String {
    let mut text = format!("{} take part, {} messages sent", by_messages.members.len(), by_messages.messages);
    if let Some(slot) = by_messages.token_of {
        let _ = write!(text, ", token at slot {slot}");
    }
    if let Some(slot) = by_messages.second_token_of {
        let _ = write!(text, ", second token at slot {slot}");
    }
    text
}

/// Returns what a linked lock without a holder says of itself: "free", "free to read", "away", "away, no agent is attached".
pub fn link(lock: &LockStatus) -> String {
    let Some(link) = lock.link else { return "free".into() };
    let used_up = !link.to_read && lock.fencing_token.is_some_and(|token| token >= link.token_end);
    let free = if link.to_read { "free to read" } else { "free" };
    let text = match (link.home, used_up) {
        (true, false) => match link.lease_seconds {
            None => return free.into(),
            Some(left) if left > 0.0 => return format!("{free}, leased for {left:.1} s more"),
            Some(_) => "its lease has ended",
        },
        (true, true) => "its reserved fencing tokens are used up",
        (false, _) => "away",
    };
    match link.agent {
        Some(_) => text.into(),
        None => format!("{text}{}", no_agent()),
    }
}

/// Returns what is said where a linked lock has no agent.
pub fn no_agent() -> String {
    format!(", {BAD}no agent is attached{BAD:#}")
}

/// Returns what happened at a lock: "1204 acquisitions since it was created, 17 had to wait, 2 ran out of time".
pub fn counters(counters: &Counters) -> String {
    let Counters { acquisitions, contended, timed_out, died, passed_over, .. } = *counters;
    let mut text = format!("{acquisitions} acquisitions since it was created");
    for (number, what) in [
        (contended, "had to wait"),
        (timed_out, "ran out of time"),
        (died, "died inside"),
        (passed_over, "passed over"),
    ] {
        if number > 0 {
            let _ = write!(text, ", {number} {what}");
        }
    }
    text
}

/// Returns what a holder does: "held for 12 s by make, run by turnlock (pid 4711)". Of a dead one it is known when it entered,
/// and not when it died.
pub fn holder(entry: &Holder) -> String {
    let who = who(&entry.participant);
    let how = claim(&entry.claim).map(|claim| format!(" ({claim})")).unwrap_or_default();
    let time =
        entry.for_seconds.map(|seconds| (if entry.at_least { "at least " } else { "" }, span(seconds)));
    match (entry.participant.life, time) {
        (Life::Dead, None) => format!("held{how} by {who}, {BAD}dead{BAD:#}"),
        (Life::Dead, Some((least, span))) => {
            format!("held{how} by {who}, {BAD}dead{BAD:#}: it entered {least}{span} ago")
        }
        (_, time) => {
            let time = time.map(|(least, span)| format!(" for {least}{span}")).unwrap_or_default();
            format!("held{how}{time} by {who}{}", state(&entry.participant))
        }
    }
}

/// Returns what a holder does, in a line that may not be long: "held for 12 s by make (pid 4711)". The process may be
/// turnlock's, which runs make. Of its label no more than so many letters.
pub fn holder_in_short(entry: &Holder, of_label: usize) -> String {
    let ParticipantStatus { label, pid, life, .. } = &entry.participant;
    let how = claim(&entry.claim).map(|claim| format!(" ({claim})")).unwrap_or_default();
    let time =
        entry.for_seconds.filter(|_| *life != Life::Dead).map(|seconds| format!(" for {}", span(seconds)));
    let end = match (life, keepers(&entry.participant)) {
        (Life::Dead, _) => ", dead".into(),
        (Life::Stopped, _) => ", stopped".into(),
        (_, Some(keepers)) => format!(", ended; kept by {keepers}"),
        _ => String::new(),
    };
    let label = shortened(&escape::text(label), of_label);
    format!("held{how}{} by {label} (pid {pid}){end}", time.unwrap_or_default())
}

/// Returns the text, or as much of it as fits into so many letters.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => text.into(),
    }
}

/// Returns what a participant has of a lock, or wants, in a few words: "shared", "2 permits", "10-19, shared", "group 2"; nothing for an
/// exclusive hold of all of it.
pub fn claim(claim: &Claim) -> Option<String> {
    let mode = match claim.mode {
        ClaimMode::Exclusive => None,
        ClaimMode::Shared => Some("shared"),
        ClaimMode::Upgradable => Some("upgradable"),
        ClaimMode::Upgrading => Some("upgrading"),
        _ => Some("otherwise"),
    };
    let part = |of| match (claim.key_beginning, of) {
        (Some(beginning), Part::Key(hash)) => key(&beginning, hash),
        _ => part(of),
    };
    match (claim.permits, claim.part, mode) {
        (Some(1), ..) => Some("1 permit".into()),
        (Some(permits), ..) => Some(format!("{permits} permits")),
        (None, Some(of), None) => Some(part(of)),
        // All that are inside have the same one.
        (None, Some(of @ Part::Group(_)), _) => Some(part(of)),
        (None, Some(of), Some(mode)) => Some(format!("{}, {mode}", part(of))),
        (None, None, mode) => mode.map(str::to_owned),
    }
}

/// How many characters of a key are shown.
const SHOWN_OF_KEY: usize = 20;

/// Returns a key: what it begins with, and the beginning of its hash.
fn key(beginning: &KeyBeginning, hash: u128) -> String {
    let whole = beginning.text();
    let mut shown: String = whole.chars().take(SHOWN_OF_KEY).collect();
    if shown.len() < whole.len() {
        shown.push('…');
    }
    format!("key \"{}\", {:08x}…", escape::text(&shown), hash >> 96)
}

/// Returns a part of a lock: a range as --range takes it, or the beginning of a key's hash, which is in full in JSON.
pub fn part(part: Part) -> String {
    match part {
        Part::Range { first, last: u64::MAX } => format!("{first}-"),
        Part::Range { first, last } if first == last => first.to_string(),
        Part::Range { first, last } => format!("{first}-{last}"),
        Part::Key(hash) => format!("key {:08x}…", hash >> 96),
        Part::Group(group) => format!("group {group}"),
        _ => "everything".into(),
    }
}

/// Returns what one that is at a once does: "under way for 12 s, by make, run by turnlock (pid 4711)".
pub fn runner(entry: &Holder) -> String {
    let who = who(&entry.participant);
    match (entry.participant.life, entry.for_seconds.map(span)) {
        (Life::Dead, Some(span)) => format!("begun {span} ago by {who}, {BAD}dead{BAD:#}"),
        (Life::Dead, None) => format!("begun by {who}, {BAD}dead{BAD:#}"),
        (_, span) => {
            let time = span.map(|span| format!(" for {span}")).unwrap_or_default();
            format!("under way{time}, by {who}{}", state(&entry.participant))
        }
    }
}

/// Returns what a waiter does: "make, run by turnlock (pid 4711), waiting for 3.2 s".
pub fn waiter(entry: &Waiter, has_turn: bool) -> String {
    let life = entry.participant.life;
    let waits = match (entry.state, entry.takes_part) {
        (WaiterState::BackedOff, _) => "backed off",
        (WaiterState::RingMember, _) if has_turn => "ring member, and it is its turn",
        (WaiterState::RingMember, _) => "ring member",
        (_, Some("member")) => "ring member, waiting",
        (WaiterState::Notified, _) => "notified",
        _ => "waiting",
    };
    let who = who(&entry.participant);
    let span = entry.for_seconds.map(span);
    match (life, span) {
        (Life::Dead, Some(span)) => format!("{who}, {BAD}dead{BAD:#}: it came {span} ago"),
        (Life::Dead, None) => format!("{who}, {BAD}dead{BAD:#}"),
        // Since when it has waited is not since when it was notified.
        (_, Some(_)) if entry.state == WaiterState::Notified => format!("{who}, {waits}{}", doing(entry)),
        (_, Some(span)) => format!("{who}, {waits} for {span}{}", doing(entry)),
        (_, None) => format!("{who}, {waits}{}", doing(entry)),
    }
}

/// Returns what a waiter does just now, as an addition to its name.
fn doing(entry: &Waiter) -> String {
    let doing = match entry.activity {
        Activity::Running => ", running".into(),
        Activity::Sleeping => ", asleep".into(),
        Activity::PassedOver => format!(", {BAD}passed over{BAD:#}: it queues again when it goes on"),
        _ => String::new(),
    };
    doing + &state(&entry.participant)
}

/// Returns what is wrong with a participant, as an addition to its name.
pub fn life(participant: &ParticipantStatus) -> String {
    match participant.life {
        Life::Dead => format!(", {BAD}dead{BAD:#}"),
        _ => state(participant),
    }
}

/// Returns the processes that keep a slot whose own process has ended: "sleep (pid 4712)". `None`: none does.
pub fn keepers(participant: &ParticipantStatus) -> Option<String> {
    let mut keepers = participant.keepers.iter();
    let first = keepers.next()?;
    let text = format!("{} (pid {})", escape::text(&first.program), first.pid);
    Some(match keepers.len() {
        0 => text,
        more => format!("{text} and {more} more"),
    })
}

fn state(participant: &ParticipantStatus) -> String {
    let mut text = String::new();
    if let Some(keepers) = keepers(participant) {
        let _ = write!(text, ", {BAD}which has ended{BAD:#}: {keepers} keeps its slot");
    }
    if participant.life == Life::Stopped {
        let _ = write!(text, ", {BAD}stopped{BAD:#} at the moment");
    }
    if participant.cannot_probe {
        let _ = write!(text, ", {BAD}sees no deaths{BAD:#}: it can open no descriptor of the file");
    }
    text
}

/// Returns a span of time, to a precision that people care for.
pub fn span(seconds: f64) -> String {
    match seconds as u64 {
        0..10 => format!("{seconds:.1} s"),
        10..120 => format!("{seconds:.0} s"),
        120..7200 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Returns the same text without colours, for a message on standard error.
pub fn without_colours(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
