//! A linked lock: one that programs enter only while this host has the privilege of several hosts.
//!
//! A linked lock is *home* or *away*, which its `state` word says besides its [`Health`]. An *agent* of this host, one at a time, moves
//! it:
//!
//! ```text
//! away   the agent at the head of the queue, in its entry step: the bias ends; state = away
//! home   the agent, no queue: token, token_end; state = home; it unparks the head of the queue
//! entry  a program at the head of the queue, in its entry step: home, and token < token_end? else it steps back, and waits
//! ```
//!
//! A rwlock may be *home to read*, at several hosts at once: home with `token_end` = 0. A reader takes no token, and looks only whether
//! the lock is home. Who takes one, or may (a participant that may upgrade), is not admitted; it leaves the queue, in which it would stand before the
//! agent that is to move the lock away, and queues again once the lock is not home to read any more.
//!
//! - No participant is between its entry step and its `held` = 0 when *away* is written, since the agent is alone in its own entry step;
//!   and none enters afterwards. So while the lock is away the words that a holder writes have one writer, the agent.
//! - The agent holds nothing. Its death leaves the word, which no reaper writes: a lock that is away stays so.
//! - A bias owner looks at the bias word alone. It ends before *away*, and begins only while programs are admitted.
//! - Of a rwlock the agent is a writer: it waits until all are outside that came in by a number, revokes the bias towards readers and the
//!   reserved places, and is alone then. Several readers may be at the head of the queue together, each in an entry step of its own.
//! - A lock that is *leased* (`lease_end` is not 0) admits programs until then. It is never biased: a lease begins in the agent's entry
//!   step, where the bias has ended, or while the lock is away (of a semaphore: while this host has no permit), and no bias begins under it. What gives up a revocation of the bias towards
//!   readers, or an upgrade, leaves it suspended then.
//!
//! `spec/link_sc.pml` goes through every execution.

use super::ownership::Health;
use crate::mutants::{self, Mutant};
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// In `state`: the lock is away. The [`Health`] is added to it.
const AWAY: u32 = 16;

/// In `token_end`, at home: the lock is home to read. A library that does not know of it takes that for a block that is used up.
const TO_READ: u64 = 0;

/// What a program wants of a linked lock that does not admit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wish {
    /// To read, which takes no fencing token.
    Read,
    /// All of it, or what may become that.
    Write,
}

impl Wish {
    /// Its bit in `wanted`. A program of a library that does not tell them apart wants all of it.
    const fn bit(self) -> u32 {
        match self {
            Self::Write => 1,
            Self::Read => 2,
        }
    }

    /// The largest of those in the word.
    fn of_word(word: u32) -> Option<Self> {
        match word {
            0 => None,
            word if word == Self::Read.bit() => Some(Self::Read),
            _ => Some(Self::Write),
        }
    }
}

/// With fewer tokens left than this no bias and no reservation begins: its acquisitions do not look at the block's end. A holder that took
/// one of them each two nanoseconds would need a minute, in which the agent extends the block or moves the lock away.
pub const BIAS_LEAVES: u64 = 1 << 35;

/// Why a block of tokens cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockFault {
    /// The block begins no later than the last token that was given out, which is named.
    Used(u64),
    /// It has no token, or one that no holder can have.
    Impossible,
}

/// One lock's words for it.
#[derive(Clone, Copy)]
pub struct Link<'a> {
    /// [`super::ownership::Ownership::state`].
    pub state: &'a AtomicU32,
    /// [`super::ownership::Ownership::token`].
    pub token: &'a AtomicU64,
    /// The last token of the block that is reserved for this host.
    pub token_end: &'a AtomicU64,
    /// 0, or the slot of the agent, plus 1.
    pub agent: &'a AtomicU64,
    /// The [`Wish`]es, or'ed together, of programs that were not admitted. Of a semaphore: the most permits that one of these programs wanted.
    pub wanted: &'a AtomicU32,
    /// Until when this host has the privilege, in nanoseconds by a clock that goes on while the host is suspended; 0: until it gives it
    /// up.
    pub lease_end: &'a AtomicU64,
    /// Of a semaphore: how many permits it has over all hosts ([`crate::acquire::share`]); 0: it is none, or is not linked.
    pub total: &'a AtomicU32,
}

/// Returns the state word of a lock that is away.
pub const fn away(health: Health) -> u32 {
    AWAY + health as u32
}

