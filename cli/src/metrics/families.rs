//! Which metrics there are, and how they are written: Prometheus' text format, version 0.0.4.

use std::{collections::BTreeMap, fmt::Write};

/// What can happen to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// It goes up and down.
    Gauge,
    /// It goes up, until its lock is removed.
    Counter,
}

impl Type {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
        }
    }
}

/// A metric.
pub struct Family {
    /// What it is called. It stays so.
    pub name: &'static str,
    /// What can happen to it.
    pub kind: Type,
    /// What it says.
    pub help: &'static str,
    /// Its labels.
    pub labels: &'static [&'static str],
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Family {
    Family { name, kind: Type::Gauge, help, labels }
}

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Family {
    Family { name, kind: Type::Counter, help, labels }
}

const FILE: &[&str] = &["file"];
const LOCK: &[&str] = &["file", "lock"];
const PART: &[&str] = &["file", "lock", "percentile"];

/// All of them, in the order in which they are printed. docs/metrics.md has the same, which a test compares.
pub const FAMILIES: [Family; 39] = [
    gauge(
        "turnlock_file_readable",
        FILE,
        "1: the lock file was read; 0: it is not there, or cannot be read, and nothing else is said of it",
    ),
    gauge(
        "turnlock_file_info",
        &["file", "format", "fences"],
        "Always 1: the format version of the file, and how biases are revoked in it (membarrier or full)",
    ),
    gauge(
        "turnlock_file_of_this_boot",
        FILE,
        "0: no process has opened the file since the machine was started, and what it says is from before",
    ),
    gauge(
        "turnlock_file_created_timestamp_seconds",
        FILE,
        "When the file was created, in seconds since 1970",
    ),
    gauge(
        "turnlock_participant_capacity",
        FILE,
        "Room for so many participants (threads and processes) at once",
    ),
    gauge("turnlock_lock_capacity", FILE, "Room for so many named locks"),
    gauge(
        "turnlock_participants",
        &["file", "life"],
        "How many take part that are alive, stopped (SIGSTOP, a debugger), dead and not yet removed, or of whom that is unknown",
    ),
    gauge(
        "turnlock_participants_cannot_probe",
        FILE,
        "How many wait and cannot see whether those that they wait for are alive",
    ),
    gauge("turnlock_locks", FILE, "How many named locks the file has"),
    gauge(
        "turnlock_lock_info",
        &["file", "lock", "kind", "algorithm", "death_policy"],
        "Always 1: what the lock is",
    ),
    gauge(
        "turnlock_lock_holders",
        LOCK,
        "How many hold the lock, the dead included that were not removed yet",
    ),
    gauge(
        "turnlock_lock_waiters",
        &["file", "lock", "state"],
        "How many wait for the lock: queued for good, backed off, which still let others pass, or of a condition notified, and without their lock yet",
    ),
    gauge(
        "turnlock_lock_longest_wait_seconds",
        LOCK,
        "For how long the one has waited that has waited longest and is alive; 0: no waiter",
    ),
    gauge(
        "turnlock_lock_longest_hold_seconds",
        LOCK,
        "For how long the one has held the lock that has held it longest and is alive, as far as that was written down; 0: no holder",
    ),
    gauge(
        "turnlock_lock_inconsistent",
        LOCK,
        "1: a holder died, and what it left is not marked consistent yet",
    ),
    gauge(
        "turnlock_lock_not_recoverable",
        LOCK,
        "1: a holder died, the next one did not repair its data, and the lock is closed until a reset",
    ),
    gauge(
        "turnlock_lock_patience_seconds",
        LOCK,
        "For how long a waiter lets others pass; 0 is strictly first come first served",
    ),
    gauge("turnlock_lock_permits", LOCK, "Of a semaphore: how many permits it has, taken or not"),
    gauge("turnlock_lock_permits_taken", LOCK, "Of a semaphore: how many permits are taken"),
    gauge("turnlock_lock_ring_idle_members", LOCK, "Of a ring: how many members do not wait"),
    counter(
        "turnlock_lock_acquisitions_total",
        LOCK,
        "How often the lock was acquired since it was created, by fencing tokens: readers of a rwlock take none",
    ),
    counter(
        "turnlock_lock_contended_total",
        LOCK,
        "How many acquisitions had to wait, for longer than a waiter spins, and how many tries failed for that",
    ),
    counter("turnlock_lock_timeouts_total", LOCK, "How many gave up when their time was over"),
    counter("turnlock_lock_deaths_total", LOCK, "How many participants died holding the lock"),
    counter(
        "turnlock_lock_passed_over_total",
        LOCK,
        "How often a waiter passed over another one that did not come when its turn came",
    ),
    counter("turnlock_lock_messages_total", LOCK, "Of a mutex by messages: how many messages were sent"),
    gauge("turnlock_event_set", LOCK, "Of an event: 1: it is set"),
    counter(
        "turnlock_event_sets_total",
        LOCK,
        "Of an event: how often it was set, since it was created or the machine was started",
    ),
    gauge("turnlock_barrier_parties", LOCK, "Of a barrier: how many must come"),
    gauge("turnlock_barrier_arrived", LOCK, "Of a barrier: how many have come, and wait for the others"),
    gauge(
        "turnlock_barrier_broken",
        LOCK,
        "Of a barrier: 1: a party died or gave up, and each that waits gets an error until a reset",
    ),
    counter(
        "turnlock_barrier_generations_total",
        LOCK,
        "Of a barrier: how often all had come, or it was reset, since it was created or the machine was started",
    ),
    gauge("turnlock_once_done", LOCK, "Of a once: 1: it is done"),
    gauge(
        "turnlock_recording_capacity",
        FILE,
        "How many of the latest events the file keeps; 0: it keeps no recording",
    ),
    counter(
        "turnlock_recording_entries_total",
        FILE,
        "How many events, and names of participants, were recorded since the machine was started (with --recent)",
    ),
    gauge(
        "turnlock_recording_unreadable",
        FILE,
        "How many of the entries that should be there cannot be read (with --recent)",
    ),
    gauge(
        "turnlock_recording_span_seconds",
        FILE,
        "How long ago the first event was that is still there (with --recent)",
    ),
    gauge(
        "turnlock_lock_recent_wait_seconds",
        PART,
        "How long those waited that acquired the lock, of the events that the file still has: a percentile of them, 100 is the longest (with --recent)",
    ),
    gauge(
        "turnlock_lock_recent_hold_seconds",
        PART,
        "How long the lock was held each time, likewise (with --recent)",
    ),
];

