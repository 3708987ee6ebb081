//! What the keys do, and what the columns mean.

use super::words::STRONG;
use crate::words_in_lines::broken;
use ratatui::text::{Line, Span};

const KEYS: [(&str, &str); 10] = [
    ("up, down, j, k", "select a lock; in a lock, scroll. Page up and down: by ten"),
    ("Enter, right", "open the lock: holders, queue in order, what happened"),
    ("r", "its registers, as the algorithm has them; again: back"),
    ("Esc, left", "back to the list; in the list: no filter"),
    ("/", "filter: part of a name, kind, label or program; a pid"),
    ("< >", "sort by the column to the left, to the right"),
    ("R", "sort the other way round"),
    ("p, space", "pause: look no more, until pressed again"),
    ("+ -", "draw less often, more often"),
    ("q, Ctrl-C", "quit (Ctrl-Z: stop for a while, Ctrl-L: draw anew)"),
];

const COLUMNS: [(&str, &str); 8] = [
    (
        "!  b",
        "before a name: not consistent, see the lock; biased, so that who had it last takes it again unasked",
    ),
    ("HELD BY", "the holder's label and pid, or how many are inside"),
    ("SINCE", "for how long; > at least that long, ? it was not written down when (it entered by its bias)"),
    ("WAIT", "how many wait; red: one of them is stopped, passed over or dead"),
    (
        "ACQ/S",
        "acquisitions a second, in the last 5 s, from fencing tokens: all are counted, but of a rwlock only those \
      of writers",
    ),
    (
        "P50 P99",
        "waits that were seen to end since the screen began. Sampled: a wait that begins and ends between two \
      looks (50 ms, if looking costs little) is not seen, so short ones are missing; one that ended unseen counts as \
      long as it was last seen",
    ),
    (
        "backed off",
        "of a waiter: it has patience and lets others pass; after that it is queued for good, and no waiter \
      overtakes it",
    ),
    ("passed over", "of a waiter: it was stopped when its turn came; it queues again when it goes on"),
];

/// Returns the page, in lines of at most `width` letters.
pub fn lines(width: u16) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(" Keys", STRONG)];
    let room = usize::from(width).saturating_sub(INDENT + 1).max(20);
    let add = |lines: &mut Vec<Line<'static>>, (name, what): &(&'static str, &'static str)| {
        for (at, part) in broken(what, room).into_iter().enumerate() {
            let name = if at == 0 { *name } else { "" };
            let name = Span::styled(format!(" {name:<width$}", width = INDENT - 1), STRONG);
            lines.push(Line::from(vec![name, Span::raw(part)]));
        }
    };
    KEYS.iter().for_each(|key| add(&mut lines, key));
    lines.push(Line::raw(""));
    lines.push(Line::styled(" What is shown", STRONG));
    COLUMNS.iter().for_each(|column| add(&mut lines, column));
    lines
}

/// Where the explanations begin.
const INDENT: usize = 17;
