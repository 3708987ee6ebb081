//! Slots: who has them, and that they come back.

use std::thread;
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    elsewhere,
    puppet::{Puppet, Said},
};
use turnlock::{
    Error, LockFile,
    inspect::{self, Life},
    status::*,
};

/// Words: the lock file, the label, how many slots.
pub fn hoards(words: &[String]) {
    let file = LockFile::options().label(&words[1]).open(&words[0]).unwrap();
    let how_many: usize = words[2].parse().unwrap();
    let _slots: Vec<_> = (0..how_many).map(|_| file.participant().unwrap()).collect();
    say("full");
    hear();
}

#[test]
fn where_all_128_slots_are_taken_the_error_names_who_has_them() {
    let _no_hang = NoHang::for_seconds(30);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    assert_eq!(file.participants(), 128);
    let hoarders = [("many", "100"), ("few", "28")].map(|(label, slots)| {
        let mut actor = Actor::start("hoards", &[path.to_str().unwrap(), label, slots]);
        actor.expect("full");
        actor
    });
    let error = file.participant().map(drop).unwrap_err();
    assert_eq!(error.code(), TURNLOCK_ERROR_PARTICIPANTS_FULL);
    let told = error.to_string();
    let [many, few] = &hoarders;
    for part in [
        path.to_str().unwrap(),
        "128",
        &format!("many (pid {}, 100), few (pid {}, 28)", many.pid(), few.pid()),
        "end one of them",
    ] {
        assert!(told.contains(part), "{part:?} is not in {told:?}");
    }
    // A death makes room, at once and for all of them.
    let [_many, mut few] = hoarders;
    few.kill();
    let room: Vec<_> = (0..28).map(|_| file.participant().unwrap()).collect();
    assert!(matches!(file.participant(), Err(Error::ParticipantsFull { .. })));
    drop(room);
}

#[test]
fn every_slot_comes_back_when_its_thread_ends() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().participants(4).open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    for _ in 0..1000 {
        elsewhere(|| mutex.lock().unwrap().unlock().unwrap());
    }
    assert_eq!(inspect::snapshot(&path).unwrap().participants.len(), 1, "ours");
    // And while others come and go: there is always room for three beside us.
    thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                for _ in 0..300 {
                    elsewhere(|| mutex.lock().unwrap().unlock().unwrap());
                }
            });
        }
    });
    assert_eq!(inspect::snapshot(&path).unwrap().participants.len(), 1, "ours");
}

#[test]
fn every_slot_comes_back_when_its_process_ends_or_is_killed() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    // Us, one that ends, one that is killed.
    let mutex = LockFile::options().participants(3).open(&path).unwrap().mutex("a").unwrap();
    for _ in 0..40 {
        let mut puppets = [Puppet::at(&path, "a"), Puppet::at(&path, "a")];
        for puppet in &mut puppets {
            assert!(matches!(puppet.ask("lock"), Said::Taken(_, false)));
            assert_eq!(puppet.ask("unlock"), Said::Done);
        }
        let [ends, mut killed] = puppets;
        killed.0.kill();
        ends.0.dismiss();
        mutex.lock().unwrap().unlock().unwrap();
    }
    // The killed one's slot is a dead one's until a newcomer needs it.
    let others = inspect::snapshot(&path).unwrap().participants;
    assert!(
        others.iter().filter(|other| other.pid != std::process::id()).all(|other| other.life == Life::Dead)
    );
    let file = LockFile::open(&path).unwrap();
    let _all = [file.participant().unwrap(), file.participant().unwrap()];
    assert!(matches!(file.participant(), Err(Error::ParticipantsFull { .. })));
}
