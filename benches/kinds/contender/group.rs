//! Groups: turnlock's group lock from Rust. Its nearest peers are those of readers and writers.

use super::Family;
use crate::{cell::Cell, worker::Lock};
use harness::{contender::patience, place::Place};
use std::hint::black_box;
use turnlock::{GroupLock, LockFile};

pub struct Rust;

impl Family for Rust {
    type Lock = Attached;

    fn attach(&self, place: &Place, cell: &Cell, worker: usize) -> Attached {
        let file = patience::file(place).unwrap();
        Attached { lock: file.group_lock("bench").unwrap(), group: cell.group(worker), _file: file }
    }
}

pub struct Attached {
    lock: GroupLock,
    group: u64,
    _file: LockFile,
}

impl Lock for Attached {
    #[inline]
    fn with(&self, _: bool, section: impl FnOnce()) {
        let _inside = black_box(&self.lock).lock(self.group).unwrap();
        section();
    }
}
