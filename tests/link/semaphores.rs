//! Linked semaphores: no more permits are given out here than this host has a share of, by every way in, and waiters wait for more.

use crate::agents::passed_over;
use crate::leased::{FAR, PAST, boot_ns};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};
use support::{
    Dice, NoHang, Place,
    format::{self, poke},
    join, until, until_waiting,
};
use turnlock::{Error, LinkAgent, LinkedSemaphore, LockFile, Semaphore, inspect};

const NAME: &str = "jobs";
const TOTAL: u32 = 10;
/// The first moments of a wait are no wait yet, for observers.
const SHORT: Duration = Duration::from_millis(20);

/// A file, and its linked semaphore.
fn linked(place: &Place) -> (LockFile, Semaphore) {
    let file = LockFile::open(place.lock_file()).unwrap();
    let options = |file: &LockFile| {
        file.semaphore_options().permits(TOTAL).linked(true).patience(Duration::ZERO).open(NAME)
    };
    let semaphore = options(&file).unwrap();
    (file, semaphore)
}

fn attached(file: &LockFile, semaphore: &Semaphore) -> (LinkAgent, LinkedSemaphore) {
    let agent = file.link_agent("agent").unwrap();
    let linked = agent.attach_semaphore(semaphore).unwrap();
    (agent, linked)
}

/// Has another thread hold so many permits while `act` is called.
fn while_held(semaphore: &Semaphore, permits: u32, act: impl FnOnce()) {
    thread::scope(|threads| {
        let ((is_in, inside), (leave, leaves)) = (mpsc::channel(), mpsc::channel::<()>());
        let holder = threads.spawn(move || {
            let guard = semaphore.acquire(permits).unwrap();
            is_in.send(()).unwrap();
            // An error says that `act` is over.
            let _ = leaves.recv();
            drop(guard);
        });
        inside.recv().unwrap();
        act();
        drop(leave);
        join(holder);
    });
}

#[test]
fn no_way_in_gives_more_than_the_share() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, jobs) = linked(&place);
    let participant = file.participant().unwrap();
    assert!(jobs.is_linked() && jobs.permits().unwrap() == TOTAL && jobs.share().unwrap() == 0);
    let refused = |permits: u32, why: &str| {
        let ways = [
            jobs.try_acquire(permits).map(drop),
            jobs.acquire_for(permits, SHORT).map(drop),
            jobs.try_acquire_as(&participant, permits).map(drop),
            jobs.acquire_for_as(&participant, permits, SHORT).map(drop),
        ];
        for (way, outcome) in ways.into_iter().enumerate() {
            let error = outcome.unwrap_err();
            assert!(matches!(error, Error::WouldBlock(_) | Error::TimedOut(_)), "{way}: {error}");
            assert!(error.to_string().ends_with(why), "{way}: {error}");
        }
    };
    refused(1, "it is linked, and no agent is attached to it");
    let (agent, linked) = attached(&file, &jobs);
    // What the last one could not be told.
    linked.take_wanted();
    refused(3, "it is linked, and other hosts have permits of it");
    assert!(agent.wait(Duration::ZERO).unwrap() && linked.take_wanted() == 3, "the agent is told");
    linked.set_share(3).unwrap();
    (0..1000).for_each(|_| drop(jobs.acquire(3).unwrap()));
    (0..100).for_each(|_| drop(jobs.acquire_as(&participant, 3).unwrap()));
    refused(4, "it is linked, and other hosts have permits of it");
    while_held(&jobs, 2, || {
        drop(jobs.try_acquire(1).unwrap());
        assert!(jobs.try_acquire(2).is_err() && linked.take_wanted() >= 2, "the agent is told");
    });
    for wanted in [TOTAL + 1, 0] {
        let error = jobs.acquire(wanted).unwrap_err();
        assert!(matches!(error, Error::Permits { permits: TOTAL, .. }), "{error}");
    }
    // What the fast path goes by is of no use any more when the share is smaller, nor when it is again what it was.
    linked.set_share(0).unwrap();
    assert_eq!(linked.drain(0).unwrap(), linked.share());
    refused(1, "it is linked, and other hosts have permits of it");
    linked.set_share(3).unwrap();
    drop(jobs.try_acquire(3).unwrap());
}

