//! Participants at a lock, as C is told of them.

use super::boundary::{check_output, fill_in, invalid};
use crate::inspect::{
    Activity, Claim, ClaimMode, Holder, KeyBeginning, Life, Part, ParticipantStatus, Waiter, WaiterState,
};
use std::{ffi::c_char, mem::offset_of};
use turnlock_core::algorithm::claim::Mode;
use turnlock_core::error::{Result, status::TURNLOCK_OK};

/// `turnlock_participant_info.life`: it could not be looked at, since no descriptor of the file can be opened now.
pub const TURNLOCK_LIFE_UNKNOWN: u32 = 0;
/// `turnlock_participant_info.life`: it is alive.
pub const TURNLOCK_LIFE_ALIVE: u32 = 1;
/// `turnlock_participant_info.life`: it is alive, and stopped by SIGSTOP or a debugger.
pub const TURNLOCK_LIFE_STOPPED: u32 = 2;
/// `turnlock_participant_info.life`: it is dead; the next one that has to wait for it removes it.
pub const TURNLOCK_LIFE_DEAD: u32 = 3;

/// `turnlock_participant_info.state`: it has the lock.
pub const TURNLOCK_STATE_HOLDING: u32 = 1;
/// `turnlock_participant_info.state`: its patience is over, and it is in line; on a ring, it waits for its turn.
pub const TURNLOCK_STATE_QUEUED: u32 = 2;
/// `turnlock_participant_info.state`: it has backed off: it still has patience and lets others pass.
pub const TURNLOCK_STATE_BACKED_OFF: u32 = 3;
/// `turnlock_participant_info.state`: it is a member of the ring and does not wait now.
pub const TURNLOCK_STATE_RING_MEMBER: u32 = 4;

/// `turnlock_participant_info.activity`: nothing is known, or it does not wait.
pub const TURNLOCK_ACTIVITY_UNKNOWN: u32 = 0;
/// `turnlock_participant_info.activity`: it runs, or could.
pub const TURNLOCK_ACTIVITY_RUNNING: u32 = 1;
/// `turnlock_participant_info.activity`: it sleeps until it is woken.
pub const TURNLOCK_ACTIVITY_SLEEPING: u32 = 2;
/// `turnlock_participant_info.activity`: it is stopped, and is passed over when its turn comes.
pub const TURNLOCK_ACTIVITY_STOPPED: u32 = 3;
/// `turnlock_participant_info.activity`: it was passed over, and queues again when it goes on.
pub const TURNLOCK_ACTIVITY_PASSED_OVER: u32 = 4;

/// `turnlock_lock_death_policy`: the next holder is told, and marks consistent what a dead one left; else the lock is closed.
pub const TURNLOCK_DEATH_POLICY_INFORM: u32 = 0;
/// `turnlock_lock_death_policy`: the next holder is told, and has nothing to mark consistent.
pub const TURNLOCK_DEATH_POLICY_RELEASE: u32 = 1;

/// A mode, of a request and in `turnlock_participant_info.mode`: it has, or wants, the lock alone.
pub const TURNLOCK_MODE_EXCLUSIVE: u32 = 0;
/// A mode: beside others that have it shared, and one that has it upgradable; of a semaphore, beside
/// as many as there is room for; of a group lock, beside others of its group.
pub const TURNLOCK_MODE_SHARED: u32 = 1;
/// A mode: as shared, and it may become exclusive.
pub const TURNLOCK_MODE_UPGRADABLE: u32 = 2;
/// `turnlock_participant_info.mode`: upgradable, and waiting to be exclusive.
pub const TURNLOCK_MODE_UPGRADING: u32 = 3;

/// `turnlock_participant_info.flags`: it entered without asking anyone, so it has held the lock at least for as long as
/// `duration_ns` says.
pub const TURNLOCK_INFO_AT_LEAST: u32 = 1;
/// `turnlock_participant_info.flags`: `pid` and `thread` are numbers of another PID namespace than the caller's.
pub const TURNLOCK_INFO_OTHER_PID_NAMESPACE: u32 = 2;
/// `turnlock_participant_info.flags`: it waits and cannot see deaths, since it can open no descriptor of the file.
pub const TURNLOCK_INFO_BLIND: u32 = 4;
/// `turnlock_participant_info.flags`: `key` is its whole key.
pub const TURNLOCK_INFO_WHOLE_KEY: u32 = 8;

