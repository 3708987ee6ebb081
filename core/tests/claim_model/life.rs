//! What a participant does: it comes to the lock, as the handles of the library do, reads or writes what the lock protects,
//! changes its claim in place, and leaves; or dies.

use crate::oracle::{Property, Slot, count};
use crate::plan::{self, Deed, Then, Threads, Visit};
use crate::site::{At, Participant};
use crate::world::World;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use turnlock_core::acquire::{
    attempt::{Attempt, Discipline, LockConfig},
    drain::{self, NO_PERMITS},
    fast_path::UnlockOutcome,
    link as moved,
    operations::Acquisition,
    site::{Limit, Lock, Site},
};
use turnlock_core::algorithm::claim::{HoldClass, Mode, Relation};
use turnlock_core::algorithm::{ownership::Health, reservation::Reservation};
use turnlock_core::error::Error;
use turnlock_core::sync::Ordering::Relaxed;
use turnlock_core::trace::Step;

/// As many tokens as a linked lock comes home with: a bias may begin.
pub const BLOCK: u64 = 1 << 36;

/// What ends the visit of a participant that dies.
struct Dead;

#[cfg(loom)]
use loom::thread_local;
#[cfg(shuttle)]
use shuttle::thread_local;

thread_local! {
    /// Who the running thread is.
    static PARTICIPANT: RefCell<Option<(Arc<World>, usize)>> = RefCell::new(None);
}

/// The watcher of [`turnlock_core::trace`].
pub fn watch(step: Step) {
    if let Some((world, me)) = PARTICIPANT.with(|participant| participant.borrow().clone())
        && world.at(me, step)
    {
        resume_unwind(Box::new(Dead));
    }
}

/// A moment in a section, at which a participant may die as at a step of the acquisition.
pub fn moment() {
    #[cfg(shuttle)]
    shuttle::thread::yield_now();
    watch(Step::Make);
}

pub type Try<'a> = Attempt<Participant<'a>>;

impl World {
    /// One participant's visits, in slot `me`. One that has died has a newcomer in its place for the next.
    pub fn live(self: &Arc<Self>, me: usize, visits: &[Visit]) {
        let mut is_alive = true;
        for visit in visits {
            if !is_alive {
                At::new(self, me).attach();
            }
            is_alive = self.visit(me, *visit);
        }
    }

    /// A visit of slot `me`. Returns `false` if it died.
    pub fn visit(self: &Arc<Self>, me: usize, visit: Visit) -> bool {
        {
            let mut oracle = self.oracle();
            let slot = &mut oracle.slots[me];
            let (before, told) = (std::mem::take(&mut slot.before), std::mem::take(&mut slot.told));
            let claim = Some(visit.claim);
            *slot = Slot { claim, before, told, meets: true, death: visit.death, ..Slot::default() };
        }
        PARTICIPANT.with(|participant| *participant.borrow_mut() = Some((Arc::clone(self), me)));
        let outcome = catch_unwind(AssertUnwindSafe(|| self.come(me, visit)));
        PARTICIPANT.with(|participant| *participant.borrow_mut() = None);
        match outcome {
            Ok(()) => true,
            Err(panic) if panic.is::<Dead>() => {
                self.has_died(me);
                false
            }
            Err(panic) => resume_unwind(panic),
        }
    }

    /// The thread has stopped.
    fn has_died(&self, me: usize) {
        count(&self.tally.deaths);
        {
            let mut oracle = self.oracle();
            let slot = &oracle.slots[me];
            let wrote = slot.inside.is_some_and(|claim| claim.mode == Mode::Exclusive);
            if let Some(claim) =
                slot.inside.filter(|_| slot.is_recorded && self.plan.relation == Relation::Groups)
            {
                oracle.members.died(me, claim);
                count(&self.tally.deaths_of_writers);
            } else if slot.is_recorded && wrote && self.plan.relation == Relation::Modes {
                let token = self.token_of(me);
                oracle.dead = Some(token);
                oracle.last_token = oracle.last_token.max(token);
                count(&self.tally.deaths_of_writers);
            }
        }
        self.end(me);
    }

