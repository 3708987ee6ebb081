//! What an observer sees of a barrier.

use super::{ARRIVED, BREACHED, Barrier, Breach, DIED, MEMBER, OPEN};

/// How far a barrier is, for an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How often it was passed or reset.
    pub generation: u64,
    /// How many have arrived.
    pub arrived: u32,
    /// Why it is broken, if it is.
    pub breach: Option<Breach>,
}

/// What a participant is to a barrier, for an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// It is in a wait.
    InWait,
    /// It has waited here, and may come again.
    Member,
    /// It was one of these, and died.
    Died,
}

impl Barrier<'_> {
    /// Returns how far it is; `None`: it was removed.
    pub fn progress(&self) -> Option<Progress> {
        let (_, state) = self.read()?;
        let is_open = state.phase == OPEN;
        Some(Progress {
            generation: state.generation,
            arrived: if is_open { state.value as u32 } else { 0 },
            breach: (!is_open).then(|| state.breach()),
        })
    }

    /// Returns what the participant of `slot` is; `None`: no party, or its entry is impossible.
    pub fn party(&self, slot: usize) -> Option<Party> {
        let (_, entry) = self.read_entry(self.entries.get(slot)?)?;
        match entry.state {
            ARRIVED | BREACHED => Some(Party::InWait),
            MEMBER => Some(Party::Member),
            DIED => Some(Party::Died),
            _ => None,
        }
    }
}
