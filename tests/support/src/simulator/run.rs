//! Participants that want the section again and again, give up, depart, die and return.

use super::network::{Carried, Network, Port};
use std::{
    cell::RefCell,
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    ops::Range,
    rc::Rc,
};
use turnlock::message::{
    Bakery, Event, LamportQueue, Machine, Node, Notice, RicartAgrawala, Standing, TokenRing,
};

/// A machine that can be simulated.
pub trait Simulated: Machine<Message: Carried> + Clone {
    /// How many tokens there are.
    fn tokens(&self) -> usize {
        0
    }
    /// Its participant with a new life, absent.
    fn absent(&self, life: u32) -> Self;
    /// Its participant, taken up again where it is.
    fn restarted(&self, _life: u32) -> Option<Self> {
        None
    }
}

impl Simulated for LamportQueue {
    fn absent(&self, life: u32) -> Self {
        Self::absent(self.participants(), self.me(), life).expect("a participant of this lock")
    }
}

impl Simulated for Bakery {
    fn absent(&self, life: u32) -> Self {
        Self::absent(self.participants(), self.me(), life).expect("a participant of this lock")
    }
}

impl Simulated for RicartAgrawala {
    fn tokens(&self) -> usize {
        1
    }
    fn absent(&self, life: u32) -> Self {
        Self::absent(self.participants(), self.me(), life).expect("a participant of this lock")
    }
}

impl Simulated for TokenRing {
    fn tokens(&self) -> usize {
        self.tokens()
    }
    fn absent(&self, life: u32) -> Self {
        Self::absent(self.participants(), self.me(), life, self.tokens()).expect("a participant of this lock")
    }
    fn restarted(&self, life: u32) -> Option<Self> {
        Self::restarted(self.participants(), self.me(), life, self.tokens(), self.next()).ok()
    }
}

/// What participants and links do. Times are in the network's time, chances in so many of a thousand.
#[derive(Clone, Debug)]
pub struct Habits {
    /// How long a message takes.
    pub delay: Range<u64>,
    /// How long a participant wants nothing.
    pub think: Range<u64>,
    /// How long it is inside.
    pub section: u64,
    /// How often each enters.
    pub entries: u32,
    /// After how long a machine asks again.
    pub retry: u64,
    pub losses: u64,
    pub repeats: u64,
    /// How often a participant gives up a wait, departs instead of a request, dies soon after it came to stand elsewhere (by
    /// then it may do anything), and is stopped instead of a request or inside.
    pub withdrawals: u64,
    pub departures: u64,
    pub deaths: u64,
    pub stops: u64,
}

impl Habits {
    /// Nothing goes wrong; all messages take 1000.
    pub fn quiet() -> Self {
        Self {
            delay: 1000..1001,
            think: 0..1,
            section: 10,
            entries: 10,
            retry: 3000,
            losses: 0,
            repeats: 0,
            withdrawals: 0,
            departures: 0,
            deaths: 0,
            stops: 0,
        }
    }

    /// Everything goes wrong now and then.
    pub fn rough() -> Self {
        Self {
            delay: 100..3000,
            think: 0..20_000,
            losses: 50,
            repeats: 50,
            withdrawals: 100,
            departures: 50,
            deaths: 20,
            stops: 20,
            ..Self::quiet()
        }
    }
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Messages sent, by kind.
    pub messages: BTreeMap<&'static str, u64>,
    pub entries: u64,
    pub withdrawals: u64,
    pub departures: u64,
    pub deaths: u64,
    pub rulings: u64,
    /// From a release to the next entry, where a participant waited: the sum, and how many.
    pub hand_over: (u64, u64),
}

