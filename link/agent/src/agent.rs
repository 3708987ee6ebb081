//! The agent of one host at one lock.

use crate::client::{Client, Keys};
use crate::engine::{Compare, Data, Host, Operation, Reply, Request, Snapshot, Watched, Wish};
use crate::event::{Action, Config, Event, Found};
use crate::request::Failed;
use crate::{NO_DEADLINE, Nanoseconds};

/// Where the lock of this host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Local {
    /// Home. `first`: of the block; `None` if another agent brought it home.
    Home { first: Option<u64>, last_token: u64, token_end: u64 },
    /// Home to read.
    Reading,
    /// Being moved away, since this time; `None`: it is lost, and that was said. `reads`: it was home to read.
    Leaving { first: Option<u64>, since: Option<Nanoseconds>, reads: bool },
    /// Away. `first`: of the block that it was home with, and is to give back; `gives`: the privilege is to be given up.
    Away { first: Option<u64>, last_token: u64, data: Data, gives: bool },
}

/// What the call under way is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    List,
    Lease,
    /// A transaction after which the keys are listed again.
    Change,
    /// Likewise: one that queues.
    Queue,
    /// One after which the privilege of a lock that is home has this lease.
    Attach {
        lease: u64,
    },
    /// One after which the lock comes home, and the privilege has this lease.
    Come {
        first: u64,
        last: u64,
        data: Data,
        lease: Option<u64>,
    },
    /// One after which it comes home to read, and the privilege to read has this lease.
    Read {
        token: u64,
        data: Data,
        lease: Option<u64>,
    },
}

/// The keys of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LockKeys {}

impl Keys for LockKeys {
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

/// One host's part in one lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agent {
    pub(crate) host: Host,
    pub(crate) client: Client<LockKeys>,
    pub(crate) local: Local,
    pub(crate) wants: Option<Wish>,
    /// Whether it was said that the hosts have another mode.
    pub(crate) is_refused: bool,
    /// Since when another host has been seen to want the lock.
    pub(crate) wished_since: Option<Nanoseconds>,
    /// For how long programs go on then.
    pub(crate) hold: Nanoseconds,
    /// When the privilege was first seen gone that another host took by this revision of the state, and had not given up.
    pub(crate) ended: Option<(u64, Nanoseconds)>,
    /// Likewise of each host that had it to read: by the revision of [`crate::Key::ReadBy`].
    pub(crate) ended_reading: Vec<(u64, Nanoseconds)>,
    /// When the lock was moved away for another host; `None`: a program has wanted it since.
    left_at: Option<Nanoseconds>,
}

impl Agent {
    /// Begins, at this time, with what was found in the lock file. `first_number`: calls and watches are numbered from here on, beyond those of
    /// the agent before it, if answers to that one can come.
    pub fn new(
        host: Host,
        config: Config,
        found: Found,
        now: Nanoseconds,
        first_number: u64,
    ) -> (Self, Vec<Action>) {
        let Found { is_home, is_home_to_read, last_token, token_end, data, wanted, until } = found;
        let local = if is_home && is_home_to_read {
            Local::Reading
        } else if is_home {
            Local::Home { first: None, last_token, token_end }
        } else {
            Local::Away { first: None, last_token, data, gives: false }
        };
        let mut agent = Self {
            host,
            client: Client::new(config, until, first_number),
            local,
            wants: wanted,
            is_refused: false,
            wished_since: None,
            hold: config.hold,
            ended: None,
            ended_reading: Vec::new(),
            left_at: None,
        };
        let mut actions = Vec::new();
        agent.go_on(now, &mut actions);
        (agent, actions)
    }

