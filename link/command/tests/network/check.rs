//! Whether what all programs wrote down can be, if the lock is one: no two inside at once but such as read, fencing tokens rise, each is told of a
//! death before it, and the register is one register. Of a semaphore: never more permits than it has.
//!
//! Entries that are not inside at once have one order, that of time, and the register is linearizable if it is read and written in this order;
//! of those that only read any order will do.
//! What a program that was killed began to write may have been written or not: so the register may be one of several numbers, until one
//! is read.

use crate::{
    history::{End, Entry, History, Read, Write},
    program::PERMITS,
};
use std::collections::BTreeMap;

/// What a history that can be shows besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The entries at each host.
    pub entries: BTreeMap<String, usize>,
    /// How often an entry was at another host than the one before.
    pub hand_overs: usize,
    /// How many died inside.
    pub deaths: usize,
    /// How many entries were told of a death.
    pub told: usize,
    /// How many found the register torn.
    pub torn: usize,
    /// How many were inside when their lease ended, and were told so.
    pub ended: usize,
    /// How many only read.
    pub reads: usize,
    /// How many of these, or of those that took permits, did so beside one at another host.
    pub together: usize,
    /// The most permits that were taken at once.
    pub most: u64,
}

impl Seen {
    pub fn all(&self) -> usize {
        self.entries.values().sum()
    }
}

/// Returns what the history shows.
///
/// # Errors
/// The first thing that is wrong, with the entries that show it.
pub fn check(history: &History) -> Result<Seen, String> {
    let mut entries: Vec<&Entry> = history.entries.iter().collect();
    entries.sort_by_key(|entry| entry.begin);
    if entries.iter().any(|entry| entry.permits > 0) {
        return check_permits(&entries);
    }
    let (mut seen, mut register) = (Seen::default(), Possible { values: vec![0], torn: false });
    let (mut before, mut writer): (Option<&Entry>, Option<&Entry>) = (None, None);
    // The one that was inside last, of all and of those that write; the largest token; and until when one of each host was seen to read.
    let (mut longest, mut longest_writer): (Option<&Entry>, Option<&Entry>) = (None, None);
    let mut largest = 0;
    let mut read_until: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in entries {
        let beside = if entry.reads { longest_writer } else { longest };
        if let Some(other) = beside.filter(|other| other.last >= entry.begin) {
            return Err(format!("two are inside at once: {other:?} and {entry:?}"));
        }
        let rises = match writer {
            Some(writer) if entry.reads => entry.token >= writer.token,
            _ => entry.reads || entry.token > largest,
        };
        if !rises {
            return Err(format!("the fencing token did not rise: {before:?}, then {entry:?}"));
        }
        if let Some(writer) = writer.filter(|writer| writer.end == End::Died && !entry.is_told) {
            return Err(format!("not told of a death: {writer:?}, then {entry:?}"));
        }
        seen.hand_overs += usize::from(before.is_some_and(|before| before.host != entry.host));
        register.goes_on(entry).map_err(|wrong| format!("{wrong}: {before:?}, then {entry:?}"))?;
        *seen.entries.entry(entry.host.clone()).or_default() += 1;
        seen.deaths += usize::from(entry.end == End::Died);
        seen.told += usize::from(entry.is_told);
        seen.torn += usize::from(entry.read == Read::Torn);
        seen.ended += usize::from(entry.end == End::LeaseEnded);
        let later = |one: Option<&'_ Entry>| one.is_none_or(|one| one.last <= entry.last);
        if entry.reads {
            seen.reads += 1;
            let others = || read_until.iter().filter(|(host, _)| **host != entry.host);
            seen.together += usize::from(others().any(|(_, until)| *until >= entry.begin));
            let until = read_until.entry(&entry.host).or_default();
            *until = entry.last.max(*until);
        } else {
            writer = Some(entry);
            longest_writer = if later(longest_writer) { Some(entry) } else { longest_writer };
        }
        longest = if later(longest) { Some(entry) } else { longest };
        largest = entry.token.max(largest);
        before = Some(entry);
    }
    Ok(seen)
}

