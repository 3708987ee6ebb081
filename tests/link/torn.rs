//! Two hosts, each a lock file of its own here, whose agents are killed again and again while they move one lock between them.

use crate::agents::{BLOCK, NAME, attached};
use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};
use support::{
    Dice, NoHang, Place,
    actor::{Actor, hear, say},
    limit,
    shared::{Plain, Shareable, Shared},
};
use turnlock::{AnyLock, LockFile};

/// What both hosts see.
#[repr(C)]
struct World {
    /// The store that the agents ask: 0, or the host that has the privilege, plus 1.
    privilege: AtomicU64,
    /// Every token up to it is reserved.
    reserved: AtomicU64,
    /// What the lock protects.
    data: Plain,
    /// The same, counted after it.
    copy: Plain,
    /// The last fencing token that came.
    token: Plain,
    /// Who went wrong: the token that fell, or was no holder's alone.
    fault: AtomicU64,
    /// How often a holder wrote.
    writes: AtomicU64,
    /// The entries of each host.
    entries: [AtomicU64; 2],
    /// How often the lock came home, and how often an agent found the privilege to be its own.
    homecomings: AtomicU64,
    found: AtomicU64,
    over: AtomicU64,
}

// SAFETY: atomics and `Plain` words.
unsafe impl Shareable for World {}

/// How long it goes on.
const LENGTH: Duration = Duration::from_secs(4);

fn world(folder: &str) -> Shared<World> {
    Shared::open(&Path::new(folder).join("world"))
}

fn file_of(folder: &str, host: &str) -> LockFile {
    LockFile::open(Path::new(folder).join(format!("{host}.lock"))).unwrap()
}

/// How long an entry waits.
const WAIT: Duration = Duration::from_millis(200);
/// So often a program reads a rwlock, and then writes: a bias towards readers begins, and a place is reserved.
const IN_A_ROW: u64 = 50;

/// A role. Words: the folder, the host. A program: it enters, and checks that it is alone among those of all hosts, or among readers of its own.
pub fn enters(words: &[String]) {
    let (world, host) = (world(&words[0]), words[1].parse::<usize>().unwrap());
    let lock = file_of(&words[0], &words[1]).open_any(NAME).unwrap();
    for entry in 0.. {
        if world.over.load(SeqCst) != 0 {
            break;
        }
        match &lock {
            AnyLock::RwLock(rwlock) if (entry / IN_A_ROW).is_multiple_of(2) => {
                let Ok(guard) = rwlock.read_for(WAIT) else { continue };
                let token = guard.fencing_token();
                world.check(token, token >= world.token.get());
            }
            AnyLock::RwLock(rwlock) => {
                let Ok(guard) = rwlock.write_for(WAIT) else { continue };
                world.write(guard.fencing_token());
            }
            AnyLock::Mutex(mutex) => {
                let Ok(guard) = mutex.lock_for(WAIT) else { continue };
                world.write(guard.fencing_token());
            }
            other => panic!("{other:?} cannot be linked"),
        }
        world.entries[host].fetch_add(1, SeqCst);
    }
    say("done");
    hear();
}

impl World {
    /// Checks, for one that is inside, that no writer is.
    fn check(&self, token: u64, has_risen: bool) {
        if !has_risen || self.data.get() != self.copy.get() || token > self.reserved.load(SeqCst) {
            self.fault.store(token, SeqCst);
        }
    }

    fn write(&self, token: u64) {
        self.check(token, token > self.token.get());
        self.data.count();
        self.token.set(token);
        self.copy.count();
        self.writes.fetch_add(1, SeqCst);
    }
}

