//! Linked semaphores: the permits of one over several hosts.

use crate::{
    engine::{Etcd, etcd},
    host::{Host, failed, linked},
};
use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp};
use nix::sys::signal::Signal;
use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    thread,
    time::Duration,
};
use support::{
    Dice,
    actor::{Actor, hear, say},
    limit, until,
};
use turnlock::{Error, LockFile, Semaphore};

const JOBS: &str = "jobs";
pub const TOTAL: u32 = 10;
const OPTIONS: &[&str] = &["--hold", "3", "--semaphore", "jobs=10"];

pub fn jobs(host: &Host) -> Semaphore {
    LockFile::open(host.path()).unwrap().semaphore(JOBS).unwrap()
}

fn hosts(etcd: &Etcd) -> [Host<'_>; 3] {
    ["a", "b", "c"].map(|name| Host::with(etcd, name, OPTIONS))
}

/// What each host has, as etcd says it, how many no host has, and who waits.
pub fn status(etcd: &Etcd) -> serde_json::Value {
    let output = linked(etcd, &["status", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    json["semaphores"][0].clone()
}

/// Takes so many, and gives them back.
pub fn take(host: &Host, permits: u32) {
    let semaphore = jobs(host);
    drop(
        semaphore
            .acquire_for(permits, limit::seconds(60))
            .unwrap_or_else(|error| panic!("{}: {error}", host.name)),
    );
}

/// The role. Words: the lock file, how many. It takes the permits, says `inside`, and leaves when it is told something.
pub fn taker(words: &[String]) {
    let semaphore = LockFile::open(&words[0]).unwrap().semaphore(JOBS).unwrap();
    let guard = semaphore.acquire_for(words[1].parse().unwrap(), limit::seconds(60)).unwrap();
    say("inside");
    hear();
    guard.unlock().unwrap();
    say("left");
}

pub fn taker_at(host: &Host, permits: u32) -> Actor {
    let mut taker = Actor::start("taker", &[host.path().to_str().unwrap(), &permits.to_string()]);
    taker.expect("inside");
    taker
}

/// Programs of all hosts take permits, of which there are never more than the total, until each host had them so often. `meanwhile` is
/// called once.
pub fn all_take(hosts: &[Host], times: u32, meanwhile: impl FnOnce()) {
    let (taken, most, is_over) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
    let entries = [const { AtomicU32::new(0) }; 3];
    thread::scope(|programs| {
        for (at, host) in hosts.iter().enumerate() {
            for program in 0..5 {
                let (taken, most, is_over, entries) = (&taken, &most, &is_over, &entries[at]);
                programs.spawn(move || {
                    let (semaphore, mut dice) = (jobs(host), Dice(at as u64 * 5 + program));
                    while !is_over.load(SeqCst) {
                        let permits = 1 + dice.roll(if program == 0 { 7 } else { 2 }) as u32;
                        let guard = semaphore.acquire_for(permits, limit::seconds(100)).unwrap();
                        let all = taken.fetch_add(permits, SeqCst) + permits;
                        assert!(all <= TOTAL, "{all} permits are taken");
                        most.fetch_max(all, SeqCst);
                        thread::sleep(Duration::from_micros(dice.roll(3_000)));
                        taken.fetch_sub(permits, SeqCst);
                        match guard.unlock() {
                            // Its host's agent stands still.
                            Ok(()) | Err(Error::LeaseEnded) => {}
                            Err(error) => panic!("{error}"),
                        }
                        entries.fetch_add(1, SeqCst);
                    }
                });
            }
        }
        meanwhile();
        let before = entries.each_ref().map(|entries| entries.load(SeqCst));
        until("each host had permits, and most of them were taken at once", || {
            let have = entries.iter().zip(before).all(|(now, before)| now.load(SeqCst) >= before + times);
            have && most.load(SeqCst) > TOTAL / 2
        });
        is_over.store(true, SeqCst);
    });
}

#[test]
fn no_more_permits_are_taken_at_three_hosts_than_there_are_and_each_host_gets_some() {
    let Some(etcd) = etcd() else { return };
    let hosts = hosts(&etcd);
    all_take(&hosts, 200, || {});
    // One host that wants them all, and others that want none.
    for host in &hosts {
        take(host, TOTAL);
        let all: Vec<_> = (0..TOTAL).map(|_| taker_at(host, 1)).collect();
        for mut taker in all {
            taker.tell("leave");
            taker.expect("left");
        }
    }
    let shown = String::from_utf8(linked(&etcd, &["status"]).stdout).unwrap();
    assert!(shown.contains("semaphore \"jobs\", 10 permits (kept): 10 at host \"c\", 0 at none"), "{shown}");
}

#[test]
fn permits_go_round_while_agents_and_programs_are_killed_and_etcd_is_restarted() {
    let Some(etcd) = etcd() else { return };
    let mut hosts = hosts(&etcd);
    take(&hosts[0], TOTAL);
    for round in 0..3 {
        // A program that dies leaves its permits to its own host, and by that to the others.
        let mut dies = taker_at(&hosts[round], 4);
        let killed = &mut hosts[(round + 1) % 3];
        killed.kill_agent();
        killed.start();
        all_take(&hosts, 50, || {
            dies.kill();
            if round == 1 {
                etcd.kill();
                etcd.start();
            }
        });
        hosts[round].kill_agent();
        hosts[round].start();
        take(&hosts[(round + 2) % 3], TOTAL);
    }
}

#[test]
fn what_is_in_use_comes_to_the_others_as_it_is_given_back() {
    let Some(etcd) = etcd() else { return };
    let [a, b, _] = &hosts(&etcd);
    let mut of_a: Vec<_> = (0..TOTAL).map(|_| taker_at(a, 1)).collect();
    thread::scope(|programs| {
        let all = programs.spawn(|| take(b, TOTAL));
        until("b waits", || status(&etcd)["waiting"] == serde_json::json!(["b"]));
        // Those that come later wait as b does.
        assert!(jobs(a).acquire_for(1, Duration::from_millis(300)).is_err());
        for left in (0..TOTAL).rev() {
            let mut taker = of_a.pop().unwrap();
            taker.tell("leave");
            taker.expect("left");
            if left > 0 {
                until("b has what was given back", || status(&etcd)["shares"]["b"] == TOTAL - left);
            }
        }
        all.join().unwrap();
    });
}

#[test]
fn what_a_host_has_stays_its_own_until_it_leaves_or_is_forgotten() {
    let Some(etcd) = etcd() else { return };
    let leaves: &'static [&'static str] = &["--hold", "3", "--leave", "--semaphore", "jobs=10"];
    let (mut a, b) = (Host::with(&etcd, "a", leaves), Host::with(&etcd, "b", OPTIONS));
    take(&a, TOTAL);
    a.kill_agent();
    assert!(jobs(&b).acquire_for(1, Duration::from_millis(500)).is_err(), "they are kept");
    // Its programs go on meanwhile.
    take(&a, TOTAL);
    a.start();
    a.signal_agent(Signal::SIGTERM);
    let (code, said) = a.agent_ends();
    assert!(code == Some(0) && said.contains("all its permits are given back"), "{code:?} {said}");
    assert!(jobs(&a).try_acquire(1).is_err(), "it has none");
    take(&b, TOTAL);
    a.start();
    take(&a, TOTAL);
    a.kill_agent();
    let forgets = linked(&etcd, &["forget", "a"]);
    let said = String::from_utf8_lossy(&forgets.stdout);
    assert!(forgets.status.success() && said.contains("others may have its permits of \"jobs\""), "{said}");
    take(&b, TOTAL);
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(etcd) = etcd() else { return };
    let a = Host::with(&etcd, "a", OPTIONS);
    take(&a, 1);
    let b = Host::with(&etcd, "b", &["--semaphore", "jobs=11"]);
    assert!(jobs(&b).acquire_for(1, Duration::from_millis(500)).is_err());
    until("it says so", || b.said().contains("\"jobs\" has 11 permits here, and 10 at the other hosts"));
    let path = a.path();
    let path = path.to_str().unwrap();
    let refuses = |options: &[&str], what: &str| {
        let arguments = [&["run", path, "--host", "c"], options].concat();
        let (code, said) = failed(&etcd, &arguments);
        assert!(code != Some(0) && said.contains(what), "{code:?} {said}");
    };
    refuses(&["--semaphore", "jobs=9"], "has 10 permits, and one of 9 was asked for");
    refuses(&["--semaphore", "jobs"], "is not NAME=N");
    refuses(&["--semaphore", "accounts=3"], "is a mutex");
}

/// What a transaction that takes permits rests on.
#[test]
fn a_comparison_of_many_keys_sees_what_was_written_since_and_not_what_was_deleted() {
    let Some(etcd) = etcd() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut client = Client::connect([etcd.endpoint()], None).await.unwrap();
        let unchanged = |revision: i64| {
            let compare = Compare::mod_revision("shares/", CompareOp::Less, revision + 1).with_prefix();
            Txn::new().when([compare]).and_then([TxnOp::put("taken", "", None)])
        };
        let none = client.txn(unchanged(0)).await.unwrap();
        assert!(none.succeeded(), "of no key");
        client.put("shares/a", "3", None).await.unwrap();
        let at = client.put("shares/b", "4", None).await.unwrap().header().unwrap().revision();
        client.put("other", "", None).await.unwrap();
        assert!(client.txn(unchanged(at)).await.unwrap().succeeded());
        assert!(!client.txn(unchanged(at - 1)).await.unwrap().succeeded(), "b was written since");
        client.delete("shares/b", None).await.unwrap();
        assert!(client.txn(unchanged(at)).await.unwrap().succeeded(), "less is taken");
        client.put("shares/a", "3", None).await.unwrap();
        assert!(!client.txn(unchanged(at)).await.unwrap().succeeded(), "a was written since");
    });
}
