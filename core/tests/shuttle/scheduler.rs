//! A scheduler that lets nobody run whose lifetime is over.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as PlainU64, Ordering::SeqCst};

/// Most tasks in one execution.
pub const MOST_TASKS: usize = 64;

/// How many more steps each task will be scheduled for. One that has none left is dead.
#[derive(Clone)]
pub struct Lifetimes(Arc<[PlainU64; MOST_TASKS]>);

impl Lifetimes {
    const ENDLESS: u64 = u64::MAX;

    pub fn new() -> Self {
        Lifetimes(Arc::new([const { PlainU64::new(Self::ENDLESS) }; MOST_TASKS]))
    }

    pub fn set(&self, task: usize, steps: u64) {
        self.0[task].store(steps, SeqCst);
    }

    pub fn is_over(&self, task: usize) -> bool {
        self.0[task].load(SeqCst) == 0
    }

    pub fn make_all_endless(&self) {
        self.0.iter().for_each(|steps| steps.store(Self::ENDLESS, SeqCst));
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
        let alive = |task: &&&Task| !self.lifetimes.is_over(task.id().into());
        let living: Vec<&Task> = runnable.iter().filter(alive).copied().collect();
        let next = self.inner.next_task(&living, current, yields)?;
        let steps = &self.lifetimes.0[usize::from(next)];
        if steps.load(SeqCst) != Lifetimes::ENDLESS {
            steps.fetch_sub(1, SeqCst);
        }
        Some(next)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}
