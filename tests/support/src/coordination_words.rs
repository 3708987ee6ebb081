//! The words of a condition, an event and a barrier, for searches under a checker.

use turnlock_core::acquire::site::Limit;
use turnlock_core::coordination::{
    Awake, Barrier, Condition, Event, SleeperCell, Slept, Tag, WaitContext, sleep_until,
};
use turnlock_core::error::Result;
use turnlock_core::sync::{AtomicU32, AtomicU64};
use turnlock_core::wait::{AdaptiveSpin, CalledWord, Platform, Stop, name_of};

const GENERATION: u64 = 1;

pub struct Cell {
    called: AtomicU32,
    asleep: AtomicU32,
}

impl CalledWord for Cell {
    fn called(&self) -> &AtomicU32 {
        &self.called
    }
}

impl SleeperCell for Cell {
    fn asleep(&self) -> &AtomicU32 {
        &self.asleep
    }
}

pub struct Words<const SLOTS: usize> {
    state: AtomicU64,
    sequence: AtomicU64,
    wake: AtomicU32,
    entries: [AtomicU64; SLOTS],
    cells: [Cell; SLOTS],
    slots_in_use: AtomicU32,
}

impl<const SLOTS: usize> Words<SLOTS> {
    pub fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            sequence: AtomicU64::new(0),
            wake: AtomicU32::new(0),
            entries: std::array::from_fn(|_| AtomicU64::new(0)),
            cells: std::array::from_fn(|_| Cell { called: AtomicU32::new(0), asleep: AtomicU32::new(0) }),
            slots_in_use: AtomicU32::new(SLOTS as u32),
        }
    }

    pub fn condition(&self) -> Condition<'_, Cell> {
        Condition {
            sequence: &self.sequence,
            entries: &self.entries,
            cells: &self.cells,
            slots_in_use: &self.slots_in_use,
            tag: Tag::of(GENERATION),
            recorder: None,
        }
    }

    pub fn event(&self) -> Event<'_> {
        Event { state: &self.state, wake: &self.wake, tag: Tag::of(GENERATION), recorder: None }
    }

    pub fn barrier(&self, parties: u32) -> Barrier<'_> {
        Barrier {
            state: &self.state,
            wake: &self.wake,
            entries: &self.entries,
            slots_in_use: &self.slots_in_use,
            tag: Tag::of(GENERATION),
            parties,
            recorder: None,
        }
    }

    /// The entry of `slot`, for what a dead participant left in the middle of a step.
    pub fn entry(&self, slot: usize) -> &AtomicU64 {
        &self.entries[slot]
    }

    /// Has `me` sleep until `is_over`, where it is called (`alone`) or where all do.
    pub fn sleep<P: Platform>(
        &self,
        (me, alone): (usize, bool),
        limit: Limit,
        is_over: impl Fn() -> bool,
        nap: impl FnMut() -> Result<()>,
    ) -> Slept {
        let (adaptive, since) = (AdaptiveSpin::default(), AtomicU64::new(0));
        let context = WaitContext {
            wake: if alone { &self.cells[me].called } else { &self.wake },
            asleep: alone.then_some(&self.cells[me].asleep),
            waiting_since: &since,
            name: name_of(1, me),
            limit,
            stop: Stop { cancel: None, interrupt: None },
            adaptive: Some((if alone { Awake::Spinning } else { Awake::Yielding }, &adaptive)),
        };
        sleep_until::<P>(&context, is_over, nap).unwrap()
    }
}
