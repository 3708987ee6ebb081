//! Agents that die, and the boot.

use crate::agents::{AgentProcess, NAME, agent_of, bring_home, linked};
use std::time::Duration;
use support::{
    NoHang, Place,
    format::{self, poke},
    limit,
    puppet::{Puppet, Said},
    until_waiting,
};
use turnlock::{Error, LockFile, inspect};

const SHORT: Duration = Duration::from_millis(20);

#[test]
fn killed_while_the_lock_is_away_it_stays_closed_until_an_agent_is_back() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let mut agent = AgentProcess::that_finds(&path, "away");
    agent.ask("home");
    drop(mutex.lock().unwrap());
    agent.ask("away");
    let mut waits = Puppet::at(&path, NAME);
    waits.0.tell("lock");
    until_waiting(&path, NAME, 1);
    agent.0.kill();
    // No reaper opens it: neither one that waits, nor one that is asked for.
    std::thread::sleep(Duration::from_millis(200));
    file.reap().unwrap();
    let error = mutex.lock_for(SHORT).unwrap_err();
    assert!(error.to_string().ends_with("it is linked, and no agent is attached to it"), "{error}");
    let status = inspect::snapshot(&path).unwrap();
    let link = status.locks[0].link.unwrap();
    assert_eq!((link.home, link.agent, status.locks[0].state), (false, None, "consistent"));
    // Its successor is told by the file.
    let mut next = AgentProcess::that_finds(&path, "away");
    next.ask("home");
    assert!(matches!(waits.hear(), Said::Taken(_, false)));
}

#[test]
fn killed_while_the_lock_is_home_programs_go_on_and_the_next_agent_finds_out() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let mut agent = AgentProcess::that_finds(&path, "away");
    agent.ask("home");
    agent.0.kill();
    let mut last = 0;
    for _ in 0..100 {
        let token = mutex.lock().unwrap().fencing_token();
        assert!(token > last);
        last = token;
    }
    let (_agent, linked) = agent_of(&file, &mutex);
    assert!(linked.is_home());
    assert_eq!(linked.last_token(), last);
}

#[test]
fn killed_in_the_queue_it_is_reaped_like_any_waiter() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let mut agent = AgentProcess::that_finds(&path, "away");
    agent.ask("home");
    let mut holder = Puppet::that_holds(&path, NAME);
    agent.0.tell("away");
    until_waiting(&path, NAME, 1);
    let mut behind = Puppet::at(&path, NAME);
    behind.0.tell("lock");
    until_waiting(&path, NAME, 2);
    agent.0.kill();
    assert_eq!(holder.ask("unlock"), Said::Done);
    assert!(matches!(behind.hear(), Said::Taken(_, false)), "no holder died");
    assert_eq!(behind.ask("unlock"), Said::Done);
    assert!(agent_of(&file, &mutex).1.is_home());
}

#[test]
fn the_next_agent_is_told_of_one_that_waits_though_the_last_one_was_told() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let (agent, last) = agent_of(&file, &mutex);
    let mut waits = Puppet::at(&path, NAME);
    waits.0.tell("lock");
    assert!(agent.wait(limit::seconds(30)).unwrap() && last.take_wanted());
    drop((last, agent));
    let (agent, next) = agent_of(&file, &mutex);
    assert!(agent.wait(Duration::ZERO).unwrap() && next.take_wanted());
    bring_home(&next);
    assert!(matches!(waits.hear(), Said::Taken(_, false)));
    assert_eq!(waits.ask("unlock"), Said::Done);
    // None waits.
    next.move_away().unwrap();
    assert!(!next.take_wanted());
    drop((next, agent));
    let (agent, next) = agent_of(&file, &mutex);
    assert!(!agent.wait(Duration::ZERO).unwrap() && !next.take_wanted());
}

#[test]
fn one_agent_at_a_time() {
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let agent = AgentProcess::that_finds(&path, "away");
    let another = file.link_agent("another").unwrap();
    let Err(error) = another.attach(&mutex) else { panic!("two agents") };
    let pid = agent.0.pid();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    assert!(error.to_string().contains(&format!("has an agent already, agent (pid {pid})")), "{error}");
    drop(agent);
    let linked = another.attach(&mutex).unwrap();
    assert!(matches!(another.attach(&mutex), Err(Error::InUse { .. })), "it has it already");
    drop(linked);
    assert!(!another.attach(&mutex).unwrap().is_home());
}

#[test]
fn an_agent_that_ends_leaves_the_lock_as_it_is() {
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let (agent, linked) = agent_of(&file, &mutex);
    bring_home(&linked);
    drop((linked, agent));
    drop(mutex.lock().unwrap());
    let (agent, linked) = agent_of(&file, &mutex);
    assert!(linked.is_home());
    linked.move_away().unwrap();
    // Its slot goes, whatever of it is dropped first.
    drop((agent, linked));
    let link = inspect::snapshot(&path).unwrap().locks[0].link.unwrap();
    assert_eq!((link.home, link.agent), (false, None));
    assert!(mutex.try_lock().is_err());
}

#[test]
fn after_a_boot_it_is_away_whatever_it_was() {
    let place = Place::new();
    let path = place.lock_file();
    let last = {
        let (file, mutex) = linked(&path);
        let (_agent, linked) = agent_of(&file, &mutex);
        bring_home(&linked);
        linked.set_lease_end(u64::MAX).unwrap();
        mutex.lock().unwrap().fencing_token()
    };
    std::thread::scope(|threads| {
        // A thread has a slot as long as it lives.
        threads.spawn(|| poke(&path, format::BOOT_ID, &[7; 16])).join().unwrap();
    });
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let mutex = file.mutex(NAME).unwrap();
    assert!(mutex.is_linked() && mutex.try_lock().is_err());
    let (_agent, linked) = agent_of(&file, &mutex);
    assert_eq!((linked.is_home(), linked.last_token(), linked.token_end()), (false, last, 0));
    assert_eq!(linked.lease_end(), 0, "the clock has begun anew");
}
