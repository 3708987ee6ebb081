//! The latest waits and holds of all participants, and what else happened then.

use super::{
    super::{
        super::{
            local_time,
            recorded::Recorded,
            recorded_spans::{End, Kind, Span},
        },
        html::{self, Align::*, Table},
        numbers::Numbers,
        plots::{self, Bar, Look, Row, Rows, colour},
    },
    DIED, ENDED, Failure, RECOVERED, ROWS, begins, figure, little_after, mark, wall, zone,
};
use plotters::style::RGBColor;
use std::{collections::HashMap, fmt::Write};

/// So many of the latest waits and holds, and so many rows, on a wide page and on a narrow one.
const SHOWN: [(usize, usize); 2] = [(200, 28), (60, 16)];
/// So many of the latest events are in the table.
const EVENTS: usize = 200;

/// Returns the plot and the table.
pub fn of(recorded: &Recorded, numbers: &Numbers) -> Result<String, Failure> {
    if recorded.spans.is_empty() {
        return super::nothing("No lock was waited for or held.");
    }
    // The busiest locks have colours of their own.
    let own = colour::LOCKS.len() - 1;
    let colours: HashMap<usize, RGBColor> =
        numbers.locks.iter().map(|lock| lock.lock).zip(colour::LOCKS).take(own).collect();
    let colour_of = |lock: usize| colours.get(&lock).copied().unwrap_or(colour::LOCKS[own]);
    let [wide, narrow] = SHOWN.map(|(spans, rows)| drawn(recorded, spans, rows, colour_of));
    let about = format!(
        "The latest waits (thin) and holds (thick) of who came last. What goes on now is drawn up to the edge. {}",
        begins(recorded, wide.from, narrow.from)
    );
    let mut legend = String::new();
    for (at, lock) in numbers.locks.iter().take(own).enumerate() {
        let name = html::text(&recorded.lock(lock.lock));
        let _ = write!(legend, "<li><i class=\"c-lock-{at}\"></i>{name}</li>");
    }
    if numbers.locks.len() > own {
        let _ = write!(legend, "<li><i class=\"c-lock-{own}\"></i>other locks</li>");
    }
    let passed_over = "<li><b class=\"t-end\">▲</b>passed over</li>";
    let _ = write!(legend, "{DIED}{RECOVERED}{ENDED}{passed_over}");
    Ok(figure(&plots::rows(&about, &wide, &narrow)?, &legend, &about, "The latest events", &table(recorded)))
}

/// A row for each participant that was there lately.
fn drawn(
    recorded: &Recorded,
    most_spans: usize,
    most_rows: usize,
    colour_of: impl Fn(usize) -> RGBColor,
) -> Rows {
    let (first, last) = (recorded.first(), recorded.last());
    let begin = |span: &Span| span.drawn(first, last).0;
    let mut latest: Vec<&Span> = recorded.spans.iter().collect();
    latest.sort_by_key(|span| begin(span));
    latest.drain(..latest.len().saturating_sub(most_spans));
    // Of too many participants those that came last.
    let mut rows: Vec<(usize, Row)> = Vec::new();
    let mut from = last;
    let mut kept: Vec<&Span> = Vec::new();
    for span in latest.iter().rev() {
        if rows.iter().all(|(participant, _)| *participant != span.participant) {
            if rows.len() == most_rows {
                break;
            }
            let name = recorded.short_name(span.participant);
            rows.push((span.participant, Row { name, bars: Vec::new(), marks: Vec::new() }));
        }
        from = from.min(begin(span));
        kept.push(span);
    }
    let events = recorded.recording.events.iter().filter(|event| event.at >= from);
    let known = events.clone().map(|event| event.at).max().unwrap_or(from);
    let is_open = kept.iter().any(|span| span.end == End::UnderWay);
    let to = if is_open { last.min(little_after(from, known)) } else { known };
    for span in kept {
        let (begin, end) = span.drawn(first, last);
        let look = if span.kind == Kind::Wait { Look::Thin } else { Look::Thick };
        let bar = Bar { from: begin, to: end, look, colour: colour_of(span.lock) };
        let row = rows.iter_mut().find(|(participant, _)| *participant == span.participant);
        row.into_iter().for_each(|(_, row)| row.bars.insert(0, Bar { ..bar }));
    }
    for event in events {
        let row = rows.iter_mut().find(|(participant, _)| *participant == event.participant);
        if let (Some((_, row)), Some(mark)) = (row, mark(event.event)) {
            row.marks.push((event.at, mark));
        }
    }
    rows.reverse();
    Rows { rows: rows.into_iter().map(|(_, row)| row).collect(), from, to }
}

fn table(recorded: &Recorded) -> Table {
    let when = format!("When ({})", zone(recorded));
    let columns = [
        (when.as_str(), Left),
        ("Who", Left),
        ("What", Left),
        ("Lock", Left),
        ("Fencing token", Right),
        ("By", Left),
    ];
    let mut latest: Vec<_> = recorded.recording.events.iter().collect();
    latest.sort_by_key(|event| (event.at, event.number));
    latest.drain(..latest.len().saturating_sub(EVENTS));
    let rows = latest.iter().rev().map(|event| {
        vec![
            local_time::moment(wall(recorded, event.at)),
            recorded.who(event.participant),
            recorded.what(event),
            event.lock.map_or(String::new(), |lock| recorded.lock(lock)),
            event.fencing_token.map_or(String::new(), |token| token.to_string()),
            event.by.map_or(String::new(), |by| recorded.who(by)),
        ]
    });
    Table::new("The latest events, the last one first", &columns).rows(rows, ROWS)
}
