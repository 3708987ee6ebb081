//! One file, mapped once in a process, however often it is opened.

use super::{
    allocation::Allocation,
    names::{Name, Names},
    new_file::{create, fill, header_of},
};
use crate::layout::{Fences, Geometry, HeaderPrefix, LivenessLockKind, View};
use crate::os::{
    clock,
    file::{self, Access, Permissions},
    fork::{self, ForkGuard, ForkGuarded},
    given,
    identity::{self, Identity, JustOpened},
    liveness_lock::{self, Alone, Probe},
    map::Mapping,
    membarrier, memory, process,
    reopen::{OpenedBy, Reopen},
    thread_words::WordInUse,
};
use crate::recording;
use crate::recovery;
use crate::slots;
use std::{
    fs::File,
    os::fd::BorrowedFd,
    path::Path,
    sync::{Arc, Weak},
    time::Duration,
};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed},
};

/// A file that is open and mapped in this process.
pub struct OpenFile {
    reopen: Reopen,
    mapping: Mapping,
    prefix: HeaderPrefix,
    liveness_lock_kind: LivenessLockKind,
    label: ForkGuarded<String>,
    /// When its times were last renewed, `CLOCK_MONOTONIC` nanoseconds.
    touched: AtomicU64,
    /// How many `LockFile`s and locks the program has of it. The slots of threads do not count.
    pub handles: AtomicUsize,
    /// The locks that the program has handles of.
    pub names: Names,
    /// Where each thread keeps its fast-path cache of this file.
    pub word: WordInUse,
}

/// Every file that is open in this process: opening one twice gives the same mapping, and each thread one slot.
static OPEN_FILES: ForkGuarded<Vec<Known>> = ForkGuarded::new(Vec::new());

/// One of them. A file that is gone by name but still mapped keeps its inode, so its identity cannot be another file's;
/// but it may have been truncated and written anew.
struct Known {
    identity: Identity,
    prefix: HeaderPrefix,
    file: Weak<OpenFile>,
}

impl Known {
    /// The one that is open. To be dropped outside the fork guard: it enters it.
    fn find(files: &[Self], identity: Identity, prefix: HeaderPrefix) -> Option<Arc<OpenFile>> {
        let same = |known: &&Self| known.identity == identity && known.prefix == prefix;
        files.iter().filter(same).find_map(|known| known.file.upgrade())
    }
}

/// Sets up what a process has once, whichever files it opens.
fn prepare_process() -> Result<()> {
    fork::prepare()?;
    membarrier::register_while_alone();
    Ok(())
}

impl OpenFile {
    /// Opens the file at `path`, or creates it. Checks everything that is checked on open; changes no file that was
    /// there before, but for clearing it after a reboot.
    pub fn open_or_create(
        path: &Path,
        new: Geometry,
        may_create: bool,
        permissions: Permissions,
        label: &str,
    ) -> Result<Arc<Self>> {
        memory::check()?;
        prepare_process()?;
        let path = file::absolute(path)?;
        // Another process may create or unlink it between two looks; each round is a new look.
        for _ in 0..100 {
            let opened = match file::open_existing(&path, Access::ReadWrite) {
                Ok(opened) => opened,
                Err(Error::NotFound { .. }) if may_create => match create(&path, new, permissions)? {
                    Some(created) => created,
                    None => continue,
                },
                Err(error) => return Err(error),
            };
            return Self::open(OpenedBy::Path(&path), opened, true, label);
        }
        Err(Error::Replaced { path })
    }

    /// Opens the file that `given` is a descriptor of, or makes a lock file of it if it is empty. `permissions`: those
    /// that were asked for.
    pub fn open_descriptor(
        given: BorrowedFd,
        new: Geometry,
        may_create: bool,
        permissions: Permissions,
        asked_for: bool,
        label: &str,
    ) -> Result<Arc<Self>> {
        memory::check()?;
        prepare_process()?;
        let given = given::open_given(given, Access::ReadWrite)?;
        let (_, start, size) = file::read_start::<8>(&given.file, &given.name)?;
        if given::is_to_be_made(&start, size) {
            if !may_create {
                return Err(Error::NotFound {
                    path: given.name,
                    why: "it is an empty file, and no lock file was to be made of it".into(),
                });
            }
            // Without a name no process comes by it that is not given a descriptor, whatever its mode says.
            let permissions = (asked_for || !given.nameless).then_some(permissions);
            given::make_in_place(&given, new.file_size(), &new.bytes_of_new(), permissions, |file| {
                fill(file, &given.name, new)
            })?;
        }
        Self::open(OpenedBy::Descriptor(&given.name), given.file, !given.nameless, label)
    }

