//! Group locks, from C.

use super::{
    acquired::turnlock_acquired,
    boundary::{invalid, name, options, status},
    death_policy,
    file::{lock_file, turnlock_file},
    operations::{self, OpaqueLock},
};
use crate::kind::GroupKind;
use std::{ffi::c_char, mem::offset_of, time::Duration};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Claim;

/// A group lock in a lock file: any number of participants of one group are inside at once, and never two of different groups.
/// A group is any number, and need not be created. First come first served: a participant that comes later waits behind an
/// earlier one of another group, also if its own group is inside. Any thread may use the handle; the place inside belongs to
/// the thread (or the hold) that took it, once at a time.
///
/// A member of a group may change what the lock protects beside others of its group. So a member's death is told
/// (TURNLOCK_OWNER_DEAD) to every participant that enters afterwards, whatever its group, until one that was told marks it
/// consistent. Those that are inside already are not told, and cannot mark it. The lock is not closed if a holder unlocks without
/// marking. To enter beside others takes a look at each of them, a microsecond or two, since no participant of their group
/// would wait for a dead one.
#[allow(non_camel_case_types)]
pub struct turnlock_grouplock {
    _opaque: [u8; 0],
}

impl OpaqueLock for turnlock_grouplock {
    type Kind = GroupKind;
}

/// `turnlock_grouplock_options.flags`: do not create the lock.
pub const TURNLOCK_GROUPLOCK_MUST_EXIST: u32 = 1;
/// `turnlock_grouplock_options.flags`: the death of a member needs no repair: the next participant that enters is told
/// (TURNLOCK_OWNER_DEAD) and has nothing to mark consistent. One that exists and was created otherwise is
/// TURNLOCK_ERROR_KIND.
pub const TURNLOCK_GROUPLOCK_RELEASE_ON_DEATH: u32 = 4;
/// `turnlock_grouplock_options.flags`: the death of a member needs a repair, marked by `turnlock_grouplock_mark_consistent`:
/// what a group lock gets that is created without any of these flags. One that exists and was created otherwise is
/// TURNLOCK_ERROR_KIND.
pub const TURNLOCK_GROUPLOCK_INFORM_ON_DEATH: u32 = 16;
/// `turnlock_grouplock_options.flags`: as TURNLOCK_GROUPLOCK_RELEASE_ON_DEATH if the lock is created now and neither of the two
/// above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
pub const TURNLOCK_GROUPLOCK_RELEASE_BY_DEFAULT: u32 = 32;

const KNOWN_FLAGS: u32 = TURNLOCK_GROUPLOCK_MUST_EXIST | death_policy::ALL;

/// How to open, or create, a group lock. Set `size` to `sizeof(struct turnlock_grouplock_options)` and everything else that you
/// do not care about to 0.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_grouplock_options {
    /// `sizeof(struct turnlock_grouplock_options)`.
    pub size: usize,
    /// TURNLOCK_GROUPLOCK_... or'ed together.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

/// Opens the group lock called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
/// handle into `grouplock`. `options` may be NULL.
///
/// TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with other settings than
/// `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `grouplock` NULL
/// or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_grouplock_open(
    file: *const turnlock_file,
    name: *const c_char,
    options: *const turnlock_grouplock_options,
    grouplock: *mut *mut turnlock_grouplock,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        // SAFETY: the caller's promise.
        let given = unsafe { self::options(options, offset_of!(turnlock_grouplock_options, reserved)) }?;
        if given.flags & !KNOWN_FLAGS != 0 {
            return Err(invalid("a flag is one that this version of turnlock does not know"));
        }
        let (death_policy, default_death_policy) = death_policy::of(given.flags)?;
        let mut options = file.group_lock_options();
        options.must_exist(given.flags & TURNLOCK_GROUPLOCK_MUST_EXIST != 0);
        options.default_death_policy(default_death_policy);
        if let Some(death_policy) = death_policy {
            options.death_policy(death_policy);
        }
        // SAFETY: the caller's promise.
        unsafe { operations::open(grouplock, || Ok(options.open(name)?.into_handle())) }
    })
}

/// Closes a group lock handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
///
/// # Safety
/// `grouplock` is NULL or a group lock handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_grouplock_close(grouplock: *mut turnlock_grouplock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::close(grouplock) }
}

/// Enters as a member of `group`, any number, beside others of that group, waiting for earlier participants of other groups as
/// long as it takes. 0, or TURNLOCK_OWNER_DEAD: a member died inside, and that has not been marked consistent since.
///
/// TURNLOCK_ERROR_DEADLOCK if this thread is inside already, in whichever group; others as `turnlock_mutex_lock`.
///
/// # Safety
/// `grouplock` is a group lock handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_grouplock_lock(
    grouplock: *const turnlock_grouplock,
    group: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { enter(grouplock, group, Limit::Forever, acquired) }
}

/// `turnlock_grouplock_lock` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// `grouplock` is a group lock handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_grouplock_try_lock(
    grouplock: *const turnlock_grouplock,
    group: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { enter(grouplock, group, Limit::Never, acquired) }
}

/// `turnlock_grouplock_lock`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
///
/// # Safety
/// `grouplock` is a group lock handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_grouplock_lock_for(
    grouplock: *const turnlock_grouplock,
    group: u64,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { enter(grouplock, group, Limit::For(Duration::from_nanos(nanoseconds)), acquired) }
}

/// # Safety
/// As [`turnlock_grouplock_lock`].
unsafe fn enter(
    grouplock: *const turnlock_grouplock,
    group: u64,
    limit: Limit,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::acquire(grouplock, acquired, |lock| lock.acquire(Claim::of_group(group), limit)) }
}

/// Leaves, whichever group this thread is inside with. TURNLOCK_ERROR_NOT_OWNER if it is not inside; _DAMAGED, _REPLACED as
/// `turnlock_mutex_unlock`.
///
/// # Safety
/// `grouplock` is a group lock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_grouplock_unlock(grouplock: *const turnlock_grouplock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::unlock(grouplock, None) }
}

/// Leaves as a dying member does, since the data were left half-done: the next participants that enter get
/// TURNLOCK_OWNER_DEAD. TURNLOCK_ERROR_NOT_OWNER.
///
/// # Safety
/// `grouplock` is a group lock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_grouplock_abandon(grouplock: *const turnlock_grouplock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(grouplock, |lock| lock.abandon(None)) }
}

/// Says, inside after TURNLOCK_OWNER_DEAD, that the data are well again. It marks the deaths of which this participant was told
/// when it entered; one that came later is told to those that enter after it. TURNLOCK_ERROR_NOT_INCONSISTENT if it was told of
/// none, or another member has marked them; _NOT_OWNER.
///
/// # Safety
/// `grouplock` is a group lock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_grouplock_mark_consistent(grouplock: *const turnlock_grouplock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(grouplock, |lock| lock.mark_consistent()) }
}
