//! Several hosts want the lock: one program at a time, first come first served, tokens rise.

use crate::{
    engine::etcd,
    host::{Host, LOCK, until_queued},
};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};
use support::Dice;

/// The entries of each program.
const ENTRIES: u64 = 12;

#[test]
fn programs_of_three_hosts_exclude_each_other_and_their_tokens_rise() {
    let Some(etcd) = etcd() else { return };
    let hosts = ["a", "b", "c"].map(|name| Host::with(&etcd, name, &["--hold", "3"]));
    let (is_inside, entries) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    thread::scope(|programs| {
        for (at, host) in hosts.iter().enumerate() {
            for program in 0..2 {
                let (is_inside, entries) = (&is_inside, &entries);
                programs.spawn(move || {
                    let (mutex, mut dice) = (host.mutex(), Dice(at as u64 * 2 + program));
                    for _ in 0..ENTRIES {
                        let guard = mutex.lock_for(support::limit::seconds(100)).unwrap();
                        assert!(!is_inside.swap(true, SeqCst), "another program is inside");
                        entries.lock().unwrap().push((host.name, guard.fencing_token()));
                        thread::sleep(Duration::from_micros(dice.roll(3_000)));
                        is_inside.store(false, SeqCst);
                        guard.unlock().unwrap();
                        thread::sleep(Duration::from_micros(dice.roll(3_000)));
                    }
                });
            }
        }
    });
    let entries = entries.into_inner().unwrap();
    assert_eq!(entries.len() as u64, 3 * 2 * ENTRIES);
    assert!(entries.is_sorted_by(|one, next| one.1 < next.1), "{entries:?}");
    let moves = entries.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
    assert!(moves >= 3, "the lock came to each host, and came back: {entries:?}");
}

#[test]
fn hosts_are_served_in_the_order_in_which_they_came() {
    let Some(etcd) = etcd() else { return };
    let hosts = ["a", "b", "c"].map(|name| Host::new(&etcd, name));
    let (mut holder, _) = hosts[0].holder();
    let order = Mutex::new(Vec::new());
    thread::scope(|programs| {
        let enters = |host| {
            let order = &order;
            programs.spawn(move || {
                let host: &Host = host;
                let mutex = host.mutex();
                let _guard = mutex.lock_for(support::limit::seconds(100)).unwrap();
                order.lock().unwrap().push(host.name);
            });
        };
        enters(&hosts[1]);
        until_queued(&etcd, &["b"]);
        enters(&hosts[2]);
        until_queued(&etcd, &["b", "c"]);
        // The agent of the first one waits in the queue of its own lock; a program that comes after it waits for the other hosts.
        support::until_waiting(&hosts[0].path(), LOCK, 1);
        enters(&hosts[0]);
        support::until_waiting(&hosts[0].path(), LOCK, 2);
        holder.tell("leave");
    });
    assert_eq!(order.into_inner().unwrap(), ["b", "c", "a"]);
    holder.expect("left");
}

#[test]
fn a_lock_that_two_hosts_contend_for_stays_longer_where_its_hold_may_grow() {
    const HOLD: Duration = Duration::from_millis(50);
    let Some(etcd) = etcd() else { return };
    let hosts = ["a", "b"].map(|name| Host::with(&etcd, name, &["--hold", "50", "--hold-most", "800"]));
    // The first entry since the lock came to the host that it is at, and the longest time from there to another entry at that one.
    let stays = Mutex::new(("", Instant::now(), Duration::ZERO));
    // It has grown four times then.
    let has_grown = || stays.lock().unwrap().2 > 12 * HOLD;
    let began = Instant::now();
    thread::scope(|programs| {
        for host in &hosts {
            let (stays, has_grown) = (&stays, &has_grown);
            programs.spawn(move || {
                let mutex = host.mutex();
                while !has_grown() && began.elapsed() < support::limit::seconds(60) {
                    let guard = mutex.lock_for(support::limit::seconds(100)).unwrap();
                    let mut stays = stays.lock().unwrap();
                    if stays.0 != host.name {
                        (stays.0, stays.1) = (host.name, Instant::now());
                    }
                    stays.2 = stays.1.elapsed().max(stays.2);
                    drop(stays);
                    guard.unlock().unwrap();
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
    });
    assert!(has_grown(), "the longest stay: {:?}", stays.lock().unwrap().2);
}
