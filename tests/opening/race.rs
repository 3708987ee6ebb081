//! Many processes create the same file at the same instant.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt, path::Path};
use support::{
    NoHang, Place,
    actor::Actor,
    shared::{Barrier, Plain, Shareable, Shared},
};
use turnlock::LockFile;

const PROCESSES: usize = 16;
const ROUNDS: usize = 1000;

/// What one process saw in one round.
#[repr(C)]
struct Seen {
    inode: Plain,
    incarnation: Plain,
    fencing_token: Plain,
}

#[repr(C)]
struct Race {
    together: Barrier,
    counters: [Plain; ROUNDS],
    seen: [[Seen; PROCESSES]; ROUNDS],
}

// SAFETY: plain words.
unsafe impl Shareable for Seen {}
// SAFETY: as its parts.
unsafe impl Shareable for Race {}

/// Words: the folder, the file of the race, which of the processes.
pub fn opens_at_once(words: &[String]) {
    let race = Shared::<Race>::open(Path::new(&words[1]));
    let me: usize = words[2].parse().unwrap();
    for (round, counter) in race.counters.iter().enumerate() {
        let path = Path::new(&words[0]).join(format!("{round}.lock"));
        race.together.wait(PROCESSES as u32);
        let file = LockFile::options().participants(20).locks(1).open(&path).unwrap();
        let mutex = file.mutex("the same").unwrap();
        let guard = mutex.lock().unwrap();
        counter.set(counter.get() + 1);
        let seen = &race.seen[round][me];
        seen.fencing_token.set(guard.fencing_token());
        seen.inode.set(fs::metadata(&path).unwrap().ino());
        seen.incarnation.set(support::format::peek_u64(&path, support::format::INCARNATION));
        guard.unlock().unwrap();
    }
}

#[test]
fn sixteen_processes_that_create_it_at_the_same_instant_get_the_same_file_1000_times() {
    let _no_hang = NoHang::for_seconds(120);
    let place = Place::new();
    let (folder, race_file) = (place.at("locks"), place.at("race"));
    fs::create_dir(&folder).unwrap();
    let racers: Vec<_> = (0..PROCESSES)
        .map(|me| {
            let words = [folder.to_str().unwrap(), race_file.to_str().unwrap(), &me.to_string()];
            Actor::start("opens_at_once", &words)
        })
        .collect();
    for racer in racers {
        racer.end_well();
    }
    let race = Shared::<Race>::open(&race_file);
    let mut incarnations = BTreeSet::new();
    for (round, (counter, seen)) in race.counters.iter().zip(&race.seen).enumerate() {
        assert_eq!(counter.get(), PROCESSES as u64, "round {round}: the counter under the lock");
        let all = |word: fn(&Seen) -> &Plain| BTreeSet::from_iter(seen.iter().map(|seen| word(seen).get()));
        assert_eq!(all(|seen| &seen.inode).len(), 1, "round {round}: one file");
        assert_eq!(all(|seen| &seen.incarnation).len(), 1, "round {round}: one incarnation");
        incarnations.extend(all(|seen| &seen.incarnation));
        // One line of tokens, without a gap: each was in the same line.
        let tokens = all(|seen| &seen.fencing_token);
        assert_eq!(tokens.len(), PROCESSES, "round {round}: no token twice");
        assert_eq!(tokens.last().unwrap() - tokens.first().unwrap(), PROCESSES as u64 - 1, "round {round}");
    }
    assert_eq!(incarnations.len(), ROUNDS, "no two files have the same");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), ROUNDS, "nothing else is left in the folder");
}
