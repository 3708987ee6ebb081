//! An agent as a client of the engine, whatever its keys are: the call under way, the lease and the calls that keep it, the watch, and what is
//! known of the keys.
//!
//! A lease ends so long after the engine carried out the call that kept it last. The agent does not know when that was; it was not before the
//! call was *sent*. So that is what counts, and never when the answer came: a late answer, of a call that was given up on, says no more than
//! it would have said in time.

use crate::request::{Failed, Reply, Request};
use crate::{Config, Mode, NO_DEADLINE, Nanoseconds};

/// The keys that an agent decides by, and what it does.
pub(crate) trait Keys: Sized {
    /// All of them, at one moment.
    type Snapshot;
    type Compare;
    type Operation;
    type Watched: PartialEq + Clone;
    /// What a call is for.
    type Purpose: Copy;
    type Action;

    /// Returns the action that is this call.
    fn call(number: u64, request: RequestOf<Self>) -> Self::Action;
    /// Returns the action that has the file admit programs until then.
    fn admit(until: Nanoseconds) -> Self::Action;
    /// Returns the revision of the moment.
    fn revision(known: &Self::Snapshot) -> u64;
    /// The purpose of [`Request::List`].
    const LIST: Self::Purpose;
}

/// What is asked of these keys.
pub(crate) type RequestOf<K> = Request<<K as Keys>::Compare, <K as Keys>::Operation, <K as Keys>::Watched>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lease {
    pub number: u64,
    /// When the last call was sent that is known to have kept it.
    sent: Nanoseconds,
    keep_at: Nanoseconds,
}

/// What is said of a lease by the answer to a call that was to keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It was kept, from when the call was sent.
    Yes,
    /// It is over, and what had it went with it.
    Over,
    /// Nothing.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Client<K: Keys> {
    pub config: Config,
    /// What is known of the keys; `None`: they are to be listed.
    pub known: Option<K::Snapshot>,
    /// Until when that is fresh.
    pub fresh_until: Nanoseconds,
    /// No call before then: the last one failed.
    rests_until: Nanoseconds,
    /// The call under way, and until when it may take.
    call: Option<(u64, K::Purpose, Nanoseconds)>,
    pub lease: Option<Lease>,
    /// The calls that keep the lease and were not answered, and when they were sent.
    keeps: Vec<(u64, Nanoseconds)>,
    pub watch: Option<(u64, K::Watched)>,
    /// Leased: whether what the host has is known to have this lease.
    pub has_held: bool,
    /// The deadline in the file.
    pub until: Nanoseconds,
    numbers: u64,
}

impl<K: Keys> Client<K> {
    /// `until`: the deadline that was found. `first_number`: calls and watches are numbered from here on.
    pub fn new(config: Config, until: Nanoseconds, first_number: u64) -> Self {
        Self {
            config,
            known: None,
            fresh_until: 0,
            rests_until: 0,
            call: None,
            lease: None,
            keeps: Vec::new(),
            watch: None,
            has_held: false,
            until,
            numbers: first_number,
        }
    }

    /// Returns a number that none had before.
    pub fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn say(&mut self, request: RequestOf<K>, actions: &mut Vec<K::Action>) -> u64 {
        let number = self.number();
        actions.push(K::call(number, request));
        number
    }

    pub fn call(
        &mut self,
        now: Nanoseconds,
        purpose: K::Purpose,
        request: RequestOf<K>,
        actions: &mut Vec<K::Action>,
    ) {
        let number = self.say(request, actions);
        self.call = Some((number, purpose, now + self.config.answer));
    }

    pub fn change(
        &mut self,
        now: Nanoseconds,
        purpose: K::Purpose,
        (compares, then): (Vec<K::Compare>, Vec<K::Operation>),
        actions: &mut Vec<K::Action>,
    ) {
        self.call(now, purpose, Request::Transaction { compares, then }, actions);
    }

    pub fn watch(&mut self, what: K::Watched, known: &K::Snapshot, actions: &mut Vec<K::Action>) {
        if self.watch.as_ref().is_none_or(|(_, watched)| *watched != what) {
            let request = Request::Watch { what: what.clone(), from: K::revision(known) + 1 };
            let number = self.say(request, actions);
            self.watch = Some((number, what));
        }
    }