    /// What stands in its `held`, which only its own slot's participant has written.
    fn token_of(&self, me: usize) -> u64 {
        #[cfg(loom)]
        // SAFETY: its only writer is this thread, before.
        return unsafe { self.held[me].unsync_load() };
        #[cfg(shuttle)]
        // SAFETY: as above.
        return unsafe { self.held[me].raw_load() };
    }

    /// Comes to the lock, as the handles of the library do.
    fn come(&self, me: usize, visit: Visit) {
        let config = LockConfig {
            is_linked: self.plan.block.is_some() && visit.agent.is_none(),
            patience: 0,
            may_be_biased: self.plan.may_be_biased,
            release_on_death: false,
            discipline: Discipline::Queue,
        };
        let site = Participant { at: At::new(self, me), visit };
        let attempt = Attempt { site, config, claim: visit.claim };
        if let Some(deed) = visit.agent {
            return self.act_as_agent(me, &attempt, deed);
        }
        let acquired = match take_by_fast_path(&attempt) {
            Some(token) => Ok(Acquisition { token, owner_dead: false }),
            None => attempt.lock(visit.limit),
        };
        match acquired {
            Ok(acquisition) => {
                if visit.limit != Limit::Forever {
                    count(&self.tally.hurried_entries);
                }
                self.section(me, &attempt, acquisition);
                unlock(&self.go_on(me, attempt, visit.then));
            }
            Err(Error::WouldBlock(_)) if visit.limit == Limit::Never => {}
            Err(Error::TimedOut(_)) if visit.limit != Limit::Forever => {}
            // One that a mutant lets in while the lock is away.
            Err(Error::NotRecoverable) if !self.checks(Property::OwnerDead) => {}
            Err(error) => panic!("{me} cannot lock: {error}"),
        }
    }

    /// Does what the agent of a linked lock does, and what another host does meanwhile.
    fn act_as_agent(&self, me: usize, attempt: &Try, deed: Deed) {
        match deed {
            Deed::Lease => return attempt.begin_lease(u64::MAX, Limit::Forever).unwrap(),
            Deed::LeaseShare => {
                drain::set(attempt.site.lock(), 0);
                count(&self.tally.moves);
                attempt.begin_lease_of_share(u64::MAX, Limit::Forever).unwrap();
                return drain::set(attempt.site.lock(), self.plan.permits);
            }
            Deed::Share(permits) => {
                self.give_away(attempt, permits);
                self.oracle().elsewhere = 0;
                return drain::set(attempt.site.lock(), self.plan.permits);
            }
            Deed::Move | Deed::ToRead => {}
        }
        if self.link().is_away() {
            // Its predecessor's death left it so.
            self.is_inside(me, attempt.claim);
        }
        attempt.move_away(Limit::Forever).unwrap();
        count(&self.tally.moves);
        let health = self.link().health();
        // The last token of this host, and then one of the other one's.
        let token = self.token.load(Relaxed) + 1;
        if health == Health::Consistent {
            self.check_token(attempt, token);
            self.read(attempt);
            self.words_of(attempt.claim).iter().for_each(|word| word.set(token));
        }
        {
            let slot = &mut self.oracle().slots[me];
            (slot.inside, slot.entered) = (None, false);
        }
        let lock = attempt.site.lock();
        if deed == Deed::Move {
            return moved::bring_home(lock, me, (token + 1, token + BLOCK), health);
        }
        moved::bring_home_to_read(lock, me, token, health);
        self.is_inside(me, crate::plan::READ.claim);
        // A moment at which others come in, for a checker that lets them go on where it matters to another.
        for held in &self.held {
            let _ = held.load(Relaxed);
        }
        assert!(self.link().is_home_to_read(), "only the agent changes that");
        self.read(attempt);
        let slot = &mut self.oracle().slots[me];
        (slot.inside, slot.entered) = (None, false);
    }

    /// Gives permits of a linked semaphore to another host.
    fn give_away(&self, attempt: &Try, permits: u32) {
        drain::set(attempt.site.lock(), permits);
        count(&self.tally.moves);
        // For loom, which tries those orders that a thread could tell apart.
        let look_at_all = || self.held.iter().map(|held| held.load(Relaxed)).max();
        let mut left = self.plan.permits;
        while left > permits {
            left = attempt.drain_share(left, Limit::Forever).unwrap();
            look_at_all();
            let mut oracle = self.oracle();
            oracle.elsewhere = self.plan.permits - left;
            let inside: u32 = oracle.slots.iter().filter_map(|slot| Some(slot.inside?.weight)).sum();
            let elsewhere = oracle.elsewhere;
            drop(oracle);
            if self.checks(Property::Exclusion) {
                assert!(inside <= left, "Exclusion: {inside} are inside, and {elsewhere} at another host");
            }
            look_at_all();
        }
    }

