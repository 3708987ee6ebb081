//! Who holds a lock, who waits for it, and whether a waiter is behind the holder.

use crate::{
    stage::{Stage, take_and_give_back},
    way::{Cancel, Held, Party, Wait, Way},
};
use std::{
    sync::{Mutex, mpsc},
    thread,
};
use support::{join, until};
use turnlock::{inspect::WaiterState, status::*};

fn my_thread() -> u32 {
    nix::unistd::gettid().as_raw() as u32
}

/// On a busy machine a waiter that gets no processor when its turn comes is passed over: then a round says
/// nothing of the order.
pub fn the_holder_and_the_waiters_can_be_asked_for<W: Way>() {
    const ROUNDS: usize = 5;
    let rounds: Vec<_> =
        (0..ROUNDS).map(|_| shown_and_served::<W>()).take_while(|(shown, served)| shown != served).collect();
    assert!(rounds.len() < ROUNDS, "not in the order in which they are served: {rounds:?}");
}

/// Their threads, and what they are doing.
type Waiters = Vec<(u32, WaiterState)>;

/// Two waiters as they are shown, and as they are served.
fn shown_and_served<W: Way>() -> (Waiters, Waiters) {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    assert_eq!((party.holder(), party.waiters()), (None, Vec::new()));
    let held = party.lock(Wait::Never).unwrap();
    let holder = party.holder().unwrap();
    assert_eq!((holder.0, holder.1), (held.fencing_token(), std::process::id()));
    assert_eq!(holder.2, my_thread());
    let served = Mutex::new(Vec::new());
    let orders = thread::scope(|threads| {
        let waiters = [1, 2].map(|waiting| {
            let waiter = threads.spawn(|| {
                let party = stage.party("a");
                let held = party.lock(Wait::Forever).unwrap();
                served.lock().unwrap().push((my_thread(), WaiterState::Queued));
                held.unlock().unwrap();
            });
            stage.until_waiting("a", waiting);
            waiter
        });
        let seen = party.waiters();
        assert_eq!(party.at("b").waiters(), []);
        held.unlock().unwrap();
        waiters.into_iter().for_each(join);
        let (mut seen, mut served) = (seen, served.lock().unwrap().clone());
        if !W::AS_SHOWN {
            seen.sort_by_key(|waiter| waiter.0);
            served.sort_by_key(|waiter| waiter.0);
        }
        (seen, served)
    });
    assert_eq!((party.holder(), party.waiters()), (None, Vec::new()));
    orders
}

pub fn a_holder_is_told_of_a_waiter_behind_it<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    // The first time the lock is unbiased, whatever its kind; after so many it is biased, if it can be.
    for times in [1, 64] {
        for _ in 1..times {
            take_and_give_back(&party);
        }
        let held = party.lock(Wait::Never).unwrap();
        assert!(!held.is_contended());
        // A try is no wait.
        assert_eq!(stage.another_thread_is_told("a", Wait::Never), Some(TURNLOCK_ERROR_WOULD_BLOCK));
        assert!(!held.is_contended());
        thread::scope(|threads| {
            let (waits, canceller) = mpsc::channel();
            let stage = &stage;
            let waiter = threads.spawn(move || {
                let party = stage.party("a");
                waits.send(party.canceller()).unwrap();
                party.lock(Wait::Forever).err()
            });
            let canceller = canceller.recv().unwrap();
            until("the holder is told", || held.is_contended());
            canceller.cancel();
            assert_eq!(join(waiter), Some(TURNLOCK_ERROR_CANCELLED));
        });
        assert!(!held.is_contended(), "no thread waits any more");
        held.unlock().unwrap();
        take_and_give_back(&party);
    }
}
