//! What a hold is to acquire, from C.

use super::{
    boundary::{invalid, sized},
    info::{TURNLOCK_MODE_EXCLUSIVE, TURNLOCK_MODE_SHARED, TURNLOCK_MODE_UPGRADABLE},
    keyedlock::granule_of,
    limits::{TURNLOCK_WAIT_UNTIL, limit},
    lock::turnlock_lock,
    rangelock::range,
};
use crate::kind::{AnyHandleRef, Granule, Part, Wanted, keys_apart, ranges_apart, with_room};
use std::{ffi::c_void, mem::offset_of, slice};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Claim, Mode};
use turnlock_core::error::Result;

/// A range of numbers.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_range {
    /// The first number.
    pub start: u64,
    /// The number after the last one; TURNLOCK_RANGE_END: to the end, the last number included.
    pub end: u64,
}

/// A key of a keyed lock: some bytes.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_key {
    /// The bytes. NULL if there are none.
    pub data: *const c_void,
    /// How many.
    pub size: usize,
}

/// What a hold is to acquire. Set `size` to `sizeof(struct turnlock_request)`, `lock`, and everything else that you do not care
/// about to 0.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_request {
    /// `sizeof(struct turnlock_request)`.
    pub size: usize,
    /// A lock of any kind: its handle, cast.
    pub lock: *const turnlock_lock,
    /// TURNLOCK_MODE_...: exclusive (0) of all kinds, or shared of reader/writer locks, range locks and keyed locks, or upgradable
    /// of reader/writer locks. Of semaphores and group locks 0.
    pub mode: u32,
    /// 0: there are no flags yet.
    pub flags: u32,
    /// Of a semaphore: how many permits, all at once; 0 = 1. Of other locks 0.
    pub permits: u32,
    /// TURNLOCK_WAIT_...: how long to wait, for all of it.
    pub wait: u32,
    /// With TURNLOCK_WAIT_AT_MOST and _UNTIL: nanoseconds. Else it is not looked at.
    pub time_ns: u64,
    /// Of a range lock: the ranges, one or more. Several are taken one after the other in an order of their own, so
    /// that participants that take several this way do not wait for each other in a circle; ranges that overlap are
    /// taken as one. All or none is held.
    pub ranges: *const turnlock_range,
    /// How many; of other locks 0.
    pub range_count: usize,
    /// Of a keyed lock: the keys, likewise; those that are the same are taken once.
    pub keys: *const turnlock_key,
    /// How many; of other locks 0.
    pub key_count: usize,
    /// Of a group lock: the group, any number. Of other locks 0.
    pub group: u64,
}

// See `turnlock_request::two_from`.
const _: () = assert!(
    offset_of!(turnlock_request, flags) == offset_of!(turnlock_request, mode) + 4
        && offset_of!(turnlock_request, permits) == offset_of!(turnlock_request, flags) + 4
);
const SMALLEST: usize = offset_of!(turnlock_request, key_count) + size_of::<usize>();

impl turnlock_request {
    /// Returns the request at `given`.
    ///
    /// # Safety
    /// `given` is NULL, or readable as far as its `size` says.
    pub(super) unsafe fn read(given: *const Self) -> Result<Self> {
        if given.is_null() {
            return Err(invalid("the request is NULL"));
        }
        // SAFETY: the caller's promise.
        let request = unsafe { sized(given, SMALLEST, "request") }?;
        if request.flags != 0 {
            return Err(invalid(
                "the request has a flag that this version of turnlock does not know: leave flags 0",
            ));
        }
        Ok(request)
    }

    /// Returns whether `mode` is its mode, and it has no flags.
    #[inline(always)]
    pub(super) fn is_just(&self, mode: u32) -> bool {
        // In one load.
        self.two_from(offset_of!(Self, mode)) == u64::from(mode)
    }

    /// Returns whether a fast path may take what it wants exclusively, however long that takes: it has nothing that the slow way looks
    /// at, and `other` is 0: what else of it is to be 0 for this kind of lock.
    #[inline(always)]
    pub(super) fn is_plain(&self, other: u32) -> bool {
        // TURNLOCK_MODE_EXCLUSIVE is 0.
        self.is_plain_so(u64::from(other) | self.two_from(offset_of!(Self, mode)))
    }

    /// [`turnlock_request::is_plain`] of a lock without permits, where [`turnlock_request::is_just`] said yes.
    #[inline(always)]
    pub(super) fn is_plain_but_mode(&self) -> bool {
        self.is_plain_so(self.two_from(offset_of!(Self, flags)))
    }

    #[inline(always)]
    fn is_plain_so(&self, other: u64) -> bool {
        // One of the waits that there are, the numbers from 0 to 3.
        self.wait <= TURNLOCK_WAIT_UNTIL
            && other | (self.range_count | self.key_count) as u64 | self.group == 0
    }

    /// Returns the two members of 4 bytes at this offset, as a word in which the first is the lower half.
    #[inline(always)]
    fn two_from(&self, offset: usize) -> u64 {
        // SAFETY: within the struct, of numbers, as is asserted above.
        u64::from_le(unsafe { (&raw const *self).byte_add(offset).cast::<u64>().read_unaligned() })
    }

    /// Returns how long to wait.
    pub(super) fn limit(&self) -> Result<Limit> {
        limit(self.wait, self.time_ns)
    }

