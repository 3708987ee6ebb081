//! What locks promise that serve in the order of arrival.

use crate::{
    stage::Stage,
    way::{Held, Party, Wait, Way},
};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

/// A waiter that finds no processor for some milliseconds when its turn comes is passed over. So on a busy
/// machine one round may show nothing. By chance ten are served in order once in millions of rounds.
pub fn the_first_waiter_is_served_first<W: Way>() {
    const ROUNDS: usize = 5;
    let rounds: Vec<_> =
        (0..ROUNDS).map(|_| served_one_after_the_other::<W>()).take_while(|in_order| !in_order).collect();
    assert!(rounds.len() < ROUNDS, "in none of {ROUNDS} rounds were they served as they came");
}

/// A holder that unlocks and asks again at once is behind all that have waited for longer than their patience,
/// also while the next of them wakes up. A wake-up may take long on a busy machine, so here too a round may show
/// nothing.
pub fn a_holder_that_comes_back_at_once_is_behind_the_waiters<W: Way>() {
    const ROUNDS: usize = 10;
    assert!(
        (0..ROUNDS).any(|_| served_by_turns::<W>()),
        "in none of {ROUNDS} rounds were they served by turns"
    );
}

/// Long against a wake-up.
const SECTION: Duration = Duration::from_millis(20);

fn served_by_turns<W: Way>() -> bool {
    const WAITERS: usize = 3;
    let stage = Stage::<W>::new();
    let served = Mutex::new(Vec::new());
    thread::scope(|threads| {
        let party = stage.party("a");
        let held = party.lock(Wait::Never).unwrap();
        for waiter in 0..WAITERS {
            let (stage, served) = (&stage, &served);
            threads.spawn(move || {
                let party = stage.party("a");
                for _ in 0..2 {
                    let held = party.lock(Wait::Forever).unwrap();
                    served.lock().unwrap().push(waiter);
                    thread::sleep(SECTION);
                    held.unlock().unwrap();
                }
            });
            stage.until_waiting("a", waiter + 1);
            thread::sleep(SECTION);
        }
        held.unlock().unwrap();
    });
    served.into_inner().unwrap() == [0, 1, 2, 0, 1, 2]
}

/// A newcomer waits for one section of each that is before it, and not for two.
pub fn a_newcomer_waits_for_one_section_of_each_before_it<W: Way>() {
    const ROUNDS: usize = 5;
    const OTHERS: usize = 6;
    let stage = Stage::<W>::new();
    let (entries, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let waited = thread::scope(|threads| {
        for _ in 0..OTHERS {
            threads.spawn(|| {
                let party = stage.party("a");
                while !is_over.load(Relaxed) {
                    let held = party.lock(Wait::Forever).unwrap();
                    entries.fetch_add(1, Relaxed);
                    thread::sleep(SECTION / 2);
                    held.unlock().unwrap();
                }
            });
        }
        let party = stage.party("a");
        support::until("all have been inside", || entries.load(Relaxed) > 2 * OTHERS);
        let waits_once = |_| {
            let before = entries.load(Relaxed);
            let held = party.lock(Wait::Forever).unwrap();
            let waited = entries.load(Relaxed) - before;
            held.unlock().unwrap();
            waited
        };
        let waited: Vec<_> = (0..ROUNDS).map(waits_once).collect();
        is_over.store(true, Relaxed);
        waited
    });
    assert!(
        waited.iter().any(|waited| *waited <= OTHERS),
        "{OTHERS} were before it, and it waited for {waited:?}"
    );
}

fn served_one_after_the_other<W: Way>() -> bool {
    const WAITERS: usize = 10;
    let stage = Stage::<W>::new();
    let served = Mutex::new(Vec::new());
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    thread::scope(|threads| {
        for waiter in 0..WAITERS {
            let (stage, served) = (&stage, &served);
            threads.spawn(move || {
                let party = stage.party("a");
                let held = party.lock(Wait::Forever).unwrap();
                served.lock().unwrap().push(waiter);
                held.unlock().unwrap();
            });
            stage.until_waiting("a", waiter + 1);
            if W::ASKS_FOR_ITS_PLACE {
                // Nothing shows when its messages have come. If this is too short, the round shows nothing.
                thread::sleep(Duration::from_millis(30));
            }
        }
        held.unlock().unwrap();
    });
    served.into_inner().unwrap().is_sorted()
}
