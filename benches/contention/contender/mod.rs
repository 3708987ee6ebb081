//! Who takes part: turnlock in its forms, its peers, and the physical limit.

mod boost;
mod file_lock;
mod library;
mod nothing;
mod patience;
mod ping_pong;
mod pthread;
mod semaphore;
mod ticket;
mod turnlock_c;
mod turnlock_rust;

use crate::{place::Place, scenario::Cell, worker::Task};
use std::{any::Any, time::Duration};

/// A lock, as a worker process that is attached to it uses it.
pub trait Lock {
    /// What a holder keeps until it unlocks.
    type Held<'a>
    where
        Self: 'a;

    fn lock(&self) -> Self::Held<'_>;

    fn unlock<'a>(&'a self, held: Self::Held<'a>);

    /// This worker will not come again.
    fn leave(&self) {}
}

/// One kind of lock: how a place is made ready for it, and how a process attaches to it there.
trait Family {
    type Lock: Lock;

    /// Makes the lock, before any worker is there.
    fn prepare(&self, _: &Place) {}

    /// In a worker process.
    fn attach(&self, place: &Place, worker: usize) -> Self::Lock;

    /// In a process of their own: so many participants that do nothing. Most locks know no participants.
    fn idle(&self, _: &Place, _participants: usize) -> Option<Box<dyn Any>> {
        None
    }

    /// Removes what `prepare` left in the kernel.
    fn clear(&self, _: &Place) {}
}

/// A [`Family`] whose lock's type is hidden. The dispatch comes before a worker's loop, not in it.
pub trait Kind {
    fn prepare(&self, place: &Place);
    fn work(&self, place: &Place, task: &Task);
    fn idle(&self, place: &Place, participants: usize) -> Option<Box<dyn Any>>;
    fn clear(&self, place: &Place);
}

impl<F: Family> Kind for F {
    fn prepare(&self, place: &Place) {
        Family::prepare(self, place);
    }

    fn work(&self, place: &Place, task: &Task) {
        let lock = self.attach(place, task.worker);
        task.run(&lock);
    }

    fn idle(&self, place: &Place, participants: usize) -> Option<Box<dyn Any>> {
        Family::idle(self, place, participants)
    }

    fn clear(&self, place: &Place) {
        Family::clear(self, place);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Turnlock,
    Peer,
    /// No lock that passes to another at each entry can be faster.
    Limit,
}

pub struct Contender {
    pub name: &'static str,
    pub about: &'static str,
    pub group: Group,
    /// Why not, if it cannot run here: a few words for the tables (nobody is left out of them), and after a colon the
    /// rest.
    pub kind: Result<Box<dyn Kind>, String>,
}

impl Contender {
    /// Why it has no number in this cell.
    pub fn absent(&self, cell: &Cell) -> Option<String> {
        // A limit on passing something on, which says nothing where other things take the time.
        let hands_over = cell.processes == 2 && (cell.scenario.inside, cell.scenario.outside) <= (1_000, 0);
        match &self.kind {
            Err(why) => Some(why.clone()),
            Ok(_) if self.group == Group::Limit && !hands_over => Some("not for this".into()),
            Ok(_) => None,
        }
    }
}

// The names that bars speak of.
pub const RUST: &str = "turnlock Rust";
pub const C_ABI: &str = "turnlock C ABI";
pub const STRICT: &str = "turnlock Rust, patience 0";
pub const ROBUST: &str = "pthread robust";
pub const PI: &str = "pthread PI";
pub const TICKET: &str = "ticket spin lock";
pub const PING_PONG: &str = "cache-line ping-pong";

/// Everybody, in the order of the tables.
pub fn all() -> Vec<Contender> {
    let patient = |patience| Ok(boxed(turnlock_rust::Family::new(Some(patience))));
    let pthread = |variant| Ok(boxed(pthread::Family(variant)));
    vec![
        turnlock(RUST, "the Rust API, default options", Ok(boxed(turnlock_rust::Family::new(None)))),
        turnlock(C_ABI, "libturnlock.so, loaded at run time", turnlock_c::Family::new().map(boxed)),
        turnlock(STRICT, "strictly first come first served", patient(Duration::ZERO)),
        turnlock(
            "turnlock Rust, patience 200 us",
            "others may pass for 200 microseconds",
            patient(Duration::from_micros(200)),
        ),
        peer("pthread normal", "process-shared mutex", pthread(pthread::Variant::Normal)),
        peer("pthread adaptive", "spins before it sleeps", pthread(pthread::Variant::Adaptive)),
        peer(ROBUST, "survives its owner's death, as turnlock does", pthread(pthread::Variant::Robust)),
        peer(PI, "priority inheritance", pthread(pthread::Variant::PriorityInheritance)),
        peer("POSIX semaphore", "sem_wait, sem_post", Ok(boxed(semaphore::Posix))),
        peer("SysV semaphore", "semop, without SEM_UNDO", Ok(boxed(semaphore::SysV))),
        peer("flock", "a system call each", Ok(boxed(file_lock::Flock))),
        peer("OFD lock", "F_OFD_SETLKW on one byte", Ok(boxed(file_lock::Ofd))),
        peer("Boost.Interprocess", "interprocess_mutex", boost::Family::new().map(boxed)),
        peer(TICKET, "first come first served; spins, then yields its core", Ok(boxed(ticket::Family))),
        Contender {
            name: PING_PONG,
            about: "two processes pass one word to and fro: the physical limit",
            group: Group::Limit,
            kind: Ok(boxed(ping_pong::Family)),
        },
    ]
}

/// Nobody's contender: what the check of exclusion must catch.
pub fn nothing() -> Box<dyn Kind> {
    boxed(nothing::Family)
}

fn turnlock(name: &'static str, about: &'static str, kind: Result<Box<dyn Kind>, String>) -> Contender {
    Contender { name, about, group: Group::Turnlock, kind }
}

fn peer(name: &'static str, about: &'static str, kind: Result<Box<dyn Kind>, String>) -> Contender {
    Contender { name, about, group: Group::Peer, kind }
}

fn boxed<F: Family + 'static>(family: F) -> Box<dyn Kind> {
    Box::new(family)
}
