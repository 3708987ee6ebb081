//! The oracle, which sees everything at once: the steps of the code that runs tell it the truth
//! ([`turnlock_core::trace`]). Plain atomics of the standard library: no steps of the model.

use crate::kernel::Kernel;
use crate::plan::{Plan, Property};
use crate::scheduler::{Lifetimes, MOST_TASKS};
use shuttle::current;
use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool as PlainBool, AtomicU64 as PlainU64, AtomicUsize as PlainUsize, Ordering::SeqCst,
};
use turnlock_core::trace::Step;

/// Most slots in a plan.
pub const MOST: usize = 5;

/// What the executions of a search came upon: a search that never came upon what its test is named after shows nothing.
#[derive(Debug, Default)]
pub struct Tally {
    pub schedules: PlainUsize,
    pub entries: PlainUsize,
    /// Which of them were biased.
    pub biased: PlainUsize,
    /// Revocations of a bias that began, and biased locks whose owner died inside.
    pub revocations: PlainUsize,
    pub back_offs: PlainUsize,
    /// How often a waiter passed over those before it.
    pub evictions: PlainUsize,
    /// Waits that were cancelled or timed out, and tries that failed.
    pub withdrawals: PlainUsize,
    pub abandoned: PlainUsize,
    /// Deaths of holders; of participants that stood in the queue or had just won or left; all others.
    pub deaths_inside: PlainUsize,
    pub deaths_in_queue: PlainUsize,
    pub deaths_elsewhere: PlainUsize,
    /// Which of all these were acting for another dead one; of those inside, which were biased.
    pub deaths_acting: PlainUsize,
    pub deaths_biased: PlainUsize,
    /// How often a waiter got the byte lock of the slot it waited for.
    pub acted_for_others: PlainUsize,
    pub notices: PlainUsize,
    /// How often all slept, how long the lock was free then at most (in nanoseconds), and how many were stopped or cancelled.
    pub all_asleep: PlainUsize,
    pub longest_idle: PlainU64,
    pub stopped: PlainUsize,
    pub cancelled: PlainUsize,
    /// Acquisitions that found the lock not recoverable, and resets.
    pub refused_when_closed: PlainUsize,
    pub resets: PlainUsize,
    /// How often a linked lock was moved away and brought home, its block was made longer, and its agent slept; leases that began in the queue; and the
    /// agents that died.
    pub moves: PlainUsize,
    pub homecomings: PlainUsize,
    pub extended: PlainUsize,
    pub agent_slept: PlainUsize,
    pub leases: PlainUsize,
    pub dead_agents: PlainUsize,
    /// Agents that found the lock away, and those that found it home.
    pub found_away: PlainUsize,
    pub found_home: PlainUsize,
}

pub fn count(counter: &PlainUsize) {
    counter.fetch_add(1, SeqCst);
}

pub struct Oracle {
    pub plan: Plan,
    pub tally: Arc<Tally>,
    /// For each slot, is it between having won and leaving?
    inside: [PlainBool; MOST],
    /// For each slot, whether that is by a bias.
    by_bias: [PlainBool; MOST],
    /// For each slot, which of its waits stands in the queue; 0 = none.
    waiting: [PlainUsize; MOST],
    /// For each slot, the waits that stood in the queue when its doorway began.
    before: [[PlainUsize; MOST]; MOST],
    /// For each slot, whether it is telling those before it that they lost their places, and the waits that it told.
    evicts: [PlainBool; MOST],
    told: [[PlainUsize; MOST]; MOST],
    /// For each slot, does it act for a dead one, or is it about to?
    pub reaps: [PlainBool; MOST],
    /// For each slot, is it in its doorway?
    in_doorway: [PlainBool; MOST],
    /// How many waits began.
    begun: PlainUsize,
    last_token: PlainU64,
    /// What the last complete section wrote.
    pub written: PlainU64,
    /// A holder died inside, and no later holder has repaired the data.
    pub died_inside: PlainBool,
    /// The token of the last that did.
    pub dead_token: PlainU64,
    /// A holder left without repair.
    pub closed: PlainBool,
    /// How often the lock was opened again after that.
    pub resets: PlainUsize,
    /// For each slot, how many visits it has yet to make.
    pub to_make: [PlainUsize; MOST],
    /// For each slot, the token of the section that is being executed; 0 = none.
    pub section: [PlainU64; MOST],
    /// For each slot, the task that uses it; 0 = none yet.
    pub user: [PlainUsize; MOST],
    /// For each task, the slot that it uses.
    slot: [PlainUsize; MOST_TASKS],
    /// For each slot, whether no participant uses it any more.
    pub gone: [PlainBool; MOST],
    /// No participant dies or gives up any more.
    pub closing: PlainBool,
    /// All is over.
    pub over: PlainBool,
    /// For each slot, does it wait for the end of another one's doorway?
    pub awaits_doorway: [PlainBool; MOST],
    /// For each slot, does it want the lock?
    pub wants: [PlainBool; MOST],
    pub kernel: Kernel,
    /// For how long the lock has been free while all that want it sleep, in nanoseconds.
    idle: PlainU64,
    pub link: LinkTruth,
}

