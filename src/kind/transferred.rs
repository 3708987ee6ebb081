//! Locks that were transferred to an open file which several processes share: looking at them, unlocking them.

use super::{directory, file::LockFile, named};
use crate::os::liveness_lock::{self, AsLeft};
use crate::recording;
use crate::recovery;
use crate::registers::FileLock;
use crate::slots;
use std::os::fd::RawFd;
use turnlock_core::acquire::{liveness, site::Lock};
use turnlock_core::algorithm::ownership::token_in;
use turnlock_core::error::Result;
use turnlock_core::event::{Event, Happening};
use turnlock_core::sync::Ordering::Acquire;

impl LockFile {
    /// Unlocks what participants hold that were transferred to the open file which this process has as descriptor `number`
    /// ([`super::Participant::transfer_to_fd`]): of the lock called `name` or, where none is named, of all. What they were told of
    /// a death counts as repaired. A slot that holds nothing any more is given back. Returns how many acquisitions were
    /// unlocked.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("app.lock");
    /// use std::os::fd::AsRawFd;
    /// let file = turnlock::LockFile::open(&path)?;
    /// let accounts = file.mutex("accounts")?;
    /// let descriptor = std::fs::File::open(&path)?; // or one that was inherited
    ///
    /// let participant = file.participant_options().release_on_close(true).open()?;
    /// std::mem::forget(accounts.lock_as(&participant)?);
    /// participant.transfer_to_fd(descriptor.as_raw_fd(), std::process::id())?;
    /// // Held from here on, whatever becomes of this process, until the descriptor's last copy is closed, or:
    /// assert_eq!(file.unlock_transferred(descriptor.as_raw_fd(), Some("accounts"))?, 1);
    /// # drop(accounts.try_lock()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] if it is no descriptor of this file that is open for reading;
    /// [`crate::Error::NotFound`] if the file has no lock called `name`; [`crate::Error::Damaged`] if another process
    /// was stopped in the midst of this.
    pub fn unlock_transferred(&self, number: RawFd, name: Option<&str>) -> Result<usize> {
        let only = name.map(|name| self.region_called(name)).transpose()?;
        let view = self.file.open.view();
        self.with_transferred(number, |as_left, slot| {
            let wanted = |region: &usize| only.is_none_or(|only| only == *region);
            let regions = view.regions_in_use().filter(wanted);
            let unlock = |region: usize| {
                let unlocked = liveness::unlock(&FileLock::of_any_kind(view, region), slot);
                if unlocked {
                    // It has no service thread that answers for it or passes a token on.
                    recovery::end_membership(view, region, slot);
                    let happening = Happening { event: Event::Released, slot, shared: false, value: 0 };
                    recording::record(view, region, slot, happening);
                }
                unlocked
            };
            let unlocked = regions.filter(|region| unlock(*region)).count();
            if view.regions_in_use().all(|region| !self.holds(region, slot)) {
                // What a participant left there that was killed on the way in.
                recovery::recover(view, slot);
                slots::vacate(view, slot);
                as_left.give_back(slot)?;
            }
            Ok(unlocked)
        })
    }

    /// Returns how many acquisitions of the lock called `name` were transferred to the open file that this process has as
    /// descriptor `number`. Errors as [`LockFile::unlock_transferred`].
    pub fn count_transferred(&self, number: RawFd, name: &str) -> Result<usize> {
        let region = self.region_called(name)?;
        self.with_transferred(number, |_, slot| Ok(usize::from(self.holds(region, slot))))
    }

    fn region_called(&self, name: &str) -> Result<usize> {
        let open = &self.file.open;
        named::region_of(open, name)
            .map(|(region, _)| region)
            .ok_or_else(|| directory::no_such_lock(open, name))
    }

    fn holds(&self, region: usize, slot: usize) -> bool {
        let lock = FileLock::of_any_kind(self.file.open.view(), region);
        // Acquire. Partner: the release store in `Ownership::claim_token`.
        token_in(lock.held(slot).load(Acquire)).is_some()
    }

    /// Runs `act` for each slot that was transferred to the open file, while no other process unlocks for it. Returns the sum.
    fn with_transferred(
        &self,
        number: RawFd,
        act: impl Fn(&AsLeft, usize) -> Result<usize>,
    ) -> Result<usize> {
        let open = &self.file.open;
        if !open.is_intact() {
            return Err(open.not_intact());
        }
        liveness_lock::with_hand_back(open.reopen(), number, |as_left| {
            let left = as_left.slots(0..open.view().slots_bound())?;
            left.into_iter().map(|slot| act(as_left, slot)).sum()
        })
    }
}
