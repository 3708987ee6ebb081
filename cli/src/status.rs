//! `turnlock status`: who holds, who waits, since when.

use super::{
    deadlocks,
    describe::{self, BAD, FAINT, STRONG},
    escape, exit, file, fit, no_lock, print, terms,
};
use std::{
    fmt::Write,
    io::{IsTerminal, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use turnlock::inspect::{DeadOwner, FileStatus, Life, LockStatus, ParticipantStatus};

/// Show who holds each lock of a file, who waits, and since when
///
/// Only looks: it takes no slot, does not wait and changes nothing, so it works while everything is stuck, and for who
/// may only read the file.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  shown
  64  the command line is wrong
  66  the file cannot be read or is not a lock file, or has no lock of the name that --lock says
  71  standard output cannot be written to; a reader that closes the pipe is no error

A line with a dash is a holder, one with a number is in the queue, first the one that is next. Each names what it has or wants:
shared, so many permits, a range (100-199, both included), what a key begins with, and its hash, a group; where it is all of the lock,
nothing. Of what is no lock (a condition, an event, a barrier, a once) the first line says how it stands: notified or not, set
or not, how many have come or why it is broken, done or not; those that wait follow. A deadlock is shown
at the end, where there is one: of each participant what it holds and what it has waited for, first the one whose wait closed the
circle. --deadlocks shows nothing else: in JSON only the locks and participants of deadlocks are left.
--glossary adds what the words mean that were used. --json has the whole: docs/status.md lists
its fields, docs/turnlock.schema.json is their JSON Schema.

EXAMPLES
  turnlock status /run/app/app.lock
  turnlock status --lock accounts --watch app.lock    again and again, until Ctrl-C
  turnlock status --deadlocks app.lock
  turnlock status --json app.lock | jq -r '.locks[] | select(.holders != []).name'")]
pub struct Status {
    /// Only this lock
    #[arg(long, short = 'l', value_name = "NAME")]
    lock: Option<String>,
    /// Show only the deadlocks: circles of threads that wait for one another, without a limit
    #[arg(long, conflicts_with = "all")]
    deadlocks: bool,
    /// Show every participant too, not only those at a lock, what happened at each lock since it was created, and what the
    /// file is
    #[arg(long, short = 'a')]
    all: bool,
    /// Show it again and again, every second or so often as said; with --json each time in one line
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = super::seconds::seconds)]
    watch: Option<Duration>,
    /// Say what the words mean that were used
    #[arg(long, short = 'g')]
    glossary: bool,
    /// Print JSON (fencing tokens as decimal strings, since they exceed 2^53)
    #[arg(long)]
    json: bool,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
}

/// What was seen.
struct Look {
    /// Of the locks only those that were asked for.
    status: FileStatus,
    /// How many locks the file has.
    locks: usize,
}

/// Moves the cursor of a terminal to its upper left corner and clears what is below.
const CLEAR: &str = "\x1b[H\x1b[J";

