//! The event: set or not; participants wait until it is set.
//!
//! ```text
//! how often it was set (51 bits) | tag (12 bits) | is set (1 bit)
//! ```
//! A participant that waits goes on when the event is set, and also when it was set since the wait began and cleared again.

use super::entry::Tag;
use crate::event::{self, Happening, Recorder};
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use crate::wait::Platform;

const SET: u64 = 1;
const TAG_AT: u32 = 1;
const COUNT_AT: u32 = 13;
const ONCE_MORE: u64 = 1 << COUNT_AT;

/// The words of an event.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    /// Whether it is set, and how often it was.
    pub state: &'a AtomicU64,
    /// Futex word: changes when it is set.
    pub wake: &'a AtomicU32,
    /// Of the event's name.
    pub tag: Tag,
    /// The participant that acts, and what is told of that; `None`: nothing is.
    pub recorder: Option<(usize, &'a dyn Recorder)>,
}

impl Event<'_> {
    /// Returns the state of an event of this name that was never set.
    pub const fn new_state(tag: Tag) -> u64 {
        tag.bits() << TAG_AT
    }

    /// Returns the state; `None`: it is that of another name.
    fn read(&self) -> Option<u64> {
        // Acquire. Partner: the exchange in `set`: a participant that goes on sees what came before the event was set.
        let state = self.state.load(Acquire);
        (Tag::of_bits(state >> TAG_AT) == self.tag).then_some(state)
    }

    /// Sets it, and wakes all that wait for it. Returns whether it was not set before; `None`: it was removed.
    pub fn set<P: Platform>(&self) -> Option<bool> {
        let was_clear =
            self.change(|state| (state & SET == 0).then_some((state | SET).wrapping_add(ONCE_MORE)))?;
        if was_clear {
            self.record(event::Event::Set);
            // Release. Partner: the acquire load in `sleep_until`. One that dies before it wakes them: their naps have an end.
            self.wake.fetch_add(1, Release);
            P::wake_all(self.wake);
        }
        Some(was_clear)
    }

    /// Clears it. Returns whether it was set; `None`: it was removed.
    pub fn clear(&self) -> Option<bool> {
        let was_set = self.change(|state| (state & SET != 0).then_some(state & !SET))?;
        if was_set {
            self.record(event::Event::Cleared);
        }
        Some(was_set)
    }

    fn record(&self, event: event::Event) {
        if let Some((slot, recorder)) = self.recorder {
            recorder.record(Happening { event, slot, shared: false, value: 0 });
        }
    }

    /// Changes the state, unless `change` says that it is so already. Returns whether it was changed.
    fn change(&self, change: impl Fn(u64) -> Option<u64>) -> Option<bool> {
        loop {
            let state = self.read()?;
            let Some(changed) = change(state) else { return Some(false) };
            if self.state.compare_exchange(state, changed, AcqRel, Relaxed).is_ok() {
                return Some(true);
            }
        }
    }

    /// Returns whether it is set; `None`: it was removed.
    pub fn is_set(&self) -> Option<bool> {
        Some(self.read()? & SET != 0)
    }

    /// Returns whether it is set, and how often it was set; `None`: it was removed.
    pub fn times_set(&self) -> Option<(bool, u64)> {
        let state = self.read()?;
        Some((state & SET != 0, state >> COUNT_AT))
    }

    /// Begins to wait for it: what [`Event::came`] compares with. `None`: it was removed.
    pub fn begin(&self) -> Option<u64> {
        self.read()
    }

    /// Returns whether it is set, or was since `began`. Of a removed one: that it came, so that the wait ends.
    pub fn came(&self, began: u64) -> bool {
        self.read().is_none_or(|state| state & SET != 0 || state >> COUNT_AT != began >> COUNT_AT)
    }
}
