//! Going over to the file that a path names by now, from C.

use super::{boundary::status, mutex::turnlock_mutex, operations, ring::turnlock_ring};

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
    // SAFETY: the caller's promise.
    status(|| unsafe { operations::open(reopened, || operations::opened(mutex)?.reopened()) })
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
    // SAFETY: the caller's promise.
    status(|| unsafe { operations::open(reopened, || operations::opened(ring)?.reopened()) })
}