#[test]
fn a_waiter_waits_for_the_share_to_grow_and_those_behind_it_wait_behind_it() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, jobs) = linked(&place);
    let (agent, linked) = attached(&file, &jobs);
    linked.set_share(2).unwrap();
    let order = Mutex::new(Vec::new());
    thread::scope(|threads| {
        for (at, permits) in [5, 1, 2].into_iter().enumerate() {
            let (jobs, order) = (&jobs, &order);
            threads.spawn(move || {
                let guard = jobs.acquire(permits).unwrap();
                order.lock().unwrap().push(permits);
                drop(guard);
            });
            until_waiting(&place.lock_file(), NAME, at + 1);
        }
        until("the agent is told", || {
            agent.wait(Duration::from_millis(1)).unwrap() && linked.take_wanted() > 0
        });
        let demand = linked.demand();
        assert_eq!((demand.used, demand.awaited, demand.first), (0, 8, 5));
        // Longer than one that does not come is waited for.
        thread::sleep(Duration::from_millis(300));
        assert_eq!((&*order.lock().unwrap(), passed_over(&place.lock_file())), (&vec![], 0));
        linked.set_share(5).unwrap();
    });
    let order = order.into_inner().unwrap();
    assert!(order[0] == 5 || passed_over(&place.lock_file()) > 0, "{order:?}");
    let lock = &inspect::snapshot(place.lock_file()).unwrap().locks[0];
    assert_eq!(lock.permits, Some(TOTAL));
    let link = lock.link.unwrap();
    assert_eq!((link.home, link.share), (true, Some(5)));
}

#[test]
fn permits_are_another_hosts_once_those_inside_fit() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, jobs) = linked(&place);
    let (_agent, linked) = attached(&file, &jobs);
    linked.set_share(TOTAL).unwrap();
    while_held(&jobs, 4, || {
        linked.set_share(4).unwrap();
        assert_eq!(linked.drain(0).unwrap(), linked.share());
        linked.set_share(3).unwrap();
        assert!(matches!(linked.drain_for(0, SHORT), Err(Error::TimedOut(_))));
        assert_eq!(linked.drain(TOTAL).unwrap(), 4, "the others are given back before it leaves");
        assert!(matches!(linked.drain_for(4, SHORT), Err(Error::TimedOut(_))));
        assert!(jobs.try_acquire(1).is_err());
    });
    assert_eq!(linked.drain(0).unwrap(), linked.share());
    linked.set_share(TOTAL).unwrap();
    let (guard, four) = (jobs.acquire(2).unwrap(), jobs.acquire(4).unwrap());
    linked.set_share(2).unwrap();
    thread::scope(|threads| {
        let drained = threads.spawn(|| linked.drain(0));
        thread::sleep(SHORT);
        drop(four);
        assert_eq!(join(drained).unwrap(), 2);
    });
    assert!(matches!(linked.set_share(TOTAL + 1), Err(Error::InvalidArgument(_))));
    linked.set_share(1).unwrap();
    assert!(matches!(linked.drain(0), Err(Error::Deadlock)), "this thread has two");
    // One that dies gives back what it had, without a notice.
    guard.abandon().unwrap();
    assert_eq!(linked.drain(0).unwrap(), linked.share());
    assert!(!jobs.acquire(1).unwrap().acquired().previous_owner_died);
}

