//! Linked rwlocks that programs of several hosts read at once.

use crate::{
    engine::{Etcd, etcd},
    host::{Host, linked},
};
use nix::sys::signal::Signal;
use std::{sync::mpsc::channel, thread, time::Duration};
use support::{
    actor::{Actor, hear, say},
    join, limit, until,
};
use turnlock::{LockFile, RwLock, inspect};

const CACHE: &str = "cache";
const OPTIONS: &[&str] = &["--hold", "3", "--rwlock", CACHE];
const LEASED: &[&str] = &["--hold", "3", "--rwlock", CACHE, "--lease", "3"];

fn cache(host: &Host) -> RwLock {
    LockFile::open(host.path()).unwrap().rwlock(CACHE).unwrap()
}

fn is_home_to_read(host: &Host) -> bool {
    let locks = inspect::snapshot(host.path()).unwrap().locks;
    locks
        .into_iter()
        .any(|lock| lock.name == CACHE && lock.link.is_some_and(|link| link.home && link.to_read))
}

/// The hosts that have it, to write and to read, and those that wait.
fn status(etcd: &Etcd) -> (Option<String>, Vec<String>, Vec<String>) {
    let json = linked(etcd, &["status", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let lock = json["locks"].as_array().unwrap().iter().find(|lock| lock["lock"] == CACHE);
    let Some(lock) = lock else { return (None, Vec::new(), Vec::new()) };
    let hosts = |of: &str| {
        let hosts = lock[of].as_array().unwrap().iter().map(|host| host.as_str().unwrap().to_owned());
        let mut hosts: Vec<String> = hosts.collect();
        hosts.sort_unstable();
        hosts
    };
    (lock["host"].as_str().map(str::to_owned), hosts("reading"), hosts("waiting"))
}

/// The role. Words: the lock file. It reads, says `inside` and its token, and leaves when it is told something.
pub fn reader(words: &[String]) {
    let rwlock = LockFile::open(&words[0]).unwrap().rwlock(CACHE).unwrap();
    let guard = rwlock.read_for(limit::seconds(60)).unwrap();
    say(&format!("inside {}", guard.fencing_token()));
    hear();
    let _ = guard.unlock();
    say("left");
}

/// A program of this host that reads, in a process of its own, and its fencing token.
fn reads(host: &Host) -> (Actor, u64) {
    let mut actor = Actor::start("reader", &[host.path().to_str().unwrap()]);
    let token = actor.expect_number("inside");
    (actor, token)
}

fn write(host: &Host) -> (u64, bool) {
    let rwlock = cache(host);
    let mut guard = rwlock.write_for(limit::seconds(60)).unwrap();
    let told = guard.acquired().previous_owner_died;
    if told {
        guard.mark_consistent().unwrap();
    }
    (guard.fencing_token(), told)
}

#[test]
fn programs_of_three_hosts_read_at_once_and_a_writer_waits_for_all_of_them() {
    let Some(etcd) = etcd() else { return };
    let hosts = ["a", "b", "c"].map(|name| Host::with(&etcd, name, OPTIONS));
    let [a, b, c] = &hosts;
    let (written, _) = write(a);
    // It is home at a; that others read it comes to all.
    let mut readers = [b, a, c].map(reads);
    let read = readers.iter().map(|(_, token)| *token).max();
    for (_, token) in &readers {
        assert!(*token >= written, "{token} {written}");
    }
    assert!(hosts.iter().all(is_home_to_read));
    assert_eq!(status(&etcd), (None, ["a", "b", "c"].map(String::from).into(), Vec::new()));
    let text = String::from_utf8(linked(&etcd, &["status"]).stdout).unwrap();
    assert!(text.contains("lock \"cache\": read at 3 hosts: a, b, c (kept)"), "{text}");
    // One that reads is not in its way, and more of them come in.
    assert!(cache(c).try_read().is_ok());
    thread::scope(|programs| {
        let (says, hears) = channel();
        // At a host that reads, too.
        let writer = programs.spawn(move || {
            let (token, _) = write(b);
            says.send(()).unwrap();
            token
        });
        for (at, (actor, _)) in readers.iter_mut().enumerate() {
            let left = [vec!["a", "b", "c"], vec!["a", "c"], vec!["c"]][at].clone();
            until("who reads is left", || status(&etcd).1 == left || at == 0 && status(&etcd).1.len() == 3);
            assert!(hears.recv_timeout(Duration::from_millis(200)).is_err(), "a writer beside readers");
            actor.tell("leave");
            actor.expect("left");
        }
        hears.recv().unwrap();
        assert!(Some(join(writer)) > read);
    });
    // Two hosts that read both want to write.
    let (first, second) = thread::scope(|programs| {
        for (mut actor, _) in [a, b].map(reads) {
            actor.tell("leave");
            actor.expect("left");
        }
        let [first, second] = [a, b].map(|host| programs.spawn(|| write(host).0));
        (join(first), join(second))
    });
    assert_ne!(first, second);
}

#[test]
fn a_reading_host_that_is_gone_is_forgotten_and_leaves_nothing_to_tell() {
    let Some(etcd) = etcd() else { return };
    let (mut a, b) = (Host::with(&etcd, "a", OPTIONS), Host::with(&etcd, "b", OPTIONS));
    let ((mut of_a, _), (mut of_b, _)) = (reads(&a), reads(&b));
    a.kill_agent();
    of_a.kill();
    of_b.tell("leave");
    of_b.expect("left");
    // Others read, and no one writes.
    drop(cache(&b).read_for(limit::seconds(60)).unwrap());
    assert!(cache(&b).write_for(Duration::from_millis(300)).is_err());
    let forgotten = linked(&etcd, &["forget", "a"]);
    let said = String::from_utf8(forgotten.stdout).unwrap();
    assert_eq!(said, "host \"a\" is forgotten; others may have \"cache\"\n");
    let (first, told) = write(&b);
    assert!(!told, "it had it to read alone");
    // Its own agent moves away what is home there.
    a.start();
    until("it is away", || !is_home_to_read(&a));
    assert!(cache(&a).read_for(limit::seconds(60)).unwrap().fencing_token() >= first);
}

#[test]
fn a_leased_reader_whose_agent_stands_still_is_told_before_a_writer_comes_in() {
    let Some(etcd) = etcd() else { return };
    let (a, b) = (Host::with(&etcd, "a", LEASED), Host::with(&etcd, "b", LEASED));
    let rwlock = cache(&a);
    let guard = rwlock.read_for(limit::seconds(60)).unwrap();
    let read = cache(&b).read_for(limit::seconds(60)).unwrap().fencing_token().max(guard.fencing_token());
    assert!(guard.still_owner());
    a.signal_agent(Signal::SIGSTOP);
    let (written, told) = write(&b);
    assert!(!guard.still_owner() && guard.unlock().is_err());
    assert!(written > read && !told, "{read} {written} {told}");
    assert!(rwlock.try_read().is_err());
    a.signal_agent(Signal::SIGCONT);
    assert!(rwlock.read_for(limit::seconds(60)).unwrap().fencing_token() >= written);
}

#[test]
fn an_agent_that_leaves_gives_up_what_its_host_has_to_read() {
    let Some(etcd) = etcd() else { return };
    let mut a = Host::with(&etcd, "a", &["--rwlock", CACHE, "--leave"]);
    let b = Host::with(&etcd, "b", OPTIONS);
    for host in [&a, &b] {
        drop(cache(host).read_for(limit::seconds(60)).unwrap());
    }
    assert_eq!(status(&etcd).1, ["a", "b"]);
    a.signal_agent(Signal::SIGTERM);
    assert_eq!(a.agent_ends().0, Some(0));
    assert_eq!(status(&etcd).1, ["b"]);
    write(&b);
}

#[test]
fn what_an_agent_that_knows_no_readers_asks_for_is_refused_while_there_are_some() {
    let Some(etcd) = etcd() else { return };
    let (a, b) = (Host::with(&etcd, "a", OPTIONS), Host::with(&etcd, "b", OPTIONS));
    drop(cache(&a).read_for(limit::seconds(60)).unwrap());
    let at = etcd.ctl(&["get", "turnlock/locks/cache/state", "--write-out", "json"]);
    let json: serde_json::Value = serde_json::from_str(&at).unwrap();
    let modified = json["kvs"][0]["mod_revision"].as_u64().unwrap();
    drop(cache(&b).read_for(limit::seconds(60)).unwrap());
    // It compares the state that it has seen, which each reader writes.
    let at = etcd.ctl(&["get", "turnlock/locks/cache/state", "--write-out", "json"]);
    let json: serde_json::Value = serde_json::from_str(&at).unwrap();
    assert!(json["kvs"][0]["mod_revision"].as_u64().unwrap() > modified);
}
