//! A lock that a host has until a time.

use crate::agents::{BLOCK, NAME, agent_of, bring_home, linked, next_tokens};
use std::time::Duration;
use support::{
    NoHang, Place, join,
    puppet::{Puppet, Said},
    until, until_waiting,
};
use turnlock::{Error, inspect};

const SHORT: Duration = Duration::from_millis(20);
/// Times by a clock that began with the boot.
pub const PAST: u64 = 1;
pub const FAR: u64 = u64::MAX;

/// `CLOCK_BOOTTIME`, in nanoseconds.
pub fn boot_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a timespec of our own.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) }, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[test]
fn after_its_end_no_program_is_admitted_until_it_is_renewed() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let (agent, linked) = agent_of(&file, &mutex);
    bring_home(&linked);
    linked.set_lease_end(FAR).unwrap();
    drop(mutex.lock().unwrap());
    linked.set_lease_end(PAST).unwrap();
    assert_eq!((linked.lease_end(), linked.is_home()), (PAST, true));
    let status = inspect::snapshot(&path).unwrap().locks[0].link.unwrap();
    assert_eq!((status.home, status.lease_seconds), (true, Some(0.0)));
    for refused in [mutex.try_lock().map(drop), mutex.lock_for(SHORT).map(drop)] {
        let error = refused.unwrap_err();
        assert!(error.to_string().ends_with("it is linked, and its lease has ended"), "{error}");
    }
    assert!(agent.wait(Duration::ZERO).unwrap() && linked.take_wanted(), "the agent is told");
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| mutex.lock().unwrap().fencing_token());
        until_waiting(&path, NAME, 1);
        linked.set_lease_end(FAR).unwrap();
        join(waits);
    });
    // One that waits does not keep the agent from moving the lock away.
    linked.set_lease_end(PAST).unwrap();
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| mutex.lock().unwrap().still_owner());
        until_waiting(&path, NAME, 1);
        linked.move_away().unwrap();
        // Before it is home: whoever is admitted has the new one.
        linked.set_lease_end(FAR).unwrap();
        bring_home(&linked);
        assert!(join(waits));
    });
    linked.set_lease_end(0).unwrap();
    assert_eq!(inspect::snapshot(&path).unwrap().locks[0].link.unwrap().lease_seconds, None);
    drop(mutex.lock().unwrap());
}

#[test]
fn a_holder_sees_its_end_and_is_told_when_it_unlocks() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, mutex) = linked(&place.lock_file());
    let (_agent, linked) = agent_of(&file, &mutex);
    bring_home(&linked);
    let guard = mutex.lock().unwrap();
    assert!(guard.still_owner(), "there is no lease");
    guard.unlock().unwrap();
    linked.set_lease_end(boot_ns() + 200_000_000).unwrap();
    let guard = mutex.lock().unwrap();
    assert!(guard.still_owner());
    until("the lease ends", || !guard.still_owner());
    assert!(matches!(guard.unlock(), Err(Error::LeaseEnded)));
    // It is unlocked all the same.
    linked.set_lease_end(FAR).unwrap();
    let guard = mutex.try_lock().unwrap();
    linked.set_lease_end(PAST).unwrap();
    drop(guard);
    let participant = file.participant().unwrap();
    linked.set_lease_end(FAR).unwrap();
    let guard = mutex.lock_as(&participant).unwrap();
    assert!(guard.still_owner());
    linked.set_lease_end(PAST).unwrap();
    assert!(!guard.still_owner());
    assert!(matches!(guard.unlock(), Err(Error::LeaseEnded)));
    // Of a lock that is not linked.
    let plain = file.mutex("plain").unwrap();
    assert!(plain.lock().unwrap().still_owner());
}

#[test]
fn it_begins_at_the_head_of_the_queue_and_ends_the_bias() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let (_agent, linked) = agent_of(&file, &mutex);
    linked.bring_home(next_tokens(&linked, BLOCK), linked.data()).unwrap();
    let is_biased = || {
        (0..100).for_each(|_| drop(mutex.lock().unwrap()));
        inspect::snapshot(&path).unwrap().locks[0].biased_to.is_some()
    };
    until("the lock is biased", is_biased);
    linked.set_lease_end(FAR).unwrap();
    assert_eq!(inspect::snapshot(&path).unwrap().locks[0].biased_to, None);
    assert!(!is_biased());
    linked.set_lease_end(0).unwrap();
    until("the lock is biased again", is_biased);
    // Behind a holder, which is not told of it by half.
    let mut holder = Puppet::that_holds(&path, NAME);
    std::thread::scope(|threads| {
        let begins = threads.spawn(|| linked.set_lease_end(FAR));
        until_waiting(&path, NAME, 1);
        assert_eq!(linked.lease_end(), 0);
        assert_eq!(holder.ask("unlock"), Said::Done);
        join(begins).unwrap();
    });
    assert_eq!(linked.lease_end(), FAR);
}
