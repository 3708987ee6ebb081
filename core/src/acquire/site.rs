//! What an acquisition asks of the world.
//!
//! The operations of this layer name no file, no kernel and no clock: they ask a [`Lock`] for its registers, and a
//! [`Site`] for what one participant at that lock needs besides; what exclusion and waiting do not rest on stands in
//! [`super::host`]. The mapped file is one implementation
//! (`attach::site`); the model checkers bring theirs, so that they run the operations that ship.
//! Everything is monomorphised: no call goes through a pointer.

use super::local::{Holding, Idle, LocalState};
use crate::algorithm::{
    Blocker,
    bakery::{Bakery, Registers},
    bias::{Bias, BiasOwner, BiasWord, Mark},
    claim::Claims,
    eviction::{Eviction, Skipped},
    light_barrier::LightBarrier,
    link::Link,
    ownership::Ownership,
    ring::{Machines, Membership, Rule},
    shared_bias::SharedBias,
};
use crate::error::{LockedBy, Result};
use crate::sync::AtomicU64;

pub use super::{
    host::Host,
    outcome::{Limit, Outcome, Overdue, Overwritten, Unparked},
};

/// The registers of one lock.
pub trait Lock: Copy {
    /// The bakery's registers.
    type Queue: Registers;
    /// What participants claim, which claims conflict, and what the head of the queue does by that.
    type Claims: QueueHead;
    /// The bias word.
    type BiasWord: BiasWord;
    /// The ring's registers.
    type Machines: Machines + Copy;

    /// Returns how many slots there are.
    fn slots(&self) -> usize;
    /// Returns the queue.
    fn queue(&self) -> Bakery<Self::Queue, Self::Claims>;
    /// Returns the bias towards its owner.
    fn bias(&self) -> Bias<'_, Self::BiasWord>;
    /// Returns the bias towards readers.
    fn shared_bias(&self) -> SharedBias<'_, Self::BiasWord>;
    /// Returns the owner words.
    fn ownership(&self) -> Ownership<'_>;
    /// Returns slot `slot`'s `held` word, see [`crate::algorithm::ownership`].
    fn held(&self, slot: usize) -> &AtomicU64;
    /// Returns slot `slot`'s words for passing over it.
    fn eviction(&self, slot: usize) -> Eviction<'_>;
    /// Returns the ring's registers.
    fn machines(&self) -> Self::Machines;
    /// Returns the words of a linked lock. Looked at only where [`LockConfig::is_linked`] says that it is one.
    fn link(&self) -> Option<Link<'_>> {
        None
    }

    /// Writes the owner-dead notice, if its claim let it change what the lock protects: slot `slot` died holding the lock
    /// with fencing token `token`. Returns whether the whole lock is inconsistent by that.
    fn record_death(&self, slot: usize, token: u64) -> bool;
    /// Returns whether the holder in slot `me` is to be told of a death that leaves the lock's state as it is: a participant
    /// died that held a granule which conflicts with `claim`, or a member of a group lock, and none has marked that consistent
    /// since.
    fn is_told_of_death(&self, _me: usize, _claim: <Self::Claims as Claims>::Claim) -> bool {
        false
    }
    /// Marks what those deaths left as consistent, as the holder in slot `me`: the granules that `claim` covers, and where a
    /// death needs no repair also those that it only conflicts with; of a group lock the deaths of which it was told. Returns
    /// whether there were any.
    fn mark_deaths_consistent(
        &self,
        _me: usize,
        _claim: <Self::Claims as Claims>::Claim,
        _needs_no_repair: bool,
    ) -> bool {
        false
    }

    // What follows is for observers, and for waiters that sleep. It answers as where there are neither.

    /// Returns since when slot `slot` has held the lock or has been queued for good, in nanoseconds; 0: unknown.
    fn since(&self, _slot: usize) -> u64 {
        0
    }
    /// Writes down since when slot `slot` has held the lock, in nanoseconds; 0: it does not.
    fn set_since(&self, _slot: usize, _time: u64) {}
    /// Writes down that slot `slot`, whose participant is dead, waits no more. Observers alone read it.
    fn forget_wait(&self, _slot: usize) {}
    /// Writes down since when the bias has been under revocation, in nanoseconds; 0: it is not.
    fn set_revoking_since(&self, _time: u64) {}
    /// Returns since when the bias has been under revocation, in nanoseconds; 0: it is not.
    fn revoking_since(&self) -> u64 {
        0
    }
    /// Writes the owner-dead notice for a ring that something else than turnlock wrote over.
    fn record_overwritten_ring(&self) {}

    /// Unparks the waiters parked at slot `slot`, after the store that they wait for; and has the successor's own
    /// followers awake in time. Contains a full fence, which comes before its first look. Returns what was found.
    fn unpark_waiters_of(&self, _slot: usize) -> Unparked {
        Unparked::NoWaiter
    }
    /// Unparks the waiter parked at slot `slot` if it asked to be awake ahead of its turn.
    fn unpark_early(&self, _slot: usize) {}
    /// Wakes the participant in slot `agent`, the agent of a linked lock, if it sleeps until a program wants one of its locks. After a full
    /// fence.
    fn wake_agent(&self, _agent: usize) {}
    /// Ends the time of `slot` in the standby queue. If it was the designated waker, the oldest member of the passive set is it
    /// from now on, and is called. Else, if `next` says that the lock is free for it, unparks the designated waker, after the full
    /// fence of an [`Lock::unpark_waiters_of`].
    fn unpark_standby(&self, _slot: usize, _next: bool) {}
    /// Returns whether a participant is in the standby queue whose slot `counts`. After a full fence.
    fn stands_by(&self, _counts: impl Fn(usize) -> bool) -> bool {
        false
    }
}

