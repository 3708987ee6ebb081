//! `turnlock status`: who holds, who waits, since when.

use super::exit;
use anstream::println;
use anstyle::{AnsiColor, Style};
use std::{fmt::Write, path::PathBuf, process::ExitCode};
use turnlock::inspect::{self, DeadOwner, Entry, FileStatus, Life, LockStatus, ParticipantStatus};

/// Show who holds each lock of a file, who waits, and since when
///
/// Only looks: it takes no slot, waits for nobody and changes nothing, so it works while everything is stuck.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  shown
  64  the command line is wrong
  66  the file cannot be read or is not a lock file")]
pub struct Status {
    /// Print JSON (fencing tokens as decimal strings, since they exceed 2^53)
    #[arg(long)]
    json: bool,
    /// Show every participant too, not only those at a lock
    #[arg(long, short = 'a')]
    all: bool,
    /// The lock file
    file: PathBuf,
}

impl Status {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        match inspect::snapshot(&self.file) {
            Ok(status) if self.json => super::print_json(&status),
            Ok(status) => {
                println!("{}", text(&status, self.all).trim_end());
                ExitCode::SUCCESS
            }
            Err(error) => super::fail(exit::NO_FILE, &error),
        }
    }
}

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default().bold();

fn text(status: &FileStatus, all: bool) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{STRONG}{}{STRONG:#}: {} of {} participant slots, {} of {} locks",
        status.path.display(),
        status.participants.len(),
        status.participant_capacity,
        status.locks.len(),
        status.lock_capacity
    );
    if !status.of_this_boot {
        let _ = writeln!(
            text,
            "nobody has opened it since this computer booted: what stands here is from before, and the next one to \
             open it clears it"
        );
    }
    for lock in &status.locks {
        describe_lock(&mut text, lock);
    }
    if all {
        let _ = writeln!(text, "\nparticipants");
        for participant in &status.participants {
            let _ = writeln!(
                text,
                "  slot {:<4} {} {FAINT}{}, kept by a {}{FAINT:#}",
                participant.slot,
                who(participant),
                participant.program,
                participant.kept_by
            );
        }
    }
    text
}

fn describe_lock(text: &mut String, lock: &LockStatus) {
    let _ = write!(
        text,
        "\n{STRONG}{}{STRONG:#} {FAINT}({}, {}, {}){FAINT:#}: ",
        lock.name,
        lock.kind,
        lock.algorithm,
        order(lock)
    );
    let _ = match &lock.holder {
        Some(holder) => writeln!(
            text,
            "held by {}{}, fencing token {}",
            who(&holder.participant),
            for_how_long(holder),
            holder.fencing_token.unwrap_or(0)
        ),
        None => writeln!(text, "free, last fencing token {}", lock.fencing_token),
    };
    for (at, waiter) in lock.queue.iter().enumerate() {
        let what = match waiter.takes_part {
            Some("standing") if Some(waiter.participant.slot) == lock.turn_of => {
                " stands in the ring, and it is its turn"
            }
            Some("standing") => " stands in the ring",
            _ => " waits",
        };
        let _ = writeln!(text, "  {}. {}{what}{}", at + 1, who(&waiter.participant), for_how_long(waiter));
    }
    let died = |dead: &DeadOwner| {
        format!(
            "{} (pid {}) died holding it, with fencing token {}",
            dead.label, dead.pid, dead.fencing_token
        )
    };
    let dead = lock.previous_owner.as_ref().map(died).unwrap_or_default();
    let _ = match lock.state {
        "consistent" => Ok(()),
        "inconsistent" => writeln!(text, "  {BAD}owner dead{BAD:#}: {dead}; it is not yet marked consistent"),
        _ => writeln!(
            text,
            "  {BAD}not recoverable{BAD:#}: {dead}, and nobody repaired its data. Repair them, then: turnlock reset \
             --lock {}",
            lock.name
        ),
    };
}

fn order(lock: &LockStatus) -> String {
    match (lock.kind, lock.ring_step) {
        ("ring", Some(step)) => format!("in turn, step {step}"),
        ("ring", None) => "in turn".into(),
        _ if lock.patience_seconds == 0.0 => "strict order".into(),
        _ => format!("patience {} ms", lock.patience_seconds * 1e3),
    }
}

fn who(participant: &ParticipantStatus) -> String {
    let mut text = format!("{STRONG}{}{STRONG:#} (pid {}", participant.label, participant.pid);
    if participant.thread != participant.pid {
        let _ = write!(text, ", thread {}", participant.thread);
    }
    if !participant.same_pid_namespace {
        text += ", of another PID namespace";
    }
    text += ")";
    match participant.life {
        Life::Alive => {}
        Life::Stopped => {
            let _ = write!(text, " {BAD}stopped{BAD:#}");
        }
        Life::Dead => {
            let _ = write!(text, " {BAD}dead{BAD:#}");
        }
    }
    text
}

fn for_how_long(entry: &Entry) -> String {
    let Some(seconds) = entry.for_seconds else { return String::new() };
    match seconds as u64 {
        0..120 => format!(" for {seconds:.1} s"),
        120..7200 => format!(" for {:.0} min", seconds / 60.0),
        _ => format!(" for {:.1} h", seconds / 3600.0),
    }
}