    /// The watch of this number is over.
    pub fn changed(&mut self, watch: u64) {
        if self.watch.take_if(|(number, _)| *number == watch).is_some() {
            self.known = None;
        }
    }

    /// Takes the answer to the call under way. Returns what it is for, and when it was sent; `None`: an answer that was given up on, which says
    /// nothing of what is asked now.
    pub fn answered<S>(
        &mut self,
        now: Nanoseconds,
        call: u64,
        reply: &Result<Reply<S>, Failed>,
    ) -> Option<(K::Purpose, Nanoseconds)> {
        let (_, purpose, until) = self.call.take_if(|(number, ..)| *number == call)?;
        if reply.is_err() {
            self.rests_until = now + self.config.answer / 8;
        }
        Some((purpose, until - self.config.answer))
    }

    /// The keys were listed. `is_calm`: nothing is waited for but what the watch tells.
    pub fn listed(&mut self, now: Nanoseconds, known: K::Snapshot, is_calm: bool) {
        let fresh = if is_calm { self.config.fresh_at_home } else { self.config.fresh };
        self.fresh_until = now + fresh;
        self.known = Some(known);
    }

    /// Gives up on a call that takes too long, and on what is not fresh any more.
    pub fn expire(&mut self, now: Nanoseconds, is_idle: bool) {
        if self.call.is_some_and(|(.., until)| now >= until) {
            (self.call, self.known) = (None, None);
        }
        if now >= self.fresh_until && !is_idle && self.known.take().is_some() {
            // That may have been lost.
            self.watch = None;
        }
    }

    /// Returns what is known, to decide by; [`Client::known`] is to have it back. `None`: a call is under way, or what lists the keys.
    pub fn take_known(&mut self, now: Nanoseconds, actions: &mut Vec<K::Action>) -> Option<K::Snapshot> {
        if self.call.is_some() || now < self.rests_until {
            return None;
        }
        let known = self.known.take();
        if known.is_none() {
            self.call(now, K::LIST, Request::List, actions);
        }
        known
    }

    /// Returns when something is due next, besides at these times.
    pub fn next(
        &self,
        now: Nanoseconds,
        is_idle: bool,
        others: impl IntoIterator<Item = Option<Nanoseconds>>,
    ) -> Option<Nanoseconds> {
        let fresh = Some(self.fresh_until).filter(|_| !is_idle);
        let call = self.call.map(|(.., until)| until);
        let lease = self.lease.map(|lease| lease.keep_at);
        let own = [call, lease, fresh, Some(self.rests_until)];
        own.into_iter().chain(others).flatten().filter(|at| *at > now).min()
    }

    pub fn is_leased(&self) -> bool {
        self.config.mode == Mode::Leased
    }

    pub fn ask_for_a_lease(&mut self, now: Nanoseconds, purpose: K::Purpose, actions: &mut Vec<K::Action>) {
        let request = Request::Grant { length: self.config.lease };
        self.call(now, purpose, request, actions);
    }

    /// Takes a lease that was asked for at the time `sent`.
    pub fn granted(&mut self, number: u64, sent: Nanoseconds) {
        self.lease = Some(Lease { number, sent, keep_at: sent + self.keeps_every() });
        self.keeps.clear();
    }

    /// Three calls come before the deadline; for a place in the queue, two before the end of the lease.
    fn keeps_every(&self) -> Nanoseconds {
        match self.config.mode {
            Mode::Kept => self.config.lease / 3,
            Mode::Leased => self.config.lease.saturating_sub(self.config.margin) / 4,
        }
    }

    /// Keeps the lease, while there may be a key that has it.
    pub fn keep_the_lease(&mut self, now: Nanoseconds, actions: &mut Vec<K::Action>) {
        let due = self.lease.filter(|lease| now >= lease.keep_at);
        if let Some(lease) = due {
            self.lease = Some(Lease { keep_at: now + self.keeps_every(), ..lease });
            let call = self.say(Request::KeepAlive { lease: lease.number }, actions);
            // What was sent a lease ago says nothing any more.
            let length = self.config.lease;
            self.keeps.retain(|(_, sent)| now < sent + length);
            self.keeps.push((call, now));
        }
    }

