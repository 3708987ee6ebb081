//! What locks promise that serve in the order of arrival.

use crate::{
    stage::Stage,
    way::{Held, Party, Wait, Way},
};
use std::{sync::Mutex, thread, time::Duration};

/// Who finds no processor for some milliseconds when its turn comes is passed over, so on a busy machine one round may show
/// nothing. By chance ten are served in order once in millions of rounds.
pub fn whoever_comes_first_is_served_first<W: Way>() {
    const ROUNDS: usize = 5;
    let rounds: Vec<_> =
        (0..ROUNDS).map(|_| served_one_after_the_other::<W>()).take_while(|in_order| !in_order).collect();
    assert!(rounds.len() < ROUNDS, "in none of {ROUNDS} rounds were they served as they came");
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
