//! The contenders: turnlock's mutex, and the peers beside it.

use harness::{
    contender::{Contender, Group, Kind, boxed, file_lock, pthread, ticket, turnlock_rust},
    number::time,
};
use std::time::Duration;

/// What everything is a ratio to.
pub const ROBUST: &str = "pthread robust";

/// One that takes part.
pub struct Entrant {
    pub contender: Contender,
    /// Of turnlock.
    pub patience: Option<Duration>,
}

/// All contenders, in the order of the tables; turnlock also with each of these patiences.
pub fn all(patiences: &[Duration]) -> Vec<Entrant> {
    let pthread = |variant| boxed(pthread::Family(variant));
    let mut all = vec![
        turnlock("turnlock", "a mutex with default options", None),
        turnlock("turnlock, patience 0", "strictly first come first served", Some(Duration::ZERO)),
    ];
    for patience in patiences {
        let name = format!("turnlock, patience {}", time(patience.as_nanos() as f64));
        // As long as the bench runs.
        all.push(turnlock(name.leak(), "others may pass for that long", Some(*patience)));
    }
    all.extend([
        peer(ROBUST, "the reference", pthread(pthread::Variant::Robust)),
        peer("pthread normal", "process-shared mutex", pthread(pthread::Variant::Normal)),
        peer("pthread PI", "priority inheritance", pthread(pthread::Variant::PriorityInheritance)),
        peer(
            "ticket spin lock",
            "first come first served; spins, then yields its core",
            boxed(ticket::Family),
        ),
        peer("flock", "a system call each", boxed(file_lock::Flock)),
    ]);
    all
}

fn turnlock(name: &'static str, about: &'static str, patience: Option<Duration>) -> Entrant {
    let kind = boxed(turnlock_rust::Family::new(patience));
    Entrant {
        contender: Contender { name, about, group: Group::Turnlock, kind: Ok(kind) },
        patience: Some(patience.unwrap_or(turnlock::DEFAULT_PATIENCE)),
    }
}

fn peer(name: &'static str, about: &'static str, kind: Box<dyn Kind>) -> Entrant {
    Entrant { contender: Contender { name, about, group: Group::Peer, kind: Ok(kind) }, patience: None }
}
