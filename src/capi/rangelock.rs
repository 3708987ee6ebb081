//! Range locks, from C.

use super::{
    acquired::turnlock_acquired,
    boundary::{invalid, name, options, status},
    death_policy,
    file::{lock_file, turnlock_file},
    operations::{self, OpaqueLock},
};
use crate::kind::{Part, RangeKind, extent_of};
use std::{ffi::c_char, mem::offset_of, time::Duration};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Extent, Mode};
use turnlock_core::error::Result;

/// A lock of ranges of numbers, in a lock file: a participant that wants a range waits for the earlier ones that
/// overlap with it, unless both only read. Up to as many ranges at once as the file has participants.
#[allow(non_camel_case_types)]
pub struct turnlock_rangelock {
    _opaque: [u8; 0],
}

impl OpaqueLock for turnlock_rangelock {
    type Kind = RangeKind;
}

/// `turnlock_rangelock_options.flags`: do not create the lock.
pub const TURNLOCK_RANGELOCK_MUST_EXIST: u32 = 1;
/// `turnlock_rangelock_options.flags`: the death of one that holds a part exclusively needs no repair: the next one that it
/// concerns is told (TURNLOCK_OWNER_DEAD) and has nothing to mark consistent. One that exists and was created otherwise is
/// TURNLOCK_ERROR_KIND.
pub const TURNLOCK_RANGELOCK_RELEASE_ON_DEATH: u32 = 4;
/// `turnlock_rangelock_options.flags`: the death of one that holds a part exclusively needs a repair, marked by
/// `turnlock_rangelock_mark_consistent`: what a range lock gets that is created without any of these flags. One that exists
/// and was created otherwise is TURNLOCK_ERROR_KIND.
pub const TURNLOCK_RANGELOCK_INFORM_ON_DEATH: u32 = 16;
/// `turnlock_rangelock_options.flags`: as TURNLOCK_RANGELOCK_RELEASE_ON_DEATH if the lock is created now and neither of the two
/// above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
pub const TURNLOCK_RANGELOCK_RELEASE_BY_DEFAULT: u32 = 32;

const KNOWN_FLAGS: u32 = TURNLOCK_RANGELOCK_MUST_EXIST | death_policy::ALL;

/// How to open, or create, a range lock. Set `size` to `sizeof(struct turnlock_rangelock_options)` and everything else that you
/// do not care about to 0.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_rangelock_options {
    /// `sizeof(struct turnlock_rangelock_options)`.
    pub size: usize,
    /// TURNLOCK_RANGELOCK_... or'ed together.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

/// Opens the range lock called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
/// handle into `rangelock`. `options` may be NULL.
///
/// TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with other settings than
/// `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `rangelock` NULL
/// or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_open(
    file: *const turnlock_file,
    name: *const c_char,
    options: *const turnlock_rangelock_options,
    rangelock: *mut *mut turnlock_rangelock,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        // SAFETY: the caller's promise.
        let given = unsafe { self::options(options, offset_of!(turnlock_rangelock_options, reserved)) }?;
        if given.flags & !KNOWN_FLAGS != 0 {
            return Err(invalid("a flag is one that this version of turnlock does not know"));
        }
        let (death_policy, default_death_policy) = death_policy::of(given.flags)?;
        let mut options = file.range_lock_options();
        options.must_exist(given.flags & TURNLOCK_RANGELOCK_MUST_EXIST != 0);
        options.default_death_policy(default_death_policy);
        if let Some(death_policy) = death_policy {
            options.death_policy(death_policy);
        }
        // SAFETY: the caller's promise.
        unsafe { operations::open(rangelock, || Ok(options.open(name)?.into_handle())) }
    })
}

/// Closes a range lock handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
///
/// # Safety
/// `rangelock` is NULL or a range lock handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_close(rangelock: *mut turnlock_rangelock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::close(rangelock) }
}

/// `end` of a range: to the end, the last number included.
pub const TURNLOCK_RANGE_END: u64 = 0xffff_ffff_ffff_ffff;

/// The range from `start` to before `end`.
pub(super) fn range(start: u64, end: u64) -> Result<Extent> {
    if end == TURNLOCK_RANGE_END { extent_of(start..) } else { extent_of(start..end) }
}

