//! The lease of an agent, and the deadline up to which it lets programs in.
//!
//! A lease ends so long after the engine carried out the call that kept it last. The agent does not know when that was; it was not before the
//! call was *sent*. So that is what counts, and never when the answer came: a late answer, of a call that was given up on, says no more than
//! it would have said in time. The deadline is [`crate::Config::margin`] before the earliest end.

use crate::NO_DEADLINE;
use crate::Nanoseconds;
use crate::agent::{Agent, Lease, Local};
use crate::engine::{Failed, Mode, Reply, Request};
use crate::event::Action;

impl Agent {
    pub(crate) fn is_leased(&self) -> bool {
        self.config.mode == Mode::Leased
    }

    /// Takes a lease that was asked for at the time `sent`.
    pub(crate) fn granted(&mut self, number: u64, sent: Nanoseconds) {
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
    pub(crate) fn keep_the_lease(&mut self, now: Nanoseconds, actions: &mut Vec<Action>) {
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

    /// Takes the answer to a call that keeps the lease. Returns whether it is one.
    pub(crate) fn on_kept(
        &mut self,
        now: Nanoseconds,
        call: u64,
        reply: &Result<Reply, Failed>,
        actions: &mut Vec<Action>,
    ) -> bool {
        let Some(at) = self.keeps.iter().position(|(number, _)| *number == call) else { return false };
        let (_, sent) = self.keeps.remove(at);
        match (reply, &mut self.lease) {
            (Ok(Reply::Alive(true)), Some(lease)) => {
                lease.sent = lease.sent.max(sent);
                if self.has_held && !matches!(self.local, Local::Away { .. }) {
                    self.admit_until_the_deadline(actions);
                }
            }
            // What had it went with it: the list says so, and the host queues anew.
            (Ok(Reply::Alive(false)), _) => {
                self.end_the_lease(now, actions);
                self.known = None;
            }
            _ => {}
        }
        true
    }

    /// The lease is over, and with it the privilege, if the privilege had it.
    fn end_the_lease(&mut self, now: Nanoseconds, actions: &mut Vec<Action>) {
        self.lease = None;
        self.keeps.clear();
        if std::mem::take(&mut self.has_held) && !matches!(self.local, Local::Away { .. }) {
            self.admit_no_later_than(now, actions);
        }
    }

    /// Has the lock moved away, which is home or home to read.
    pub(crate) fn leave(&mut self, since: Option<Nanoseconds>, actions: &mut Vec<Action>) {
        let (first, reads) = match self.local {
            Local::Home { first, .. } => (first, false),
            Local::Reading => (None, true),
            Local::Leaving { .. } | Local::Away { .. } => return,
        };
        self.local = Local::Leaving { first, since, reads };
        self.wished_since = None;
        actions.push(Action::MoveAway);
    }

    /// The lock is home, or home to read, and the privilege is not this host's any more.
    pub(crate) fn is_robbed(&mut self, now: Nanoseconds, actions: &mut Vec<Action>) {
        if self.is_leased() {
            self.has_held = false;
            self.admit_no_later_than(now, actions);
        }
        actions.push(Action::Robbed);
        self.leave(None, actions);
    }

    /// When programs are to be admitted no more, by this lease. `None`: it is over, or another one.
    pub(crate) fn deadline_of(&self, lease: u64) -> Option<Nanoseconds> {
        let lease = self.lease.filter(|ours| ours.number == lease)?;
        Some(lease.sent + self.config.lease.saturating_sub(self.config.margin))
    }

    /// Has the file admit programs up to the deadline of the lease.
    pub(crate) fn admit_until_the_deadline(&mut self, actions: &mut Vec<Action>) {
        let deadline = self.lease.and_then(|lease| self.deadline_of(lease.number));
        if let Some(until) = deadline.filter(|until| *until != self.until) {
            self.until = until;
            actions.push(Action::Lease { until });
        }
    }

    pub(crate) fn admit_no_later_than(&mut self, until: Nanoseconds, actions: &mut Vec<Action>) {
        if until < self.until {
            self.until = until;
            actions.push(Action::Lease { until });
        }
    }

    /// The deadline of the lock at home.
    pub(crate) fn deadline(&self) -> Nanoseconds {
        if self.is_leased() { self.until } else { NO_DEADLINE }
    }

    /// When the lock is lost that is being moved away: the lease may end, and a program is inside still. One that is found inside after the
    /// host was suspended is given the time that any move takes.
    pub(crate) fn lost_at(&self) -> Option<Nanoseconds> {
        let Local::Leaving { since: Some(since), .. } = self.local else { return None };
        let end = self.deadline().saturating_add(self.config.margin);
        Some(end.max(since + self.config.hold)).filter(|_| self.is_leased())
    }

    /// Moves the lock away whose deadline has passed, and says of one that could not be moved in time that it is lost.
    pub(crate) fn keep_the_deadline(&mut self, now: Nanoseconds, actions: &mut Vec<Action>) {
        let is_home = matches!(self.local, Local::Home { .. } | Local::Reading);
        if is_home && now >= self.deadline() {
            self.leave(Some(now), actions);
        }
        if self.lost_at().is_some_and(|at| now >= at)
            && let Local::Leaving { since, .. } = &mut self.local
        {
            *since = None;
            actions.push(Action::Lost);
        }
    }
}