/// Values of metrics.
#[derive(Default)]
pub struct Samples(BTreeMap<&'static str, Vec<String>>);

impl Samples {
    /// One value, with what its labels are in the order of the family's.
    pub fn add(&mut self, name: &'static str, labels: &[&str], value: f64) {
        let family = FAMILIES.iter().find(|family| family.name == name);
        let names = family.map_or(&[][..], |family| family.labels);
        debug_assert_eq!(names.len(), labels.len(), "{name}");
        let pairs: Vec<String> =
            names.iter().zip(labels).map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        self.0.entry(name).or_default().push(format!("{name}{{{}}} {value}\n", pairs.join(",")));
    }

    /// Returns all that were added, each metric after what it means.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for Family { name, kind, help, .. } in &FAMILIES {
            let Some(samples) = self.0.get(name) else { continue };
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", kind.name());
            samples.iter().for_each(|sample| text += sample);
        }
        text
    }
}

/// Returns a label's value, as the format wants it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn labels_are_escaped_and_a_metric_stands_together() {
        let mut samples = Samples::default();
        samples.add("turnlock_locks", &["/a"], 1.0);
        samples.add("turnlock_lock_holders", &["/a", "it's \"\\\"\n"], 2.0);
        samples.add("turnlock_locks", &["/b"], 3.5);
        let text = samples.text();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("# HELP")).collect();
        assert_eq!(
            lines,
            [
                "# TYPE turnlock_locks gauge",
                "turnlock_locks{file=\"/a\"} 1",
                "turnlock_locks{file=\"/b\"} 3.5",
                "# TYPE turnlock_lock_holders gauge",
                r#"turnlock_lock_holders{file="/a",lock="it's \"\\\"\n"} 2"#,
            ]
        );
    }

    #[test]
    fn names_are_as_prometheus_wants_them_and_helps_need_no_escapes() {
        let names: BTreeSet<&str> = FAMILIES.iter().map(|family| family.name).collect();
        assert_eq!(names.len(), FAMILIES.len());
        for Family { name, kind, help, .. } in &FAMILIES {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert_eq!(name.ends_with("_total"), *kind == Type::Counter, "{name}");
            assert!(!help.contains(['\\', '\n']) && !help.is_empty(), "{name}");
        }
    }

    /// Each row of the document: name, type, labels, meaning.
    #[test]
    fn the_document_has_the_same_metrics() {
        let document = include_str!("../../../docs/metrics.md");
        let rows: Vec<String> =
            document.lines().filter(|line| line.starts_with("| `turnlock_")).map(str::to_owned).collect();
        let expected: Vec<String> = FAMILIES
            .iter()
            .map(|Family { name, kind, help, labels }| {
                let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
                format!("| `{name}` | {} | {} | {help} |", kind.name(), labels.join(", "))
            })
            .collect();
        for row in &expected {
            assert!(rows.contains(row), "docs/metrics.md lacks: {row}");
        }
        assert_eq!(rows, expected);
    }
}