    /// `has_name`: every process that has the right to open the file comes by it.
    fn open(opened_by: OpenedBy, opened: File, has_name: bool, label: &str) -> Result<Arc<Self>> {
        let (path, opened) = (opened_by.name(), JustOpened::from(opened));
        let prefix = header_of(&opened, path)?;
        if has_name {
            file::refuse_if_open_to_all(&opened, path)?;
        }
        let identity = identity::of(&opened, path)?;
        let known = OPEN_FILES.with(&ForkGuard::enter(), |files| Known::find(files, identity, prefix));
        if let Some(known) = known.filter(|known| known.is_intact()) {
            if !label.is_empty() {
                let label = label.to_owned();
                let before = known.label.with(&ForkGuard::enter(), |own| std::mem::replace(own, label));
                drop(before);
            }
            known.reopen.opened_again(opened_by)?;
            return Ok(known);
        }
        let mapping = Mapping::read_write(&opened, prefix.geometry.file_size(), path)?;
        let reopen = Reopen::new(opened_by, opened, prefix.incarnation)?;
        let new = Arc::new(Self {
            liveness_lock_kind: liveness_lock::try_out_kind(&reopen)?,
            reopen,
            mapping,
            prefix,
            label: ForkGuarded::new(label.into()),
            touched: AtomicU64::new(0),
            handles: AtomicUsize::new(0),
            names: Names::new(),
            word: WordInUse::of_fewest_users(),
        });
        new.touch_now_and_then();
        new.renew_after_boot()?;
        new.register()
    }

    /// Another thread may have opened the same file meanwhile: then its mapping serves both.
    fn register(self: Arc<Self>) -> Result<Arc<Self>> {
        let (identity, prefix) = (self.reopen.identity(), self.prefix);
        let known = OPEN_FILES.with(&ForkGuard::enter(), |files| {
            files.retain(|known| known.file.strong_count() > 0);
            let known = Known::find(files, identity, prefix);
            if known.is_none() {
                files.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                files.push(Known { identity, prefix, file: Arc::downgrade(&self) });
            }
            Ok::<_, Error>(known)
        })?;
        // One that was truncated and restored since is of no use to us; nor are we to the processes that have it.
        Ok(known.filter(|known| known.is_intact()).unwrap_or(self))
    }

    /// Clears what a former boot left. No participant of it is alive; so where a live participant takes part, the file
    /// was cleared since, and only the boot ids differ: a container may have one of its own.
    fn renew_after_boot(&self) -> Result<()> {
        if recovery::is_of_this_boot(self.view()) {
            return Ok(());
        }
        let allocation = self.allocation();
        let used = allocation.used_bounds()?;
        self.alone_with_it(
            || recovery::is_of_this_boot(self.view()),
            || {
                allocation.raise_bounds(used);
                // First: the deaths that are found now are of this boot.
                recording::begin_anew(self.view());
                recovery::renew_after_boot(
                    self.view(),
                    Fences::Undecided,
                    process::boot_id(),
                    clock::realtime_ns(),
                );
            },
        )
    }

    /// Has `act` done by us or another process, if no participant is attached, unless it `is_done` already.
    pub(super) fn alone_with_it(&self, is_done: impl Fn() -> bool, act: impl Fn()) -> Result<()> {
        let slots = 0..self.geometry().participants() as usize;
        for _ in 0..LOOKS {
            if is_done() {
                return Ok(());
            }
            // Another process may have done it between our look and our locks.
            let done = liveness_lock::alone(&self.reopen, slots.clone(), || {
                if !is_done() {
                    act()
                }
            })?;
            if done != Alone::NotNow {
                return Ok(());
            }
            std::thread::sleep(BETWEEN_THEM);
        }
        Err(self.damaged(format!(
            "another process has been clearing it for {:?}, which takes milliseconds otherwise: a process is stopped while it opens \
             the file; continue it or end it",
            BETWEEN_THEM * LOOKS
        )))
    }

    /// The file that the path names by now, or one of the same shape that is created there.
    ///
    /// Of a file that was opened by a descriptor, this one: no path leads to another. Unless it has lost its last name.
    pub fn reopened(self: &Arc<Self>) -> Result<Arc<Self>> {
        if self.reopen.has_no_path() {
            return match self.is_unlinked() {
                false => Ok(self.clone()),
                true => Err(Error::NotFound {
                    path: self.reopen.path(),
                    why: "it was deleted; and since it was opened by a descriptor, no path leads to what came in its \
                          place: open that"
                        .into(),
                }),
            };
        }
        let known = self.reopen.look().and_then(|sight| sight.permissions());
        let permissions = known.unwrap_or(Permissions { mode: 0o600, group: None });
        let path = self.reopen.path();
        let new = Self::open_or_create(&path, self.geometry(), true, permissions, &self.label())?;
        new.choose_barrier_mode(false)?;
        Ok(new)
    }

    /// Whether the file keeps a recording of what happens.
    #[inline]
    pub fn has_recording(&self) -> bool {
        self.prefix.geometry.recorded_events() > 0
    }