    /// What it does besides, and how it holds the lock then.
    fn go_on<'a>(&self, me: usize, attempt: Try<'a>, then: Then) -> Try<'a> {
        let (limit, to) = match then {
            Then::Unlock => return attempt,
            Then::GiveAway { share, slot } => {
                let site = Participant { at: At::new(self, slot), visit: plan::share(share) };
                let config = LockConfig { is_linked: false, ..attempt.config };
                self.give_away(&Try { site, config, claim: NO_PERMITS }, share);
                return attempt;
            }
            Then::UpgradeTwice => {
                let once = self.go_on(me, attempt, Then::UpgradeAndDowngrade(Mode::Upgradable));
                return self.go_on(me, once, Then::Upgrade(Limit::Forever));
            }
            Then::Upgrade(limit) => (limit, None),
            Then::UpgradeAndDowngrade(to) => (Limit::Forever, Some(to)),
            Then::Downgrade(to) => return self.downgrade(me, attempt, to),
            Then::Keep(left) => {
                let less = Try {
                    claim: turnlock_core::algorithm::claim::Claim { weight: left, ..attempt.claim },
                    ..attempt
                };
                self.holds(me, &less);
                attempt.give_back(attempt.claim.weight - left).unwrap();
                moment();
                return less;
            }
        };
        match attempt.upgrade(limit) {
            Ok(acquisition) => {
                count(&self.tally.upgrades);
                let more = Try { claim: changed(attempt, Mode::Exclusive), ..attempt };
                self.is_inside(me, more.claim);
                self.holds(me, &more);
                self.section(me, &more, acquisition);
                to.map_or(more, |to| self.downgrade(me, more, to))
            }
            Err(Error::WouldBlock(_) | Error::TimedOut(_)) if limit != Limit::Forever => {
                count(&self.tally.upgrades_given_up);
                self.read(&attempt);
                attempt
            }
            Err(Error::WouldBlock(_)) if self.plan.block.is_some() => {
                count(&self.tally.upgrades_refused);
                self.read(&attempt);
                attempt
            }
            Err(error) => panic!("{me} cannot upgrade: {error}"),
        }
    }

    fn downgrade<'a>(&self, me: usize, attempt: Try<'a>, to: Mode) -> Try<'a> {
        let less = Try { claim: changed(attempt, to), ..attempt };
        self.holds(me, &less);
        attempt.downgrade(to).unwrap();
        moment();
        self.read(&less);
        less
    }

    /// Slot `me` holds the lock like that from here on.
    fn holds(&self, me: usize, attempt: &Try) {
        let mut oracle = self.oracle();
        let slot = &mut oracle.slots[me];
        (slot.claim, slot.inside) = (Some(attempt.claim), Some(attempt.claim));
    }

    /// Reads or writes what the lock protects.
    fn section(&self, me: usize, attempt: &Try, acquisition: Acquisition) {
        let Acquisition { token, owner_dead } = acquisition;
        if self.plan.relation == Relation::Groups {
            return self.section_of_member(me, attempt, acquisition);
        }
        self.check_token(attempt, token);
        self.hear(me, owner_dead);
        moment();
        if attempt.claim.mode != Mode::Exclusive {
            if !owner_dead {
                self.read(attempt);
            }
            return moment();
        }
        if owner_dead {
            self.words_of(attempt.claim).iter().for_each(|word| word.set(token));
            self.oracle().dead = None;
            attempt.mark_consistent().unwrap();
        }
        self.read(attempt);
        for word in self.words_of(attempt.claim) {
            word.set(token);
            moment();
        }
    }

    fn check_token(&self, attempt: &Try, token: u64) {
        let mut oracle = self.oracle();
        let last = oracle.last_token;
        oracle.last_token = last.max(token);
        drop(oracle);
        if !self.checks(Property::Token) {
            return;
        }
        if let Some(end) = self.token_end() {
            assert!(token <= end, "Token: {token} of a block that ends at {end}");
        }
        match (self.plan.relation, attempt.claim.mode) {
            (Relation::Modes, Mode::Exclusive) => assert!(token > last, "Token: {token} after {last}"),
            // One that died on the way in may have taken one.
            (Relation::Modes, _) if self.somebody_dies() => {
                assert!(token >= last, "Token: {token} after {last}")
            }
            (Relation::Modes, _) => assert_eq!(token, last, "Token: a reader's, and the last writer's"),
            (Relation::Ranges, Mode::Exclusive) => {
                let before = self.words_of(attempt.claim).iter().map(|word| word.get()).max();
                assert!(before < Some(token), "Token: {token} after {before:?}");
            }
            _ => {}
        }
    }

    /// Returns where the block ends, for a program of a linked lock that is inside. The agent writes it while no other participant is.
    fn token_end(&self) -> Option<u64> {
        let has_block = |_: &u64| !self.link().is_away() && !self.link().is_home_to_read();
        self.plan.block.filter(has_block).map(|_| self.token_end.load(Relaxed))
    }

    /// Compares what the lock says of a death with what happened.
    fn hear(&self, me: usize, owner_dead: bool) {
        if !self.checks(Property::OwnerDead) {
            return;
        }
        let dead = self.oracle().dead;
        assert_eq!(owner_dead, dead.is_some(), "OwnerDead: what the lock says to {me}, and what happened");
        if let Some(token) = dead {
            assert_eq!(self.notice.get(), token, "OwnerDead: the token told, and the dead writer's");
            count(&self.tally.notices);
        }
    }

    /// Looks at the data, unless a writer that changed them has died.
    fn read(&self, attempt: &Try) {
        if self.oracle().dead.is_some() {
            return;
        }
        let words: Vec<u64> = self.words_of(attempt.claim).iter().map(|word| word.get()).collect();
        if self.plan.relation == Relation::Modes {
            assert!(
                words.windows(2).all(|pair| pair[0] == pair[1]),
                "Data: torn, and the holder was not told: {words:?}"
            );
        }
    }
}

