//! Snapshots of a lock file by an observer, or of one lock that is open: holders and waiters, and since when. Never
//! writes.
//!
//! What is seen may be out of date by the time it is printed. [`snapshot`] maps the file for reading only;
//! [`crate::Mutex::status`] and [`crate::TurnRing::status`] look through the open file.

mod coordination;
mod deadlock_status;
mod deadlocks;
mod file_status;
mod no_lock;
mod observer;
mod open_lock;
mod recording;
mod registers;
mod sees_slots;
mod shown;
mod slot_keepers;
mod status;

pub use crate::layout::KeyBeginning;
pub use recording::{RecordedEvent, RecordedLock, RecordedParticipant, Recording};
pub use registers::{Held, LockRegisters, MachineRegisters, SlotRegisters};
pub use turnlock_core::event::Event;

pub use deadlock_status::{Deadlock, DeadlockedClaim, DeadlockedParticipant};
pub use file_status::FileStatus;
pub use no_lock::{BarrierStatus, BrokenBarrier, ConditionStatus, EventStatus, OnceStatus};
pub use status::{
    Activity, ByMessages, Claim, ClaimMode, Counters, DeadOwner, Holder, Keeper, Life, LinkStatus,
    LockStatus, Part, ParticipantStatus, Waiter, WaiterState,
};

use crate::attach::new_file::header_of;
use crate::kind::{Named, names_of};
use crate::layout::{FORMAT_MAJOR, FORMAT_MINOR, Fences, Kind, View};
use crate::os::{
    file::{self, Access},
    given, identity,
    liveness_lock::{self, Seen},
    map::Mapping,
    membarrier, process,
};
use crate::recovery;
use observer::Observer;
use std::{
    fs::File,
    os::fd::AsFd,
    path::{Path, PathBuf},
};
use turnlock_core::error::Result;
use turnlock_core::sync::Ordering::Relaxed;

/// Looks at the lock file at `path`. Needs permission to read it, and no slot.
///
/// # Errors
/// As opening it: [`crate::Error::NotFound`], [`crate::Error::NotALockFile`], [`crate::Error::Version`],
/// [`crate::Error::Damaged`], [`crate::Error::Permission`], [`crate::Error::FileSystem`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.lock");
/// let file = turnlock::LockFile::open(&path)?;
/// let mutex = file.mutex("accounts")?;
/// let guard = mutex.lock()?;
/// let status = turnlock::inspect::snapshot(&path)?;
/// assert_eq!(status.locks[0].name, "accounts");
/// assert_eq!(status.locks[0].holders[0].pid(), std::process::id());
/// # drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn snapshot(path: impl AsRef<Path>) -> Result<FileStatus> {
    let path = file::absolute(path.as_ref())?;
    let opened = file::open_existing(&path, Access::Read)?;
    look_at(path, opened)
}

/// Looks at the lock file that `descriptor`, which is open for reading, stands for: [`snapshot`] for a file that has no path
/// here. The path in its status is the kernel's name for the file.
///
/// # Errors
/// As [`snapshot`].
pub fn snapshot_descriptor(descriptor: impl AsFd) -> Result<FileStatus> {
    let given = given::open_given(descriptor.as_fd(), Access::Read)?;
    look_at(given.name, given.file)
}

/// Reads the latest events that the lock file at `path` has recorded. `None`: it keeps none
/// ([`crate::LockFileOptions::recorded_events`]).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.lock");
/// use turnlock::inspect::{Event, recording};
///
/// let file = turnlock::LockFile::options().recorded_events(1000).open(&path)?;
/// let accounts = file.mutex("accounts")?;
/// let guard = accounts.lock()?;
/// let seen = recording(&path)?.expect("it was created with one");
/// let last = seen.events.last().expect("the lock was acquired");
/// assert_eq!((last.event, last.fencing_token), (Event::Acquired, Some(guard.fencing_token())));
/// assert_eq!(seen.locks[last.lock.unwrap()].name.as_deref(), Some("accounts"));
/// # drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`snapshot`].
pub fn recording(path: impl AsRef<Path>) -> Result<Option<Recording>> {
    let path = file::absolute(path.as_ref())?;
    let opened = file::open_existing(&path, Access::Read)?;
    recording_in(&path, &opened)
}

/// Reads the latest events of the lock file that `descriptor` stands for, as [`recording()`] does.
///
/// # Errors
/// As [`snapshot`].
pub fn recording_descriptor(descriptor: impl AsFd) -> Result<Option<Recording>> {
    let given = given::open_given(descriptor.as_fd(), Access::Read)?;
    recording_in(&given.name, &given.file)
}

