//! The words of all threads and locks, and what only the checker knows: what was the case at each moment.

use crate::plan::{LOCKS, Plan, Step};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use turnlock_core::algorithm::{
    Place,
    claim::{Claim, Relation},
    ownership::Ownership,
};
use turnlock_core::deadlock::{Blocks, Cycle, Edge, WaitGraph, WaitWord, WaitedLock, all, find};
use turnlock_core::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// How much a search was, and how much of it was worth something.
#[derive(Default)]
pub struct Tally {
    pub executions: AtomicUsize,
    /// Reports by a thread while others went on.
    pub reports: AtomicUsize,
    /// Circles at the end.
    pub circles: AtomicUsize,
}

/// What was the case at one moment.
#[derive(Clone, Debug)]
struct Moment {
    /// For which lock each thread waited, and since when.
    waits: Vec<Option<(usize, u64)>>,
    /// Which thread held each lock, with which fencing token.
    holds: [Option<(usize, u64)>; LOCKS],
}

impl Moment {
    fn has(&self, edge: &Edge) -> bool {
        let Blocks::ByHolding(token) = edge.blocks else { return false };
        let lock = edge.region - 1;
        self.waits[edge.waiter] == Some((lock, edge.since)) && self.holds[lock] == Some((edge.blocker, token))
    }

    /// Returns which thread keeps `thread` waiting.
    fn next(&self, thread: usize) -> Option<usize> {
        let (lock, _) = self.waits[thread]?;
        self.holds[lock].map(|(holder, _)| holder)
    }

    /// Returns the thread whose wait closed the circle that `thread` is in, if it is in one.
    fn closed_by(&self, thread: usize) -> Option<usize> {
        let follow = |at: &usize| self.next(*at);
        let way: Vec<usize> =
            std::iter::successors(Some(thread), follow).take(self.waits.len() + 1).collect();
        let length = way[1..].iter().position(|at| *at == thread)? + 1;
        way[..length].iter().copied().max_by_key(|at| self.waits[*at].map(|(_, since)| since))
    }
}

/// One lock.
pub struct Lock {
    /// Its holder + 1, or 0.
    owner: AtomicU64,
    token: AtomicU64,
    state: AtomicU32,
    held: Vec<AtomicU64>,
    waiting_since: Vec<AtomicU64>,
    /// Never used: its waiters stand in no queue.
    passive: AtomicU64,
    designated_waker: AtomicU32,
}

/// All words.
pub struct World {
    plan: Plan,
    tally: Arc<Tally>,
    locks: [Lock; LOCKS],
    waits: Vec<AtomicU64>,
    generation: AtomicU64,
    /// The time: it goes on with each wait. No step of the checker, and so not its.
    time: AtomicUsize,
    /// Every moment so far. Likewise. A thread notes a change right after the store that makes it.
    moments: Mutex<Vec<Moment>>,
}

impl World {
    pub fn new(plan: &Plan, tally: &Arc<Tally>) -> Arc<Self> {
        let threads = plan.len();
        let words = || (0..threads).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let locks = [(); LOCKS].map(|()| Lock {
            owner: AtomicU64::new(0),
            token: AtomicU64::new(0),
            state: AtomicU32::new(0),
            held: words(),
            waiting_since: words(),
            passive: AtomicU64::new(0),
            designated_waker: AtomicU32::new(0),
        });
        let first = Moment { waits: vec![None; threads], holds: [None; LOCKS] };
        let (waits, generation) = (words(), AtomicU64::new(1));
        let moments = Mutex::new(vec![first]);
        let time = AtomicUsize::new(0);
        Arc::new(Self {
            plan: plan.clone(),
            tally: Arc::clone(tally),
            locks,
            waits,
            generation,
            time,
            moments,
        })
    }

    /// Notes a change.
    fn note(&self, change: impl FnOnce(&mut Moment)) {
        let mut moments = self.moments.lock().unwrap();
        let mut now = moments.last().unwrap().clone();
        change(&mut now);
        moments.push(now);
    }

    /// One thread's life.
    pub fn live(&self, me: usize) {
        for step in &self.plan[me] {
            let goes_on = match *step {
                Step::Take(lock) => self.take(me, lock),
                Step::Release(lock) => self.release(me, lock),
                Step::Wait(lock, searches) => self.wait(me, lock, searches, false),
                Step::Cancelled(lock) => self.wait(me, lock, 0, true),
            };
            if !goes_on {
                return;
            }
        }
    }

    fn take(&self, me: usize, at: usize) -> bool {
        let lock = &self.locks[at];
        if lock.owner.compare_exchange(0, me as u64 + 1, Acquire, Relaxed).is_err() {
            return false;
        }
        let ownership = Ownership { token: &lock.token, state: &lock.state };
        let token = ownership.claim_token(&lock.held[me]).unwrap();
        self.note(|now| now.holds[at] = Some((me, token)));
        true
    }