impl Counts {
    /// Messages of all kinds.
    pub fn sum(&self) -> u64 {
        self.messages.values().sum()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    Want(usize, u32),
    Leave(usize, u32),
    GiveUp(usize, u32),
    Retry(usize, u32),
    Die(usize, u32),
    Return(usize),
    GoOn(usize),
    Ruling,
}

/// A run of some machines.
pub struct Simulation<A: Simulated> {
    seed: u64,
    habits: Habits,
    network: Rc<RefCell<Network<A::Message>>>,
    nodes: Vec<Node<A, Port<A>>>,
    alarms: BinaryHeap<Reverse<(u64, Alarm)>>,
    /// Of each: its standing as last seen, the entries that it still wants, its life, whether it is stopped, and a number
    /// that makes its old alarms void.
    seen: Vec<Standing>,
    wants: Vec<u32>,
    lives: Vec<u32>,
    is_stopped: Vec<bool>,
    turn: Vec<u32>,
    inside: Option<usize>,
    last_fencing_token: u64,
    released: Option<u64>,
    ruled: Option<usize>,
    pub counts: Counts,
}

impl<A: Simulated> Simulation<A> {
    pub fn new(machines: Vec<A>, seed: u64, habits: Habits) -> Self {
        let n = machines.len();
        let network = Network::new(n, seed, habits.delay.clone(), A::NEEDS, habits.losses, habits.repeats);
        let network = Rc::new(RefCell::new(network));
        let node = |machine: A| {
            let port = Port { me: machine.me(), network: Rc::clone(&network) };
            Node::new(machine, port).expect("links as the machine needs them")
        };
        let nodes: Vec<_> = machines.into_iter().map(node).collect();
        let mut simulation = Self {
            seed,
            network: Rc::clone(&network),
            nodes,
            alarms: BinaryHeap::new(),
            seen: vec![Standing::Absent; n],
            wants: vec![habits.entries; n],
            lives: vec![1; n],
            is_stopped: vec![false; n],
            turn: vec![0; n],
            inside: None,
            last_fencing_token: 0,
            released: None,
            ruled: None,
            counts: Counts::default(),
            habits,
        };
        for me in 0..n {
            simulation.tell(me, Event::Retry);
        }
        simulation.alarm(0, Alarm::Ruling);
        simulation
    }

    /// Has a participant enter so many times more.
    pub fn want(&mut self, me: usize, entries: u32) {
        self.wants[me] += entries;
        self.follow(me);
    }

    /// Has the token of that name lost when it is sent for the so many-th time from now.
    pub fn lose_token(&mut self, name: usize, hops: u64) {
        self.network.borrow_mut().loses_token.insert(name, hops);
    }

    /// How many of the losses that were asked for have not come yet.
    pub fn losses_to_come(&self) -> usize {
        self.network.borrow().loses_token.len()
    }

    /// How often a token was sent.
    pub fn hops(&self) -> u64 {
        self.network.borrow().hops
    }

    /// A participant has the token of that name, or it is on its way.
    pub fn has_token(&self, name: usize) -> bool {
        use turnlock::message::Message as _;
        let network = self.network.borrow();
        let is_it = |notice: &Notice<A::Message>| matches!(notice, Notice::Message { message, .. } if message.token() == Some(name));
        self.nodes.iter().any(|node| node.machine().has_token(name))
            || network.on_its_way.values().any(|on_its_way| is_it(&on_its_way.notice))
            || network.inbox.iter().flatten().any(is_it)
    }

    fn alarm(&mut self, after: u64, alarm: Alarm) {
        let at = self.network.borrow().now + after;
        self.alarms.push(Reverse((at, alarm)));
    }

    /// Runs until every participant has had its entries, at most for so long.
    pub fn run(&mut self, most: u64) {
        while self.wants.iter().any(|wants| *wants > 0) || self.inside.is_some() {
            let now = self.network.borrow().now;
            assert!(
                now < most,
                "seed {}: after {now} these entries are still wanted: {:?}, standing {:?}, counted {:?}",
                self.seed,
                self.wants,
                self.seen,
                self.counts
            );
            self.step();
        }
        // What is on its way still belongs to the last entries.
        self.counts.messages = self.network.borrow().counts.clone();
    }

    /// The next thing happens.
    pub fn step(&mut self) {
        let arrival = self.network.borrow_mut().next_arrival().unwrap_or(u64::MAX);
        let alarm = self.alarms.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        assert!(
            arrival.min(alarm) < u64::MAX,
            "seed {}: nothing happens any more: {:?}",
            self.seed,
            self.seen
        );
        if arrival <= alarm {
            let to = self.network.borrow_mut().arrive();
            if let Some(to) = to {
                self.work(to);
            }
        } else if let Some(Reverse((at, alarm))) = self.alarms.pop() {
            self.network.borrow_mut().now = at;
            self.ring(alarm);
        }
    }

