//! Which file a descriptor is of, asked of the kernel each time: a program may close any descriptor by its number
//! (`closefrom`), and the number may be another file's by the next moment.

use std::{
    ffi::CStr,
    fs::{File, Metadata},
    mem::ManuallyDrop,
    ops::Deref,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, RawFd},
        unix::fs::MetadataExt,
    },
    path::Path,
};
use turnlock_core::error::Result;

/// A file, whatever its path says by now. Its number is not reused while it is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

/// What the kernel says of a descriptor's file.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Which file.
    pub identity: Identity,
    /// How many names it has.
    pub links: u64,
    /// Its mode bits.
    pub mode: u32,
    /// The group of the file.
    pub group: u32,
}

/// Returns which file `file` is, opened at `path`.
pub fn of(file: &File, path: &Path) -> Result<Identity> {
    let known = look_at(file.as_raw_fd()).map(|known| known.identity);
    known.ok_or_else(|| {
        super::system_error::system(format!("{}: fstat", path.display()))(nix::errno::Errno::last())
    })
}

/// Returns what the file behind `descriptor` is. `None`: it is no descriptor. Allocates nothing.
pub fn look_at(descriptor: RawFd) -> Option<Known> {
    // SAFETY: plain data, all zeros is a value of it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is ours; any number may be asked about.
    if unsafe { libc::fstat(descriptor, &mut stat) } != 0 {
        return None;
    }
    let identity = Identity::of_stat(&stat);
    #[allow(clippy::unnecessary_cast, reason = "it has 32 bits on some processors")]
    Some(Known { identity, links: stat.st_nlink as u64, mode: stat.st_mode, group: stat.st_gid })
}

/// Returns the root folder of this process. All zeros where the kernel does not tell it.
pub fn of_root() -> Identity {
    look_by_path(c"/").unwrap_or(Identity { device: 0, inode: 0 })
}

/// Returns what lies at `path`; a symbolic link is not followed. `None`: nothing, or it is out of reach.
pub fn look_by_path(path: &CStr) -> Option<Identity> {
    // SAFETY: plain data, all zeros is a value of it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a C string, and `stat` is ours.
    let found = unsafe { libc::lstat(path.as_ptr(), &mut stat) } == 0;
    found.then(|| Identity::of_stat(&stat))
}

/// Returns whether `descriptor` was opened with `O_PATH`: it stands for a file and nothing is open by it.
pub fn is_only_a_path(descriptor: RawFd) -> bool {
    // SAFETY: takes numbers only; any may be asked about.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    flags >= 0 && flags & libc::O_PATH != 0
}

impl Identity {
    /// That of the file which the kernel says this of.
    pub(super) fn of_stat(stat: &libc::stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }

    /// That of the file which this was read of.
    pub fn of_metadata(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }

    /// Returns its inode number. A file of another file system may have the same.
    pub fn inode(self) -> u64 {
        self.inode
    }

    /// Returns that of a file of another file system with the same inode number.
    #[cfg(test)]
    pub fn elsewhere(self) -> Self {
        Self { device: !self.device, ..self }
    }

    /// Returns whether `descriptor` is one of this file.
    pub fn is_of(self, descriptor: RawFd) -> bool {
        look_at(descriptor).is_some_and(|known| known.identity == self)
    }

    /// Closes `descriptor` if it is still one of this file; else it was closed by its number, and is another's now.
    ///
    /// By the system call: `close` of the C library is a cancellation point, and this may run in a fork handler.
    pub fn close(self, descriptor: RawFd) {
        if self.is_of(descriptor) {
            // SAFETY: of a file that only this library opens for itself, and known to this library alone.
            unsafe { libc::syscall(libc::SYS_close, descriptor) };
        }
    }
}

/// A descriptor of a file: closed when this is dropped, if it still is that.
pub struct Descriptor {
    number: RawFd,
    identity: Identity,
}

impl Descriptor {
    /// Takes over what `open` gave. `None`: it is no descriptor any more.
    ///
    /// Not an `OwnedFd`, which would end the program where another thread has closed its number.
    pub fn new(number: RawFd) -> Option<Self> {
        look_at(number).map(|known| Self { number, identity: known.identity })
    }

    /// Returns which file it is one of.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Leaves it open, to be known by its number.
    pub fn into_number(self) -> RawFd {
        let number = self.number;
        std::mem::forget(self);
        number
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        self.identity.close(self.number);
    }
}

/// A file that was opened a moment ago: dropped, it is closed as a [`Descriptor`] is. (A `File` whose descriptor another thread
/// else has closed ends the program when it is dropped, with the checks of the standard library.)
pub struct JustOpened(ManuallyDrop<File>);

impl From<File> for JustOpened {
    fn from(file: File) -> Self {
        Self(ManuallyDrop::new(file))
    }
}

impl JustOpened {
    /// Returns the file itself, to be kept.
    pub fn into_number(mut self) -> RawFd {
        // SAFETY: taken once, and `self` is not dropped.
        let file = unsafe { ManuallyDrop::take(&mut self.0) };
        std::mem::forget(self);
        file.into_raw_fd()
    }
}

impl Deref for JustOpened {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for JustOpened {
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        let file = unsafe { ManuallyDrop::take(&mut self.0) };
        drop(Descriptor::new(file.into_raw_fd()));
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.number
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: open, unless the program closes what it did not open; where that matters it is asked again.
        unsafe { BorrowedFd::borrow_raw(self.number) }
    }
}
