//! The acquisition that ships (`turnlock_core::acquire`), under loom: every interleaving of a few participants, and every stale
//! value that the C11 orders let a load return.
//!
//! [`site`] is a `Site` whose registers are loom's; everything else of a lock, an unlock, a wait, a reap is the code of the
//! library. What it does is told by its steps (`turnlock_core::trace`): at these the oracle looks, and participants die.
//!
//! Shown (see [`oracle::Property`]): one holder at a time; each holder sees what the last one wrote; fencing tokens strictly
//! increase; first come first served, and no entry by a bias that is revoked; and a death at any step is told if it was
//! inside, is not told if it was outside, and blocks no participant once a reaper acts for the dead. Participants may also
//! try, run out of time, back off, abandon the lock, or leave torn data to a reset. No participant waits for ever: an
//! execution that gets too long is a failure. The bias is searched with full fences on both sides, as in a file of several
//! processes: loom has no membarrier. That of a file of one process is for the model `spec/biased_tso.pml` and for torture,
//! and the change from one to the other for `spec/fences_tso.pml`.
//!
//! Every search prints how much it explored, and with which bound on preemptions. With `TURNLOCK_LOOM_LONG` set, those that
//! usually have a smaller bound than they could have (each says so) are searched further.
//!
//! With the feature `mutants`, the same models must fail for each mutant that is of this code (`with_mutants`), and each
//! property that the mutant breaks must catch it alone, the others being switched off. Most of these mutants are patches, so
//! that they are tested in a copy of the sources.
//!
//! What loom does not see. A fence is no scheduling point of its own: it happens together with the access before it.
//! A fence synchronises with every fence before it, a little more than C11 promises. Loom looks for races only with a word's
//! last access (see [`site::WatchedBias`]), whichever participant made it: a participant that loads a word of its own before
//! it stores to it hides earlier loads by others, and some schedules are not searched. With `TURNLOCK_LOOM_TOUCH` set, all
//! participants touch one word at some steps, so that loom has those schedules too, at one and a half to six times the price.
//! And a dead thread's stores are in memory when its byte lock is free, since that is what the kernel gives us. The fences
//! that are needed are caught here all the same, and the models with store buffers have each of them as a step.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p turnlock-core --features trace --test loom
//! ci/mutants env RUSTFLAGS="--cfg loom" cargo test --release -p turnlock-core --features mutants,trace --test loom with_mutants
//! ```
//! The search is deterministic, so a failure comes back when its test is run again; with `LOOM_LOCATION=1` it names
//! the places of the racing accesses.
#![cfg(loom)]

mod bias;
mod home;
mod link;
mod numbers;
mod oracle;
mod plan;
mod queue;
mod scene;
mod search;
mod site;
mod visit;

// Each execution is a sign of life.
support::watched_for_seconds!(300);
