//! The home thread of a shared participant (`turnlock_core::algorithm::home`): what it does on the fast path, and what other
//! threads do as the same participant, keep out of each other's way.
//!
//! One lock of the participant is taken and left by the home thread and by another one, which goes by the slow way alone:
//! as by `attach`, under `busy`, and by an exchange of the local state when it leaves.

use crate::search::two_hold;
use loom::{cell::UnsafeCell, thread};
use std::sync::{
    Arc,
    atomic::{AtomicUsize as PlainUsize, Ordering::SeqCst},
};
use turnlock_core::algorithm::home::{Caller, Calls, Doing};
use turnlock_core::error::Result;
use turnlock_core::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    full_fence,
};

const REGION: usize = 1;

/// One of the threads.
#[derive(Clone, Copy)]
struct Thread(usize);

impl Caller for Thread {
    fn me(&self) -> usize {
        self.0
    }

    /// A full fence: the home thread has one of its own here.
    fn heavy_barrier(&self) -> Result<()> {
        full_fence();
        Ok(())
    }
}

/// The participant, its lock, and what that protects.
struct Shared {
    calls: Calls,
    /// 1: the participant has the lock.
    local: AtomicU64,
    /// Touched where one thread alone may take the lock, or has left it.
    data: UnsafeCell<u64>,
    taken: PlainUsize,
    left: PlainUsize,
}

// SAFETY: `data` is touched by one thread at a time, which is what is shown; loom says so if not.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    fn take(&self) -> Option<()> {
        if self.local.load(Acquire) != 0 {
            return None;
        }
        // SAFETY: as above.
        self.data.with_mut(|data| unsafe { *data += 1 });
        self.taken.fetch_add(1, SeqCst);
        self.local.store(1, Release);
        Some(())
    }

    /// `by`: how the local state is made to say that nothing is held.
    fn leave(&self, by: impl FnOnce() -> bool) -> Option<()> {
        if self.local.load(Relaxed) == 0 || !by() {
            return None;
        }
        self.left.fetch_add(1, SeqCst);
        Some(())
    }

    fn at_home(&self, me: Thread) -> [Option<()>; 2] {
        let taken = self.calls.begin_at_home(me, Doing::TAKING).and_then(|_call| self.take());
        let plainly = || {
            self.local.store(0, Release);
            true
        };
        [taken, self.calls.begin_at_home(me, Doing::leaving(REGION)).and_then(|_call| self.leave(plainly))]
    }

    fn slowly(&self, me: Thread) -> [Option<()>; 2] {
        let taken = self.calls.begin_taking(me, REGION).ok().and_then(|_call| self.take());
        let by_exchange = || self.local.compare_exchange(1, 0, Acquire, Relaxed).is_ok();
        let may_leave = self.calls.begin_leaving(me, REGION).is_ok();
        [taken, may_leave.then(|| self.leave(by_exchange)).flatten()]
    }
}

/// How often something came about in all executions.
#[derive(Default)]
struct Tally {
    at_home: PlainUsize,
    slowly: PlainUsize,
}

fn execute(tally: &Tally) {
    let calls = Calls::new(true);
    let [home, other] = [Thread(10), Thread(12)];
    drop(calls.begin_taking(home, REGION).unwrap());
    let shared = Arc::new(Shared {
        calls,
        local: AtomicU64::new(0),
        data: UnsafeCell::new(0),
        taken: PlainUsize::new(0),
        left: PlainUsize::new(0),
    });
    let there = shared.clone();
    let second = thread::spawn(move || there.slowly(other));
    let done = [shared.at_home(home), shared.at_home(home)].concat();
    tally.at_home.fetch_add(done.into_iter().flatten().count(), SeqCst);
    tally.slowly.fetch_add(second.join().unwrap().into_iter().flatten().count(), SeqCst);
    let held = shared.local.load(Relaxed) as usize;
    let [taken, left] = [&shared.taken, &shared.left].map(|count| count.load(SeqCst));
    assert_eq!(taken, left + held, "taken and left");
}

#[test]
fn the_home_thread_and_another_take_and_leave_one_after_the_other() {
    let tally = Arc::new(Tally::default());
    let counted = Arc::clone(&tally);
    let executions = two_hold("the home thread beside another", move || execute(&counted));
    let [at_home, slowly] = [&tally.at_home, &tally.slowly].map(|count| count.load(SeqCst));
    assert!(executions > 1000 && at_home > 1000 && slowly > 1000, "a search that has become trivial");
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use crate::search::with_mutants::two_fail;
    use turnlock_core::mutants::Mutant;

    fn both_are_in_a_call(mutant: Mutant) {
        let tally = Tally::default();
        two_fail(mutant, &["Causality violation", "taken and left"], move || execute(&tally));
    }

    #[test]
    fn without_the_barrier_both_are_in_a_call() {
        both_are_in_a_call(Mutant::NoBarrierAtHome);
    }

    #[test]
    fn without_the_second_look_both_are_in_a_call() {
        both_are_in_a_call(Mutant::NoSecondLookAtHome);
    }
}
