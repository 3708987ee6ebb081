//! What participants do at a condition.

use super::{Words, futex::Loom, sleep};
use loom::{sync::Mutex, thread};
use std::sync::Arc;
use turnlock_core::sync::Ordering::{Acquire, Release};

fn no_one_is_dead(_: usize) -> turnlock_core::Result<bool> {
    Ok(false)
}

struct Scene {
    words: Words,
    /// What the lock protects: how many may go on.
    lock: Mutex<u32>,
}

impl Scene {
    fn new() -> Arc<Self> {
        Arc::new(Self { words: Words::new(), lock: Mutex::new(0) })
    }

    /// Waits until it may go on.
    fn wait(&self, me: usize) {
        let condition = self.words.condition();
        let mut data = self.lock.lock().unwrap();
        while *data == 0 {
            let ticket = condition.begin::<Loom>(me);
            drop(data);
            sleep(&self.words, me, true, || !condition.is_waiting(me, ticket));
            data = self.lock.lock().unwrap();
            condition.consume(me);
        }
        *data -= 1;
    }

    fn notify(&self) {
        *self.lock.lock().unwrap() += 1;
        self.words.condition().notify_one::<Loom>(no_one_is_dead).unwrap();
    }
}

pub fn waits_and_is_notified() {
    let scene = Scene::new();
    let waiter = scene.clone();
    let waiter = thread::spawn(move || waiter.wait(0));
    scene.notify();
    waiter.join().unwrap();
}

pub fn gives_up_beside_a_notification() {
    let scene = Scene::new();
    let condition = scene.words.condition();
    let ticket = condition.begin::<Loom>(0);
    let notifier = scene.clone();
    let notifier =
        thread::spawn(move || notifier.words.condition().notify_one::<Loom>(no_one_is_dead).unwrap());
    let gave_up = condition.give_up(0, ticket);
    let notified = notifier.join().unwrap();
    condition.consume(0);
    assert_eq!(notified == 0, gave_up, "LOST");
}

pub fn two_wait_for_two_notifications() {
    let scene = Scene::new();
    let waiters: Vec<_> = (0..2)
        .map(|me| {
            let scene = scene.clone();
            thread::spawn(move || scene.wait(me))
        })
        .collect();
    scene.notify();
    scene.notify();
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    assert_eq!(scene.words.condition().waiters(), 0);
}

/// Counts a notification of `me`, as one that has the lock.
fn take(scene: &Scene, me: usize, was_waiting: bool) {
    if !was_waiting {
        *scene.lock.lock().unwrap() += 1;
        scene.words.condition().consume(me);
    }
}

/// Slot 0 died with a notification; slot 1 waits. A notifier and a napping waiter both look after the dead.
pub fn the_notification_of_a_dead_one_is_passed_on_by_two() {
    let scene = Scene::new();
    let condition = scene.words.condition();
    condition.begin::<Loom>(0);
    let ticket = condition.begin::<Loom>(1);
    assert_eq!(condition.notify_one::<Loom>(no_one_is_dead).unwrap(), 1);
    condition.reap(0);
    let other = scene.clone();
    let other = thread::spawn(move || other.words.condition().look_after::<Loom>(2, no_one_is_dead).unwrap());
    condition.look_after::<Loom>(1, no_one_is_dead).unwrap();
    other.join().unwrap();
    assert!(!condition.is_waiting(1, ticket), "LOST");
    take(&scene, 1, false);
    condition.look_after::<Loom>(2, no_one_is_dead).unwrap();
    assert_eq!(scene.words.entry(0).load(Acquire), 0);
}

/// Slot 0 died with a notification; slots 1 and 2 wait. Both look after the dead at once, and the one that has the notification takes
/// it. A third looks again.
pub fn two_waiters_pass_on_to_one() {
    let scene = Scene::new();
    let condition = scene.words.condition();
    condition.begin::<Loom>(0);
    let [first, second] = [1, 2].map(|slot| condition.begin::<Loom>(slot));
    assert_eq!(condition.notify_one::<Loom>(no_one_is_dead).unwrap(), 1);
    condition.reap(0);
    let other = scene.clone();
    let other = thread::spawn(move || other.words.condition().look_after::<Loom>(2, no_one_is_dead).unwrap());
    condition.look_after::<Loom>(1, no_one_is_dead).unwrap();
    // It is the first, which waited longer.
    take(&scene, 1, condition.is_waiting(1, first));
    other.join().unwrap();
    condition.look_after::<Loom>(2, no_one_is_dead).unwrap();
    take(&scene, 2, condition.is_waiting(2, second));
    let taken = *scene.lock.lock().unwrap();
    assert!(taken <= 1, "TWICE");
    assert_eq!(taken, 1, "LOST");
    assert_eq!(scene.words.entry(0).load(Acquire), 0);
}

/// Slot 0 has the orphan, slot 1 has its copy and comes with the lock, slot 2 waits: the participant that passed the notification on
/// died before it cleared the orphan. A third looks after it.
pub fn a_participant_died_while_it_passed_on() {
    const ORPHAN: u64 = 5;
    let scene = Scene::new();
    let condition = scene.words.condition();
    for slot in [0, 1] {
        condition.begin::<Loom>(slot);
    }
    let ticket = condition.begin::<Loom>(2);
    assert_eq!(condition.notify_one::<Loom>(no_one_is_dead).unwrap(), 1);
    condition.reap(0);
    let orphan = scene.words.entry(0).load(Acquire);
    assert_eq!(orphan & 7, ORPHAN);
    condition.look_after::<Loom>(2, no_one_is_dead).unwrap();
    // As it was before the last step of that.
    scene.words.entry(0).store(orphan, Release);
    let other = scene.clone();
    let other = thread::spawn(move || other.words.condition().look_after::<Loom>(2, no_one_is_dead).unwrap());
    take(&scene, 1, false);
    other.join().unwrap();
    condition.look_after::<Loom>(2, no_one_is_dead).unwrap();
    take(&scene, 2, condition.is_waiting(2, ticket));
    assert_eq!(*scene.lock.lock().unwrap(), 1, "TWICE");
}

/// Slot 0 died with a notification; slots 1 and 2 wait, and slot 1 gives up while slot 2 looks after the dead one.
pub fn one_gives_up_while_a_notification_is_passed_on() {
    let scene = Scene::new();
    let condition = scene.words.condition();
    condition.begin::<Loom>(0);
    let first = condition.begin::<Loom>(1);
    let second = condition.begin::<Loom>(2);
    assert_eq!(condition.notify_one::<Loom>(no_one_is_dead).unwrap(), 1);
    condition.reap(0);
    let other = scene.clone();
    let other = thread::spawn(move || {
        let gave_up = other.words.condition().give_up(1, first);
        take(&other, 1, gave_up);
    });
    condition.look_after::<Loom>(2, no_one_is_dead).unwrap();
    other.join().unwrap();
    take(&scene, 2, condition.is_waiting(2, second));
    assert_eq!(*scene.lock.lock().unwrap(), 1, "LOST");
    assert!((0..3).all(|slot| scene.words.entry(slot).load(Acquire) & 7 <= 1));
}
