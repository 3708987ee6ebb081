//! Two hosts, each a lock file of its own here, whose agents are killed again and again while they move one lock between them.

use crate::agents::{BLOCK, NAME, agent_of, linked};
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
use turnlock::LockFile;

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

/// A role. Words: the folder, the host. A program: it enters, and checks that it is alone among those of all hosts.
pub fn enters(words: &[String]) {
    let (world, host) = (world(&words[0]), words[1].parse::<usize>().unwrap());
    let mutex = file_of(&words[0], &words[1]).mutex(NAME).unwrap();
    while world.over.load(SeqCst) == 0 {
        let Ok(guard) = mutex.lock_for(Duration::from_millis(200)) else { continue };
        let token = guard.fencing_token();
        let is_alone = world.data.get() == world.copy.get();
        world.data.count();
        if token <= world.token.get() || !is_alone || token > world.reserved.load(SeqCst) {
            world.fault.store(token, SeqCst);
        }
        world.token.set(token);
        world.copy.count();
        world.entries[host].fetch_add(1, SeqCst);
    }
    say("done");
    hear();
}

/// A role. Words: the folder, the host, a seed. An agent, until it is killed: what it knows it has from the file and the store.
pub fn moves(words: &[String]) {
    let (world, host) = (world(&words[0]), words[1].parse::<u64>().unwrap());
    let mut dice = Dice(words[2].parse().unwrap());
    let path = Path::new(&words[0]).join(format!("{}.lock", words[1]));
    let (file, mutex) = linked(&path);
    let (agent, linked) = agent_of(&file, &mutex);
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

#[test]
fn two_hosts_exclude_each_other_whenever_their_agents_are_killed() {
    let _no_hang = NoHang::for_seconds(100);
    let place = Place::new();
    let folder = place.folder().to_str().unwrap();
    let world = world(folder);
    let first = (0..2).map(|host| {
        let (_, mutex) = linked(&place.at(&format!("{host}.lock")));
        drop(mutex.try_lock());
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
    assert_eq!(world.data.get(), entries.iter().sum());
    assert!(kills > 20 && entries.iter().all(|entries| *entries > 100), "{kills} {entries:?}");
    assert!(world.found.load(SeqCst) > 0, "no agent was killed with the privilege");
    assert!(began.elapsed() < limit::seconds(60));
}
