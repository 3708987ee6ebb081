//! What stands in the cells of the list.

use crate::{describe, escape, no_lock, spans, watch::changes::waiting};
use ratatui::{
    style::{Modifier, Style},
    text::Span,
};
use turnlock::inspect::{Activity, Life, LockStatus, ParticipantStatus};

/// The style of what is not well.
pub const BAD: Style = Style::new().red().add_modifier(Modifier::BOLD);
/// The style of what matters least.
pub const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
/// The style of what matters most.
pub const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

/// Returns a participant in a few words: "make (4711)".
pub fn who(participant: &ParticipantStatus) -> String {
    who_in(participant, usize::MAX)
}

/// Returns the same in so many columns: a long label is shortened, the pid never.
fn who_in(participant: &ParticipantStatus, columns: usize) -> String {
    let pid = format!(" ({})", participant.pid);
    let label = escape::text(&participant.label);
    format!("{}{pid}", describe::shortened(&label, columns.saturating_sub(pid.len()).max(1)))
}

/// Returns who holds a lock, or what its state is without a holder, for so many columns.
pub fn held_by(lock: &LockStatus, columns: usize) -> Span<'static> {
    const DEAD: &str = "DEAD: ";
    const STOPPED: &str = "stopped: ";
    let who_behind = |what: &str, one: &ParticipantStatus| {
        format!("{what}{}", who_in(one, columns.saturating_sub(what.len())))
    };
    if let Some(state) = no_lock::in_short(lock).filter(|_| lock.holders.is_empty()) {
        let has_dead = lock.barrier.as_ref().is_some_and(|barrier| !barrier.dead_members.is_empty());
        let style = match lock.state {
            _ if no_lock::is_ill(lock) || has_dead => BAD,
            "idle" | "not_set" | "not_done" => FAINT,
            _ => Style::new(),
        };
        return Span::styled(describe::shortened(&state, columns), style);
    }
    let dead = lock.holders.iter().find(|holder| holder.participant.life == Life::Dead);
    match (&lock.holders[..], lock.permits, dead) {
        (_, _, Some(dead)) => Span::styled(who_behind(DEAD, &dead.participant), BAD),
        ([], ..) if lock.state == "not_recoverable" => Span::styled("closed: not recoverable", BAD),
        ([], ..) if lock.state == "inconsistent" => Span::styled("free, owner dead", BAD),
        ([], ..) => Span::styled("free", FAINT),
        (holders, Some(permits), _) => {
            let taken: u64 = holders.iter().map(|holder| u64::from(holder.claim.permits.unwrap_or(0))).sum();
            Span::raw(format!("{taken} of {permits} permits"))
        }
        ([holder], None, _) if holder.participant.life == Life::Stopped => {
            Span::styled(who_behind(STOPPED, &holder.participant), BAD)
        }
        ([holder], None, _) => match describe::claim(&holder.claim) {
            Some(claim) => {
                let claim = format!(", {claim}");
                let columns = columns.saturating_sub(claim.chars().count());
                Span::raw(format!("{}{claim}", who_in(&holder.participant, columns)))
            }
            None => Span::raw(who_in(&holder.participant, columns)),
        },
        (holders, None, _) => Span::raw(format!("{} inside", holders.len())),
    }
}

/// For how long the longest of its holders has held it.
pub fn since(lock: &LockStatus) -> String {
    let longest = lock.holders.iter().filter_map(|holder| Some((holder.for_seconds?, holder.at_least)));
    match longest.max_by(|one, other| one.0.total_cmp(&other.0)) {
        Some((seconds, true)) => format!(">{}", spans::short(seconds)),
        Some((seconds, false)) => spans::short(seconds),
        None if lock.holders.is_empty() => String::new(),
        None => "?".into(),
    }
}

/// Returns how many wait.
pub fn wait(lock: &LockStatus) -> Span<'static> {
    let ill = waiting(lock).any(|waiter| {
        waiter.participant.life == Life::Dead
            || matches!(waiter.activity, Activity::PassedOver | Activity::Stopped)
    });
    match waiting(lock).count() {
        0 => Span::raw(""),
        count if ill => Span::styled(count.to_string(), BAD),
        count => Span::styled(count.to_string(), STRONG),
    }
}

/// So many a second.
pub fn rate(rate: Option<f64>) -> String {
    match rate {
        None => String::new(),
        Some(0.0) => "0".into(),
        Some(rate) if rate < 10.0 => format!("{rate:.1}"),
        Some(rate) if rate < 99_999.5 => format!("{rate:.0}"),
        Some(rate) if rate < 9_999_500.0 => format!("{:.0} k", rate / 1e3),
        Some(rate) => format!("{:.0} M", rate / 1e6),
    }
}

/// Returns what a letter beside the name says: ! not consistent, or broken; b biased.
pub fn mark(lock: &LockStatus) -> Span<'static> {
    match lock.state {
        _ if no_lock::is_ill(lock) => Span::styled("!", BAD),
        "consistent" if lock.biased_to.is_some() || lock.biased_to_readers => Span::styled("b", FAINT),
        _ => Span::raw(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_columns() {
        for (number, text) in [
            (0.0, "0"),
            (0.25, "0.2"),
            (10.0, "10"),
            (99_999.0, "99999"),
            (100_000.0, "100 k"),
            (2.5e7, "25 M"),
        ] {
            assert_eq!(rate(Some(number)), text);
        }
    }
}
