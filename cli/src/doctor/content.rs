//! What a lock file holds that hurts: deaths, stopped holders, want of room, fences.

use super::{
    super::{describe, escape, no_lock},
    deadlock,
    finding::Finding,
};
use std::path::Path;
use turnlock::inspect::{self, BarrierStatus, FileStatus, Life, LockStatus, WaiterState};

/// What there is to say of a file that could be read.
pub fn findings(status: &FileStatus) -> Vec<Finding> {
    let path = describe::quoted(&status.path);
    let mut found = vec![
        Finding::good(
            "version",
            format!("format {}, which this turnlock ({}) reads", status.format, env!("CARGO_PKG_VERSION")),
        ),
        boot(status),
        fences(status),
        dead(status, &path),
    ];
    found.extend(rooms(status, &path));
    found.extend(status.locks.iter().flat_map(|lock| lock_findings(lock, &path)));
    found.extend(deadlock::findings(status));
    found.extend(cannot_probe(status));
    found
}

fn boot(status: &FileStatus) -> Finding {
    match status.of_this_boot {
        true => Finding::good("boot", "it was used since this computer booted"),
        false => Finding::note(
            "boot",
            "no process has opened it since this computer booted: what stands in it is from before",
            "nothing: the next one to open it clears it, and fencing tokens go on above those of before",
        ),
    }
}

fn fences(status: &FileStatus) -> Finding {
    match (status.fences, inspect::has_membarrier()) {
        ("membarrier", true) => Finding::good(
            "membarrier",
            "the kernel has it, and as long as one process alone uses the file it relies on it",
        ),
        ("membarrier", false) => Finding::problem(
            "membarrier",
            "the process that uses the file may rely on it, and it is refused here (a kernel before Linux 4.14, or a seccomp \
             filter)",
            "allow it in the filter; or open the file from here while no process uses it, and all will do without",
        ),
        (_, true) => Finding::good(
            "membarrier",
            "the kernel has it, and the file does without: several processes have used it, or one was refused \
             it, or full fences were asked for",
        ),
        (_, false) => Finding::good("membarrier", "it is refused here, and the file does without"),
    }
}

fn dead(status: &FileStatus, path: &str) -> Finding {
    let dead = status.participants.iter().filter(|one| one.life == Life::Dead).count();
    match dead {
        0 => Finding::good("dead participants", "none"),
        _ => Finding::note(
            "dead participants",
            format!(
                "{dead}, not removed yet; a waiter removes the one it has to wait for, and newcomers take their slots"
            ),
            format!("turnlock reap {path}"),
        ),
    }
}

/// Nine tenths of it are in use.
fn is_nearly(used: usize, room: u32) -> bool {
    used * 10 >= room as usize * 9
}

fn rooms(status: &FileStatus, path: &str) -> Vec<Finding> {
    let alive = status.participants.iter().filter(|one| one.life != Life::Dead).count();
    let room = |about, what: &str, used: usize, room: u32, then: String| {
        let finding = format!("{used} of {room} {what} are in use");
        match used {
            _ if used >= room as usize => Finding::problem(about, finding, then),
            _ if room > 1 && is_nearly(used, room) => Finding::note(about, finding, then),
            _ => Finding::good(about, finding),
        }
    };
    let more = |option: &str, now: u32| {
        let larger = now.saturating_mul(2).min(MOST);
        match larger > now {
            true => format!("end its programs, then: turnlock grow --{option} {larger} {path}"),
            false => format!("use another file as well: none has more than {MOST} {option}"),
        }
    };
    let (participants, locks) = (status.participant_capacity, status.lock_capacity);
    vec![
        room(
            "room for participants",
            "participant slots",
            alive,
            participants,
            more("participants", participants),
        ),
        room(
            "room for locks",
            "locks",
            status.locks.len(),
            locks,
            format!(
                "turnlock remove-lock {path} NAME for each that is not needed any more; or {}",
                more("locks", locks)
            ),
        ),
    ]
}