/// What a participant claims at a site.
pub type ClaimOf<S> = <<<S as Site>::Lock as Lock>::Claims as Claims>::Claim;

/// One participant at one lock.
pub trait Site: Host {
    /// The lock.
    type Lock: Lock;
    /// One wait of this participant.
    type Waiter: Waiter;

    /// Returns the lock's registers.
    fn lock(&self) -> &Self::Lock;

    /// Returns the participant's slot.
    fn me(&self) -> usize;
    /// Returns how the bias word reads while the lock is biased to this participant.
    fn mark(&self) -> Mark {
        Mark::new(self.me())
    }
    /// The participant's side of the barriers whose other side is [`Site::heavy_barrier`].
    fn light(&self) -> impl LightBarrier;
    /// Returns what this participant itself knows of its part in this lock.
    fn local(&self) -> LocalState<'_>;
    /// Returns the claim of this participant, the holder, which no call changes now. `claim`: what the attempt says,
    /// which may have changed since it was made.
    fn claimed(&self, claim: ClaimOf<Self>) -> ClaimOf<Self> {
        claim
    }
    /// Notes what this participant claims from now on, for [`Site::claimed`], where [`Site::local`] says that an acquisition is under way: a signal
    /// handler that came before may have claimed something else.
    fn note_claim(&self, _claim: ClaimOf<Self>) {}
    /// Makes every participant's stores before its own barrier seen here, and ours there: the heavy barrier. After a full fence.
    ///
    /// # Errors
    /// [`crate::error::Error::Unsupported`] if the kernel refuses it.
    fn heavy_barrier(&self) -> Result<()>;
    /// Returns whether the queue head, which is about to hold the lock, should have it biased. `in_demand`: it was
    /// biased to a participant that used it all the time.
    fn wants_bias(&self, in_demand: bool) -> bool;

    /// Begins a wait of at most `limit` that lets others pass for `patience` nanoseconds, and on while another waiter is the
    /// designated waker. `may_be_ended`: by a cancel or an interrupt.
    fn waiter(&self, limit: Limit, patience: u64, may_be_ended: bool) -> Self::Waiter;
    /// Returns who holds the lock in a way that conflicts with `claim`, as far as one look shows; for people.
    fn locked_by(&self, _claim: ClaimOf<Self>) -> LockedBy {
        LockedBy::UNKNOWN
    }
    /// Acts for slot `slot` if it is dead. Returns whether that was done.
    fn reap(&self, slot: usize) -> Result<bool>;
}

