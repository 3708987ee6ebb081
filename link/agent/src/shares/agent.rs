//! The agent of one host at one semaphore.

use super::engine::{Compare, Operation, Reply, Request, Snapshot, Watched};
use crate::client::{Client, Kept, Keys};
use crate::{Config, Failed, Host, Mode, Nanoseconds};

/// What the programs of this host have and want of the semaphore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Demand {
    /// The permits that they have.
    pub used: u32,
    /// The permits that others wait for.
    pub awaited: u32,
    /// Those that the first of them waits for; 0: none waits.
    pub first: u32,
}

/// What an agent finds in the lock file when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Found {
    /// The share of this host.
    pub share: u32,
    /// How many permits there are over all hosts.
    pub total: u32,
    /// The time from which on the file admits no program, as [`Action::Lease`] set it last; [`crate::NO_DEADLINE`]: none is set.
    pub until: Nanoseconds,
}

/// What happens to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A program wanted so many permits, and did not get them at once. It may have given up.
    Wanted {
        /// How many.
        permits: u32,
    },
    /// What [`Action::Drain`] with this number waited for.
    Drained {
        /// The number.
        number: u64,
        /// So many permits are inside at most from now on, or that is the share.
        permits: u32,
    },
    /// An answer to the call of this number.
    Answered {
        /// The number.
        call: u64,
        /// The answer.
        reply: Result<Reply, Failed>,
    },
    /// What the watch of this number is about has changed, or the watch is broken.
    Changed {
        /// The number.
        watch: u64,
    },
    /// The time has come that was asked for.
    Time,
    /// The host is to give up all that it has, and wants no more, until [`Action::Left`].
    Leave,
}

/// What an agent wants done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A call to the engine, or a watch, with this number.
    Call {
        /// The number.
        number: u64,
        /// What is asked.
        request: Request,
    },
    /// Makes the share in the lock file so large, at once.
    SetShare {
        /// How many permits.
        permits: u32,
    },
    /// Waits until no more permits are inside than the share, or fewer than these; then comes [`Event::Drained`].
    Drain {
        /// The number of this wait, which takes the place of the one before.
        number: u64,
        /// Fewer than these.
        below: u32,
    },
    /// Says [`Event::Time`] at this time, or at the one that is named next.
    WakeAt(Nanoseconds),
    /// Has the lock file admit programs before this time and no more from it on, and has those inside be told then. As
    /// [`crate::Action::Lease`]. From none to one it is changed while the share is 0 and no program is inside.
    Lease {
        /// The time, of the agent's clock.
        until: Nanoseconds,
    },
    /// The lease may be over, and programs are inside still, which were told: other hosts may have their permits. To be told to people.
    Lost,
    /// The host had permits that are not its own any more: a person had it forgotten. To be told to people; the share is made smaller, and
    /// programs may be inside yet.
    Robbed,
    /// The hosts have so many permits, in this mode, which is not what this host was set up with. To be told to people. This agent takes none
    /// meanwhile.
    Refused {
        /// How many.
        total: u32,
        /// The mode.
        mode: Mode,
    },
    /// The host has given up all that it had.
    Left,
}

/// What the call under way is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    List,
    Lease,
    /// A transaction after which the keys are listed again.
    Change,
    /// Likewise: one that queues.
    Queue,
    /// One after which the file's share is so large, and the engine's has this lease.
    Grow {
        permits: u32,
        lease: Option<u64>,
    },
}

/// The keys of a semaphore.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum SemaphoreKeys {}

impl Keys for SemaphoreKeys {
    type Snapshot = Snapshot;
    type Compare = Compare;
    type Operation = Operation;
    type Watched = Watched;
    type Purpose = Purpose;
    type Action = Action;
    const LIST: Purpose = Purpose::List;

    fn call(number: u64, request: Request) -> Action {
        Action::Call { number, request }
    }

    fn admit(until: Nanoseconds) -> Action {
        Action::Lease { until }
    }

    fn revision(known: &Snapshot) -> u64 {
        known.revision
    }
}

/// A time in which a deadline has passed while programs were inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Overdue {
    pub(super) since: Nanoseconds,
    pub(super) was_told: bool,
}

/// One host's part in one semaphore.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShareAgent {
    pub(super) host: Host,
    pub(super) client: Client<SemaphoreKeys>,
    pub(super) total: u32,
    /// The share in the file.
    pub(super) share: u32,
    /// So many permits are inside at most, or that is the share; `None`: it is not known.
    pub(super) drained: Option<u32>,
    /// The wait for that.
    pub(super) drain: Option<u64>,
    /// The most permits that a program wanted in vain since the share grew last.
    pub(super) tried: u32,
    /// The place of another host that is before this one, and since when it was seen.
    pub(super) wish: Option<(u64, Nanoseconds)>,
    /// Leased: since when the share of each host was seen gone that has not given it back, by the revision of [`Key::TakenBy`].
    pub(super) ended: Vec<(u64, Nanoseconds)>,
    /// Leased: the deadline has passed, and programs are inside.
    pub(super) overdue: Option<Overdue>,
    /// When what programs have and want is to be looked at again.
    pub(super) look_at: Option<Nanoseconds>,
    pub(super) is_refused: bool,
    pub(super) leaves: bool,
    pub(super) has_left: bool,
}

