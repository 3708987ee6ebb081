//! The search for deadlocks that ships (`turnlock_core::deadlock`) under loom and shuttle, beside threads that take locks, release them
//! and wait for them.
//!
//! The wait words, the `held` words and the fencing tokens are the checker's, written by the code that ships; that a lock has one holder
//! at a time is one compare-exchange here. A thread whose lock is not free when it looks a last time sleeps on: it stands for a wait
//! without a limit, which a circle never ends. So no execution has a loop, and each ends with some threads asleep.
//!
//! Shown (see [`world`]): a circle that a search reports was there at one moment, every edge of it; and of the threads that sleep at the end
//! in a circle exactly one finds it, which is the one that closed it, and the others find none.
//!
//! Left out, and searched by `spec/deadlock_sc.pml` or tried by `tests/deadlock`: what participants hold that threads share, deaths,
//! signal handlers; edges through a queue; slots that are taken anew; and that a wait is told only of a circle that it finds twice.
//!
//! Under loom all with 1 to 3 preemptions, under shuttle at random; each search says how many executions it made. With
//! `TURNLOCK_LOOM_LONG` or `TURNLOCK_SHUTTLE_LONG` set, further. With the feature `mutants` those of `with_mutants` must be caught.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p turnlock-core --features trace --test deadlock_model
//! RUSTFLAGS="--cfg shuttle" cargo test --release -p turnlock-core --features trace --test deadlock_model
//! ```
#![cfg(any(loom, shuttle))]

mod plan;
mod search;
#[cfg(feature = "mutants")]
mod with_mutants;
mod world;

// Each execution is a sign of life.
support::watched_for_seconds!(300);