/// Returns whether this process may ask the kernel for its memory barriers (membarrier): without them, it cannot take part in a
/// file beside one process that relies on them ([`FileStatus::fences`] is "membarrier").
pub fn has_membarrier() -> bool {
    membarrier::is_there()
}

/// Reads the registers of the lock called `lock` in the lock file at `path`: those that its algorithm reads and writes. `None`:
/// the file has no lock of this name, or what has it is a condition, an event or a barrier, which are no locks. To see the algorithm at work; [`snapshot`] says what they mean.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.lock");
/// use turnlock::inspect::{Held, registers};
///
/// let file = turnlock::LockFile::open(&path)?;
/// let mutex = file.mutex("accounts")?;
/// let guard = mutex.lock()?;
/// let seen = registers(&path, "accounts")?.expect("it was just opened");
/// assert_eq!(seen.slots[0].held, Held::Inside(guard.fencing_token()));
/// assert!(registers(&path, "another")?.is_none());
/// # drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`snapshot`].
pub fn registers(path: impl AsRef<Path>, lock: &str) -> Result<Option<LockRegisters>> {
    let path = file::absolute(path.as_ref())?;
    let opened = file::open_existing(&path, Access::Read)?;
    registers_in(&path, &opened, lock)
}

/// Reads the registers of a lock in the lock file that `descriptor` stands for, as [`registers`] does.
///
/// # Errors
/// As [`snapshot`].
pub fn registers_descriptor(descriptor: impl AsFd, lock: &str) -> Result<Option<LockRegisters>> {
    let given = given::open_given(descriptor.as_fd(), Access::Read)?;
    registers_in(&given.name, &given.file, lock)
}

fn registers_in(path: &Path, opened: &File, lock: &str) -> Result<Option<LockRegisters>> {
    let prefix = header_of(opened, path)?;
    let mapping = Mapping::read_only(opened, prefix.geometry.file_size(), path)?;
    // SAFETY: as in `look_at`.
    let view = unsafe { View::new(mapping.base(), &prefix.geometry) };
    let is_it = |named: &Named| named.name == lock && named.kind.is_none_or(Kind::is_lock);
    names_of(view).find(is_it).map(|named| registers::read(view, named)).transpose()
}

fn recording_in(path: &Path, opened: &File) -> Result<Option<Recording>> {
    let prefix = header_of(opened, path)?;
    let mapping = Mapping::read_only(opened, prefix.geometry.file_size(), path)?;
    // SAFETY: as in `look_at`.
    let view = unsafe { View::new(mapping.base(), &prefix.geometry) };
    Ok(recording::read(view))
}

fn look_at(path: PathBuf, opened: File) -> Result<FileStatus> {
    let prefix = header_of(&opened, &path)?;
    let mapping = Mapping::read_only(&opened, prefix.geometry.file_size(), &path)?;
    // SAFETY: mapped as long as the geometry says, at a page boundary, until the end of this function; nothing below
    // stores through the view.
    let view = unsafe { View::new(mapping.base(), &prefix.geometry) };
    let look = |slot| {
        let alive = liveness_lock::is_alive_seen_from_outside(&opened, slot)?;
        Ok(if alive { Seen::Alive } else { Seen::Dead })
    };
    let observer = Observer::new(view, &look).with_keepers(identity::of(&opened, &path)?);
    let participants = observer.participants()?;
    Ok(FileStatus {
        format: format!("{FORMAT_MAJOR}.{FORMAT_MINOR}"),
        participant_capacity: prefix.geometry.participants(),
        lock_capacity: prefix.geometry.locks(),
        mailbox_capacity: prefix.geometry.mail_participants(),
        recorded_events: prefix.geometry.recorded_events(),
        created_unix_seconds: prefix.created_realtime_ns / 1_000_000_000,
        of_this_boot: recovery::is_of_this_boot(view)
            || process::boot_id() == [0, 0]
            // A living participant has cleared it since the boot, whatever boot id its container has.
            || participants.iter().any(|participant| participant.life != Life::Dead),
        fences: match Fences::of(view.header().sole_process.load(Relaxed)) {
            Fences::Undecided | Fences::PrivateTo(_) => "membarrier",
            Fences::Changing | Fences::Full => "full",
        },
        participants,
        locks: observer.locks()?,
        deadlocks: observer.deadlocks()?,
        path,
    })
}
