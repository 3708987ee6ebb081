//! The protocols, over registers that have one writer at a time, but for those that a read-modify-write changes (the bias word of a
//! rwlock, the number of a reservation, `evicted`). No operating system, no clock, no allocation.
//!
//! The bakery answers a few questions that never wait ([`Protocol`]), the rings likewise; waiting, time limits, parking,
//! liveness checks and introspection are then written once, for all of them. What a holder is (the fencing token, the
//! owner-dead notice) is the same for all too and stands in [`ownership`].

pub mod bakery;
pub mod bias;
pub mod claim;
pub mod dead_claim;
pub mod eviction;
pub mod home;
pub mod light_barrier;
pub mod link;
pub mod member_deaths;
pub mod ownership;
pub mod reservation;
pub mod ring;
pub mod shared_bias;

/// Mutual exclusion among numbered slots, as questions and answers that never wait.
///
/// A slot is used by one participant at a time. The order of calls for a slot is
/// `doorway`, then `is_next` or `blocker` until no slot is before it, then the critical section, then `leave`;
/// or `doorway`, then `withdraw`. `forget` is for a participant that acts for a dead one.
pub trait Protocol {
    /// Announces that slot `me` wants its turn; gives the ticket that [`Protocol::blocker`] wants. Wait-free.
    fn doorway(&self, me: usize) -> Result<u64, Corrupt>;

    /// Returns whether no slot is before `me`: then `me` is at the head of the queue. The first look, quicker than
    /// [`Protocol::blocker`], which says why not.
    fn is_next(&self, me: usize, ticket: u64) -> bool;

    /// Returns the slot that must go before `me`, leaving out those that it `passes` over. `None`: none, and `me` is at the head of the
    /// queue. Of a plain bakery the head is inside; where the lock may be biased, or waiters may be skipped, the entry step comes
    /// between ([`eviction`]).
    ///
    /// Of several, the one to wait for is named: with first come first served, the one right before me.
    fn blocker(
        &self,
        me: usize,
        ticket: u64,
        passes: impl Fn(usize) -> bool,
    ) -> Result<Option<Blocker>, Corrupt>;

    /// Calls `look` for every slot that must go before `me`, in any order, with what its register says.
    fn each_before(&self, me: usize, ticket: u64, look: impl FnMut(usize, Place));

    /// Returns whether `blocker` looks exactly as when it was named. One load; when not, ask [`Protocol::blocker`] again.
    fn still_blocks(&self, blocker: &Blocker) -> bool;

    /// Writes once more, while waiting, what the doorway wrote, should something that is not a participant have written
    /// over it. Changes nothing otherwise.
    fn restore(&self, me: usize, ticket: u64);

    /// Leaves the critical section.
    fn leave(&self, me: usize);

    /// Gives up while waiting; nothing of the wait remains.
    fn withdraw(&self, me: usize);

    /// Clears what a dead participant left, so that it blocks no other slot. Repeatable; only with its byte lock in
    /// hand.
    fn forget(&self, dead: usize);

    /// Where slot `slot` stands, for observers. May be out of date by the time it is read.
    fn place(&self, slot: usize) -> Place;
}

/// The slot to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// Its slot.
    pub slot: usize,
    /// What its register said.
    pub seen: u64,
    /// How many are before me, as far as could be seen: 1 = only this one.
    pub ahead: usize,
}

/// Where a slot stands in one lock's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Not in the queue.
    Idle,
    /// In the doorway.
    Choosing,
    /// In the queue or in the critical section, with this number.
    Numbered(u64),
    /// The register holds a value that no participant writes.
    Corrupt(u64),
}

/// A register holds a value that no participant writes: the file was overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt {
    /// Whose register.
    pub slot: usize,
    /// What it holds.
    pub value: u64,
}
