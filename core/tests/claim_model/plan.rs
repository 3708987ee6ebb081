//! What is searched: who comes to the lock, with which claims, what it does there, and where it dies.

use crate::oracle::Property;
use std::time::Duration;
use turnlock_core::acquire::{drain::NO_PERMITS, site::Limit};
use turnlock_core::algorithm::claim::{Claim, Extent, Mode, Relation};

/// What a participant does while it holds the lock, before it unlocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing else.
    Unlock,
    /// It upgrades, waiting as long as that says.
    Upgrade(Limit),
    /// It upgrades, and downgrades to this mode.
    UpgradeAndDowngrade(Mode),
    /// It upgrades, downgrades to an upgradable hold, and upgrades again, if the lock has a token for that.
    UpgradeTwice,
    /// It downgrades to this mode.
    Downgrade(Mode),
    /// It gives permits back, and keeps so many.
    Keep(u32),
    /// Its thread is the agent's, too, in another slot: it makes the share so small, and another host keeps the rest.
    GiveAway {
        /// The share.
        share: u32,
        /// The agent's slot.
        slot: usize,
    },
}

/// One visit to the lock.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    pub claim: Claim,
    pub then: Then,
    /// How long it may wait. With a time limit it looks once, and then its time is up.
    pub limit: Limit,
    /// At which of its steps it dies, counted from 1, if it comes there.
    pub death: Option<usize>,
    /// Whether it biases the lock to its readers, if it may.
    pub biases: bool,
    /// Whether it keeps its place reserved, if it may.
    pub retains: bool,
    /// How often it passes over those before it that could be inside, and are not.
    pub evicts: usize,
    /// Whether several threads use the participant, and which of them unlocks.
    pub threads: Threads,
    /// What it does as the agent of a linked lock; `None`: it is a program.
    pub agent: Option<Deed>,
}

/// What the agent of a linked lock does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It moves the lock away, lets another host write, and brings it home.
    Move,
    /// Likewise, but home to read, and another host reads then.
    ToRead,
    /// It begins a lease, which never ends.
    Lease,
    /// It makes the share of a semaphore 0, begins a lease, which never ends, and makes it as large as before.
    LeaseShare,
    /// It makes the share of a semaphore so small, gives the rest to another host once it is drained, and makes it as large as before.
    Share(u32),
}

/// The threads that use a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One.
    One,
    /// Several: its home thread unlocks.
    Home,
    /// Several: another than its home thread unlocks.
    Another,
}

const fn visit(claim: Claim) -> Visit {
    Visit {
        claim,
        then: Then::Unlock,
        limit: Limit::Forever,
        death: None,
        biases: false,
        retains: false,
        evicts: 0,
        threads: Threads::One,
        agent: None,
    }
}

/// Reads.
pub const READ: Visit = visit(Claim::whole(Mode::Shared));
/// Reads, and biases the lock to its readers.
pub const BIAS: Visit = Visit { biases: true, ..READ };
/// Writes.
pub const WRITE: Visit = visit(Claim::whole(Mode::Exclusive));
/// Reads, and could write.
pub const HOLD: Visit = visit(Claim::whole(Mode::Upgradable));
/// Reads, and then writes.
pub const UPGRADE: Visit = Visit { then: Then::Upgrade(Limit::Forever), ..HOLD };

/// Writes, and keeps its place reserved.
pub const KEEP: Visit = WRITE.retains();

/// Moves a linked lock away, lets another host write, and brings it home.
pub const MOVE: Visit = Visit { agent: Some(Deed::Move), ..WRITE };
/// Moves it away, lets another host write, and brings it home to read; then another host reads.
pub const TO_READ: Visit = Visit { agent: Some(Deed::ToRead), ..WRITE };
/// Begins a lease of a linked lock.
pub const LEASE: Visit = Visit { agent: Some(Deed::Lease), ..WRITE };

/// Begins a lease of a linked semaphore.
pub const LEASE_SHARE: Visit = Visit { agent: Some(Deed::LeaseShare), ..visit(NO_PERMITS) };

/// Makes the share of a linked semaphore so small, and as large as before.
pub const fn share(permits: u32) -> Visit {
    Visit { agent: Some(Deed::Share(permits)), ..visit(NO_PERMITS) }
}

/// A step of a writer, or of a member of a group, that finds no other participant, at which it is inside.
pub const INSIDE: usize = 9;

/// Takes so many permits.
pub const fn permits(weight: u32) -> Visit {
    visit(Claim { mode: Mode::Shared, weight, extent: Extent::WHOLE })
}

/// Takes the range from the first to the last.
pub const fn range(first: u64, last: u64, mode: Mode) -> Visit {
    visit(Claim { mode, weight: 1, extent: Extent { first, last } })
}

/// Is inside as a member of the group.
pub const fn member(group: u64) -> Visit {
    visit(Claim::of_group(group))
}

impl Visit {
    /// The same visit, which looks once, and then its time is up.
    pub const fn timed(self) -> Self {
        Visit { limit: Limit::For(Duration::ZERO), ..self }
    }

