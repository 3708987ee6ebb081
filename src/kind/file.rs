//! The lock file: opening it, and the locks in it.

use super::{
    barrier::{Barrier, BarrierOptions},
    condition::{Condition, ConditionOptions},
    event::{Event, EventOptions},
    keyed_lock::{KeyedLock, KeyedLockOptions},
    mutex::{Mutex, MutexOptions},
    once::{Once, OnceOptions},
    participant::{Participant, ParticipantOptions},
    range_lock::{RangeLock, RangeLockOptions},
    ring::{RingOptions, TurnRing},
    rwlock::{RwLock, RwLockOptions},
    semaphore::{Semaphore, SemaphoreOptions},
};
use crate::attach::{file_handle::FileHandle, open_file::OpenFile};
use crate::layout::{
    Geometry, MAX_LOCKS, MAX_MAIL_PARTICIPANTS, MAX_PARTICIPANTS, MAX_RECORDED_EVENTS, MIN_RECORDED_EVENTS,
};
use crate::os::file::Permissions;
use std::{
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::Arc,
};
use turnlock_core::error::{Error, Result};
use turnlock_core::wait::Interrupt;

const DEFAULT_PARTICIPANTS: u32 = 128;
const DEFAULT_LOCKS: u32 = 64;

/// An open lock file, from which its named locks are opened.
///
/// Opening a file that is open already gives another handle of the same mapping. Handles may be used from any thread.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.lock");
/// let file = turnlock::LockFile::open(&path)?; // created if it is not there
/// let accounts = file.mutex("accounts")?;
/// let guard = accounts.lock()?;
/// println!("fencing token {}", guard.fencing_token());
/// # drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LockFile {
    pub(super) file: FileHandle,
}

/// Options for opening or creating a lock file.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.lock");
/// let file = turnlock::LockFile::options()
///     .participants(16)
///     .locks(4)
///     .label("accounting")
///     .open(&path)?;
/// assert_eq!(file.participants(), 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LockFileOptions {
    pub(super) participants: u32,
    pub(super) locks: u32,
    pub(super) mailboxes: u32,
    pub(super) recorded_events: u32,
    mode: Option<u32>,
    group: Option<u32>,
    pub(super) label: String,
    must_exist: bool,
    full_fences: bool,
    pub(super) interrupt: Option<Interrupt>,
    pub(super) no_deadlock_errors: bool,
}

impl LockFileOptions {
    /// Sets how many participants (threads, by default) may be attached at once: 1 to 4096, 128 by default. A file that exists
    /// must have at least as many.
    pub fn participants(&mut self, participants: u32) -> &mut Self {
        self.participants = participants;
        self
    }

    /// Sets how many named locks the file has room for: 1 to 4096, 64 by default. A file that exists must have at least as
    /// many.
    pub fn locks(&mut self, locks: u32) -> &mut Self {
        self.locks = locks;
        self
    }

    /// Sets how many participants can take locks by messages ([`super::MutexAlgorithm`]): those in that many of the lowest
    /// slots, at most 16; none by default. A file that exists must have mailboxes for at least as many. Each such lock takes
    /// 128 bytes, 128 for each of them, and 3328 for each pair.
    pub fn mailboxes(&mut self, mailboxes: u32) -> &mut Self {
        self.mailboxes = mailboxes;
        self
    }

    /// Sets how many of the latest events the file keeps, for `turnlock trace` and `turnlock report`: who asked, acquired,
    /// released, gave up, died, and when. 64 to 16,777,216, of 32 bytes each, rounded up to a power of two. By default nothing
    /// is recorded. A file that exists must have a recording of at least as many.
    ///
    /// In a file with a recording no acquisition goes by the fast path.
    pub fn recorded_events(&mut self, events: u32) -> &mut Self {
        self.recorded_events = events;
        self
    }

