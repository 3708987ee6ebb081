//! The supervisor of the participants: it starts them, sees them end, and says so; and only it rules that a token is lost.

use crate::{
    cables::Cables,
    journal::{self, Journal, Shown},
    sockets::Wrong,
};
use nix::sys::signal::Signal;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};
use support::{Place, actor::Actor, limit};
use turnlock::message::Standing;

/// How long anything may take that others have to do.
const LIMIT: u64 = 60;
/// How long is looked on while nothing may happen.
const A_WHILE: Duration = Duration::from_millis(250);

pub const LAMPORT: &str = "lamport-queue";
pub const MESH: &str = "ricart-agrawala";
pub const RING: &str = "token-ring";
pub const BAKERY: &str = "bakery";

/// What a participant said of itself.
#[derive(Debug)]
pub struct Status(BTreeMap<String, u64>);

impl Status {
    pub fn of(&self, what: &str) -> u64 {
        self.0[what]
    }

    pub fn is(&self, standing: Standing) -> bool {
        self.of("standing") == standing as u64
    }
}

pub struct Crew {
    pub cables: Cables,
    pub algorithm: &'static str,
    place: Place,
    wrong: Wrong,
    people: Vec<Option<Actor>>,
    lives: Vec<u32>,
    stopped: Option<usize>,
    pub rulings: u64,
}

impl Crew {
    /// All participants found the lock, each at its host.
    pub fn found(cables: Cables, algorithm: &'static str, wrong: Wrong) -> Self {
        let n = cables.hosts();
        let mut crew = Self {
            cables,
            algorithm,
            place: Place::new(),
            wrong,
            people: Vec::new(),
            lives: vec![1; n],
            stopped: None,
            rulings: 0,
        };
        crew.people = (0..n).map(|me| Some(crew.start(me, "founding"))).collect();
        crew.wait_connected();
        crew
    }

    fn start(&self, me: usize, how: &str) -> Actor {
        let journal = self.journal();
        let words = [
            self.algorithm,
            &me.to_string(),
            &self.lives.len().to_string(),
            &self.lives[me].to_string(),
            how,
            &self.cables.pid(me),
            &journal.to_string_lossy(),
            &format!("{:?}", self.wrong),
        ];
        let mut actor = Actor::start("participant", &words);
        actor.expect("ready");
        actor
    }

    fn journal(&self) -> PathBuf {
        self.place.at("journal")
    }

    pub fn n(&self) -> usize {
        self.people.len()
    }

    pub fn alive(&self) -> Vec<usize> {
        (0..self.n()).filter(|me| self.people[*me].is_some()).collect()
    }

    /// Those that are alive and not stopped.
    fn running(&self) -> Vec<usize> {
        self.alive().into_iter().filter(|me| self.stopped != Some(*me)).collect()
    }

    /// Returns what the journal shows, if that is all right.
    pub fn checked(&self) -> Result<Shown, String> {
        journal::read(&self.journal(), self.n())
    }

    pub fn shown(&self) -> Shown {
        self.checked().unwrap_or_else(|wrong| panic!("{}: {wrong}", self.algorithm))
    }

    /// Tells a participant something; returns what it answers.
    pub fn tell(&mut self, me: usize, what: &str) -> String {
        let actor = self.people[me].as_mut().expect("a participant that is alive");
        actor.tell(what);
        actor.hear()
    }

    /// Tells a participant something that it does.
    pub fn order(&mut self, me: usize, what: &str) {
        let (algorithm, answer) = (self.algorithm, self.tell(me, what));
        assert_eq!(answer, "ok", "{algorithm}: participant {me} was told to {what}");
    }

