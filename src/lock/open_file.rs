//! One file, mapped once in a process, however often it is opened.

use crate::error::{Error, Result};
use crate::layout::{DeathNoticeKind, Fences, Geometry, HeaderFault, HeaderPrefix, PREFIX_BYTES, View};
use crate::os::{
    clock, death_notice,
    file::{self, Access, Identity, Permissions, Reopen},
    fork::{self, Gate, Gated},
    map::Mapping,
    membarrier, process,
};
use crate::participant;
use crate::recovery;
use crate::seeded::{Bug, planted};
use crate::sync::{AtomicUsize, Ordering::Relaxed};
use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, Weak},
    time::Duration,
};

/// A file that is open and mapped in this process.
pub struct OpenFile {
    reopen: Reopen,
    mapping: Mapping,
    prefix: HeaderPrefix,
    pinning: DeathNoticeKind,
    label: Gated<String>,
    /// How many [`super::LockFile`]s and locks the program has of it. The slots of threads do not count.
    pub handles: AtomicUsize,
}

/// Every file that is open in this process: opening one twice gives the same mapping, and each thread one slot.
static OPEN_FILES: Gated<Vec<Weak<OpenFile>>> = Gated::new(Vec::new());

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
        fork::prepare()?;
        let path = file::absolute(path)?;
        // Somebody may create or unlink it between two looks; each round is a new look.
        for _ in 0..100 {
            let opened = match file::open_existing(&path, Access::ReadWrite) {
                Ok(opened) => opened,
                Err(Error::NotFound { .. }) if may_create => match create(&path, new, permissions)? {
                    Some(created) => created,
                    None => continue,
                },
                Err(error) => return Err(error),
            };
            return Self::open(&path, opened, label);
        }
        Err(Error::Replaced { path })
    }

    fn open(path: &Path, opened: File, label: &str) -> Result<Arc<Self>> {
        let reopen = Reopen::new(path.into(), &opened)?;
        let prefix = header_of(&opened, path)?;
        file::refuse_if_open_to_all(&opened, path)?;
        if let Some(known) = OPEN_FILES.with(&Gate::enter(), |files| find(files, reopen.identity(), prefix)) {
            if !label.is_empty() {
                known.label.with(&Gate::enter(), |own| label.clone_into(own));
            }
            return Ok(known);
        }
        let mapping = Mapping::read_write(&opened, prefix.geometry.file_size(), path)?;
        drop(opened);
        let new = Arc::new(Self {
            pinning: death_notice::pinning(&reopen)?,
            reopen,
            mapping,
            prefix,
            label: Gated::new(label.into()),
            handles: AtomicUsize::new(0),
        });
        new.renew_after_boot()?;
        Ok(new.register())
    }

    /// Another thread may have opened the same file meanwhile: then its mapping serves both.
    fn register(self: Arc<Self>) -> Arc<Self> {
        OPEN_FILES.with(&Gate::enter(), |files| {
            find(files, self.reopen.identity(), self.prefix).unwrap_or_else(|| {
                files.retain(|file| file.strong_count() > 0);
                files.push(Arc::downgrade(&self));
                self
            })
        })
    }

    fn renew_after_boot(&self) -> Result<()> {
        let slots = 0..self.geometry().participants() as usize;
        for _ in 0..5_000 {
            if recovery::is_of_this_boot(self.view()) {
                return Ok(());
            }
            death_notice::if_slots_are_free(&self.reopen, slots.clone(), || {
                // Somebody else may have done it between our look and our locks.
                if !recovery::is_of_this_boot(self.view()) {
                    recovery::renew_after_boot(
                        self.view(),
                        possible_fences(),
                        process::boot_id(),
                        clock::realtime_ns(),
                    );
                }
            })?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(self.damaged(
            "its boot id is not this boot's, and yet somebody alive takes part: it is used from two kernels at once \
             (a virtual machine and its host, for example), which cannot work"
                .into(),
        ))
    }

    /// Sees to it that this process can take part in taking a retained privilege back. A file begins with membarrier
    /// where the kernel has it, and goes over to full fences for good (until the next boot) when somebody without it
    /// opens it and nobody takes part.
    pub fn settle_fences(&self, full_fences: bool) -> Result<()> {
        if self.fences() == Fences::Full || (!full_fences && membarrier::register()) {
            return Ok(());
        }
        let slots = 0..self.geometry().participants() as usize;
        death_notice::if_slots_are_free(&self.reopen, slots, || {
            // Before the word: nobody takes part, so no retention of the other kind is left.
            recovery::clear_retentions(self.view());
            self.view().header().fences.store(Fences::Full as u32, Relaxed);
        })?;
        // Without membarrier, one cannot take anything back from those who rely on it.
        if self.fences() == Fences::Membarrier { self.can_membarrier() } else { Ok(()) }
    }

    fn fences(&self) -> Fences {
        Fences::of(self.view().header().fences.load(Relaxed))
    }

    fn can_membarrier(&self) -> Result<()> {
        if membarrier::register() {
            Ok(())
        } else {
            Err(Error::Unsupported(
                "membarrier (before Linux 4.16, or by a filter), which those who use this file now rely on: open it first \
                 from here, while nobody uses it, and everybody will do without",
            ))
        }
    }

    /// Do this process's retained entries have full fences? For one who has a slot's byte lock: nobody changes it then.
    pub fn fences_of_participant(&self) -> Result<bool> {
        let fenced = self.fences() == Fences::Full;
        if !fenced && !planted(Bug::UnregisteredRetainer) {
            // A forked child is not registered by its parent.
            self.can_membarrier()?;
        }
        Ok(fenced)
    }

    /// The mapped file.
    #[inline]
    pub fn view(&self) -> View<'_> {
        // SAFETY: the mapping is read-write, as long as the geometry says (the file's size was compared with it), at a
        // page boundary, and lives as long as `self`; nothing else refers to that memory.
        unsafe { View::new(self.mapping.base(), self.prefix.geometry) }
    }

    /// Its shape.
    pub fn geometry(&self) -> Geometry {
        self.prefix.geometry
    }

    /// Its path and identity.
    pub fn reopen(&self) -> &Reopen {
        &self.reopen
    }

    /// What keeps byte locks here.
    pub fn pinning(&self) -> DeathNoticeKind {
        self.pinning
    }

    /// What a new participant calls itself.
    pub fn label(&self) -> String {
        self.label.with(&Gate::enter(), |label| label.clone())
    }

    /// Is the mapped memory still that of the file we opened? Truncated and regrown, it would be all zeros.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.view().header().incarnation.load(Relaxed) == self.prefix.incarnation
    }

    /// The error for a file that is not whole any more.
    #[cold]
    pub fn not_whole(&self) -> Error {
        self.damaged(
            "its incarnation word is gone: somebody truncated or overwrote it while it was in use, so nobody knows \
             who has which lock; stop its users, delete it and let it be created anew"
                .into(),
        )
    }

    /// An error about this file.
    #[cold]
    pub fn damaged(&self, why: String) -> Error {
        Error::Damaged { path: self.reopen.path().into(), why }
    }

    /// Fits the file what was asked for? A capacity of 0 was not asked for.
    pub fn check_capacity(&self, participants: u32, locks: u32) -> Result<()> {
        let geometry = self.geometry();
        for (what, has, wanted) in
            [("participants", geometry.participants(), participants), ("locks", geometry.locks(), locks)]
        {
            if wanted > has {
                return Err(Error::Capacity { path: self.reopen.path().into(), what, has, wanted });
            }
        }
        Ok(())
    }

    /// Has scans stop at the highest slot in use. A failure only costs time later.
    pub fn lower_bound(&self) {
        let _ = participant::lower_bound(&self.reopen, self.view());
    }
}

