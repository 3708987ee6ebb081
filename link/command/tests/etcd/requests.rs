//! What etcd is asked.

use crate::{
    engine::etcd,
    host::{Host, until_queued},
};
use std::{thread, time::Duration};
use support::until;

#[test]
fn a_lock_at_home_asks_nothing_and_neither_does_one_that_is_away_and_not_wanted() {
    let Some(etcd) = etcd() else { return };
    let (a, b) = (Host::new(&etcd, "a"), Host::new(&etcd, "b"));
    b.enter();
    a.enter();
    // Until the agents have done what comes after it.
    let mut before = etcd.requests();
    until("the agents rest", || {
        thread::sleep(Duration::from_millis(300));
        let now = etcd.requests();
        std::mem::replace(&mut before, now.clone()) == now
    });
    let mutex = a.mutex();
    for _ in 0..1_000 {
        mutex.lock().unwrap().unlock().unwrap();
    }
    // Longer than what is known may be old while something is waited for, and than leases are kept.
    thread::sleep(Duration::from_secs(6));
    assert_eq!(etcd.requests(), before);
}

#[test]
fn one_that_waits_keeps_its_lease_for_as_long_as_it_waits() {
    let Some(etcd) = etcd() else { return };
    let (a, b) = (Host::new(&etcd, "a"), Host::new(&etcd, "b"));
    let (mut holder, first) = a.holder();
    thread::scope(|programs| {
        let of_b = programs.spawn(|| b.enter());
        until_queued(&etcd, &["b"]);
        // More than its lease.
        let kept = etcd.requests()["LeaseKeepAlive"] + 4;
        until("the lease is kept", || etcd.requests()["LeaseKeepAlive"] >= kept);
        until_queued(&etcd, &["b"]);
        holder.tell("leave");
        assert!(of_b.join().unwrap().0 > first);
    });
    holder.expect("left");
}
