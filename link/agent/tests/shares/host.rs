//! One host: its lock file, the programs that use it, its agent.

use std::{collections::VecDeque, sync::Arc};
use turnlock_link_agent::shares::{Demand, Event, Found, ShareAgent};
use turnlock_link_agent::{Config, Host, Nanoseconds};

#[derive(Clone, Debug)]
pub struct OneHost {
    pub name: Host,
    pub config: Config,
    /// How many permits there are, as this host was set up.
    pub total: u32,
    /// The share in the lock file.
    pub share: u32,
    /// What each of the programs inside has.
    pub inside: VecDeque<u32>,
    /// What each of those that wait wants, in their order.
    pub waiting: VecDeque<u32>,
    pub agent: Option<ShareAgent>,
    pub life: u32,
    pub wakes_at: Option<Nanoseconds>,
    /// The agent waits until those inside fit.
    pub drain: Option<(u64, u32)>,
    /// It has waited for that before.
    pub has_drained: bool,
    /// The agent dies after the first of the several things that it does next.
    pub dies_amid: bool,
    /// The agent is stopped; what it is told when it goes on.
    pub missed: Option<Vec<Event>>,
    pub is_cut_off: bool,
    pub is_gone: bool,
    /// What the calls of its agents were numbered to.
    pub numbers: u64,
}

impl OneHost {
    pub fn new(at: usize, config: Config, total: u32) -> Self {
        Self {
            name: Arc::from(["a", "b", "c", "d"].get(at).map_or(format!("host-{at}"), ToString::to_string)),
            config,
            total,
            share: 0,
            inside: VecDeque::new(),
            waiting: VecDeque::new(),
            agent: None,
            life: 0,
            wakes_at: None,
            drain: None,
            has_drained: false,
            dies_amid: false,
            missed: None,
            is_cut_off: false,
            is_gone: false,
            numbers: 0,
        }
    }

    pub fn found(&self) -> Found {
        Found { share: self.share, total: self.total }
    }

    pub fn used(&self) -> u32 {
        self.inside.iter().sum()
    }

    pub fn demand(&self) -> Demand {
        let awaited = self.waiting.iter().sum();
        Demand { used: self.used(), awaited, first: self.waiting.front().copied().unwrap_or_default() }
    }

    /// Lets those in that fit, first come first served. Returns how many.
    pub fn admit(&mut self) -> u32 {
        let mut entered = 0;
        while let Some(permits) =
            self.waiting.front().copied().filter(|permits| self.used() + permits <= self.share)
        {
            self.waiting.pop_front();
            self.inside.push_back(permits);
            entered += 1;
        }
        entered
    }

    /// Returns what the agent is told that waits until fewer permits are inside, once they are.
    pub fn drained(&mut self) -> Option<Event> {
        let (used, share) = (self.used(), self.share);
        let (number, _) = self.drain.take_if(|(_, below)| used < *below || used <= share)?;
        Some(Event::Drained { number, permits: used.max(share) })
    }

    /// The agent is gone, and what it was told and asked for.
    pub fn kill_agent(&mut self) {
        (self.agent, self.wakes_at, self.drain, self.dies_amid) = (None, None, None, false);
        self.missed = None;
    }
}