/// Likewise, of entries in the order in which they began, each of which took permits.
fn check_permits(entries: &[&Entry]) -> Result<Seen, String> {
    let mut seen = Seen::default();
    let mut inside: Vec<&Entry> = Vec::new();
    let mut before: Option<&Entry> = None;
    for entry in entries {
        inside.retain(|other| other.last >= entry.begin);
        seen.together += usize::from(inside.iter().any(|other| other.host != entry.host));
        inside.push(entry);
        let taken = inside.iter().map(|one| one.permits).sum();
        if taken > PERMITS {
            return Err(format!("{taken} permits of {PERMITS} are taken at once: {inside:?}"));
        }
        seen.most = seen.most.max(taken);
        *seen.entries.entry(entry.host.clone()).or_default() += 1;
        seen.hand_overs += usize::from(before.is_some_and(|before| before.host != entry.host));
        seen.deaths += usize::from(entry.end == End::Died);
        seen.ended += usize::from(entry.end == End::LeaseEnded);
        before = Some(entry);
    }
    Ok(seen)
}

/// What the register may be.
struct Possible {
    values: Vec<u64>,
    torn: bool,
}

impl Possible {
    fn goes_on(&mut self, entry: &Entry) -> Result<(), String> {
        match entry.read {
            Read::Value(value) if self.values.contains(&value) => {
                *self = Self { values: vec![value], torn: false };
            }
            Read::Value(value) => return Err(format!("{value} was read, and not one of {:?}", self.values)),
            Read::Torn if !self.torn => return Err("the register is torn, and no writer died".into()),
            Read::Torn | Read::None => {}
        }
        match entry.write {
            Write::Done(value) => *self = Self { values: vec![value], torn: false },
            Write::Begun(value) => {
                self.values.push(value);
                self.torn = true;
            }
            Write::None => {}
        }
        Ok(())
    }
}

/// An entry from 10 times `token` on, for 5, that reads the value before its own.
fn entry(token: u64) -> Entry {
    Entry {
        host: if token.is_multiple_of(2) { "a" } else { "b" }.into(),
        program: token % 2,
        token,
        reads: false,
        permits: 0,
        is_told: false,
        begin: 10 * token,
        last: 10 * token + 5,
        read: Read::Value(token - 1),
        write: Write::Done(token),
        end: End::Free,
    }
}

/// Six entries, changed.
fn changed(change: impl FnOnce(&mut [Entry])) -> Result<Seen, String> {
    let mut entries: Vec<_> = (1..=6).map(entry).collect();
    change(&mut entries);
    // The order in which they stand says nothing.
    entries.reverse();
    check(&History { entries, ..History::default() })
}

#[test]
fn histories_that_can_be_are_found_good() {
    let seen = changed(|_| {}).unwrap();
    assert_eq!((seen.all(), seen.hand_overs, seen.deaths), (6, 5, 0));
    // One that dies in a write, which is done or not; is torn, and repaired; and one that dies before it reads.
    let dies = |entries: &mut [Entry]| {
        (entries[2].write, entries[2].end) = (Write::Begun(3), End::Died);
        entries[3].is_told = true;
    };
    assert_eq!(changed(dies).unwrap().deaths, 1);
    let is_not_done = changed(|entries| {
        dies(entries);
        entries[3].read = Read::Value(2);
    });
    assert_eq!(is_not_done.unwrap().told, 1);
    let is_torn = changed(|entries| {
        dies(entries);
        entries[3].read = Read::Torn;
    });
    assert_eq!(is_torn.unwrap().torn, 1);
    let twice = changed(|entries| {
        dies(entries);
        (entries[3].read, entries[3].write, entries[3].end) = (Read::None, Write::None, End::Died);
        (entries[4].is_told, entries[4].read) = (true, Read::Value(2));
    });
    assert_eq!(twice.unwrap().deaths, 2);
    // Whoever is killed while it unlocks may have been inside or not.
    changed(|entries| entries[2].end = End::Unlocking).unwrap();
}

/// The third and the fourth entry read, at once.
fn both_read(entries: &mut [Entry]) {
    for (at, entry) in entries[2..4].iter_mut().enumerate() {
        (entry.reads, entry.token, entry.read, entry.write) =
            (true, 2 + at as u64, Read::Value(2), Write::None);
        entry.last = entries_end(3);
    }
    entries[4].read = Read::Value(2);
}

/// When the entry of this place ends.
fn entries_end(at: u64) -> u64 {
    entry(at + 1).last
}