impl ShareAgent {
    /// Begins, at this time, with what was found in the lock file. As [`crate::Agent::new`].
    pub fn new(
        host: Host,
        config: Config,
        found: Found,
        (now, demand): (Nanoseconds, Demand),
        first_number: u64,
    ) -> (Self, Vec<Action>) {
        let mut agent = Self {
            host,
            client: Client::new(config, found.until, first_number),
            total: found.total,
            share: found.share,
            // An agent before this one may have made it smaller just now.
            drained: None,
            drain: None,
            tried: 0,
            wish: None,
            ended: Vec::new(),
            overdue: None,
            look_at: None,
            is_refused: false,
            leaves: false,
            has_left: false,
        };
        let mut actions = Vec::new();
        agent.go_on(now, demand, &mut actions);
        (agent, actions)
    }

    /// Takes an event, at this time, at which programs have and want so much. Returns what it leads to, to be done in this order.
    pub fn on(&mut self, now: Nanoseconds, demand: Demand, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Wanted { permits } => self.tried = self.tried.max(permits.min(self.total)),
            Event::Drained { number, permits } => {
                if self.drain.take_if(|drain| *drain == number).is_some() {
                    self.drained = Some(permits.max(self.share));
                }
            }
            Event::Answered { call, reply } => self.on_answer(now, call, reply, &mut actions),
            Event::Changed { watch } => self.client.changed(watch),
            Event::Time => {}
            Event::Leave => {
                self.leaves = true;
                self.client.known = None;
            }
        }
        self.go_on(now, demand, &mut actions);
        actions
    }

    fn on_answer(
        &mut self,
        now: Nanoseconds,
        call: u64,
        reply: Result<Reply, Failed>,
        actions: &mut Vec<Action>,
    ) {
        match self.client.kept(call, &reply) {
            Some(Kept::Yes) => return self.was_kept(actions),
            // Its place went with it: the host queues anew.
            Some(Kept::Over) => return self.lease_has_ended(now, actions),
            Some(Kept::Unknown) => return,
            None => {}
        }
        let Some((purpose, sent)) = self.client.answered(now, call, &reply) else { return };
        match (purpose, reply) {
            // Most likely its lease is over.
            (Purpose::Queue, Err(Failed)) => {
                self.client.forget_the_lease();
                (self.client.has_held, self.client.known) = (false, None);
            }
            (Purpose::List, Ok(Reply::Listed(snapshot))) => {
                let is_calm = snapshot.places.is_empty();
                self.client.listed(now, snapshot, is_calm);
            }
            (Purpose::Lease, Ok(Reply::Granted { lease })) => self.client.granted(lease, sent),
            (Purpose::Grow { permits, lease }, Ok(Reply::Committed(true))) => {
                self.client.known = None;
                if let Some(until) = self.client.deadline_to_come(now, lease) {
                    self.client.begin_until(until, actions);
                    if permits != self.share {
                        self.set_share(permits, actions);
                    }
                }
            }
            // Refused, or done, or not known to be: the list says what is so now.
            _ => self.client.known = None,
        }
    }

    /// What was drained is so no more. A larger share is the engine's by now.
    pub(super) fn set_share(&mut self, permits: u32, actions: &mut Vec<Action>) {
        if permits > self.share {
            self.tried = 0;
        }
        self.share = permits;
        (self.drained, self.drain) = (None, None);
        actions.push(Action::SetShare { permits });
    }

    pub(super) fn begin_to_drain(&mut self, below: u32, actions: &mut Vec<Action>) {
        let number = self.client.number();
        self.drain = Some(number);
        actions.push(Action::Drain { number, below });
    }

    /// Does what is due, and says when something is due next.
    fn go_on(&mut self, now: Nanoseconds, demand: Demand, actions: &mut Vec<Action>) {
        self.client.expire(now, self.is_idle(demand));
        self.client.keep_the_lease(now, actions);
        self.tell_what_is_lost(now, demand, actions);
        self.look_at = None;
        if let Some(known) = self.client.take_known(now, actions) {
            self.decide(now, demand, &known, actions);
            self.client.known = Some(known);
        }
        let next = self.client.next(
            now,
            self.is_idle(demand),
            [self.look_at, self.deadline(demand), self.lost_at(), self.trusts_at(now)],
        );
        actions.extend(next.map(Action::WakeAt));
    }

    /// Returns whether nothing is waited for: the host has no permit, and no program wants one.
    fn is_idle(&self, demand: Demand) -> bool {
        self.share == 0
            && self.client.watch.is_none()
            && self.client.lease.is_none()
            && demand.first == 0
            && self.tried == 0
    }
}