/// What is true of a linked lock, as all hosts know it.
#[derive(Default)]
pub struct LinkTruth {
    /// Whether another host may have it.
    pub away: PlainBool,
    /// The last token that is reserved for any host, and the first and last that are for this one.
    pub reserved: PlainU64,
    pub first: PlainU64,
    pub last: PlainU64,
    /// Whether the lock is leased.
    pub leased: PlainBool,
    /// How many agents have died.
    pub deaths: PlainUsize,
    /// Whether an agent has come yet.
    pub has_agent: PlainBool,
    /// Whether the head of the queue may sleep at its own slot, since it found no agent: no agent unparks it, and it looks again after a nap.
    pub naps: PlainBool,
}

/// Unwinds the stack of a dead task.
pub struct Buried;

thread_local! {
    /// All tasks of an execution are coroutines of one thread.
    static PRESENT: RefCell<Option<Arc<Oracle>>> = const { RefCell::new(None) };
}

/// The task that runs.
pub fn task() -> usize {
    current::me().into()
}

/// See [`turnlock_core::trace::watch`].
pub fn at(step: Step) {
    let oracle = Oracle::present();
    oracle.end_if_over();
    oracle.hear(oracle.slot[task()].load(SeqCst), step);
}

impl Oracle {
    pub fn new(plan: &Plan, tally: &Arc<Tally>, lifetimes: &Lifetimes) -> Arc<Self> {
        let oracle = Arc::new(Oracle {
            plan: plan.clone(),
            tally: Arc::clone(tally),
            inside: Default::default(),
            by_bias: Default::default(),
            waiting: Default::default(),
            before: Default::default(),
            evicts: Default::default(),
            told: Default::default(),
            reaps: Default::default(),
            in_doorway: Default::default(),
            begun: Default::default(),
            last_token: Default::default(),
            written: Default::default(),
            died_inside: Default::default(),
            dead_token: Default::default(),
            closed: Default::default(),
            resets: Default::default(),
            to_make: [const { PlainUsize::new(0) }; MOST],
            section: Default::default(),
            user: Default::default(),
            slot: [const { PlainUsize::new(0) }; MOST_TASKS],
            gone: Default::default(),
            closing: Default::default(),
            over: Default::default(),
            awaits_doorway: Default::default(),
            wants: Default::default(),
            kernel: Kernel::new(lifetimes),
            idle: Default::default(),
            link: Default::default(),
        });
        oracle.to_make.iter().for_each(|visits| visits.store(plan.visits, SeqCst));
        PRESENT.set(Some(Arc::clone(&oracle)));
        oracle
    }

    /// The one of the execution that runs.
    pub fn present() -> Arc<Self> {
        PRESENT.with_borrow(|present| present.clone()).expect("an execution")
    }

    pub fn checks(&self, property: Property) -> bool {
        self.plan.only.is_none_or(|only| only == property)
    }

