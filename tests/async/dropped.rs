//! Futures that are dropped: they leave the queue, and what they were given goes on.

use crate::polled::{Woken, poll, poll_with, ready};
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    task::Waker,
    thread,
    time::Duration,
};
use support::{
    Dice, Place, elsewhere,
    puppet::{Puppet, Said},
    queue_at, until, until_waiting,
};
use turnlock::{Error, LockFile, Mutex};

fn mutex(place: &Place) -> Mutex {
    LockFile::open(place.lock_file()).unwrap().mutex("m").unwrap()
}

#[test]
fn one_that_waits_leaves_the_queue() {
    let place = Place::new();
    let (path, mutex) = (place.lock_file(), mutex(&place));
    let held = mutex.lock_owned().unwrap();
    let (mut first, mut second) = (mutex.lock_async(), mutex.lock_async());
    assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
    until_waiting(&path, "m", 1);
    drop(first);
    // The second is served now.
    until_waiting(&path, "m", 1);
    drop(second);
    until("none waits", || queue_at(&path, "m").is_empty());
    drop(held);
    drop(mutex.try_lock().unwrap());
}

#[test]
fn what_one_was_given_and_has_not_seen_goes_on_to_the_next() {
    let place = Place::new();
    let mutex = mutex(&place);
    let held = mutex.lock_owned().unwrap();
    let (mut first, mut second) = (mutex.lock_async(), mutex.lock_async());
    let woken = Arc::<Woken>::default();
    assert!(
        poll_with(&mut first, &Waker::from(woken.clone())).is_pending() && poll(&mut second).is_pending()
    );
    drop(held);
    until("the first one is woken", || woken.times() == 1);
    assert!(matches!(elsewhere(|| mutex.try_lock().map(drop)), Err(Error::WouldBlock(_))));
    assert!(poll(&mut second).is_pending());
    drop(first);
    drop(ready(&mut second).unwrap());
    drop(mutex.try_lock().unwrap());
}

#[test]
fn a_death_that_one_was_to_be_told_of_is_told_to_the_next() {
    let place = Place::new();
    let mutex = mutex(&place);
    let mut dead = Puppet::that_holds(&place.lock_file(), "m");
    let mut first = mutex.lock_async();
    let woken = Arc::<Woken>::default();
    assert!(poll_with(&mut first, &Waker::from(woken.clone())).is_pending());
    dead.0.kill();
    until("the first one is woken", || woken.times() == 1);
    drop(first);
    let mut guard = ready(&mut mutex.lock_async()).unwrap();
    assert!(guard.acquired().previous_owner_died && guard.previous_owner().is_some());
    guard.mark_consistent().unwrap();
    guard.unlock().unwrap();
    assert!(!mutex.lock().unwrap().acquired().previous_owner_died);
}

/// Polls a future at most so often, with pauses, and drops it then.
struct Impatient<F> {
    future: F,
    polls: u64,
}

impl<F: Future + Unpin> Future for Impatient<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        if self.polls == 0 {
            return std::task::Poll::Ready(None);
        }
        self.polls -= 1;
        let polled = Pin::new(&mut self.future).poll(context).map(Some);
        if polled.is_pending() {
            // Again at once, beside the others.
            context.waker().wake_by_ref();
        }
        polled
    }
}

/// Of thousands on three threads each is dropped at a moment by chance, before it was given the lock, at that very moment or
/// later; other processes want the locks too. At the end the locks are free, and none waits.
#[test]
fn dropped_at_random_they_leave_nothing_behind() {
    const LOCKS: usize = 4;
    const FUTURES: usize = 4_000;
    let _no_hang = support::NoHang::for_seconds(180);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let mutexes: Vec<_> = (0..LOCKS).map(|at| file.mutex(&format!("m{at}")).unwrap()).collect();
    let inside: Vec<_> = (0..LOCKS).map(|_| AtomicBool::new(false)).collect();
    let (taken, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let over = AtomicBool::new(false);
    let mut other = Puppet::at(&path, "m0");
    let executor = async_executor::Executor::new();
    thread::scope(|threads| {
        let tasks: Vec<_> = (0..FUTURES)
            .map(|number| {
                let (mutexes, inside, taken, dropped) = (&mutexes, &inside, &taken, &dropped);
                executor.spawn(async move {
                    let mut dice = Dice::of_stream(33, number as u64);
                    let at = dice.roll(LOCKS as u64) as usize;
                    let mut future = mutexes[at].lock_async();
                    if dice.in_hundred(30) {
                        future = future.within(Duration::from_micros(dice.roll(3_000)));
                    }
                    let polls = if dice.in_hundred(20) { u64::MAX } else { 1 << dice.roll(12) };
                    match (Impatient { future, polls }).await {
                        Some(Ok(guard)) => {
                            assert!(!inside[at].swap(true, Relaxed), "two are inside");
                            futures_lite::future::yield_now().await;
                            assert!(inside[at].swap(false, Relaxed));
                            taken.fetch_add(1, Relaxed);
                            drop(guard);
                        }
                        Some(Err(error)) => assert!(matches!(error, Error::TimedOut(_)), "{error}"),
                        None => {
                            dropped.fetch_add(1, Relaxed);
                        }
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            threads.spawn(|| {
                futures_lite::future::block_on(executor.run(async {
                    while !over.load(Relaxed) {
                        futures_lite::future::yield_now().await;
                    }
                }));
            });
        }
        for _ in 0..100 {
            assert!(matches!(other.ask("lock"), Said::Taken(_, false)));
            assert_eq!(other.ask("unlock"), Said::Done);
        }
        futures_lite::future::block_on(executor.run(async {
            for task in tasks {
                task.await;
            }
        }));
        over.store(true, Relaxed);
    });
    let (taken, dropped) = (taken.load(Relaxed), dropped.load(Relaxed));
    assert!(taken > FUTURES / 10 && dropped > FUTURES / 10, "{taken} taken, {dropped} dropped");
    for (at, mutex) in mutexes.iter().enumerate() {
        until("none waits", || queue_at(&path, &format!("m{at}")).is_empty());
        drop(mutex.try_lock().unwrap());
    }
}