/// Takes the range from `start` to before `end` (TURNLOCK_RANGE_END: to the end, the last number included) shared,
/// beside others that do, waiting for the earlier ones that stand in its way as long as it takes. A thread may hold
/// several at once. 0, or TURNLOCK_OWNER_DEAD: one died that held what conflicts with it exclusively.
///
/// TURNLOCK_ERROR_EMPTY_RANGE; TURNLOCK_ERROR_DEADLOCK if this thread holds what conflicts with it; others as
/// `turnlock_mutex_lock`.
///
/// # Safety
/// `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_lock_shared(
    rangelock: *const turnlock_rangelock,
    start: u64,
    end: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(rangelock, acquired, |lock| {
            lock.acquire_part(Part::new(Mode::Shared, range(start, end)?), Limit::Forever)
        })
    }
}

/// `turnlock_rangelock_lock_shared` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_try_lock_shared(
    rangelock: *const turnlock_rangelock,
    start: u64,
    end: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(rangelock, acquired, |lock| {
            lock.acquire_part(Part::new(Mode::Shared, range(start, end)?), Limit::Never)
        })
    }
}

/// `turnlock_rangelock_lock_shared`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
///
/// # Safety
/// `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_lock_shared_for(
    rangelock: *const turnlock_rangelock,
    start: u64,
    end: u64,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(rangelock, acquired, |lock| {
            lock.acquire_part(
                Part::new(Mode::Shared, range(start, end)?),
                Limit::For(Duration::from_nanos(nanoseconds)),
            )
        })
    }
}

/// Takes the range from `start` to before `end` (TURNLOCK_RANGE_END: to the end, the last number included)
/// exclusively, waiting for the earlier ones that stand in its way as long as it takes. A thread may hold several at
/// once. 0, or TURNLOCK_OWNER_DEAD: one died that held what conflicts with it exclusively.
///
/// TURNLOCK_ERROR_EMPTY_RANGE; TURNLOCK_ERROR_DEADLOCK if this thread holds what conflicts with it; others as
/// `turnlock_mutex_lock`.
///
/// # Safety
/// `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_lock_exclusive(
    rangelock: *const turnlock_rangelock,
    start: u64,
    end: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(rangelock, acquired, |lock| {
            lock.acquire_part(Part::new(Mode::Exclusive, range(start, end)?), Limit::Forever)
        })
    }
}

/// `turnlock_rangelock_lock_exclusive` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_try_lock_exclusive(
    rangelock: *const turnlock_rangelock,
    start: u64,
    end: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(rangelock, acquired, |lock| {
            lock.acquire_part(Part::new(Mode::Exclusive, range(start, end)?), Limit::Never)
        })
    }
}

/// `turnlock_rangelock_lock_exclusive`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
///
/// # Safety
/// `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_lock_exclusive_for(
    rangelock: *const turnlock_rangelock,
    start: u64,
    end: u64,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(rangelock, acquired, |lock| {
            lock.acquire_part(
                Part::new(Mode::Exclusive, range(start, end)?),
                Limit::For(Duration::from_nanos(nanoseconds)),
            )
        })
    }
}

/// Unlocks the very range that was taken. TURNLOCK_ERROR_NOT_OWNER if this thread does not hold it; _DAMAGED, _REPLACED as
/// `turnlock_mutex_unlock`.
///
/// # Safety
/// `rangelock` is a range lock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_unlock(
    rangelock: *const turnlock_rangelock,
    start: u64,
    end: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::act(rangelock, |lock| lock.unlock_part(Part::new(Mode::Exclusive, range(start, end)?)))
    }
}

/// Says, while holding the very range that was taken exclusively after TURNLOCK_OWNER_DEAD, that the data of it are
/// well again; of a death in what is only partly held, nothing is marked. TURNLOCK_ERROR_NOT_INCONSISTENT if there is
/// nothing to mark; _NOT_OWNER.
///
/// # Safety
/// `rangelock` is a range lock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_mark_consistent(
    rangelock: *const turnlock_rangelock,
    start: u64,
    end: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::act(rangelock, |lock| {
            lock.mark_part_consistent(Part::new(Mode::Exclusive, range(start, end)?))
        })
    }
}
