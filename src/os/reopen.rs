//! The way back to an open lock file, for callers that ask which slots are alive, act for the dead, or take a slot.
//!
//! Three descriptors are kept from the opening on, so that what happens to the process later (no descriptor is free, the
//! right to open the file is given up, the path is out of reach) does not keep it from all that:
//!
//! | descriptor | for | locks held by its open file |
//! |---|---|---|
//! | `look` | asking for byte locks; acting for the dead, where the file cannot be opened again | none, but while acting |
//! | `spare` | taking slots, where the file cannot be opened again | those of such slots |
//! | `anchor` | opening the file again where its path does not lead to it ([`super::anchor`]) | none: it opens nothing |
//!
//! The first two are two, since an open file is not told of the locks that it holds itself. Both are closed in forked
//! children, which open their own; they keep the anchor for that. The program may close all of them (`closefrom`): each
//! use begins by asking the kernel which file they are of, and nothing is closed that has become another's.
//!
//! Each claim of a slot wants an open file of its own. The ways to one, each tried where those before it fail (measured
//! on tmpfs, with closing it again):
//!
//! | way | µs | fails where |
//! |---|---|---|
//! | the path, if it still names this file | 1.9 | the file or a folder above it was renamed; another root or mount namespace; the right to open the file was given up; opened by a descriptor: there is no path |
//! | `/proc`, by the anchor | 4.5 | `/proc` is not mounted; the right was given up; no descriptor is free; the anchor was closed |
//! | none: `spare`, asked about through `look` first | 1.5 | the two were closed; forked children, which have closed them; a slot that a child is to inherit |
//!
//! A path that names another file by now is a sign that others take turns in that one. It counts only below the root
//! that it was opened under: elsewhere the same words name something else. A file that was opened by a descriptor has
//! no path that could name another, and one that had no name then (a memfd) has none to lose.

