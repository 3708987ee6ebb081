//! What a search is to find, and what its participants may do.

/// What must hold in every execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// One holder at a time.
    Exclusion,
    /// A holder that is not told otherwise finds the two data words as the last section left them.
    Data,
    /// Each fencing token is larger than the one before.
    Token,
    /// No waiter in the queue is overtaken by a participant that began its doorway after the waiter's was finished.
    Order,
    /// A lock that is free does not stay so for long while a participant sleeps that waits for it: not at all where none dies, is
    /// stopped or has the bias.
    Awake,
    /// No program is inside while a linked lock is away, and none by a bias while it is leased.
    Away,
    /// The next holder after a death inside gets the owner-dead notice, with the dead holder's token; after any other,
    /// none. A lock that was left without repair stays closed until it is reset.
    Notice,
}

/// One model.
#[derive(Clone)]
pub struct Plan {
    pub participants: usize,
    /// How many visits each of them makes, over all its lives.
    pub visits: usize,
    /// May they give up while they wait, try only, or have a time limit?
    pub withdraw: bool,
    /// May they die?
    pub die: bool,
    /// May a holder that was told of a death leave without repair?
    pub careless: bool,
    /// May the lock be biased?
    pub bias: bool,
    /// May they let others pass for a while?
    pub patient: bool,
    /// Do only some of them let others pass?
    pub some_strict: bool,
    /// May waiters pass over those before them, which may well be running?
    pub evict: bool,
    /// Do waiters sleep, as those that ship do, or look again and again?
    pub sleep: bool,
    /// May participants be stopped for a while?
    pub stop: bool,
    /// Is the lock a ring?
    pub ring: bool,
    /// Is the lock linked? The last participant is its agent then, which moves it.
    pub link: bool,
    /// Does the agent bring it home only where a program wants it?
    pub on_demand: bool,
    /// Does the doorway take no notice of the others' numbers?
    pub unread_numbers: bool,
    /// The property that is checked; `None`: all of them.
    pub only: Option<Property>,
}

impl Plan {
    pub fn new(participants: usize, visits: usize) -> Self {
        Plan {
            participants,
            visits,
            withdraw: false,
            die: false,
            careless: false,
            bias: false,
            patient: false,
            some_strict: false,
            evict: false,
            sleep: false,
            stop: false,
            ring: false,
            link: false,
            on_demand: false,
            unread_numbers: false,
            only: None,
        }
    }

    pub fn mortal(participants: usize, visits: usize) -> Self {
        Plan { withdraw: true, die: true, ..Plan::new(participants, visits) }
    }

    pub fn stopped(participants: usize, visits: usize) -> Self {
        Plan { sleep: true, patient: true, stop: true, ..Plan::new(participants, visits) }
    }

    /// A lock that is linked, with so many programs and an agent.
    pub fn linked(programs: usize, visits: usize) -> Self {
        // The agent passes over those that have no token left.
        Plan { link: true, evict: true, ..Plan::new(programs + 1, visits) }
    }

    /// A linked lock that comes home only where a program wants it, some of which are stopped.
    pub fn on_demand() -> Self {
        Plan { link: true, on_demand: true, ..Plan::stopped(5, 7) }
    }

    /// The agent's slot, if the lock is linked.
    pub fn agent(&self) -> Option<usize> {
        self.link.then(|| self.participants - 1)
    }

    /// How long the lock may be free while all that want it sleep, in nanoseconds: not at all where a wake-up comes for each.
    pub fn longest_idle(&self) -> u64 {
        if self.on_demand {
            // Those that are stopped are passed over one after another.
            700_000_000
        } else if self.stop {
            500_000_000
        } else if self.die || self.bias {
            100_000_000
        } else {
            0
        }
    }
}
