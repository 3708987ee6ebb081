//! What threads have in common with themselves: one slot in each file.

use crate::{
    stage::Stage,
    way::{Held, Party, Wait, Way},
};
use std::time::Duration;
use support::elsewhere;
use turnlock::status::*;

pub fn two_handles_of_one_file_share_the_threads_slot<W: Way>() {
    let stage = Stage::<W>::new();
    let folder = stage.place.folder();
    std::os::unix::fs::symlink(folder, stage.place.at("itself")).unwrap();
    std::fs::hard_link(stage.path(), stage.place.at("other.lock")).unwrap();
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    for path in [
        stage.path(),
        folder.join("itself/test.lock"),
        folder.join("itself/../").join(folder.file_name().unwrap()).join("test.lock"),
        stage.place.at("other.lock"),
    ] {
        let same_file = W::open(&path, 0, 0).unwrap();
        let same_lock = same_file.party("a").unwrap();
        assert_eq!(same_lock.lock(Wait::Forever).err(), Some(TURNLOCK_ERROR_DEADLOCK), "{}", path.display());
    }
    assert_eq!(turnlock::inspect::snapshot(stage.path()).unwrap().participants.len(), 1);
    held.unlock().unwrap();
}

pub fn locks_of_one_name_in_two_files_are_two_locks<W: Way>() {
    let (here, there) = (Stage::<W>::new(), Stage::<W>::new());
    let (party_here, party_there) = (here.party("a"), there.party("a"));
    let held_here = party_here.lock(Wait::Never).unwrap();
    let held_there = party_there.lock(Wait::Never).unwrap();
    held_here.unlock().unwrap();
    here.another_thread_can_take("a");
    assert_eq!(there.another_thread_is_told("a", Wait::Never), Some(TURNLOCK_ERROR_WOULD_BLOCK));
    held_there.unlock().unwrap();
}

/// More open files than a thread has fast-path caches, so that some of them share one.
const FILES: usize = 20;

pub fn more_files_in_turn_than_a_thread_has_caches<W: Way>() {
    let stages: Vec<Stage<W>> = (0..FILES).map(|_| Stage::new()).collect();
    let parties: Vec<W::Party> = stages.iter().map(|stage| stage.party("a")).collect();
    let mut last = [0; FILES];
    for round in 0..64 {
        // All at once, so that those that share a cache are unlocked in an order of every kind; and one after the
        // other.
        let mut held = Vec::new();
        for (party, last) in parties.iter().zip(&mut last) {
            for wait in [Wait::Never, Wait::Forever, Wait::For(Duration::from_secs(10))] {
                let mut taken = Some(party.lock(wait).unwrap());
                let token = taken.as_ref().map_or(0, Held::fencing_token);
                assert!(token > *last, "{token} after {last}");
                *last = token;
                if round % 4 == 0 && matches!(wait, Wait::For(_)) {
                    held.extend(taken.take());
                }
                taken.map_or(Ok(()), Held::unlock).unwrap();
            }
        }
        for party in parties.iter().filter(|_| round % 4 == 0) {
            assert_eq!(party.lock(Wait::Never).err(), Some(TURNLOCK_ERROR_DEADLOCK));
        }
        if round % 8 == 0 {
            held.reverse();
        }
        held.into_iter().for_each(|held| held.unlock().unwrap());
    }
    for stage in &stages {
        stage.another_thread_can_take("a");
    }
}

pub fn a_file_that_is_opened_where_a_closed_one_was<W: Way>() {
    let stays = Stage::<W>::new();
    let stay = stays.party("a");
    let place = support::Place::new();
    for round in 0..100 {
        let path = place.at(&format!("{}.lock", round % 3));
        let way = W::open(&path, 4, 2).unwrap();
        let party = way.party("a").unwrap();
        for _ in 0..4 {
            party.lock(Wait::Never).unwrap().unlock().unwrap();
            stay.lock(Wait::Never).unwrap().unlock().unwrap();
        }
        drop(party);
        if round % 2 == 0 {
            drop(way);
        } else {
            // By another thread: this one keeps its slot until it attaches elsewhere, or ends.
            elsewhere(move || drop(way));
        }
    }
    stays.another_thread_can_take("a");
}