    /// The same visit, which does not wait.
    pub const fn tries(self) -> Self {
        Visit { limit: Limit::Never, ..self }
    }

    /// The same visit, which goes on like that.
    pub const fn then(self, then: Then) -> Self {
        Visit { then, ..self }
    }

    /// The same visit, which keeps its place reserved.
    pub const fn retains(self) -> Self {
        Visit { retains: true, ..self }
    }

    /// The same visit, which passes so often over those before it.
    pub const fn evicts(self, evicts: usize) -> Self {
        Visit { evicts, ..self }
    }

    /// The same visit, by such a participant.
    pub const fn by(self, threads: Threads) -> Self {
        Visit { threads, ..self }
    }

    /// The same visit, which ends there.
    pub const fn dies(self, step: usize) -> Self {
        Visit { death: Some(step), ..self }
    }
}

/// One model.
#[derive(Clone, Debug)]
pub struct Plan {
    pub relation: Relation,
    /// Each participant's visits, one after another. Participant 0 is the model's main thread.
    pub visits: Vec<Vec<Visit>>,
    /// Which slot participant 0 has; participant 1 has the next one, and so on around.
    pub first_slot: usize,
    /// How many permits there are.
    pub permits: u32,
    /// Of a linked lock, which is home at first: how many tokens its block has then.
    pub block: Option<u64>,
    /// Whether a linked lock has a lease at first, which never ends.
    pub begins_leased: bool,
    /// Whether the lock begins biased to its readers, and every participant's last acquisition was a reader's.
    pub begins_biased: bool,
    /// A visit to slot 0 that ends by a death before the others begin.
    pub begins_after: Option<Visit>,
    /// Whether readers may bias it, and places be retained.
    pub may_be_biased: bool,
    /// Whether everything is explored after a look in vain.
    pub unpruned: bool,
    /// Whether each load of the bias word is searched before and after each store of it, or a visit's first alone.
    pub meets_always: bool,
    /// The property that is checked; `None`: all of them.
    pub only: Option<Property>,
}

impl Plan {
    /// A lock of this relation, with two permits.
    pub fn new(relation: Relation, visits: &[&[Visit]]) -> Self {
        let visits: Vec<_> = visits.iter().map(|visits| visits.to_vec()).collect();
        let may_be_biased = visits.iter().flatten().any(|visit| visit.biases || visit.retains);
        Plan {
            relation,
            visits,
            first_slot: 0,
            permits: 2,
            block: None,
            begins_leased: false,
            begins_biased: false,
            begins_after: None,
            may_be_biased,
            unpruned: false,
            meets_always: false,
            only: None,
        }
    }

    /// A rwlock.
    pub fn rwlock(visits: &[&[Visit]]) -> Self {
        Plan::new(Relation::Modes, visits)
    }

    /// A rwlock that is biased to its readers.
    pub fn biased(visits: &[&[Visit]]) -> Self {
        Plan { begins_biased: true, may_be_biased: true, ..Plan::rwlock(visits) }
    }

    /// A rwlock whose last writer died inside, before any participant of the plan came.
    pub fn after_death(visits: &[&[Visit]]) -> Self {
        Plan { begins_after: Some(WRITE.dies(INSIDE)), may_be_biased: true, ..Plan::rwlock(visits) }
    }

    /// A group lock of which a member of group 0 died inside, before any participant of the plan came.
    pub fn after_a_members_death(visits: &[&[Visit]]) -> Self {
        Plan { begins_after: Some(member(0).dies(INSIDE)), ..Plan::new(Relation::Groups, visits) }
    }

    /// The same plan, of a linked lock with a block of so many tokens.
    pub fn linked(self, block: u64) -> Self {
        Plan { block: Some(block), ..self }
    }

    /// Returns how many permits a linked semaphore has over all hosts; 0: it is none.
    pub fn total(&self) -> u32 {
        if self.block.is_some() && self.relation == Relation::Permits { self.permits } else { 0 }
    }

    /// The same plan with the slots dealt out in every way around, since the slot breaks ties.
    pub fn in_each_slot(self) -> Vec<Self> {
        (0..self.visits.len()).map(|first_slot| Plan { first_slot, ..self.clone() }).collect()
    }

    /// Returns which slot a participant has.
    pub fn slot_of(&self, participant: usize) -> usize {
        (self.first_slot + participant) % self.visits.len()
    }

    pub fn any(&self, is: impl Fn(&Visit) -> bool) -> bool {
        self.visits.iter().flatten().chain(&self.begins_after).any(is)
    }

    /// Returns whether a participant revokes a bias, upgrades, or passes over another one.
    pub fn needs_barriers(&self) -> bool {
        let upgrades = |visit: &Visit| {
            matches!(visit.then, Then::Upgrade(_) | Then::UpgradeAndDowngrade(_) | Then::UpgradeTwice)
        };
        let shares = |visit: &Visit| {
            matches!(visit.agent, Some(Deed::Share(_) | Deed::LeaseShare))
                || matches!(visit.then, Then::GiveAway { .. })
        };
        self.may_be_biased || self.any(|visit| upgrades(visit) || shares(visit) || visit.evicts > 0)
    }
}
