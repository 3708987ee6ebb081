//! The file, as a Rust user sees it.

use super::{
    keyed_lock::{KeyedLock, KeyedLockOptions},
    mutex::{Mutex, MutexOptions},
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

/// A lock file that is open: where its named locks come from.
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

/// How to open, or create, a lock file.
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
    interrupt: Option<Interrupt>,
}

impl LockFileOptions {
    /// How many participants (threads, by default) may take part at once: 1 to 4096, 128 if not said. A file that
    /// exists must have at least as many.
    pub fn participants(&mut self, participants: u32) -> &mut Self {
        self.participants = participants;
        self
    }

    /// How many named locks the file has room for: 1 to 4096, 64 if not said. A file that exists must have at least
    /// as many.
    pub fn locks(&mut self, locks: u32) -> &mut Self {
        self.locks = locks;
        self
    }

    /// How many participants can take locks by messages ([`super::MutexAlgorithm`]): those with so many of the lowest slots, at
    /// most 16; none if not said. A file that exists must have mailboxes for at least as many. Each such lock takes 128 bytes,
    /// 128 for each of them, and 3328 for each pair.
    pub fn mailboxes(&mut self, mailboxes: u32) -> &mut Self {
        self.mailboxes = mailboxes;
        self
    }

    /// How many of the latest events the file keeps, for `turnlock trace` and `turnlock report`: who asked, acquired, released,
    /// gave up, died, and when. 64 to 16,777,216, of 32 bytes each; a number that is no power of two is made the next larger
    /// one. None if not said: then nothing is recorded. A file that exists must have a recording of at least as many.
    ///
    /// In a file with a recording no acquisition goes by the fast path.
    pub fn recorded_events(&mut self, events: u32) -> &mut Self {
        self.recorded_events = events;
        self
    }