impl Status {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let Some(every) = self.watch else {
            return match self.look() {
                Ok(look) if self.json => print::json(&look.status),
                Ok(look) => print::and_end(&self.text(&look, fit::columns()), 0),
                Err(why) => print::fail(exit::NO_FILE, &why),
            };
        };
        loop {
            let shown = match self.look() {
                Ok(look) if self.json => print::json_line(&look.status),
                Ok(look) => {
                    let before = if stdout().is_terminal() { CLEAR } else { "" };
                    print::one_of_many(&format!("{before}{}\n", self.text(&look, fit::columns())))
                }
                Err(why) => return print::fail(exit::NO_FILE, &why),
            };
            if let Some(code) = shown {
                return code;
            }
            std::thread::sleep(every);
        }
    }

    /// Returns one look, at what was asked for.
    fn look(&self) -> Result<Look, String> {
        let mut status = file::snapshot(&self.file).map_err(|error| error.to_string())?;
        let locks = status.locks.len();
        if let Some(name) = &self.lock {
            status.locks.retain(|lock| lock.name == *name);
            if status.locks.is_empty() {
                let path = escape::path(&self.file);
                return Err(format!(
                    "{path}: it has nothing called {name:?}: `turnlock list {path}` lists what it has"
                ));
            }
        }
        if let Some(name) = &self.lock {
            status.deadlocks.retain(|one| deadlocks::involves(one, name));
        }
        if self.deadlocks {
            deadlocks::retain(&mut status);
        }
        Ok(Look { status, locks })
    }

    fn text(&self, Look { status, locks }: &Look, columns: usize) -> String {
        let mut text = if self.deadlocks {
            let none = if status.deadlocks.is_empty() { ": no deadlock" } else { "" };
            let path = escape::path(&status.path);
            format!(
                "{}{}",
                fit::fit(&format!("{STRONG}{path}{STRONG:#}{none}"), "", MORE, columns),
                circles(status, columns)
            )
        } else {
            in_words(status, *locks, self.all, columns)
        };
        if self.glossary {
            let _ = write!(text, "\n{}", terms::meanings(status, columns));
        }
        text
    }
}

/// What a line goes on with.
const MORE: &str = "        ";

fn in_words(status: &FileStatus, locks: usize, all: bool, columns: usize) -> String {
    let mut line = format!("{STRONG}{}{STRONG:#}: ", escape::path(&status.path));
    let dead = status.participants.iter().filter(|participant| participant.life == Life::Dead).count();
    let alive = status.participants.len() - dead;
    let slots = status.participant_capacity;
    let _ = match dead {
        0 => write!(line, "{alive} of {slots} participant slots, "),
        dead => write!(
            line,
            "{alive} of {slots} participant slots, {BAD}and {dead} of the dead{BAD:#}, which newcomers may take; "
        ),
    };
    let _ = write!(line, "{locks} of {} locks", status.lock_capacity);
    let mut text = fit::fit(&line, "", MORE, columns);
    if all {
        text += &fit::fit(&about_the_file(status), "", MORE, columns);
    }
    if !status.of_this_boot {
        let before = "no process has opened it since this computer booted: what stands here is from before, and the \
                      next one to open it clears it";
        text += &fit::fit(before, "", MORE, columns);
    }
    for lock in &status.locks {
        describe_lock(&mut text, lock, &status.path, columns);
        if all {
            let happened = match no_lock::is_a_lock(lock) || lock.once.is_some() {
                true => Some(describe::counters(&lock.counters)),
                false => no_lock::counters(&lock.counters),
            };
            text.extend(happened.map(|happened| fit::fit(&happened, "  ", MORE, columns)));
        }
    }
    text += &circles(status, columns);
    if all {
        let none = if status.participants.is_empty() { ": none" } else { "" };
        let _ = writeln!(text, "\nparticipants{none}");
        for participant in &status.participants {
            let line = format!(
                "slot {:<4} {}{}{FAINT}, kept by a {}{FAINT:#}",
                participant.slot,
                describe::who(participant),
                describe::life(participant),
                participant.kept_by
            );
            text += &fit::fit(&line, "  ", MORE, columns);
        }
    }
    text
}

/// Returns the deadlocks, each with a line for each participant.
fn circles(status: &FileStatus, columns: usize) -> String {
    let mut text = String::new();
    for deadlock in &status.deadlocks {
        let _ = writeln!(
            text,
            "\n{BAD}deadlock{BAD:#}: each waits for what the next one has, the last for what the first has"
        );
        for sentence in deadlocks::sentences(deadlock) {
            text += &fit::fit(&sentence, "  - ", MORE, columns);
        }
    }
    text
}

fn about_the_file(status: &FileStatus) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let age = describe::span(now.saturating_sub(status.created_unix_seconds) as f64);
    let fences = match status.fences {
        "membarrier" => "biased entries need no fence",
        _ => "biased entries have a full fence",
    };
    let recording = match status.recorded_events {
        0 => "nothing is recorded".into(),
        events => format!("the latest {events} events are recorded"),
    };
    format!("format {}, created {age} ago; {fences}; {recording}", status.format)
}

