//! The way back to an open lock file, for those who ask who is alive, act for the dead, or take a slot.
//!
//! Two descriptors are kept from the opening on, so that what happens to the process later (no descriptor is free, the
//! right to open the file is given up, the path is out of reach) does not keep it from all that:
//!
//! | descriptor | for | locks held by its open file |
//! |---|---|---|
//! | `look` | asking for byte locks; acting for the dead, where the file cannot be opened again | none, but while acting |
//! | `spare` | taking slots, where the file cannot be opened again | those of such slots |
//!
//! They are two, since an open file is not told of the locks that it holds itself. Both are closed in forked children,
//! which open their own. The program may close them too (`closefrom`): each use begins by asking the kernel which file
//! they are of, and nothing is closed that has become another's.

use super::{
    file::{Access, Permissions, open_error},
    fork::{self, ForkGuard, ForkGuarded, process_mark},
    identity::{self, Descriptor, Identity},
};
use crate::error::{Error, Result};
use crate::sync::{
    AtomicI32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use nix::{errno::Errno, fcntl::open, sys::stat::Mode};
use std::{
    ffi::{CString, OsStr},
    fs::File,
    os::{
        fd::{AsRawFd, BorrowedFd, IntoRawFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

/// Where the header has the word that no other creation of a file has (`layout` has it too, and a test compares them).
pub const INCARNATION_OFFSET: u64 = 40;

/// A file by path and identity, with the descriptors that are kept of it.
pub struct Reopen {
    identity: Identity,
    incarnation: u64,
    /// Absolute; the one by which it was opened last.
    path: ForkGuarded<CString>,
    look: Kept,
    spare: Kept,
}

/// What a look at a kept descriptor found.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// A descriptor of the file, at the moment of the look.
    pub descriptor: BorrowedFd<'a>,
    /// The file has lost its last name.
    pub is_unlinked: bool,
}

impl Sight<'_> {
    /// Who may open the file. `None`: the descriptor was closed since.
    pub fn permissions(&self) -> Option<Permissions> {
        identity::look_at(self.descriptor.as_raw_fd())
            .map(|known| Permissions { mode: known.mode & 0o777, group: Some(known.group) })
    }
}

impl Reopen {
    /// Remembers `file`, opened for reading and writing at the absolute `path`, and keeps it.
    pub fn new(path: &Path, file: File, incarnation: u64) -> Result<Self> {
        let identity = identity::of(&file, path)?;
        let spare = Descriptor::new(file.into_raw_fd());
        let spare = spare.ok_or_else(|| Error::Replaced { path: path.into() })?;
        let new = Self {
            identity,
            incarnation,
            path: ForkGuarded::new(c_path(path)?),
            look: Kept::none(),
            spare: Kept::none(),
        };
        let fork_guard = ForkGuard::enter();
        // Not cleaned away as long as it is open here, by those who ask for this lock first (newer systemd-tmpfiles).
        // SAFETY: a descriptor of ours and a flag. A refusal changes nothing.
        unsafe { libc::flock(spare.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) };
        new.spare.keep(&fork_guard, spare)?;
        let look = new.open(&fork_guard)?;
        new.look.keep(&fork_guard, look)?;
        drop(fork_guard);
        Ok(new)
    }

    /// The absolute path.
    pub fn path(&self) -> PathBuf {
        self.path.with(&ForkGuard::enter(), |path| OsStr::from_bytes(path.as_bytes()).into())
    }

    /// The file was opened at this path too: the better one, should it have been renamed.
    pub fn opened_at(&self, path: &Path) -> Result<()> {
        let new = c_path(path)?;
        let old = self.path.with(&ForkGuard::enter(), |path| std::mem::replace(path, new));
        drop(old);
        Ok(())
    }

    /// Which file it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// A fresh descriptor of the same file, for reading and writing.
    pub fn open(&self, fork_guard: &ForkGuard) -> Result<Descriptor> {
        match self.open_path(fork_guard) {
            Ok(Some(opened)) if opened.identity() == self.identity => Ok(opened),
            // Not `self.path()`, here and below: we are inside the fork_guard.
            Ok(_) | Err(Errno::ENOENT | Errno::ELOOP) => {
                Err(Error::Replaced { path: self.path_inside(fork_guard) })
            }
            Err(errno) => Err(open_error(errno, &self.path_inside(fork_guard))),
        }
    }

    /// Whatever is there now. `None`: it was closed by its number at once.
    fn open_path(&self, fork_guard: &ForkGuard) -> nix::Result<Option<Descriptor>> {
        let flags = Access::ReadWrite.flags();
        let opened = self.path.with(fork_guard, |path| open(path.as_c_str(), flags, Mode::empty()))?;
        Ok(Descriptor::new(opened.into_raw_fd()))
    }

    fn path_inside(&self, fork_guard: &ForkGuard) -> PathBuf {
        self.path.with(fork_guard, |path| OsStr::from_bytes(path.as_bytes()).into())
    }

    /// Is `descriptor` one of this very file, not truncated and written anew since?
    pub fn is_of(&self, descriptor: BorrowedFd) -> bool {
        let number = descriptor.as_raw_fd();
        let mut word = [0; 8];
        // SAFETY: the buffer is ours and as long as we say.
        let got = unsafe {
            libc::pread(number, word.as_mut_ptr().cast(), word.len(), INCARNATION_OFFSET as libc::off_t)
        };
        got == 8 && u64::from_ne_bytes(word) == self.incarnation && self.identity.is_of(number)
    }

    /// A descriptor for looking on. `None`: there is none, and none can be had now.
    pub fn look(&self) -> Option<Sight<'_>> {
        self.look.sight(self.identity).or_else(|| self.look_inside(&ForkGuard::enter()))
    }

    /// [`Reopen::look`], for one who is inside the fork_guard.
    #[cold]
    pub fn look_inside(&self, fork_guard: &ForkGuard) -> Option<Sight<'_>> {
        self.look.sight(self.identity).or_else(|| {
            // It was closed by its number, or we are a forked child: another one.
            let file = self.open_or_not(fork_guard)?;
            // It may have been given the number of the spare one, which then was closed with it.
            if self.spare.number.load(Relaxed) == file.as_raw_fd() {
                self.spare.forget(fork_guard);
            }
            self.look.keep(fork_guard, file).ok()?;
            if self.spare.sight(self.identity).is_none()
                && let Some(file) = self.open_or_not(fork_guard)
            {
                // Without it the look is worth having too.
                let _ = self.spare.keep(fork_guard, file);
            }
            self.look.sight(self.identity)
        })
    }

    /// [`Reopen::open`] without the words for an error.
    pub fn open_or_not(&self, fork_guard: &ForkGuard) -> Option<Descriptor> {
        self.open_path(fork_guard).ok()?.filter(|opened| opened.identity() == self.identity)
    }

    /// The descriptor by which slots are taken where `error` keeps the file from being opened again. `None`: it is gone
    /// too, or the file is not to be used any more: it has no name, or its name is another file's.
    pub fn spare(&self, fork_guard: &ForkGuard, error: &Error) -> Option<Sight<'_>> {
        let sight = self.spare.sight(self.identity)?;
        if sight.is_unlinked {
            return None;
        }
        if matches!(error, Error::Replaced { .. }) {
            let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
            // SAFETY: a C string, and room for what is asked.
            let taken = self
                .path
                .with(fork_guard, |path| unsafe { libc::lstat(path.as_ptr(), stat.as_mut_ptr()) == 0 });
            if taken {
                return None;
            }
        }
        Some(sight)
    }

    /// The spare descriptor, for giving back what was taken by it.
    pub fn spare_to_give_back(&self) -> Option<Sight<'_>> {
        self.spare.sight(self.identity)
    }

    /// Makes the file look used, to those who delete what looks old. A failure is of no consequence.
    pub fn touch(&self) {
        if let Some(sight) = self.look() {
            // SAFETY: NULL is "now"; the file's own times, through a descriptor of it.
            unsafe { libc::futimens(sight.descriptor.as_raw_fd(), std::ptr::null()) };
        }
    }
}

