//! What a contender is: a lock as a worker uses it, how it is made and attached to, and its name.

pub mod file_lock;
pub mod library;
mod nothing;
pub mod patience;
pub mod pthread;
pub mod pthread_rwlock;
pub mod semaphore;
pub mod ticket;
pub mod turnlock_rust;

pub use crate::lock::Lock;
use crate::{place::Place, scenario::Cell, worker::Task};
use std::any::Any;

/// One kind of lock: how a place is made ready for it, and how a process attaches to it there.
pub trait Family: Sync {
    type Lock: Lock;

    /// Makes the lock, before any worker is there.
    fn prepare(&self, _: &Place) {}

    /// In a worker: a process, or a thread of one.
    fn attach(&self, place: &Place, worker: usize) -> Self::Lock;

    /// In a process of their own: so many participants that do nothing. Most locks know no participants.
    fn idle(&self, _: &Place, _participants: usize) -> Option<Box<dyn Any>> {
        None
    }

    /// Removes what `prepare` left in the kernel.
    fn clear(&self, _: &Place) {}
}

/// A [`Family`] whose lock's type is hidden. The dispatch comes before a worker's loop, not in it.
pub trait Kind: Sync {
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
    /// Why not, if it cannot run here: a few words for the tables (no contender is left out of them), and after a colon
    /// the rest.
    pub kind: Result<Box<dyn Kind>, String>,
}

impl Contender {
    /// Whether one of these is a part of its name, whatever their case.
    pub fn is_named(&self, parts: &[String]) -> bool {
        let name = self.name.to_lowercase();
        parts.iter().any(|part| name.contains(&part.to_lowercase()))
    }

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

pub fn boxed<F: Family + 'static>(family: F) -> Box<dyn Kind> {
    Box::new(family)
}

/// A contender that does not exclude: what the check of exclusion must catch.
pub fn nothing() -> Box<dyn Kind> {
    boxed(nothing::Family)
}
