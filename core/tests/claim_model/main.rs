//! Claims that conflict now and then (rwlocks with the bias towards readers, semaphores, ranges, keys, groups) under loom (every
//! interleaving of a few participants, and every stale value that the C11 orders let a load return) and under shuttle (many
//! random schedules of more of them): the acquisition that ships (`turnlock_core::acquire`), at a site whose registers are the
//! checker's.
//!
//! Shown (see [`oracle::Property`]): no participant is inside beside another one whose claim conflicts; readers see what the
//! last writer wrote, and no write of one that is inside; fencing tokens; first come first served among those that conflict;
//! a death at any step blocks no participant, and is told if it was a writer's or a group's member's inside. No participant waits for ever: an
//! execution that gets too long is a failure. Both sides of the heavy barrier pass full fences: neither checker has a
//! membarrier.
//!
//! Under loom all with 1 to 3 preemptions, under shuttle at random; each search says how many executions it made. With
//! `TURNLOCK_LOOM_LONG` or `TURNLOCK_SHUTTLE_LONG` set, further.
//!
//! With the feature `mutants`, under loom, and in a copy of the sources that has the patches of `tests/mutants/`, the mutants of
//! `with_mutants` must be caught.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p turnlock-core --features trace --test claim_model
//! RUSTFLAGS="--cfg shuttle" cargo test --release -p turnlock-core --features trace --test claim_model
//! ```
#![cfg(all(any(loom, shuttle), feature = "trace"))]

#[cfg(loom)]
mod few;
mod groups;
mod life;
#[cfg(loom)]
mod link;
mod oracle;
#[cfg_attr(shuttle, allow(dead_code))]
mod plan;
#[cfg(shuttle)]
mod random;
mod search;
mod site;
#[cfg(all(feature = "mutants", loom))]
mod with_mutants;
mod world;

// Each execution is a sign of life.
support::watched_for_seconds!(600);
