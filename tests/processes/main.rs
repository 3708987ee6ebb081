//! Real processes: they exclude each other, and whatever happens to one of them (`kill -9` at any moment, fork, exec,
//! the end of a thread) the others go on, and the next holder is told.

mod crowd;
mod death;
mod fork;
mod slots;

use crowd::one_of_many;
use death::ends_holding;
use fork::{
    execs_while_holding, forks_and_is_killed, forks_as_the_bias_owner, forks_while_holding, lends_its_slot,
};
use slots::hoards;
use std::path::Path;
use support::{
    NoHang, Place,
    actor::Actor,
    puppet::puppet,
    shared::{Barrier, Plain, Shareable, Shared},
    torture::tortured,
};
use turnlock::LockFile;

support::watched_for_seconds!(support::watchdog::USUAL);

support::roles! {
    counts, ends_holding, execs_while_holding, forks_and_is_killed, forks_while_holding, forks_as_the_bias_owner, hoards, lends_its_slot, one_of_many, puppet,
    tortured,
}

#[repr(C)]
struct Counting {
    together: Barrier,
    counter: Plain,
}

// SAFETY: as its parts.
unsafe impl Shareable for Counting {}

/// Words: the lock file, the counter's file, how many do it, how often each.
fn counts(words: &[String]) {
    let shared = Shared::<Counting>::open(Path::new(&words[1]));
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    shared.together.wait(words[2].parse().unwrap());
    for _ in 0..words[3].parse().unwrap() {
        let guard = mutex.lock().unwrap();
        shared.counter.count();
        guard.unlock().unwrap();
    }
}

#[test]
fn a_plain_counter_of_many_processes_loses_nothing() {
    let _no_hang = NoHang::for_seconds(60);
    for (processes, each) in [(2, 50_000), (6, 5_000)] {
        let place = Place::new();
        let counter = place.at("counter");
        let words = [
            place.lock_file().to_str().unwrap().to_owned(),
            counter.to_str().unwrap().to_owned(),
            processes.to_string(),
            each.to_string(),
        ];
        let words = words.each_ref().map(String::as_str);
        let all: Vec<_> = (0..processes).map(|_| Actor::start("counts", &words)).collect();
        for actor in all {
            actor.end_well();
        }
        assert_eq!(Shared::<Counting>::open(&counter).counter.get(), processes * each);
    }
}
