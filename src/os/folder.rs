//! A folder that is opened once: what is looked at, made, renamed and removed in it is so in this very folder, whatever its
//! path leads to a moment later.

use super::{
    anchor::OWN_DESCRIPTORS,
    identity::{Descriptor, Identity},
};
use nix::{
    errno::Errno,
    fcntl::{AT_FDCWD, AtFlags, OFlag, open, openat, renameat},
    sys::stat::{Mode, fstatat},
    unistd::{UnlinkatFlags, linkat, unlinkat},
};
use std::{
    ffi::OsStr,
    fs::File,
    os::fd::{AsRawFd, IntoRawFd},
    path::{Path, PathBuf},
};

/// A folder that is open. Names in it are given as paths, of which only the last part counts.
pub struct Folder(Descriptor);

impl Folder {
    /// Returns the folder that `path`, an absolute one, lies in.
    pub fn of(path: &Path) -> nix::Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        // No right to read it is needed.
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let opened = open(folder, flags, Mode::empty())?;
        Descriptor::new(opened.into_raw_fd()).map(Self).ok_or(Errno::EBADF)
    }

    /// Returns whether this name is one of `file` now. A symbolic link is not followed.
    pub fn has(&self, path: &Path, file: Identity) -> bool {
        let found = fstatat(&self.0, name(path), AtFlags::AT_SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| Identity::of_stat(&found) == file)
    }

    /// Opens, or creates, what has this name.
    pub fn open(&self, path: &Path, flags: OFlag, mode: Mode) -> nix::Result<File> {
        openat(&self.0, name(path), flags, mode).map(File::from)
    }

    /// Returns a new file in it without a name.
    pub fn open_unnamed(&self, flags: OFlag, mode: Mode) -> nix::Result<File> {
        openat(&self.0, ".", flags | OFlag::O_TMPFILE, mode).map(File::from)
    }

    /// Gives a file that was opened without a name this one.
    pub fn link(&self, unnamed: &File, path: &Path) -> nix::Result<()> {
        let own = format!("{OWN_DESCRIPTORS}/{}", unnamed.as_raw_fd());
        linkat(AT_FDCWD, own.as_str(), &self.0, name(path), AtFlags::AT_SYMLINK_FOLLOW)
    }

    /// Gives what has the name `old` the name `path` too.
    pub fn link_again(&self, old: &Path, path: &Path) -> nix::Result<()> {
        linkat(&self.0, name(old), &self.0, name(path), AtFlags::empty())
    }

    /// Gives what has the name `old` the name `path` instead, in the place of what has that.
    pub fn rename(&self, old: &Path, path: &Path) -> nix::Result<()> {
        renameat(&self.0, name(old), &self.0, name(path))
    }

    /// Removes the name.
    pub fn unlink(&self, path: &Path) -> nix::Result<()> {
        unlinkat(&self.0, name(path), UnlinkatFlags::NoRemoveDir)
    }

    /// Has its names written to the disk, where it may be read.
    pub fn sync(&self) -> std::io::Result<()> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        File::from(openat(&self.0, ".", flags, Mode::empty())?).sync_all()
    }
}

/// Of `/` and the like, which names no file, there is none, which the kernel refuses.
fn name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

/// The name of a file under construction, removed whatever happens. (Once it has come to its place, there is none.)
pub struct Temporary<'a> {
    /// The folder that it is in.
    pub folder: &'a Folder,
    /// Its path: of a random name.
    pub path: PathBuf,
}

impl<'a> Temporary<'a> {
    /// Returns one beside `path`, which lies in `folder`: nothing has this name yet.
    pub fn beside(folder: &'a Folder, path: &Path) -> Self {
        Self { folder, path: path.with_file_name(format!(".turnlock-{:016x}", super::process::random())) }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // Nothing to do about a failure: the name is random and says whose it was.
        let _ = self.folder.unlink(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::identity;
    use std::fs;

    #[test]
    fn what_its_path_leads_to_later_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let (folder, moved) = (place.path().join("folder"), place.path().join("moved"));
        fs::create_dir(&folder).unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.join(name));
        [&a, &b].into_iter().for_each(|path| fs::write(path, "ours").unwrap());
        let of = |path: &Path| identity::of(&File::open(path).unwrap(), path).unwrap();
        let (ours, open) = (of(&a), Folder::of(&a).unwrap());
        fs::rename(&folder, &moved).unwrap();
        fs::create_dir(&folder).unwrap();
        [&a, &b].into_iter().for_each(|path| fs::write(path, "others'").unwrap());
        assert!(open.has(&a, ours) && !open.has(&a, of(&a)) && !open.has(&folder.join("c"), ours));
        open.rename(&a, &b).unwrap();
        assert!(open.has(&b, ours));
        open.link_again(&b, &a).unwrap();
        open.unlink(&b).unwrap();
        drop(Temporary { folder: &open, path: a.clone() });
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
        assert_eq!([&a, &b].map(|path| fs::read_to_string(path).unwrap()), ["others'", "others'"]);
        assert!(open.unlink(Path::new("/")).is_err());
    }
}
