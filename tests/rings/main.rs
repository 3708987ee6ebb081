//! Turn rings: the order of turns, how long one waits, participants that come and go, and what a file that was
//! overwritten does to them.

mod damage;
mod life;
mod order;
mod stopped;

use support::puppet::puppet;
use turnlock::RingAlgorithm;

support::watched_for_seconds!(support::watchdog::USUAL);

support::roles! { puppet }

/// Each ring of a file for `participants`; the sum ring in its order, in reverse, and in strides.
fn algorithms(participants: u32) -> Vec<RingAlgorithm> {
    let strides = [1, participants - 1, 3].map(|step| RingAlgorithm::Sum { step });
    [RingAlgorithm::KState, RingAlgorithm::Raynal].into_iter().chain(strides).collect()
}
