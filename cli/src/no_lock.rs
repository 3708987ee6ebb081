//! What is no lock, in words: conditions, events and barriers; and onces, which are held only to do something.

use super::{
    describe::{self, BAD, STRONG},
    escape,
};
use turnlock::{
    Error, LockFile,
    inspect::{BarrierStatus, BrokenBarrier, Counters, LockStatus},
};

/// Returns whether something is wrong with a lock, or with what is none.
pub fn is_ill(lock: &LockStatus) -> bool {
    matches!(lock.state, "inconsistent" | "not_recoverable" | "broken" | "unknown")
}

/// Returns what is said of it beside its kind: "3 parties", "used with data". `None`: nothing.
pub fn nature(lock: &LockStatus) -> Option<String> {
    let with = lock.condition.as_ref().and_then(|condition| condition.used_with.as_deref());
    let across_boots = lock.once.filter(|once| once.across_boots).map(|_| "across boots".into());
    lock.barrier
        .as_ref()
        .map(|barrier| counted(u64::from(barrier.parties), "party", "parties"))
        .or_else(|| with.map(|name| format!("used with {}", escape::text(name))))
        .or(across_boots)
}

/// Returns how it stands: "set, once so far", "2 of 3 have come". `None`: it is a lock.
pub fn state(lock: &LockStatus) -> Option<String> {
    if lock.state == "unknown" && !is_a_lock(lock) {
        return Some(format!("{BAD}unknown{BAD:#}: its words are impossible, the file was overwritten"));
    }
    if let Some(event) = lock.event {
        let times = match event.times_set {
            1 => "once".into(),
            times => format!("{times} times"),
        };
        return Some(match (event.set, event.times_set) {
            (true, _) => format!("{STRONG}set{STRONG:#}, {times} so far"),
            (false, 0) => "never set so far".into(),
            (false, _) => format!("not set, {times} so far"),
        });
    }
    if let Some(condition) = &lock.condition {
        let mut parts = vec![match condition.waiting {
            0 if condition.notified == 0 => "no waiter".into(),
            waiting => format!("{waiting} waiting"),
        }];
        if condition.notified > 0 {
            parts.push(format!("{} notified, without the lock yet", condition.notified));
        }
        if condition.orphans > 0 {
            let notifications = counted(condition.orphans as u64, "notification", "notifications");
            parts.push(format!("{notifications} of dead waiters to be passed on"));
        }
        return Some(parts.join(", "));
    }
    if let Some(once) = lock.once {
        return Some(if once.done { format!("{STRONG}done{STRONG:#}") } else { "not done".into() });
    }
    lock.barrier.as_ref().map(of_barrier)
}

/// Returns what happened at what is no lock. `None`: nothing.
pub fn counters(counters: &Counters) -> Option<String> {
    (counters.timed_out > 0).then(|| format!("{} ran out of time since it was created", counters.timed_out))
}

/// Returns whether it is a lock that is held for its own sake, or something of a later version.
pub fn is_a_lock(lock: &LockStatus) -> bool {
    lock.algorithm.is_some()
}

fn of_barrier(barrier: &BarrierStatus) -> String {
    if let Some(broken) = &barrier.broken {
        return format!("{BAD}broken{BAD:#}: {}", why(broken));
    }
    let mut text = format!("{} of {} have come", barrier.arrived, barrier.parties);
    if let Some(slot) = barrier.dead_members.first() {
        text +=
            &format!(", {BAD}and a party has died{BAD:#} (slot {slot}): it breaks when the next one waits");
    }
    text
}

/// Returns why a barrier is broken: "build (pid 4711), one of its parties, died (slot 3)".
pub fn why(broken: &BrokenBarrier) -> String {
    let who = match (&broken.label, broken.pid) {
        (Some(label), Some(pid)) => format!("{} (pid {pid})", escape::text(label)),
        (None, Some(pid)) => format!("process {pid}"),
        _ => "a process".into(),
    };
    let slot = broken.slot;
    match broken.why {
        "died" => format!("{who}, one of its parties, died (slot {slot})"),
        "gave_up" => format!("{who} gave up waiting (slot {slot})"),
        "aborted" => format!("{who} broke it (slot {slot})"),
        _ => format!("it is being reset (slot {slot})"),
    }
}

/// Returns it in a few words, for a narrow column.
pub fn in_short(lock: &LockStatus) -> Option<String> {
    if lock.state == "unknown" && !is_a_lock(lock) {
        return Some("unknown".into());
    }
    let broken = lock.barrier.as_ref().and_then(|barrier| barrier.broken.as_ref());
    match (&lock.barrier, broken) {
        (_, Some(broken)) => {
            let pid = broken.pid.map(|pid| format!(" {pid}")).unwrap_or_default();
            Some(format!("broken:{pid} {}", broken.why.replace('_', " ")))
        }
        (Some(barrier), None) if !barrier.dead_members.is_empty() => Some("a party has died".into()),
        _ => state(lock).map(|text| describe::without_colours(&text)),
    }
}

/// Checks that so many parties can come to a barrier of the file.
pub fn check_room(file: &LockFile, parties: u32) -> turnlock::Result<()> {
    let room = file.participants();
    if parties <= room {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "{parties} parties never come together in {}, which has room for {room} participants: name fewer, or have the file be \
         created or grown with --participants {parties}",
        file.path().display()
    )))
}

fn counted(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}