    /// A participant reads what has come, unless it is stopped.
    fn work(&mut self, me: usize) {
        while !self.is_stopped[me] {
            let seed = self.seed;
            let came = self.nodes[me].step().unwrap_or_else(|misuse| panic!("seed {seed}: {misuse}"));
            self.look(me);
            if !came {
                return;
            }
        }
    }

    fn tell(&mut self, me: usize, event: Event<A::Message>) {
        let told = self.nodes[me].tell(event);
        told.unwrap_or_else(|misuse| panic!("seed {}: participant {me}: {misuse}", self.seed));
        self.look(me);
    }

    fn ring(&mut self, alarm: Alarm) {
        let standing = |me: usize, turn: u32, expected| self.turn[me] == turn && self.seen[me] == expected;
        match alarm {
            Alarm::Want(me, turn) if standing(me, turn, Standing::Idle) => self.tell(me, Event::Request),
            Alarm::Want(me, turn) if standing(me, turn, Standing::Inside) => {
                self.inside = None;
                let others = self.seen.iter().filter(|standing| **standing == Standing::Waiting).count();
                self.released = (others > 0).then(|| self.network.borrow().now);
                self.tell(me, Event::Release);
            }
            Alarm::Leave(me, turn) if standing(me, turn, Standing::Idle) => self.tell(me, Event::Leave),
            Alarm::GiveUp(me, turn) if standing(me, turn, Standing::Waiting) => {
                self.counts.withdrawals += 1;
                self.tell(me, Event::Withdraw);
            }
            Alarm::Retry(me, turn) if self.turn[me] == turn => {
                if !self.is_stopped[me] {
                    self.tell(me, Event::Retry);
                }
                if self.turn[me] == turn {
                    self.alarm(self.habits.retry, Alarm::Retry(me, turn));
                }
            }
            Alarm::Die(me, life) if self.lives[me] == life && self.seen[me] != Standing::Absent => {
                self.die(me);
            }
            Alarm::Return(me) => self.comes_back(me),
            Alarm::GoOn(me) => {
                self.is_stopped[me] = false;
                self.work(me);
                self.follow(me);
            }
            Alarm::Ruling => self.rule(),
            _ => {}
        }
    }

    /// Looks whether a participant stands elsewhere than before.
    fn look(&mut self, me: usize) {
        let standing = self.nodes[me].machine().standing();
        if standing == self.seen[me] {
            return;
        }
        self.seen[me] = standing;
        self.turn[me] += 1;
        match standing {
            Standing::Inside => self.enters(me),
            Standing::Absent => {
                self.counts.departures += 1;
                self.has_gone(me);
                return;
            }
            _ => {}
        }
        self.follow(me);
    }

    /// What a participant does next where it stands.
    fn follow(&mut self, me: usize) {
        let (turn, habits) = (self.turn[me], self.habits.clone());
        if self.network.borrow_mut().dice.permille(habits.deaths) {
            let after = self.network.borrow_mut().dice.within(0..2 * habits.retry);
            self.alarm(after, Alarm::Die(me, self.lives[me]));
        }
        let dice = |times| self.network.borrow_mut().dice.permille(times);
        match self.seen[me] {
            Standing::Idle | Standing::Inside if dice(habits.stops) => {
                // Dead with its state kept, or only stopped: to the others that is the same.
                self.is_stopped[me] = true;
                self.alarm(10 * habits.retry, Alarm::GoOn(me));
            }
            Standing::Idle if dice(habits.departures) => self.alarm(0, Alarm::Leave(me, turn)),
            Standing::Idle if self.wants[me] > 0 => {
                let after = self.network.borrow_mut().dice.within(habits.think);
                self.alarm(after, Alarm::Want(me, turn));
            }
            Standing::Inside => self.alarm(habits.section, Alarm::Want(me, turn)),
            Standing::Waiting if dice(habits.withdrawals) => {
                self.alarm(habits.retry, Alarm::GiveUp(me, turn));
                self.alarm(habits.retry, Alarm::Retry(me, turn));
            }
            Standing::Waiting | Standing::Joining | Standing::Leaving => {
                self.alarm(habits.retry, Alarm::Retry(me, turn));
            }
            _ => {}
        }
    }