#[test]
fn readers_are_inside_at_once_and_writers_beside_none() {
    let seen = changed(both_read).unwrap();
    assert_eq!((seen.reads, seen.together), (2, 1));
    // That one dies is told to none.
    changed(|entries| {
        both_read(entries);
        entries[2].end = End::Died;
    })
    .unwrap();
    let wrong = |why: &str, change: fn(&mut [Entry])| {
        is_refused(why, |entries| {
            both_read(entries);
            change(entries);
        });
    };
    wrong("two are inside at once", |entries| (entries[2].reads, entries[2].token) = (false, 3));
    wrong("two are inside at once", |entries| entries[3].reads = false);
    wrong("two are inside at once", |entries| entries[1].last = entries[2].begin);
    // Also past one that was inside for a shorter time.
    wrong("two are inside at once", |entries| entries[2].last = entries[4].begin);
    wrong("the fencing token did not rise", |entries| entries[2].token = 1);
    wrong("the fencing token did not rise", |entries| entries[3].token = 5);
    wrong("not told of a death", |entries| entries[1].end = End::Died);
    wrong("1 was read", |entries| entries[3].read = Read::Value(1));
}

/// Whether the history, changed so, is refused, for this reason.
fn is_refused(why: &str, change: impl FnOnce(&mut [Entry])) {
    let wrong = changed(change).expect_err(why);
    assert!(wrong.starts_with(why), "{wrong}");
}

#[test]
fn two_inside_are_found() {
    is_refused("two are inside at once", |entries| entries[2].last = 40);
    // Not only beside the next one.
    is_refused("two are inside at once", |entries| {
        entries[0].last = 42;
        entries[1].begin = 43;
    });
    is_refused("two are inside at once", |entries| entries[4].begin = entries[3].begin + 1);
}

#[test]
fn tokens_that_do_not_rise_are_found() {
    is_refused("the fencing token did not rise", |entries| entries[3].token = 3);
    is_refused("the fencing token did not rise", |entries| entries[3].token = 1);
    is_refused("the fencing token did not rise", |entries| entries[0].token = 1 << 40);
}

#[test]
fn a_death_that_is_not_told_is_found() {
    is_refused("not told of a death", |entries| entries[3].end = End::Died);
}

#[test]
fn what_is_no_register_is_found() {
    // An update is lost, as when two read the same number.
    is_refused("1 was read, and not one of [2]", |entries| entries[2].read = Read::Value(1));
    is_refused("77 was read", |entries| entries[2].read = Read::Value(77));
    is_refused("the register is torn", |entries| entries[2].read = Read::Torn);
    let dies = |entries: &mut [Entry]| {
        (entries[2].write, entries[2].end) = (Write::Begun(3), End::Died);
        entries[3].is_told = true;
    };
    is_refused("1 was read, and not one of [2, 3]", |entries| {
        dies(entries);
        entries[3].read = Read::Value(1);
    });
    // What was read once, and so was written, is not undone.
    is_refused("2 was read, and not one of [3]", |entries| {
        dies(entries);
        entries[3].write = Write::None;
        entries[4].read = Read::Value(2);
    });
    is_refused("the register is torn", |entries| {
        dies(entries);
        entries[4].read = Read::Torn;
    });
}

/// Three entries that take all permits but one, and one; the last one follows when these have ended.
fn takers() -> [Entry; 4] {
    let taker = |token, permits, begin, last| Entry {
        permits,
        begin,
        last,
        read: Read::None,
        write: Write::None,
        ..entry(token)
    };
    [taker(1, PERMITS - 2, 10, 30), taker(2, 1, 15, 20), taker(3, 1, 16, 30), taker(4, 2, 31, 40)]
}

#[test]
fn more_permits_than_there_are_are_found() {
    let of = |change: fn(&mut [Entry])| {
        let mut entries = takers();
        change(&mut entries);
        entries.reverse();
        check(&History { entries: entries.into(), ..History::default() })
    };
    let seen = of(|_| {}).unwrap();
    assert_eq!((seen.all(), seen.most, seen.together, seen.hand_overs), (4, PERMITS, 2, 3));
    // One that dies had its permits for as long as it is known to.
    assert_eq!(of(|entries| entries[0].end = End::Died).unwrap().deaths, 1);
    let wrong: [fn(&mut [Entry]); 3] = [
        |entries| entries[1].permits = 2,
        |entries| entries[3].begin = entries[2].last,
        |entries| (entries[0].end, entries[0].last, entries[3].permits) = (End::Died, 31, 3),
    ];
    for change in wrong {
        let wrong = of(change).unwrap_err();
        assert!(wrong.contains("are taken at once"), "{wrong}");
    }
}
