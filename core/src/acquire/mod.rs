//! The acquisition: queue, bias, rotation, what a holder may do, and what is done for the dead; once, for every kind of
//! lock. Generic over the [`site::Site`], so that the model checkers run what ships. No operating system, no clock, no
//! allocation.

pub mod asking;
pub mod attempt;
pub mod bias;
pub mod by_claims;
pub mod change;
pub mod discipline;
pub mod drain;
pub mod eviction;
pub mod fast_path;
pub mod host;
pub mod link;
pub mod liveness;
pub mod local;
pub mod messages;
pub mod mutual;
pub mod operations;
pub mod outcome;
pub mod queue;
pub mod readers;
pub mod recursion;
pub mod reservation;
pub mod rotation;
pub mod share;
pub mod site;