    /// Sets the permission bits of a file that is created, whatever the umask: 0o600 by default, 0o660 with a group. Others
    /// have none, since a process that can open a lock file can block its clean-up.
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = Some(mode);
        self
    }

    /// Sets the group (by number) that shares a file that is created.
    pub fn group(&mut self, group: u32) -> &mut Self {
        self.group = Some(group);
        self
    }

    /// Sets what participants of this process call themselves in `status` and in the owner-dead notice: up to 63 bytes. The
    /// program's name by default.
    pub fn label(&mut self, label: &str) -> &mut Self {
        label.clone_into(&mut self.label);
        self
    }

    /// Sets whether opening fails where there is no file, instead of creating it.
    pub fn must_exist(&mut self, must_exist: bool) -> &mut Self {
        self.must_exist = must_exist;
        self
    }

    /// Sets whether the file does without membarrier: an uncontended acquisition then costs a full fence also while one process
    /// alone uses the file, and the second process that comes does not wait for the kernel. The file keeps it until the next
    /// boot. Without membarrier in the kernel it is so anyway. Nothing is changed while others are attached.
    pub fn full_fences(&mut self, full_fences: bool) -> &mut Self {
        self.full_fences = full_fences;
        self
    }

    /// Opens the file at `path`, or creates it.
    ///
    /// # Errors
    /// [`Error::NotALockFile`], [`Error::Version`], [`Error::Damaged`]: something else is there; it is left as it is.
    /// [`Error::FileSystem`]: the file system cannot have a lock file. [`Error::Permission`], [`Error::NotFound`],
    /// [`Error::NoSpace`], [`Error::FileTooSmall`], [`Error::InvalidArgument`], [`Error::System`]: as their names say.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<LockFile> {
        let (geometry, permissions) = self.checked()?;
        let file =
            OpenFile::open_or_create(path.as_ref(), geometry, !self.must_exist, permissions, &self.label)?;
        self.opened(file)
    }

    /// Opens the lock file that `descriptor` stands for, or makes one of it if the file is empty: a memfd, or a file that
    /// came over a socket or by inheritance.
    ///
    /// The file is opened anew; the descriptor stays the caller's, which may close it. It must be open for reading and writing;
    /// `/proc` must be mounted; and the file's mode must allow this process to open it. A file without a name (a memfd) keeps
    /// the mode that it has, unless [`LockFileOptions::mode`] or [`LockFileOptions::group`] is set: only a process that is
    /// given a descriptor can open it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("app.lock");
    /// # std::fs::write(&path, "")?;
    /// let given = std::fs::File::options().read(true).write(true).open(&path)?; // as if it was inherited
    /// let file = turnlock::LockFile::options().open_descriptor(&given)?;
    /// std::fs::rename(&path, folder.path().join("renamed.lock"))?; // nothing depends on its path
    /// drop(file.mutex("accounts")?.lock()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`LockFileOptions::open`]. [`Error::NotFound`]: it is empty, and [`LockFileOptions::must_exist`] is set.
    pub fn open_descriptor(&self, descriptor: impl AsFd) -> Result<LockFile> {
        let (geometry, permissions) = self.checked()?;
        let file = OpenFile::open_descriptor(
            descriptor.as_fd(),
            geometry,
            !self.must_exist,
            permissions,
            self.mode.is_some() || self.group.is_some(),
            &self.label,
        )?;
        self.opened(file)
    }

    /// Returns the shape and the permissions of a file that is created now.
    fn checked(&self) -> Result<(Geometry, Permissions)> {
        let or = |asked: u32, default| if asked == 0 { default } else { asked };
        let (participants, locks) =
            (or(self.participants, DEFAULT_PARTICIPANTS), or(self.locks, DEFAULT_LOCKS));
        let geometry = Geometry::new(participants, locks).ok_or_else(|| {
            Error::InvalidArgument(format!(
                "{} participants and {} locks were asked for: a file has 1 to {MAX_PARTICIPANTS} participants and 1 to \
                 {MAX_LOCKS} locks",
                self.participants, self.locks
            ))
        })?;
        let geometry = geometry.with_mail(self.mailboxes).ok_or_else(|| {
            Error::InvalidArgument(format!(
                "mailboxes for {} of {participants} participants were asked for: at most {MAX_MAIL_PARTICIPANTS} of them have \
                 mailboxes",
                self.mailboxes
            ))
        })?;
        let geometry = geometry.with_recording(self.places()).ok_or_else(|| {
            Error::InvalidArgument(format!(
                "a recording of {} events was asked for: a file keeps {MIN_RECORDED_EVENTS} to {MAX_RECORDED_EVENTS}, or none",
                self.recorded_events
            ))
        })?;
        let mode = self.mode.unwrap_or(if self.group.is_some() { 0o660 } else { 0o600 });
        if mode & !0o770 != 0 || mode & 0o600 != 0o600 {
            return Err(Error::InvalidArgument(format!(
                "mode {mode:03o}: the owner must be able to read and write, and others must not be able to do \
                 anything (600, or 660 with a group)"
            )));
        }
        let permissions = Permissions { mode, group: self.group };
        Ok((geometry, permissions))
    }

    /// Returns how many places a recording of the events that were asked for has.
    pub(super) fn places(&self) -> u32 {
        let events = self.recorded_events;
        // What is not possible comes back as it was asked for, to be refused.
        let is_possible = (MIN_RECORDED_EVENTS..=MAX_RECORDED_EVENTS).contains(&events);
        if is_possible { events.next_power_of_two() } else { events }
    }

    /// Checks that a file that was there before is as large as was asked for.
    fn check_capacity(&self, file: &OpenFile) -> Result<()> {
        let geometry = file.geometry();
        for (what, has, wanted, most) in [
            ("participants", geometry.participants(), self.participants, MAX_PARTICIPANTS),
            ("locks", geometry.locks(), self.locks, MAX_LOCKS),
            (
                "participants with mailboxes",
                geometry.mail_participants(),
                self.mailboxes,
                MAX_MAIL_PARTICIPANTS,
            ),
            ("recorded events", geometry.recorded_events(), self.places(), MAX_RECORDED_EVENTS),
        ] {
            if wanted > has {
                return Err(Error::FileTooSmall { path: file.reopen().path(), what, has, wanted, most });
            }
        }
        Ok(())
    }

    fn opened(&self, file: Arc<OpenFile>) -> Result<LockFile> {
        file.choose_barrier_mode(self.full_fences)?;
        self.check_capacity(&file)?;
        Ok(LockFile { file: FileHandle::new(file, self.interrupt.clone(), !self.no_deadlock_errors) })
    }
}

