//! The values of the metrics.

use super::{
    super::{
        durations::{self, Durations},
        no_lock, recorded_spans,
    },
    families::Samples,
};
use std::collections::{BTreeMap, HashSet};
use turnlock::inspect::{FileStatus, Life, LockStatus, Recording, WaiterState};

/// Nothing is known of the file.
pub fn of_no_file(to: &mut Samples, file: &str) {
    to.add("turnlock_file_readable", &[file], 0.0);
}

/// What is known of the file, its locks, and of what it recorded, if that is wanted.
pub fn of_file(to: &mut Samples, file: &str, status: &FileStatus, recording: Option<&Recording>) {
    to.add("turnlock_file_readable", &[file], 1.0);
    to.add("turnlock_file_info", &[file, &status.format, status.fences], 1.0);
    to.add("turnlock_file_of_this_boot", &[file], number(status.of_this_boot));
    to.add("turnlock_file_created_timestamp_seconds", &[file], status.created_unix_seconds as f64);
    to.add("turnlock_participant_capacity", &[file], status.participant_capacity.into());
    to.add("turnlock_lock_capacity", &[file], status.lock_capacity.into());
    let lives = [
        ("alive", Life::Alive),
        ("stopped", Life::Stopped),
        ("dead", Life::Dead),
        ("unknown", Life::Unknown),
    ];
    for (name, life) in lives {
        let count = status.participants.iter().filter(|one| one.life == life).count();
        to.add("turnlock_participants", &[file, name], count as f64);
    }
    let cannot_probe = status.participants.iter().filter(|one| one.cannot_probe).count();
    to.add("turnlock_participants_cannot_probe", &[file], cannot_probe as f64);
    to.add("turnlock_locks", &[file], status.locks.len() as f64);
    // A series that is there twice would have the whole of the text refused. Two entries may have one name where a lock was
    // removed and created again while the file was read, or where the file was made up: the first one stands for both.
    let mut named = HashSet::new();
    for lock in status.locks.iter().filter(|lock| named.insert(lock.name.as_str())) {
        of_lock(to, file, lock);
    }
    to.add("turnlock_recording_capacity", &[file], status.recorded_events.into());
    if let Some(recording) = recording {
        of_recording(to, file, status, recording);
    }
}

fn number(is_so: bool) -> f64 {
    if is_so { 1.0 } else { 0.0 }
}

fn of_lock(to: &mut Samples, file: &str, lock: &LockStatus) {
    let labels = &[file, lock.name.as_str()];
    // A label without a value is none.
    let [algorithm, death_policy] = [lock.algorithm, lock.death_policy].map(Option::unwrap_or_default);
    to.add("turnlock_lock_info", &[file, &lock.name, lock.kind, algorithm, death_policy], 1.0);
    let is_a_lock = no_lock::is_a_lock(lock);
    if is_a_lock || lock.once.is_some() {
        to.add("turnlock_lock_holders", labels, lock.holders.len() as f64);
    }
    of_no_lock(to, labels, lock);
    let waiting = |state: WaiterState| lock.queue.iter().filter(move |waiter| waiter.state == state);
    for (name, state) in [
        ("queued", WaiterState::Queued),
        ("backed_off", WaiterState::BackedOff),
        ("notified", WaiterState::Notified),
    ] {
        let is_possible = match state {
            WaiterState::BackedOff => is_a_lock || lock.once.is_some(),
            WaiterState::Notified => lock.condition.is_some(),
            _ => true,
        };
        if !is_possible {
            continue;
        }
        to.add("turnlock_lock_waiters", &[file, &lock.name, name], waiting(state).count() as f64);
    }
    let longest = |times: &mut dyn Iterator<Item = (Life, Option<f64>)>| {
        times.filter(|(life, _)| *life != Life::Dead).filter_map(|(_, seconds)| seconds).fold(0.0, f64::max)
    };
    let waits = lock.queue.iter().filter(|waiter| waiter.state != WaiterState::RingMember);
    let mut waits = waits.map(|waiter| (waiter.participant.life, waiter.for_seconds));
    to.add("turnlock_lock_longest_wait_seconds", labels, longest(&mut waits));
    if !is_a_lock {
        to.add("turnlock_lock_timeouts_total", labels, lock.counters.timed_out as f64);
        return;
    }
    let mut holds = lock.holders.iter().map(|holder| (holder.participant.life, holder.for_seconds));
    to.add("turnlock_lock_longest_hold_seconds", labels, longest(&mut holds));
    to.add("turnlock_lock_inconsistent", labels, number(lock.state == "inconsistent"));
    to.add("turnlock_lock_not_recoverable", labels, number(lock.state == "not_recoverable"));
    to.add("turnlock_lock_patience_seconds", labels, lock.patience_seconds.unwrap_or(0.0));
    if let Some(permits) = lock.permits {
        let taken: u64 = lock.holders.iter().map(|holder| u64::from(holder.claim.permits.unwrap_or(0))).sum();
        to.add("turnlock_lock_permits", labels, permits.into());
        to.add("turnlock_lock_permits_taken", labels, taken as f64);
    }
    if lock.kind == "ring" {
        to.add("turnlock_lock_ring_idle_members", labels, waiting(WaiterState::RingMember).count() as f64);
    }
    let counters = lock.counters;
    for (name, value) in [
        ("turnlock_lock_acquisitions_total", counters.acquisitions),
        ("turnlock_lock_contended_total", counters.contended),
        ("turnlock_lock_timeouts_total", counters.timed_out),
        ("turnlock_lock_deaths_total", counters.died),
        ("turnlock_lock_passed_over_total", counters.passed_over),
    ] {
        to.add(name, labels, value as f64);
    }
    if let Some(by_messages) = &lock.by_messages {
        to.add("turnlock_lock_messages_total", labels, by_messages.messages as f64);
    }
}