    pub fn ask(&mut self, me: usize) -> Status {
        let line = self.tell(me, "ask");
        let pair =
            |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_owned(), value.parse().unwrap()));
        Status(line.split(' ').filter_map(pair).collect())
    }

    /// Waits until something is so; fails after a minute, and says how all stand.
    pub fn wait(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let (began, limit) = (Instant::now(), limit::seconds(LIMIT));
        while !is_so(self) {
            if began.elapsed() > limit {
                let stand: Vec<_> = self.running().into_iter().map(|me| (me, self.ask(me))).collect();
                panic!("{}: not after {limit:?}: {what}; {:?}; {stand:#?}", self.algorithm, self.checked());
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.shown();
    }

    /// Waits until a participant stands so.
    pub fn wait_standing(&mut self, me: usize, standing: Standing) {
        self.wait(&format!("participant {me} is {standing:?}"), |crew| crew.ask(me).is(standing));
    }

    /// Waits until each of these has entered so many times more.
    pub fn wait_entries(&mut self, who: &[usize], times: usize) {
        let before = self.shown();
        self.wait(&format!("{who:?} enter {times} times more"), |crew| {
            let now = crew.shown();
            who.iter().all(|me| now.entries[*me] >= before.entries[*me] + times)
        });
    }

    /// Waits until all that are alive are connected with each other.
    pub fn wait_connected(&mut self) {
        self.wait("all are connected", |crew| {
            let alive = crew.alive();
            let all = alive.iter().fold(0, |bits, me| bits | 1_u64 << me);
            alive.into_iter().all(|me| crew.ask(me).of("connected") == all & !(1 << me))
        });
    }

    /// Waits until what was asked has been answered, three times over: a waiter has its place by then. On the
    /// ring tokens never rest, and a place is where one is.
    pub fn settle(&mut self) {
        if self.algorithm == RING {
            return;
        }
        let mut rounds = 0;
        self.wait("all messages have been read", |crew| {
            let is_quiet = crew
                .alive()
                .into_iter()
                .all(|me| crew.ask(me).of("unconfirmed") + crew.ask(me).of("unread") == 0);
            rounds = if is_quiet { rounds + 1 } else { 0 };
            rounds >= 3
        });
    }

    /// On the ring: waits until the tokens, which a lost participant keeps from going round, have come as far as
    /// they can.
    pub fn come_to_a_stand(&mut self) {
        if self.algorithm != RING {
            return;
        }
        let mut before = None;
        self.wait("the tokens do not go round any more", |crew| {
            let running = crew.running();
            let now = Some(running.into_iter().map(|me| crew.ask(me).of("read")).collect::<Vec<_>>());
            let stand = before == now;
            before = now;
            thread::sleep(A_WHILE);
            stand
        });
    }

    /// Has all that are inside by an order leave, until each of these has entered once more.
    pub fn serve(&mut self, who: &[usize]) {
        self.serve_and(who, |_| {});
    }

    /// As [`Crew::serve`], and makes the token anew whenever it is lost.
    pub fn rule_until_served(&mut self, who: &[usize]) {
        self.serve_and(who, |crew| _ = crew.rule_if_lost());
    }

    fn serve_and(&mut self, who: &[usize], mut also: impl FnMut(&mut Self)) {
        let mut served = vec![false; self.n()];
        self.wait(&format!("{who:?} are served"), |crew| {
            also(crew);
            for me in crew.alive() {
                if crew.ask(me).is(Standing::Inside) {
                    crew.order(me, "release");
                    served[me] = true;
                }
            }
            who.iter().all(|me| served[*me])
        });
    }

    /// Looks on for a while, in which no participant enters.
    pub fn assert_no_entry(&mut self, because: &str) {
        let before = self.shown().all();
        thread::sleep(A_WHILE);
        assert_eq!(
            self.shown().all(),
            before,
            "{}: a participant has entered, though {because}",
            self.algorithm
        );
    }

    /// `kill -9`, seen; no other participant is told.
    pub fn kill(&mut self, me: usize) {
        let mut actor = self.people[me].take().expect("a participant that is alive");
        actor.kill();
        self.stopped = self.stopped.filter(|stopped| *stopped != me);
        Journal::open(&self.journal()).died(me);
    }

    /// Stops a participant, or has it go on. One that is stopped can be told nothing.
    pub fn signal(&mut self, me: usize, signal: Signal) {
        self.stopped = (signal == Signal::SIGSTOP).then_some(me);
        self.people[me].as_ref().expect("a participant that is alive").signal(signal);
    }

    /// Waits until the journal shows something that is wrong; returns what.
    pub fn wait_wrong(&mut self) -> String {
        let (began, limit) = (Instant::now(), limit::seconds(LIMIT));
        loop {
            match self.checked() {
                Err(wrong) => return wrong,
                Ok(shown) if began.elapsed() > limit => {
                    panic!("{}: nothing is wrong: {shown:?}", self.algorithm)
                }
                Ok(_) => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// All are told that a participant's process has ended.
    pub fn give_notice(&mut self, gone: usize) {
        let life = self.lives[gone];
        for me in self.alive() {
            self.order(me, &format!("down {gone} {life}"));
        }
        self.wait("the notice is read", |crew| {
            crew.alive().into_iter().all(|me| crew.ask(me).of("news") == 0)
        });
    }

    /// A participant that was told to leave ends, once all that it sent has come; and all others are told.
    pub fn depart(&mut self, me: usize) {
        self.wait(&format!("participant {me} has left"), |crew| {
            let status = crew.ask(me);
            status.is(Standing::Absent) && status.of("unconfirmed") + status.of("unsent") == 0
        });
        let mut actor = self.people[me].take().expect("a participant that is alive");
        actor.tell("end");
        actor.end_well();
        self.give_notice(me);
    }

    /// A participant whose end all others know is started again: in its place if it died on the ring, else as one
    /// that joins.
    pub fn bring_back(&mut self, me: usize, in_its_place: bool) {
        self.lives[me] += 1;
        let actor = self.start(me, if in_its_place { "restarted" } else { "absent" });
        self.people[me] = Some(actor);
        if !in_its_place {
            self.order(me, "join");
        }
        let alive = self.alive();
        for gone in (0..self.n()).filter(|peer| !alive.contains(peer)) {
            self.order(me, &format!("down {gone} {}", self.lives[gone]));
        }
    }

    /// Rules that the tokens are lost, if they are: no participant has one, none is under way, and none has moved
    /// from one round of questions to the next. Returns whether it did.
    pub fn rule_if_lost(&mut self) -> bool {
        let mut before = None;
        for _ in 0..2 {
            let mut moves = Vec::new();
            for me in self.alive() {
                let status = self.ask(me);
                if status.of("tokens") == 0
                    || ["here", "moving", "unsent"].iter().any(|what| status.of(what) > 0)
                {
                    return false;
                }
                moves.push((status.of("sent"), status.of("read")));
            }
            if before.is_some_and(|before| before != moves) {
                return false;
            }
            before = Some(moves);
        }
        let takes_part = |crew: &mut Self, me: &usize| !crew.ask(*me).is(Standing::Absent);
        let Some(me) = self.alive().into_iter().find(|me| takes_part(self, me)) else { return false };
        self.rulings += 1;
        let floor = self.shown().last_fencing_token.max(self.rulings << 40);
        self.tell(me, &format!("rule {floor}")) == "ok"
    }

    /// All want the section again and again.
    pub fn all_want(&mut self, seed: u64) {
        for me in self.alive() {
            self.wants(me, seed);
        }
    }

    pub fn wants(&mut self, me: usize, seed: u64) {
        self.order(me, &format!("want 500 100 {}", seed * 64 + me as u64));
    }

    /// The sum of what all say of `what`.
    pub fn sum(&mut self, what: &str) -> u64 {
        self.alive().into_iter().map(|me| self.ask(me).of(what)).sum()
    }
}
