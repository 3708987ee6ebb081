//! Turn rings: the order of turns, how long one waits, who comes and goes, and what a file that was overwritten does to
//! them.
#![cfg(not(any(loom, shuttle)))]

#[path = "rings/damage.rs"]
mod damage;
#[path = "rings/life.rs"]
mod life;
#[path = "rings/order.rs"]
mod order;
mod support;

use turnlock::RingAlgorithm;

/// Each ring of a file for `participants`; the sum ring in its order, in reverse, and in strides.
fn algorithms(participants: u32) -> Vec<RingAlgorithm> {
    let strides = [1, participants - 1, 3].map(|step| RingAlgorithm::Sum { step });
    [RingAlgorithm::KState, RingAlgorithm::Raynal].into_iter().chain(strides).collect()
}
