//! What participants do at an event.

use super::{Words, futex::Loom, sleep};
use loom::thread;
use std::sync::Arc;

fn scene() -> (Arc<Words>, thread::JoinHandle<()>) {
    let words = Arc::new(Words::new());
    let began = words.event().begin().unwrap();
    let waiter = words.clone();
    let waiter = thread::spawn(move || sleep(&waiter, 0, false, || waiter.event().came(began)));
    (words, waiter)
}

pub fn waits_until_it_is_set() {
    let (words, waiter) = scene();
    assert_eq!(words.event().set::<Loom>(), Some(true));
    waiter.join().unwrap();
}

pub fn goes_on_though_it_is_cleared_again() {
    let (words, waiter) = scene();
    assert_eq!(words.event().set::<Loom>(), Some(true));
    assert_eq!(words.event().clear(), Some(true));
    waiter.join().unwrap();
    assert_eq!(words.event().is_set(), Some(false));
}
