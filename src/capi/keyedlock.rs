//! Keyed locks, from C.

use super::{
    acquired::turnlock_acquired,
    boundary::{invalid, name, options, status},
    death_policy,
    file::{lock_file, turnlock_file},
    operations::{self, OpaqueLock},
};
use crate::kind::{Granule, KeyedKind, Part, granule_of_key};
use std::{
    ffi::{c_char, c_void},
    mem::offset_of,
    ptr::NonNull,
    time::Duration,
};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Mode;
use turnlock_core::error::Result;

/// A lock for each key (any bytes), in a lock file. Keys need not be created, and take no room while no participant
/// wants them; they are told apart by a hash of 128 bits. Up to as many at once as the file has participants.
#[allow(non_camel_case_types)]
pub struct turnlock_keyedlock {
    _opaque: [u8; 0],
}

impl OpaqueLock for turnlock_keyedlock {
    type Kind = KeyedKind;
}

/// `turnlock_keyedlock_options.flags`: do not create the lock.
pub const TURNLOCK_KEYEDLOCK_MUST_EXIST: u32 = 1;
/// `turnlock_keyedlock_options.flags`: the death of one that holds a part exclusively needs no repair: the next one that it
/// concerns is told (TURNLOCK_OWNER_DEAD) and has nothing to mark consistent. One that exists and was created otherwise is
/// TURNLOCK_ERROR_KIND.
pub const TURNLOCK_KEYEDLOCK_RELEASE_ON_DEATH: u32 = 4;
/// `turnlock_keyedlock_options.flags`: the death of one that holds a part exclusively needs a repair, marked by
/// `turnlock_keyedlock_mark_consistent`: what a keyed lock gets that is created without any of these flags. One that exists
/// and was created otherwise is TURNLOCK_ERROR_KIND.
pub const TURNLOCK_KEYEDLOCK_INFORM_ON_DEATH: u32 = 16;
/// `turnlock_keyedlock_options.flags`: as TURNLOCK_KEYEDLOCK_RELEASE_ON_DEATH if the lock is created now and neither of the two
/// above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
pub const TURNLOCK_KEYEDLOCK_RELEASE_BY_DEFAULT: u32 = 32;

const KNOWN_FLAGS: u32 = TURNLOCK_KEYEDLOCK_MUST_EXIST | death_policy::ALL;

/// How to open, or create, a keyed lock. Set `size` to `sizeof(struct turnlock_keyedlock_options)` and everything else that you
/// do not care about to 0.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_keyedlock_options {
    /// `sizeof(struct turnlock_keyedlock_options)`.
    pub size: usize,
    /// TURNLOCK_KEYEDLOCK_... or'ed together.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

/// Opens the keyed lock called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
/// handle into `keyedlock`. `options` may be NULL.
///
/// TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with other settings than
/// `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `keyedlock` NULL
/// or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_open(
    file: *const turnlock_file,
    name: *const c_char,
    options: *const turnlock_keyedlock_options,
    keyedlock: *mut *mut turnlock_keyedlock,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        // SAFETY: the caller's promise.
        let given = unsafe { self::options(options, offset_of!(turnlock_keyedlock_options, reserved)) }?;
        if given.flags & !KNOWN_FLAGS != 0 {
            return Err(invalid("a flag is one that this version of turnlock does not know"));
        }
        let (death_policy, default_death_policy) = death_policy::of(given.flags)?;
        let mut options = file.keyed_lock_options();
        options.must_exist(given.flags & TURNLOCK_KEYEDLOCK_MUST_EXIST != 0);
        options.default_death_policy(default_death_policy);
        if let Some(death_policy) = death_policy {
            options.death_policy(death_policy);
        }
        // SAFETY: the caller's promise.
        unsafe { operations::open(keyedlock, || Ok(options.open(name)?.into_handle())) }
    })
}

/// Closes a keyed lock handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
///
/// # Safety
/// `keyedlock` is NULL or a keyed lock handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_close(keyedlock: *mut turnlock_keyedlock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::close(keyedlock) }
}

/// The granule that stands for a key.
///
/// # Safety
/// `key` is NULL, or readable for `size` bytes.
pub(super) unsafe fn granule_of(key: *const c_void, size: usize) -> Result<Granule> {
    let Some(key) = NonNull::new(key.cast_mut()) else {
        return if size > 0 { Err(invalid("the key is NULL")) } else { Ok(granule_of_key([])) };
    };
    if size > isize::MAX as usize {
        return Err(invalid(&format!("the key has {size} bytes, which no memory has room for")));
    }
    // SAFETY: not NULL, and the caller's promise.
    let key = unsafe { std::slice::from_raw_parts(key.cast::<u8>().as_ptr(), size) };
    Ok(granule_of_key(key))
}

