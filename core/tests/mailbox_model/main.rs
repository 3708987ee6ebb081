//! The mailbox that ships (`turnlock_core::spsc::Ring`) under loom: every interleaving of its two ends, and every stale value
//! that the C11 orders let a load return.
//!
//! Its words are loom's, in a ring of two entries; what puts, reads and takes is the code of the library. Its steps
//! (`turnlock_core::trace`) say when the words of an entry are written, and when they are read: there the ends touch a cell that
//! loom watches for races, and there they die.
//!
//! Shown (see [`ends`]): each message comes whole, once and in order, where the ring wraps, where it is full, and where its
//! counts wrap; what a producer had begun when it died is not there, the next life's messages come whole, and none of
//! either passes for one of the other; what a consumer had read when it died is read again. Each search says how many executions
//! it made. With `TURNLOCK_LOOM_LONG` set it makes all of them, else those with a few preemptions.
//!
//! With the feature `mutants` those of `with_mutants` must be caught.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p turnlock-core --features trace --test mailbox_model
//! ```
#![cfg(all(loom, feature = "trace"))]

mod ends;
mod plan;
mod search;
#[cfg(feature = "mutants")]
mod with_mutants;

// Each search is a sign of life.
support::watched_for_seconds!(300);
