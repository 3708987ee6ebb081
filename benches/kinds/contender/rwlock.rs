//! Readers and writers: turnlock's rwlock from Rust, and the process-shared ones of POSIX.

use super::Family;
use crate::{cell::Cell, worker::Lock};
use harness::{
    contender::{patience, pthread_rwlock::PthreadRwLock},
    place::Place,
};
use std::hint::black_box;
use turnlock::{LockFile, RwLock};

pub struct Rust;

impl Family for Rust {
    type Lock = Attached;

    fn attach(&self, place: &Place, _: &Cell, _: usize) -> Attached {
        let file = patience::file(place).unwrap();
        Attached { rwlock: file.rwlock("bench").unwrap(), _file: file }
    }
}

pub struct Attached {
    rwlock: RwLock,
    _file: LockFile,
}

impl Lock for Attached {
    #[inline]
    fn with(&self, writes: bool, section: impl FnOnce()) {
        let rwlock = black_box(&self.rwlock);
        if writes {
            let _held = rwlock.write().unwrap();
            section();
        } else {
            let _held = rwlock.read().unwrap();
            section();
        }
    }
}

pub struct Pthread {
    /// A writer that waits lets no later reader pass.
    pub writers_first: bool,
}

impl Family for Pthread {
    type Lock = PthreadRwLock;

    fn prepare(&self, place: &Place, _: &Cell) {
        PthreadRwLock::prepare(place, self.writers_first);
    }

    fn attach(&self, place: &Place, _: &Cell, _: usize) -> PthreadRwLock {
        PthreadRwLock::attach(place)
    }
}

impl Lock for PthreadRwLock {
    #[inline]
    fn with(&self, writes: bool, section: impl FnOnce()) {
        PthreadRwLock::with(self, writes, section);
    }
}
