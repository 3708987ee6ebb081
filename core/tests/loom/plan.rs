//! What is searched: who comes to the lock, how, and where a participant dies.

use crate::oracle::Property;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::trace::Step;

/// Where a participant stops for good. Between two of these it writes nothing that another could read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// At a step of the acquisition that ships.
    At(Step),
    /// In the critical section, before it wrote anything.
    Entered,
    /// In the critical section, with one of the two data words written.
    Torn,
    /// In the critical section, with both data words written.
    Written,
}

impl Death {
    /// Returns whether the dead one is then written down as the holder.
    pub fn is_inside(self) -> bool {
        !matches!(self, Death::At(step) if !matches!(step, Step::Held | Step::Bias | Step::Section | Step::Exit))
    }

    /// Returns whether the model makes an access between it and [`Death::Torn`]. If not, what it leads to is the same.
    pub fn is_apart(self) -> bool {
        !matches!(self, Death::Entered | Death::Written)
    }

    /// Returns whether not every visit comes there.
    pub fn is_by_chance(self) -> bool {
        matches!(self, Death::At(Step::Withdraw | Step::Reap | Step::ReapNotice | Step::ReapCleared))
    }

    /// Returns whether the dead one has been in the critical section and out again.
    pub fn is_after(self) -> bool {
        matches!(self, Death::At(Step::Leave | Step::Wake))
    }
}

/// How a participant comes to the lock.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// How long it may wait. With a time limit it looks once, and then its time is up.
    pub limit: Limit,
    /// Where it dies, if it comes there.
    pub death: Option<Death>,
    /// Whether it takes the bias, if it may.
    pub takes_bias: bool,
    /// Whether it takes the fast path first, which does not look whether the lock is biased to it.
    pub fast: bool,
    /// Whether it leaves the queue once to let others pass.
    pub is_patient: bool,
    /// How often it passes over the waiters before it, if no participant is inside.
    pub evicts: usize,
    /// Whether it abandons the lock.
    pub abandons: bool,
    /// Whether it leaves the data torn as a dead holder left them, which closes the lock for every participant.
    pub leaves_torn: bool,
    /// Whether it reopens a lock that is closed for every participant.
    pub resets: bool,
    /// Whether it is the agent of a linked lock, which moves it away, lets another host enter, and brings it home.
    pub moves: bool,
}

/// Waits as long as it takes, and holds the lock unbiased.
pub const LOCK: Visit = Visit {
    limit: Limit::Forever,
    death: None,
    takes_bias: false,
    fast: false,
    is_patient: false,
    evicts: 0,
    abandons: false,
    leaves_torn: false,
    resets: false,
    moves: false,
};
/// As [`LOCK`], and takes the bias.
pub const BIAS: Visit = Visit { takes_bias: true, ..LOCK };
/// Does not wait.
pub const TRY: Visit = Visit { limit: Limit::Never, ..LOCK };
/// Waits, and its time is up after one look.
pub const TIMED: Visit = Visit { limit: Limit::For(Duration::ZERO), ..LOCK };
/// Leaves the queue once to let others pass.
pub const PATIENT: Visit = Visit { is_patient: true, ..LOCK };
/// Passes once over the waiters before it, if no participant is inside.
pub const EVICT: Visit = Visit { evicts: 1, ..LOCK };
/// Leaves the data torn as a dead holder left them, which closes the lock for every participant.
pub const LEAVE_TORN: Visit = Visit { leaves_torn: true, ..LOCK };
/// Reopens a lock that is closed for every participant.
pub const RESET: Visit = Visit { resets: true, ..LOCK };
/// Moves a linked lock away, lets another host enter, and brings it home.
pub const MOVE: Visit = Visit { moves: true, ..LOCK };
/// Abandons the lock.
pub const ABANDON: Visit = Visit { abandons: true, ..LOCK };

impl Visit {
    /// The same visit, which ends there.
    pub fn dying(self, death: Death) -> Self {
        Visit { death: Some(death), ..self }
    }

    /// The same visit by the fast path.
    pub fn fast(self) -> Self {
        Visit { fast: true, ..self }
    }
}

/// What the bakery's registers are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "mutants"), allow(dead_code))]
pub enum Form {
    /// `choosing` and `number` are one word, as in the lock file.
    OneWord,
    /// Each is a word of its own.
    TwoWords,
    /// Each is a word of its own, and they are stored or loaded wrongly.
    Misused(Misuse),
}

/// How two registers can be stored or loaded wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "mutants"), allow(dead_code))]
pub enum Misuse {
    /// `choosing` = 0 before the number.
    NumberStoredLast,
    /// `choosing` = 0 without release order.
    ChoosingStoredRelaxed,
    /// The number before `choosing`.
    NumberLoadedFirst,
    /// `choosing` without acquire order.
    ChoosingLoadedRelaxed,
    /// The number without acquire order.
    NumberLoadedRelaxed,
}

/// Returns whether the longer searches are wanted, with which `./check --long` is run.
pub fn is_long() -> bool {
    std::env::var_os("TURNLOCK_LOOM_LONG").is_some()
}

