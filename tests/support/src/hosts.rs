//! What the simulators of several hosts share: the engine's leases and watches, what is due when, clocks, and schedules at random.

use crate::Dice;
use std::{cmp::Reverse, collections::BTreeMap, collections::BinaryHeap};

/// A time, or a span, in nanoseconds.
pub type Nanoseconds = u64;

/// Clocks run at most so many thousandths too fast or too slow.
pub const DRIFT: i64 = 50;

/// How a host's clock differs from the time: by so much, and by so many thousandths of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clock {
    pub offset: Nanoseconds,
    pub drift: i64,
}

impl Clock {
    /// What it shows at this time.
    pub fn at(&self, now: Nanoseconds) -> Nanoseconds {
        self.offset + now.saturating_add_signed(now as i64 / 1000 * self.drift)
    }

    /// The first time at which it shows `shown`, or more.
    pub fn time_of(&self, shown: Nanoseconds) -> Nanoseconds {
        let since = shown.saturating_sub(self.offset);
        let mut time = (since / (1000 + self.drift) as u64 * 1000).saturating_sub(2_000);
        while self.at(time) < shown {
            time += 1_000;
        }
        time
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Lease {
    number: u64,
    length: Nanoseconds,
    ends: Nanoseconds,
}

/// The leases of an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Leases {
    all: Vec<Lease>,
    granted: u64,
}

impl Leases {
    /// Returns its number.
    pub fn grant(&mut self, now: Nanoseconds, length: Nanoseconds) -> u64 {
        self.granted += 1;
        self.all.push(Lease { number: self.granted, length, ends: now + length });
        self.granted
    }

    /// Returns whether there is such a lease.
    pub fn keep_alive(&mut self, now: Nanoseconds, number: u64) -> bool {
        let known = self.all.iter_mut().find(|lease| lease.number == number);
        known.map(|lease| lease.ends = now + lease.length).is_some()
    }

    pub fn has(&self, number: u64) -> bool {
        self.all.iter().any(|lease| lease.number == number)
    }

    pub fn end(&mut self, ends: impl Fn(u64) -> bool) {
        self.all.retain(|lease| !ends(lease.number));
    }

    /// Those that are over by now.
    pub fn over(&self, now: Nanoseconds) -> Vec<u64> {
        self.all.iter().filter(|lease| lease.ends <= now).map(|lease| lease.number).collect()
    }

    /// When the next one ends.
    pub fn next_end(&self) -> Option<Nanoseconds> {
        self.all.iter().map(|lease| lease.ends).min()
    }
}

/// A watch of `W`, and the life of the agent that it is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watch<W> {
    pub host: usize,
    pub life: u32,
    pub number: u64,
    pub what: W,
}

/// Those who are to be told that something changed.
pub type Told<W> = Vec<Watch<W>>;

/// The watches of an engine, of which each host has one, and each tells once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watches<W> {
    all: Vec<Watch<W>>,
    /// What was changed at which revision, since the last compaction.
    log: Vec<(u64, W)>,
    compacted: u64,
}

impl<W> Default for Watches<W> {
    fn default() -> Self {
        Self { all: Vec::new(), log: Vec::new(), compacted: 0 }
    }
}

impl<W: Clone + PartialEq> Watches<W> {
    /// Takes the place of the host's watch before; tells at once if it has changed since `from`, or that is not known.
    pub fn set(&mut self, watch: Watch<W>, from: u64, told: &mut Told<W>) {
        self.all.retain(|other| other.host != watch.host);
        let is_past = self.log.iter().any(|(revision, what)| *revision >= from && *what == watch.what);
        if from <= self.compacted || is_past {
            told.push(watch);
        } else {
            self.all.push(watch);
        }
    }

    pub fn changed(&mut self, revision: u64, what: &W, told: &mut Told<W>) {
        self.log.push((revision, what.clone()));
        told.extend(self.all.extract_if(.., |watch| watch.what == *what));
    }

    /// Forgets how it came to what is now; those that watch are told that they cannot be told any more. As after a member's restart, too.
    pub fn compact(&mut self, revision: u64, told: &mut Told<W>) {
        self.log.clear();
        self.compacted = revision;
        told.append(&mut self.all);
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }
}

/// What is due when, at which host; what is due at one time keeps its order.
#[derive(Debug)]
pub struct Timeline<D> {
    pub now: Nanoseconds,
    due: BinaryHeap<Reverse<(Nanoseconds, u64, usize)>>,
    is_due: BTreeMap<u64, D>,
    numbers: u64,
}

