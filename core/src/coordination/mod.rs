//! Waiting for something else than a turn: conditions, events and barriers, over deaths.
//!
//! Each has a few words of its own, and of each participant's slot an *entry*. There is no lock among them: each step is one
//! compare-and-exchange, and whatever a dead participant left half-done the next one that looks finishes. Deaths are seen as
//! everywhere: a participant that waits checks now and then those whose death would keep it waiting, and reaps them; the reaper
//! turns the entry of the dead one into the note that it died ([`Condition::reap`], [`Barrier::reap`]), which outlives the slot.
//!
//! The words of a removed object may be another one's by now, while a handle of the removed one is in the midst of a call. So
//! entries and states carry the *tag* of the name they belong to, and a compare-and-exchange by a stale handle fails.
//!
//! Searched by `spec/condition_sc.pml` and `spec/barrier_sc.pml`, and as it ships by `tests/parking_model` under loom.

mod barrier;
mod condition;
mod entry;
mod event;
mod sleep;

pub use barrier::{Arrival, Barrier, Breach, Cause, Party, Progress, Standing};
pub use condition::{Condition, Stage, Ticket};
pub use entry::{SleeperCell, Tag};
pub use event::Event;
pub use sleep::{Awake, Slept, WaitContext, sleep_until};