    /// Takes an event, at this time. Returns what it leads to, to be done in this order.
    pub fn on(&mut self, now: Nanoseconds, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Wanted { wish } => {
                let is_admitted = match self.local {
                    Local::Home { .. } => true,
                    Local::Reading => wish == Wish::Read,
                    Local::Leaving { .. } | Local::Away { .. } => false,
                };
                if !is_admitted || now >= self.deadline() {
                    self.wants = self.wants.max(Some(wish));
                    self.set_the_hold(now);
                }
            }
            Event::MovedAway { last_token, data } => {
                if let Local::Leaving { first, reads, .. } = self.local {
                    self.local = Local::Away { first, last_token, data, gives: !reads };
                    self.client.known = None;
                    // One that left for a writer of its own contends with none.
                    let is_for_others = !(reads && self.wants == Some(Wish::Write));
                    self.left_at = Some(now).filter(|now| is_for_others && *now < self.deadline());
                }
            }
            Event::Used { last_token: used } => {
                if let Local::Home { last_token, .. } = &mut self.local {
                    *last_token = used.max(*last_token);
                }
            }
            Event::Answered { call, reply } => self.on_answer(now, call, reply, &mut actions),
            Event::Changed { watch } => self.client.changed(watch),
            Event::Time => {}
        }
        self.go_on(now, &mut actions);
        actions
    }

    fn on_answer(
        &mut self,
        now: Nanoseconds,
        call: u64,
        reply: Result<Reply, Failed>,
        actions: &mut Vec<Action>,
    ) {
        if self.on_kept(now, call, &reply, actions) {
            return;
        }
        let Some((purpose, sent)) = self.client.answered(now, call, &reply) else { return };
        match (purpose, reply) {
            // Most likely its lease is over.
            (Purpose::Queue, Err(Failed)) => {
                self.client.forget_the_lease();
                self.client.known = None;
            }
            (Purpose::List, Ok(Reply::Listed(snapshot))) => {
                let is_home = matches!(self.local, Local::Home { .. } | Local::Reading);
                let is_calm = is_home && !self.is_pressed(&snapshot);
                self.client.listed(now, snapshot, is_calm);
            }
            (Purpose::Lease, Ok(Reply::Granted { lease })) => self.client.granted(lease, sent),
            (Purpose::Attach { lease }, Ok(Reply::Committed(true))) => {
                self.client.known = None;
                self.client.has_held = self.client.deadline_of(lease).is_some();
                if self.client.has_held {
                    self.client.admit_until_the_deadline(actions);
                }
            }
            (Purpose::Come { first, last, data, lease }, Ok(Reply::Committed(true))) => {
                self.client.known = None;
                if let Some(until) = self.client.deadline_to_come(now, lease) {
                    self.come_home_until(until, (first, last, data), actions);
                }
            }
            (Purpose::Read { token, data, lease }, Ok(Reply::Committed(true))) => {
                self.client.known = None;
                if let Some(until) = self.client.deadline_to_come(now, lease) {
                    self.come_to_read_until(until, (token, data), actions);
                }
            }
            // Refused, or done: the list says what is so now.
            _ => self.client.known = None,
        }
    }

    /// The privilege is this host's, up to this deadline.
    fn come_home_until(
        &mut self,
        until: Nanoseconds,
        (first, last, data): (u64, u64, Data),
        actions: &mut Vec<Action>,
    ) {
        self.local = Local::Home { first: Some(first), last_token: first - 1, token_end: last };
        self.wants = None;
        self.client.begin_until(until, actions);
        actions.push(Action::BringHome { first, last, data });
        if !self.client.has_held {
            self.client.revoke_the_lease(actions);
        }
    }

    /// A program wants the lock: if it was moved away no longer ago than this host kept it, both hosts contend.
    fn set_the_hold(&mut self, now: Nanoseconds) {
        if let Some(left_at) = self.left_at.take() {
            let grown =
                self.hold.saturating_mul(2).min(self.client.config.hold_most.max(self.client.config.hold));
            self.hold = if now <= left_at + self.hold { grown } else { self.client.config.hold };
        }
    }

    /// Does what is due, and says when something is due next.
    fn go_on(&mut self, now: Nanoseconds, actions: &mut Vec<Action>) {
        self.client.expire(now, self.is_idle());
        self.client.keep_the_lease(now, actions);
        self.keep_the_deadline(now, actions);
        if let Some(known) = self.client.take_known(now, actions) {
            self.decide(now, &known, actions);
            self.client.known = Some(known);
        }
        let wish = self.wished_since.map(|since| since + self.hold);
        let is_home = matches!(self.local, Local::Home { .. } | Local::Reading);
        let deadline = Some(self.deadline()).filter(|at| is_home && *at != NO_DEADLINE);
        let others = [wish, deadline, self.lost_at(), self.trusts_at(now)];
        actions.extend(self.client.next(now, self.is_idle(), others).map(Action::WakeAt));
    }

    /// Returns whether nothing is waited for: the lock is away, and no program of this host wants it.
    fn is_idle(&self) -> bool {
        matches!(self.local, Local::Away { gives: false, .. })
            && self.wants.is_none()
            && self.client.watch.is_none()
    }

    pub(crate) fn change(
        &mut self,
        now: Nanoseconds,
        compares: &[Compare],
        then: &[Operation],
        actions: &mut Vec<Action>,
    ) {
        self.client.change(now, Purpose::Change, (compares.into(), then.into()), actions);
    }
}
