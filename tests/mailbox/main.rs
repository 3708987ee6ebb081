//! Locks by messages between real processes: what peers that are slow, stopped or dead mean, what a token does when its holder
//! dies, room for mailboxes, removal, and the threads that answer.

mod left;
mod peers;
mod ring;
mod room;
mod threads;

support::watched_for_seconds!(support::watchdog::USUAL);

use support::{Place, puppet::puppet};
use threads::forks_as_a_member;
use turnlock::{LockFile, Mutex, MutexAlgorithm, inspect::ByMessages};

support::roles! { forks_as_a_member, puppet }

const ALL: [MutexAlgorithm; 4] = [
    MutexAlgorithm::LamportQueue,
    MutexAlgorithm::RicartAgrawala,
    MutexAlgorithm::TokenRing,
    MutexAlgorithm::MessageBakery,
];

/// A lock called "a" in a new file.
fn lock(place: &Place, algorithm: MutexAlgorithm) -> (LockFile, Mutex) {
    let file = LockFile::options().mailboxes(8).open(place.lock_file()).unwrap();
    let mutex = file.mutex_options().algorithm(algorithm).open("a").unwrap();
    (file, mutex)
}

fn seen(mutex: &Mutex) -> ByMessages {
    mutex.status().unwrap().by_messages.unwrap()
}