/// Programs come and go while the agent gives permits back and gets them again. Those that are here and those that are at other hosts are never
/// more than there are.
#[test]
fn here_and_elsewhere_there_are_never_more_than_the_total() {
    const SECONDS: u64 = 3;
    let _no_hang = NoHang::for_seconds(120);
    let place = Place::new();
    let (file, jobs) = linked(&place);
    let (_agent, linked) = attached(&file, &jobs);
    let (taken, is_over, entries) = (AtomicU32::new(TOTAL), AtomicBool::new(false), AtomicU32::new(0));
    let dice = |stream| Dice::of_stream(0x5e4a, stream);
    thread::scope(|threads| {
        for stream in 0..6 {
            let (jobs, taken, is_over, entries, mut dice) = (&jobs, &taken, &is_over, &entries, dice(stream));
            threads.spawn(move || {
                while !is_over.load(SeqCst) {
                    let permits = 1 + dice.roll(if stream == 0 { 6 } else { 2 }) as u32;
                    // The same number as a rule, so that a place is reserved.
                    for _ in 0..1 + dice.roll(20) {
                        let Ok(guard) = jobs.acquire_for(permits, SHORT) else { break };
                        let all = taken.fetch_add(permits, SeqCst) + permits;
                        assert!(all <= TOTAL, "{all} permits are taken");
                        (0..dice.roll(300)).for_each(|_| std::hint::spin_loop());
                        taken.fetch_sub(permits, SeqCst);
                        drop(guard);
                        entries.fetch_add(1, SeqCst);
                    }
                }
            });
        }
        let (mut dice, mut has) = (dice(100), 0);
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_secs(SECONDS) {
            let share = dice.roll(u64::from(TOTAL) + 1) as u32;
            if share > has {
                // The engine gave them.
                taken.fetch_sub(share - has, SeqCst);
                linked.set_share(share).unwrap();
            } else {
                linked.set_share(share).unwrap();
                // Piece by piece, as they come back.
                let mut left = has;
                while left > share {
                    let now = linked.drain(left).unwrap();
                    assert!((share..left).contains(&now), "{now} of {left}, and a share of {share}");
                    let all = taken.fetch_add(left - now, SeqCst) + (left - now);
                    assert!(all <= TOTAL, "{all} permits are taken");
                    left = now;
                }
            }
            has = share;
            thread::sleep(Duration::from_micros(dice.roll(2_000)));
        }
        is_over.store(true, SeqCst);
    });
    assert!(entries.load(SeqCst) > 100, "too little came up");
}

#[test]
fn its_size_is_what_all_hosts_agree_on() {
    let place = Place::new();
    let (file, jobs) = linked(&place);
    let error = jobs.resize(5).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)) && error.to_string().contains("is linked"), "{error}");
    let open =
        |name: &str| file.semaphore_options().permits(5).linked(true).open(name).map(drop).unwrap_err();
    let error = open(NAME);
    assert!(matches!(error, Error::Kind { .. }) && error.to_string().contains("has 10 permits"), "{error}");
    let plain = file.semaphore_options().permits(5).open("plain").unwrap();
    let error = open("plain");
    assert!(error.to_string().contains("is not linked"), "{error}");
    assert!(!plain.is_linked() && plain.share().unwrap() == 5);
    let agent = file.link_agent("agent").unwrap();
    let error = agent.attach_semaphore(&plain).map(drop).unwrap_err();
    assert!(error.to_string().contains("the semaphore is not linked"), "{error}");
    let refused = |why: &str| {
        let error = file.remove_lock(NAME).unwrap_err();
        assert!(matches!(error, Error::InUse { .. }) && error.to_string().contains(why), "{error}");
    };
    refused("is linked, and away");
    {
        let linked = agent.attach_semaphore(&jobs).unwrap();
        assert!(matches!(agent.attach_semaphore(&jobs), Err(Error::InUse { .. })));
        linked.set_share(1).unwrap();
        refused("is linked, and has an agent");
    }
    until("it is removed", || file.remove_lock(NAME).is_ok());
}

#[test]
fn after_a_boot_it_has_no_share_and_in_a_larger_file_the_one_that_it_had() {
    let place = Place::new();
    let path = place.lock_file();
    // A thread has a slot as long as it lives, and a file that is used does not grow.
    let of_a_thread = |act: &(dyn Fn() + Sync)| thread::scope(|threads| join(threads.spawn(act)));
    of_a_thread(&|| {
        let (file, jobs) = linked(&place);
        let (_agent, linked) = attached(&file, &jobs);
        linked.set_share(3).unwrap();
        drop(jobs.acquire(3).unwrap());
    });
    drop(LockFile::options().locks(128).grow(&path).unwrap());
    of_a_thread(&|| {
        let (file, jobs) = linked(&place);
        assert_eq!((jobs.permits().unwrap(), jobs.share().unwrap()), (TOTAL, 3));
        drop(jobs.try_acquire(3).unwrap());
        drop(file);
    });
    of_a_thread(&|| poke(&path, format::BOOT_ID, &[7; 16]));
    let (file, jobs) = linked(&place);
    assert_eq!((jobs.permits().unwrap(), jobs.share().unwrap()), (TOTAL, 0));
    let (_agent, linked) = attached(&file, &jobs);
    assert!(jobs.try_acquire(1).is_err());
    linked.set_share(1).unwrap();
    drop(jobs.try_acquire(1).unwrap());
}