    fn has(&self, me: usize, at: usize) -> bool {
        self.locks[at].owner.load(Relaxed) == me as u64 + 1
    }

    fn release(&self, me: usize, at: usize) -> bool {
        if !self.has(me, at) {
            return false;
        }
        let lock = &self.locks[at];
        Ownership { token: &lock.token, state: &lock.state }.exit_unchanged(&lock.held[me]);
        self.note(|now| now.holds[at] = None);
        lock.owner.store(0, Release);
        true
    }

    fn wait(&self, me: usize, at: usize, searches: usize, is_cancelled: bool) -> bool {
        if self.take(me, at) {
            return true;
        }
        // A thread that waits for what it has is refused.
        if self.has(me, at) {
            return false;
        }
        let waiting_since = &self.locks[at].waiting_since[me];
        let since = self.time.fetch_add(1, SeqCst) as u64 + 1;
        waiting_since.store(since, Relaxed);
        let before = WaitWord::begin(&self.waits[me], at + 1, true);
        self.note(|now| now.waits[me] = Some((at, since)));
        (0..searches).for_each(|_| self.search(me));
        let is_taken = self.take(me, at);
        if is_taken || is_cancelled {
            WaitWord::end(&self.waits[me], before);
            self.note(|now| now.waits[me] = None);
            waiting_since.store(0, Relaxed);
        }
        is_taken || is_cancelled
    }

    fn search(&self, me: usize) {
        let mut cycle = Cycle::default();
        if find(self, me, &|_| true, &mut cycle) {
            self.tally.reports.fetch_add(1, SeqCst);
            self.check(&cycle);
        }
    }

    /// Every edge of the circle was there at one moment.
    fn check(&self, cycle: &Cycle) {
        let edges = cycle.edges();
        let was_there = |moment: &Moment| edges.iter().all(|edge| moment.has(edge));
        let moments = self.moments.lock().unwrap();
        assert!(moments.iter().any(was_there), "FALSE ALARM: {edges:?}");
    }

    /// All threads have ended, or sleep for ever.
    pub fn check_end(&self) {
        let end = self.moments.lock().unwrap().last().unwrap().clone();
        let mut circles = 0;
        for thread in 0..self.plan.len() {
            let mut cycle = Cycle::default();
            let found = find(self, thread, &|_| true, &mut cycle);
            let closed = end.closed_by(thread) == Some(thread);
            assert!(found || !closed, "NOT FOUND by thread {thread}, which closed it: {end:?}");
            assert!(closed || !found, "FOUND by thread {thread}, which did not close it: {end:?}");
            if found {
                assert!(cycle.edges().iter().all(|edge| end.has(edge)), "FALSE ALARM: {:?}", cycle.edges());
                circles += 1;
            }
        }
        assert_eq!(all(self, &|_| true).len(), circles);
        self.tally.circles.fetch_add(circles, SeqCst);
    }
}

impl WaitGraph for World {
    type Lock<'a> = &'a Lock;

    fn slots_bound(&self) -> usize {
        self.waits.len()
    }

    fn generation(&self, _: usize) -> &AtomicU64 {
        &self.generation
    }

    fn wait(&self, slot: usize) -> &AtomicU64 {
        &self.waits[slot]
    }

    fn is_of_thread(&self, _: usize) -> bool {
        true
    }

    fn is_same_thread(&self, one: usize, other: usize) -> bool {
        one == other
    }

    fn has_lock(&self, region: usize) -> bool {
        (1..=LOCKS).contains(&region)
    }

    fn lock(&self, region: usize) -> &Lock {
        &self.locks[region - 1]
    }
}

/// A mutex.
impl WaitedLock for &Lock {
    fn relation(&self) -> Relation {
        Relation::Always
    }

    fn conflict(&self, _: Claim, _: Claim) -> bool {
        true
    }

    fn has_queue(&self) -> bool {
        false
    }

    fn slots_in_use(&self) -> usize {
        self.held.len()
    }

    fn waiting_since(&self, slot: usize) -> u64 {
        self.waiting_since[slot].load(Relaxed)
    }

    fn claim(&self, _: usize) -> Claim {
        Claim::EVERYTHING
    }

    fn held(&self, slot: usize) -> &AtomicU64 {
        &self.held[slot]
    }

    fn place(&self, _: usize) -> Place {
        Place::Idle
    }

    fn since(&self, _: usize) -> u64 {
        0
    }

    fn is_evicted(&self, _: usize) -> bool {
        false
    }

    fn passive(&self, _: usize) -> &AtomicU64 {
        &self.passive
    }

    fn designated_waker(&self) -> &AtomicU32 {
        &self.designated_waker
    }
}
