//! What is printed: on a terminal with one line that is kept up to date, elsewhere plain lines.

use super::{
    evidence::{Expected, Stop, Stopped},
    journal::Progress,
    programs::{Built, Language, LeftOut},
    verdict::Verdict,
};
use crate::{escape, print};
use anstyle::{AnsiColor, Style};
use std::{
    cell::Cell,
    io::{self, IsTerminal},
    path::Path,
    time::Duration,
};

/// The colours of both demos.
pub const STRONG: Style = Style::new().bold();
pub const FAINT: Style = Style::new().dimmed();
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
pub const BAD: Style = AnsiColor::Red.on_default().bold();
const BAR: u64 = 24;

/// Tells the story: on standard output, or on standard error where standard output is for the verdict alone.
pub struct Narrator {
    json: bool,
    live: bool,
    /// The line that is kept up to date stands on the screen.
    shown: Cell<bool>,
    /// How many quarters of the way were told, where no line can be kept up to date.
    quarters: Cell<u64>,
}

impl Narrator {
    /// For a verdict in words or in JSON.
    pub fn new(json: bool) -> Self {
        let terminal = if json { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
        let live = terminal && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb");
        Self { json, live, shown: Cell::new(false), quarters: Cell::new(0) }
    }

    fn write(&self, text: &str) {
        print::story(text, self.json);
    }

    fn line(&self, text: &str) {
        self.clear();
        self.write(&format!("{text}\n"));
    }

    fn clear(&self) {
        if self.shown.take() {
            self.write("\r\x1b[K");
        }
    }

    /// What this is about.
    pub fn opening(&self, folder: &Path, library: Option<&Path>) {
        self.line(&format!(
            "{STRONG}turnlock demo{STRONG:#}: programs in several languages add to one counter in a plain file.\n\
             A turn: read the counter, add a line to the journal, write the counter + 1.\n\
             Only the lock keeps them from losing updates. One of them will be killed inside.\n\n\
             {FAINT}folder   {}\nlibrary  {}{FAINT:#}\n",
            escape::path(folder),
            library.map_or("none beside this command".into(), escape::path)
        ));
    }

    /// Something takes a moment.
    pub fn busy(&self, with: &str) {
        if self.live {
            self.write(&format!("\r\x1b[K{with} ..."));
            self.shown.set(true);
        }
    }

    /// The programs that take part, and those that do not.
    pub fn cast(&self, programs: &[(&Built, &Expected)], left_out: &[LeftOut]) {
        for (program, expected) in programs {
            let end = expected.die_at.map_or(String::new(), |turn| format!(", killed in turn {turn}"));
            self.line(&format!(
                "  {}  {:<12} {:<20} {:>6} turns{end}",
                program.language.letter(),
                program.language.file(),
                program.how,
                expected.asked
            ));
        }
        for out in left_out {
            self.line(&format!(
                "  {BAD}-{BAD:#}  {:<12} left out: {}",
                out.language.file(),
                escape::lines(&out.why)
            ));
        }
        self.line("");
    }

    /// Says that the programs are about to start.
    pub fn starting(&self, waiting: &[String]) {
        self.line(&format!("Waiting: {}. Go.", waiting.join(", ")));
    }

    /// How far it is.
    pub fn progress(&self, progress: &Progress, expected: &[Expected]) {
        let total: u64 = expected.iter().map(|part| part.turns).sum();
        let done = progress.all();
        let counts: Vec<String> = expected
            .iter()
            .map(|part| format!("{} {}", part.language.letter(), progress.of(part.language)))
            .collect();
        let counts = counts.join("  ");
        if self.live {
            let filled = (done * BAR / total.max(1)).min(BAR) as usize;
            let bar = format!("{}{}", "#".repeat(filled), ".".repeat(BAR as usize - filled));
            self.write(&format!("\r\x1b[K[{bar}] {:>3} %  {counts}", done * 100 / total.max(1)));
            self.shown.set(true);
        } else if done * 4 / total.max(1) > self.quarters.get() {
            self.quarters.set(done * 4 / total.max(1));
            self.line(&format!("{:>3} %  {counts}", done * 100 / total.max(1)));
        }
    }

    /// The victim is inside.
    pub fn stopped(&self, language: Language, pid: u32, stop: Stopped) {
        self.line(&format!(
            "{STRONG}{} (process {pid}) stopped half-way through turn {}{STRONG:#}: its line is in the\n  journal, the \
             counter is not yet written. Fencing token {}.",
            language.file(),
            stop.turn,
            stop.fencing_token
        ));
    }

    /// The victim is about to be killed.
    pub fn killing(&self, stop: &Stop, stayed: Duration) {
        let entered = match stop.entered_meanwhile {
            0 => "no program got in".into(),
            turns => format!("{BAD}others had {turns} turns{BAD:#}"),
        };
        self.line(&format!(
            "  For {:.1} s {entered}; {} wait. Now kill -9.",
            stayed.as_secs_f64(),
            stop.waiting.len()
        ));
    }

    /// A holder was told.
    pub fn told(&self, told: Language, dead: &str, pid: u32, count: u64, after: Option<Duration>) {
        let after =
            after.map_or(String::new(), |after| format!(" {:.1} ms later", after.as_secs_f64() * 1e3));
        self.line(&format!(
            "{STRONG}{} got the lock{after}, and was told that its holder died{STRONG:#}:\n  {} (process {pid}). It \
             set the counter to {count}, as the journal says.",
            told.file(),
            escape::text(dead)
        ));
    }

    /// What came of it. `kept`: the folder, if it stays.
    pub fn verdict(&self, verdict: &Verdict, kept: Option<&Path>, separate_locks: bool) -> io::Result<()> {
        self.clear();
        if self.json {
            return print::result(&format!("{}\n", serde_json::to_string_pretty(verdict)?));
        }
        let mut text = in_words(verdict);
        if separate_locks {
            text += "\nEach program had a lock of its own, so nothing kept them apart. That is what the lock is for.";
        }
        if let Some(folder) = kept {
            text += &format!("\nKept: {}", escape::path(folder));
        }
        print::result(&(text + "\n"))
    }
}

impl Drop for Narrator {
    fn drop(&mut self) {
        self.clear();
    }
}

fn in_words(verdict: &Verdict) -> String {
    let mut text = String::new();
    let mut row = |name: &str, what: String| text += &format!("\n{name:<13}{what}");
    let found = verdict.found.map_or("no number".into(), |found| found.to_string());
    row(
        "counter",
        format!(
            "expected {}, found {found}, journal {} lines; in {:.1} s",
            verdict.expected, verdict.journal_lines, verdict.seconds
        ),
    );
    for (at, part) in verdict.programs.iter().enumerate() {
        let killed = if part.killed { ", then killed inside" } else { "" };
        row(
            if at == 0 { "acquisitions" } else { "" },
            format!(
                "{} {:<12} {:>6} of {}{killed}",
                part.letter, part.program, part.acquisitions, part.expected
            ),
        );
    }
    for out in &verdict.left_out {
        row("", format!("- {:<12} left out: {}", out.program, escape::lines(&out.why)));
    }
    if let Some(dead) = &verdict.owner_dead {
        let after = dead.after_milliseconds.map_or(String::new(), |after| format!(" after {after:.1} ms"));
        row(
            "owner dead",
            format!("{} (process {}), told to {}{after}", escape::text(&dead.label), dead.pid, dead.told),
        );
    }
    let order = &verdict.order;
    if let (Some(first), Some(last)) = (&order.first_fencing_token, &order.last_fencing_token) {
        let increasing = if order.increasing { "increasing" } else { "not increasing" };
        row("tokens", format!("{increasing}, from {first} to {last}"));
    }
    text += "\n\norder of service (a letter for each turn)";
    text += &format!("\n  start  {}...", order.first);
    if !order.after_death.is_empty() {
        text += &format!("\n  death  ...{} {BAD}X{BAD:#} {}...", order.before_death, order.after_death);
    }
    text += &format!("\n  end    ...{}\n\n", order.last);
    if verdict.in_order {
        text += &format!("{GOOD}All in order.{GOOD:#}");
    } else {
        text += &format!("{BAD}Not in order:{BAD:#}");
        text.extend(verdict.problems.iter().map(|problem| format!("\n  - {}", escape::lines(problem))));
    }
    text
}
