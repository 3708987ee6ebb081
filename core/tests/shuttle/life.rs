//! Lives and deaths in the slots of one lock, and what a holder does.

use crate::oracle::{Buried, Oracle, Tally, count, task};
use crate::plan::{Plan, Property};
use crate::scheduler::{Lifetimes, MOST_TASKS};
use crate::site::{FREE, Participant, World};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;
use turnlock_core::acquire::attempt::{Attempt, Discipline, LockConfig};
use turnlock_core::acquire::fast_path::UnlockOutcome;
use turnlock_core::acquire::operations::Acquisition;
use turnlock_core::acquire::site::{Host, Limit, Lock, Site};
use turnlock_core::algorithm::ownership::{Health, token_in};
use turnlock_core::algorithm::ring::{Machines, Membership, Rule};
use turnlock_core::algorithm::{Place, Protocol};
use turnlock_core::error::Error;
use turnlock_core::sync::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, SeqCst},
};

/// In steps: about three visits.
const LONGEST_LIFE: u64 = 250;
const MOST_DEAD_AGENTS: usize = 4;

impl World {
    /// One life in slot `me`: the task that gets its byte lock is the slot.
    fn live(&self, me: usize, rule: Rule) {
        let (oracle, plan) = (&self.oracle, self.plan());
        oracle.uses(me);
        // The last agent stays.
        let is_mortal = plan.agent() != Some(me) || oracle.link.deaths.load(SeqCst) < MOST_DEAD_AGENTS;
        if plan.die && is_mortal && !oracle.closing.load(SeqCst) && thread_rng().gen_ratio(3, 4) {
            self.lifetimes.set(task(), thread_rng().gen_range(0..LONGEST_LIFE));
        }
        while !self.take_byte_lock(me) {
            thread::yield_now();
        }
        self.clear(me);
        self.bound.fetch_max(me as u32 + 1, AcqRel);
        let local = AtomicU64::new(0);
        let attempt = self.attempt(me, rule, &local);
        if plan.agent() == Some(me) {
            return self.act_as_agent(&attempt);
        }
        while oracle.to_make[me].load(SeqCst) > 0 {
            oracle.to_make[me].fetch_sub(1, SeqCst);
            self.visit(&attempt);
            self.assert_nothing_left(me);
        }
        attempt.depart().unwrap();
        self.assert_nobody_is_member(me);
        self.give_byte_lock(me);
        oracle.gone[me].store(true, SeqCst);
    }

    /// A participant as it may be configured in this plan.
    fn attempt<'a>(&'a self, me: usize, rule: Rule, local: &'a AtomicU64) -> Attempt<Participant<'a>> {
        let plan = self.plan();
        let chance = || thread_rng().gen_ratio(1, 2);
        let membership = if chance() { Membership::OneTurn } else { Membership::EveryTurn };
        let lets_pass = plan.patient && !(plan.some_strict && chance());
        let config = LockConfig {
            is_linked: plan.link && plan.agent() != Some(me),
            patience: if lets_pass { self.patience() } else { 0 },
            may_be_biased: plan.bias,
            release_on_death: false,
            discipline: if plan.ring { Discipline::Ring { rule, membership } } else { Discipline::Queue },
        };
        let site = Participant { lock: self.lock(), me, local };
        Attempt { site, config, claim: () }
    }

    /// In nanoseconds, where waiters sleep: from less than a look takes to a few milliseconds; else in looks, and endless.
    fn patience(&self) -> u64 {
        if self.plan().sleep { 1_000 << thread_rng().gen_range(0..13) } else { u64::MAX }
    }

    fn visit(&self, attempt: &Attempt<Participant>) {
        let oracle = &self.oracle;
        let hurried = self.plan().withdraw && !oracle.closing.load(SeqCst);
        let limit = match thread_rng().gen_range(0..8) {
            0 if hurried => Limit::Never,
            1 if hurried => Limit::For(Duration::from_micros(thread_rng().gen_range(1..5000))),
            _ => Limit::Forever,
        };
        let resets = oracle.resets.load(SeqCst);
        let me = attempt.site.me;
        oracle.wants[me].store(true, SeqCst);
        let mut acquired = oracle.watch(match take_by_fast_path(attempt) {
            Some(token) => Ok(Acquisition { token, owner_dead: false }),
            None => attempt.lock(limit),
        });
        oracle.wants[me].store(false, SeqCst);
        oracle.awaits_doorway[me].store(false, SeqCst);
        if let Err(Error::NotRecoverable) = acquired {
            let was_closed = oracle.closed.load(SeqCst) || oracle.resets.load(SeqCst) != resets;
            assert!(was_closed || !oracle.checks(Property::Notice), "Notice: closed by no participant");
            count(&oracle.tally.refused_when_closed);
            if oracle.closing.load(SeqCst) || !thread_rng().gen_ratio(1, 4) {
                return;
            }
            acquired = oracle.watch(attempt.lock_and_reset(limit));
            if let Ok(acquisition) = acquired {
                return self.section_after_reset(attempt, acquisition);
            }
        }
        match acquired {
            Ok(acquisition) => self.section(attempt, acquisition),
            Err(
                Error::WouldBlock(_)
                | Error::TimedOut(_)
                | Error::Cancelled
                | Error::Interrupted
                | Error::Unsupported(_),
            ) if hurried => count(&oracle.tally.withdrawals),
            Err(error) => panic!("{error}"),
        }
    }