/// A participant at a lock. Set `size` to `sizeof(struct turnlock_participant_info)` before the call; the rest is filled
/// in.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_participant_info {
    /// `sizeof(struct turnlock_participant_info)`.
    pub size: usize,
    /// Of a holder: the fencing token it has. Else 0.
    pub fencing_token: u64,
    /// For how long it has held or waited, in nanoseconds; 0 if it came just now, or where that is not known.
    pub duration_ns: u64,
    /// Its slot in the file.
    pub slot: u32,
    /// Its process, as its own PID namespace numbers it.
    pub pid: u32,
    /// Its thread, likewise.
    pub thread: u32,
    /// TURNLOCK_LIFE_...
    pub life: u32,
    /// TURNLOCK_STATE_...
    pub state: u32,
    /// TURNLOCK_MODE_...: what it has of the lock, or wants.
    pub mode: u32,
    /// TURNLOCK_INFO_... or'ed together.
    pub flags: u32,
    /// Of a waiter: TURNLOCK_ACTIVITY_...
    pub activity: u32,
    /// What it calls itself: UTF-8, NUL-terminated.
    pub label: [c_char; 64],
    /// The name of its program: UTF-8, NUL-terminated.
    pub program: [c_char; 64],
    /// Of a range lock: the first number of its range; of a keyed lock: the upper half of its key's hash; of a group lock: its
    /// group. Else 0.
    pub first: u64,
    /// Of a range lock: the last number of its range, which belongs to it; of a keyed lock: the lower half of its key's hash.
    /// Else 0.
    pub last: u64,
    /// Of a semaphore: how many permits it has, or wants. Else 0.
    pub permits: u32,
    /// Of a keyed lock: how many bytes of `key` there are. Else 0.
    pub key_size: u32,
    /// Of a keyed lock: the first bytes of its key, at most 47; 0 follows. Without TURNLOCK_INFO_WHOLE_KEY in `flags` the key is
    /// longer, or, if `key_size` is 0, empty or not known.
    pub key: [u8; 48],
}

/// The mode of this number, for a downgrade.
pub fn mode_below(mode: u32) -> Result<Mode> {
    match mode {
        TURNLOCK_MODE_SHARED => Ok(Mode::Shared),
        TURNLOCK_MODE_UPGRADABLE => Ok(Mode::Upgradable),
        _ => Err(invalid("a lock is downgraded to TURNLOCK_MODE_UPGRADABLE or TURNLOCK_MODE_SHARED")),
    }
}

const SMALLEST: usize = offset_of!(turnlock_participant_info, program) + 64;

/// `text` as a C string that is cut to fit.
pub fn text_in<const N: usize>(text: &str) -> [c_char; N] {
    let mut place = [0; N];
    for (to, from) in place.iter_mut().zip(text.bytes().take(N - 1)) {
        *to = from as c_char;
    }
    place
}

fn info(
    participant: &ParticipantStatus,
    claim: Claim,
    for_seconds: Option<f64>,
) -> turnlock_participant_info {
    let (first, last) = match claim.part {
        None => (0, 0),
        Some(Part::Range { first, last }) => (first, last),
        Some(Part::Group(group)) => (group, 0),
        Some(Part::Key(hash)) => ((hash >> 64) as u64, hash as u64),
        Some(Part::Everything) => (0, u64::MAX),
    };
    let other_namespace = if participant.same_pid_namespace { 0 } else { TURNLOCK_INFO_OTHER_PID_NAMESPACE };
    let mut key = [0; 48];
    let beginning = claim.key_beginning.as_ref().map_or(&[][..], KeyBeginning::bytes);
    key[..beginning.len()].copy_from_slice(beginning);
    let whole_key =
        if claim.key_beginning.is_some_and(|key| key.is_whole()) { TURNLOCK_INFO_WHOLE_KEY } else { 0 };
    turnlock_participant_info {
        size: 0,
        fencing_token: 0,
        duration_ns: (for_seconds.unwrap_or(0.0) * 1e9) as u64,
        slot: participant.slot as u32,
        pid: participant.pid,
        thread: participant.thread,
        life: match participant.life {
            Life::Unknown => TURNLOCK_LIFE_UNKNOWN,
            Life::Alive => TURNLOCK_LIFE_ALIVE,
            Life::Stopped => TURNLOCK_LIFE_STOPPED,
            Life::Dead => TURNLOCK_LIFE_DEAD,
        },
        state: TURNLOCK_STATE_HOLDING,
        mode: match claim.mode {
            ClaimMode::Exclusive => TURNLOCK_MODE_EXCLUSIVE,
            ClaimMode::Shared => TURNLOCK_MODE_SHARED,
            ClaimMode::Upgradable => TURNLOCK_MODE_UPGRADABLE,
            ClaimMode::Upgrading => TURNLOCK_MODE_UPGRADING,
        },
        flags: other_namespace | whole_key | if participant.cannot_probe { TURNLOCK_INFO_BLIND } else { 0 },
        activity: TURNLOCK_ACTIVITY_UNKNOWN,
        label: text_in(&participant.label),
        program: text_in(&participant.program),
        first,
        last,
        permits: claim.permits.unwrap_or(0),
        key_size: beginning.len() as u32,
        key,
    }
}

