//! Which locks a process has handles of: so that a handle of a removed lock and one of the lock that has its place now
//! are never taken for each other.
//!
//! A handle of a removed lock finds out on the slow path, by the generation ([`crate::kind`]'s removal). The fast path looks at
//! less: the lock's bias word names the thread's slot, and the thread was in as the bias owner. Both hold of the *region*.
//! So in a process that still has a handle of the removed lock, the lock that took its region is not biased through any
//! handle: a bias word then names none of this process's slots, and a stale handle's fast path always fails. Of a rwlock or a
//! semaphore no place is retained through such a handle, nor is it used by the fast path: else what a thread has left there by its
//! reservation, or holds as a biased reader, would be the stale handle's too. Others are not concerned, and no
//! participant is once the stale handles are closed.

use crate::os::fork::{ForkGuard, ForkGuarded};
use std::sync::{Arc, Weak};
use turnlock_core::error::{Error, Result};

/// A named lock, until it is removed. Each handle of it has one, the same for all of a process.
#[derive(Debug)]
pub struct Name {
    /// Its region.
    pub region: usize,
    /// The generation of its directory entry.
    pub generation: u64,
}

/// The locks that a process has handles of, in one file, each with its region.
pub struct Names(ForkGuarded<Vec<(usize, Weak<Name>)>>);

impl Names {
    /// None yet.
    pub const fn new() -> Self {
        Self(ForkGuarded::new(Vec::new()))
    }

    /// A new handle of this lock: the name to be kept in it, and whether the lock may be biased through it.
    pub fn register(&self, region: usize, generation: u64) -> Result<(Arc<Name>, bool)> {
        let new = Arc::new(Name { region, generation });
        let (mut known, mut stale) = (None, false);
        self.0.with(&ForkGuard::enter(), |names| {
            names.retain(|(_, name)| name.strong_count() > 0);
            for (_, name) in names.iter().filter(|(other, _)| *other == region) {
                match name.upgrade() {
                    Some(name) if name.generation == generation => known = Some(name),
                    Some(_) => stale = true,
                    None => {}
                }
            }
            if known.is_none() {
                names.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                names.push((region, Arc::downgrade(&new)));
            }
            Ok::<_, Error>(())
        })?;
        Ok((known.unwrap_or(new), !stale))
    }

    /// Whether there is a handle of this lock.
    pub fn has(&self, region: usize, generation: u64) -> bool {
        let is_it = |(other, name): &(usize, Weak<Name>)| {
            name.upgrade().filter(|name| *other == region && name.generation == generation)
        };
        let found = self.0.with(&ForkGuard::enter(), |names| names.iter().find_map(is_it));
        found.is_some()
    }
}
