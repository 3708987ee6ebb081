//! Guards of a rwlock, by its mode, and changes of the mode.

#[cfg(doc)]
use super::guard::{Guard, GuardAs};
use std::{
    fmt,
    ops::{Deref, DerefMut},
    time::Duration,
};
use turnlock_core::acquire::site::Limit;
use turnlock_core::error::{Error, Result};

/// The lock is held shared until the guard is dropped.
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
#[derive(Debug)]
pub struct Reading<G>(pub(super) G);

/// The lock is held upgradable until the guard is dropped.
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
#[derive(Debug)]
pub struct Upgradable<G>(pub(super) G);

/// The lock is held exclusively until the guard is dropped, and abandoned when a panic drops it.
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
#[derive(Debug)]
pub struct Writing<G>(pub(super) G);

/// An upgrade that failed, and the guard, which is held upgradable as before.
pub struct NotUpgraded<G> {
    /// The guard.
    pub guard: Upgradable<G>,
    /// Why it failed.
    pub error: Error,
}

impl<G> fmt::Debug for NotUpgraded<G> {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        fmt::Debug::fmt(&self.error, to)
    }
}

impl<G> fmt::Display for NotUpgraded<G> {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(&self.error, to)
    }
}

impl<G> std::error::Error for NotUpgraded<G> {}

impl<G> From<NotUpgraded<G>> for Error {
    fn from(not_upgraded: NotUpgraded<G>) -> Self {
        not_upgraded.error
    }
}

/// A guard whose hold can change in its place. For [`Guard`], [`GuardAs`] and [`super::OwnedGuard`] of a rwlock.
pub trait ChangesMode {
    #[doc(hidden)]
    fn make_exclusive(&mut self, limit: HowLong) -> Result<()>;
    #[doc(hidden)]
    fn make_upgradable(&mut self) -> Result<()>;
    #[doc(hidden)]
    fn make_shared(&mut self) -> Result<()>;
    #[doc(hidden)]
    fn end(self) -> Result<()>;
    #[doc(hidden)]
    fn die(self) -> Result<()>;
}

/// How long an upgrade may wait.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct HowLong(pub(super) Limit);

macro_rules! dereferences {
    ($($guard:ident)*) => { $(
        impl<G> Deref for $guard<G> {
            type Target = G;

            fn deref(&self) -> &G {
                &self.0
            }
        }

        impl<G> DerefMut for $guard<G> {
            fn deref_mut(&mut self) -> &mut G {
                &mut self.0
            }
        }

        impl<G: ChangesMode> $guard<G> {
            /// Unlocks, and returns the error that dropping the guard cannot. Errors as [`Guard::unlock`].
            pub fn unlock(self) -> Result<()> {
                self.0.end()
            }

            /// Unlocks as a dying owner does; for a reader that is an unlock. As [`Guard::abandon`].
            pub fn abandon(self) -> Result<()> {
                self.0.die()
            }
        }
    )* };
}
dereferences!(Reading Upgradable Writing);

impl<G: ChangesMode> Upgradable<G> {
    /// Makes the hold exclusive, in its place in the queue: no writer comes in between, and no reader comes in any more. Waits
    /// for the readers inside. The guard has a fencing token of its own from then on.
    ///
    /// # Errors
    /// With the guard, as it was: [`Error::Cancelled`], [`Error::Interrupted`], [`Error::Damaged`]; [`Error::WouldBlock`] if the lock is
    /// linked and its lease has ended, or none of its reserved fencing tokens is left.
    pub fn upgrade(self) -> std::result::Result<Writing<G>, NotUpgraded<G>> {
        self.upgrade_within(Limit::Forever)
    }

    /// Does what [`Upgradable::upgrade`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_upgrade(self) -> std::result::Result<Writing<G>, NotUpgraded<G>> {
        self.upgrade_within(Limit::Never)
    }

    /// Does what [`Upgradable::upgrade`] does, waiting for at most `limit`, then [`Error::TimedOut`].
    pub fn upgrade_for(self, limit: Duration) -> std::result::Result<Writing<G>, NotUpgraded<G>> {
        self.upgrade_within(Limit::For(limit))
    }

    fn upgrade_within(mut self, limit: Limit) -> std::result::Result<Writing<G>, NotUpgraded<G>> {
        match self.0.make_exclusive(HowLong(limit)) {
            Ok(()) => Ok(Writing(self.0)),
            Err(error) => Err(NotUpgraded { guard: self, error }),
        }
    }

    /// Gives up the right to upgrade, and goes on reading.
    pub fn downgrade(mut self) -> Result<Reading<G>> {
        self.0.make_shared()?;
        Ok(Reading(self.0))
    }
}

impl<G: ChangesMode> Writing<G> {
    /// Makes the hold shared, in its place in the queue: no writer comes in between, and other readers may come. If a dead
    /// writer's data were not marked consistent, this closes the lock, as an unlock does.
    pub fn downgrade(mut self) -> Result<Reading<G>> {
        self.0.make_shared()?;
        Ok(Reading(self.0))
    }

    /// Does what [`Writing::downgrade`] does, and the hold may be upgraded again.
    pub fn downgrade_to_upgradable(mut self) -> Result<Upgradable<G>> {
        self.0.make_upgradable()?;
        Ok(Upgradable(self.0))
    }
}