    /// Returns what it wants of `lock`.
    ///
    /// # Safety
    /// Its ranges and keys are readable.
    pub(super) unsafe fn wanted(&self, lock: AnyHandleRef) -> Result<Wanted> {
        let kind = match lock {
            AnyHandleRef::Mutex(_) => "mutex",
            AnyHandleRef::TurnRing(_) => "turn ring",
            AnyHandleRef::RwLock(_) => "reader/writer lock",
            AnyHandleRef::Semaphore(_) => "semaphore",
            AnyHandleRef::RangeLock(_) => "range lock",
            AnyHandleRef::KeyedLock(_) => "keyed lock",
            AnyHandleRef::GroupLock(_) => "group lock",
            AnyHandleRef::Condition(_) => return Err(not_held("a condition")),
            AnyHandleRef::Event(_) => return Err(not_held("an event")),
            AnyHandleRef::Barrier(_) => return Err(not_held("a barrier")),
            AnyHandleRef::Once(_) => return Err(not_held("a once")),
        };
        let in_parts = matches!(lock, AnyHandleRef::RangeLock(_) | AnyHandleRef::KeyedLock(_));
        let mode = match self.mode {
            TURNLOCK_MODE_EXCLUSIVE => Mode::Exclusive,
            TURNLOCK_MODE_SHARED if in_parts || matches!(lock, AnyHandleRef::RwLock(_)) => Mode::Shared,
            TURNLOCK_MODE_UPGRADABLE if matches!(lock, AnyHandleRef::RwLock(_)) => Mode::Upgradable,
            mode => {
                return Err(invalid(&format!(
                    "the request's mode is {mode}, which a {kind} does not have: TURNLOCK_MODE_EXCLUSIVE is 0, _SHARED 1 (of \
                     reader/writer locks, range locks and keyed locks), _UPGRADABLE 2 (of reader/writer locks)"
                )));
            }
        };
        if self.permits != 0 && !matches!(lock, AnyHandleRef::Semaphore(_)) {
            return Err(invalid(&format!(
                "the request is for permits, and the lock is a {kind}: leave permits 0"
            )));
        }
        if self.range_count != 0 && !matches!(lock, AnyHandleRef::RangeLock(_)) {
            return Err(invalid(&format!(
                "the request has ranges, and the lock is a {kind}: leave range_count 0"
            )));
        }
        if self.key_count != 0 && !matches!(lock, AnyHandleRef::KeyedLock(_)) {
            return Err(invalid(&format!(
                "the request has keys, and the lock is a {kind}: leave key_count 0"
            )));
        }
        if self.group != 0 && !matches!(lock, AnyHandleRef::GroupLock(_)) {
            return Err(invalid(&format!(
                "the request names a group, and the lock is a {kind}: leave group 0"
            )));
        }
        match lock {
            AnyHandleRef::GroupLock(_) => Ok(Wanted::Claim(Claim::of_group(self.group))),
            AnyHandleRef::RwLock(_) => Ok(Wanted::Claim(Claim::whole(mode))),
            AnyHandleRef::Semaphore(_) => {
                Ok(Wanted::Claim(Claim { weight: self.permits.max(1), ..Claim::whole(Mode::Shared) }))
            }
            AnyHandleRef::RangeLock(_) => {
                // SAFETY: the caller's promise.
                let ranges = unsafe { array(self.ranges, self.range_count, "range") }?;
                parts(mode, ranges, |one| range(one.start, one.end), ranges_apart)
            }
            AnyHandleRef::KeyedLock(_) => {
                // SAFETY: the caller's promise.
                let keys = unsafe { array(self.keys, self.key_count, "key") }?;
                // SAFETY: likewise.
                parts(mode, keys, |one| unsafe { granule_of(one.data, one.size) }, keys_apart)
            }
            _ => Ok(Wanted::Everything),
        }
    }
}

fn not_held(what: &str) -> turnlock_core::error::Error {
    invalid(&format!(
        "the request is for {what}, which no hold has: wait for it by the functions of its kind"
    ))
}

/// # Safety
/// `first` is NULL, or readable for `count` elements.
unsafe fn array<'a, T>(first: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Err(invalid(&format!("the request names no {what}: give one or more, and how many")));
    }
    if first.is_null() {
        return Err(invalid(&format!("the request has {count} {what}s, at NULL")));
    }
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(invalid(&format!("the request has {count} {what}s, which no memory has room for")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { slice::from_raw_parts(first, count) })
}

/// Without memory for one part: a signal handler may ask for that. For more, too little memory is an error.
fn parts<T, G: Into<Granule>>(
    mode: Mode,
    given: &[T],
    granule: impl Fn(&T) -> Result<G>,
    apart: impl FnOnce(Vec<G>) -> Vec<G>,
) -> Result<Wanted> {
    if let [one] = given {
        return Ok(Wanted::Part(Part::new(mode, granule(one)?)));
    }
    let mut granules = with_room(given.len())?;
    for one in given {
        granules.push(granule(one)?);
    }
    let granules = apart(granules);
    let mut parts = with_room(granules.len())?;
    parts.extend(granules.into_iter().map(|granule| Part::new(mode, granule)));
    Ok(Wanted::Parts(parts))
}
