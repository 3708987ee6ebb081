//! Group locks, as the contract takes them: each acquisition is of a group of its own, so that none is beside another.

use crate::{claims::Exclusive, way::Wait};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use turnlock::{
    DeathPolicy, GroupGuard, GroupLock, GroupParticipantGuard, LockFile, Participant, PreviousOwner, Result,
    inspect::LockStatus,
};

/// Returns a group that no other acquisition has. The process is in it.
fn group() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    u64::from(std::process::id()) << 32 | LAST.fetch_add(1, Relaxed)
}

impl Exclusive for GroupLock {
    type Guard<'a> = GroupGuard<'a>;
    type GuardAs<'a> = GroupParticipantGuard<'a>;

    fn open(file: &LockFile, name: &str, death_policy: Option<DeathPolicy>) -> Result<Self> {
        let mut options = file.group_lock_options();
        if let Some(death_policy) = death_policy {
            options.death_policy(death_policy);
        }
        options.open(name)
    }

    fn lock(&self, wait: Wait) -> Result<GroupGuard<'_>> {
        match wait {
            Wait::Never => self.try_lock(group()),
            Wait::For(limit) => self.lock_for(group(), limit),
            Wait::Forever => GroupLock::lock(self, group()),
        }
    }

    fn lock_as<'a>(&'a self, participant: &'a Participant, wait: Wait) -> Result<GroupParticipantGuard<'a>> {
        match wait {
            Wait::Never => self.try_lock_as(participant, group()),
            Wait::For(limit) => self.lock_for_as(participant, group(), limit),
            Wait::Forever => GroupLock::lock_as(self, participant, group()),
        }
    }

    fn reset(&self, wait: Wait) -> Result<()> {
        match wait {
            Wait::Never => self.try_reset(),
            Wait::For(limit) => self.reset_for(limit),
            Wait::Forever => GroupLock::reset(self),
        }
    }

    fn status(&self) -> Result<LockStatus> {
        GroupLock::status(self)
    }

    fn previous_owner(&self) -> Option<PreviousOwner> {
        GroupLock::previous_owner(self)
    }
}
