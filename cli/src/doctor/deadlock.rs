//! Deadlocks: the library says what is one, by two readings.

use super::{
    super::{deadlocks, describe},
    finding::Finding,
};
use turnlock::inspect::{Deadlock, FileStatus};

/// Returns a finding for each.
pub fn findings(status: &FileStatus) -> Vec<Finding> {
    status.deadlocks.iter().map(finding).collect()
}

fn finding(deadlock: &Deadlock) -> Finding {
    // The pid of another PID namespace would be another process's here.
    let all = deadlock.participants.iter().map(|one| &one.participant);
    let own = all.clone().find(|participant| participant.same_pid_namespace);
    let how = own.map(|participant| format!(" (kill {})", participant.pid)).unwrap_or_default();
    let sentences = deadlocks::sentences(deadlock);
    Finding::problem(
        "deadlock",
        format!(
            "each of these waits for what the next one has, and the last for what the first has: {}",
            describe::without_colours(&sentences.join("; "))
        ),
        format!(
            "end one of them{how}; in the programs, take the locks in the same order everywhere, or with a time limit"
        ),
    )
}
