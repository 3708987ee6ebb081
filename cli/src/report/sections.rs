//! The parts of the page: each a plot, what it says in words, and its numbers as a table.

use super::{
    super::{
        local_time,
        recorded::Recorded,
        recorded_spans::{End, Kind},
    },
    html::{self, Align::*, Table},
    numbers::{LockNumbers, Numbers},
    plots::{self, Mark, Percentiles},
    times,
};
use std::{collections::HashMap, fmt::Write};
use turnlock::inspect::Event;

mod coordination;
mod order;
mod timeline;

/// Why a plot cannot be drawn.
type Failure = Box<dyn std::error::Error>;

/// A part of the page.
pub struct Section {
    pub id: &'static str,
    pub title: &'static str,
    /// HTML.
    pub content: String,
}

/// So many locks have plots of their own; all are in the tables.
const PLOTTED: usize = 6;
/// So many rows a table has at most: a page is for people.
const ROWS: usize = 500;

/// Returns the time zone that the page has its moments in.
pub fn zone(recorded: &Recorded) -> String {
    local_time::zone(recorded.recording.now_unix)
}

/// Returns when that was, in nanoseconds since 1970.
pub fn wall(recorded: &Recorded, at: u64) -> u64 {
    let now = &recorded.recording;
    now.now_unix.saturating_add(at).saturating_sub(now.now)
}

/// Returns all parts.
pub fn all(recorded: &Recorded, numbers: &Numbers) -> Result<Vec<Section>, Failure> {
    let section = |id, title, content| Section { id, title, content };
    Ok(vec![
        section("activity", "What happened when", activity(recorded, numbers)?),
        section("waits", "How long was waited", waits(recorded, numbers)?),
        section("order", "Order of service", order::of(recorded, numbers)?),
        section("holders", "Who held how long", holders(recorded, numbers)?),
        section("timeline", "The latest waits and holds", timeline::of(recorded, numbers)?),
        section("deaths", "Deaths and recoveries", deaths(recorded, numbers)),
        section("locks", "Locks", locks(recorded, numbers)),
    ])
}

/// Returns a plot, its legend, what it says in words, and its numbers.
fn figure(plot: &str, legend: &str, caption: &str, summary: &str, table: &Table) -> String {
    let mut text = format!("<figure>\n{plot}");
    if !legend.is_empty() {
        let _ = writeln!(text, "<ul class=\"legend\">{legend}</ul>");
    }
    let _ = write!(text, "<figcaption>{}</figcaption>\n</figure>\n", html::text(caption));
    if !table.is_empty() {
        let _ = write!(text, "<details><summary>{summary}</summary>\n{}</details>\n", table.html());
    }
    text
}

/// Until when a plot shows what goes on, if the last that is known was then.
fn little_after(from: u64, known: u64) -> u64 {
    known.saturating_add(known.saturating_sub(from) / 4).saturating_add(1000)
}

/// Returns when the axes of two plots begin, the wide one's and the narrow one's.
fn begins(recorded: &Recorded, wide: u64, narrow: u64) -> String {
    let moment = |at| local_time::moment(wall(recorded, at));
    let on_a_narrow_page = match narrow {
        _ if narrow == wide => String::new(),
        narrow => format!(" (on a narrow page, which shows fewer, on {})", moment(narrow)),
    };
    format!("The plot begins on {} {}{on_a_narrow_page}.", moment(wide), zone(recorded))
}