/// One wait, from the first look to the turn.
pub trait Waiter {
    /// Returns how long the call may wait in all.
    fn limit(&self) -> Limit;
    /// Returns whether the waiter still lets others pass.
    fn lets_pass(&mut self) -> bool;
    /// Has the waiter queued for good from now on: no participant that comes later passes it.
    fn queue_for_good(&mut self);
    /// Waits a little for `must_wait` to become false, parked at the blocker's slot if that takes long.
    fn wait(&mut self, blocker: &Blocker, must_wait: impl Fn() -> bool) -> Outcome;
    /// Waits a little in the standby queue, where no participant is blocked by this one. Before each sleep `must_wait` is asked, after a full fence
    /// that comes after the word that the participant stands by.
    fn back_off(&mut self, must_wait: impl Fn() -> bool) -> Outcome;
    /// Returns whether it was parked when what it waited for last came about.
    fn was_parked(&self) -> bool {
        false
    }
    /// Returns whether those before this one should have come by now. `first`: the first of them, its slot and the number
    /// of its doorway, while nothing keeps it from entering; with `ahead` of them in all.
    fn is_overdue(&mut self, first: Option<(usize, u64)>, ahead: usize) -> Overdue;
    /// Checks that the file is in order and that slot `slot` is alive; reaps it if it is dead, and returns whether that
    /// was done.
    fn check_alive(&mut self, slot: usize) -> Result<bool>;
    /// Checks, now and then, that the wait has not closed a circle of participants that wait for one another. For a participant that has
    /// just slept in vain.
    ///
    /// # Errors
    /// [`crate::error::Error::CircularWait`].
    fn check_circle(&mut self) -> Result<()> {
        Ok(())
    }
}

/// How a handle acquires the lock: what the file fixes and, for a ring, what this handle wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockConfig {
    /// For how long a waiter lets others pass, in nanoseconds.
    pub patience: u64,
    /// Whether the lock may be biased.
    pub may_be_biased: bool,
    /// Whether a holder's death needs no repair: the next one is told, and that is all.
    pub release_on_death: bool,
    /// Whether the participant enters only while the link admits it ([`crate::algorithm::link`]).
    pub is_linked: bool,
    /// The order of the participants.
    pub discipline: Discipline,
}

/// What orders the participants that want a lock: a queue, a rotation, or messages. What it does stands in
/// [`super::discipline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// First come first served among claims that conflict: the bakery's queue, with a bias.
    Queue,
    /// Each in turn: a ring.
    Ring {
        /// The ring's rule.
        rule: Rule,
        /// What the participant wants of it.
        membership: Membership,
    },
    /// By messages: a machine of `turnlock::message`, at the site.
    Messages,
}

/// What an unfinished acquisition waits for.
#[derive(Clone, Copy, Debug)]
pub enum BlockedBy {
    /// An earlier participant in the queue.
    Queue(Blocker),
    /// The bias owner, which uses the lock.
    Bias(BiasOwner),
}

/// What a part of an acquisition came to.
pub enum Progress<T> {
    /// It is done.
    Done(T),
    /// Others may still pass: leave the queue and come back.
    BackOff(BlockedBy),
    /// Others passed over us: queue again.
    Evicted,
    /// One before us has changed what it claims: look again, from the same place.
    LookAgain,
}

/// One participant at one lock.
#[derive(Clone, Copy)]
pub struct Attempt<S: Site> {
    /// Participant and lock.
    pub site: S,
    /// How the lock is acquired.
    pub config: LockConfig,
    /// What of the lock it wants, or has.
    pub claim: ClaimOf<S>,
}

/// What the head of a queue does, and which waiter is behind which, where that depends on what participants claim: one
/// implementation where every two claims conflict ([`super::mutual`]), one where the claims say which do
/// ([`super::by_claims`]). The compiler chooses it by the lock's claims; the queue's loop asks for no kind of lock.
pub trait QueueHead: Claims {
    /// What a waiter remembers of the reservations that it has revoked since its number was published.
    type Revocations: Default;