impl<D> Default for Timeline<D> {
    fn default() -> Self {
        Self { now: 0, due: BinaryHeap::new(), is_due: BTreeMap::new(), numbers: 0 }
    }
}

/// What comes next.
#[derive(Debug)]
pub enum Next<D> {
    /// An agent asked to be told of the time.
    Wake(usize),
    Due(usize, D),
    /// The end.
    Nothing,
}

impl<D> Timeline<D> {
    pub fn after(&mut self, span: Nanoseconds, at: usize, due: D) {
        self.numbers += 1;
        self.due.push(Reverse((self.now + span, self.numbers, at)));
        self.is_due.insert(self.numbers, due);
    }

    /// Goes on to what is due next, or to the end. `wakes`: when agents want to be told of the time.
    pub fn go_on(&mut self, end: Nanoseconds, wakes: impl Iterator<Item = Option<Nanoseconds>>) -> Next<D> {
        let due = self.due.peek().map_or(Nanoseconds::MAX, |Reverse((time, ..))| *time);
        let wakes = wakes.enumerate().filter_map(|(at, time)| Some((time?, at)));
        let wake = wakes.min().unwrap_or((Nanoseconds::MAX, 0));
        let next = due.min(wake.0);
        self.now = next.min(end);
        if next > end {
            return Next::Nothing;
        }
        if wake.0 < due {
            return Next::Wake(wake.1);
        }
        let Some(Reverse((_, number, at))) = self.due.pop() else { return Next::Nothing };
        self.is_due.remove(&number).map_or(Next::Nothing, |due| Next::Due(at, due))
    }
}

/// What goes wrong in a schedule, and how likely: each has its own mixture, so that each kind of trouble also comes without the others.
#[derive(Clone, Copy, Debug)]
pub struct Mixture {
    pub is_calm: bool,
    /// The oldest messages lie about, while later ones come.
    pub is_late: bool,
    /// The time goes on, while messages lie about and programs stay inside.
    pub is_slow: bool,
    pub delays: u64,
    pub loses: u64,
    pub cuts: u64,
    pub compacts: u64,
    pub kills: u64,
    pub kills_amid: u64,
    pub stops: u64,
    pub vanishes: u64,
}

impl Mixture {
    pub fn of(dice: &mut Dice) -> Self {
        let is_calm = dice.roll(4) == 0;
        let mut one_in = |times| u64::from(!is_calm && dice.roll(times) == 0);
        Self {
            is_calm,
            is_late: one_in(4) == 1,
            is_slow: one_in(2) == 1,
            delays: 8 * one_in(2),
            loses: 3 * one_in(3),
            cuts: 3 * one_in(2),
            compacts: 3 * one_in(4),
            kills: 5 * one_in(2),
            kills_amid: 4 * one_in(4),
            stops: 3 * one_in(3),
            vanishes: one_in(6),
        }
    }

    /// 1 in so many times, but never in a calm schedule.
    pub fn one_in(&self, dice: &mut Dice, times: u64) -> u64 {
        u64::from(!self.is_calm && dice.roll(times) == 0)
    }

    /// How likely it is that the message of this place comes.
    pub fn delivers(&self, at: usize) -> u64 {
        match at {
            0 if self.is_late => 4,
            _ if self.is_late => 30,
            0 => 60,
            _ => 10,
        }
    }

    /// How likely it is that the time goes on.
    pub fn waits(&self) -> u64 {
        if self.is_slow { 60 } else { 15 }
    }

    /// How likely it is that one who is inside leaves.
    pub fn leaves(&self) -> u64 {
        if self.is_slow { 5 } else { 20 }
    }
}

/// One of these steps at random, as likely as each weighs.
pub fn pick<S: Copy>(dice: &mut Dice, steps: &[S], weight: impl Fn(S) -> u64) -> S {
    let mut at = dice.roll(steps.iter().map(|step| weight(*step)).sum());
    let step = steps.iter().find(|step| {
        let weight = weight(**step);
        let is_it = at < weight;
        at = at.saturating_sub(weight);
        is_it
    });
    *step.expect("it is less than the sum of all")
}

/// Something under way between a host's agent and the engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message<R, E> {
    Call { host: usize, life: u32, number: u64, request: R },
    Event { host: usize, life: u32, event: E },
}

impl<R, E> Message<R, E> {
    pub fn host(&self) -> usize {
        let (Self::Call { host, .. } | Self::Event { host, .. }) = self;
        *host
    }
}
