//! What the kernel does between the steps of participants that sleep: time passes, some are stopped, cancelled or killed.

use crate::oracle::{Oracle, count};
use crate::site::World;
use shuttle::rand::{Rng, thread_rng};
use std::sync::atomic::Ordering::SeqCst;
use turnlock_core::sync::Ordering::Relaxed;

/// So long participants are stopped at most, in nanoseconds.
const LONGEST_STOP: u64 = 2_000_000_000;

impl World {
    /// Returns the tasks of the participants that live, each with its slot.
    fn living(&self) -> Vec<(usize, usize)> {
        let Oracle { user, gone, .. } = &*self.oracle;
        let slots = (0..self.plan().participants).filter(|slot| !gone[*slot].load(SeqCst));
        let tasks = slots.map(|slot| (slot, user[slot].load(SeqCst)));
        tasks.filter(|(_, task)| !self.lifetimes.is_over(*task)).collect()
    }

    /// Now and then.
    pub fn let_time_pass(&self) {
        let (oracle, kernel, lifetimes) = (&self.oracle, &self.oracle.kernel, &self.lifetimes);
        let living = self.living();
        lifetimes.go_on(kernel.now());
        let sleeps = |task: usize| lifetimes.is_asleep(task);
        let runs = |(_, task): &&(usize, usize)| !sleeps(*task) && !lifetimes.is_stopped(*task);
        self.intervene(&living);
        if living.iter().any(|(_, task)| *task == 0) || living.iter().any(|one| runs(&one)) {
            return;
        }
        // Of the dead, which are about to be buried, nothing is known yet.
        let all_are_known = (0..self.plan().participants)
            .all(|slot| oracle.gone[slot].load(SeqCst) || living.iter().any(|(living, _)| *living == slot));
        if !all_are_known {
            return;
        }
        let next = [kernel.first_alarm(), lifetimes.go_on(kernel.now())].into_iter().flatten().min();
        let Some(next) = next else { return };
        let is_alert =
            |slot: usize| living.iter().any(|(living, task)| *living == slot && !lifetimes.is_stopped(*task));
        oracle.all_sleep(next.saturating_sub(kernel.now()), is_alert);
        kernel.pass(next);
    }

    /// Whether a slot's participant is inside, or on the way in.
    fn is_entering(&self, slot: usize) -> bool {
        self.cells[slot].held.load(Relaxed) != 0
    }

    fn intervene(&self, living: &[(usize, usize)]) {
        let (oracle, plan, lifetimes) = (&self.oracle, self.plan(), &self.lifetimes);
        if oracle.closing.load(SeqCst) || living.is_empty() {
            return;
        }
        let (slot, task) = living[thread_rng().gen_range(0..living.len())];
        let chance = |one_in| thread_rng().gen_ratio(1, one_in);
        if plan.withdraw && chance(100) && oracle.wants[slot].load(SeqCst) {
            count(&oracle.tally.cancelled);
            self.cancel(slot);
        }
        if plan.die && chance(100) && lifetimes.is_mortal(task) {
            lifetimes.set(task, 0);
        }
        // Many at once: all that sleep.
        if plan.die && chance(300) {
            let sleep = living.iter().filter(|(_, task)| lifetimes.is_asleep(*task));
            sleep
                .filter(|(_, task)| lifetimes.is_mortal(*task))
                .for_each(|(_, task)| lifetimes.set(*task, 0));
        }
        // While it acts for a dead one it is waited for like a holder, and so it is from its entry step on. To look whether it has taken that is a step:
        // it may begin to act for a dead one before that.
        let may_stop = plan.stop && Some(slot) != plan.agent() && task != 0;
        if may_stop && chance(100) && !self.is_entering(slot) && !oracle.reaps[slot].load(SeqCst) {
            count(&oracle.tally.stopped);
            lifetimes.stop(task, oracle.kernel.now() + thread_rng().gen_range(1..LONGEST_STOP));
        }
    }
}
