//! The contenders: the three rings, as members and on demand, and the bakery beside them.

use harness::{
    contender::{Contender, Family, Group, Kind, Lock, boxed, patience, turnlock_rust},
    place::Place,
};
use std::{any::Any, time::Duration};
use turnlock::{LockFile, RingAlgorithm, TurnGuard, TurnRing};

/// One ring, through the Rust API.
struct Ring {
    algorithm: RingAlgorithm,
    member: bool,
}

impl Family for Ring {
    type Lock = Attached;

    fn attach(&self, place: &Place, _: usize) -> Attached {
        let file = patience::file(place).unwrap();
        let ring = file.ring_options().algorithm(self.algorithm).member(self.member).open("bench").unwrap();
        Attached { ring, _file: file }
    }

    fn idle(&self, place: &Place, participants: usize) -> Option<Box<dyn Any>> {
        let file = patience::file(place).unwrap();
        Some(turnlock_rust::idle(&file, participants))
    }
}

struct Attached {
    ring: TurnRing,
    _file: LockFile,
}

impl Lock for Attached {
    type Held<'a> = TurnGuard<'a>;

    #[inline]
    fn lock(&self) -> TurnGuard<'_> {
        self.ring.lock().unwrap()
    }

    #[inline]
    fn unlock<'a>(&'a self, held: TurnGuard<'a>) {
        drop(held);
    }

    /// A member is waited for: no other process would get ready.
    fn rest(&self) {
        self.leave();
    }

    fn leave(&self) {
        self.ring.leave().unwrap();
    }
}

/// All contenders, in the order of the tables.
pub fn all() -> Vec<Contender> {
    use RingAlgorithm::{KState, Raynal, Sum};
    let ring = |name, about, algorithm, member| contender(name, about, boxed(Ring { algorithm, member }));
    let bakery = |name, about, patience| contender(name, about, boxed(turnlock_rust::Family::new(patience)));
    vec![
        ring("K-state, members", "Dijkstra's ring", KState, true),
        ring("Raynal, members", "Raynal's ring modulo n squared", Raynal, true),
        ring("sum, members", "Raynal's sum ring, step 1", Sum { step: 1 }, true),
        ring("K-state, on demand", "a membership for each turn", KState, false),
        ring("Raynal, on demand", "a membership for each turn", Raynal, false),
        ring("sum, on demand", "a membership for each turn", Sum { step: 1 }, false),
        bakery("bakery, patience 0", "strictly first come first served", Some(Duration::ZERO)),
        bakery("bakery", "a mutex with default options: others may pass for a millisecond", None),
    ]
}

fn contender(name: &'static str, about: &'static str, kind: Box<dyn Kind>) -> Contender {
    Contender { name, about, group: Group::Turnlock, kind: Ok(kind) }
}