fn lock_findings(lock: &LockStatus, path: &str) -> Vec<Finding> {
    let (name, word) = (escape::text(&lock.name), escape::word(&lock.name));
    let mut found = Vec::new();
    match lock.state {
        // The next holder is told, and that is all.
        "inconsistent" if lock.death_policy != Some("inform") => {}
        "inconsistent" => found.push(Finding::note(
            "lock",
            format!("a holder of {name:?} died, and its data has not been marked consistent since"),
            "nothing, if its programs repair the data: the next holder is told",
        )),
        "not_recoverable" => found.push(Finding::problem(
            "lock",
            format!(
                "{name:?} is closed: a holder died, and the next one unlocked without repairing the data"
            ),
            format!("repair the data, then: turnlock reset --lock {word} {path}"),
        )),
        "unknown" if !no_lock::is_a_lock(lock) => found.push(Finding::problem(
            "lock",
            format!("the words of the {} {name:?} are impossible: the file was overwritten", lock.kind),
            format!("end its programs, then: turnlock rm {path}"),
        )),
        _ => {}
    }
    if let Some(barrier) = &lock.barrier {
        found.extend(barrier_finding(barrier, &name, format!("turnlock reset --lock {word} {path}")));
    }
    let waiting = lock.queue.iter().filter(|waiter| waiter.state != WaiterState::RingMember).count();
    let stopped = lock.holders.iter().filter(|holder| holder.participant.life == Life::Stopped);
    for holder in stopped.filter(|_| waiting > 0) {
        let who = describe::without_colours(&describe::who(&holder.participant));
        found.push(Finding::problem(
            "lock",
            format!("{name:?} is held by {who}, which is stopped, and {waiting} wait for it"),
            format!("continue it (kill -CONT {}), or end it", holder.participant.pid),
        ));
    }
    found.extend(lock.holders.iter().filter_map(|holder| {
        let keepers = describe::keepers(&holder.participant)?;
        let who = describe::without_colours(&describe::who(&holder.participant));
        let pids = holder.participant.keepers.iter().map(|keeper| keeper.pid.to_string());
        Some(Finding::problem(
            "lock",
            format!("{name:?} is held by {who}, which has ended: {keepers} inherited the lock and keeps it"),
            format!(
                "wait until it ends, or end it: kill {}; the next holder is told of the death then (`turnlock reap` cannot help)",
                pids.collect::<Vec<_>>().join(" ")
            ),
        ))
    }));
    found
}

/// `reset`: the command that opens the barrier anew.
fn barrier_finding(barrier: &BarrierStatus, name: &str, reset: String) -> Option<Finding> {
    if let Some(broken) = &barrier.broken {
        let why = no_lock::why(broken);
        let finding = format!("{name:?} is broken: {why}; each that waits there gets an error");
        return Some(Finding::problem(
            "barrier",
            finding,
            format!("once its parties may begin anew: {reset}"),
        ));
    }
    let slot = barrier.dead_members.first()?;
    let finding = format!("a party of {name:?} has died (slot {slot}): it breaks when the next one waits");
    Some(Finding::note("barrier", finding, reset))
}

fn cannot_probe(status: &FileStatus) -> Option<Finding> {
    let cannot_probe = status.participants.iter().find(|one| one.cannot_probe && one.life != Life::Dead)?;
    Some(Finding::problem(
        "participants that cannot probe",
        format!(
            "{} waits and cannot see who is dead: it can open no descriptor of the file",
            describe::without_colours(&describe::who(cannot_probe))
        ),
        "raise its limit of open files (ulimit -n), or let it keep the right to open the file",
    ))
}

/// As many participants, or locks, as any file has.
const MOST: u32 = 4096;
/// The oldest Linux that turnlock runs on.
const OLDEST_LINUX: (u32, u32) = (4, 14);

/// Of the machine, whatever is in the file.
pub fn machine() -> Option<Finding> {
    let release = std::fs::read_to_string(Path::new("/proc/sys/kernel/osrelease")).ok()?;
    let mut numbers = release.split(['.', '-', '\n']).map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next()?, numbers.next()?);
    let release = escape::text(release.trim());
    Some(match version < OLDEST_LINUX {
        true => Finding::problem(
            "kernel",
            format!("Linux {release} is too old"),
            "turnlock wants Linux 4.14 or newer",
        ),
        false => Finding::good("kernel", format!("Linux {release}")),
    })
}
