//! turnlock through its Rust API.

use super::{Lock, patience};
use crate::place::Place;
use std::{any::Any, time::Duration};
use turnlock::{LockFile, Mutex, MutexGuard, Participant};

pub struct Family {
    patience: Option<Duration>,
}

impl Family {
    /// `None` is the default patience.
    pub fn new(patience: Option<Duration>) -> Self {
        Self { patience }
    }
}

impl super::Family for Family {
    type Lock = Attached;

    fn attach(&self, place: &Place, _: usize) -> Attached {
        let file = patience::file(place).unwrap();
        let mutex = patience::mutex(&file, self.patience).unwrap();
        Attached { mutex, _file: file }
    }

    fn idle(&self, place: &Place, participants: usize) -> Option<Box<dyn Any>> {
        let file = patience::file(place).unwrap();
        Some(idle(&file, participants))
    }
}

/// Participants that hold a slot each and do nothing, until dropped.
pub fn idle(file: &LockFile, participants: usize) -> Box<dyn Any> {
    let open = |_| file.participant().unwrap();
    Box::new((0..participants).map(open).collect::<Vec<Participant>>())
}

pub struct Attached {
    mutex: Mutex,
    _file: LockFile,
}

impl Lock for Attached {
    type Held<'a> = MutexGuard<'a>;

    #[inline]
    fn lock(&self) -> MutexGuard<'_> {
        self.mutex.lock().unwrap()
    }

    #[inline]
    fn unlock<'a>(&'a self, held: MutexGuard<'a>) {
        drop(held);
    }
}