    fn section_after_reset(&self, attempt: &Attempt<Participant>, Acquisition { token, .. }: Acquisition) {
        let (oracle, me) = (&self.oracle, attempt.site.me);
        oracle.check_token(token);
        oracle.section[me].store(token, SeqCst);
        oracle.closed.store(false, SeqCst);
        oracle.died_inside.store(false, SeqCst);
        oracle.resets.fetch_add(1, SeqCst);
        count(&oracle.tally.resets);
        self.write(token);
        self.unlock(attempt, token);
    }

    fn section(&self, attempt: &Attempt<Participant>, acquisition: Acquisition) {
        let (oracle, me) = (&self.oracle, attempt.site.me);
        let Acquisition { token, owner_dead } = acquisition;
        oracle.check_token(token);
        oracle.section[me].store(token, SeqCst);
        count(&oracle.tally.entries);
        self.hear(owner_dead);
        if !owner_dead {
            self.read();
        } else if self.plan().careless && thread_rng().gen_ratio(1, 3) {
            oracle.closed.store(true, SeqCst);
            return self.unlock(attempt, token);
        } else {
            self.store_data(0, 0);
            self.store_data(1, 0);
            oracle.watch(attempt.mark_consistent()).unwrap();
            oracle.died_inside.store(false, SeqCst);
        }
        self.write(token);
        if self.plan().die && !oracle.closing.load(SeqCst) && thread_rng().gen_ratio(1, 12) {
            count(&oracle.tally.abandoned);
            oracle.section[me].store(0, SeqCst);
            oracle.died_inside.store(true, SeqCst);
            oracle.dead_token.store(token, SeqCst);
            oracle.depart(me);
            return attempt.abandon(Some(token)).unwrap();
        }
        self.unlock(attempt, token);
    }

    fn unlock(&self, attempt: &Attempt<Participant>, token: u64) {
        self.oracle.section[attempt.site.me].store(0, SeqCst);
        attempt.check_owner(Some(token)).unwrap();
        let named = Some(token).filter(|_| thread_rng().gen_ratio(1, 2));
        match leave_by_fast_path(attempt, named) {
            Some(UnlockOutcome::Done) => Ok(()),
            Some(UnlockOutcome::WasRevoked) => attempt.complete_unlock(),
            None => attempt.unlock(named),
        }
        .unwrap();
    }

    pub fn write(&self, token: u64) {
        self.store_data(0, token);
        self.store_data(1, token);
        self.oracle.written.store(token, SeqCst);
    }

    fn store_data(&self, word: usize, value: u64) {
        self.data[word].store(value, Relaxed);
        self.oracle.end_if_over();
    }

    fn read(&self) {
        let [left, right] = self.oracle.watch(self.data.each_ref().map(|word| word.load(Relaxed)));
        if self.oracle.checks(Property::Data) {
            assert_eq!(left, right, "Data: torn, and the holder was not told");
            let written = self.oracle.written.load(SeqCst);
            assert_eq!(left, written, "Data: what is there, and what was written last");
        }
    }

    /// Compares what the lock says of a death with what happened.
    fn hear(&self, owner_dead: bool) {
        let oracle = &self.oracle;
        let told = oracle.watch(self.notice.load(Relaxed));
        if oracle.checks(Property::Notice) {
            assert!(!oracle.closed.load(SeqCst), "Notice: entered though it is not recoverable");
            let died_inside = oracle.died_inside.load(SeqCst);
            assert_eq!(owner_dead, died_inside, "Notice: what the lock says, and what happened");
            let dead_token = oracle.dead_token.load(SeqCst);
            assert_eq!(told, dead_token, "Notice: the token told, and that of the last holder that died");
        }
        if owner_dead {
            count(&oracle.tally.notices);
        }
    }

    fn assert_nothing_left(&self, slot: usize) {
        let place = self.lock().queue().place(slot);
        assert_eq!(place, Place::Idle, "slot {slot} left something in the queue");
        let held = self.oracle.watch(self.cells[slot].held.load(Acquire));
        assert_eq!(held, 0, "slot {slot} is still written down as a holder");
    }

    fn assert_nobody_is_member(&self, slot: usize) {
        let membership = self.lock().machines().membership(slot);
        assert_eq!(membership, Membership::None, "slot {slot} is still on the ring");
    }

