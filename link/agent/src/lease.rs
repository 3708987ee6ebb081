//! The deadline up to which an agent lets programs in, by its lease: [`crate::Config::margin`] before the earliest end ([`crate::client`]).

use crate::NO_DEADLINE;
use crate::Nanoseconds;
use crate::agent::{Agent, Local};
use crate::client::Kept;
use crate::engine::Reply;
use crate::event::Action;
use crate::request::Failed;

impl Agent {
    /// Takes the answer to a call that keeps the lease. Returns whether it is one.
    pub(crate) fn on_kept(
        &mut self,
        now: Nanoseconds,
        call: u64,
        reply: &Result<Reply, Failed>,
        actions: &mut Vec<Action>,
    ) -> bool {
        match self.client.kept(call, reply) {
            None => return false,
            Some(Kept::Yes) => {
                if self.client.has_held && !matches!(self.local, Local::Away { .. }) {
                    self.client.admit_until_the_deadline(actions);
                }
            }
            // What had it went with it: the list says so, and the host queues anew.
            Some(Kept::Over) => self.lease_has_ended(now, actions),
            Some(Kept::Unknown) => {}
        }
        true
    }

    /// The lease is over, and with it the privilege, if the privilege had it.
    fn lease_has_ended(&mut self, now: Nanoseconds, actions: &mut Vec<Action>) {
        if std::mem::take(&mut self.client.has_held) && !matches!(self.local, Local::Away { .. }) {
            self.client.admit_no_later_than(now, actions);
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
        if self.client.is_leased() {
            self.client.has_held = false;
            self.client.admit_no_later_than(now, actions);
        }
        actions.push(Action::Robbed);
        self.leave(None, actions);
    }

    /// The deadline of the lock at home.
    pub(crate) fn deadline(&self) -> Nanoseconds {
        if self.client.is_leased() { self.client.until } else { NO_DEADLINE }
    }

    /// When the lock is lost that is being moved away: the lease may end, and a program is inside still. One that is found inside after the
    /// host was suspended is given the time that any move takes.
    pub(crate) fn lost_at(&self) -> Option<Nanoseconds> {
        let Local::Leaving { since: Some(since), .. } = self.local else { return None };
        let end = self.deadline().saturating_add(self.client.config.margin);
        Some(end.max(since + self.client.config.hold)).filter(|_| self.client.is_leased())
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
