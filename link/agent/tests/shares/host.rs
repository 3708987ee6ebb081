//! One host: its lock file, the programs that use it, its agent.

use std::{collections::VecDeque, sync::Arc};
use support::hosts::{Clock, DRIFT};
use turnlock_link_agent::shares::{Demand, Event, Found, ShareAgent};
use turnlock_link_agent::{Config, Host, Mode, NO_DEADLINE, Nanoseconds};

#[derive(Clone, Debug)]
pub struct OneHost {
    pub name: Host,
    pub config: Config,
    /// How many permits there are, as this host was set up.
    pub total: u32,
    /// The share in the lock file.
    pub share: u32,
    /// The deadline there, by the host's clock.
    pub until: Nanoseconds,
    own_clock: Clock,
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
    /// When its agent sent the last call that keeps a lease.
    pub kept_at: Nanoseconds,
    /// Of a file that does not compare the clock with the deadline.
    pub admits_late: bool,
}

impl OneHost {
    pub fn new(at: usize, config: Config, total: u32, drift: i64) -> Self {
        Self {
            name: Arc::from(["a", "b", "c", "d"].get(at).map_or(format!("host-{at}"), ToString::to_string)),
            config,
            total,
            share: 0,
            until: NO_DEADLINE,
            own_clock: Clock { offset: at as u64 * 7_000_000_000, drift },
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
            kept_at: 0,
            admits_late: false,
        }
    }

    pub fn found(&self) -> Found {
        Found { share: self.share, total: self.total, until: self.until }
    }

    /// What its clock shows at this time.
    pub fn clock(&self, now: Nanoseconds) -> Nanoseconds {
        self.own_clock.at(now)
    }

    /// The first time at which its clock shows `clock`, or more.
    pub fn time_of(&self, clock: Nanoseconds) -> Nanoseconds {
        self.own_clock.time_of(clock)
    }

    pub fn is_leased(&self) -> bool {
        self.config.mode == Mode::Leased
    }

    /// Whether its file admits programs, as far as the deadline says.
    pub fn is_open(&self, now: Nanoseconds) -> bool {
        self.clock(now) < self.until
    }

    /// For so long, by its own clock, a program has been told before its permits are another host's.
    pub fn told_before(&self) -> Nanoseconds {
        self.config.margin - self.config.lease / 1000 * DRIFT as u64
    }

    /// Whether the permits of those inside count: they were not told that long ago that these are not their own any more.
    pub fn counts(&self, now: Nanoseconds) -> bool {
        !self.is_leased() || self.clock(now) < self.until.saturating_add(self.told_before())
    }

    pub fn used(&self) -> u32 {
        self.inside.iter().sum()
    }

    pub fn demand(&self) -> Demand {
        let awaited = self.waiting.iter().sum();
        Demand { used: self.used(), awaited, first: self.waiting.front().copied().unwrap_or_default() }
    }

    /// Lets those in that fit, first come first served, before the deadline. Returns how many.
    pub fn admit(&mut self, now: Nanoseconds) -> u32 {
        let mut entered = 0;
        if !(self.is_open(now) || self.admits_late) {
            return 0;
        }
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
