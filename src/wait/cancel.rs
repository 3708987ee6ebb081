//! How another thread ends a wait.

use crate::sync::{AtomicBool, AtomicU64, Ordering::Relaxed, full_fence};

/// Another thread's wish that a wait should end. Once requested it stays until a wait takes it, so that it is never
/// lost; it does not disturb a call that need not wait.
#[derive(Debug, Default)]
pub struct Cancel {
    requested: AtomicBool,
    /// Where the waiter may be asleep: a [`super::ParkingSpot`]'s name, or 0.
    spot: AtomicU64,
}

impl Cancel {
    /// Requests it; gives the name of the spot that must be shaken, if the waiter may be asleep.
    pub fn request(&self) -> Option<u64> {
        self.requested.store(true, Relaxed);
        // Partner: the fence in `Waiter::sleep`. If ours comes first, the waiter sees the request before it sleeps; if
        // theirs comes first, we see its spot.
        full_fence();
        match self.spot.load(Relaxed) {
            0 => None,
            spot => Some(spot),
        }
    }

    /// Takes a request back that no wait has taken. Was there one?
    pub fn clear(&self) -> bool {
        self.requested.swap(false, Relaxed)
    }

    /// The waiter says where it is going to sleep. A full fence comes next, then [`Cancel::is_requested`].
    pub(super) fn about_to_sleep(&self, spot: u64) {
        self.spot.store(spot, Relaxed);
    }

    /// Is there a request, behind that fence?
    pub(super) fn is_requested(&self) -> bool {
        self.requested.load(Relaxed)
    }

    /// The waiter sleeps no more.
    pub(super) fn awake(&self) {
        self.spot.store(0, Relaxed);
    }
}