    /// After an access of the model. When all is over the dead are let run again, since shuttle wants every task to
    /// end; and this is where they do.
    pub fn end_if_over(&self) {
        if self.over.load(SeqCst) {
            resume_unwind(Box::new(Buried));
        }
    }

    /// The same, passing on what the access gave.
    pub fn watch<T>(&self, given: T) -> T {
        self.end_if_over();
        given
    }

    /// The task that runs is slot `slot` from now on.
    pub fn uses(&self, slot: usize) {
        self.user[slot].store(task(), SeqCst);
        self.slot[task()].store(slot, SeqCst);
    }

    fn hear(&self, me: usize, step: Step) {
        match step {
            Step::Wait => self.waiting[me].store(self.begun.fetch_add(1, SeqCst) + 1, SeqCst),
            Step::Withdraw => self.waiting[me].store(0, SeqCst),
            Step::BackOff => count(&self.tally.back_offs),
            Step::Revoke => count(&self.tally.revocations),
            Step::Evict => self.evicts[me].store(false, SeqCst),
            Step::PassedOver => count(&self.tally.evictions),
            Step::Won => self.arrive(me, false),
            Step::Section if !self.inside[me].load(SeqCst) => {
                self.arrive(me, true);
                count(&self.tally.biased);
            }
            Step::Exit if self.by_bias[me].load(SeqCst) => self.depart(me),
            Step::Leave => self.depart(me),
            Step::LinkAway => self.moved_away(me),
            Step::LinkLease => self.lease_begins(me),
            Step::LinkWait => self.link.naps.store(!self.link.has_agent.load(SeqCst), SeqCst),
            Step::Enter => self.link.naps.store(false, SeqCst),
            _ => {}
        }
    }

    /// The agent, in slot `me`, has just said so. It leaves the queue without having been inside.
    fn moved_away(&self, me: usize) {
        self.waiting[me].store(0, SeqCst);
        let inside = self.inside.iter().any(|inside| inside.load(SeqCst));
        assert!(!inside || !self.checks(Property::Away), "Away: said with a program inside");
        self.link.away.store(true, SeqCst);
        count(&self.tally.moves);
    }

    /// The agent, in slot `me`, has just said so.
    fn lease_begins(&self, me: usize) {
        self.waiting[me].store(0, SeqCst);
        self.link.leased.store(true, SeqCst);
        count(&self.tally.leases);
    }

    /// A doorway begins: the waiters that stand in the queue now are not to be overtaken.
    pub fn enter_doorway(&self, me: usize) {
        self.in_doorway[me].store(true, SeqCst);
        for (before, wait) in self.before[me].iter().zip(&self.waiting) {
            before.store(wait.load(SeqCst), SeqCst);
        }
    }

    pub fn leave_doorway(&self, me: usize) {
        self.in_doorway[me].store(false, SeqCst);
    }

    /// Whether a slot is in its doorway.
    pub fn is_choosing(&self, slot: usize) -> bool {
        self.in_doorway[slot].load(SeqCst)
    }

    /// Whether the task that runs is in its doorway.
    pub fn is_in_doorway(&self) -> bool {
        self.in_doorway[self.slot[task()].load(SeqCst)].load(SeqCst)
    }

    /// Slot `me` is inside. By the queue, no step of the model lies between the look that let it in and here.
    fn arrive(&self, me: usize, by_bias: bool) {
        let others_inside = self.inside.iter().any(|inside| inside.load(SeqCst));
        assert!(!others_inside || !self.checks(Property::Exclusion), "Exclusion: two are inside");
        let away = self.link.away.load(SeqCst);
        assert!(!away || !self.checks(Property::Away), "Away: {me} entered beside another host");
        let unseen = by_bias && self.link.leased.load(SeqCst);
        assert!(
            !unseen || !self.checks(Property::Away),
            "Away: {me} entered by a bias, without a look at the lease"
        );
        self.inside[me].store(true, SeqCst);
        self.idle.store(0, SeqCst);
        self.awaits_doorway[me].store(false, SeqCst);
        self.by_bias[me].store(by_bias, SeqCst);
        let waited = self.waiting[me].swap(0, SeqCst) != 0;
        // On a ring no participant waits in the queue for the lock, and a bias owner passes those that have not revoked the
        // bias yet.
        if by_bias || !waited || self.plan.ring {
            return;
        }
        for (slot, wait) in self.before[me].iter().map(|wait| wait.load(SeqCst)).enumerate() {
            let stands_there = wait != 0 && self.waiting[slot].load(SeqCst) == wait;
            let overtaken = stands_there && self.told[me][slot].load(SeqCst) != wait;
            assert!(!overtaken || !self.checks(Property::Order), "Order: slot {slot} was overtaken by {me}");
        }
    }