/// Returns whether every participant touches one word at some steps: see the head of this suite.
pub fn touches() -> bool {
    static TOUCHES: LazyLock<bool> = LazyLock::new(|| std::env::var_os("TURNLOCK_LOOM_TOUCH").is_some());
    *TOUCHES
}

/// One model.
#[derive(Clone)]
pub struct Plan {
    /// Each participant's visits, one after another. Participant 0 is the model's main thread.
    pub visits: Vec<Vec<Visit>>,
    /// Which slot participant 0 has; participant 1 has the next one, and so on around.
    pub first_slot: usize,
    /// How many preemptions an execution may have; `None`: any number.
    pub preemptions: Option<usize>,
    /// Whether the lock may be biased. It is biased to participant 0 then, and every participant's last acquisition was a
    /// biased one, so that every participant looks at the bias word first.
    pub may_be_biased: bool,
    /// Whether who takes a dead one's slot has never held the lock, and looks at no bias word.
    pub newcomer_is_fresh: bool,
    /// Whether every participant sees which waiters are queued for good; else no participant does.
    pub sees_queued_for_good: bool,
    /// Whether the lock is linked. It is home at first.
    pub linked: bool,
    /// What the bakery's registers are made of.
    pub form: Form,
    /// Participants other than 0 raise the bound on the slots in use, each before its first visit.
    pub raise_bound: bool,
    /// Whether everything is explored (see `search`).
    pub unpruned: bool,
    /// The property that is checked; `None`: all of them.
    pub only: Option<Property>,
}

impl Plan {
    /// A lock that is never biased.
    pub fn queue(visits: &[&[Visit]]) -> Self {
        let visits = visits.iter().map(|visits| visits.to_vec()).collect();
        Plan {
            visits,
            first_slot: 0,
            preemptions: None,
            may_be_biased: false,
            newcomer_is_fresh: false,
            sees_queued_for_good: true,
            linked: false,
            form: Form::OneWord,
            raise_bound: false,
            unpruned: false,
            only: None,
        }
    }

    /// A lock that is biased to participant 0. A participant that takes the bias or cancels its revocation does so even while
    /// waiters are queued: a waiter says by a relaxed store that it is queued for good, and that need not be seen in time.
    pub fn bias(visits: &[&[Visit]]) -> Self {
        Plan { may_be_biased: true, sees_queued_for_good: false, ..Plan::queue(visits) }
    }

    /// The same plan, of a linked lock.
    pub fn linked(self) -> Self {
        Plan { linked: true, ..self }
    }

    /// The same plan, with so many preemptions at most.
    pub fn preemptions(self, most: usize) -> Self {
        Plan { preemptions: Some(most), ..self }
    }

    /// The same plan, with other bounds if the longer searches are wanted.
    pub fn long(self, change: impl FnOnce(Self) -> Self) -> Self {
        if is_long() { change(self) } else { self }
    }

    /// The same plan, with so many preemptions at most, or one more if the longer searches are wanted.
    pub fn usual_preemptions(self, most: usize) -> Self {
        self.preemptions(most).long(|plan| plan.preemptions(most + 1))
    }

    /// The same plan, with any number of preemptions.
    pub fn unbounded(self) -> Self {
        Plan { preemptions: None, ..self }
    }

    /// The same plan with the slots dealt out in every way around, since the slot breaks ties.
    pub fn in_each_slot(self) -> Vec<Self> {
        (0..self.visits.len()).map(|first_slot| Plan { first_slot, ..self.clone() }).collect()
    }

    /// Returns which slot a participant has.
    pub fn slot_of(&self, participant: usize) -> usize {
        (self.first_slot + participant) % self.visits.len()
    }

    /// Returns whether a participant waits as long as it takes.
    pub fn has_waiters(&self) -> bool {
        self.visits.iter().flatten().any(|visit| visit.limit == Limit::Forever)
    }

    /// Returns whether a participant revokes a bias, or passes over another one.
    pub fn needs_barriers(&self) -> bool {
        self.may_be_biased || self.visits.iter().flatten().any(|visit| visit.evicts > 0)
    }

    /// Returns whether the lock may be closed for every participant.
    pub fn may_close(&self) -> bool {
        self.visits.iter().flatten().any(|visit| visit.leaves_torn)
    }

    /// Returns how many entries there are at least and at most.
    pub fn entries(&self) -> std::ops::RangeInclusive<usize> {
        let visits = || self.visits.iter().flatten();
        let is_certain = |visit: &&Visit| {
            visit.limit == Limit::Forever
                && visit.death.is_none_or(|death| !self.may_be_biased && death.is_after())
        };
        let is_possible = |visit: &&Visit| {
            self.may_be_biased || visit.death.is_none_or(|death| death.is_after() || death.is_by_chance())
        };
        if self.may_close() {
            return 0..=visits().count();
        }
        visits().filter(is_certain).count()..=visits().filter(is_possible).count()
    }
}

/// Runs every participant, each in its own thread, until all have gone.
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
