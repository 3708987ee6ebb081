//! One lock in full: what it is, who holds it, who waits in which order, what happened.

use super::{
    app::App,
    measured::Measured,
    words::{self, BAD, FAINT, STRONG},
};
use crate::{deadlocks, describe, escape, no_lock, spans};
use ratatui::{
    style::Style,
    text::{Line, Span},
};
use turnlock::inspect::{Activity, Holder, Life, LockStatus, ParticipantStatus, Waiter, WaiterState};

/// Returns the lines about the selected lock.
pub fn lines(app: &App) -> Vec<Line<'static>> {
    let Some(row) = &app.selected else { return Vec::new() };
    let Some(lock) = row.status(&app.sources) else {
        return vec![Line::styled(" removed, or not to be seen any more", BAD)];
    };
    let measured = row.measured(&app.sources);
    let mut lines = vec![kind(lock)];
    lines.extend(figures(lock, measured));
    lines.extend(trouble(lock));
    lines.extend(circles(app, lock));
    match (&lock.holders[..], no_lock::state(lock)) {
        ([], Some(state)) => {
            let style = if no_lock::is_ill(lock) { BAD } else { Style::new() };
            lines.push(Line::styled(format!(" {}", describe::without_colours(&state)), style));
        }
        ([], None) => lines.push(Line::from(" free")),
        (holders, _) => lines.extend(holders.iter().map(|one| holder(lock, one))),
    }
    for (at, entry) in lock.queue.iter().enumerate() {
        lines.push(waiter(lock, at, entry));
    }
    if let Some(measured) = measured.filter(|measured| !measured.changes.is_empty()) {
        lines.push(Line::raw(""));
        lines.push(Line::styled(" seen to happen, the latest first", STRONG));
        for change in &measured.changes {
            // Without the lock's name, which is the title.
            let change = describe::without_colours(
                &crate::watch::change::Change { lock: None, ..change.clone() }.in_words(),
            );
            lines.push(Line::raw(format!("  {change}")));
        }
    }
    lines
}

/// Returns what the lock is.
fn kind(lock: &LockStatus) -> Line<'static> {
    let mut text = format!(" {}", lock.kind);
    let Some(patience) = lock.patience_seconds.filter(|_| no_lock::is_a_lock(lock)) else {
        text.extend(no_lock::nature(lock).map(|nature| format!(", {nature}")));
        return Line::raw(text);
    };
    if let ("mutex" | "ring", Some(algorithm)) = (lock.kind, lock.algorithm) {
        text += &format!(", {algorithm}");
    }
    text += &match (lock.kind, lock.ring_step) {
        ("ring", Some(step)) => format!(", in turn, step {step}"),
        ("ring", None) => ", in turn".into(),
        _ if patience == 0.0 => ", strict order".into(),
        _ => format!(", patience {} ms", patience * 1e3),
    };
    if lock.recursive {
        text += ", recursive";
    }
    if let Some(link) = lock.link {
        text += &match (link.share, link.home, link.to_read) {
            (Some(share), ..) => format!(", linked, {share} permits here"),
            (None, true, true) => ", linked, home to read".into(),
            (None, true, false) => ", linked, home".into(),
            (None, false, _) => ", linked, away".into(),
        };
    }
    if let Some(permits) = lock.permits {
        text += &format!(", {permits} permits");
    } else {
        text += match lock.death_policy {
            Some("release") => ", a death releases it",
            _ => ", a death has to be repaired",
        };
    }
    if lock.biased_to_readers {
        text += ", biased to its readers";
    }
    if let Some(slot) = lock.biased_to {
        text += &format!(", biased to slot {slot}");
        if let Some(owner) = in_slot(lock, slot) {
            text += &format!(": {}", words::who(owner));
        }
    }
    Line::raw(text)
}

/// Returns what was measured of it. `None`: nothing.
fn figures(lock: &LockStatus, measured: Option<&Measured>) -> Option<Line<'static>> {
    let token = lock.fencing_token.map(|token| Span::styled(format!(" fencing token {token}"), FAINT));
    let mut spans: Vec<Span> = token.into_iter().collect();
    if let Some(rate) = measured.and_then(Measured::rate) {
        let of = if lock.kind == "rwlock" { "by writers " } else { "" };
        spans.push(Span::raw(format!("  acquired {of}{}/s", words::rate(Some(rate)))));
    }
    if let Some(measured) = measured
        && let (Some(half), Some(most)) = (measured.waited(0.5), measured.waited(0.99))
    {
        let (half, most) = (spans::short(half), spans::short(most));
        spans.push(Span::raw(format!("  waits p50 {half} p99 {most}")));
        spans.push(Span::styled(format!(" ({} seen; short ones are not)", measured.waits()), FAINT));
    }
    (!spans.is_empty()).then(|| Line::from(spans))
}

