//! What happened at conditions, events, barriers and onces, in numbers.

use super::{
    super::{
        super::{
            recorded::Recorded,
            recorded_spans::{End, Kind},
        },
        html::{Align::*, Table},
        numbers::{LockNumbers, Numbers},
        times,
    },
    ROWS, title,
};
use std::collections::HashMap;
use turnlock::inspect::Event::{self, *};

/// What happens at locks of those kinds alone.
const THEIRS: [Event; 12] =
    [WaitBegan, Woken, Notified, NotifyOne, NotifyAll, Set, Cleared, Arrived, Aborted, Reset, RunBegan, Done];

/// Returns the table; empty: nothing happened there.
pub fn table(recorded: &Recorded, numbers: &Numbers) -> String {
    let columns = [
        ("Name", Left),
        ("Waits that ended well", Right),
        ("p50", Right),
        ("p99", Right),
        ("Longest", Right),
        ("Timed out", Right),
        ("Gave up", Right),
        ("Waiting now", Right),
        ("Notified", Right),
        ("Passed on", Right),
        ("Set", Right),
        ("Generations", Right),
        ("Broken", Right),
        ("Runs done", Right),
        ("Not done", Right),
        ("Died", Right),
    ];
    let mut waiting: HashMap<usize, u64> = HashMap::new();
    for span in &recorded.spans {
        if span.kind == Kind::Wait && span.end == End::UnderWay {
            *waiting.entry(span.lock).or_default() += 1;
        }
    }
    let is_one = |lock: &&LockNumbers| THEIRS.iter().any(|event| lock.count(*event) > 0);
    let there: Vec<&LockNumbers> = numbers.locks.iter().filter(is_one).collect();
    if there.is_empty() {
        return String::new();
    }
    let rows = there.iter().map(|lock| {
        let count = |events: &[Event]| events.iter().map(|event| lock.count(*event)).sum::<u64>().to_string();
        let woken = &lock.durations.woken;
        let mut row = vec![title(recorded, lock), woken.count().to_string()];
        row.extend([woken.quantile(0.5), woken.quantile(0.99), woken.longest()].map(times::span));
        row.extend([count(&[TimedOut]), count(&[GaveUp])]);
        row.push(waiting.get(&lock.lock).copied().unwrap_or_default().to_string());
        row.extend([
            count(&[Notified]),
            count(&[PassedOn]),
            count(&[Set]),
            count(&[Completed]),
            count(&[BrokenByDeath, BrokenByGivingUp, Aborted]),
            count(&[Done]),
            count(&[NotDone]),
            count(&[WaiterDied, PartyDied, Died]),
        ]);
        row
    });
    Table::new("At conditions, events, barriers and onces", &columns).rows(rows, ROWS).html()
}