/// What only conditions, events, barriers and onces have.
fn of_no_lock(to: &mut Samples, labels: &[&str], lock: &LockStatus) {
    if let Some(event) = lock.event {
        to.add("turnlock_event_set", labels, number(event.set));
        to.add("turnlock_event_sets_total", labels, event.times_set as f64);
    }
    if let Some(barrier) = &lock.barrier {
        to.add("turnlock_barrier_parties", labels, barrier.parties.into());
        to.add("turnlock_barrier_arrived", labels, barrier.arrived.into());
        to.add("turnlock_barrier_broken", labels, number(barrier.broken.is_some()));
        to.add("turnlock_barrier_generations_total", labels, barrier.generation as f64);
    }
    if let Some(once) = lock.once {
        to.add("turnlock_once_done", labels, number(once.done));
    }
}

/// Of the latest events: a histogram would claim to count all.
fn of_recording(to: &mut Samples, file: &str, status: &FileStatus, recording: &Recording) {
    to.add("turnlock_recording_entries_total", &[file], recording.recorded as f64);
    to.add("turnlock_recording_unreadable", &[file], recording.unreadable as f64);
    // Before the boot, another clock counted: how long ago that was is not known.
    if status.of_this_boot {
        let first = recording.events.iter().map(|event| event.at).min().unwrap_or(recording.now);
        to.add("turnlock_recording_span_seconds", &[file], seconds(recording.now.saturating_sub(first)));
    }
    let measured = durations::by_lock(&recorded_spans::of(recording));
    // A lock that was removed and created again has a number for each time: the last one is there now.
    let by_name: BTreeMap<&str, &durations::OfLock> = measured
        .iter()
        .filter_map(|(lock, of)| Some((recording.locks[*lock].name.as_deref()?, of)))
        .collect();
    for (lock, durations::OfLock { waits, holds, .. }) in by_name {
        of_durations(to, "turnlock_lock_recent_wait_seconds", [file, lock], waits);
        of_durations(to, "turnlock_lock_recent_hold_seconds", [file, lock], holds);
    }
}

fn of_durations(to: &mut Samples, name: &'static str, [file, lock]: [&str; 2], durations: &Durations) {
    if durations.count() == 0 {
        return;
    }
    for (percentile, part) in [("50", 0.5), ("90", 0.9), ("99", 0.99), ("100", 1.0)] {
        to.add(name, &[file, lock, percentile], seconds(durations.quantile(part)));
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn two_locks_of_one_name_are_one_series() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let file = turnlock::LockFile::options().recorded_events(64).open(&path).unwrap();
        for name in ["a", "b"] {
            drop(file.mutex(name).unwrap().lock().unwrap());
        }
        let mut status = turnlock::inspect::snapshot(&path).unwrap();
        let recording = turnlock::inspect::recording(&path).unwrap();
        let twice = status.locks[0].clone();
        status.locks.push(twice);
        let mut samples = Samples::default();
        of_file(&mut samples, "f", &status, recording.as_ref());
        let text = samples.text();
        let values = text.lines().filter(|line| !line.starts_with('#'));
        let series: Vec<&str> = values.map(|line| line.rsplit_once(' ').unwrap().0).collect();
        assert_eq!(series.len(), series.iter().collect::<BTreeSet<_>>().len(), "{text}");
        assert_eq!(text.matches("turnlock_lock_holders{").count(), 2, "{text}");
    }
}