use super::{
    anchor::Anchor,
    file::{Access, Permissions, open_error},
    fork::{self, ForkGuard, ForkGuarded, process_mark},
    identity::{self, Descriptor, Identity, JustOpened},
};
use nix::{errno::Errno, fcntl::open, sys::stat::Mode};
use std::{
    ffi::{CStr, CString, OsStr},
    os::{
        fd::{AsRawFd, BorrowedFd, IntoRawFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicBool, AtomicI32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Where the header has the word that no other creation of a file has (`layout` has it too, and a test compares them).
pub const INCARNATION_OFFSET: u64 = 40;

/// A file by path and identity, with the descriptors that are kept of it.
pub struct Reopen {
    identity: Identity,
    incarnation: u64,
    origin: ForkGuarded<Origin>,
    /// It had no name when it was opened, by a descriptor.
    nameless: AtomicBool,
    anchor: Anchor,
    look: Kept,
    spare: Kept,
}

/// How a file was opened.
#[derive(Clone, Copy, Debug)]
pub enum OpenedBy<'a> {
    /// By this absolute path.
    Path(&'a Path),
    /// By a descriptor; people call it this.
    Descriptor(&'a Path),
}

impl<'a> OpenedBy<'a> {
    /// Returns the path, or what people call it.
    pub fn name(self) -> &'a Path {
        match self {
            OpenedBy::Path(name) | OpenedBy::Descriptor(name) => name,
        }
    }
}

/// [`OpenedBy`], remembered.
struct Origin {
    name: CString,
    /// The name is a path below this root. `None`: it was opened by a descriptor, and the name is for people.
    root: Option<Identity>,
}

impl Origin {
    fn new(opened_by: OpenedBy) -> Result<Self> {
        let root = matches!(opened_by, OpenedBy::Path(_)).then(identity::of_root);
        Ok(Self { name: c_path(opened_by.name())?, root })
    }

    fn path(&self) -> Option<&CStr> {
        self.root.map(|_| self.name.as_c_str())
    }
}

/// What a look at a kept descriptor found.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// A descriptor of the file, at the moment of the look.
    pub descriptor: BorrowedFd<'a>,
    /// The file has lost its last name. Never of one that had none when it was opened.
    pub is_unlinked: bool,
}

impl Sight<'_> {
    /// Returns which users may open the file. `None`: the descriptor was closed since.
    pub fn permissions(&self) -> Option<Permissions> {
        identity::look_at(self.descriptor.as_raw_fd())
            .map(|known| Permissions { mode: known.mode & 0o777, group: Some(known.group) })
    }
}

impl Reopen {
    /// Remembers `file`, opened for reading and writing, and keeps it. No other descriptor is of its open file.
    pub fn new(opened_by: OpenedBy, file: JustOpened, incarnation: u64) -> Result<Self> {
        let identity = identity::of(&file, opened_by.name())?;
        let links = identity::look_at(file.as_raw_fd()).map_or(0, |known| known.links);
        let spare = Descriptor::new(file.into_number());
        let spare = spare.ok_or_else(|| Error::Replaced { path: opened_by.name().into() })?;
        let new = Self {
            identity,
            incarnation,
            origin: ForkGuarded::new(Origin::new(opened_by)?),
            nameless: AtomicBool::new(matches!(opened_by, OpenedBy::Descriptor(_)) && links == 0),
            anchor: Anchor::none(),
            look: Kept::none(),
            spare: Kept::none(),
        };
        let fork_guard = ForkGuard::enter();
        new.keep_anchor(&fork_guard, spare.as_raw_fd());
        // Not cleaned away as long as it is open here, by programs that ask for this lock first (newer
        // systemd-tmpfiles). SAFETY: a descriptor of ours and a flag. A refusal changes nothing.
        unsafe { libc::flock(spare.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) };
        new.spare.keep(&fork_guard, spare)?;
        let look = new.open(&fork_guard)?;
        new.look.keep(&fork_guard, look)?;
        drop(fork_guard);
        Ok(new)
    }

    /// Returns the absolute path; of a file that was opened by a descriptor, what people call it.
    pub fn path(&self) -> PathBuf {
        self.path_inside(&ForkGuard::enter())
    }

    /// The file was opened once more: if at a path, that is the better one, should it have been renamed.
    pub fn opened_again(&self, opened_by: OpenedBy) -> Result<()> {
        if let OpenedBy::Path(_) = opened_by {
            let new = Origin::new(opened_by)?;
            let old = self.origin.with(&ForkGuard::enter(), |origin| std::mem::replace(origin, new));
            self.nameless.store(false, Relaxed);
            drop(old);
        }
        Ok(())
    }

    /// Returns whether it was opened by a descriptor, and never by a path.
    pub fn has_no_path(&self) -> bool {
        self.origin.with(&ForkGuard::enter(), |origin| origin.root.is_none())
    }

    /// Returns whether it had no name when it was opened: then it cannot lose its last one.
    pub fn is_nameless(&self) -> bool {
        self.nameless.load(Relaxed)
    }

    /// Returns which file it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Returns a fresh descriptor of the same file, for reading and writing: an open file of its own.
    pub fn open(&self, fork_guard: &ForkGuard) -> Result<Descriptor> {
        let by_path = match self.open_path(fork_guard) {
            Ok(Some(opened)) if opened.identity() == self.identity => return Ok(opened),
            Ok(_) => Errno::ENOENT,
            Err(errno) => errno,
        };
        if self.is_given_up(fork_guard) {
            // Not `self.path()`, here and below: we are inside the fork guard.
            return Err(Error::Replaced { path: self.path_inside(fork_guard) });
        }
        self.anchor.open(self.identity, Access::ReadWrite.flags()).map_err(|errno| match (by_path, errno) {
            (Errno::ENOENT | Errno::ELOOP | Errno::ENOTDIR, Errno::EACCES | Errno::EPERM) => {
                open_error(errno, &self.path_inside(fork_guard))
            }
            (Errno::ENOENT | Errno::ELOOP | Errno::ENOTDIR, errno) => Error::System {
                what: format!(
                    "{}: this path does not lead to it (any more), and opening it by the descriptor that is kept of it,                      by way of /proc, fails",
                    self.path_inside(fork_guard).display()
                ),
                source: errno.into(),
            },
            (by_path, _) => open_error(by_path, &self.path_inside(fork_guard)),
        })
    }

    /// Whatever is at the path now. `None`: it was closed by its number at once.
    fn open_path(&self, fork_guard: &ForkGuard) -> nix::Result<Option<Descriptor>> {
        let flags = Access::ReadWrite.flags();
        let opened = self.origin.with(fork_guard, |origin| match origin.path() {
            Some(path) => open(path, flags, Mode::empty()),
            None => Err(Errno::ENOENT),
        })?;
        Ok(Descriptor::new(opened.into_raw_fd()))
    }

    fn path_inside(&self, fork_guard: &ForkGuard) -> PathBuf {
        self.origin.with(fork_guard, |origin| OsStr::from_bytes(origin.name.as_bytes()).into())
    }

    /// Returns whether newcomers take turns in another file, as far as can be seen: this one has lost its last name, or the
    /// path that it was opened by names another file (below the same root: elsewhere that path says nothing).
    fn is_given_up(&self, fork_guard: &ForkGuard) -> bool {
        let kept = [&self.look, &self.spare].into_iter().find_map(|kept| kept.sight(self.identity));
        let by_anchor = || self.anchor.look(self.identity).is_some_and(|known| known.links == 0);
        let has_no_name = kept.map_or_else(by_anchor, |sight| sight.is_unlinked);
        (has_no_name && !self.is_nameless())
            || self.origin.with(fork_guard, |origin| {
                let found = origin.path().and_then(identity::look_by_path);
                found.is_some_and(|found| found != self.identity) && origin.root == Some(identity::of_root())
            })
    }

    fn keep_anchor(&self, fork_guard: &ForkGuard, descriptor: RawFd) {
        self.origin.with(fork_guard, |origin| self.anchor.keep(self.identity, descriptor, origin.path()));
    }

    /// Returns whether `descriptor` is one of this very file, not truncated and written anew since.
    pub fn is_of(&self, descriptor: BorrowedFd) -> bool {
        let number = descriptor.as_raw_fd();
        let mut word = [0; 8];
        // SAFETY: the buffer is ours and as long as we say.
        let got = unsafe {
            libc::pread(number, word.as_mut_ptr().cast(), word.len(), INCARNATION_OFFSET as libc::off_t)
        };
        got == 8 && u64::from_ne_bytes(word) == self.incarnation && self.identity.is_of(number)
    }

    /// Returns a descriptor for observing. `None`: there is none, and none can be had now.
    pub fn look(&self) -> Option<Sight<'_>> {
        self.sight(&self.look).or_else(|| self.look_inside(&ForkGuard::enter()))
    }

    /// [`Reopen::look`], for a thread inside the fork guard.
    #[cold]
    pub fn look_inside(&self, fork_guard: &ForkGuard) -> Option<Sight<'_>> {
        self.sight(&self.look).or_else(|| {
            // It was closed by its number, or we are a forked child: open a new one.
            let file = self.open_or_not(fork_guard)?;
            // It may have been given the number of the spare one, which then was closed with it.
            if self.spare.number.load(Relaxed) == file.as_raw_fd() {
                self.spare.forget(fork_guard);
            }
            self.keep_anchor(fork_guard, file.as_raw_fd());
            self.look.keep(fork_guard, file).ok()?;
            if self.sight(&self.spare).is_none()
                && let Some(file) = self.open_or_not(fork_guard)
            {
                // Without it the look is worth having too.
                let _ = self.spare.keep(fork_guard, file);
            }
            self.sight(&self.look)
        })
    }

    /// Returns a fresh descriptor, for a caller that only acts for the dead: also of a file that is given up.
    pub fn open_or_not(&self, fork_guard: &ForkGuard) -> Option<Descriptor> {
        let by_path = self.open_path(fork_guard).ok().flatten();
        let by_path = by_path.filter(|opened| opened.identity() == self.identity);
        by_path.or_else(|| self.anchor.open(self.identity, Access::ReadWrite.flags()).ok())
    }

    /// Returns the descriptor by which slots are taken where the file cannot be opened again. `None`: it is gone too, or the
    /// file is not to be used any more: it has lost its last name, or its name is another file's.
    pub fn spare(&self, fork_guard: &ForkGuard) -> Option<Sight<'_>> {
        self.sight(&self.spare).filter(|_| !self.is_given_up(fork_guard))
    }

    /// Returns the spare descriptor, for giving back what was taken by it.
    pub fn spare_to_give_back(&self) -> Option<Sight<'_>> {
        self.sight(&self.spare)
    }

    fn sight<'a>(&self, kept: &'a Kept) -> Option<Sight<'a>> {
        let sight = kept.sight(self.identity)?;
        Some(Sight { is_unlinked: sight.is_unlinked && !self.is_nameless(), ..sight })
    }

    /// Makes the file look used, to programs that delete what looks old. A failure is of no consequence.
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
        self.anchor.close(self.identity);
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

    /// Returns what it is a descriptor of, if that is still the file.
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
            fork::forget_close_in_children(fork_guard, number);
        }
        ours.then_some(number)
    }

    fn close(&self, fork_guard: &ForkGuard, identity: Identity) {
        if let Some(number) = self.forget(fork_guard) {
            identity.close(number);
        }
    }
}
