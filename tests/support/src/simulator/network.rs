//! Links with delay, loss, repetition and disorder, and the ends of them that participants have.

use std::{
    cell::RefCell,
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
    fmt::Debug,
    ops::Range,
    rc::Rc,
};
use turnlock::message::{Channels, Machine, Message, Notice, Refusal, Transport, Wire};

/// Random numbers from a seed (S. Vigna's splitmix64).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.number() % (range.end - range.start)
    }

    /// Returns true so many times out of a thousand.
    pub fn permille(&mut self, times: u64) -> bool {
        self.number() % 1000 < times
    }
}

/// A notice on its way.
pub(super) struct OnItsWay<M> {
    pub from: usize,
    pub to: usize,
    pub notice: Notice<M>,
}

/// All links.
pub(super) struct Network<M> {
    pub dice: Dice,
    pub now: u64,
    delay: Range<u64>,
    channels: Channels,
    /// How many of a thousand messages are lost, where that is allowed, and come twice, where it is.
    losses: u64,
    repeats: u64,
    /// When what is in `on_its_way` comes, with its key.
    arrivals: BinaryHeap<Reverse<(u64, u64)>>,
    pub on_its_way: BTreeMap<u64, OnItsWay<M>>,
    sent: u64,
    /// When the last thing on each link comes, at `from * n + to`.
    last: Vec<u64>,
    pub inbox: Vec<VecDeque<Notice<M>>>,
    pub is_there: Vec<bool>,
    pub counts: BTreeMap<&'static str, u64>,
    /// The token of this name is lost when it is sent for the so many-th time from now.
    pub loses_token: BTreeMap<usize, u64>,
    /// How often a token was sent.
    pub hops: u64,
}

impl<M: Message> Network<M> {
    pub fn new(
        n: usize,
        seed: u64,
        delay: Range<u64>,
        channels: Channels,
        losses: u64,
        repeats: u64,
    ) -> Self {
        Self {
            dice: Dice::new(seed),
            now: 0,
            delay,
            channels,
            losses,
            repeats,
            arrivals: BinaryHeap::new(),
            on_its_way: BTreeMap::new(),
            sent: 0,
            last: vec![0; n * n],
            inbox: (0..n).map(|_| VecDeque::new()).collect(),
            is_there: vec![true; n],
            counts: BTreeMap::new(),
            loses_token: BTreeMap::new(),
            hops: 0,
        }
    }

    fn n(&self) -> usize {
        self.inbox.len()
    }

    fn send(&mut self, from: usize, to: usize, message: M) {
        *self.counts.entry(message.kind()).or_default() += 1;
        if let Some(token) = message.token() {
            self.hops += 1;
            if let Some(hops) = self.loses_token.get_mut(&token) {
                *hops -= 1;
                if *hops == 0 {
                    self.loses_token.remove(&token);
                    return;
                }
            }
        } else if self.channels.loses && self.dice.permille(self.losses) {
            return;
        }
        if !self.is_there[to] {
            return;
        }
        if self.channels.repeats && self.dice.permille(self.repeats) {
            self.put(from, to, Notice::Message { from, message: message.clone() });
        }
        self.put(from, to, Notice::Message { from, message });
    }

    fn put(&mut self, from: usize, to: usize, notice: Notice<M>) {
        let mut at = self.now + self.dice.within(self.delay.clone());
        let last = &mut self.last[from * self.inbox.len() + to];
        // A failure notice comes after all else; so does everything, on links that keep the order.
        if self.channels.in_order || matches!(notice, Notice::Down { .. }) {
            at = at.max(*last + 1);
        }
        *last = at.max(*last);
        self.sent += 1;
        self.arrivals.push(Reverse((at, self.sent)));
        self.on_its_way.insert(self.sent, OnItsWay { from, to, notice });
    }

    /// When the next notice comes.
    pub fn next_arrival(&mut self) -> Option<u64> {
        while let Some(Reverse((at, key))) = self.arrivals.peek() {
            if self.on_its_way.contains_key(key) {
                return Some(*at);
            }
            self.arrivals.pop();
        }
        None
    }

    /// Puts the next notice into its inbox; returns whose.
    pub fn arrive(&mut self) -> Option<usize> {
        let at = self.next_arrival()?;
        let Reverse((_, key)) = self.arrivals.pop()?;
        let OnItsWay { to, notice, .. } = self.on_its_way.remove(&key)?;
        self.now = self.now.max(at);
        self.inbox[to].push_back(notice);
        Some(to)
    }

    /// A participant has gone: what was sent to it is lost, and all who are there will be told.
    pub fn has_gone(&mut self, me: usize) {
        self.is_there[me] = false;
        self.inbox[me].clear();
        self.on_its_way.retain(|_, on_its_way| on_its_way.to != me);
        for peer in (0..self.n()).filter(|peer| *peer != me) {
            if self.is_there[peer] {
                self.put(me, peer, Notice::Down { peer: me });
            }
        }
    }

    /// Nothing of a participant's last life is on its way or in an inbox any more.
    pub fn is_forgotten(&self, me: usize) -> bool {
        let is_of = |notice: &Notice<M>| match notice {
            Notice::Message { from, .. } => *from == me,
            Notice::Down { peer } => *peer == me,
        };
        self.on_its_way.values().all(|on_its_way| on_its_way.from != me)
            && self.inbox.iter().flatten().all(|notice| !is_of(notice))
    }

    /// A token is on its way, or in an inbox.
    pub fn has_token(&self) -> bool {
        let is_token = |notice: &Notice<M>| matches!(notice, Notice::Message { message, .. } if message.token().is_some());
        self.on_its_way.values().any(|on_its_way| is_token(&on_its_way.notice))
            || self.inbox.iter().flatten().any(is_token)
    }

    /// A failure notice has not been read by every participant yet.
    pub fn has_bad_news(&self) -> bool {
        let is_down = |notice: &Notice<M>| matches!(notice, Notice::Down { .. });
        self.on_its_way.values().any(|on_its_way| is_down(&on_its_way.notice))
            || self.inbox.iter().flatten().any(is_down)
    }
}

/// A message that can be carried as bytes, and compared with what came of it.
pub trait Carried: Wire + PartialEq + Debug {}

impl<M: Wire + PartialEq + Debug> Carried for M {}

/// What machines send can be written as bytes, and is read again as it was.
fn assert_is_encoded<M: Carried>(message: &M, n: usize) {
    let mut bytes = vec![0; M::max_bytes(n)];
    let length = message.encode(n, &mut bytes).unwrap_or_else(|wrong| panic!("{message:?}: {wrong}"));
    let read = M::decode(&bytes[..length], n).unwrap_or_else(|wrong| panic!("{message:?}: {wrong}"));
    assert_eq!(read, *message);
}

/// One participant's end of all links. It promises no more than the machine needs.
pub struct Port<A: Machine> {
    pub(super) me: usize,
    pub(super) network: Rc<RefCell<Network<A::Message>>>,
}

impl<A: Machine<Message: Carried>> Transport<A::Message> for Port<A> {
    const CHANNELS: Channels = A::NEEDS;

    fn send(&mut self, to: usize, message: A::Message) -> Result<(), (Refusal, A::Message)> {
        assert_is_encoded(&message, self.network.borrow().n());
        self.network.borrow_mut().send(self.me, to, message);
        Ok(())
    }

    fn receive(&mut self) -> Option<Notice<A::Message>> {
        self.network.borrow_mut().inbox[self.me].pop_front()
    }
}
