//! Recordings that are made up: whatever the times, slots, locks and events in them, something is made of them,
//! and quickly.

use super::{trace::well_formed, *};
use std::{fs::OpenOptions, os::unix::fs::FileExt, path::Path};
use support::Dice;
use turnlock::inspect;

const EVENTS: u64 = 256;

/// The check of an event of this number with these words, as src/recording.rs makes it. That it is the same, the test sees.
fn check_of(number: u64, words: [u64; 3]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let mut hash = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^= hash >> 33;
        hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ hash >> 33
    };
    words.into_iter().fold(mix(0x7475_726e_6c6f_636b, number), mix) | 1
}

/// Fills the recording of a file, which has room for so many, with these events.
fn write(path: &Path, events: &[[u64; 3]]) {
    let hand = OpenOptions::new().write(true).open(path).unwrap();
    let count = events.len() as u64;
    let start = path.metadata().unwrap().len() - 128 - count * 32;
    let mut bytes = Vec::new();
    for (number, words) in (0..).zip(events) {
        let words = words.iter().copied().chain([check_of(number, *words)]);
        bytes.extend(words.flat_map(u64::to_le_bytes));
    }
    hand.write_all_at(&bytes, start + 128).unwrap();
    hand.write_all_at(&count.to_le_bytes(), start).unwrap();
    hand.write_all_at(&[0; 8], start + 8).unwrap();
}

/// An event that any file may have in it.
fn event(dice: &mut Dice) -> [u64; 3] {
    let mut number = |sides: u64| dice.roll(sides);
    let time = match number(6) {
        0 => 0,
        1 => u64::MAX - number(3),
        2 => number(1000),
        _ => number(u64::MAX),
    };
    // Few slots and locks, so that they meet; and some that no file has.
    let slot = if number(20) == 0 { number(1 << 16) } else { number(4) };
    let region = if number(20) == 0 { number(1 << 16) } else { number(4) };
    // One more than there are, and names of participants.
    let kind = if number(15) == 0 { 255 } else { 1 + number(14) };
    let token = number(u64::MAX);
    [time, token, kind | number(2) << 8 | slot << 16 | number(4) << 32 | region << 48]
}

#[test]
fn whatever_was_recorded_something_is_made_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("a.lock");
    let file =
        LockFile::options().participants(4).locks(4).recorded_events(EVENTS as u32).open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    let _held = mutex.lock().unwrap();
    file.rwlock("b").unwrap();
    for round in 0..12 {
        let mut dice = Dice::of_stream(0x5eed, round);
        let events: Vec<[u64; 3]> = (0..EVENTS).map(|_| event(&mut dice)).collect();
        write(&path, &events);
        let seen = inspect::recording(&path).unwrap().unwrap();
        // All but names, and events of unknown kinds.
        assert!(seen.unreadable == 0 && seen.events.len() as u64 > EVENTS / 2, "round {round}: {seen:?}");

        let name = path.to_str().unwrap();
        well_formed(&printed(turnlock(&["trace", name])));
        let page = printed(turnlock(&["report", name]));
        assert!(page.ends_with("</html>\n") && !page.contains("NaN"), "round {round}");
        printed(turnlock(&["metrics", "--recent", name]));
    }
}

/// A lock for each job, which is removed when the job is done: what is said of each takes no more memory than its events do.
#[test]
fn many_locks_of_few_events_are_reported_in_little_memory() {
    const JOBS: u64 = 1 << 14;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("a.lock");
    drop(LockFile::options().recorded_events(8 * JOBS as u32).open(&path).unwrap());
    use inspect::Event::*;
    let events: Vec<[u64; 3]> = (0..JOBS)
        .flat_map(|job| {
            let of_job = [Created, Asked, Acquired, Released, Asked, Acquired, Released, Removed];
            (0..).zip(of_job).map(move |(at, event)| {
                // A millisecond each, in slot 0, by itself, at the lock in region 1.
                let time = (1 + 8 * job + at) * 1_000_000;
                [time, 1 + 2 * job + at / 4, u64::from(event as u8) | 1 << 48]
            })
        })
        .collect();
    write(&path, &events);
    let seen = inspect::recording(&path).unwrap().unwrap();
    assert_eq!((seen.events.len() as u64, seen.locks.len() as u64), (8 * JOBS, JOBS));
    for command in ["report", "metrics --recent"] {
        let script = format!("ulimit -v 262144; exec \"$0\" {command} \"$1\"");
        let done = limit::output(Command::new("sh").args(["-c", &script, TURNLOCK]).arg(&path)).unwrap();
        let page = printed(done);
        assert!(command != "report" || page.contains("number 1, removed"));
    }
}

/// After a boot the clock begins anew: what was recorded before it may have times that are still to come.
#[test]
fn times_of_another_boot_are_not_compared_with_now() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("a.lock");
    drop(LockFile::options().recorded_events(64).open(&path).unwrap());
    let first = 1 << 60;
    let event = |at: u64| {
        let kind = if at == 63 { inspect::Event::Released } else { inspect::Event::PassedOver };
        [first + at * 1000, 7, u64::from(kind as u8) | 1 << 48]
    };
    write(&path, &(0..64).map(event).collect::<Vec<_>>());
    // docs/format.md: `boot_id`.
    OpenOptions::new().write(true).open(&path).unwrap().write_all_at(&[7; 16], 64).unwrap();
    let trace: serde_json::Value =
        serde_json::from_str(&printed(turnlock(&["trace", path.to_str().unwrap()]))).unwrap();
    let hold = |phase: &str| {
        let events = trace["traceEvents"].as_array().unwrap();
        let one = events.iter().find(|event| event["ph"] == phase && event["cat"] == "hold").unwrap();
        one["ts"].as_f64().unwrap()
    };
    // In microseconds; of a number so large, a double has them to a few.
    let took = hold("E") - hold("B");
    assert!((hold("B") - first as f64 / 1e3).abs() < 1.0 && (took - 63.0).abs() < 1.0, "{took}");
}
