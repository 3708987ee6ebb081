//! What a lock file can record of the participants that use its locks.

/// Something that happened to a participant, or to a lock.
///
/// A participant that asks for a lock is recorded with [`Event::Asked`], and then with one of [`Event::Acquired`],
/// [`Event::WouldBlock`], [`Event::TimedOut`], [`Event::GaveUp`]; a participant that acquired it with
/// [`Event::Released`] or [`Event::Died`]. A wait for something else than a lock begins with [`Event::WaitBegan`] or
/// [`Event::Arrived`].
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
    /// Its wait closed a circle of waits, and ended with the error that says so.
    CircularWait = 14,
    /// It wants to enter a group lock, as a member of this group.
    AskedInGroup = 15,
    /// It began to wait at a condition, or for an event.
    WaitBegan = 16,
    /// What it waited for has come: a notification, an event, the last of the parties.
    Woken = 17,
    /// Another participant notified it, which waited at a condition.
    Notified = 18,
    /// It got the notification of one that died, or that could not take the lock again.
    PassedOn = 19,
    /// It notified one waiter of a condition, or none.
    NotifyOne = 20,
    /// It notified all waiters of a condition.
    NotifyAll = 21,
    /// It died in a wait at a condition, as another participant found.
    WaiterDied = 22,
    /// It set an event that was not set.
    Set = 23,
    /// It cleared an event that was set.
    Cleared = 24,
    /// It arrived at a barrier.
    Arrived = 25,
    /// It was the last party to arrive: the generation is complete, and the others go on.
    Completed = 26,
    /// A barrier broke since this party died, as another participant found.
    BrokenByDeath = 27,
    /// A barrier broke since this party gave up its wait.
    BrokenByGivingUp = 28,
    /// It broke a barrier on purpose.
    Aborted = 29,
    /// It died, a party of a barrier, as another participant found.
    PartyDied = 30,
    /// It reset a barrier, or a once.
    Reset = 31,
    /// It began to run a once.
    RunBegan = 32,
    /// What it ran is done.
    Done = 33,
    /// It ended its run, and what it ran is not done.
    NotDone = 34,
}

impl Event {
    /// All of them, by their numbers.
    pub const ALL: [Self; 34] = [
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
        Self::CircularWait,
        Self::AskedInGroup,
        Self::WaitBegan,
        Self::Woken,
        Self::Notified,
        Self::PassedOn,
        Self::NotifyOne,
        Self::NotifyAll,
        Self::WaiterDied,
        Self::Set,
        Self::Cleared,
        Self::Arrived,
        Self::Completed,
        Self::BrokenByDeath,
        Self::BrokenByGivingUp,
        Self::Aborted,
        Self::PartyDied,
        Self::Reset,
        Self::RunBegan,
        Self::Done,
        Self::NotDone,
    ];

    /// The one of this number.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// What its value is.
    pub const fn value_is(self) -> ValueIs {
        match self {
            Self::Attached => ValueIs::Process,
            Self::AskedInGroup => ValueIs::Group,
            Self::WaitBegan => ValueIs::Lock,
            Self::NotifyOne | Self::NotifyAll => ValueIs::Count,
            Self::Arrived
            | Self::Completed
            | Self::BrokenByDeath
            | Self::BrokenByGivingUp
            | Self::Aborted => ValueIs::CountAndGeneration,
            Self::Created
            | Self::Removed
            | Self::Asked
            | Self::Acquired
            | Self::Released
            | Self::WouldBlock
            | Self::TimedOut
            | Self::GaveUp
            | Self::Died
            | Self::Recovered
            | Self::PassedOver => ValueIs::FencingToken,
            _ => ValueIs::Unused,
        }
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
            Self::CircularWait => "circular_wait",
            Self::AskedInGroup => "asked_in_group",
            Self::WaitBegan => "wait_began",
            Self::Woken => "woken",
            Self::Notified => "notified",
            Self::PassedOn => "passed_on",
            Self::NotifyOne => "notify_one",
            Self::NotifyAll => "notify_all",
            Self::WaiterDied => "waiter_died",
            Self::Set => "set",
            Self::Cleared => "cleared",
            Self::Arrived => "arrived",
            Self::Completed => "completed",
            Self::BrokenByDeath => "broken_by_death",
            Self::BrokenByGivingUp => "broken_by_giving_up",
            Self::Aborted => "aborted",
            Self::PartyDied => "party_died",
            Self::Reset => "reset",
            Self::RunBegan => "run_began",
            Self::Done => "done",
            Self::NotDone => "not_done",
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
    /// The fencing token, or what else belongs to the event ([`Event::value_is`]); 0: there is none.
    pub value: u64,
}

/// What the value of an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueIs {
    /// The fencing token; 0: there is none.
    FencingToken,
    /// The process and, in the upper half, the thread.
    Process,
    /// The number of a group.
    Group,
    /// The number of the lock that is unlocked for the wait; 0: none is.
    Lock,
    /// How many were notified.
    Count,
    /// How many parties have arrived and, in the upper half, the barrier's generation ([`in_generation`]).
    CountAndGeneration,
    /// Nothing.
    Unused,
}

/// Returns the value of an event of a barrier's generation, by which so many had arrived.
pub const fn in_generation(generation: u64, arrived: u64) -> u64 {
    generation << 32 | arrived & 0xffff_ffff
}

/// What is told of each event, so that it can be recorded.
pub trait Recorder {
    /// Tells it of an event.
    fn record(&self, happening: Happening);
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
