//! What the loom tests share: plans, the searches through them, and ([`world`]) a lock with those who take it.
#![allow(dead_code, reason = "each test uses its part of it")]

pub mod search;
pub mod world;

use std::sync::Arc;
use turnlock::mutants::Mutant;
use world::{Property, Tally};

/// What a participant comes for, and what an execution of everybody's visits is.
pub trait Visits: Clone + Send + Sync + Sized + 'static {
    /// One execution of a plan.
    fn execute(plan: &Arc<Plan<Self>>, tally: &Arc<Tally>);
    /// Does it wait as long as it takes?
    fn waits(&self) -> bool;
}

/// One model.
#[derive(Clone)]
pub struct Plan<V> {
    /// Each participant's visits, one after another. Participant 0 is the model's main thread.
    pub visits: Vec<Vec<V>>,
    /// Which slot participant 0 has; participant 1 has the next one, and so on around.
    pub first_slot: usize,
    /// How many preemptions an execution may have; `None`: any number.
    pub preemptions: Option<usize>,
    /// Participants other than 0 raise the bound on the slots in use, each before its first visit.
    pub newcomers: bool,
    /// Whether what follows a look in vain is explored too (see [`world::World::wait`]).
    pub unpruned: bool,
    /// The property that is checked; `None`: all of them.
    pub only: Option<Property>,
    /// The bug that is planted, for those planted in rooms that loom cannot run.
    pub bug: Option<Mutant>,
}

impl<V: Visits> Plan<V> {
    pub fn new(visits: &[&[V]]) -> Self {
        let visits = visits.iter().map(|visits| visits.to_vec()).collect();
        Plan {
            visits,
            first_slot: 0,
            preemptions: None,
            newcomers: false,
            unpruned: false,
            only: None,
            bug: None,
        }
    }

    pub fn preemptions(self, most: usize) -> Self {
        Plan { preemptions: Some(most), ..self }
    }

    /// The same plan with the slots dealt out in every way around, since the slot breaks ties.
    pub fn in_each_slot(self) -> Vec<Self> {
        (0..self.visits.len()).map(|first_slot| Plan { first_slot, ..self.clone() }).collect()
    }

    /// Which slot a participant has.
    pub fn slot_of(&self, participant: usize) -> usize {
        (self.first_slot + participant) % self.visits.len()
    }
}

/// Everybody takes part, each in its own thread, until all have gone.
pub fn together(participants: usize, take_part: impl Fn(usize) + Send + Sync + 'static) {
    let take_part = Arc::new(take_part);
    let others: Vec<_> = (1..participants)
        .map(|participant| {
            let take_part = Arc::clone(&take_part);
            loom::thread::spawn(move || take_part(participant))
        })
        .collect();
    take_part(0);
    for other in others {
        other.join().unwrap();
    }
}
