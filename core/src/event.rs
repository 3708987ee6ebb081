//! What a lock file can record of the participants that use its locks.

/// Something that happened to a participant, or to a lock.
///
/// A participant that asks for a lock is recorded with [`Event::Asked`], and then with one of [`Event::Acquired`],
/// [`Event::WouldBlock`], [`Event::TimedOut`], [`Event::GaveUp`]; a participant that acquired it with
/// [`Event::Released`] or [`Event::Died`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Event {
    /// A participant took its slot.
    Attached = 1,
    /// It gave the slot back.
    Detached = 2,
    /// A lock of a new name is there.
    Created = 3,
    /// A lock was removed.
    Removed = 4,
    /// It wants the lock.
    Asked = 5,
    /// It has the lock.
    Acquired = 6,
    /// It gave the lock back.
    Released = 7,
    /// It tried, and did not wait.
    WouldBlock = 8,
    /// It waited as long as it wanted to.
    TimedOut = 9,
    /// Its wait was cancelled or interrupted, or failed.
    GaveUp = 10,
    /// It died while it held the lock, as another participant found.
    Died = 11,
    /// It marked what a dead one left as consistent, or was told of a death that needs no repair.
    Recovered = 12,
    /// Another participant passed over it, since it did not come when its turn had come.
    PassedOver = 13,
}

impl Event {
    /// All of them, by their numbers.
    pub const ALL: [Self; 13] = [
        Self::Attached,
        Self::Detached,
        Self::Created,
        Self::Removed,
        Self::Asked,
        Self::Acquired,
        Self::Released,
        Self::WouldBlock,
        Self::TimedOut,
        Self::GaveUp,
        Self::Died,
        Self::Recovered,
        Self::PassedOver,
    ];

    /// The one of this number.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Its name, as JSON and the command have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attached => "attached",
            Self::Detached => "detached",
            Self::Created => "created",
            Self::Removed => "removed",
            Self::Asked => "asked",
            Self::Acquired => "acquired",
            Self::Released => "released",
            Self::WouldBlock => "would_block",
            Self::TimedOut => "timed_out",
            Self::GaveUp => "gave_up",
            Self::Died => "died",
            Self::Recovered => "recovered",
            Self::PassedOver => "passed_over",
        }
    }
}

/// What happens to a participant at a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happening {
    /// What.
    pub event: Event,
    /// The slot of its receiver.
    pub slot: usize,
    /// Whether it is, or wants to be, beside others that are the same.
    pub shared: bool,
    /// The fencing token; 0: there is none.
    pub token: u64,
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Event;

    #[test]
    fn every_event_is_the_one_of_its_number() {
        assert!(Event::ALL.into_iter().all(|event| Event::of(event as u8) == Some(event)));
        assert_eq!((Event::of(0), Event::of(Event::ALL.len() as u8 + 1)), (None, None));
    }
}