    /// The mapped file.
    #[inline]
    pub fn view(&self) -> View<'_> {
        // SAFETY: the mapping is read-write, as long as the geometry says (the file's size was compared with it), at a
        // page boundary, and lives as long as `self`; nothing else refers to that memory.
        unsafe { View::new(self.mapping.base(), &self.prefix.geometry) }
    }

    /// Its shape.
    pub fn geometry(&self) -> Geometry {
        self.prefix.geometry
    }

    /// The allocation of its parts on the disk.
    pub fn allocation(&self) -> Allocation<'_> {
        Allocation { view: self.view(), reopen: &self.reopen }
    }

    /// Returns whether the lock of `region` has this generation: the directory's own lock has always.
    #[inline]
    pub fn still_exists(&self, region: usize, generation: u64) -> bool {
        region == 0 || self.generation_of(region) == generation
    }

    /// Checks that the lock in `region` is the one with this generation still.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was removed; [`Error::Damaged`] if the file is not whole any more.
    #[inline]
    pub fn check_exists(&self, region: usize, generation: u64) -> Result<()> {
        if self.still_exists(region, generation) {
            Ok(())
        } else if self.is_intact() {
            Err(self.removed())
        } else {
            Err(self.not_intact())
        }
    }

    /// Returns the generation of a named lock's region.
    #[inline]
    pub fn generation_of(&self, region: usize) -> u64 {
        // Acquire. Partner: the release stores of a generation, by the participant that names or removes the lock.
        self.view().directory()[region - 1].generation.load(Acquire)
    }

    /// Returns whether a handle of this name is not the one by which a participant of this process may own the region's
    /// lock: the lock was removed, and there is a handle of the one that came after it. (A generation that no
    /// participant wrote must not keep an owner from unlocking.)
    #[inline]
    pub fn is_others(&self, name: &Name) -> bool {
        let now = self.generation_of(name.region);
        now != name.generation && self.names.has(name.region, now)
    }

    /// A new handle of the lock in `region`, which had this generation a moment ago. `None`: it was removed since.
    pub fn register_name(&self, region: usize, generation: u64) -> Result<Option<(Arc<Name>, bool)>> {
        let entered = self.names.register(region, generation)?;
        // After it: a thread of this process that opens the next lock of this region from here on finds us.
        Ok(self.still_exists(region, generation).then_some(entered))
    }

    /// Its path and identity.
    pub fn reopen(&self) -> &Reopen {
        &self.reopen
    }

    /// Returns what keeps byte locks here.
    pub fn liveness_lock_kind(&self) -> LivenessLockKind {
        self.liveness_lock_kind
    }

    /// What a new participant calls itself.
    pub fn label(&self) -> String {
        self.label.with(&ForkGuard::enter(), |label| label.clone())
    }

    /// Returns whether the mapped memory is still that of the file that was opened. Truncated and regrown, it would be all
    /// zeros.
    #[inline]
    pub fn is_intact(&self) -> bool {
        self.view().header().incarnation.load(Relaxed) == self.prefix.incarnation
    }

    /// The error for a file that is not whole any more.
    #[cold]
    pub fn not_intact(&self) -> Error {
        self.damaged(
            "its incarnation word is gone: a program truncated or overwrote it while it was in use, so it is unknown \
             who has which lock; stop its users, delete it and let it be created anew"
                .into(),
        )
    }

    /// The error for a handle of a lock that was removed.
    #[cold]
    pub fn removed(&self) -> Error {
        Error::NotFound {
            path: self.reopen.path(),
            why: "its lock that this handle was opened for was removed: open the lock again by its name, which may create \
                  it anew"
                .into(),
        }
    }

    /// An error about this file.
    #[cold]
    pub fn damaged(&self, why: String) -> Error {
        Error::Damaged { path: self.reopen.path(), why }
    }

    /// Has scans stop at the highest slot in use, for the participant in `own_slot`.
    pub fn lower_bound(&self, own_slot: usize) {
        slots::lower_bound(&Probe::new(&self.reopen, own_slot), self.view());
    }

    /// Now and then has the file look used, for the sake of programs that delete what looks old: stores into a mapping
    /// do not, on every file system. For callers that do not mind a system call.
    pub fn touch_now_and_then(&self) {
        let (now, last) = (clock::coarse_monotonic_ns(), self.touched.load(Relaxed));
        if last == 0 || now.saturating_sub(last) > BETWEEN_TOUCHES {
            self.touched.store(now.max(1), Relaxed);
            self.reopen.touch();
        }
    }

    /// The file has lost its last name: tells every process that has it open.
    pub fn say_unlinked(&self) {
        self.view().header().unlinked.store(1, Relaxed);
    }

    /// Returns whether it has. If not, something else than turnlock wrote the word that says so, and it is written anew.
    #[cold]
    pub fn is_unlinked(&self) -> bool {
        // Others may have known it by a name.
        if self.reopen.is_nameless() {
            return false;
        }
        let unlinked = self.reopen.look().is_none_or(|sight| sight.is_unlinked);
        self.view().header().unlinked.store(u32::from(unlinked), Relaxed);
        unlinked
    }

    /// Returns whether a process saw that the file has lost its last name.
    pub fn is_said_to_be_unlinked(&self) -> bool {
        self.view().header().unlinked.load(Relaxed) != 0
    }
}

/// How long another process may be clearing the file before it counts as stopped.
const LOOKS: u32 = 5_000;
const BETWEEN_THEM: Duration = Duration::from_millis(1);
/// An hour: programs that delete what looks old think in days.
const BETWEEN_TOUCHES: u64 = 3_600_000_000_000;
