//! What a hold acquires by: its participants.

use super::Wanted;
use crate::attach::{attachment::AttachOptions, file_handle::FileHandle, idle};
use crate::kind::{acquired::Acquired, any_handle::AnyHandleRef, participant::Participant};
use turnlock_core::acquire::site::Limit;
use turnlock_core::error::{Error, Result};

/// The participant of a hold, and what is needed for more of them.
pub(super) struct By<'a> {
    pub own: &'a Participant,
    pub options: Option<&'a AttachOptions>,
    pub file: &'a FileHandle,
}

impl By<'_> {
    /// Takes what is wanted of the lock, for a caller that is in a call on its own participant. `more`: those for further parts.
    pub fn acquire(
        &self,
        more: &mut Vec<Participant>,
        lock: AnyHandleRef,
        wanted: Wanted,
        limit: Limit,
    ) -> Result<Acquired> {
        let own = &self.own.attachment;
        match (lock, wanted) {
            (AnyHandleRef::Mutex(handle), Wanted::Everything) => handle.acquire_at(own, (), limit),
            (AnyHandleRef::TurnRing(handle), Wanted::Everything) => handle.acquire_at(own, (), limit),
            (AnyHandleRef::RwLock(handle), Wanted::Claim(claim)) => handle.acquire_at(own, claim, limit),
            (AnyHandleRef::GroupLock(handle), Wanted::Claim(claim)) => handle.acquire_at(own, claim, limit),
            (AnyHandleRef::Semaphore(handle), Wanted::Claim(claim)) => {
                handle.check_weight(claim.weight)?;
                handle.acquire_at(own, claim, limit)
            }
            (AnyHandleRef::RangeLock(handle), Wanted::Part(part)) => {
                handle.acquire_part_at(own, &part, limit)
            }
            (AnyHandleRef::KeyedLock(handle), Wanted::Part(part)) => {
                handle.acquire_part_at(own, &part, limit)
            }
            (AnyHandleRef::RangeLock(handle), Wanted::Parts(parts)) => {
                self.acquire_parts(more, handle, parts, limit)
            }
            (AnyHandleRef::KeyedLock(handle), Wanted::Parts(parts)) => {
                self.acquire_parts(more, handle, parts, limit)
            }
            _ => Err(Error::InvalidArgument("a lock of this kind is not taken like this".into())),
        }
    }

    /// Lets others have the slot of one that holds nothing.
    pub fn give_up(&self, Participant { attachment }: Participant) {
        // In a forked child it is the parent's.
        if self.options.is_none() && attachment.check().is_ok() && !attachment.holds_any() {
            idle::keep(attachment);
        }
    }
}
