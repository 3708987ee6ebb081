//! Many that die, together or one by one: a participant that finds one of them dead removes them all, and none is
//! left to be found when its turn would have come.

use std::{path::Path, thread, time::Duration};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    elsewhere, join, queue_at, until,
};
use turnlock::{
    DEFAULT_PATIENCE, DeathPolicy, LockFile, MutexAlgorithm, Result,
    inspect::{self, Life},
};

/// What is asked of the lock "a", by its name: those that keep each other out.
const ALONE: [&str; 10] = [
    "mutex",
    "strict",
    "write",
    "all permits",
    "range",
    "key",
    "lamport-queue",
    "ricart-agrawala",
    "token-ring",
    "message-bakery",
];
/// Those by messages are 16 at most, and each that died costs the others messages.
fn crowd(what: &str) -> usize {
    if what.contains('-') { 10 } else { 40 }
}

const PERMITS: u32 = 100;

/// Asks for the lock "a", says so by `begins`, and does `act` inside.
fn inside(file: &LockFile, what: &str, begins: impl FnOnce(), act: impl FnOnce()) -> Result<()> {
    let release = DeathPolicy::Release;
    let mutex = |patience, algorithm| {
        file.mutex_options().patience(patience).algorithm(algorithm).death_policy(release).open("a")
    };
    let algorithm = match what {
        "lamport-queue" => MutexAlgorithm::LamportQueue,
        "ricart-agrawala" => MutexAlgorithm::RicartAgrawala,
        "token-ring" => MutexAlgorithm::TokenRing,
        "message-bakery" => MutexAlgorithm::MessageBakery,
        _ => MutexAlgorithm::Bakery,
    };
    match what {
        "read" | "write" => {
            let lock = file.rwlock_options().death_policy(release).open("a")?;
            begins();
            if what == "read" { lock.read().map(|_guard| act()) } else { lock.write().map(|_guard| act()) }
        }
        "permit" | "all permits" => {
            let lock = file.semaphore_options().permits(PERMITS).open("a")?;
            begins();
            lock.acquire(if what == "permit" { 1 } else { PERMITS }).map(|_permits| act())
        }
        "range" => {
            let lock = file.range_lock_options().death_policy(release).open("a")?;
            begins();
            lock.write(1..5).map(|_guard| act())
        }
        "key" => {
            let lock = file.keyed_lock_options().death_policy(release).open("a")?;
            begins();
            lock.write("key").map(|_guard| act())
        }
        "group 1" | "group 2" => {
            let lock = file.group_lock_options().death_policy(release).open("a")?;
            begins();
            lock.lock(if what == "group 1" { 1 } else { 2 }).map(|_guard| act())
        }
        "ring" => {
            let ring = file.ring_options().death_policy(release).open("a")?;
            begins();
            ring.lock().map(|_guard| act())
        }
        _ => {
            let patience = if what == "strict" { Duration::ZERO } else { DEFAULT_PATIENCE };
            let mutex = mutex(patience, algorithm)?;
            begins();
            mutex.lock().map(|_guard| act())
        }
    }
}

/// A process that asks, and stays inside until it is killed.
pub fn one_of_many(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    let stays = || {
        say("inside");
        hear();
    };
    inside(&file, &words[1], || say("begins"), stays).unwrap();
}

fn start(path: &Path, what: &str, is_inside: bool) -> Actor {
    let mut actor = Actor::start("one_of_many", &[path.to_str().unwrap(), what]);
    actor.expect("begins");
    if is_inside {
        actor.expect("inside");
    }
    actor
}

fn file_at(path: &Path) -> LockFile {
    LockFile::options().participants(64).locks(1).mailboxes(16).open(path).unwrap()
}

fn dead(path: &Path) -> usize {
    inspect::snapshot(path).unwrap().participants.iter().filter(|one| one.life == Life::Dead).count()
}

/// The `first` is inside, `number` others wait behind it or are inside too, and one that lives waits for `living`. All but
/// that one are killed. Once it is inside, no dead one is left.
fn die_together(first: &str, others: &str, living: &str, number: usize) {
    let place = Place::new();
    let path = place.lock_file();
    let file = file_at(&path);
    let mut victims = vec![start(&path, first, true)];
    let are_inside = first == others && !ALONE.contains(&first) && first != "ring";
    victims.extend((0..number).map(|_| start(&path, others, are_inside)));
    let wait = if are_inside { 0 } else { number };
    until("they wait", || queue_at(&path, "a").len() == wait);
    thread::scope(|threads| {
        let living = threads.spawn(|| inside(&file, living, || (), || assert_eq!(dead(&path), 0)).unwrap());
        until("one more waits", || queue_at(&path, "a").len() == wait + 1);
        // The first last: when it is found dead, all the others are.
        victims[1..].iter_mut().for_each(Actor::kill_without_waiting);
        victims.truncate(1);
        victims.clear();
        join(living);
    });
}

#[test]
fn of_many_killed_together_none_is_left_when_the_next_one_is_inside() {
    let _no_hang = NoHang::for_seconds(240);
    for what in ALONE.into_iter().chain(["ring"]) {
        println!("{what}");
        die_together(what, what, what, crowd(what));
    }
    for (first, others, living) in [
        ("write", "read", "write"),
        ("read", "read", "write"),
        ("permit", "permit", "all permits"),
        ("group 1", "group 1", "group 2"),
        ("group 1", "group 2", "group 1"),
    ] {
        println!("{others} behind or beside {first}");
        die_together(first, others, living, crowd(others));
    }
}

/// While the holder holds: nothing of it is left to be done when it unlocks.
#[test]
fn waiters_that_die_one_by_one_are_removed_while_they_would_wait() {
    let _no_hang = NoHang::for_seconds(240);
    for what in ALONE.into_iter().chain(["ring"]) {
        println!("{what}");
        let place = Place::new();
        let path = place.lock_file();
        let file = file_at(&path);
        let mut living = None;
        let holds = || {
            let mut victims: Vec<_> = (0..4).map(|_| start(&path, what, false)).collect();
            until("they wait", || queue_at(&path, "a").len() == victims.len());
            let at = path.clone();
            let lives = move || inside(&file_at(&at), what, || (), || ()).unwrap();
            living = Some(thread::spawn(lives));
            until("one more waits", || queue_at(&path, "a").len() == victims.len() + 1);
            victims.extend((0..4).map(|_| start(&path, what, false)));
            until("those behind it wait", || queue_at(&path, "a").len() == victims.len() + 1);
            for mut victim in victims {
                victim.kill();
                thread::sleep(Duration::from_millis(5));
            }
            // No participant waits for those that are behind it.
            until("those before it are removed", || dead(&path) <= 4);
        };
        inside(&file, what, || (), holds).unwrap();
        living.unwrap().join().unwrap();
    }
}

/// Where no slot is free but those of the dead, a newcomer removes all of these.
#[test]
fn a_newcomer_to_a_table_full_of_the_dead_removes_them() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().participants(8).locks(1).open(&path).unwrap();
    // This thread has a slot from here on.
    let semaphore = file.semaphore_options().permits(PERMITS).open("a").unwrap();
    drop(semaphore.acquire(1).unwrap());
    let mut victims: Vec<_> = (0..7).map(|_| start(&path, "permit", true)).collect();
    victims.iter_mut().for_each(Actor::kill);
    assert_eq!(dead(&path), 7);
    elsewhere(|| drop(semaphore.acquire(1).unwrap()));
    assert_eq!(dead(&path), 0);
}
