//! What every case begins with.

use crate::way::{Party, Wait, Way};
use std::path::PathBuf;
use support::{self, NoHang, Place};

/// A new lock file, opened in one way.
pub struct Stage<W> {
    // Dropped in this order: the file is closed before its folder goes.
    pub way: W,
    pub place: Place,
    _no_hang: NoHang,
}

impl<W: Way> Stage<W> {
    pub fn new() -> Self {
        Self::with_room_for(64, 8)
    }

    pub fn with_room_for(participants: u32, locks: u32) -> Self {
        let place = Place::new();
        let way = W::open(&place.lock_file(), participants, locks).unwrap();
        Self { way, place, _no_hang: NoHang::for_seconds(60) }
    }

    pub fn path(&self) -> PathBuf {
        self.place.lock_file()
    }

    /// The calling thread, or a new participant, at the lock called `name`.
    pub fn party(&self, name: &str) -> W::Party {
        self.way.party(name).unwrap()
    }

    /// The calling thread at the same lock, through the Rust API.
    pub fn by_thread(&self, name: &str) -> <W::ByThreads as Way>::Party {
        W::ByThreads::open(&self.path(), 1, 1).unwrap().party(name).unwrap()
    }

    pub fn until_waiting(&self, name: &str, how_many: usize) {
        support::until_waiting(&self.path(), name, how_many);
    }

    /// Whether so many wait, all of them queued for good.
    pub fn waits(&self, name: &str, how_many: usize) -> bool {
        let queue = support::queue_at(&self.path(), name);
        queue.len() == how_many && queue.iter().all(support::is_queued_for_good)
    }

    pub fn how_many_wait(&self, name: &str) -> usize {
        support::queue_at(&self.path(), name).len()
    }

    /// Another thread takes the lock at once, without an owner-dead notice, and unlocks: its fencing token.
    pub fn another_thread_can_take(&self, name: &str) -> u64 {
        support::elsewhere(|| {
            let party = self.party(name);
            take_and_give_back(&party)
        })
    }

    /// What another thread is told that tries the lock and does not get it.
    pub fn another_thread_is_told(&self, name: &str, wait: Wait) -> Option<i32> {
        support::elsewhere(|| self.party(name).lock(wait).err())
    }
}

/// Takes the lock, which must be free and well, and gives it back: the fencing token.
pub fn take_and_give_back(party: &impl Party) -> u64 {
    use crate::way::Held;
    let held = party.lock(Wait::Never).unwrap();
    assert!(!held.previous_owner_died());
    let token = held.fencing_token();
    held.unlock().unwrap();
    token
}
