//! Which mutant is switched on.

use super::Mutant;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const UNREAD: u8 = 255;
// Not through `sync`: this switch is the test's own and must not be a step of the model.
static ON: AtomicU8 = AtomicU8::new(UNREAD);

/// Switches one mutant (or none) on in this process from now on.
pub fn switch_on(mutant: Option<Mutant>) {
    ON.store(mutant.map_or(0, |mutant| mutant as u8), Relaxed);
}

/// Returns whether this mutant is switched on in this process.
pub fn is_on(mutant: Mutant) -> bool {
    let mut now = ON.load(Relaxed);
    if now == UNREAD {
        let name = std::env::var("TURNLOCK_MUTANT").unwrap_or_default();
        now =
            Mutant::ALL.iter().find(|mutant| format!("{mutant:?}") == name).map_or(0, |mutant| *mutant as u8);
        ON.store(now, Relaxed);
    }
    now == mutant as u8
}
