//! Linked rwlocks: readers and writers of several hosts exclude each other as those of one do.

use crate::{
    engine::etcd,
    host::{Host, failed, linked},
};
use std::{
    sync::{
        Barrier, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};
use support::{
    Dice,
    actor::{Actor, hear, say},
    limit,
};
use turnlock::{LockFile, RwLock, inspect};

const CACHE: &str = "cache";
/// The entries of each program.
const ENTRIES: u64 = 12;
const OPTIONS: &[&str] = &["--hold", "3", "--rwlock", CACHE];

fn cache(host: &Host) -> RwLock {
    LockFile::open(host.path()).unwrap().rwlock(CACHE).unwrap()
}

fn is_home(host: &Host) -> bool {
    let locks = inspect::snapshot(host.path()).unwrap().locks;
    locks.into_iter().any(|lock| lock.name == CACHE && lock.link.is_some_and(|link| link.home))
}

/// Reads, and leaves: the fencing token, and whether it was told of a death.
fn read(host: &Host) -> (u64, bool) {
    let rwlock = cache(host);
    let guard = rwlock.read_for(limit::seconds(60)).unwrap();
    (guard.fencing_token(), guard.acquired().previous_owner_died)
}

/// Writes, repairs what a dead one left, and leaves: likewise.
fn write(host: &Host) -> (u64, bool) {
    let rwlock = cache(host);
    let mut guard = rwlock.write_for(limit::seconds(60)).unwrap();
    let told = guard.acquired().previous_owner_died;
    if told {
        guard.mark_consistent().unwrap();
    }
    (guard.fencing_token(), told)
}

/// The role. Words: the lock file. It writes, says `inside` and its token, and leaves when it is told something.
pub fn writer(words: &[String]) {
    let rwlock = LockFile::open(&words[0]).unwrap().rwlock(CACHE).unwrap();
    let guard = rwlock.write_for(limit::seconds(60)).unwrap();
    say(&format!("inside {}", guard.fencing_token()));
    hear();
    guard.unlock().unwrap();
    say("left");
}

#[test]
fn readers_and_writers_of_three_hosts_exclude_each_other_and_tokens_rise() {
    let Some(etcd) = etcd() else { return };
    let hosts = ["a", "b", "c"].map(|name| Host::with(&etcd, name, OPTIONS));
    let (writes, readers) = (AtomicBool::new(false), AtomicU64::new(0));
    // The last writer's token, and whose entries were together.
    let (last, together, writers) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(Vec::new()));
    let halfway = Barrier::new(3 * 3);
    thread::scope(|programs| {
        for (at, host) in hosts.iter().enumerate() {
            for program in 0..3 {
                let (writes, readers, last) = (&writes, &readers, &last);
                let (together, writers, halfway) = (&together, &writers, &halfway);
                programs.spawn(move || {
                    let (rwlock, mut dice) = (cache(host), Dice(at as u64 * 3 + program));
                    for entry in 0..ENTRIES {
                        if entry == ENTRIES / 2 {
                            // All hosts have had it, and all want it again.
                            halfway.wait();
                        }
                        let pause = Duration::from_micros(dice.roll(3_000));
                        if (entry + program) % 3 == 0 {
                            let guard = rwlock.write_for(limit::seconds(100)).unwrap();
                            assert!(!writes.swap(true, SeqCst), "another program writes");
                            assert_eq!(readers.load(SeqCst), 0, "another program reads");
                            let token = guard.fencing_token();
                            assert!(token > last.swap(token, SeqCst), "a token fell");
                            thread::sleep(pause);
                            writers.lock().unwrap().push(host.name);
                            writes.store(false, SeqCst);
                            guard.unlock().unwrap();
                        } else {
                            let guard = rwlock.read_for(limit::seconds(100)).unwrap();
                            if readers.fetch_add(1, SeqCst) > 0 {
                                together.store(true, SeqCst);
                            }
                            assert!(!writes.load(SeqCst), "another program writes");
                            assert!(guard.fencing_token() >= last.load(SeqCst), "a reader's token fell");
                            thread::sleep(pause);
                            readers.fetch_sub(1, SeqCst);
                            guard.unlock().unwrap();
                        }
                        thread::sleep(Duration::from_micros(dice.roll(3_000)));
                    }
                });
            }
        }
    });
    assert!(together.into_inner(), "readers of one host were never inside together");
    let writers = writers.into_inner().unwrap();
    let moves = writers.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(moves >= 3, "the lock came to each host, and came back: {writers:?}");
}

#[test]
fn a_writers_death_is_told_at_the_next_host_and_its_readers_wait_for_the_agent() {
    let Some(etcd) = etcd() else { return };
    let (mut a, b) = (Host::with(&etcd, "a", OPTIONS), Host::with(&etcd, "b", OPTIONS));
    let mut dies = Actor::start("writer", &[a.path().to_str().unwrap()]);
    let token = dies.expect_number("inside");
    assert!(is_home(&a) && !is_home(&b));
    // Kept, as its agent dies: no other host gets it, and a dead program is seen by its own host's file.
    a.kill_agent();
    dies.kill();
    assert!(cache(&b).read_for(Duration::from_millis(300)).is_err());
    assert!(read(&a).1, "its own host's programs are told");
    a.start();
    let (seen, told) = read(&b);
    assert!(told && seen >= token, "{seen} {token} {told}");
    let (written, told) = write(&b);
    assert!(told && written > token, "{written} {token} {told}");
    assert!(!read(&a).1, "it was repaired");
}

#[test]
fn a_host_that_is_forgotten_may_have_written() {
    let Some(etcd) = etcd() else { return };
    let (mut a, b) = (Host::with(&etcd, "a", OPTIONS), Host::with(&etcd, "b", OPTIONS));
    let (first, _) = write(&a);
    a.kill_agent();
    assert!(cache(&b).try_read().is_err());
    assert!(linked(&etcd, &["forget", "a"]).status.success());
    // It may have written, which the others cannot see.
    let (second, told) = write(&b);
    assert!(told && second > first, "{first} {second} {told}");
}

#[test]
fn a_lock_of_another_kind_is_refused() {
    let Some(etcd) = etcd() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.lock");
    let file = LockFile::open(&path).unwrap();
    file.mutex_options().linked(true).open("accounts").unwrap();
    file.rwlock("plain").unwrap();
    let path = path.to_str().unwrap();
    let refuses = |rwlock: &str, what: &str| {
        let (code, said) = failed(&etcd, &["run", path, "--rwlock", rwlock, "--host", "a"]);
        assert!(code == Some(66) && said.contains(what), "{code:?} {said}");
    };
    refuses("accounts", "is a mutex");
    refuses("plain", "its rwlock \"plain\" is not linked");
}
