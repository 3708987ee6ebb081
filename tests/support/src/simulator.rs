//! A simulated network of machines: deterministic, from a seed, and as bad as each machine's contract allows.
//!
//! Time is a number without a unit; a message takes as long as the network's delay says. What goes wrong panics with the
//! seed in it, and the same seed does the same again.

mod network;
mod run;

pub use network::{Carried, Dice};
pub use run::{Counts, Habits, Simulated, Simulation};