    /// Takes the answer to a call that keeps the lease. `None`: it is to another call.
    pub fn kept<S>(&mut self, call: u64, reply: &Result<Reply<S>, Failed>) -> Option<Kept> {
        let at = self.keeps.iter().position(|(number, _)| *number == call)?;
        let (_, sent) = self.keeps.remove(at);
        Some(match (reply, &mut self.lease) {
            (Ok(Reply::Alive(true)), Some(lease)) => {
                lease.sent = lease.sent.max(sent);
                Kept::Yes
            }
            (Ok(Reply::Alive(false)), _) => {
                self.forget_the_lease();
                self.known = None;
                Kept::Over
            }
            _ => Kept::Unknown,
        })
    }

    /// The lease is over.
    pub fn forget_the_lease(&mut self) {
        self.lease = None;
        self.keeps.clear();
    }

    pub fn revoke_the_lease(&mut self, actions: &mut Vec<K::Action>) {
        if let Some(lease) = self.lease {
            self.say(Request::Revoke { lease: lease.number }, actions);
        }
        self.forget_the_lease();
    }

    /// When programs are to be admitted no more, by this lease. `None`: it is over, or another one.
    pub fn deadline_of(&self, lease: u64) -> Option<Nanoseconds> {
        let lease = self.lease.filter(|ours| ours.number == lease)?;
        Some(lease.sent + self.config.lease.saturating_sub(self.config.margin))
    }

    /// Returns the lease that what the host takes is to have, and the deadline by it, if they are leased; where there is none, [`NO_DEADLINE`].
    /// `Err`: it is asked for, or kept, first.
    pub fn lease_to_come_by(
        &mut self,
        now: Nanoseconds,
        purpose: K::Purpose,
        actions: &mut Vec<K::Action>,
    ) -> Result<(Option<u64>, Nanoseconds), ()> {
        if !self.is_leased() {
            return Ok((None, NO_DEADLINE));
        }
        let Some(lease) = self.lease else {
            self.ask_for_a_lease(now, purpose, actions);
            return Err(());
        };
        let until = self.deadline_of(lease.number).filter(|until| now < *until).ok_or(())?;
        Ok((Some(lease.number), until))
    }

    /// Has the file admit programs up to the deadline of the lease.
    pub fn admit_until_the_deadline(&mut self, actions: &mut Vec<K::Action>) {
        let deadline = self.lease.and_then(|lease| self.deadline_of(lease.number));
        if let Some(until) = deadline {
            self.admit_until(until, actions);
        }
    }

    pub fn admit_no_later_than(&mut self, until: Nanoseconds, actions: &mut Vec<K::Action>) {
        if until < self.until {
            self.admit_until(until, actions);
        }
    }

    fn admit_until(&mut self, until: Nanoseconds, actions: &mut Vec<K::Action>) {
        if until != self.until {
            self.until = until;
            actions.push(K::admit(until));
        }
    }

    /// What is kept has no deadline.
    pub fn clear_the_deadline(&mut self, actions: &mut Vec<K::Action>) {
        if !self.is_leased() {
            self.admit_until(NO_DEADLINE, actions);
        }
    }

    /// What the host took is its own up to this deadline. What brings it into the file comes next, in this order: an agent that is stopped in
    /// between brings nothing there that has no deadline, or an old one.
    pub fn begin_until(&mut self, until: Nanoseconds, actions: &mut Vec<K::Action>) {
        self.has_held = self.is_leased();
        self.admit_until(until, actions);
    }

    /// Returns the deadline of what was taken by this lease, if that is to come. `None`: the lease was over before the answer came, and the
    /// list says what became of it.
    pub fn deadline_to_come(&self, now: Nanoseconds, lease: Option<u64>) -> Option<Nanoseconds> {
        let until = lease.map_or(Some(NO_DEADLINE), |lease| self.deadline_of(lease));
        until.filter(|until| now < *until)
    }
}
