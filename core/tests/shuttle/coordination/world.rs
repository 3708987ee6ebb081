//! Participants at a condition, an event or a barrier: slots, byte locks, deaths, sleep, and the lock of a condition.
//!
//! What is plain here is no step of the model: the kernel does it at once, or only the checker knows it.

use crate::kernel::Kernel;
use crate::oracle::{Buried, task};
use crate::scheduler::{Lifetimes, MOST_TASKS};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool as PlainBool, AtomicUsize as PlainUsize, Ordering::SeqCst};
use std::time::Duration;
use support::coordination_words::Words;
use turnlock_core::acquire::site::Limit;
use turnlock_core::coordination::Slept;
use turnlock_core::error::Result;
use turnlock_core::sync::{AtomicU32, Ordering::Relaxed};
use turnlock_core::wait::Platform;

pub const SLOTS: usize = 5;
/// In steps: about two waits.
const LONGEST_LIFE: u64 = 150;
/// So often in a row all sleep on, until nothing more is to be expected: some naps of each.
const NAPS: usize = 60;

/// Who takes part, and what may happen.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub participants: usize,
    /// How many waits, notifications or meetings each has.
    pub rounds: usize,
    pub die: bool,
    pub give_up: bool,
}

/// Returns whether what a sleeper waits for has come.
type HasCome = Box<dyn Fn(&World) -> bool + Send>;

/// One execution.
pub struct World {
    pub plan: Plan,
    pub words: Words<SLOTS>,
    kernel: Kernel,
    lifetimes: Lifetimes,
    /// For each slot, the task that uses it; 0 = none, the one that has its byte lock, and whether there is something to reap.
    user: [PlainUsize; SLOTS],
    byte_lock: [PlainUsize; SLOTS],
    in_use: [PlainBool; SLOTS],
    /// The task that has the condition's lock; 0 = none.
    lock: PlainUsize,
    over: PlainBool,
    /// Counts whatever happens.
    pub progress: PlainUsize,
    pub deaths: PlainUsize,
    /// For each slot, what it waits for.
    awaited: Mutex<[Option<HasCome>; SLOTS]>,
}

thread_local! {
    /// All tasks of an execution are coroutines of one thread.
    static PRESENT: RefCell<Option<Arc<World>>> = const { RefCell::new(None) };
}

/// See [`Platform`]: the kernel of the execution that runs.
pub struct Simulated;

impl Platform for Simulated {
    const SPINS: u32 = 1;

    fn wait(word: &AtomicU32, seen: u32, at_most: Duration) -> bool {
        let world = World::present();
        let now = word.load(Relaxed);
        world.end_if_over();
        // The look and falling asleep are one step.
        if now == seen {
            world.kernel.fall_asleep(task(), word, at_most);
            thread::yield_now();
            world.end_if_over();
        }
        false
    }

    fn wake_all(word: &AtomicU32) -> bool {
        World::present().kernel.wake_all(word)
    }

    fn monotonic_ns() -> u64 {
        World::present().kernel.ask()
    }

    fn yield_now() {
        World::present().pause();
    }

    fn process_mark() -> u64 {
        1
    }
}

impl World {
    pub fn new(plan: Plan, lifetimes: &Lifetimes) -> Arc<Self> {
        let world = Arc::new(Self {
            plan,
            words: Words::new(),
            kernel: Kernel::new(lifetimes),
            lifetimes: lifetimes.clone(),
            user: Default::default(),
            byte_lock: Default::default(),
            in_use: Default::default(),
            lock: PlainUsize::new(0),
            over: PlainBool::new(false),
            progress: PlainUsize::new(0),
            deaths: PlainUsize::new(0),
            awaited: Mutex::new([const { None }; SLOTS]),
        });
        PRESENT.set(Some(Arc::clone(&world)));
        world
    }

    fn present() -> Arc<Self> {
        PRESENT.with_borrow(|present| present.clone()).expect("an execution")
    }

    /// When all is over those that are left run again, since shuttle wants every task to end; and this is where they do.
    pub fn end_if_over(&self) {
        if self.over.load(SeqCst) {
            resume_unwind(Box::new(Buried));
        }
    }

    /// Lets others run.
    pub fn pause(&self) {
        self.kernel.yields();
        thread::yield_now();
        self.end_if_over();
    }

    pub fn happened(&self) {
        self.progress.fetch_add(1, SeqCst);
    }

    fn is_free(&self, owner: &PlainUsize) -> bool {
        let owner = owner.load(SeqCst);
        owner == 0 || self.lifetimes.is_over(owner)
    }

    /// Takes the condition's lock, which the death of its holder sets free.
    pub fn take_lock(&self) {
        while !self.is_free(&self.lock) {
            self.pause();
        }
        self.lock.store(task(), SeqCst);
        self.pause();
    }

    pub fn give_lock(&self) {
        self.lock.store(0, SeqCst);
        self.pause();
    }