    /// Takes the lock without the queue, by what the participant's last acquisition left. Returns the fencing token.
    fn retake<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, idle: Idle) -> Option<u64>;
    /// Gives up what the last acquisition left, since [`QueueHead::retake`] was in vain, and unparks the waiters for
    /// that.
    fn forgo<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, idle: Idle);
    /// Returns whether a try goes past `slot`, which is before it: the reservation there is revoked at the head of the queue.
    fn may_pass<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, slot: usize) -> bool;

    /// Takes the entry step at the head of the queue, if nothing is to be waited for. `false`: that takes more, or the place is
    /// lost.
    fn take_at_once<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, number: u64) -> bool;
    /// Takes the entry step at the head of the queue, once no participant is inside that conflicts. Returns whether what was in the way
    /// was in demand: a bias, say, that its owner used all the time.
    fn take_as_head<S: Site<Lock: Lock<Claims = Self>>>(
        attempt: &Attempt<S>,
        waiter: &mut S::Waiter,
        number: u64,
        skipped: &Skipped,
        revocations: &Self::Revocations,
    ) -> Result<Progress<bool>>;
    /// Ends the bias of a participant that no conflicting one is beside, in its entry step, once it is revoked and its owner, or the readers,
    /// are outside.
    fn end_bias<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>);
    /// Has the waiters behind this participant enter beside it. It has waited and is inside now.
    fn let_others_in<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>);
    /// Writes the participant, in its entry step, down as a holder.
    fn settle<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, in_demand: bool) -> Result<Holding>;

    /// Revokes, before a wait, what is in the way of this waiter: reservations before it, and a bias by which others would pass it.
    fn clear_the_way<S: Site<Lock: Lock<Claims = Self>>>(
        attempt: &Attempt<S>,
        waiter: &mut S::Waiter,
        number: u64,
        skipped: &mut Skipped,
        revocations: &mut Self::Revocations,
    ) -> Result<RevokeOutcome>;
    /// Another number is about to be published.
    fn forget_revocations(revocations: &mut Self::Revocations);
    /// Returns whether the participant has to go on waiting, though the registers of the one that it waits for, `blocker`, have
    /// not changed.
    fn still_waits_for<S: Site<Lock: Lock<Claims = Self>>>(
        attempt: &Attempt<S>,
        number: u64,
        blocker: usize,
        revocations: &Self::Revocations,
    ) -> bool;
    /// Acts for those that are inside, and dead, where another than the blocker may be in the way. Returns whether there were any.
    fn reap_insiders<S: Site<Lock: Lock<Claims = Self>>>(
        attempt: &Attempt<S>,
        waiter: &mut S::Waiter,
    ) -> Result<bool>;
    /// Returns whether a waiter that backs off would be passed for longer than its patience, since those that pass leave no room
    /// among themselves.
    fn would_be_passed_for_long<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) -> bool;
    /// Returns whether `slot`, which is before a waiter, waits too, as far as can be seen from its `held`.
    fn may_wait<L: Lock<Claims = Self>>(lock: &L, slot: usize) -> bool;
    /// Returns whether something else than itself keeps the first of the queue from entering: one is inside, and leaves it no
    /// room. `me`: the waiter that asks, which may be inside itself, upgrading, behind the first in the queue, and keeps none
    /// waiting by that.
    fn is_kept_waiting<L: Lock<Claims = Self>>(lock: &L, first: usize, me: Option<usize>) -> bool;

    /// Says that a holder, which came in by its number, is outside. Returns whether it keeps the number as a reservation, so that
    /// nothing is left to be done.
    fn exit<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) -> bool;
    /// Records that nothing is held, and what is left for [`QueueHead::retake`].
    fn record_left<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>);
    /// Unlocks what [`QueueHead::retake`] took, after [`LocalState::begin_unlock`].
    fn leave_retaken<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>);
    /// Completes an unlock by the fast path that found its bias or its reservation revoked, before it unparks the
    /// waiters for that.
    fn complete_leave<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>);
}

/// The queue head of a site's lock.
pub type HeadOf<S> = <<S as Site>::Lock as Lock>::Claims;

/// What [`QueueHead::clear_the_way`] came to.
pub enum RevokeOutcome {
    /// Nothing could be revoked.
    None,
    /// Something is out of the way: look again.
    Some,
    /// What is in the way is used all the time: others may still pass.
    Busy(BlockedBy),
}
