//! `turnlock status`: who holds, who waits, since when.

use super::{
    describe::{self, BAD, FAINT, STRONG},
    escape, exit, file, print,
};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};
use turnlock::inspect::{DeadOwner, FileStatus, Life, LockStatus};

/// Show who holds each lock of a file, who waits, and since when
///
/// Only looks: it takes no slot, waits for nobody and changes nothing, so it works while everything is stuck.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  shown
  64  the command line is wrong
  66  the file cannot be read or is not a lock file
  71  standard output cannot be written to; a reader that closes the pipe is no error")]
pub struct Status {
    /// Print JSON (fencing tokens as decimal strings, since they exceed 2^53)
    #[arg(long)]
    json: bool,
    /// Show every participant too, not only those at a lock
    #[arg(long, short = 'a')]
    all: bool,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
}

impl Status {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        match file::snapshot(&self.file) {
            Ok(status) if self.json => print::json(&status),
            Ok(status) => print::and_end(&text(&status, self.all), 0),
            Err(error) => print::fail(exit::NO_FILE, &error),
        }
    }
}

fn text(status: &FileStatus, all: bool) -> String {
    let mut text = String::new();
    let _ = write!(text, "{STRONG}{}{STRONG:#}: ", escape::path(&status.path));
    let dead = status.participants.iter().filter(|participant| participant.life == Life::Dead).count();
    let alive = status.participants.len() - dead;
    let slots = status.participant_capacity;
    let _ = match dead {
        0 => write!(text, "{alive} of {slots} participant slots, "),
        dead => write!(
            text,
            "{alive} of {slots} participant slots, {BAD}and {dead} of the dead{BAD:#}, which newcomers may take; "
        ),
    };
    let _ = writeln!(text, "{} of {} locks", status.locks.len(), status.lock_capacity);
    if !status.of_this_boot {
        let _ = writeln!(
            text,
            "nobody has opened it since this computer booted: what stands here is from before, and the next one to \
             open it clears it"
        );
    }
    for lock in &status.locks {
        describe_lock(&mut text, lock, &status.path);
    }
    if all {
        let _ = writeln!(text, "\nparticipants");
        for participant in &status.participants {
            let _ = writeln!(
                text,
                "  slot {:<4} {}{}{FAINT}, kept by a {}{FAINT:#}",
                participant.slot,
                describe::who(participant),
                describe::life(participant),
                participant.kept_by
            );
        }
    }
    text
}

fn describe_lock(text: &mut String, lock: &LockStatus, path: &Path) {
    let _ = write!(
        text,
        "\n{STRONG}{}{STRONG:#} {FAINT}({}, {}, {}){FAINT:#}: ",
        escape::text(&lock.name),
        lock.kind,
        lock.algorithm,
        order(lock)
    );
    if lock.holders.is_empty() {
        let _ = writeln!(text, "free, last fencing token {}", lock.fencing_token);
    }
    for holder in &lock.holders {
        let _ = writeln!(text, "{}, fencing token {}", describe::holder(holder), holder.fencing_token);
    }
    for (at, waiter) in lock.queue.iter().enumerate() {
        let has_turn = Some(waiter.participant.slot) == lock.turn_of;
        let _ = writeln!(text, "  {}. {}", at + 1, describe::waiter(waiter, has_turn));
    }
    let died = |dead: &DeadOwner| {
        format!(
            "{} (pid {}) died holding it, with fencing token {}",
            escape::text(&dead.label),
            dead.pid,
            dead.fencing_token
        )
    };
    let dead = lock.previous_owner.as_ref().map(died).unwrap_or_default();
    let _ = match lock.state {
        "consistent" => Ok(()),
        "inconsistent" if lock.death_policy == "release" => {
            writeln!(text, "  {BAD}owner dead{BAD:#}: {dead}; the next holder is told")
        }
        "inconsistent" => writeln!(text, "  {BAD}owner dead{BAD:#}: {dead}; it is not yet marked consistent"),
        _ => writeln!(
            text,
            "  {BAD}not recoverable{BAD:#}: {dead}, and nobody repaired its data. Repair them, then: turnlock reset \
             --lock {} {}",
            escape::word(&lock.name),
            escape::word(&path.to_string_lossy())
        ),
    };
}

fn order(lock: &LockStatus) -> String {
    let order = match (lock.kind, lock.ring_step) {
        ("ring", Some(step)) => format!("in turn, step {step}"),
        ("ring", None) => "in turn".into(),
        _ if lock.patience_seconds == 0.0 => "strict order".into(),
        _ => format!("patience {} ms", lock.patience_seconds * 1e3),
    };
    let order = if lock.recursive { format!("{order}, recursive") } else { order };
    match lock.death_policy {
        "release" => format!("{order}, a death releases it"),
        _ => order,
    }
}
