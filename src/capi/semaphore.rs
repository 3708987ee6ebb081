//! Semaphores, from C.

use super::{
    acquired::turnlock_acquired,
    boundary::{invalid, name, options, status},
    file::{lock_file, turnlock_file},
    handle::OpaqueHandle,
    operations::{self, FastEntry, OpaqueLock, Opened},
    slow_way::{self, Wait},
};
use crate::attach::{cached::ThreadLine, fast_path::UnlockOutcome};
use crate::kind::{Handle, SemaphoreKind};
use std::{ffi::c_char, mem::offset_of, time::Duration};
use turnlock_core::error::status::TURNLOCK_OK;

/// A counting semaphore in a lock file: a number of permits, of which each participant takes some for a while, first
/// come first served. Those of a participant that dies come back. Permits belong to the thread that took them, or to the hold by
/// which they were acquired.
#[allow(non_camel_case_types)]
pub struct turnlock_semaphore {
    _opaque: [u8; 0],
}

impl OpaqueLock for turnlock_semaphore {
    type Kind = SemaphoreKind;
}

/// `turnlock_semaphore_options.flags`: do not create the lock.
pub const TURNLOCK_SEMAPHORE_MUST_EXIST: u32 = 1;
/// `turnlock_semaphore_options.flags`: no patience, whatever `patience_ns` says: strict first come first served. One that
/// exists and has patience is TURNLOCK_ERROR_KIND.
pub const TURNLOCK_SEMAPHORE_STRICT: u32 = 2;

/// `turnlock_semaphore_options.flags`: the semaphore must be linked: its permits are shared out among several hosts, and this host has
/// those that its agent brings, none at first (docs/hosts.md). All hosts name the same `permits`, which are never changed. One that exists
/// and is not linked, or has another number of permits, is TURNLOCK_ERROR_KIND.
pub const TURNLOCK_SEMAPHORE_LINKED: u32 = 64;

const KNOWN_FLAGS: u32 =
    TURNLOCK_SEMAPHORE_MUST_EXIST | TURNLOCK_SEMAPHORE_STRICT | TURNLOCK_SEMAPHORE_LINKED;

/// How to open, or create, a semaphore. Set `size` to `sizeof(struct turnlock_semaphore_options)` and everything else that you
/// do not care about to 0.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_semaphore_options {
    /// `sizeof(struct turnlock_semaphore_options)`.
    pub size: usize,
    /// TURNLOCK_SEMAPHORE_... or'ed together.
    pub flags: u32,
    /// How many permits it has, if it is created now: one that exists keeps what it has. 0 = 1.
    pub permits: u32,
    /// How long a waiter lets others pass before it is queued for good, in nanoseconds. 0 = whatever the lock has, and 1
    /// millisecond if it is created now; else a lock that exists and has another is TURNLOCK_ERROR_KIND.
    pub patience_ns: u64,
}

/// Opens the semaphore called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
/// handle into `semaphore`. `options` may be NULL.
///
/// TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with another patience
/// than `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `semaphore` NULL
/// or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_semaphore_open(
    file: *const turnlock_file,
    name: *const c_char,
    options: *const turnlock_semaphore_options,
    semaphore: *mut *mut turnlock_semaphore,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        // SAFETY: the caller's promise.
        let given = unsafe { self::options(options, offset_of!(turnlock_semaphore_options, patience_ns)) }?;
        if given.flags & !KNOWN_FLAGS != 0 {
            return Err(invalid("a flag is one that this version of turnlock does not know"));
        }
        let mut options = file.semaphore_options();
        options.must_exist(given.flags & TURNLOCK_SEMAPHORE_MUST_EXIST != 0);
        options.linked(given.flags & TURNLOCK_SEMAPHORE_LINKED != 0);
        match given.patience_ns {
            _ if given.flags & TURNLOCK_SEMAPHORE_STRICT != 0 => {
                options.patience(Duration::ZERO);
            }
            0 => {}
            patience => {
                options.patience(Duration::from_nanos(patience));
            }
        }
        if given.permits != 0 {
            options.permits(given.permits);
        }
        // SAFETY: the caller's promise.
        unsafe { operations::open(semaphore, || Ok(options.open(name)?.into_handle())) }
    })
}

/// Closes a semaphore handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
///
/// # Safety
/// `semaphore` is NULL or a semaphore handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_semaphore_close(semaphore: *mut turnlock_semaphore) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::close(semaphore) }
}

/// So many permits of a semaphore.
#[derive(Clone, Copy)]
struct Permits(u32);

impl FastEntry<SemaphoreKind> for Permits {
    #[inline(always)]
    unsafe fn enter(self, lock: &Handle<SemaphoreKind>, line: &ThreadLine) -> Option<u64> {
        // SAFETY: the caller's promise.
        unsafe { lock.permits_by_reservation_at(line, self.0) }
    }
}

/// # Safety
/// As `turnlock_semaphore_acquire`.
#[inline(always)]
unsafe fn acquire(
    semaphore: *const turnlock_semaphore,
    permits: u32,
    acquired: *mut turnlock_acquired,
    wait: Wait,
    nanoseconds: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        if operations::lock_biased(semaphore, Permits(permits), acquired) {
            return TURNLOCK_OK;
        }
        acquire_slowly(semaphore, permits, acquired, wait, nanoseconds)
    }
}