    /// Sleeps in slot `me` until `has_come`.
    pub fn sleep(
        &self,
        (me, alone): (usize, bool),
        has_come: impl Fn(&World) -> bool + Clone + Send + 'static,
        nap: impl FnMut() -> Result<()>,
    ) -> Slept {
        let gives_up = self.plan.give_up && thread_rng().gen_ratio(1, 3);
        let limit = match gives_up {
            true => Limit::For(Duration::from_micros(thread_rng().gen_range(1..2000))),
            false => Limit::Forever,
        };
        self.awaited.lock().unwrap()[me] = Some(Box::new(has_come.clone()));
        let slept = self.words.sleep::<Simulated>((me, alone), limit, || has_come(self), nap);
        self.end_if_over();
        self.awaited.lock().unwrap()[me] = None;
        slept
    }

    /// See `turnlock::attach::waiter::reap_if_dead`: with the byte lock of the slot in hand.
    pub fn reap_if_dead(&self, slot: usize, reap: impl Fn(usize)) -> Result<bool> {
        if !self.in_use[slot].load(SeqCst) || !self.is_free(&self.byte_lock[slot]) {
            return Ok(false);
        }
        self.byte_lock[slot].store(task(), SeqCst);
        reap(slot);
        self.end_if_over();
        self.in_use[slot].store(false, SeqCst);
        self.byte_lock[slot].store(0, SeqCst);
        Ok(true)
    }

    /// Runs `life` in slot `slot`, as a task that may die. What a dead one left there is reaped first.
    pub fn begin(
        self: &Arc<Self>,
        slot: usize,
        reap: impl Fn(&World, usize) + Send + 'static,
        life: impl FnOnce(&World) + Send + 'static,
    ) {
        // From now on it is waited for.
        self.user[slot].store(0, SeqCst);
        let world = Arc::clone(self);
        let lives = move || {
            world.end_if_over();
            world.user[slot].store(task(), SeqCst);
            if world.plan.die && thread_rng().gen_ratio(2, 3) {
                world.lifetimes.set(task(), thread_rng().gen_range(0..LONGEST_LIFE));
            }
            while !world.is_free(&world.byte_lock[slot]) {
                world.pause();
            }
            world.byte_lock[slot].store(task(), SeqCst);
            if world.in_use[slot].load(SeqCst) {
                reap(&world, slot);
                world.end_if_over();
            }
            world.in_use[slot].store(true, SeqCst);
            life(&world);
            world.end_if_over();
            world.in_use[slot].store(false, SeqCst);
            world.byte_lock[slot].store(0, SeqCst);
            world.user[slot].store(MOST_TASKS, SeqCst);
            world.happened();
        };
        // Never joined: it may die.
        thread::spawn(move || {
            let ended = catch_unwind(AssertUnwindSafe(lives));
            ended.unwrap_or_else(|end| {
                if !end.is::<Buried>() {
                    resume_unwind(end)
                }
            });
        });
    }

    fn is_done(&self, slot: usize) -> bool {
        self.user[slot].load(SeqCst) == MOST_TASKS
    }

    pub fn is_dead(&self, slot: usize) -> bool {
        let user = self.user[slot].load(SeqCst);
        user != 0 && user != MOST_TASKS && self.lifetimes.is_over(user)
    }

    fn is_asleep(&self, slot: usize) -> bool {
        let user = self.user[slot].load(SeqCst);
        user != 0 && user != MOST_TASKS && self.lifetimes.is_asleep(user)
    }

    /// Returns the slots whose participants sleep and live.
    pub fn sleepers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.plan.participants).filter(|slot| self.is_asleep(*slot) && !self.is_dead(*slot))
    }

    /// As the main thread, the kernel: lets time pass until all have ended, are dead, or sleep for good. `died` is told of each death;
    /// a newcomer may take the slot then.
    pub fn run(&self, mut died: impl FnMut(usize)) {
        let participants = 0..self.plan.participants;
        let mut told = [0; SLOTS];
        let (mut naps, mut seen) = (0, 0);
        while naps < NAPS {
            thread::yield_now();
            for slot in participants.clone().filter(|slot| self.is_dead(*slot)) {
                let user = self.user[slot].load(SeqCst);
                if told[slot] != user {
                    told[slot] = user;
                    self.kernel.forget(user);
                    self.deaths.fetch_add(1, SeqCst);
                    self.happened();
                    died(slot);
                }
            }
            let runs = |slot: usize| !(self.is_done(slot) || self.is_dead(slot) || self.is_asleep(slot));
            let runs = participants.clone().any(runs);
            let next = self.kernel.first_alarm();
            if runs {
                // A nap or a time limit ends beside what the others do.
                next.filter(|_| thread_rng().gen_ratio(1, 4))
                    .into_iter()
                    .for_each(|next| self.kernel.pass(next));
                continue;
            }
            let Some(next) = next else { return };
            // One that dies may not have woken the others.
            if !self.plan.die {
                self.none_has_missed_it();
            }
            let progress = self.progress.load(SeqCst);
            naps = if progress == seen { naps + 1 } else { 0 };
            seen = progress;
            self.kernel.pass(next);
        }
    }

    /// All sleep: none of them waits for what has come.
    pub fn none_has_missed_it(&self) {
        let awaited = self.awaited.lock().unwrap();
        let has_come = |slot: usize| awaited[slot].as_ref().is_some_and(|has_come| has_come(self));
        let missed = self.sleepers().any(has_come);
        assert!(!missed, "MISSED: it has come, and one that waits for it sleeps");
    }

    /// Ends the execution.
    pub fn end(&self) {
        self.over.store(true, SeqCst);
        self.lifetimes.make_all_endless();
    }
}
