//! Everything at once, at random: agents, programs and the engine are killed, stopped and started again, while programs of three hosts enter.

use crate::{
    engine::{Etcd, etcd},
    host::{Host, LOCK},
};
use nix::sys::signal::Signal;
use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};
use support::{Dice, actor::Actor};
use turnlock::LockFile;

/// For how long: `TURNLOCK_LINK_TORTURE` seconds.
fn seconds() -> u64 {
    std::env::var("TURNLOCK_LINK_TORTURE").ok().and_then(|text| text.parse().ok()).unwrap_or(15)
}

/// What was seen, by whoever was inside.
#[derive(Default)]
struct History {
    is_inside: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    entries: Vec<(&'static str, u64)>,
    /// A program was killed inside, and none was told yet.
    is_torn: bool,
    deaths: u32,
}

impl History {
    fn comes(&self, host: &'static str, token: u64, is_told: bool) {
        assert!(!self.is_inside.swap(true, SeqCst), "{host}, {token}: another program is inside");
        let mut seen = self.seen.lock().unwrap();
        let last = seen.entries.last().copied();
        assert!(last.is_none_or(|(_, last)| last < token), "{host}, {token}: after {last:?}");
        assert!(is_told || !seen.is_torn, "{host}, {token}: not told of a death, after {last:?}");
        seen.is_torn = false;
        seen.entries.push((host, token));
    }

    fn goes(&self) {
        self.is_inside.store(false, SeqCst);
    }

    /// It is about to be killed inside.
    fn dies(&self) {
        let mut seen = self.seen.lock().unwrap();
        (seen.is_torn, seen.deaths) = (true, seen.deaths + 1);
        self.goes();
    }
}

#[test]
fn whatever_is_killed_one_program_is_inside_and_tokens_rise_and_deaths_are_told() {
    let Some(etcd) = etcd() else { return };
    let mut hosts = ["a", "b", "c"].map(|name| Host::with(&etcd, name, &["--hold", "3"]));
    let files = ["a", "b", "c"].into_iter().zip(hosts.each_ref().map(Host::path)).collect::<Vec<_>>();
    let (history, is_over) = (History::default(), AtomicBool::new(false));
    thread::scope(|programs| {
        for (at, (name, path)) in files.iter().enumerate() {
            let (history, is_over) = (&history, &is_over);
            programs.spawn(move || enters(name, path, history, is_over, Dice(at as u64)));
            programs.spawn(move || dies(name, path, history, is_over, Dice(10 + at as u64)));
        }
        let mut dice = Dice(20);
        let until = Instant::now() + Duration::from_secs(seconds());
        while Instant::now() < until && !is_over.load(SeqCst) {
            thread::sleep(Duration::from_millis(dice.roll(400)));
            support::watchdog::sign_of_life();
            let at = dice.roll(3) as usize;
            something_happens(&etcd, &mut hosts[at], &mut dice);
        }
        is_over.store(true, SeqCst);
    });
    // All is well again, and each host gets the lock.
    for (round, host) in hosts.iter().chain(&hosts).enumerate() {
        let (token, is_told) = host.enter();
        history.comes(host.name, token, is_told || round > 0);
        history.goes();
    }
    let seen = history.seen.into_inner().unwrap();
    let at = |name| seen.entries.iter().filter(|(host, _)| *host == name).count();
    println!(
        "{} entries, at a {}, b {}, c {}; {} deaths",
        seen.entries.len(),
        at("a"),
        at("b"),
        at("c"),
        seen.deaths
    );
    assert!(
        seen.entries.len() > 50 && seen.deaths > 2,
        "{} entries, {} deaths",
        seen.entries.len(),
        seen.deaths
    );
}

/// Enters and leaves, for as long as it goes on.
fn enters(name: &'static str, path: &Path, history: &History, is_over: &AtomicBool, mut dice: Dice) {
    let mutex = LockFile::open(path).unwrap().mutex(LOCK).unwrap();
    while !is_over.load(SeqCst) {
        let Ok(mut guard) = mutex.lock_for(Duration::from_millis(500 + dice.roll(2_000))) else { continue };
        let acquired = guard.acquired();
        history.comes(name, acquired.fencing_token, acquired.previous_owner_died);
        if acquired.previous_owner_died {
            guard.mark_consistent().unwrap();
        }
        thread::sleep(Duration::from_micros(dice.roll(2_000)));
        history.goes();
        guard.unlock().unwrap();
        thread::sleep(Duration::from_micros(dice.roll(2_000)));
    }
}

/// Processes that are killed inside, one after the other.
fn dies(name: &'static str, path: &Path, history: &History, is_over: &AtomicBool, mut dice: Dice) {
    while !is_over.load(SeqCst) {
        let mut victim = Actor::start("victim", &[path.to_str().unwrap()]);
        let line = victim.hear();
        if let Some((token, is_told)) = line.split_once(' ') {
            history.comes(name, token.parse().unwrap(), is_told == "true");
            history.dies();
            victim.kill();
        }
        thread::sleep(Duration::from_millis(dice.roll(1_000)));
    }
}

/// The role. Words: the lock file. It enters, says its token and whether it was told of a death, and stays; or says that it did not get in.
pub fn victim(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex(LOCK).unwrap();
    match mutex.lock_for(Duration::from_secs(2)) {
        Ok(guard) => {
            let acquired = guard.acquired();
            support::actor::say(&format!("{} {}", acquired.fencing_token, acquired.previous_owner_died));
            support::actor::hear();
        }
        Err(_) => support::actor::say("late"),
    }
}

fn something_happens(etcd: &Etcd, host: &mut Host, dice: &mut Dice) {
    let a_while = Duration::from_millis(dice.roll(1_500));
    match dice.roll(10) {
        0..4 => {
            host.kill_agent();
            thread::sleep(a_while / 3);
            host.start();
        }
        4..6 => {
            host.signal_agent(Signal::SIGSTOP);
            thread::sleep(a_while);
            host.signal_agent(Signal::SIGCONT);
        }
        6..8 => {
            etcd.signal(Signal::SIGSTOP);
            thread::sleep(a_while);
            etcd.signal(Signal::SIGCONT);
        }
        _ => {
            etcd.kill();
            thread::sleep(a_while / 3);
            etcd.restart();
        }
    }
}