/// Takes permits where the fast path did not. As the functions of [`slow_way`].
///
/// # Safety
/// As `turnlock_semaphore_acquire`.
#[cold]
#[inline(never)]
unsafe extern "C" fn acquire_slowly(
    semaphore: *const turnlock_semaphore,
    permits: u32,
    acquired: *mut turnlock_acquired,
    wait: Wait,
    nanoseconds: u64,
) -> i32 {
    let limit = wait.limit(nanoseconds);
    // SAFETY: the caller's promise.
    unsafe { operations::acquire(semaphore, acquired, |lock| lock.acquire_permits(permits, limit)) }
}

/// Gives permits back where the fast path did not. As the functions of [`slow_way`].
///
/// # Safety
/// As `turnlock_semaphore_release`.
#[cold]
#[inline(never)]
unsafe extern "C" fn release_slowly(semaphore: *const turnlock_semaphore, permits: u32) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(semaphore, |lock| lock.release_permits(permits)) }
}

/// Takes `permits` permits, all at once, waiting for them as long as it takes; no participant that comes later goes
/// before. A thread that has some may take more. `acquired` may be NULL.
///
/// TURNLOCK_ERROR_PERMITS for none, or more than there are, also if their number was reduced while it waited; _DEADLOCK if this
/// thread has so many that it would wait for itself; others as `turnlock_mutex_lock`.
///
/// # Safety
/// `semaphore` is a semaphore handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_semaphore_acquire(
    semaphore: *const turnlock_semaphore,
    permits: u32,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { acquire(semaphore, permits, acquired, Wait::Forever, 0) }
}

/// `turnlock_semaphore_acquire` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// `semaphore` is a semaphore handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_semaphore_try_acquire(
    semaphore: *const turnlock_semaphore,
    permits: u32,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { acquire(semaphore, permits, acquired, Wait::Never, 0) }
}

/// `turnlock_semaphore_acquire`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT and the place in
/// the queue is given up.
///
/// # Safety
/// `semaphore` is a semaphore handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_semaphore_acquire_for(
    semaphore: *const turnlock_semaphore,
    permits: u32,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { acquire(semaphore, permits, acquired, Wait::AtMost, nanoseconds) }
}

/// Gives `permits` of the permits back that the calling thread has, those that it took last first.
///
/// TURNLOCK_ERROR_NOT_OWNER if it has none; _TOO_MANY_RELEASED if it has fewer; _INVALID_ARGUMENT for none; _LEASE_ENDED, _DAMAGED, _REPLACED
/// as `turnlock_mutex_unlock`: they are given back all the same.
///
/// # Safety
/// `semaphore` is a semaphore handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_semaphore_release(
    semaphore: *const turnlock_semaphore,
    permits: u32,
) -> i32 {
    // SAFETY: the caller's promise.
    let left = match unsafe { OpaqueHandle::find(semaphore.cast::<Opened<turnlock_semaphore>>(), true) } {
        // SAFETY: found by its key.
        Some((lock, line)) => unsafe { lock.release_by_reservation_at(line, permits) },
        None => None,
    };
    match left {
        Some(UnlockOutcome::Done) => TURNLOCK_OK,
        // SAFETY: the caller's promise.
        Some(UnlockOutcome::WasRevoked) => unsafe { slow_way::complete_unlock(semaphore) },
        // SAFETY: the caller's promise.
        None => unsafe { release_slowly(semaphore, permits) },
    }
}

/// Makes the semaphore have `permits` permits, for all participants and at once. If there are fewer than before, those
/// that are taken stay taken, and no participant gets any before enough have come back; a waiter for more than there
/// are is told so (TURNLOCK_ERROR_PERMITS), like a newcomer.
///
/// TURNLOCK_ERROR_INVALID_ARGUMENT for none, or UINT32_MAX, and of a linked semaphore; _NOT_FOUND if it was removed; _PARTICIPANTS_FULL
/// if the thread has no slot yet and there is none; _UNSUPPORTED if the kernel refuses a memory barrier. With an error nothing is changed.
///
/// # Safety
/// `semaphore` is a semaphore handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_semaphore_resize(
    semaphore: *const turnlock_semaphore,
    permits: u32,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(semaphore, |lock| lock.resize(permits)) }
}

/// Puts into `permits` how many permits the semaphore has, taken or not; of a linked one, over all hosts. TURNLOCK_ERROR_NOT_FOUND if it was
/// removed.
///
/// # Safety
/// `semaphore` is a semaphore handle; `permits` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_semaphore_permits(
    semaphore: *const turnlock_semaphore,
    permits: *mut u32,
) -> i32 {
    status(|| {
        if permits.is_null() {
            return Err(invalid("the place for the number of permits is NULL"));
        }
        // SAFETY: the caller's promise.
        let has = unsafe { operations::opened(semaphore) }?.permits()?;
        // SAFETY: not NULL, and the caller's promise.
        unsafe { permits.write(has) };
        Ok(TURNLOCK_OK)
    })
}
