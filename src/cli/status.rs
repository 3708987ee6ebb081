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
use turnlock::inspect::{DeadOwner, FileStatus, Life, LockStatus, ParticipantStatus};

/// Show who holds each lock of a file, who waits, and since when
///
/// Only looks: it takes no slot, waits for nobody and changes nothing, so it works while everything is stuck.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  shown
  64  the command line is wrong
  66  the file cannot be read or is not a lock file
  71  standard output cannot be written to; a reader that closes the pipe is no error

A holder's or waiter's line names what it has or wants: shared, so many permits, a range (100-199, both included), the
beginning of the hash of a key; where it is all of the lock, nothing. --json has the whole: docs/status.md lists its fields.")]
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
        "\n{STRONG}{}{STRONG:#} {FAINT}({}, {}){FAINT:#}: ",
        escape::text(&lock.name),
        kind(lock),
        order(lock)
    );
    let alone = match &lock.holders[..] {
        [holder] if describe::claim(&holder.claim).is_none() => Some(holder),
        _ => None,
    };
    let _ = match (alone, lock.permits) {
        (Some(holder), _) => {
            writeln!(text, "{}, fencing token {}", describe::holder(holder), holder.fencing_token)
        }
        (None, Some(permits)) => {
            let taken: u64 =
                lock.holders.iter().map(|holder| u64::from(holder.claim.permits.unwrap_or(0))).sum();
            writeln!(text, "{taken} of {permits} permits taken")
        }
        (None, None) if lock.holders.is_empty() => {
            writeln!(text, "free, last fencing token {}", lock.fencing_token)
        }
        (None, None) => writeln!(text, "{} inside", lock.holders.len()),
    };
    // Each on a line of its own; their fencing tokens are in JSON.
    for holder in lock.holders.iter().filter(|_| alone.is_none()) {
        let _ = writeln!(text, "  - {}", describe::holder(holder));
    }
    if let Some(by_messages) = &lock.by_messages {
        let _ = writeln!(text, "  {FAINT}{}{FAINT:#}", describe::by_messages(by_messages));
    }
    let one_at_a_time = matches!(lock.kind, "mutex" | "ring");
    for (at, waiter) in lock.queue.iter().enumerate() {
        let has_turn = Some(waiter.participant.slot) == lock.turn_of;
        let _ = writeln!(text, "  {}. {}", at + 1, describe::waiter(waiter, has_turn));
        let behind = waiter.blocked_by.filter(|_| !one_at_a_time).and_then(|slot| in_slot(lock, slot));
        let behind = behind.map(|behind| format!("{FAINT}behind{FAINT:#} {}", describe::who(behind)));
        let more: Vec<String> = describe::claim(&waiter.claim).into_iter().chain(behind).collect();
        if !more.is_empty() {
            let _ = writeln!(text, "     {}", more.join(", "));
        }
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
    if !lock.dead_parts.is_empty() {
        let mut parts: Vec<String> =
            lock.dead_parts.iter().take(SHOWN_PARTS).map(|part| describe::part(*part)).collect();
        if lock.dead_parts.len() > SHOWN_PARTS {
            parts.push(format!("{} more", lock.dead_parts.len() - SHOWN_PARTS));
        }
        let _ = writeln!(text, "    in {}", parts.join(", "));
    }
}

/// So many of the parts that the dead left are shown; all are in JSON.
const SHOWN_PARTS: usize = 4;

/// Who is in a slot, if it holds the lock or waits for it.
fn in_slot(lock: &LockStatus, slot: usize) -> Option<&ParticipantStatus> {
    let holders = lock.holders.iter().map(|holder| &holder.participant);
    let mut all = holders.chain(lock.queue.iter().map(|waiter| &waiter.participant));
    all.find(|participant| participant.slot == slot)
}

/// The kind, and which algorithm it is where one could think that it is another.
fn kind(lock: &LockStatus) -> String {
    match lock.kind {
        "mutex" | "ring" => format!("{}, {}", lock.kind, lock.algorithm),
        kind => kind.into(),
    }
}

fn order(lock: &LockStatus) -> String {
    let order = match (lock.kind, lock.ring_step) {
        ("ring", Some(step)) => format!("in turn, step {step}"),
        ("ring", None) => "in turn".into(),
        _ if lock.by_messages.is_some() => "by messages".into(),
        _ if lock.patience_seconds == 0.0 => "strict order".into(),
        _ => format!("patience {} ms", lock.patience_seconds * 1e3),
    };
    let order = if lock.recursive { format!("{order}, recursive") } else { order };
    let order = if lock.biased_to_readers { format!("{order}, biased to readers") } else { order };
    match lock.death_policy {
        // A death leaves nothing to repair there.
        _ if lock.permits.is_some() => order,
        "release" => format!("{order}, a death releases it"),
        _ => order,
    }
}
