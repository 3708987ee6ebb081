//! Recordings that somebody made up: whatever the times, slots, locks and events in them, something is made of them, and quickly.

use super::{trace::well_formed, *};
use std::{fs::OpenOptions, os::unix::fs::FileExt};
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
    let hand = OpenOptions::new().write(true).open(&path).unwrap();
    let end = path.metadata().unwrap().len();
    let start = end - 128 - EVENTS * 32;
    for round in 0..12 {
        let mut dice = Dice::of_stream(0x5eed, round);
        for number in 0..EVENTS {
            let words = event(&mut dice);
            let place = start + 128 + number * 32;
            for (at, word) in words.into_iter().chain([check_of(number, words)]).enumerate() {
                hand.write_all_at(&word.to_le_bytes(), place + 8 * at as u64).unwrap();
            }
        }
        hand.write_all_at(&EVENTS.to_le_bytes(), start).unwrap();
        hand.write_all_at(&[0; 8], start + 8).unwrap();
        let seen = inspect::recording(&path).unwrap().unwrap();
        // All but names, and events that nobody knows.
        assert!(seen.unreadable == 0 && seen.events.len() as u64 > EVENTS / 2, "round {round}: {seen:?}");

        let name = path.to_str().unwrap();
        well_formed(&printed(turnlock(&["trace", name])));
        let page = printed(turnlock(&["report", name]));
        assert!(page.ends_with("</html>\n") && !page.contains("NaN"), "round {round}");
        printed(turnlock(&["metrics", "--recent", name]));
    }
}
