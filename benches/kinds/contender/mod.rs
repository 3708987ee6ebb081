//! The contenders: turnlock's locks of each kind, from Rust and through the C ABI, and what else a program could take.

mod c_abi;
mod group;
mod parts;
mod rwlock;
mod semaphore;

use crate::{
    cell::{self, Cell},
    worker::{Lock, Worker},
};
use harness::place::Place;

pub const RUST: &str = "turnlock Rust";
pub const C_ABI: &str = "turnlock C ABI";
pub const PREFERS_READERS: &str = "pthread_rwlock";
pub const PREFERS_WRITERS: &str = "pthread_rwlock, writers first";
pub const POSIX: &str = "POSIX semaphore";
pub const SYSV: &str = "SysV semaphore";
pub const OFD: &str = "OFD byte ranges";
pub const FILES: &str = "flock, a file for each key";

/// One kind of lock: how a place is made ready for it, and how a process attaches to it there.
pub trait Family: Sync {
    type Lock: Lock;

    /// Makes the lock, before any worker is there.
    fn prepare(&self, _: &Place, _: &Cell) {}

    fn attach(&self, place: &Place, cell: &Cell, worker: usize) -> Self::Lock;

    /// Removes what `prepare` left in the kernel.
    fn clear(&self, _: &Place) {}
}

/// A [`Family`] whose lock's type is hidden. The dispatch comes before a worker's loop, not in it.
pub trait Kind: Sync {
    fn prepare(&self, place: &Place, cell: &Cell);
    fn work(&self, place: &Place, worker: &Worker);
    fn clear(&self, place: &Place);
}

impl<F: Family> Kind for F {
    fn prepare(&self, place: &Place, cell: &Cell) {
        Family::prepare(self, place, cell);
    }

    fn work(&self, place: &Place, worker: &Worker) {
        let lock = self.attach(place, &worker.cell, worker.number);
        worker.run(&lock);
    }

    fn clear(&self, place: &Place) {
        Family::clear(self, place);
    }
}

pub struct Contender {
    pub name: &'static str,
    pub about: &'static str,
    pub is_peer: bool,
    /// Why not, if it cannot run here.
    pub kind: Result<Box<dyn Kind>, String>,
}

/// The cells of one kind of lock, and the contenders measured in them.
pub struct Field {
    pub name: &'static str,
    pub cells: Vec<Cell>,
    pub contenders: Vec<Contender>,
}

/// Everything.
pub fn fields() -> Vec<Field> {
    vec![
        Field {
            name: "rwlock",
            cells: cell::rwlock(),
            contenders: vec![
                ours(RUST, "a rwlock with default options", Ok(Box::new(rwlock::Rust))),
                ours(C_ABI, "the same, in the shared library", boxed(c_abi::RwLock::new())),
                peer(
                    PREFERS_READERS,
                    "process-shared, the default kind",
                    rwlock::Pthread { writers_first: false },
                ),
                peer(
                    PREFERS_WRITERS,
                    "PREFER_WRITER_NONRECURSIVE_NP",
                    rwlock::Pthread { writers_first: true },
                ),
            ],
        },
        Field {
            name: "group",
            cells: cell::group(),
            contenders: vec![
                ours(RUST, "a group lock", Ok(Box::new(group::Rust))),
                ours(C_ABI, "the same, in the shared library", boxed(c_abi::GroupLock::new())),
                peer(
                    PREFERS_READERS,
                    "the nearest: the first group reads, a second writes",
                    rwlock::Pthread { writers_first: false },
                ),
                peer(
                    PREFERS_WRITERS,
                    "the same, PREFER_WRITER_NONRECURSIVE_NP",
                    rwlock::Pthread { writers_first: true },
                ),
            ],
        },
        Field {
            name: "semaphore",
            cells: cell::semaphore(),
            contenders: vec![
                ours(RUST, "a semaphore with default options", Ok(Box::new(semaphore::Rust))),
                ours(C_ABI, "the same, in the shared library", boxed(c_abi::Semaphore::new())),
                peer(POSIX, "process-shared sem_wait and sem_post", semaphore::Posix),
                peer(SYSV, "semop, without SEM_UNDO", semaphore::SysV),
            ],
        },
        Field {
            name: "parts",
            cells: cell::parts(),
            contenders: vec![
                ours("turnlock ranges, Rust", "RangeLock::write_all", Ok(Box::new(parts::Ranges))),
                ours("turnlock keys, Rust", "KeyedLock::write_all", Ok(Box::new(parts::Keys))),
                ours("turnlock keys, C ABI", "one after the other", boxed(c_abi::Keys::new())),
                peer(OFD, "F_OFD_SETLKW of one byte each", parts::Ofd),
                peer(FILES, "opened before", parts::Files),
            ],
        },
    ]
}

fn boxed<F: Family + 'static>(family: Result<F, String>) -> Result<Box<dyn Kind>, String> {
    family.map(|family| Box::new(family) as Box<dyn Kind>)
}

fn ours(name: &'static str, about: &'static str, kind: Result<Box<dyn Kind>, String>) -> Contender {
    Contender { name, about, is_peer: false, kind }
}

fn peer(name: &'static str, about: &'static str, family: impl Family + 'static) -> Contender {
    Contender { name, about, is_peer: true, kind: Ok(Box::new(family)) }
}

/// A lock that locks nothing, which the check of exclusion must catch.
pub struct Nothing;

impl Family for Nothing {
    type Lock = Self;

    fn attach(&self, _: &Place, _: &Cell, _: usize) -> Self {
        Self
    }
}

impl Lock for Nothing {
    fn with(&self, _: bool, section: impl FnOnce()) {
        section();
    }
}
