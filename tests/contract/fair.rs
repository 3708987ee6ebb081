//! What locks promise that serve in the order of arrival.

use crate::{
    stage::Stage,
    way::{Held, Party, Wait, Way},
};
use std::{sync::Mutex, thread};

pub fn whoever_comes_first_is_served_first<W: Way>() {
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
        }
        held.unlock().unwrap();
    });
    assert_eq!(served.into_inner().unwrap(), Vec::from_iter(0..WAITERS));
}