/// Returns how many of what.
fn many(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn nothing(what: &str) -> Result<String, Failure> {
    Ok(format!("<p class=\"faint\">{what}</p>\n"))
}

const DIED: &str = "<li><b class=\"t-bad\">×</b>found dead</li>";
const RECOVERED: &str = "<li><i class=\"round c-good\"></i>recovered</li>";
const ENDED: &str = "<li><i class=\"round c-end\"></i>timed out, would have had to wait, gave up, or closed a circle of waits</li>";

/// Returns what a mark stands for, if an event has one.
fn mark(event: Event) -> Option<Mark> {
    match event {
        Event::Died | Event::WaiterDied | Event::PartyDied => Some(Mark::Died),
        Event::Recovered => Some(Mark::Recovered),
        Event::TimedOut | Event::WouldBlock | Event::GaveUp | Event::CircularWait => Some(Mark::Ended),
        Event::PassedOver => Some(Mark::PassedOver),
        _ => None,
    }
}

fn activity(recorded: &Recorded, numbers: &Numbers) -> Result<String, Failure> {
    let events = &recorded.recording.events;
    let Some(last) = events.iter().map(|event| event.at).max() else {
        return nothing("Nothing is recorded.");
    };
    let of = |wanted: Event| events.iter().filter(move |event| event.event == wanted).map(|event| event.at);
    let acquired: Vec<u64> = of(Event::Acquired).collect();
    let marks: Vec<(u64, Mark)> = events
        .iter()
        .filter_map(|event| Some((event.at, mark(event.event).filter(|mark| *mark != Mark::PassedOver)?)))
        .collect();
    let begin = local_time::moment(wall(recorded, recorded.first()));
    let about = format!(
        "Acquisitions of all locks over the time of the recording, {} in all; {}, {}. It begins on {begin} {}.",
        acquired.len(),
        many(numbers.deaths.len(), "death", "deaths"),
        many(of(Event::Recovered).count(), "recovery", "recoveries"),
        zone(recorded)
    );
    let plot = plots::activity(&about, (recorded.first(), last), &acquired, &marks)?;
    let legend = format!("<li><i class=\"c-hold\"></i>acquisitions</li>{DIED}{RECOVERED}{ENDED}");
    let columns = [("Event", Left), ("How many", Right)];
    let counted = Event::ALL.map(|event| vec![event.name().replace('_', " "), of(event).count().to_string()]);
    let table = Table::new("Events", &columns).rows(counted.into_iter(), ROWS);
    Ok(figure(&plot, &legend, &about, "Events in numbers", &table))
}

/// Returns a lock, and its kind.
fn title(recorded: &Recorded, lock: &LockNumbers) -> String {
    let name = recorded.lock(lock.lock);
    lock.kind.map_or(name.clone(), |kind| format!("{name} ({kind})"))
}

fn waits(recorded: &Recorded, numbers: &Numbers) -> Result<String, Failure> {
    let waited: Vec<&LockNumbers> =
        numbers.locks.iter().filter(|lock| lock.durations.waits.count() > 0).collect();
    if waited.is_empty() {
        return nothing("No wait of which both ends are recorded led to a lock.");
    }
    let plotted: Vec<_> =
        waited.iter().take(PLOTTED).map(|lock| (recorded.lock(lock.lock), &lock.durations.waits)).collect();
    let more = match waited.len().saturating_sub(PLOTTED) {
        0 => String::new(),
        more => format!(" The table below has {more} more locks, which were acquired less often."),
    };
    let (name, busiest) = (&plotted[0].0, plotted[0].1);
    let about = format!(
        "From asking for the lock to having it, of those that got it: how many waited how long. At {name}, the lock that was acquired \
         most often, half waited {} at most, and one in a hundred more than {}.{more}",
        times::span(busiest.quantile(0.5)),
        times::span(busiest.quantile(0.99))
    );
    let table =
        Table::new("How many waited how long", &[("Lock", Left), ("Waited", Left), ("How many", Right)]);
    let table = table.rows(plots::histogram_rows(&plotted).into_iter(), ROWS);
    let plot = plots::histograms(&about, &plotted)?;
    let mut text = figure(&plot, "", &about, "The histogram in numbers", &table);

    text += "<h3>Percentiles</h3>\n";
    let percentiles: Vec<Percentiles> = waited
        .iter()
        .take(2 * PLOTTED)
        .map(|lock| {
            let waits = &lock.durations.waits;
            let spans = [waits.quantile(0.5), waits.quantile(0.9), waits.quantile(0.99), waits.longest()];
            Percentiles { name: recorded.lock(lock.lock), spans }
        })
        .collect();
    let worst = waited.iter().max_by_key(|lock| lock.durations.waits.longest());
    let worst = worst.map_or(String::new(), |lock| {
        format!(
            " The longest wait was {}, for {}.",
            times::span(lock.durations.waits.longest()),
            recorded.lock(lock.lock)
        )
    });
    let about = format!("Half, nine tenths and 99 hundredths of the holders waited so long at most.{worst}");
    let legend = "<li><i class=\"round c-hold\"></i>p50</li><li><i class=\"round c-good\"></i>p90</li>\
                  <li><i class=\"round c-end\"></i>p99</li><li><b class=\"t-bad\">×</b>longest</li>";
    let columns = [
        ("Lock", Left),
        ("Served", Right),
        ("p50", Right),
        ("p90", Right),
        ("p99", Right),
        ("Longest", Right),
    ];
    let rows = waited.iter().map(|lock| {
        let waits = &lock.durations.waits;
        let spans = [waits.quantile(0.5), waits.quantile(0.9), waits.quantile(0.99), waits.longest()];
        let mut row = vec![title(recorded, lock), waits.count().to_string()];
        row.extend(spans.map(times::span));
        row
    });
    let table = Table::new("Waits of those that got the lock", &columns).rows(rows, ROWS);
    let plot = plots::percentiles(&about, &percentiles)?;
    text += &figure(&plot, legend, &about, "Percentiles in numbers", &table);
    Ok(text)
}

fn holders(recorded: &Recorded, numbers: &Numbers) -> Result<String, Failure> {
    const SHOWN: usize = 15;
    let Some(first) = numbers.holders.first() else {
        return nothing("No hold whose beginning is recorded.");
    };
    let several = recorded.recording.locks.len() > 1;
    let shown: Vec<(String, u64)> = numbers
        .holders
        .iter()
        .take(SHOWN)
        .map(|holder| match several {
            true => (
                format!("{}: {}", recorded.short_name(holder.participant), recorded.lock(holder.lock)),
                holder.total,
            ),
            false => (recorded.short_name(holder.participant), holder.total),
        })
        .collect();
    let about = format!(
        "For how long each participant held each lock, in all. The longest: {} held {} for {} in {}.{}",
        recorded.who(first.participant),
        recorded.lock(first.lock),
        times::span(first.total),
        if first.times == 1 { "one piece".into() } else { format!("{} pieces", first.times) },
        if numbers.holders.len() > SHOWN {
            " The plot has the first of them, the table the others."
        } else {
            ""
        }
    );
    let columns =
        [("Participant", Left), ("Lock", Left), ("Times", Right), ("In all", Right), ("Longest", Right)];
    let rows = numbers.holders.iter().map(|holder| {
        vec![
            recorded.who(holder.participant),
            recorded.lock(holder.lock),
            holder.times.to_string(),
            times::span(holder.total),
            times::span(holder.longest),
        ]
    });
    let table = Table::new("Holds whose beginning is recorded; what is held now, until now", &columns);
    let plot = plots::totals(&about, &shown)?;
    Ok(figure(&plot, "", &about, "Holders in numbers", &table.rows(rows, ROWS)))
}

fn deaths(recorded: &Recorded, numbers: &Numbers) -> String {
    if numbers.deaths.is_empty() {
        return "<p>No holder was found dead.</p>\n".into();
    }
    let found = format!("Found ({})", zone(recorded));
    let columns = [
        (found.as_str(), Left),
        ("Lock", Left),
        ("Who died", Left),
        ("Fencing token", Right),
        ("Recovered by", Left),
        ("After", Right),
    ];
    let rows = numbers.deaths.iter().map(|death| {
        let (by, after) = match death.recovered {
            Some((who, at)) => (recorded.who(who), times::span(at.saturating_sub(death.at))),
            None if death.shared => ("–".into(), String::new()),
            None => ("not yet".into(), String::new()),
        };
        vec![
            local_time::moment(wall(recorded, death.at)),
            recorded.lock(death.lock),
            recorded.who(death.participant),
            death.fencing_token.map_or(String::new(), |token| token.to_string()),
            by,
            after,
        ]
    });
    let table = Table::new("Who died holding a lock, and who repaired what it left", &columns);
    let said = "A death is found by the next participant, or by a waiter: it happened before. Recovered is a lock when \
                its next holder says so, or at once if a death there needs no repair. – is said of readers and of holders of permits: they leave nothing to repair.";
    format!("<p class=\"faint\">{said}</p>\n{}", table.rows(rows, ROWS).html())
}

fn locks(recorded: &Recorded, numbers: &Numbers) -> String {
    let columns = [
        ("Lock", Left),
        ("Acquired", Right),
        ("Would block", Right),
        ("Timed out", Right),
        ("Gave up", Right),
        ("Circular waits", Right),
        ("Passed over", Right),
        ("Died", Right),
        ("Recovered", Right),
        ("Hold p50", Right),
        ("Hold p99", Right),
        ("Longest hold", Right),
        ("Held now", Right),
        ("Waiting now", Right),
    ];
    // By lock: how many hold it now, and how many wait for it.
    let mut under_way: HashMap<usize, [u64; 2]> = HashMap::new();
    for span in recorded.spans.iter().filter(|span| span.end == End::UnderWay) {
        under_way.entry(span.lock).or_default()[usize::from(span.kind == Kind::Wait)] += 1;
    }
    let rows = numbers.locks.iter().map(|lock| {
        let mut row = vec![title(recorded, lock)];
        let counted = [
            Event::Acquired,
            Event::WouldBlock,
            Event::TimedOut,
            Event::GaveUp,
            Event::CircularWait,
            Event::PassedOver,
            Event::Died,
            Event::Recovered,
        ];
        row.extend(counted.map(|event| lock.count(event).to_string()));
        let holds = &lock.durations.holds;
        row.extend([holds.quantile(0.5), holds.quantile(0.99), holds.longest()].map(times::span));
        row.extend(under_way.get(&lock.lock).copied().unwrap_or_default().map(|count| count.to_string()));
        row
    });
    let of_events = Table::new("By the events that are recorded", &columns).rows(rows, ROWS).html();
    let columns = [
        ("Lock", Left),
        ("State", Left),
        ("Acquisitions", Right),
        ("Contended", Right),
        ("Timed out", Right),
        ("Died", Right),
        ("Passed over", Right),
    ];
    let rows = recorded.status.locks.iter().map(|lock| {
        let of = lock.counters;
        let mut row = vec![format!("{} ({})", lock.name, lock.kind), lock.state.replace('_', " ")];
        row.extend(
            [of.acquisitions, of.contended, of.timed_out, of.died, of.passed_over].map(|of| of.to_string()),
        );
        row
    });
    let caption =
        "Since each lock was created, by its counters: those of acquisitions leave out readers of a rwlock";
    let of_counters = Table::new(caption, &columns).rows(rows, ROWS).html();
    of_events + &coordination::table(recorded, numbers) + &of_counters
}