    /// What the kernel does when the task that used the slot is dead, and what the oracle is to know of it.
    fn bury(&self, slot: usize, dead: usize) {
        let oracle = &self.oracle;
        // As long as the dead task has its own byte lock, no other task writes its words.
        let has_slot = self.byte_locks[slot].load(Acquire) == dead as u32;
        let held = token_in(self.cells[slot].held.load(Acquire)).unwrap_or(0);
        let token = held.max(oracle.section[slot].swap(0, SeqCst));
        if has_slot && token != 0 {
            oracle.died_inside.store(true, SeqCst);
            oracle.dead_token.store(token, SeqCst);
            // It may have been about to close the lock, and not have come to it.
            let health = self.lock().ownership().health();
            oracle.closed.store(health == Health::NotRecoverable, SeqCst);
            count(&oracle.tally.deaths_inside);
            if oracle.is_biased(slot) {
                count(&oracle.tally.deaths_biased);
            }
        } else if has_slot && self.lock().queue().place(slot) != Place::Idle {
            count(&oracle.tally.deaths_in_queue);
        } else {
            count(&oracle.tally.deaths_elsewhere);
        }
        oracle.forget(slot);
        oracle.kernel.forget(dead);
        for (other, byte_lock) in self.byte_locks.iter().enumerate() {
            if byte_lock.compare_exchange(dead as u32, FREE, AcqRel, Relaxed).is_ok() && other != slot {
                count(&oracle.tally.deaths_acting);
            }
        }
    }

    /// When all have gone nothing of them is left.
    fn close(&self) {
        for slot in 0..self.plan().participants {
            assert!(self.take_byte_lock(slot), "the byte lock of {slot} was never given up");
            self.clear(slot);
            self.assert_nothing_left(slot);
            self.assert_nobody_is_member(slot);
        }
    }
}

/// Takes the lock as the handles of the library do before anything else, unless several threads use the participant.
fn take_by_fast_path(attempt: &Attempt<Participant>) -> Option<u64> {
    let (site, lock) = (&attempt.site, attempt.site.lock());
    if site.is_shared() { None } else { attempt.fast_path().take_as_owner(lock.bias(), &site.mark()) }
}

/// Unlocks likewise.
fn leave_by_fast_path(attempt: &Attempt<Participant>, token: Option<u64>) -> Option<UnlockOutcome> {
    let (site, lock) = (&attempt.site, attempt.site.lock());
    if site.is_shared() {
        return None;
    }
    attempt.fast_path().leave_as_owner(lock.bias(), &site.mark(), token)
}

/// One execution of a plan.
pub fn execute(plan: &Plan, tally: &Arc<Tally>, lifetimes: &Lifetimes) {
    count(&tally.schedules);
    let world = Arc::new(World::new(Oracle::new(plan, tally, lifetimes), lifetimes));
    let rules = [Rule::KState, Rule::Raynal, Rule::Sum { step: plan.participants - 1 }];
    let rule = rules[thread_rng().gen_range(0..rules.len())];
    let begin_life = |slot| {
        let world = Arc::clone(&world);
        // Never joined: it may die.
        thread::spawn(move || {
            let life = catch_unwind(AssertUnwindSafe(|| world.live(slot, rule)));
            life.unwrap_or_else(|end| {
                if !end.is::<Buried>() {
                    resume_unwind(end)
                }
            });
        });
    };
    (0..plan.participants).for_each(begin_life);
    let mut lives = plan.participants;
    let oracle = &world.oracle;
    // This thread is the kernel.
    let mut until_all_have_gone = || {
        while !oracle.gone[..plan.participants].iter().all(|gone| gone.load(SeqCst)) {
            for slot in 0..plan.participants {
                let user = oracle.user[slot].load(SeqCst);
                if oracle.gone[slot].load(SeqCst) || !lifetimes.is_over(user) {
                    continue;
                }
                world.bury(slot, user);
                lives += 1;
                let is_agent = plan.agent() == Some(slot);
                if is_agent {
                    count(&oracle.tally.dead_agents);
                    count(&oracle.link.deaths);
                }
                let comes_back = lives < MOST_TASKS - 2 - MOST_DEAD_AGENTS && thread_rng().gen_ratio(3, 4);
                if is_agent || comes_back {
                    oracle.user[slot].store(0, SeqCst);
                    begin_life(slot);
                } else {
                    oracle.gone[slot].store(true, SeqCst);
                }
            }
            if plan.sleep {
                world.let_time_pass();
            }
            thread::yield_now();
        }
    };
    until_all_have_gone();
    // The lock still works.
    oracle.closing.store(true, SeqCst);
    // One that came too late for a wait.
    world.cells[0].parking.cancel.clear();
    oracle.to_make[0].store(1, SeqCst);
    oracle.user[0].store(0, SeqCst);
    oracle.gone[0].store(false, SeqCst);
    begin_life(0);
    until_all_have_gone();
    world.close();
    oracle.over.store(true, SeqCst);
    lifetimes.make_all_endless();
}