fn possible_fences() -> Fences {
    if membarrier::register() { Fences::Membarrier } else { Fences::Full }
}

fn find(files: &[Weak<OpenFile>], identity: Identity, prefix: HeaderPrefix) -> Option<Arc<OpenFile>> {
    // A file that is gone by name but still mapped keeps its inode, so the number cannot be another file's; but it may
    // have been truncated and written anew.
    let same =
        |file: &Arc<OpenFile>| file.reopen.identity() == identity && file.prefix == prefix && file.is_whole();
    files.iter().filter_map(Weak::upgrade).find(same)
}

fn create(path: &Path, geometry: Geometry, permissions: Permissions) -> Result<Option<File>> {
    let now = clock::realtime_ns();
    let prefix = HeaderPrefix { geometry, incarnation: process::random(), created_realtime_ns: now };
    file::create_whole(path, geometry.file_size(), permissions, |file| {
        file.write_all_at(&prefix.encode(), 0)?;
        let mapping = Mapping::read_write(file, geometry.file_size(), path).map_err(std::io::Error::other)?;
        // SAFETY: as in `OpenFile::view`; the file was allocated at this size and has no name yet.
        let view = unsafe { View::new(mapping.base(), geometry) };
        for region in 0..=geometry.locks() as usize {
            view.lock(region).words.token.store(recovery::token_floor(now), Relaxed);
        }
        view.header().fences.store(possible_fences() as u32, Relaxed);
        recovery::write_boot_id(view, process::boot_id());
        Ok(())
    })
}

/// Reads and checks the constant part of the header.
pub(crate) fn header_of(opened: &File, path: &Path) -> Result<HeaderPrefix> {
    let (got, bytes, size) = file::read_start::<PREFIX_BYTES>(opened, path)?;
    let path = path.to_owned();
    if size == 0 {
        return Err(Error::NotALockFile {
            path,
            why: "it is an empty file and not a turnlock file: delete it, and turnlock will create it whole"
                .into(),
        });
    }
    if got < PREFIX_BYTES {
        return Err(Error::NotALockFile {
            path,
            why: format!(
                "it is only {size} bytes long and not a turnlock file: give another path, or delete it if it is in \
                 the way"
            ),
        });
    }
    HeaderPrefix::decode(&bytes, size).map_err(|fault| match fault {
        HeaderFault::Foreign => Error::NotALockFile {
            path,
            why: "it is not a turnlock file (it does not begin with \"turnlock\"): give another path".into(),
        },
        HeaderFault::Version(why) => Error::Version {
            path,
            why: format!(
                "{why}: use the turnlock that created it, or delete it while nobody uses it and let it be created \
                 anew"
            ),
        },
        HeaderFault::Damaged(why) => Error::Damaged {
            path,
            why: format!("{why}: stop its users, delete it and let it be created anew"),
        },
    })
}
