//! The disciplines: what the operations ask, and the queue, the rings and the messages answer.

use super::{
    local::{Holding, Idle},
    messages, queue, rotation,
    site::{Attempt, Discipline, HeadOf, Limit, QueueHead, Site},
};
use crate::error::Result;

impl Discipline {
    /// Takes the lock at once, by what is left of the participant's last acquisition, `idle`. Returns the fencing token.
    #[inline]
    pub fn retake<S: Site>(self, attempt: &Attempt<S>, idle: Idle) -> Option<u64> {
        // On a ring, and by messages, nothing is left.
        if idle == Idle::Bare { None } else { HeadOf::<S>::retake(attempt, idle) }
    }

    /// Takes the lock, or waits for it as long as `limit` says, and writes the participant down as the holder.
    /// `idle`: what is left of its last acquisition.
    #[inline]
    pub fn acquire<S: Site>(self, attempt: &Attempt<S>, limit: Limit, idle: Idle) -> Result<Holding> {
        match self {
            Discipline::Queue => queue::acquire(attempt, limit, idle),
            Discipline::Ring { rule, membership } => rotation::acquire(attempt, rule, membership, limit),
            Discipline::Messages => messages::acquire(attempt, limit),
        }
    }

    /// Lets the next participant have it. The participant is written down as the holder no more; it records that nothing is held.
    #[inline]
    pub fn leave<S: Site>(self, attempt: &Attempt<S>) {
        match self {
            Discipline::Queue => queue::leave(attempt),
            Discipline::Ring { rule, membership } => rotation::leave(attempt, rule, membership),
            Discipline::Messages => messages::leave(attempt),
        }
    }

    /// Mends what it keeps of the order, before a lock that is closed for everyone is opened again.
    pub fn renew<S: Site>(self, attempt: &Attempt<S>, limit: Limit) -> Result<()> {
        match self {
            Discipline::Queue | Discipline::Messages => Ok(()),
            Discipline::Ring { rule, .. } => rotation::renew(attempt, rule, limit),
        }
    }

    /// A dying holder has been cleared from the lock's words; lets the next one have what else it had.
    pub fn abandon<S: Site>(self, attempt: &Attempt<S>) {
        if self == Discipline::Messages {
            attempt.site.release_by_messages();
        }
    }

    /// Has the participant, which does not hold the lock, wait for it no more.
    pub fn depart<S: Site>(self, attempt: &Attempt<S>, idle: Idle) {
        match self {
            Discipline::Queue if idle == Idle::Reserved => HeadOf::<S>::forgo(attempt, idle),
            Discipline::Queue | Discipline::Messages => {}
            Discipline::Ring { rule, .. } => rotation::depart(attempt, rule),
        }
    }
}
