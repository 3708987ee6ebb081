//! Which parts of a file are allocated on the disk, and where one may look: what was never named or taken is a hole.
//!
//! A slot's record is allocated by the newcomer that takes the slot, a directory entry and its lock region by the
//! participant that names the lock; `slots_bound` and `locks_bound` in the header say how far that went, and are raised
//! after it.

use crate::layout::{Geometry, View};
use crate::os::{allocation, reopen::Reopen};
use std::ops::Range;
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::Ordering::{Relaxed, Release, SeqCst};

/// The allocation of one file's parts.
#[derive(Clone, Copy)]
pub struct Allocation<'a> {
    /// The file, as it is mapped.
    pub view: View<'a>,
    /// The file, for the kernel.
    pub reopen: &'a Reopen,
}

impl Allocation<'_> {
    /// The record of `slot` may be touched from here on. By the participant that has the slot's byte lock.
    pub fn allocate_slot(&self, slot: usize) -> Result<()> {
        let known = self.view.slots_bound();
        if slot < known {
            return Ok(());
        }
        // With those between, whose byte locks others have just taken, and which are about to do the same.
        self.allocate(&[self.geometry().bytes_of_slots(known..slot + 1)])?;
        // Release, and no lower than what another newcomer has stored. Partner: the acquire load in `View::slots_bound`.
        self.view.header().slots_bound.fetch_max(slot as u32 + 1, SeqCst);
        Ok(())
    }

    /// The directory entry `entry` and its lock region may be touched from here on, by the holder of the directory's
    /// lock. They are counted in only by [`Allocation::count_lock_in`].
    pub fn allocate_lock(&self, entry: usize) -> Result<()> {
        let geometry = self.geometry();
        self.allocate(&[geometry.bytes_of_entries(entry..entry + 1), geometry.bytes_of_region(entry + 1)])
    }

    /// The mail area of the lock in the directory entry `entry` may be touched from here on, likewise.
    pub fn allocate_mail(&self, entry: usize) -> Result<()> {
        self.allocate(&[self.geometry().bytes_of_mail(entry + 1)])
    }

    /// Every participant looks at the directory entry `entry` and its lock region from here on. Under the directory's
    /// lock.
    pub fn count_lock_in(&self, entry: usize) {
        if self.view.locks_bound() <= entry {
            // Release. Partner: the acquire load in `View::locks_bound`.
            self.view.header().locks_bound.store(entry as u32 + 1, Release);
        }
    }

    fn geometry(&self) -> Geometry {
        self.view.geometry()
    }

    fn allocate(&self, parts: &[Range<u64>]) -> Result<()> {
        let Some(sight) = self.reopen.look() else {
            return Err(Error::System {
                what: format!("{}: allocating a part of it", self.reopen.path().display()),
                source: std::io::Error::other("no descriptor of it is to be had"),
            });
        };
        allocation::allocate(sight.descriptor, &|| self.reopen.path(), parts)
    }

    /// How far the directory and the slot table were used, by what stands in them: after a boot the header may be older
    /// than the rest of what the disk kept.
    ///
    /// By reading the file, not the mapping: behind the bounds there may be holes.
    pub fn used_bounds(&self) -> Result<(u32, u32)> {
        let Some(sight) = self.reopen.look() else { return Ok((0, 0)) };
        let geometry = self.geometry();
        let last = |table: Range<u64>, count: u32| {
            allocation::used_records(sight.descriptor, &|| self.reopen.path(), table, count)
        };
        let entries = geometry.bytes_of_entries(0..geometry.locks() as usize);
        let slots = geometry.bytes_of_slots(0..geometry.participants() as usize);
        Ok((last(entries, geometry.locks())?, last(slots, geometry.participants())?))
    }

    /// Has the bounds be no lower than these. With every slot's byte lock in hand.
    pub fn raise_bounds(&self, (locks, slots): (u32, u32)) {
        let header = self.view.header();
        for (bound, used) in [(&header.locks_bound, locks), (&header.slots_bound, slots)] {
            bound.store(bound.load(Relaxed).max(used), Relaxed);
        }
    }
}