    /// The task that runs is about to tell those before it that they lost their places.
    pub fn begin_evicting(&self) {
        self.evicts[self.slot[task()].load(SeqCst)].store(true, SeqCst);
    }

    /// The task that runs is about to act for a dead participant, or does so no more.
    pub fn set_reaps(&self, reaps: bool) {
        self.reaps[self.slot[task()].load(SeqCst)].store(reaps, SeqCst);
    }

    /// The task that runs looks at the words by which `slot` can be passed over.
    pub fn look_at_place_of(&self, slot: usize) {
        let me = self.slot[task()].load(SeqCst);
        if self.evicts[me].load(SeqCst) {
            self.told[me][slot].store(self.waiting[slot].load(SeqCst), SeqCst);
        }
    }

    /// Slot `me` is no longer inside.
    pub fn depart(&self, me: usize) {
        self.inside[me].store(false, SeqCst);
        self.by_bias[me].store(false, SeqCst);
    }

    pub fn is_biased(&self, me: usize) -> bool {
        self.by_bias[me].load(SeqCst)
    }

    /// The participant in slot `me` has died.
    pub fn forget(&self, me: usize) {
        self.depart(me);
        self.wants[me].store(false, SeqCst);
        self.awaits_doorway[me].store(false, SeqCst);
        self.waiting[me].store(0, SeqCst);
        self.evicts[me].store(false, SeqCst);
        self.reaps[me].store(false, SeqCst);
        self.in_doorway[me].store(false, SeqCst);
    }

    /// All sleep, or are stopped, for `time` nanoseconds from now. `is_alert`: whether a slot's participant is alive and not stopped.
    pub fn all_sleep(&self, time: u64, is_alert: impl Fn(usize) -> bool) {
        count(&self.tally.all_asleep);
        let is_taken = self.inside.iter().any(|inside| inside.load(SeqCst));
        let waits = |slot: &usize| self.wants[*slot].load(SeqCst) && is_alert(*slot);
        let awaits_doorway = (0..self.plan.participants).any(|slot| self.awaits_doorway[slot].load(SeqCst));
        let naps = self.link.naps.load(SeqCst);
        if is_taken || awaits_doorway || naps || !(0..self.plan.participants).any(|slot| waits(&slot)) {
            return;
        }
        let idle = self.idle.fetch_add(time, SeqCst) + time;
        self.tally.longest_idle.fetch_max(idle, SeqCst);
        if self.checks(Property::Awake) {
            let most = self.plan.longest_idle();
            assert!(idle <= most, "Awake: the lock is free for {idle} ns, and all sleep that want it");
        }
    }

    /// Checks the token of a program.
    pub fn check_token(&self, token: u64) {
        self.check_token_of_any_host(token);
        let LinkTruth { first, last, .. } = &self.link;
        let block = first.load(SeqCst)..=last.load(SeqCst);
        let is_ours = !self.plan.link || block.contains(&token);
        assert!(is_ours || !self.checks(Property::Token), "Token: {token}, and {block:?} are this host's");
    }

    pub fn check_token_of_any_host(&self, token: u64) {
        let last = self.last_token.swap(token, SeqCst);
        assert!(token > last || !self.checks(Property::Token), "Token: {token} after {last}");
    }
}