    /// The permission bits of a file that is created, whatever the umask: 0o600 if not said, 0o660 with a group.
    /// None for others: whoever can open a lock file can block its clean-up.
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = Some(mode);
        self
    }

    /// The group (by number) that a file that is created is shared with.
    pub fn group(&mut self, group: u32) -> &mut Self {
        self.group = Some(group);
        self
    }

    /// What participants of this process call themselves in `status` and in the owner-dead notice: up to 63 bytes.
    /// The program's name if not said.
    pub fn label(&mut self, label: &str) -> &mut Self {
        label.clone_into(&mut self.label);
        self
    }

    /// Do not create the file.
    pub fn must_exist(&mut self, must_exist: bool) -> &mut Self {
        self.must_exist = must_exist;
        self
    }

    /// Do without membarrier even where the kernel has it: an entry of a lock that nobody else wants costs a full fence then also
    /// while one process alone uses the file, and the second one that comes waits for nothing. The file keeps it until the
    /// next boot. Where membarrier is missing, it is so by itself. Nothing is changed while others take part.
    pub fn full_fences(&mut self, full_fences: bool) -> &mut Self {
        self.full_fences = full_fences;
        self
    }

    /// Has a thread that waits through this handle, or through a lock that comes from it, ask `is_to_end` between its
    /// sleeps: when a signal handler has interrupted one, and every 20 to 70 milliseconds. If it says so the wait ends with
    /// [`Error::Interrupted`], and nothing of it is left in the queue.
    ///
    /// For programs that must act on signals while they wait, such as interpreters.
    pub fn interrupted_by(&mut self, is_to_end: impl Fn() -> bool + Send + Sync + 'static) -> &mut Self {
        self.interrupt = Some(Interrupt::new(is_to_end));
        self
    }

    /// Opens the file at `path`, or creates it.
    ///
    /// # Errors
    /// [`Error::NotALockFile`], [`Error::Version`], [`Error::Damaged`]: something else lies there; it is left as it
    /// is. [`Error::FileSystem`]: not on this file system. [`Error::Permission`], [`Error::NotFound`],
    /// [`Error::NoSpace`], [`Error::Capacity`], [`Error::InvalidArgument`], [`Error::System`]: as their names say.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<LockFile> {
        let (geometry, permissions) = self.checked()?;
        let file =
            OpenFile::open_or_create(path.as_ref(), geometry, !self.must_exist, permissions, &self.label)?;
        self.opened(file)
    }

    /// Opens the lock file that `descriptor` stands for, or makes one of it if the file is empty: a memfd, or a file that
    /// came over a socket or by inheritance.
    ///
    /// The file is opened anew, and the descriptor stays the caller's, who may close it. It must be open for reading and
    /// writing; `/proc` must be mounted; and the file's mode must allow this process to open it. A file without a name
    /// (a memfd) keeps the mode that it has, unless [`LockFileOptions::mode`] or [`LockFileOptions::group`] is said:
    /// nobody comes by it who is not given a descriptor.
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
    /// As [`LockFileOptions::open`]. [`Error::NotFound`]: it is empty, and [`LockFileOptions::must_exist`] was said.
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

    /// What a file is to be like that is created now.
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

    /// The events that were asked for, as a recording has places.
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
                return Err(Error::Capacity { path: file.reopen().path(), what, has, wanted, most });
            }
        }
        Ok(())
    }

    fn opened(&self, file: Arc<OpenFile>) -> Result<LockFile> {
        file.choose_barrier_mode(self.full_fences)?;
        self.check_capacity(&file)?;
        Ok(LockFile { file: FileHandle::new(file, self.interrupt.clone()) })
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

    /// Options for opening.
    pub fn options() -> LockFileOptions {
        LockFileOptions::default()
    }

    /// The mutex called `name`, created if the file has no lock of that name. Errors as [`MutexOptions::open`].
    pub fn mutex(&self, name: &str) -> Result<Mutex> {
        self.mutex_options().open(name)
    }

    /// The mutex called `name`, if there is one; else [`Error::NotFound`].
    pub fn existing_mutex(&self, name: &str) -> Result<Mutex> {
        self.mutex_options().must_exist(true).open(name)
    }

    /// Options for a mutex.
    pub fn mutex_options(&self) -> MutexOptions<'_> {
        MutexOptions::new(&self.file)
    }

    /// The turn ring called `name`, whichever it is; created (as Raynal's) if the file has no lock of that name. Its
    /// participants take part on demand. Errors as [`RingOptions::open`].
    pub fn turn_ring(&self, name: &str) -> Result<TurnRing> {
        self.ring_options().open(name)
    }

    /// Options for a turn ring.
    pub fn ring_options(&self) -> RingOptions<'_> {
        RingOptions::new(&self.file)
    }

    /// The reader/writer lock called `name`, created if the file has no lock of that name. Errors as
    /// [`MutexOptions::open`].
    pub fn rwlock(&self, name: &str) -> Result<RwLock> {
        self.rwlock_options().open(name)
    }

    /// Options for a reader/writer lock.
    pub fn rwlock_options(&self) -> RwLockOptions<'_> {
        RwLockOptions::new(&self.file)
    }

    /// The semaphore called `name`, with as many permits as it has; created with one if the file has no lock of that name.
    /// Errors as [`MutexOptions::open`].
    pub fn semaphore(&self, name: &str) -> Result<Semaphore> {
        self.semaphore_options().open(name)
    }

    /// Options for a semaphore.
    pub fn semaphore_options(&self) -> SemaphoreOptions<'_> {
        SemaphoreOptions::new(&self.file)
    }

    /// The range lock called `name`, created if the file has no lock of that name. Errors as [`MutexOptions::open`].
    pub fn range_lock(&self, name: &str) -> Result<RangeLock> {
        self.range_lock_options().open(name)
    }

    /// Options for a range lock.
    pub fn range_lock_options(&self) -> RangeLockOptions<'_> {
        RangeLockOptions::new(&self.file)
    }

    /// The keyed lock called `name`, created if the file has no lock of that name. Errors as [`MutexOptions::open`].
    pub fn keyed_lock(&self, name: &str) -> Result<KeyedLock> {
        self.keyed_lock_options().open(name)
    }

    /// Options for a keyed lock.
    pub fn keyed_lock_options(&self) -> KeyedLockOptions<'_> {
        KeyedLockOptions::new(&self.file)
    }

    /// A participant of its own, for work that moves between threads. See [`Participant`].
    pub fn participant(&self) -> Result<Participant> {
        self.participant_options().open()
    }

    /// Options for a participant of its own.
    pub fn participant_options(&self) -> ParticipantOptions<'_> {
        ParticipantOptions::new(&self.file.open)
    }

    /// The calling thread's own participant, to be handed to another thread that may want to cancel its wait; for
    /// nothing else: locking as it is an error.
    pub fn current_participant(&self) -> Result<Participant> {
        Participant::of_thread(&self.file.open)
    }

    /// The path by which it was opened last, with its folder resolved. Of a file that was opened by a descriptor, what
    /// the kernel called it then: its path, or `/memfd:NAME (deleted)`.
    pub fn path(&self) -> PathBuf {
        self.file.open.reopen().path()
    }

    /// How many participants the file has room for.
    pub fn participants(&self) -> u32 {
        self.file.open.geometry().participants()
    }

    /// How many of the latest events the file keeps; 0: it has no recording.
    pub fn recorded_events(&self) -> u32 {
        self.file.open.geometry().recorded_events()
    }

    /// How many named locks the file has room for.
    pub fn locks(&self) -> u32 {
        self.file.open.geometry().locks()
    }
}
