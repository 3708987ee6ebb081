//! A scheduler that lets no task run that is dead, asleep or stopped.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool as PlainBool, AtomicU64 as PlainU64, Ordering::SeqCst};

/// Most tasks in one execution.
pub const MOST_TASKS: usize = 64;

/// Which tasks may run. For each: how many more steps it will be scheduled for (one that has none left is dead), whether it
/// sleeps, and until when it is stopped.
#[derive(Clone)]
pub struct Lifetimes(Arc<[Life; MOST_TASKS]>);

struct Life {
    steps: PlainU64,
    asleep: PlainBool,
    stopped_until: PlainU64,
}

impl Lifetimes {
    const ENDLESS: u64 = u64::MAX;

    pub fn new() -> Self {
        let life = |_| Life {
            steps: PlainU64::new(Lifetimes::ENDLESS),
            asleep: PlainBool::new(false),
            stopped_until: PlainU64::new(0),
        };
        Lifetimes(Arc::new(std::array::from_fn(life)))
    }

    pub fn set(&self, task: usize, steps: u64) {
        self.0[task].steps.store(steps, SeqCst);
    }

    pub fn is_over(&self, task: usize) -> bool {
        self.0[task].steps.load(SeqCst) == 0
    }

    /// Whether it may die.
    pub fn is_mortal(&self, task: usize) -> bool {
        !matches!(self.0[task].steps.load(SeqCst), 0 | Self::ENDLESS)
    }

    /// It does not die any more. Returns how many steps it had left.
    pub fn make_endless(&self, task: usize) -> u64 {
        self.0[task].steps.swap(Self::ENDLESS, SeqCst)
    }

    pub fn set_asleep(&self, task: usize, asleep: bool) {
        self.0[task].asleep.store(asleep, SeqCst);
    }

    pub fn is_asleep(&self, task: usize) -> bool {
        self.0[task].asleep.load(SeqCst)
    }

    /// Stops it until a time.
    pub fn stop(&self, task: usize, until: u64) {
        self.0[task].stopped_until.store(until, SeqCst);
    }

    pub fn is_stopped(&self, task: usize) -> bool {
        self.0[task].stopped_until.load(SeqCst) != 0
    }

    /// Lets those go on that were stopped until `now`. Returns when the next one goes on.
    pub fn go_on(&self, now: u64) -> Option<u64> {
        let stopped = self.0.iter().map(|life| &life.stopped_until);
        let stopped = stopped.filter(|until| until.load(SeqCst) != 0);
        let (due, later): (Vec<_>, Vec<_>) = stopped.partition(|until| until.load(SeqCst) <= now);
        due.into_iter().for_each(|until| until.store(0, SeqCst));
        later.into_iter().map(|until| until.load(SeqCst)).min()
    }

    /// As before the first step: each task may run, and never dies.
    pub fn make_all_endless(&self) {
        for Life { steps, asleep, stopped_until } in self.0.iter() {
            steps.store(Self::ENDLESS, SeqCst);
            asleep.store(false, SeqCst);
            stopped_until.store(0, SeqCst);
        }
    }
}

pub struct Mortal<S> {
    pub inner: S,
    pub lifetimes: Lifetimes,
}

impl<S: Scheduler> Scheduler for Mortal<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.lifetimes.make_all_endless();
        self.inner.new_execution()
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, yields: bool) -> Option<TaskId> {
        let may_run = |task: &&&Task| {
            let (lifetimes, task) = (&self.lifetimes, task.id().into());
            !lifetimes.is_over(task) && !lifetimes.is_asleep(task) && !lifetimes.is_stopped(task)
        };
        let living: Vec<&Task> = runnable.iter().filter(may_run).copied().collect();
        let next = self.inner.next_task(&living, current, yields)?;
        let steps = &self.lifetimes.0[usize::from(next)].steps;
        if steps.load(SeqCst) != Lifetimes::ENDLESS {
            steps.fetch_sub(1, SeqCst);
        }
        Some(next)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}