fn describe_lock(text: &mut String, lock: &LockStatus, path: &Path, columns: usize) {
    let nature: Vec<String> = [Some(kind(lock)), order(lock)].into_iter().flatten().collect();
    let mut line =
        format!("{STRONG}{}{STRONG:#} {FAINT}({}){FAINT:#}: ", escape::text(&lock.name), nature.join(", "));
    let alone = match &lock.holders[..] {
        [holder] if describe::claim(&holder.claim).is_none() => Some(holder),
        _ => None,
    };
    let token = lock.fencing_token.map_or("unknown".into(), |token| token.to_string());
    let state = no_lock::state(lock);
    line += &match (alone, lock.permits) {
        (Some(holder), _) if state.is_some() => describe::runner(holder),
        _ if state.is_some() => state.unwrap_or_default(),
        (Some(holder), _) => {
            format!("{}, fencing token {}", describe::holder(holder), holder.fencing_token)
        }
        (None, Some(permits)) => {
            let taken: u64 =
                lock.holders.iter().map(|holder| u64::from(holder.claim.permits.unwrap_or(0))).sum();
            match lock.link.and_then(|link| Some((link.share?, link.agent))) {
                None => format!("{taken} of {permits} permits taken"),
                Some((share, agent)) => {
                    let agent = if agent.is_some() { String::new() } else { describe::no_agent() };
                    format!("{taken} of this host's {share} permits taken, {permits} over all hosts{agent}")
                }
            }
        }
        (None, None) if lock.holders.is_empty() && lock.state == "not_recoverable" && !is_away(lock) => {
            format!("{BAD}closed{BAD:#}, last fencing token {token}")
        }
        (None, None) if lock.holders.is_empty() && lock.link.is_some() => {
            format!("{}, last fencing token {token}", describe::link(lock))
        }
        (None, None) if lock.holders.is_empty() => format!("free, last fencing token {token}"),
        (None, None) => format!("{} inside", lock.holders.len()),
    };
    text.push('\n');
    *text += &fit::fit(&line, "", MORE, columns);
    // Each on a line of its own; their fencing tokens are in JSON.
    for holder in lock.holders.iter().filter(|_| alone.is_none()) {
        *text += &fit::fit(&describe::holder(holder), "  - ", MORE, columns);
    }
    if let Some(by_messages) = &lock.by_messages {
        let _ = writeln!(text, "  {FAINT}{}{FAINT:#}", describe::by_messages(by_messages));
    }
    let one_at_a_time = matches!(lock.kind, "mutex" | "ring");
    for (at, waiter) in lock.queue.iter().enumerate() {
        let has_turn = Some(waiter.participant.slot) == lock.turn_of;
        *text += &fit::fit(&describe::waiter(waiter, has_turn), &format!("  {}. ", at + 1), MORE, columns);
        let behind = waiter.blocked_by.filter(|_| !one_at_a_time).and_then(|slot| in_slot(lock, slot));
        let behind = behind.map(|behind| format!("{FAINT}behind{FAINT:#} {}", describe::who(behind)));
        let more: Vec<String> =
            waiter.claim.as_ref().and_then(describe::claim).into_iter().chain(behind).collect();
        if !more.is_empty() {
            *text += &fit::fit(&more.join(", "), "     ", MORE, columns);
        }
    }
    describe_deaths(text, lock, path, columns);
}

