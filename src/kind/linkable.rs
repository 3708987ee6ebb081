//! Which kinds of locks can be linked, and what their agent does in the queue of one, whatever its kind.

use super::{
    handle::{BiasUse, Handle, LockKind},
    mutex::Mutex,
    participant::Participant,
    rwlock::RwLock,
};
use crate::attach::{attachment::Attachment, names::Name, site::FileSite, thread::with_thread_attachment};
use turnlock_core::acquire::{
    attempt::{Attempt, LockConfig},
    site::{Limit, Site},
};
use turnlock_core::error::{Error, Result};

/// A lock that may be linked: a [`Mutex`] or a [`RwLock`], opened through [`super::MutexOptions::linked`] or
/// [`super::RwLockOptions::linked`].
pub trait Linkable {
    #[doc(hidden)]
    fn to_agent(&self) -> ToAgent;
}

/// A lock's handle, for its agent.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "it goes from the lock to its agent, and nowhere else")]
pub struct ToAgent(pub(super) Box<dyn AgentHandle>);

impl Linkable for Mutex {
    fn to_agent(&self) -> ToAgent {
        ToAgent(Box::new(self.handle().clone()))
    }
}

impl Linkable for RwLock {
    fn to_agent(&self) -> ToAgent {
        ToAgent(Box::new(self.handle().clone()))
    }
}

/// What an agent does at the head of a lock's queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum AtTheHead {
    /// It moves the lock away.
    MoveAway,
    /// It begins a lease, which ends then.
    BeginLease(u64),
}

/// A handle of a lock of any kind that can be linked, as its agent uses it.
pub(super) trait AgentHandle: Send + Sync {
    /// Returns what the kind is called.
    fn kind_name(&self) -> &'static str;
    /// Returns whether it has readers, which take no fencing token.
    fn has_readers(&self) -> bool;
    /// Returns the lock's number in the file.
    fn region(&self) -> usize;
    /// Returns whether the lock is linked.
    fn is_linked(&self) -> bool;
    /// Returns whether the lock was not removed.
    fn still_exists(&self) -> bool;
    /// Returns the participant's attachment.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: it is of another file.
    fn attachment_of<'a>(&self, participant: &'a Participant) -> Result<&'a Attachment>;
    /// Acts as a participant that claims all of the lock, in a slot of the calling thread, once it is at the head of the queue; waits for
    /// that as long as `limit` says.
    fn at_the_head(&self, what: AtTheHead, limit: Limit) -> Result<()>;
}

impl<K: LockKind> AgentHandle for Handle<K> {
    fn kind_name(&self) -> &'static str {
        K::NAME
    }

    fn has_readers(&self) -> bool {
        K::BIAS == BiasUse::Readers
    }

    fn region(&self) -> usize {
        Handle::region(self)
    }

    fn is_linked(&self) -> bool {
        Handle::is_linked(self)
    }

    fn still_exists(&self) -> bool {
        Handle::still_exists(self)
    }

    fn attachment_of<'a>(&self, participant: &'a Participant) -> Result<&'a Attachment> {
        Handle::attachment_of(self, participant)
    }

    fn at_the_head(&self, what: AtTheHead, limit: Limit) -> Result<()> {
        let Name { region, generation } = *self.name;
        with_thread_attachment(&self.file.open, |attachment| {
            let interrupt = self.file.interrupt.as_ref();
            let site = FileSite::new(attachment, region, generation, self.claims, interrupt);
            // The agent waits for no admission: it is in the queue to end that.
            let config = LockConfig { patience: 0, may_be_biased: false, is_linked: false, ..self.config };
            let attempt = Attempt { site, config, claim: K::everything() };
            let acted = match what {
                AtTheHead::MoveAway => attempt.move_away(limit),
                AtTheHead::BeginLease(end) => attempt.begin_lease(end, limit),
            };
            acted.map_err(|error| match error {
                Error::TimedOut(_) => Error::TimedOut(site.locked_by(K::everything())),
                error => error,
            })
        })
    }
}
