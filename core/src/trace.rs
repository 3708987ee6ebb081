//! The steps of lock and unlock, by name: where the verification ladder observes, stops or kills.
//!
//! Without the feature `trace`, `at` is nothing and costs nothing. With it, a test process can have a function
//! called at each step, which may well never return. The models in `spec/` and the tables in `docs/` use these names.

/// A step. What a participant does from this point to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Step {
    /// The slot's byte lock is ours: finishing what a dead one left in it, writing down which process and thread we
    /// are.
    Attach = 1,
    /// Said that we are choosing; no number yet.
    Doorway,
    /// In the queue with a number; looking which slots are before it.
    Wait,
    /// No slot is before us; not yet written down as the holder.
    Won,
    /// Written down as the holder: the critical section.
    Section,
    /// Unlocking: still the holder.
    Exit,
    /// No longer the holder; the number not yet given up.
    Leave,
    /// The number is cleared; the next one not yet unparked.
    Wake,
    /// Giving up while waiting.
    Withdraw,
    /// Acting for a dead one: its byte lock is ours, nothing done yet.
    Reap,
    /// Acting for a dead holder: its death is written down, its number still stands.
    ReapNotice,
    /// Acting for a dead one: its number is cleared, its record not yet.
    ReapCleared,
    /// Detaching: every register cleared, or the slot left to an open file and written down so; the byte lock still ours.
    Detach,
    /// As the bias owner: said that it tries; not yet sure that it may.
    Try,
    /// At the queue head: the bias is marked as revoked; not yet past the barrier.
    Revoke,
    /// Past the barrier: waiting for the bias owner to be outside.
    RevokeWait,
    /// No other participant can be inside; not yet written down as the holder.
    Settle,
    /// The bias word says that the lock is biased to this slot; its number still stands.
    Bias,
    /// Left the queue to let others pass; not yet in the standby queue.
    BackOff,
    /// On a ring: the reconfiguration lock is ours, nothing done with it yet.
    Reconfigure,
    /// Waiting for the turn to come round.
    Rotate,
    /// Passing the privilege on: the links are renewed, it is still here.
    Pass,
    /// The privilege is passed on, a membership for one turn not yet given up.
    Passed,
    /// Having scans leave out the highest slot, which is free: its byte lock is ours.
    Lower,
    /// The next fencing token is taken; not yet written down as the holder.
    Token,
    /// Written down as the holder; of a new bias owner, the bias word does not say so yet.
    Held,
    /// The bias word is cleared; not yet written down as the holder.
    Unbias,
    /// Making a lock file of an empty one that was given by a descriptor: marked as under construction.
    Make,
    /// Removing a lock: no other participant is there, and its name still stands.
    Remove,
    /// The lock is removed; the directory's lock, and the place in its queue, are still ours.
    Removed,
    /// At the queue head: the entry step is done, and no participant passes over us any more.
    Enter,
    /// Told those before us that they lost their places; not yet past the barrier.
    Evict,
    /// Past the barrier: a waiter that was seen outside is passed over.
    PassedOver,
    /// Others passed over us: about to leave the queue, to stand in it again.
    Evicted,
    /// A message is written into a mailbox, and not yet published.
    Put,
    /// A message is read, and not yet taken out of its mailbox.
    Take,
    /// The record says that the token is another participant's; it is not yet in the mailbox.
    TokenMoves,
    /// The token is in the mailbox; not yet looked whether the other one's life goes on.
    TokenSent,
    /// The record says that the lost token is ours; not yet made anew.
    TokenMade,
    /// A life is over; what it had of the token is not yet seen to.
    LifeEnds,
    /// At the head of the queue of a linked lock, which admits no program: not yet asleep.
    LinkWait,
    /// A participant that wants more than to read has left the queue of a linked lock that is home to read.
    LinkLeave,
    /// The agent of a linked lock has said that it is away, and still stands at the head of the queue.
    LinkAway,
    /// The agent of a linked lock has begun a lease, and still stands at the head of the queue.
    LinkLease,
    /// The agent of a linked semaphore has written the share of this host.
    ShareSet,
    /// It has passed the barrier, and looks whether those inside fit.
    ShareLook,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Step; 46] = [
        Step::Attach,
        Step::Doorway,
        Step::Wait,
        Step::Won,
        Step::Section,
        Step::Exit,
        Step::Leave,
        Step::Wake,
        Step::Withdraw,
        Step::Reap,
        Step::ReapNotice,
        Step::ReapCleared,
        Step::Detach,
        Step::Try,
        Step::Revoke,
        Step::RevokeWait,
        Step::Settle,
        Step::Bias,
        Step::BackOff,
        Step::Reconfigure,
        Step::Rotate,
        Step::Pass,
        Step::Passed,
        Step::Lower,
        Step::Token,
        Step::Held,
        Step::Unbias,
        Step::Make,
        Step::Remove,
        Step::Removed,
        Step::Enter,
        Step::Evict,
        Step::PassedOver,
        Step::Evicted,
        Step::Put,
        Step::Take,
        Step::TokenMoves,
        Step::TokenSent,
        Step::TokenMade,
        Step::LifeEnds,
        Step::LinkWait,
        Step::LinkLeave,
        Step::LinkAway,
        Step::LinkLease,
        Step::ShareSet,
        Step::ShareLook,
    ];
}

/// This is step `step`.
#[cfg(not(feature = "trace"))]
#[inline(always)]
pub const fn at(_: Step) {}

#[cfg(feature = "trace")]
pub use watching::at;
#[cfg(feature = "trace")]
pub use watching::watch;

#[cfg(feature = "trace")]
mod watching {
    use super::Step;
    use std::sync::OnceLock;

    static WATCHER: OnceLock<fn(Step)> = OnceLock::new();

    /// Has `watcher` called at every step of this process from now on. Once.
    pub fn watch(watcher: fn(Step)) {
        let _ = WATCHER.set(watcher);
    }

    /// This is step `step`: the watcher is called.
    pub fn at(step: Step) {
        if let Some(watcher) = WATCHER.get() {
            watcher(step);
        }
    }
}
