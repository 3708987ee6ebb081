//! Circles: which of them are found, who is told, and what it is told.

use super::party::{Language, Party};
use std::path::Path;
use support::{NoHang, Place, until};
use turnlock::{inspect, status::TURNLOCK_ERROR_CIRCULAR_WAIT};

use Language::{C, Python, Rust};

/// One party of a circle: its language, what it takes first, and what it waits for then.
type Step<'a> = (Language, &'a str, &'a str);

fn started(path: &Path, steps: &[Step]) -> Vec<Party> {
    let start = |(at, (language, ..)): (usize, &Step)| Party::start(*language, path, &format!("party{at}"));
    let mut parties: Vec<Party> = steps.iter().enumerate().map(start).collect();
    for (party, (_, first, _)) in parties.iter_mut().zip(steps) {
        party.takes(first);
    }
    parties
}

/// Has each of them wait for what another one has, the last one last. Returns what the last one is told.
fn closed(path: &Path, parties: &mut [Party], steps: &[Step]) -> String {
    let last = parties.len() - 1;
    for (at, (party, (.., second))) in parties.iter_mut().zip(steps).enumerate() {
        party.tell(second);
        if at != last {
            until("it waits", || party.waits(path));
        }
    }
    parties[last].hear()
}

/// A circle of these, in which the last one is told, and the others get through when it has given back what it held.
fn circle(steps: &[Step], says: &[&str]) {
    let (_no_hang, place) = (NoHang::for_seconds(120), Place::new());
    let path = place.lock_file();
    let mut parties = started(&path, steps);
    let told = closed(&path, &mut parties, steps);
    assert!(told.starts_with(&format!("error {TURNLOCK_ERROR_CIRCULAR_WAIT} ")), "{told}");
    for party in &parties {
        let who = format!("(\"{}\", pid {}, thread {})", party.label, party.pid(), party.pid());
        assert_eq!(told.matches(&who).count(), 1, "{who} once in {told}");
    }
    for part in says {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert_eq!(told.matches(" and has waited for ").count(), parties.len(), "{told}");
    // Nothing of it is left in a queue.
    let status = inspect::snapshot(&path).unwrap();
    let last = parties.last().unwrap().pid();
    let queued = status.locks.iter().flat_map(|lock| &lock.queue).map(|waiter| waiter.participant.pid);
    assert!(!queued.clone().any(|pid| pid == last), "it waits no more");
    assert_eq!(queued.count(), parties.len() - 1, "the others go on waiting");
    assert!(inspect::snapshot(&path).unwrap().deadlocks.is_empty(), "it is none any more");
    // The circle from its end: each gets through when the one that it waits for has left.
    let mut free: Vec<usize> = vec![parties.len() - 1];
    let mut through = 0;
    while let Some(one) = free.pop() {
        parties[one].leaves();
        if through + 1 < parties.len() {
            let next = one.checked_sub(1).unwrap();
            assert_eq!(parties[next].hear(), "taken", "{} gets through", parties[next].label);
            free.push(next);
            through += 1;
        }
    }
}

#[test]
fn of_two_processes_at_two_mutexes() {
    circle(
        &[(C, "take mutex a", "take mutex b"), (Python, "take mutex b", "take mutex a")],
        &["holds \"b\", fencing token", "waited for \"a\" for", "holds \"a\", fencing token"],
    );
}

#[test]
fn of_three_processes_in_three_languages_at_three_kinds() {
    circle(
        &[
            (C, "take mutex a", "take exclusive b"),
            (Python, "take shared b", "take range c 150 160"),
            (Rust, "take range c 100 200", "take mutex a"),
        ],
        &[
            "holds 100-199 of \"c\" exclusively",
            "waited for 150-159 of \"c\" exclusively",
            "holds \"b\" shared",
            "waited for \"b\" exclusively",
        ],
    );
}

#[test]
fn of_five_processes_at_four_kinds() {
    circle(
        &[
            (Rust, "take key keys one", "take mutex a"),
            (C, "take mutex a", "take shared b"),
            (Python, "take exclusive b", "take range c 5 6"),
            (Rust, "take range c 0 10", "take key keys two"),
            (C, "take key keys two", "take key keys one"),
        ],
        &[
            "holds the key of hash",
            "of \"keys\" exclusively",
            "holds 0-9 of \"c\"",
            "waited for \"b\" shared",
        ],
    );
}

#[test]
fn of_an_upgrade_and_a_reader() {
    let (_no_hang, place) = (NoHang::for_seconds(120), Place::new());
    let path = place.lock_file();
    let [mut upgrader, mut reader] =
        [(Python, "upgrader"), (C, "reader")].map(|(language, label)| Party::start(language, &path, label));
    upgrader.takes("take mutex b");
    upgrader.takes("take upgradable a");
    reader.takes("take shared a");
    upgrader.tell("upgrade a");
    until("it upgrades", || {
        let status = inspect::snapshot(&path).unwrap();
        let mut holders = status.locks.iter().flat_map(|lock| &lock.holders);
        holders.any(|holder| holder.claim.mode == inspect::ClaimMode::Upgrading) && upgrader.sleeps()
    });
    reader.tell("take mutex b");
    let told = reader.hear();
    assert!(told.starts_with(&format!("error {TURNLOCK_ERROR_CIRCULAR_WAIT} ")), "{told}");
    assert!(
        told.contains("holds \"a\" shared") && told.contains("for \"a\" exclusively, by an upgrade"),
        "{told}"
    );
    reader.leaves();
    assert_eq!(upgrader.hear(), "taken");
    upgrader.leaves();
}

/// The one that upgrades is told, and holds the lock upgradable as before.
#[test]
fn of_an_upgrade_that_closes_it() {
    let (_no_hang, place) = (NoHang::for_seconds(120), Place::new());
    let path = place.lock_file();
    let [mut upgrader, mut reader] =
        [(C, "upgrader"), (Rust, "reader")].map(|(language, label)| Party::start(language, &path, label));
    upgrader.takes("take mutex b");
    upgrader.takes("take upgradable a");
    reader.takes("take shared a");
    reader.tell("take mutex b");
    until("it waits", || reader.waits(&path));
    upgrader.tell("upgrade a");
    let told = upgrader.hear();
    assert!(told.starts_with(&format!("error {TURNLOCK_ERROR_CIRCULAR_WAIT} ")), "{told}");
    assert!(told.contains("(\"upgrader\", pid") && told.contains("(\"reader\", pid"), "{told}");
    let status = inspect::snapshot(&path).unwrap();
    let of_a = status.locks.iter().find(|lock| lock.name == "a").unwrap();
    assert!(
        of_a.holders.iter().any(|holder| holder.claim.mode == inspect::ClaimMode::Upgradable),
        "{of_a:?}"
    );
    upgrader.leaves();
    assert_eq!(reader.hear(), "taken");
    reader.leaves();
}

/// A reader that waits behind a writer, which waits for another reader, which waits for the first one.
#[test]
fn through_the_queue_of_a_rwlock() {
    let (_no_hang, place) = (NoHang::for_seconds(120), Place::new());
    let path = place.lock_file();
    let [mut reader, mut writer, mut behind] = [(C, "reader"), (Python, "writer"), (Rust, "behind")]
        .map(|(language, label)| Party::start(language, &path, label));
    reader.takes("take shared a");
    behind.takes("take mutex b");
    // Its patience is over, so that the others stand behind it.
    let is_queued = |party: &Party| {
        let status = inspect::snapshot(&path).unwrap();
        let mut queued = status.locks.iter().flat_map(|lock| &lock.queue);
        queued.any(|waiter| {
            waiter.participant.pid == party.pid() && waiter.state == inspect::WaiterState::Queued
        })
    };
    writer.tell("take exclusive a");
    until("the writer waits", || is_queued(&writer) && writer.waits(&path));
    reader.tell("take mutex b");
    until("the reader waits", || is_queued(&reader) && reader.waits(&path));
    behind.tell("take shared a");
    let told = behind.hear();
    assert!(told.starts_with(&format!("error {TURNLOCK_ERROR_CIRCULAR_WAIT} ")), "{told}");
    assert!(
        told.contains("is next to have \"a\" exclusively and has waited for \"a\" exclusively"),
        "{told}"
    );
    assert!(told.contains("holds \"b\"") && told.contains("holds \"a\" shared"), "{told}");
    behind.leaves();
    assert_eq!(reader.hear(), "taken");
    reader.leaves();
    assert_eq!(writer.hear(), "taken");
    writer.leaves();
}