fn reservation<'a>(attempt: &'a Try) -> Reservation<'a> {
    let (lock, me) = (attempt.site.lock(), attempt.site.me());
    Reservation { held: lock.held(me), eviction: lock.eviction(me) }
}

/// Takes the lock as the handles of the library do before anything else: as a biased reader, or by a reservation.
fn take_by_fast_path(attempt: &Try) -> Option<u64> {
    let (lock, me) = (attempt.site.lock(), attempt.site.me());
    let by_reservation = || {
        let note = || attempt.site.note_claim(attempt.claim);
        attempt.fast_path().reenter(reservation(attempt), (lock.queue().claims, me), attempt.claim, note)
    };
    match attempt.hold_class() {
        _ if !attempt.config.may_be_biased => None,
        HoldClass::Reader => {
            attempt.fast_path().take_as_reader(lock.shared_bias(), || {}).or_else(by_reservation)
        }
        HoldClass::Alone | HoldClass::Permits => by_reservation(),
        HoldClass::Upgradable | HoldClass::Granule | HoldClass::Member => None,
    }
}

/// Unlocks as the handles of the library do.
fn unlock(attempt: &Try) {
    let lock = attempt.site.lock();
    let by_reservation = || attempt.fast_path().leave_reserved(reservation(attempt), None);
    let left = match attempt.hold_class() {
        _ if !attempt.config.may_be_biased || attempt.site.visit.threads == Threads::Another => None,
        HoldClass::Reader => {
            attempt.fast_path().leave_as_reader(lock.shared_bias(), None).or_else(by_reservation)
        }
        _ => by_reservation(),
    };
    match left {
        Some(UnlockOutcome::Done) => Ok(()),
        Some(UnlockOutcome::WasRevoked) => attempt.complete_unlock(),
        None => attempt.unlock(None),
    }
    .unwrap();
}

fn changed(attempt: Try, mode: Mode) -> turnlock_core::algorithm::claim::Claim {
    turnlock_core::algorithm::claim::Claim { mode, ..attempt.claim }
}
