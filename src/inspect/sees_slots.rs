//! What an observer sees of slots, whatever is named in a region.

use super::status::{Activity, ParticipantStatus};
use crate::layout::View;
use turnlock_core::error::Result;

/// An observer, as far as slots go.
pub(super) trait SeesSlots {
    /// Returns the file.
    fn view(&self) -> View<'_>;
    /// Returns the participant in a slot. Looks again when the slot is given to another participant meanwhile.
    fn participant(&self, slot: usize) -> Result<ParticipantStatus>;
    /// Returns what the process of a slot's participant does just now.
    fn activity_of_process(&self, slot: usize) -> Activity;
    /// Returns whether the slot still belongs to the participant that it had in `generation`.
    fn is_still(&self, slot: usize, generation: u64) -> bool;
}
