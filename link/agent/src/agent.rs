//! The agent of one host at one lock.

use crate::Nanoseconds;
use crate::engine::{Compare, Data, Failed, Host, Operation, Reply, Request, Snapshot, Watched};
use crate::event::{Action, Config, Event, Found};

/// Where the lock of this host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Local {
    /// Home. `first`: of the block; `None` if another agent brought it home.
    Home { first: Option<u64>, last_token: u64, token_end: u64 },
    /// Being moved away.
    Leaving { first: Option<u64> },
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
    /// One after which the lock comes home.
    Come {
        first: u64,
        last: u64,
        data: Data,
    },
}

/// The lease of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lease {
    pub(crate) number: u64,
    /// When it is to be kept next.
    keep_at: Nanoseconds,
}

/// One host's part in one lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agent {
    pub(crate) host: Host,
    pub(crate) config: Config,
    pub(crate) local: Local,
    pub(crate) wants: bool,
    /// What is known of the keys; `None`: they are to be listed.
    known: Option<Snapshot>,
    /// Until when that is fresh.
    fresh_until: Nanoseconds,
    /// No call before then: the last one failed.
    rests_until: Nanoseconds,
    /// The call under way, and until when it may take.
    call: Option<(u64, Purpose, Nanoseconds)>,
    /// The call that keeps the lease.
    keeps: Option<u64>,
    pub(crate) lease: Option<Lease>,
    pub(crate) watch: Option<(u64, Watched)>,
    /// Since when another host has been seen to want the lock.
    pub(crate) wished_since: Option<Nanoseconds>,
    numbers: u64,
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
        let Found { is_home, last_token, token_end, data, is_wanted } = found;
        let local = if is_home {
            Local::Home { first: None, last_token, token_end }
        } else {
            Local::Away { first: None, last_token, data, gives: false }
        };
        let mut agent = Self {
            host,
            config,
            local,
            wants: is_wanted,
            known: None,
            fresh_until: 0,
            rests_until: 0,
            call: None,
            keeps: None,
            lease: None,
            watch: None,
            wished_since: None,
            numbers: first_number,
        };
        let mut actions = Vec::new();
        agent.go_on(now, &mut actions);
        (agent, actions)
    }

    /// Takes an event, at this time. Returns what it leads to, to be done in this order.
    pub fn on(&mut self, now: Nanoseconds, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Wanted => self.wants |= !matches!(self.local, Local::Home { .. }),
            Event::MovedAway { last_token, data } => {
                if let Local::Leaving { first } = self.local {
                    self.local = Local::Away { first, last_token, data, gives: true };
                    self.known = None;
                }
            }
            Event::Used { last_token: used } => {
                if let Local::Home { last_token, .. } = &mut self.local {
                    *last_token = used.max(*last_token);
                }
            }
            Event::Answered { call, reply } => self.on_answer(now, call, reply, &mut actions),
            Event::Changed { watch } => {
                if self.watch.as_ref().is_some_and(|(number, _)| *number == watch) {
                    self.watch = None;
                    self.known = None;
                }
            }
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
        if self.keeps == Some(call) {
            self.keeps = None;
            // The place went with it. It is not in the list, and the host queues anew.
            if reply == Ok(Reply::Alive(false)) {
                self.lease = None;
                self.known = None;
            }
            return;
        }
        // An answer that was given up on says nothing of what is asked now.
        let Some((_, purpose, _)) = self.call.take_if(|(number, ..)| *number == call) else { return };
        if reply == Err(Failed) {
            self.rests_until = now + self.config.answer / 8;
        }
        match (purpose, reply) {
            // Most likely its lease is over.
            (Purpose::Queue, Err(Failed)) => {
                self.lease = None;
                self.known = None;
            }
            (Purpose::List, Ok(Reply::Listed(snapshot))) => {
                let is_calm = matches!(self.local, Local::Home { .. })
                    && snapshot.places.iter().all(|place| place.host == self.host);
                let fresh = if is_calm { self.config.fresh_at_home } else { self.config.fresh };
                self.fresh_until = now + fresh;
                self.known = Some(snapshot);
            }
            (Purpose::Lease, Ok(Reply::Granted { lease })) => {
                self.lease = Some(Lease { number: lease, keep_at: now + self.config.lease / 3 });
            }
            (Purpose::Come { first, last, data }, Ok(Reply::Committed(true))) => {
                self.local = Local::Home { first: Some(first), last_token: first - 1, token_end: last };
                self.wants = false;
                self.known = None;
                actions.push(Action::BringHome { first, last, data });
                if let Some(lease) = self.lease.take() {
                    self.say(Request::Revoke { lease: lease.number }, actions);
                }
            }
            // Refused, or done: the list says what is so now.
            _ => self.known = None,
        }
    }

    /// Does what is due, and says when something is due next.
    fn go_on(&mut self, now: Nanoseconds, actions: &mut Vec<Action>) {
        if self.call.is_some_and(|(.., until)| now >= until) {
            self.call = None;
            self.known = None;
        }
        if now >= self.fresh_until && !self.is_idle() && self.known.take().is_some() {
            // That may have been lost.
            self.watch = None;
        }
        self.keep_the_lease(now, actions);
        if self.call.is_none() && now >= self.rests_until {
            match self.known.take() {
                None => self.call(now, Purpose::List, Request::List, actions),
                Some(known) => {
                    self.decide(now, &known, actions);
                    self.known = Some(known);
                }
            }
        }
        let call = self.call.map(|(.., until)| until);
        let lease = self.lease.map(|lease| lease.keep_at);
        let wish = self.wished_since.map(|since| since + self.config.hold);
        let fresh = Some(self.fresh_until).filter(|_| !self.is_idle());
        let rest = Some(self.rests_until);
        let next = [call, lease, wish, fresh, rest].into_iter().flatten().filter(|at| *at > now).min();
        actions.extend(next.map(Action::WakeAt));
    }

    /// Returns whether nothing is waited for: the lock is away, and no program of this host wants it.
    fn is_idle(&self) -> bool {
        matches!(self.local, Local::Away { gives: false, .. }) && !self.wants && self.watch.is_none()
    }

    /// Keeps the lease, while there may be a place that has it.
    fn keep_the_lease(&mut self, now: Nanoseconds, actions: &mut Vec<Action>) {
        let due = self.lease.filter(|lease| now >= lease.keep_at);
        if let Some(lease) = due {
            self.lease = Some(Lease { keep_at: now + self.config.lease / 3, ..lease });
            // One that was not answered is given up on.
            self.keeps = Some(self.say(Request::KeepAlive { lease: lease.number }, actions));
        }
    }

    fn say(&mut self, request: Request, actions: &mut Vec<Action>) -> u64 {
        self.numbers += 1;
        actions.push(Action::Call { number: self.numbers, request });
        self.numbers
    }

    pub(crate) fn call(
        &mut self,
        now: Nanoseconds,
        purpose: Purpose,
        request: Request,
        actions: &mut Vec<Action>,
    ) {
        let number = self.say(request, actions);
        self.call = Some((number, purpose, now + self.config.answer));
    }

    pub(crate) fn change(
        &mut self,
        now: Nanoseconds,
        compares: &[Compare],
        then: &[Operation],
        actions: &mut Vec<Action>,
    ) {
        let request = Request::Transaction { compares: compares.into(), then: then.into() };
        self.call(now, Purpose::Change, request, actions);
    }

    pub(crate) fn watch(&mut self, what: Watched, known: &Snapshot, actions: &mut Vec<Action>) {
        if self.watch.as_ref().is_none_or(|(_, watched)| *watched != what) {
            let number = self.say(Request::Watch { what: what.clone(), from: known.revision + 1 }, actions);
            self.watch = Some((number, what));
        }
    }
}
