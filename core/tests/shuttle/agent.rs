//! The agent of a linked lock: it moves the lock away, lets another host enter, and brings it home.

use crate::kernel::Simulated;
use crate::oracle::{count, task};
use crate::site::{Participant, World};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use turnlock_core::acquire::attempt::Attempt;
use turnlock_core::acquire::link as moved;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::{link::Link, ownership::Health};
use turnlock_core::error::Result;
use turnlock_core::sync::{AtomicU32, AtomicU64, Ordering::Relaxed};
use turnlock_core::wait::Bell;

/// A nap, as the agent that ships takes it.
const NAP: Duration = Duration::from_secs(1);
/// As many tokens as a bias may begin with.
const LARGE_BLOCK: u64 = 1 << 36;

/// As many as no plan's programs use up.
const ENOUGH: u64 = 64;

/// The words of a linked lock, and its agent's bell.
#[derive(Default)]
pub struct AgentWords {
    token_end: AtomicU64,
    agent: AtomicU64,
    wanted: AtomicU32,
    bell: AtomicU32,
    asleep: AtomicU32,
    lease_end: AtomicU64,
    total: AtomicU32,
}

impl AgentWords {
    pub fn bell(&self) -> Bell<'_> {
        Bell { bell: &self.bell, asleep: &self.asleep }
    }
}

impl World {
    pub fn link(&self) -> Link<'_> {
        let AgentWords { token_end, agent, wanted, lease_end, total, .. } = &self.agent;
        Link { state: &self.state, token: &self.token, token_end, agent, wanted, lease_end, total }
    }

    /// The agent's life, with its byte lock, until all programs have gone.
    pub fn act_as_agent(&self, attempt: &Attempt<Participant>) {
        let (oracle, me) = (&self.oracle, attempt.site.me);
        let truth = &oracle.link;
        let is_agent = oracle.watch(moved::attach(&self.lock(), me));
        assert!(is_agent, "the last agent was cleared, and another one is there");
        truth.has_agent.store(true, SeqCst);
        if self.is_home() {
            count(&oracle.tally.found_home);
            // What comes with it is written before it is home.
            assert!(!truth.away.load(SeqCst), "home, and no agent brought it home");
        } else {
            count(&oracle.tally.found_away);
            truth.away.store(true, SeqCst);
        }
        let have_gone = || oracle.gone[..me].iter().all(|gone| gone.load(SeqCst));
        let on_demand = self.plan().on_demand;
        while !have_gone() {
            let is_wanted = oracle.watch(self.link().take_wanted()).is_some();
            if is_wanted && self.is_home() {
                self.extend(me);
            } else if is_wanted || !self.is_home() && !on_demand && thread_rng().gen_ratio(1, 8) {
                self.come_home(me, self.block_size());
            } else if self.is_home() && thread_rng().gen_ratio(1, 2) {
                self.move_away(attempt);
            } else if thread_rng().gen_ratio(1, 3) {
                self.change_lease(attempt);
            } else {
                self.sleep();
            }
        }
        if self.is_home() {
            self.come_to_end(me);
        } else {
            self.come_home(me, LARGE_BLOCK);
        }
        self.link().forget_agent(me);
        self.give_byte_lock(me);
        oracle.gone[me].store(true, SeqCst);
    }

    fn is_home(&self) -> bool {
        self.oracle.watch(!self.link().is_away())
    }

    fn block_size(&self) -> u64 {
        if self.plan().bias { LARGE_BLOCK } else { thread_rng().gen_range(1..5) }
    }

    /// Until a program wants the lock.
    fn sleep(&self) {
        if self.plan().sleep {
            count(&self.oracle.tally.agent_slept);
            self.agent.bell().sleep::<Simulated>(NAP, || self.oracle.watch(self.link().is_wanted()));
        } else {
            thread::yield_now();
        }
        self.oracle.end_if_over();
    }

    fn move_away(&self, attempt: &Attempt<Participant>) {
        let moved = self.in_queue(attempt, |attempt| attempt.move_away(Limit::Forever));
        // Cancelled, or the kernel refused a barrier: then it is home still.
        if moved.is_ok() && self.oracle.watch(self.link().health()) == Health::Consistent {
            self.let_other_host_enter();
        }
    }

    /// Ends a lease that never ends by itself, or begins one.
    fn change_lease(&self, attempt: &Attempt<Participant>) {
        let (oracle, me) = (&self.oracle, attempt.site.me);
        if oracle.watch(self.link().lease_end.load(Relaxed)) != 0 {
            oracle.link.leased.store(false, SeqCst);
            moved::renew_lease(&self.lock(), me, 0);
        } else if self.is_home() {
            // It may be cancelled; then there is none.
            let _ = self.in_queue(attempt, |attempt| attempt.begin_lease(u64::MAX, Limit::Forever));
        }
        oracle.end_if_over();
    }

    fn in_queue(
        &self,
        attempt: &Attempt<Participant>,
        act: impl FnOnce(&Attempt<Participant>) -> Result<()>,
    ) -> Result<()> {
        let (oracle, me) = (&self.oracle, attempt.site.me);
        // One that has used up the tokens in the queue is passed over by the agent behind it, but not soon.
        if self.plan().longest_idle() == 0 || self.plan().on_demand {
            self.extend_to(me, oracle.link.reserved.fetch_add(ENOUGH, SeqCst) + ENOUGH);
        }
        oracle.wants[me].store(true, SeqCst);
        let acted = oracle.watch(act(attempt));
        oracle.wants[me].store(false, SeqCst);
        oracle.awaits_doorway[me].store(false, SeqCst);
        acted
    }

    /// What it does is not this agent's, and does not die with it.
    fn let_other_host_enter(&self) {
        let lifetime = self.lifetimes.make_endless(task());
        let token = self.oracle.link.reserved.fetch_add(1, SeqCst) + 1;
        self.oracle.check_token_of_any_host(token);
        self.write(token);
        self.lifetimes.set(task(), lifetime);
    }

    fn come_home(&self, me: usize, tokens: u64) {
        let truth = &self.oracle.link;
        let before = truth.reserved.fetch_add(tokens, SeqCst);
        truth.first.store(before + 1, SeqCst);
        truth.last.store(before + tokens, SeqCst);
        let health = self.oracle.watch(self.link().health());
        truth.away.store(false, SeqCst);
        moved::bring_home(&self.lock(), me, (before + 1, before + tokens), health);
        self.oracle.end_if_over();
        count(&self.oracle.tally.homecomings);
    }

    fn extend(&self, me: usize) {
        self.extend_to(me, self.oracle.link.reserved.fetch_add(2, SeqCst) + 2);
        count(&self.oracle.tally.extended);
    }

    /// One more visit comes.
    fn come_to_end(&self, me: usize) {
        self.extend_to(me, self.oracle.link.reserved.fetch_add(LARGE_BLOCK, SeqCst) + LARGE_BLOCK);
    }

    fn extend_to(&self, me: usize, last: u64) {
        // While it is home no other host reserves any, so that the block goes on.
        self.oracle.link.last.store(last, SeqCst);
        moved::extend(&self.lock(), me, last);
        self.oracle.end_if_over();
    }
}
