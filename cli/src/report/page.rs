//! The whole page.

use super::{
    super::{local_time, recorded::Recorded},
    html,
    numbers::{self, Numbers},
    sections::{self, Section},
    times,
};
use std::fmt::Write;
use turnlock::inspect::Event;

/// Returns the page, in HTML. It loads nothing, which its content security policy holds whatever is in it.
pub fn of(recorded: &Recorded) -> Result<String, Box<dyn std::error::Error>> {
    let numbers = numbers::of(recorded);
    let name = recorded.path().file_name().unwrap_or(recorded.path().as_os_str()).to_string_lossy();
    let name = html::text(&name);
    let mut page = format!(
        "{}<meta name=\"generator\" content=\"turnlock {}\">\n<title>{name}: what turnlock recorded</title>\n<style>\n{}</style>\n\
         </head>\n<body>\n<header>\n<h1>{name}: what happened at its locks</h1>\n",
        include_str!("head.html"),
        env!("CARGO_PKG_VERSION"),
        include_str!("style.css")
    );
    page += &about(recorded);
    page += &tiles(recorded, &numbers);
    let sections = sections::all(recorded, &numbers)?;
    page += "<nav aria-label=\"Sections\"><ul>\n";
    for Section { id, title, .. } in &sections {
        let _ = writeln!(page, "<li><a href=\"#{id}\">{title}</a></li>");
    }
    page += "</ul></nav>\n</header>\n<main>\n";
    for Section { id, title, content } in &sections {
        let _ = write!(page, "<section id=\"{id}\">\n<h2>{title}</h2>\n{content}</section>\n");
    }
    page += "</main>\n</body>\n</html>\n";
    Ok(page)
}

/// Returns what was recorded, since when, and what is missing.
fn about(recorded: &Recorded) -> String {
    let recording = &recorded.recording;
    let wall = |at: u64| local_time::moment(sections::wall(recorded, at));
    let mut text = format!("<p>{} ", html::text(&recorded.path().to_string_lossy()));
    let _ = match recording.events.last() {
        None => write!(text, "has recorded nothing since this machine was started."),
        Some(last) => write!(
            text,
            "has {} events, from <time>{}</time> to <time>{}</time> {}, {}.",
            recording.events.len(),
            wall(recorded.first()),
            wall(last.at),
            sections::zone(recorded),
            times::span(last.at.saturating_sub(recorded.first()))
        ),
    };
    let _ = write!(
        text,
        " Looked at on <time>{}</time> {}.</p>\n<p class=\"faint\">",
        wall(recording.now),
        sections::zone(recorded)
    );
    let _ = write!(
        text,
        "The file keeps the latest {} entries (events, and names of who came); {} were made since this machine was started. ",
        recording.capacity, recording.recorded
    );
    text += &match recorded.forgotten() {
        0 => "None of them is forgotten; ".into(),
        forgotten => format!(
            "The first {forgotten} are forgotten, so that waits and holds that began before have no beginning here; "
        ),
    };
    text += &match recording.unreadable {
        0 => "all could be read. ".into(),
        unreadable => format!(
            "{unreadable} could not be read, because a process wrote them just then, or was killed in the midst of it. "
        ),
    };
    if !recorded.status.of_this_boot {
        text += "<strong>No process has opened the file since this machine was started:</strong> the events are from \
                 before that, and what is said here of wall clock is not when they were. ";
    }
    text += "Times were taken by CLOCK_MONOTONIC, which does not run while the machine is suspended, and are translated to wall \
             clock by what both say now.</p>\n";
    text
}

/// Returns the numbers that matter most.
fn tiles(recorded: &Recorded, numbers: &Numbers) -> String {
    let count = |event: Event| -> u64 { numbers.locks.iter().map(|lock| lock.count(event)).sum() };
    let longest = |of: &dyn Fn(&numbers::LockNumbers) -> u64| numbers.locks.iter().map(of).max().unwrap_or(0);
    let wait = longest(&|lock| lock.durations.waits.longest());
    let hold = longest(&|lock| lock.durations.holds.longest());
    let overtaken: usize = numbers
        .locks
        .iter()
        .filter(|lock| lock.has_one_order())
        .map(|lock| lock.served.iter().filter(|one| one.overtaken_by > 0).count())
        .sum();
    let deaths = count(Event::Died);
    let mut text = String::from("<ul class=\"tiles\">\n");
    for (number, what, bad) in [
        (count(Event::Acquired).to_string(), "acquisitions", false),
        (numbers.locks.len().to_string(), "locks", false),
        (recorded.recording.participants.len().to_string(), "participants", false),
        (times::span(wait), "longest wait that was served", false),
        (times::span(hold), "longest hold", false),
        (overtaken.to_string(), "were overtaken", false),
        ((count(Event::TimedOut) + count(Event::GaveUp)).to_string(), "timed out or gave up", false),
        (deaths.to_string(), "deaths of holders", deaths > 0),
    ] {
        let class = if bad { " class=\"bad\"" } else { "" };
        let _ = writeln!(text, "<li{class}><strong>{number}</strong> {what}</li>");
    }
    text + "</ul>\n"
}
