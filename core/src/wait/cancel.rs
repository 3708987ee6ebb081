//! How another thread ends a wait.

use crate::mutants::{self, Mutant};
use crate::sync::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Another thread's request that a wait should end. It stays until a wait takes it, so that it is never lost; it does not
/// disturb a call that need not wait.
#[derive(Debug, Default)]
pub struct Cancel {
    requested: AtomicBool,
    /// Where the waiter may be parked: a [`super::ParkingSpot`]'s name, or 0.
    spot: AtomicU64,
}

impl Cancel {
    /// Requests it. Returns the name of the spot that has to be unparked, if the waiter may be parked.
    #[inline]
    pub fn request(&self) -> Option<u64> {
        self.requested.store(true, Relaxed);
        // Partner: the fence in `Waiter::park`. If ours comes first, the waiter sees the request before it parks; if
        // theirs comes first, we see its spot.
        mutants::full_fence_unless(Mutant::NoFenceToCancel);
        match self.spot.load(Relaxed) {
            0 => None,
            spot => Some(spot),
        }
    }

    /// Takes a request back that no wait has taken. Returns whether there was one.
    pub fn clear(&self) -> bool {
        self.requested.swap(false, Relaxed)
    }

    /// The waiter says where it is going to park. A full fence comes next, then [`Cancel::is_requested`].
    #[inline]
    pub(super) fn about_to_park(&self, spot: u64) {
        self.spot.store(spot, Relaxed);
    }

    /// Returns whether there is a request, behind that fence.
    #[inline]
    pub(super) fn is_requested(&self) -> bool {
        self.requested.load(Relaxed)
    }

    /// The waiter is not parked any more.
    #[inline]
    pub(super) fn unparked(&self) {
        self.spot.store(0, Relaxed);
    }
}
