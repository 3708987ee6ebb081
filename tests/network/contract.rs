//! What the transport's contract says of order, loss and repetition, while cables are pulled out and put in again.

use crate::{cables::Cables, sockets::Wrong};
use std::{
    thread,
    time::{Duration, Instant},
};
use support::{NoHang, actor::Actor, limit, simulator::Dice};

/// For how long a cable is out at least: a connection over it that has something to say breaks in that time.
const OUT: u64 = 500;
/// How often cables are pulled out at most until a wrong transport is found out.
const MOST_CUTS: usize = 40;

/// What a talker says.
struct Said {
    sent: Vec<u64>,
    got: Vec<u64>,
    broken: u64,
    again: u64,
    wrong: String,
}

struct Talkers {
    cables: Cables,
    actors: Vec<Actor>,
    dice: Dice,
}

impl Talkers {
    fn start(cables: Cables, wrong: Wrong) -> Self {
        let n = cables.hosts();
        let start = |me: usize| {
            let words = [me.to_string(), n.to_string(), cables.pid(me), format!("{wrong:?}")];
            let mut actor = Actor::start("talker", &words.each_ref().map(String::as_str));
            actor.expect("ready");
            actor
        };
        let actors = (0..n).map(start).collect();
        Self { cables, actors, dice: Dice::new(17) }
    }

    fn tell(&mut self, what: &str) -> Vec<Said> {
        let said = self.actors.iter_mut().map(|actor| {
            actor.tell(what);
            let line = actor.hear();
            let parts: Vec<&str> = line.split('|').collect();
            let numbers = |at: usize| parts[at].split(',').map(|number| number.parse().unwrap()).collect();
            let number = |at: usize| parts[at].parse().unwrap();
            let [sent, got] = [0, 1].map(numbers);
            Said { sent, got, broken: number(2), again: number(3), wrong: parts[4].to_owned() }
        });
        said.collect()
    }

    /// Pulls one cable out and puts it in again.
    fn cut_one(&mut self) {
        let n = self.actors.len() as u64;
        let one = self.dice.within(0..n) as usize;
        let other = (one + self.dice.within(1..n) as usize) % n as usize;
        self.cables.cut(one, other);
        thread::sleep(Duration::from_millis(OUT + self.dice.within(0..200)));
        self.cables.heal(one, other);
        // Until messages go over it again.
        let got = |said: &[Said]| (said[one].got[other], said[other].got[one]);
        let before = got(&self.tell("ask"));
        self.wait("messages over a cable that is in again", |said| {
            let now = got(said);
            now.0 > before.0 + 100 && now.1 > before.1 + 100
        });
    }

    fn wait(&mut self, what: &str, is_so: impl Fn(&[Said]) -> bool) {
        let (began, limit) = (Instant::now(), limit::seconds(60));
        while !is_so(&self.tell("ask")) {
            if began.elapsed() > limit {
                let got: Vec<_> = self.tell("ask").into_iter().map(|said| (said.sent, said.got)).collect();
                panic!("not after {limit:?}: {what}; sent to and got from each: {got:?}");
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn messages_come_once_and_in_order_however_often_connections_break() {
    let _no_hang = NoHang::for_seconds(300);
    let Some(cables) = Cables::between(3) else { return };
    let mut talkers = Talkers::start(cables, Wrong::Nothing);
    let sum = |said: &[Said], what: fn(&Said) -> u64| said.iter().map(what).sum::<u64>();
    for cut in 0.. {
        let said = talkers.tell("ask");
        let (broken, again) = (sum(&said, |said| said.broken), sum(&said, |said| said.again));
        if cut >= 6 && broken >= 6 && again > 0 {
            println!("{cut} cuts, {broken} ends of connections broke, {again} messages sent again");
            break;
        }
        assert!(cut < MOST_CUTS, "{cut} cuts, and nothing was to be sent again");
        talkers.cut_one();
    }
    talkers.tell("enough");
    // All that was sent has come: with that, and each the next one after the last, nothing is lost, and nothing came twice.
    talkers.wait("all messages have come", |said| {
        let n = said.len();
        (0..n).all(|one| (0..n).all(|other| said[one].sent[other] == said[other].got[one]))
    });
    let said = talkers.tell("ask");
    println!("{} messages", sum(&said, |said| said.got.iter().sum()));
    said.iter().for_each(|said| assert_eq!(said.wrong, "-"));
}

/// A transport that breaks the contract is seen to.
fn is_caught(wrong: Wrong, how: impl Fn(&str) -> bool) {
    let _no_hang = NoHang::for_seconds(300);
    let Some(cables) = Cables::between(2) else { return };
    let mut talkers = Talkers::start(cables, wrong);
    for _ in 0..MOST_CUTS {
        talkers.cut_one();
        let found = talkers.tell("ask").into_iter().find(|said| said.wrong != "-");
        if let Some(Said { wrong: found, .. }) = found {
            println!("{wrong:?}: {found}");
            assert!(how(&found), "{wrong:?} shows otherwise: {found}");
            return;
        }
    }
    panic!("{wrong:?} was not seen in {MOST_CUTS} cuts");
}

/// The numbers in `message 7 of participant 1 came after its message 9`.
fn numbers(found: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = found.split(' ').collect();
    Some((words.get(1)?.parse().ok()?, words.last()?.parse().ok()?))
}

#[test]
fn messages_without_numbers_are_seen_to_come_twice() {
    is_caught(Wrong::NoNumbers, |found| numbers(found).is_some_and(|(number, last)| number <= last));
}

#[test]
fn messages_that_are_not_sent_again_are_seen_to_be_lost() {
    is_caught(Wrong::NothingAgain, |found| numbers(found).is_some_and(|(number, last)| number > last + 1));
}

#[test]
fn a_broken_connection_that_is_taken_for_a_death_is_seen() {
    is_caught(Wrong::SilenceIsDeath, |found| found.contains("Down"));
}
