//! Who asked when, and was served when.

use super::{
    super::{
        super::{local_time, recorded::Recorded, recorded_spans::End},
        html::{self, Align::*, Table},
        numbers::{LockNumbers, Numbers, Served},
        plots::{self, Bar, Look, Mark, Row, Rows, colour},
        times,
    },
    Failure, ROWS, begins, figure, little_after, title, wall, zone,
};
use std::fmt::Write;

/// So many locks are shown, and so many of the latest at each, on a wide page and on a narrow one.
const LOCKS: usize = 3;
const SHOWN: [usize; 2] = [32, 20];

/// Returns the locks at which most was waited, and a table of all.
pub fn of(recorded: &Recorded, numbers: &Numbers) -> Result<String, Failure> {
    let mut served: Vec<&LockNumbers> = numbers.locks.iter().filter(|lock| !lock.served.is_empty()).collect();
    if served.is_empty() {
        return super::nothing("No acquisition has a recorded request.");
    }
    let mut text = String::from(
        "<p class=\"faint\">Each row is one that asked for the lock and got it, in the order of asking: if the holds form a staircase, \
         they were served in that order. Who asked later and was served earlier has overtaken; of two readers that \
         are inside together, neither has. Within its patience, a waiter lets others pass; later, others get in while it, or one \
         before it, wakes up.</p>\n",
    );
    served.sort_by_key(|lock| std::cmp::Reverse(lock.durations.waits.total()));
    for lock in served.iter().take(LOCKS) {
        let _ = writeln!(text, "<h3>{}</h3>", html::text(&title(recorded, lock)));
        text += &of_lock(recorded, lock)?;
    }
    let columns = [
        ("Lock", Left),
        ("Served", Right),
        ("Were overtaken", Right),
        ("Most at once", Right),
        ("By up to", Right),
    ];
    let rows = served.iter().map(|lock| {
        let mut row = vec![title(recorded, lock), lock.served.len().to_string()];
        row.extend(match lock.has_one_order() {
            true => {
                let most = |of: fn(&Served) -> u64| lock.served.iter().map(of).max().unwrap_or(0);
                match lock.served.iter().filter(|one| one.overtaken_by > 0).count() {
                    0 => ["0".into(), "0".into(), "–".into()],
                    overtaken => [
                        overtaken.to_string(),
                        most(|one| one.overtaken_by.into()).to_string(),
                        times::span(most(|one| one.by_up_to)),
                    ],
                }
            }
            false => ["–".into(), "–".into(), why_not(lock).into()],
        });
        row
    });
    let caption =
        "How many were overtaken, by how many at most, and by one that asked how much later at most";
    text += &Table::new(caption, &columns).rows(rows, ROWS).html();
    Ok(text)
}

/// Returns why none can be said to overtake another.
fn why_not(lock: &LockNumbers) -> &'static str {
    match lock.kind {
        Some("ring") => "the turn goes round",
        Some("semaphore") => "several have permits",
        _ => "they may want different parts",
    }
}

fn of_lock(recorded: &Recorded, lock: &LockNumbers) -> Result<String, Failure> {
    let [wide, narrow] = SHOWN.map(|most| drawn(recorded, lock, most));
    let overtaken = lock.served.iter().filter(|one| one.overtaken_by > 0).count();
    let about = format!(
        "The latest of {} that got {}, from asking to having it and giving it back. {} {}",
        lock.served.len(),
        recorded.lock(lock.lock),
        match (lock.has_one_order(), overtaken) {
            (false, _) => format!("Order: {}.", why_not(lock)),
            (true, 0) => "No waiter was overtaken.".into(),
            (true, 1) => "One was overtaken.".into(),
            (true, overtaken) => format!("{overtaken} were overtaken."),
        },
        begins(recorded, wide.from, narrow.from)
    );
    let legend = "<li><i class=\"thin c-wait\"></i>waits</li><li><i class=\"c-hold\"></i>holds</li><li><i class=\"ring\"></i>was \
                  overtaken</li>";
    let asked = format!("Asked ({})", zone(recorded));
    let columns = [
        ("Who", Left),
        (asked.as_str(), Left),
        ("Waited", Right),
        ("Held", Right),
        ("Shared", Left),
        ("Fencing token", Right),
        ("Overtaken by", Right),
    ];
    let latest = latest(lock, SHOWN[0]);
    let rows = latest.iter().map(|one| {
        let hold = &one.hold;
        let shared = if hold.shared { "shared" } else { "" };
        vec![
            recorded.who(hold.participant),
            local_time::moment(wall(recorded, one.asked)),
            times::span(one.began.saturating_sub(one.asked)),
            hold.nanoseconds().map_or(recorded.outcome(hold).into(), times::span),
            shared.into(),
            hold.fencing_token.map_or(String::new(), |token| token.to_string()),
            if lock.has_one_order() { one.overtaken_by.to_string() } else { "–".into() },
        ]
    });
    let table = Table::new("Who was served, in the order of asking", &columns).rows(rows, ROWS);
    Ok(figure(&plots::rows(&about, &wide, &narrow)?, legend, &about, "Who was served, in numbers", &table))
}

fn latest(lock: &LockNumbers, most: usize) -> &[Served] {
    &lock.served[lock.served.len().saturating_sub(most)..]
}

fn drawn(recorded: &Recorded, lock: &LockNumbers, most: usize) -> Rows {
    let latest = latest(lock, most);
    let from = latest.iter().map(|one| one.asked).min().unwrap_or(0);
    // What goes on is drawn to the edge, which is not far from what happened last.
    let known = latest.iter().map(|one| one.hold.ended.unwrap_or(one.began)).max().unwrap_or(from);
    let is_open = latest.iter().any(|one| one.hold.end == End::UnderWay);
    let to = if is_open { recorded.last().min(little_after(from, known)) } else { known };
    let rows = latest.iter().map(|one| {
        let (began, ended) = one.hold.drawn(from, to);
        let bar = |from, to, look, colour| Bar { from, to, look, colour };
        let overtaken = lock.has_one_order() && one.overtaken_by > 0;
        Row {
            name: recorded.short_name(one.hold.participant),
            bars: vec![
                bar(one.asked, began, Look::Thin, colour::WAIT),
                bar(began, ended, Look::Thick, colour::HOLD),
            ],
            marks: if overtaken { vec![(began, Mark::Overtaken)] } else { Vec::new() },
        }
    });
    Rows { rows: rows.collect(), from, to }
}
