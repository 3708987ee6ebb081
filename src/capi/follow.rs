//! Going over to the file that a path names by now, from C.

use super::{
    boundary::{invalid, status},
    handle::Handle,
    mutex::turnlock_mutex,
    ring::turnlock_ring,
};
use crate::error::{Result, status::TURNLOCK_OK};
use crate::lock::{Mutex, TurnRing};

/// After TURNLOCK_ERROR_REPLACED: opens the lock of the same name in the file that the path names by now, and puts a
/// handle into `reopened`. File and lock are created, with the capacities, permissions and options of these, if they
/// are not there. The old handle stays open: close it. Whoever is inside in the old file does not keep anybody out of the
/// new one. Errors as `turnlock_file_open` and `turnlock_mutex_open`.
///
/// # Safety
/// `mutex` is a mutex handle; `reopened` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_reopen(
    mutex: *const turnlock_mutex,
    reopened: *mut *mut turnlock_mutex,
) -> i32 {
    // SAFETY: the caller's promise; turnlock_mutex stands for it.
    unsafe { reopen(mutex.cast::<Handle<Mutex>>(), "mutex", reopened.cast(), Mutex::reopened) }
}

/// `turnlock_mutex_reopen`, for a turn ring: on demand or standing, as the old handle.
///
/// # Safety
/// `ring` is a ring handle; `reopened` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_reopen(
    ring: *const turnlock_ring,
    reopened: *mut *mut turnlock_ring,
) -> i32 {
    // SAFETY: the caller's promise; turnlock_ring stands for it.
    unsafe { reopen(ring.cast::<Handle<TurnRing>>(), "ring", reopened.cast(), TurnRing::reopened) }
}

/// # Safety
/// As the two above.
unsafe fn reopen<T>(
    handle: *const Handle<T>,
    what: &str,
    place: *mut *mut Handle<T>,
    reopened: impl Fn(&T) -> Result<T>,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let old = unsafe { Handle::get(handle, what) }?;
        if place.is_null() {
            return Err(invalid("the place for the new handle is NULL"));
        }
        let new = Handle::open(reopened(old)?);
        // SAFETY: not NULL, and the caller's promise.
        unsafe { place.write(new) };
        Ok(TURNLOCK_OK)
    })
}