#[test]
fn a_lease_admits_programs_until_its_end_and_those_inside_are_told() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, jobs) = linked(&place);
    let (agent, linked) = attached(&file, &jobs);
    linked.set_share(3).unwrap();
    let error = linked.set_lease_end(FAR).unwrap_err();
    assert!(error.to_string().contains("has 3 permits, which it had without one"), "{error}");
    assert!(jobs.acquire(1).unwrap().still_owner() && jobs.lease_left().is_none());
    // It begins when those inside have left.
    while_held(&jobs, 2, || {
        linked.set_share(0).unwrap();
        assert!(matches!(linked.drain_for(1, SHORT), Err(Error::TimedOut(_))));
    });
    linked.set_lease_end(FAR).unwrap();
    linked.set_share(3).unwrap();
    assert!(linked.lease_end() == FAR && jobs.lease_left().is_some());
    let guard = jobs.acquire(2).unwrap();
    assert!(guard.still_owner());
    linked.set_lease_end(PAST).unwrap();
    assert!(!guard.still_owner() && jobs.lease_left() == Some(Duration::ZERO));
    for refused in [jobs.try_acquire(1).map(drop), jobs.acquire_for(1, SHORT).map(drop)] {
        assert!(refused.is_err(), "one permit is free, and the lease has ended");
    }
    assert!(matches!(guard.unlock(), Err(Error::LeaseEnded)));
    let error = jobs.acquire_for(1, SHORT).unwrap_err();
    assert!(error.to_string().ends_with("it is linked, and its lease has ended"), "{error}");
    assert_eq!(linked.demand().used, 0, "it is given back all the same");
    let participant = file.participant().unwrap();
    assert!(jobs.try_acquire_as(&participant, 1).is_err());
    // All are given back that were taken one after the other.
    linked.set_lease_end(FAR).unwrap();
    let [one, two] = [1, 2].map(|permits| jobs.acquire_for(permits, SHORT).unwrap());
    assert_eq!(linked.demand().used, 3);
    linked.set_lease_end(PAST).unwrap();
    for guard in [one, two] {
        assert!(matches!(guard.unlock(), Err(Error::LeaseEnded)));
    }
    assert_eq!(linked.demand().used, 0);
    // One that waits comes in when it is renewed, or when the share comes anew.
    for renews in [true, false] {
        linked.set_lease_end(PAST).unwrap();
        thread::scope(|threads| {
            let waits = threads.spawn(|| jobs.acquire(1).unwrap().still_owner());
            until_waiting(&place.lock_file(), NAME, 1);
            if !renews {
                linked.set_share(0).unwrap();
            }
            linked.set_lease_end(boot_ns() + 100_000_000_000).unwrap();
            linked.set_share(3).unwrap();
            assert!(join(waits));
        });
    }
    drop(agent);
}

#[test]
fn none_comes_in_by_a_place_from_before_a_lease_or_under_it() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, jobs) = linked(&place);
    let (_agent, linked) = attached(&file, &jobs);
    let participant = file.participant().unwrap();
    // So often that both come in by a place that they keep, if they may.
    let again_and_again = || {
        (0..1000).for_each(|_| drop(jobs.acquire(1).unwrap()));
        (0..1000).for_each(|_| drop(jobs.acquire_as(&participant, 1).unwrap()));
    };
    let refused = || jobs.try_acquire(1).is_err() && jobs.try_acquire_as(&participant, 1).is_err();
    linked.set_share(3).unwrap();
    again_and_again();
    linked.set_share(0).unwrap();
    linked.set_lease_end(FAR).unwrap();
    // The number of permits is what it was when the places were reserved.
    linked.set_share(3).unwrap();
    linked.set_lease_end(PAST).unwrap();
    assert!(refused());
    linked.set_lease_end(FAR).unwrap();
    again_and_again();
    linked.set_lease_end(PAST).unwrap();
    assert!(refused());
    linked.set_lease_end(0).unwrap();
    again_and_again();
}