impl Drop for Reopen {
    fn drop(&mut self) {
        let fork_guard = ForkGuard::enter();
        self.look.close(&fork_guard, self.identity);
        self.spare.close(&fork_guard, self.identity);
    }
}

fn c_path(path: &Path) -> Result<CString> {
    let bytes = path.as_os_str().as_bytes();
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len() + 1).map_err(|_| Error::OutOfMemory)?;
    copy.extend_from_slice(bytes);
    CString::new(copy).map_err(|_| Error::InvalidArgument(format!("the path {path:?} has a NUL in it")))
}

/// A descriptor that is kept for later, by its number.
struct Kept {
    number: AtomicI32,
    /// The process (by its mark) in which the number stands for it; 0 = none.
    process: AtomicU64,
}

impl Kept {
    fn none() -> Self {
        Self { number: AtomicI32::new(-1), process: AtomicU64::new(0) }
    }

    /// What it is a descriptor of, if that is still the file.
    fn sight(&self, identity: Identity) -> Option<Sight<'_>> {
        // Acquire. Partner: the release in `keep`.
        if self.process.load(Acquire) != process_mark() {
            return None;
        }
        let number = self.number.load(Relaxed);
        let known = identity::look_at(number).filter(|known| known.identity == identity)?;
        // SAFETY: open a moment ago, and only closed by a program that closes what it did not open; what that leads to
        // (another file's number) is looked for where it matters.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        Some(Sight { descriptor, is_unlinked: known.links == 0 })
    }

    /// Keeps `file`; what was kept before is closed already.
    fn keep(&self, fork_guard: &ForkGuard, file: Descriptor) -> Result<()> {
        self.forget(fork_guard);
        fork::close_in_children(fork_guard, file.as_raw_fd(), file.identity())?;
        self.number.store(file.into_number(), Relaxed);
        // Release. Partner: the acquire in `sight`.
        self.process.store(process_mark(), Release);
        Ok(())
    }

    fn forget(&self, fork_guard: &ForkGuard) -> Option<RawFd> {
        let ours = self.process.swap(0, Relaxed) == process_mark();
        let number = self.number.swap(-1, Relaxed);
        if ours {
            fork::keep_in_children(fork_guard, number);
        }
        ours.then_some(number)
    }

    fn close(&self, fork_guard: &ForkGuard, identity: Identity) {
        if let Some(number) = self.forget(fork_guard) {
            identity.close(number);
        }
    }
}