impl LockFile {
    /// Opens the lock file at `path` with the default options, or creates it. Errors as [`LockFileOptions::open`].
    ///
    /// The first lock that the second process takes in a file waits some milliseconds for the kernel, once, whatever its time
    /// limit ([`LockFileOptions::full_fences`]).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        LockFileOptions::default().open(path)
    }

    /// Opens the lock file that `descriptor` stands for with the default options, or makes one of it if the file is
    /// empty. Errors as [`LockFileOptions::open_descriptor`].
    pub fn open_descriptor(descriptor: impl AsFd) -> Result<Self> {
        LockFileOptions::default().open_descriptor(descriptor)
    }

    /// Returns options for opening a file.
    pub fn options() -> LockFileOptions {
        LockFileOptions::default()
    }

    /// Opens the mutex called `name`, created if the file has no lock of that name. Errors as [`MutexOptions::open`].
    pub fn mutex(&self, name: &str) -> Result<Mutex> {
        self.mutex_options().open(name)
    }

    /// Opens the mutex called `name` if there is one, else [`Error::NotFound`].
    pub fn existing_mutex(&self, name: &str) -> Result<Mutex> {
        self.mutex_options().must_exist(true).open(name)
    }

    /// Returns options for opening a mutex.
    pub fn mutex_options(&self) -> MutexOptions<'_> {
        MutexOptions::new(&self.file)
    }

    /// Opens the turn ring called `name`, whichever it is; created (as Raynal's) if the file has no lock of that name.
    /// Participants are members on demand. Errors as [`RingOptions::open`].
    pub fn turn_ring(&self, name: &str) -> Result<TurnRing> {
        self.ring_options().open(name)
    }

    /// Returns options for opening a turn ring.
    pub fn ring_options(&self) -> RingOptions<'_> {
        RingOptions::new(&self.file)
    }

    /// Opens the reader/writer lock called `name`, created if the file has no lock of that name. Errors as
    /// [`MutexOptions::open`].
    pub fn rwlock(&self, name: &str) -> Result<RwLock> {
        self.rwlock_options().open(name)
    }

    /// Returns options for opening a reader/writer lock.
    pub fn rwlock_options(&self) -> RwLockOptions<'_> {
        RwLockOptions::new(&self.file)
    }

    /// Opens the semaphore called `name`, with the permits that it has; created with one permit if the file has no lock of that
    /// name. Errors as [`MutexOptions::open`].
    pub fn semaphore(&self, name: &str) -> Result<Semaphore> {
        self.semaphore_options().open(name)
    }

    /// Returns options for opening a semaphore.
    pub fn semaphore_options(&self) -> SemaphoreOptions<'_> {
        SemaphoreOptions::new(&self.file)
    }

    /// Opens the range lock called `name`, created if the file has no lock of that name. Errors as [`MutexOptions::open`].
    pub fn range_lock(&self, name: &str) -> Result<RangeLock> {
        self.range_lock_options().open(name)
    }

    /// Returns options for opening a range lock.
    pub fn range_lock_options(&self) -> RangeLockOptions<'_> {
        RangeLockOptions::new(&self.file)
    }

    /// Opens the keyed lock called `name`, created if the file has no lock of that name. Errors as [`MutexOptions::open`].
    pub fn keyed_lock(&self, name: &str) -> Result<KeyedLock> {
        self.keyed_lock_options().open(name)
    }

    /// Returns options for opening a keyed lock.
    pub fn keyed_lock_options(&self) -> KeyedLockOptions<'_> {
        KeyedLockOptions::new(&self.file)
    }

    /// Opens the condition called `name`, created if the file has none of that name. Errors as [`MutexOptions::open`].
    pub fn condition(&self, name: &str) -> Result<Condition> {
        self.condition_options().open(name)
    }

    /// Returns options for opening a condition.
    pub fn condition_options(&self) -> ConditionOptions<'_> {
        ConditionOptions::new(&self.file)
    }

    /// Opens the event called `name`, created if the file has none of that name. Errors as [`MutexOptions::open`].
    pub fn event(&self, name: &str) -> Result<Event> {
        self.event_options().open(name)
    }

    /// Returns options for opening an event.
    pub fn event_options(&self) -> EventOptions<'_> {
        EventOptions::new(&self.file)
    }

    /// Opens the barrier of so many parties called `name`, created if the file has none of that name. Errors as
    /// [`BarrierOptions::open`].
    pub fn barrier(&self, name: &str, parties: u32) -> Result<Barrier> {
        if parties == 0 {
            return Err(Error::InvalidArgument(
                "a barrier has at least one party, and 0 were asked for".into(),
            ));
        }
        self.barrier_options().parties(parties).open(name)
    }

    /// Returns options for opening a barrier.
    pub fn barrier_options(&self) -> BarrierOptions<'_> {
        BarrierOptions::new(&self.file)
    }

    /// Opens the once called `name`, created if the file has none of that name. Errors as [`MutexOptions::open`].
    pub fn once(&self, name: &str) -> Result<Once> {
        self.once_options().open(name)
    }

    /// Returns options for opening a once.
    pub fn once_options(&self) -> OnceOptions<'_> {
        OnceOptions::new(&self.file)
    }

    /// Attaches a participant with a slot of its own, for work that moves between threads. Errors as
    /// [`ParticipantOptions::open`].
    pub fn participant(&self) -> Result<Participant> {
        self.participant_options().open()
    }

    /// Returns options for attaching a participant.
    pub fn participant_options(&self) -> ParticipantOptions<'_> {
        ParticipantOptions::new(&self.file.open)
    }

    /// Returns the calling thread's own participant, so that another thread can cancel its waits. Locking as this participant
    /// is an error.
    pub fn current_participant(&self) -> Result<Participant> {
        Participant::of_thread(&self.file.open)
    }

    /// Returns the path by which the file was opened last, with its folder resolved; of a file that was opened by a descriptor,
    /// the kernel's name for it then: its path, or `/memfd:NAME (deleted)`.
    pub fn path(&self) -> PathBuf {
        self.file.open.reopen().path()
    }

    /// Returns how many participants the file has room for.
    pub fn participants(&self) -> u32 {
        self.file.open.geometry().participants()
    }

    /// Returns how many of the latest events the file keeps; 0: it has no recording.
    pub fn recorded_events(&self) -> u32 {
        self.file.open.geometry().recorded_events()
    }

    /// Returns how many named locks the file has room for.
    pub fn locks(&self) -> u32 {
        self.file.open.geometry().locks()
    }
}