impl From<&Holder> for turnlock_participant_info {
    fn from(holder: &Holder) -> Self {
        let info = info(&holder.participant, holder.claim, holder.for_seconds);
        let at_least = if holder.at_least { TURNLOCK_INFO_AT_LEAST } else { 0 };
        Self { fencing_token: holder.fencing_token, flags: info.flags | at_least, ..info }
    }
}

impl From<&Waiter> for turnlock_participant_info {
    fn from(waiter: &Waiter) -> Self {
        let state = match waiter.state {
            WaiterState::Queued | WaiterState::Notified => TURNLOCK_STATE_QUEUED,
            WaiterState::BackedOff => TURNLOCK_STATE_BACKED_OFF,
            WaiterState::RingMember => TURNLOCK_STATE_RING_MEMBER,
        };
        let activity = match waiter.activity {
            Activity::Unknown => TURNLOCK_ACTIVITY_UNKNOWN,
            Activity::Running => TURNLOCK_ACTIVITY_RUNNING,
            Activity::Sleeping => TURNLOCK_ACTIVITY_SLEEPING,
            Activity::Stopped => TURNLOCK_ACTIVITY_STOPPED,
            Activity::PassedOver => TURNLOCK_ACTIVITY_PASSED_OVER,
        };
        Self {
            state,
            activity,
            ..info(&waiter.participant, waiter.claim.unwrap_or(Claim::EXCLUSIVE), waiter.for_seconds)
        }
    }
}

/// Writes as many participants down as there is room for, and how many there are.
///
/// # Safety
/// `places` is writable for `capacity` structs of the size that the first one says; `count` is NULL or writable.
pub unsafe fn tell_all<T>(
    places: *mut turnlock_participant_info,
    capacity: usize,
    count: *mut usize,
    find: impl FnOnce() -> Result<Vec<T>>,
) -> Result<i32>
where
    for<'a> turnlock_participant_info: From<&'a T>,
{
    if count.is_null() {
        return Err(invalid("the place for the number of participants is NULL"));
    }
    let mut stride = 0;
    if capacity > 0 {
        if places.is_null() {
            return Err(invalid("the array is NULL: give capacity 0 to be told the number alone"));
        }
        // SAFETY: the caller's promise.
        unsafe { check_output(places, SMALLEST) }?;
        // SAFETY: not NULL; `size` comes first in the struct.
        stride = unsafe { places.cast::<usize>().read() };
        if !stride.is_multiple_of(align_of::<turnlock_participant_info>()) {
            return Err(invalid(&format!(
                "the size in the first struct of the array is {stride}, which no version of it has: set it to sizeof the \
                 struct"
            )));
        }
    }
    let found = find()?;
    for (at, one) in found.iter().take(capacity).enumerate() {
        // SAFETY: the caller's array has so many structs of that size, aligned as the first is; the size is written
        // before it is read.
        unsafe {
            let place = places.byte_add(at * stride);
            place.cast::<usize>().write(stride);
            fill_in(place, &turnlock_participant_info::from(one));
        }
    }
    // SAFETY: not NULL, and the caller's promise.
    unsafe { count.write(found.len()) };
    Ok(TURNLOCK_OK)
}