/// Takes the key, the `key_size` bytes at `key` shared, beside others that do, waiting for the earlier ones that
/// stand in its way as long as it takes. A thread may hold several at once. 0, or TURNLOCK_OWNER_DEAD: one died that
/// held what conflicts with it exclusively.
///
/// TURNLOCK_ERROR_DEADLOCK if this thread holds what conflicts with it; others as `turnlock_mutex_lock`.
///
/// # Safety
/// `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
/// as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_lock_shared(
    keyedlock: *const turnlock_keyedlock,
    key: *const c_void,
    key_size: usize,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(keyedlock, acquired, |lock| {
            lock.acquire_part(Part::new(Mode::Shared, granule_of(key, key_size)?), Limit::Forever)
        })
    }
}

/// `turnlock_keyedlock_lock_shared` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
/// as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_try_lock_shared(
    keyedlock: *const turnlock_keyedlock,
    key: *const c_void,
    key_size: usize,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(keyedlock, acquired, |lock| {
            lock.acquire_part(Part::new(Mode::Shared, granule_of(key, key_size)?), Limit::Never)
        })
    }
}

/// `turnlock_keyedlock_lock_shared`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
///
/// # Safety
/// `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
/// as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_lock_shared_for(
    keyedlock: *const turnlock_keyedlock,
    key: *const c_void,
    key_size: usize,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(keyedlock, acquired, |lock| {
            lock.acquire_part(
                Part::new(Mode::Shared, granule_of(key, key_size)?),
                Limit::For(Duration::from_nanos(nanoseconds)),
            )
        })
    }
}

/// Takes the key, the `key_size` bytes at `key` exclusively, waiting for the earlier ones that stand in its way as
/// long as it takes. A thread may hold several at once. 0, or TURNLOCK_OWNER_DEAD: one died that held what conflicts
/// with it exclusively.
///
/// TURNLOCK_ERROR_DEADLOCK if this thread holds what conflicts with it; others as `turnlock_mutex_lock`.
///
/// # Safety
/// `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
/// as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_lock_exclusive(
    keyedlock: *const turnlock_keyedlock,
    key: *const c_void,
    key_size: usize,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(keyedlock, acquired, |lock| {
            lock.acquire_part(Part::new(Mode::Exclusive, granule_of(key, key_size)?), Limit::Forever)
        })
    }
}

/// `turnlock_keyedlock_lock_exclusive` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
/// as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_try_lock_exclusive(
    keyedlock: *const turnlock_keyedlock,
    key: *const c_void,
    key_size: usize,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(keyedlock, acquired, |lock| {
            lock.acquire_part(Part::new(Mode::Exclusive, granule_of(key, key_size)?), Limit::Never)
        })
    }
}

/// `turnlock_keyedlock_lock_exclusive`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
///
/// # Safety
/// `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
/// as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_lock_exclusive_for(
    keyedlock: *const turnlock_keyedlock,
    key: *const c_void,
    key_size: usize,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(keyedlock, acquired, |lock| {
            lock.acquire_part(
                Part::new(Mode::Exclusive, granule_of(key, key_size)?),
                Limit::For(Duration::from_nanos(nanoseconds)),
            )
        })
    }
}

/// Unlocks the key. TURNLOCK_ERROR_NOT_OWNER if this thread does not hold it; _DAMAGED, _REPLACED as `turnlock_mutex_unlock`.
///
/// # Safety
/// `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_unlock(
    keyedlock: *const turnlock_keyedlock,
    key: *const c_void,
    key_size: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::act(keyedlock, |lock| {
            lock.unlock_part(Part::new(Mode::Exclusive, granule_of(key, key_size)?))
        })
    }
}

/// Says, while holding the key exclusively after TURNLOCK_OWNER_DEAD, that the data of it are well again; of a death
/// in what is only partly held, nothing is marked. TURNLOCK_ERROR_NOT_INCONSISTENT if there is nothing to mark;
/// _NOT_OWNER.
///
/// # Safety
/// `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_mark_consistent(
    keyedlock: *const turnlock_keyedlock,
    key: *const c_void,
    key_size: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::act(keyedlock, |lock| {
            lock.mark_part_consistent(Part::new(Mode::Exclusive, granule_of(key, key_size)?))
        })
    }
}