    fn enters(&mut self, me: usize) {
        let seed = self.seed;
        if let Some(other) = self.inside {
            panic!("seed {seed}: participant {me} enters while {other} is inside");
        }
        let token = self.nodes[me].fencing_token().expect("a fencing token");
        let last = self.last_fencing_token;
        assert!(token > last, "seed {seed}: participant {me} enters with fencing token {token} after {last}");
        self.last_fencing_token = token;
        self.inside = Some(me);
        self.counts.entries += 1;
        self.wants[me] = self.wants[me].saturating_sub(1);
        if let Some(released) = self.released.take() {
            self.counts.hand_over.0 += self.network.borrow().now - released;
            self.counts.hand_over.1 += 1;
        }
    }

    fn has_gone(&mut self, me: usize) {
        self.turn[me] += 1;
        self.ruled = self.ruled.filter(|ruled| *ruled != me);
        self.network.borrow_mut().has_gone(me);
        self.alarm(self.habits.retry, Alarm::Return(me));
    }

    fn die(&mut self, me: usize) {
        self.counts.deaths += 1;
        self.inside = self.inside.filter(|inside| *inside != me);
        self.lives[me] += 1;
        // What it was doing counts as done: else no participant would ever be done.
        self.is_stopped[me] = false;
        let has_place = self.seen[me] != Standing::Joining;
        if let Some(machine) = self.nodes[me].machine().restarted(self.lives[me]).filter(|_| has_place) {
            self.is_now(machine);
            self.tell(me, Event::Retry);
        } else {
            let machine = self.nodes[me].machine().absent(self.lives[me]);
            self.is_now(machine);
            self.has_gone(me);
        }
    }

    fn is_now(&mut self, machine: A) {
        let me = machine.me();
        let port = Port { me, network: Rc::clone(&self.network) };
        self.nodes[me] = Node::new(machine, port).expect("links as the machine needs them");
        self.seen[me] = Standing::Absent;
        self.look(me);
    }

    fn comes_back(&mut self, me: usize) {
        if !self.network.borrow().is_forgotten(me) {
            self.alarm(self.habits.retry, Alarm::Return(me));
            return;
        }
        self.lives[me] += 1;
        // Half of those that departed have lost their state; those that died have.
        if self.network.borrow_mut().dice.permille(500) {
            let machine = self.nodes[me].machine().absent(self.lives[me]);
            self.is_now(machine);
        }
        self.network.borrow_mut().is_there[me] = true;
        self.tell(me, Event::Join);
        for peer in 0..self.nodes.len() {
            if peer != me && !self.network.borrow().is_there[peer] {
                self.tell(me, Event::Down { peer });
            }
        }
    }

    /// An observer, which sees all participants and links, looks whether what they depend on is lost.
    fn rule(&mut self) {
        self.alarm(self.habits.retry, Alarm::Ruling);
        if self.network.borrow().has_bad_news() {
            return;
        }
        let there: Vec<usize> =
            (0..self.nodes.len()).filter(|me| self.seen[*me] != Standing::Absent).collect();
        let tokens = self.nodes[0].machine().tokens();
        let is_lost = if tokens > 0 {
            let has = |me: &usize| (0..tokens).any(|token| self.nodes[*me].machine().has_token(token));
            !self.network.borrow().has_token() && !there.iter().any(has)
        } else {
            let joins = |me: &usize| self.seen[*me] == Standing::Joining;
            there.iter().all(joins) && self.network.borrow().on_its_way.is_empty() && self.ruled.is_none()
        };
        // One that has heard from a participant that is gone by now does not need it.
        let needs = |me: &usize| self.nodes[*me].machine().clone().on(Event::Recreate { floor: 0 }).is_ok();
        let mut there: Vec<usize> =
            there.into_iter().filter(|me| !self.is_stopped[*me] && needs(me)).collect();
        // One that joins a ring makes one of its own: only where none takes part.
        if self.seen.iter().any(|standing| !matches!(standing, Standing::Absent | Standing::Joining)) {
            there.retain(|me| self.seen[*me] != Standing::Joining);
        }
        if is_lost && !there.is_empty() {
            let me = there[self.network.borrow_mut().dice.within(0..there.len() as u64) as usize];
            self.counts.rulings += 1;
            self.ruled = Some(me);
            let floor = self.last_fencing_token.max(self.counts.rulings << 48);
            self.tell(me, Event::Recreate { floor });
        }
    }
}