impl Link<'_> {
    /// Returns whether the lock is away.
    #[inline]
    pub fn is_away(&self) -> bool {
        // Acquire. Partner: the release store in `bring_home`.
        health_while_away(self.state.load(Acquire)).is_some()
    }

    /// Returns whether the data can be trusted, as far as this host knows, home or away.
    pub fn health(&self) -> Health {
        let state = self.state.load(Acquire);
        health_while_away(state).unwrap_or(Health::of(state))
    }

    /// Returns whether the lock is home, and closed to all until a reset.
    pub fn is_closed(&self) -> bool {
        let state = self.state.load(Acquire);
        health_while_away(state).is_none() && Health::of(state) == Health::NotRecoverable
    }

    /// Returns whether a program with this wish may enter. In the entry step of the queue head that stays so until it has entered, but for the
    /// lease, which ends by itself. `now`: the time by its clock, which is asked for only where the lock is leased.
    #[inline]
    pub fn admits(&self, wish: Wish, now: impl FnOnce() -> u64) -> bool {
        // Relaxed: of `token` the last writer is before us, a holder by the bakery's order, or the agent by the acquire load in
        // `is_away`. By `token_end` nothing else is read; one that is too small lets us wait until the next look.
        !self.is_away()
            && (wish == Wish::Read || self.token.load(Relaxed) < self.token_end.load(Relaxed))
            && self.lease_runs(now)
    }

    /// Returns whether the lock is home to read.
    pub fn is_home_to_read(&self) -> bool {
        // Relaxed: the acquire load in `is_away` is before it, and the agent writes the word before it brings the lock home.
        !self.is_away() && self.token_end.load(Relaxed) == TO_READ
    }

    /// Returns whether this host has the privilege still, as far as its lease says: also where it has none.
    #[inline]
    pub fn lease_runs(&self, now: impl FnOnce() -> u64) -> bool {
        // Relaxed: nothing else is read by it. Where the lock came home with a lease, the acquire load in `is_away` is before it; where
        // the lease began in the agent's entry step, the bakery's order is. An end that is too early says that it is over too soon.
        let end = self.lease_end.load(Relaxed);
        end == 0 || now() < end
    }

    /// Returns whether a bias, or a reservation, may begin: so many tokens are left, and the lock is not leased.
    pub fn may_begin_bias(&self) -> bool {
        self.tokens_left() >= BIAS_LEAVES && !self.is_leased()
    }

    /// Returns whether a bias towards readers may begin, which take no token: the lock is not leased.
    pub fn may_begin_readers_bias(&self) -> bool {
        !self.is_leased()
    }

    /// Returns whether the lock is leased, also if the lease is over.
    pub fn is_leased(&self) -> bool {
        // Relaxed: a lease begins where the one that asks, inside or in its entry step, is not; so it is before that or after.
        self.lease_end.load(Relaxed) != 0
    }

    /// Returns how many tokens of the block are left.
    pub fn tokens_left(&self) -> u64 {
        self.token_end.load(Relaxed).saturating_sub(self.token.load(Relaxed))
    }

    /// Says that the lock is away. By the agent, in its entry step, after the bias has ended.
    pub fn move_away(&self) {
        if !self.is_away() {
            // Release, though the agent's number, which it clears after this, brings the word to the next queue head.
            self.state.store(away(self.health()), Release);
        }
    }

    /// Says that the lock is home, with the tokens from `first` to `last`, which [`Link::check_block`] has found sound. By the agent, while
    /// it is away. After a death at any store the lock is away, or home with all of this.
    pub fn bring_home(&self, (first, last): (u64, u64), health: Health) {
        self.token.store(first.wrapping_sub(1), Relaxed);
        self.token_end.store(last, Relaxed);
        // Release. Partner: the acquire load in `is_away`: a queue head that sees that the lock is home sees the block.
        self.state.store(health as u32, mutants::release_unless(Mutant::RelaxedHome));
    }

    /// Says that the lock is home to read, where the last fencing token of any host is `token`, no smaller than the last one here. By the
    /// agent, as [`Link::bring_home`].
    pub fn bring_home_to_read(&self, token: u64, health: Health) {
        self.token.store(token, Relaxed);
        self.token_end.store(TO_READ, Relaxed);
        // Release. Partner: the acquire load in `is_away`: a reader that sees that the lock is home has the token of the last writer.
        self.state.store(health as u32, Release);
    }

    /// Checks a block that is to be set, of the tokens from `first` to `last`.
    pub fn check_block(&self, first: u64, last: u64) -> std::result::Result<(), BlockFault> {
        let given_out = self.token.load(Relaxed);
        if first == 0 || last < first || last >= super::ownership::TOKEN_LIMIT {
            Err(BlockFault::Impossible)
        } else if first <= given_out {
            Err(BlockFault::Used(given_out))
        } else {
            Ok(())
        }
    }

    /// Has the block end at `last`, if that is later than it ends now. By the agent, whose host has the privilege.
    pub fn extend(&self, last: u64) {
        if last > self.token_end.load(Relaxed) && last < super::ownership::TOKEN_LIMIT {
            // Relaxed: nothing else is read by it.
            self.token_end.store(last, Relaxed);
        }
    }

    /// Has the lease end at `end`; 0: it has none. By the agent; from none to one while the lock is away, or in its entry step, after the
    /// bias has ended.
    pub fn set_lease_end(&self, end: u64) {
        // Relaxed: see `lease_runs`.
        self.lease_end.store(end, Relaxed);
    }

    /// Returns the agent's slot.
    pub fn agent(&self) -> Option<usize> {
        // Acquire. Partner: the exchange in `name_agent`: what the agent has of its slot is before that.
        self.agent.load(Acquire).checked_sub(1).map(|slot| slot as usize)
    }

    /// Writes `slot` down as the agent, if there is none. Returns whether that was done.
    pub fn name_agent(&self, slot: usize) -> bool {
        // Release. Partner: the acquire load in `agent`. Acquire. Partner: the release in `forget_agent`: the wish that the last agent
        // took, and the number of the waiter that it is of, are before that.
        self.agent.compare_exchange(0, slot as u64 + 1, AcqRel, Relaxed).is_ok()
    }

    /// Has the lock no agent, if that is the participant in `slot`: by itself, or with its byte lock in hand. The lock stays home or away,
    /// as it is.
    pub fn forget_agent(&self, slot: usize) {
        // A page that is only read stays clean.
        if self.agent.load(Relaxed) == slot as u64 + 1 {
            // By exchange: where the word was written over, another agent may come meanwhile. Release. Partner: the acquire in
            // `name_agent`.
            let _ = self.agent.compare_exchange(slot as u64 + 1, 0, Release, Relaxed);
        }
    }

    /// Says that a program wants the lock. Returns the slot of the agent, which is to be woken if it sleeps.
    #[must_use]
    pub fn want(&self, wish: Wish) -> Option<usize> {
        // Release. Partner: the acquire in `take_wanted`. By a read-modify-write: others may have another wish at the same time.
        self.wanted.fetch_or(wish.bit(), Release);
        self.agent_to_wake()
    }

    /// Says that a program wants so many permits of a semaphore. Returns the slot of the agent, as [`Link::want`].
    #[must_use]
    pub fn want_permits(&self, permits: u32) -> Option<usize> {
        // Release. Partner: the acquire in `take_wanted_permits`.
        self.wanted.fetch_max(permits, Release);
        self.agent_to_wake()
    }

    fn agent_to_wake(&self) -> Option<usize> {
        // Partner: the fence in `wait::Bell::sleep`, after it says that the agent sleeps. If ours comes first, its look sees that the
        // lock is wanted; if theirs does, we see whom to wake.
        mutants::full_fence_unless(Mutant::NoFenceToWant);
        self.agent()
    }

    /// Returns whether it is a semaphore, whose permits are shared out among the hosts.
    pub fn is_shared_out(&self) -> bool {
        // Relaxed: it is never changed.
        self.total.load(Relaxed) != 0
    }

    /// Returns whether a program wants the lock. By the agent.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Acquire) != 0
    }

    /// Returns what programs have wanted, and forgets it. By the agent, which sees to it.
    pub fn take_wanted(&self) -> Option<Wish> {
        // Acquire. Partner: the release in `want`.
        Wish::of_word(self.wanted.swap(0, Acquire))
    }

    /// Forgets that a program wanted to read. By the agent, which is about to let it.
    pub fn forget_readers_wish(&self) {
        // Relaxed: what else is wanted stays, and is taken by `take_wanted`.
        self.wanted.fetch_and(!Wish::Read.bit(), Relaxed);
    }

    /// Returns how many permits of a semaphore a program has wanted in vain, at most, and forgets it. By the agent.
    pub fn take_wanted_permits(&self) -> u32 {
        // Acquire. Partner: the release in `want_permits`.
        self.wanted.swap(0, Acquire)
    }
}