fn describe_deaths(text: &mut String, lock: &LockStatus, path: &Path, columns: usize) {
    let died = |dead: &DeadOwner| {
        format!(
            "{} (pid {}) died holding it, with fencing token {}",
            escape::text(&dead.label),
            dead.pid,
            dead.fencing_token
        )
    };
    // There may be no notice here only of a linked lock.
    let elsewhere = || "a holder at another host died holding it".into();
    let dead = lock.previous_owner.as_ref().map_or_else(elsewhere, died);
    let line = match lock.state {
        "inconsistent" if !no_lock::is_a_lock(lock) => {
            let who = lock.previous_owner.as_ref().map(|dead| (escape::text(&dead.label), dead.pid));
            let who =
                who.map_or("the one that was".into(), |(label, pid)| format!("{label} (pid {pid}) was"));
            Some(format!("{BAD}owner dead{BAD:#}: {who} at it, and died; the next one is told"))
        }
        "inconsistent" if lock.death_policy == Some("release") => {
            Some(format!("{BAD}owner dead{BAD:#}: {dead}; the next holder is told"))
        }
        "inconsistent" => Some(format!("{BAD}owner dead{BAD:#}: {dead}; it is not yet marked consistent")),
        "not_recoverable" => Some(format!(
            "{BAD}not recoverable{BAD:#}: {dead}, and its data was not repaired. Repair it, then open the lock again:"
        )),
        _ => None,
    };
    if let Some(line) = line {
        *text += &fit::fit(&line, "  ", MORE, columns);
    }
    if matches!(lock.state, "not_recoverable" | "broken") {
        let (name, path) = (escape::word(&lock.name), describe::quoted(path));
        let _ = writeln!(text, "    turnlock reset --lock {name} {path}");
    }
    if !lock.dead_parts.is_empty() {
        let mut parts: Vec<String> =
            lock.dead_parts.iter().take(SHOWN_PARTS).map(|part| describe::part(*part)).collect();
        if lock.dead_parts.len() > SHOWN_PARTS {
            parts.push(format!("{} more", lock.dead_parts.len() - SHOWN_PARTS));
        }
        *text += &fit::fit(&format!("in {}", parts.join(", ")), "    ", MORE, columns);
    }
}

/// Returns whether the lock is linked and away.
fn is_away(lock: &LockStatus) -> bool {
    lock.link.is_some_and(|link| !link.home)
}

/// So many of the parts that the dead left are shown; all are in JSON.
const SHOWN_PARTS: usize = 4;

/// Returns who is in a slot, if it holds the lock or waits for it.
fn in_slot(lock: &LockStatus, slot: usize) -> Option<&ParticipantStatus> {
    let holders = lock.holders.iter().map(|holder| &holder.participant);
    let mut all = holders.chain(lock.queue.iter().map(|waiter| &waiter.participant));
    all.find(|participant| participant.slot == slot)
}

/// Returns the kind, and which algorithm it is where one could think that it is another.
fn kind(lock: &LockStatus) -> String {
    match lock.kind {
        "mutex" | "ring" => format!("{}, {}", lock.kind, lock.algorithm.unwrap_or("unknown")),
        kind => kind.into(),
    }
}

/// Returns in which order participants get it, and what else it is; of what is no lock, what it is. `None`: nothing.
fn order(lock: &LockStatus) -> Option<String> {
    let Some(patience) = lock.patience_seconds.filter(|_| no_lock::is_a_lock(lock)) else {
        return no_lock::nature(lock);
    };
    let order = match (lock.kind, lock.ring_step) {
        ("ring", Some(step)) => format!("in turn, step {step}"),
        ("ring", None) => "in turn".into(),
        _ if lock.by_messages.is_some() => "by messages".into(),
        _ if patience == 0.0 => "strict order".into(),
        _ => format!("patience {} ms", patience * 1e3),
    };
    let order = if lock.recursive { format!("{order}, recursive") } else { order };
    let order = if lock.link.is_some() { format!("{order}, linked") } else { order };
    let order = if lock.biased_to_readers { format!("{order}, biased to readers") } else { order };
    Some(match lock.death_policy {
        // A death leaves nothing to repair there.
        _ if lock.permits.is_some() => order,
        Some("release") => format!("{order}, a death releases it"),
        _ => order,
    })
}
