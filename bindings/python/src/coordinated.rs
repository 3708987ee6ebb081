//! What participants wait for that is no lock.

use turnlock::{Barrier, Condition, Event, Once};

/// One of the four.
pub enum Coordinated {
    Condition(Condition),
    Event(Event),
    Barrier(Barrier),
    Once(Once),
}