fn health_while_away(state: u32) -> Option<Health> {
    let health = state.checked_sub(AWAY)?;
    (health <= Health::NotRecoverable as u32).then(|| Health::of(health))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    struct Words(AtomicU32, AtomicU64, AtomicU64, AtomicU64, AtomicU32, AtomicU64, AtomicU32);

    impl Words {
        fn away_at(token: u64) -> Self {
            let health = away(Health::Consistent);
            Self(health.into(), token.into(), 0.into(), 0.into(), 0.into(), 0.into(), 0.into())
        }

        fn link(&self) -> Link<'_> {
            let Self(state, token, token_end, agent, wanted, lease_end, total) = self;
            Link { state, token, token_end, agent, wanted, lease_end, total }
        }
    }

    #[test]
    fn a_lock_admits_programs_while_it_is_home_and_its_block_lasts() {
        let words = Words::away_at(100);
        let link = words.link();
        assert!(link.is_away() && !link.admits(Wish::Write, || 50));
        assert_eq!(link.check_block(201, 203), Ok(()));
        link.bring_home((201, 203), Health::Consistent);
        assert!(link.admits(Wish::Write, || 50) && link.tokens_left() == 3 && !link.may_begin_bias());
        words.1.store(203, Relaxed);
        assert!(!link.is_away() && !link.admits(Wish::Write, || 50), "the block is used up");
        link.extend(300);
        assert!(link.admits(Wish::Write, || 50));
        link.extend(250);
        assert_eq!(link.tokens_left(), 97, "a block does not become shorter");
        link.extend(203 + BIAS_LEAVES);
        assert!(link.may_begin_bias());
        link.move_away();
        assert!(link.is_away() && !link.admits(Wish::Write, || 50));
    }

    #[test]
    fn a_leased_lock_admits_programs_until_the_lease_ends_and_is_never_biased() {
        let words = Words::away_at(100);
        let link = words.link();
        link.bring_home((101, 101 + BIAS_LEAVES), Health::Consistent);
        assert!(
            link.admits(Wish::Write, || panic!("the clock was asked without a lease"))
                && link.may_begin_bias()
        );
        link.set_lease_end(50);
        assert!(
            link.admits(Wish::Write, || 49) && !link.admits(Wish::Write, || 50) && !link.may_begin_bias()
        );
        link.set_lease_end(51);
        assert!(link.admits(Wish::Write, || 50) && !link.lease_runs(|| 51));
        link.set_lease_end(0);
        assert!(link.admits(Wish::Write, || u64::MAX) && link.may_begin_bias());
    }

    #[test]
    fn a_lock_that_is_home_to_read_admits_readers_alone() {
        let words = Words::away_at(100);
        let link = words.link();
        assert!(!link.admits(Wish::Read, || 50) && !link.is_home_to_read());
        link.bring_home_to_read(120, Health::Inconsistent);
        assert!(link.admits(Wish::Read, || 50) && !link.admits(Wish::Write, || 50) && link.is_home_to_read());
        assert!(link.may_begin_readers_bias() && !link.may_begin_bias());
        assert_eq!((link.health(), words.1.load(Relaxed)), (Health::Inconsistent, 120));
        link.set_lease_end(50);
        assert!(!link.admits(Wish::Read, || 50) && !link.may_begin_readers_bias());
        link.move_away();
        assert!(link.is_away() && !link.is_home_to_read());
        link.set_lease_end(0);
        link.bring_home((121, 130), Health::Consistent);
        words.1.store(130, Relaxed);
        assert!(!link.admits(Wish::Write, || 50) && link.admits(Wish::Read, || 50), "the block is used up");
        assert!(!link.is_home_to_read());
    }

    #[test]
    fn the_largest_wish_is_told_once() {
        let words = Words::away_at(100);
        let link = words.link();
        assert_eq!(link.take_wanted(), None);
        let _ = link.want(Wish::Read);
        assert!(link.is_wanted());
        assert_eq!((link.take_wanted(), link.take_wanted()), (Some(Wish::Read), None));
        let _ = (link.want(Wish::Write), link.want(Wish::Read));
        link.forget_readers_wish();
        assert_eq!((link.take_wanted(), link.is_wanted()), (Some(Wish::Write), false));
    }

    #[test]
    fn a_block_that_was_begun_or_is_none_is_refused() {
        let words = Words::away_at(100);
        let link = words.link();
        for (block, fault) in [
            ((100, 200), BlockFault::Used(100)),
            ((1, 2), BlockFault::Used(100)),
            ((0, 200), BlockFault::Impossible),
            ((202, 201), BlockFault::Impossible),
            ((101, 1 << 63), BlockFault::Impossible),
        ] {
            assert_eq!(link.check_block(block.0, block.1), Err(fault), "{block:?}");
        }
    }

    #[test]
    fn what_a_death_left_goes_along() {
        for health in [Health::Consistent, Health::Inconsistent, Health::NotRecoverable] {
            let words = Words::away_at(100);
            let link = words.link();
            link.bring_home((101, 200), health);
            assert_eq!((link.health(), Health::of(words.0.load(Relaxed))), (health, health));
            link.move_away();
            assert!(link.is_away());
            assert_eq!(link.health(), health);
            assert_eq!(
                Health::of(words.0.load(Relaxed)),
                Health::NotRecoverable,
                "closed to those that do not know"
            );
        }
        let words = Words::away_at(100);
        words.0.store(19, Relaxed);
        assert!(
            !words.link().is_away() && words.link().health() == Health::NotRecoverable,
            "rubbish is closed"
        );
    }
}