/// Returns the deadlocks that it is in.
fn circles(app: &App, lock: &LockStatus) -> Vec<Line<'static>> {
    let file = app.selected.as_ref().and_then(|row| app.sources.get(row.file)?.status());
    let mut lines = Vec::new();
    for deadlock in file.iter().flat_map(|file| &file.deadlocks) {
        if deadlocks::involves(deadlock, &lock.name) {
            lines.push(Line::styled(" deadlock: each waits for what the next one has", BAD));
            let sentences = deadlocks::sentences(deadlock);
            let line = |one: &String| Line::styled(format!("   {}", describe::without_colours(one)), BAD);
            lines.extend(sentences.iter().map(line));
        }
    }
    lines
}

/// Returns what is wrong with it.
fn trouble(lock: &LockStatus) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if matches!(lock.state, "inconsistent" | "not_recoverable") {
        let dead = lock.previous_owner.as_ref().map(|dead| {
            let who = format!("{} (pid {})", escape::text(&dead.label), dead.pid);
            match no_lock::is_a_lock(lock) {
                true => format!("{who} died holding it, fencing token {}", dead.fencing_token),
                false => format!("{who} was at it, and died"),
            }
        });
        let what = match (lock.state, lock.death_policy) {
            ("inconsistent", None) => "owner dead; the next one that begins it is told",
            ("inconsistent", Some("release")) => "owner dead; the next holder is told",
            ("inconsistent", _) => "owner dead; not yet marked consistent",
            _ => "not recoverable: repair its data, then turnlock reset",
        };
        lines.push(Line::styled(format!(" {what}"), BAD));
        lines.extend(dead.map(|dead| Line::styled(format!("   {dead}"), BAD)));
    }
    if !lock.dead_parts.is_empty() {
        let parts: Vec<String> = lock.dead_parts.iter().map(|part| describe::part(*part)).collect();
        lines.push(Line::styled(format!("   in {}", parts.join(", ")), BAD));
    }
    lines
}

fn style(participant: &ParticipantStatus) -> Style {
    match participant.life {
        Life::Dead | Life::Stopped => BAD,
        _ => Style::new(),
    }
}

fn holder(lock: &LockStatus, holder: &Holder) -> Line<'static> {
    let text = if no_lock::is_a_lock(lock) { describe::holder(holder) } else { describe::runner(holder) };
    let text = describe::without_colours(&text);
    Line::from(vec![
        Span::styled(" ● ", STRONG.green()),
        Span::styled(text, style(&holder.participant)),
        Span::styled(format!("  slot {}", holder.participant.slot), FAINT),
    ])
}

/// Returns a waiter with its place, what it wants, and whom it waits for where that is not clear.
fn waiter(lock: &LockStatus, at: usize, waiter: &Waiter) -> Line<'static> {
    let has_turn = Some(waiter.participant.slot) == lock.turn_of;
    let text = describe::without_colours(&describe::waiter(waiter, has_turn));
    let place = match waiter.state {
        WaiterState::BackedOff => "  ~ ".into(),
        _ => format!("{:>3} ", at + 1),
    };
    let ill = waiter.activity == Activity::PassedOver;
    let mut spans = vec![
        Span::styled(place, STRONG.yellow()),
        Span::styled(text, if ill { BAD } else { style(&waiter.participant) }),
    ];
    if let Some(claim) = waiter.claim.as_ref().and_then(describe::claim) {
        spans.push(Span::raw(format!(", wants {claim}")));
    }
    let one_at_a_time = matches!(lock.kind, "mutex" | "ring");
    if let Some(behind) = waiter.blocked_by.filter(|_| !one_at_a_time).and_then(|slot| in_slot(lock, slot)) {
        spans.push(Span::styled(format!(", behind {}", words::who(behind)), FAINT));
    }
    spans.push(Span::styled(format!("  slot {}", waiter.participant.slot), FAINT));
    Line::from(spans)
}

/// Returns who is in a slot, if it holds the lock or waits for it.
fn in_slot(lock: &LockStatus, slot: usize) -> Option<&ParticipantStatus> {
    let holders = lock.holders.iter().map(|holder| &holder.participant);
    let mut all = holders.chain(lock.queue.iter().map(|waiter| &waiter.participant));
    all.find(|participant| participant.slot == slot)
}