/// A role. Words: the folder, the host, a seed. An agent, until it is killed: what it knows it has from the file and the store.
pub fn moves(words: &[String]) {
    let (world, host) = (world(&words[0]), words[1].parse::<u64>().unwrap());
    let mut dice = Dice(words[2].parse().unwrap());
    let path = Path::new(&words[0]).join(format!("{}.lock", words[1]));
    let file = LockFile::open(&path).unwrap();
    let (agent, linked) = match file.open_any(NAME).unwrap() {
        AnyLock::RwLock(rwlock) => attached(&file, &rwlock),
        AnyLock::Mutex(mutex) => attached(&file, &mutex),
        other => panic!("{other:?} cannot be linked"),
    };
    let is_ours = || world.privilege.load(SeqCst) == host + 1;
    // Away comes before the privilege is given up, and home after it was taken.
    assert!(!linked.is_home() || is_ours(), "home, and the privilege is another's");
    world.found.fetch_add(u64::from(is_ours()), SeqCst);
    loop {
        if !linked.is_home() {
            if !is_ours() && world.privilege.compare_exchange(0, host + 1, SeqCst, SeqCst).is_err() {
                agent.wait(Duration::from_micros(100)).unwrap();
                continue;
            }
            let end = world.reserved.fetch_add(BLOCK, SeqCst) + BLOCK;
            linked.bring_home(end - BLOCK + 1..=end, linked.data()).unwrap();
            world.homecomings.fetch_add(1, SeqCst);
        }
        thread::sleep(Duration::from_micros(dice.roll(300)));
        linked.move_away().unwrap();
        world.privilege.store(0, SeqCst);
        thread::sleep(Duration::from_micros(dice.roll(300)));
    }
}

/// `create`: names the linked lock in a host's file.
fn two_hosts_exclude_each_other(create: impl Fn(&LockFile)) {
    let _no_hang = NoHang::for_seconds(100);
    let place = Place::new();
    let folder = place.folder().to_str().unwrap();
    let world = world(folder);
    let first = (0..2).map(|host| {
        create(&LockFile::open(place.at(&format!("{host}.lock"))).unwrap());
        let status = turnlock::inspect::snapshot(place.at(&format!("{host}.lock"))).unwrap();
        status.locks[0].fencing_token.unwrap()
    });
    world.reserved.store(first.max().unwrap(), SeqCst);
    let hosts = ["0", "1"];
    let programs: Vec<Actor> =
        hosts.iter().flat_map(|host| [host; 2]).map(|host| Actor::start("enters", &[folder, host])).collect();
    let (mut dice, mut kills, began) = (Dice(20), 0, Instant::now());
    let start = |host: usize, kills: u64| Actor::start("moves", &[folder, hosts[host], &kills.to_string()]);
    let mut agents = [start(0, 0), start(1, 1)];
    while began.elapsed() < LENGTH {
        thread::sleep(Duration::from_micros(dice.roll(40_000)));
        let host = dice.roll(2) as usize;
        agents[host].kill();
        kills += 1;
        agents[host] = start(host, kills + 1);
    }
    world.over.store(1, SeqCst);
    // Some wait for a lock that is away, and give up.
    for mut program in programs {
        program.expect("done");
    }
    agents.iter_mut().for_each(Actor::kill);
    let entries = [0, 1].map(|host| world.entries[host].load(SeqCst));
    println!(
        "{kills} agents killed, {} homecomings, {} found the privilege theirs, entries {entries:?}",
        world.homecomings.load(SeqCst),
        world.found.load(SeqCst)
    );
    assert_eq!(world.fault.load(SeqCst), 0, "the token of one that was not alone, or whose token fell");
    assert_eq!(world.data.get(), world.copy.get());
    assert_eq!(world.data.get(), world.writes.load(SeqCst));
    assert!(kills > 20 && entries.iter().all(|entries| *entries > 100), "{kills} {entries:?}");
    assert!(world.found.load(SeqCst) > 0, "no agent was killed with the privilege");
    assert!(began.elapsed() < limit::seconds(60));
}

#[test]
fn two_hosts_exclude_each_other_whenever_their_agents_are_killed() {
    two_hosts_exclude_each_other(|file| {
        file.mutex_options().linked(true).patience(Duration::ZERO).open(NAME).unwrap();
    });
}

#[test]
fn their_readers_and_writers_do_too() {
    two_hosts_exclude_each_other(|file| {
        file.rwlock_options().linked(true).patience(Duration::ZERO).open(NAME).unwrap();
    });
}
