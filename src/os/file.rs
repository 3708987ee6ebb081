//! Opening, checking, creating and publishing the file. Nothing here ever changes a file that exists already.

use super::{
    allocation,
    anchor::OWN_DESCRIPTORS,
    folder::{Folder, Temporary},
    system_error::system,
};
use nix::{
    errno::Errno,
    fcntl::{OFlag, open},
    sys::stat::Mode,
};
use std::{
    fs::File,
    ops::Range,
    os::unix::fs::{FileExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};
use turnlock_core::error::{Error, Result};

/// What a descriptor may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Look on.
    Read,
    /// Take part.
    ReadWrite,
}

impl Access {
    pub(super) fn flags(self) -> OFlag {
        let access = match self {
            Access::Read => OFlag::O_RDONLY,
            Access::ReadWrite => OFlag::O_RDWR,
        };
        // Non-blocking, so that a FIFO put in the file's place cannot hang us.
        access | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NOCTTY | OFlag::O_NONBLOCK
    }
}

pub(super) fn metadata(file: &File, path: &Path) -> Result<std::fs::Metadata> {
    file.metadata().map_err(|source| Error::System { what: format!("{}: fstat", path.display()), source })
}

/// Returns the path with its folder resolved, so that a later `chdir` does not matter. The last part is not followed.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    let invalid =
        || Error::InvalidArgument(format!("the path {path:?} names no file: give the path of a lock file"));
    let name = path.file_name().ok_or_else(invalid)?;
    let folder = match path.parent() {
        None => return Err(invalid()),
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
    };
    let folder = folder.canonicalize().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::NotFound {
            path: path.into(),
            why: format!("the folder {} does not exist: create it first", folder.display()),
        },
        std::io::ErrorKind::PermissionDenied => Error::Permission {
            path: path.into(),
            why: format!("no permission to enter the folder {}", folder.display()),
        },
        _ => Error::System { what: format!("{}: resolving its folder", path.display()), source },
    })?;
    Ok(folder.join(name))
}

/// Returns what it means that the lock file at `path` cannot be opened.
pub(super) fn open_error(errno: Errno, path: &Path) -> Error {
    let path = path.to_owned();
    match errno {
        Errno::ENOENT => Error::NotFound { path, why: "it does not exist".into() },
        Errno::ELOOP => Error::NotALockFile {
            path,
            why: "it is a symbolic link, and those are not followed, lest another user redirect a lock: give the \
                  path it points to"
                .into(),
        },
        Errno::EISDIR => Error::NotALockFile {
            path,
            why: "it is a directory: give the path of a lock file, in this directory for example".into(),
        },
        Errno::ENXIO | Errno::ENODEV | Errno::ETXTBSY => not_regular(path),
        Errno::EACCES | Errno::EPERM => Error::Permission {
            path,
            why: "no permission to open it for reading and writing: run as its owner, or let the owner create it \
                  with a group that you are in"
                .into(),
        },
        Errno::EROFS => Error::FileSystem {
            path,
            why: "it lies on a read-only file system, and taking part means writing: put it elsewhere".into(),
        },
        errno => system(format!("{}: cannot open it", path.display()))(errno),
    }
}

pub(super) fn not_regular(path: PathBuf) -> Error {
    Error::NotALockFile {
        path,
        why: "it is not a regular file (a device, a FIFO or a socket): give another path".into(),
    }
}

/// Opens a file that exists, if it is of the kind that can be a lock file; changes nothing.
pub fn open_existing(path: &Path, access: Access) -> Result<File> {
    // Look before opening: opening a device can do something by itself.
    let meta = path.symlink_metadata().map_err(|source| {
        match Errno::from_raw(source.raw_os_error().unwrap_or(0)) {
            Errno::UnknownErrno => Error::System { what: format!("{}: lstat", path.display()), source },
            errno => open_error(errno, path),
        }
    })?;
    let kind = meta.file_type();
    if kind.is_symlink() {
        return Err(open_error(Errno::ELOOP, path));
    } else if kind.is_dir() {
        return Err(open_error(Errno::EISDIR, path));
    } else if !kind.is_file() {
        return Err(not_regular(path.into()));
    }
    let file =
        File::from(open(path, access.flags(), Mode::empty()).map_err(|errno| open_error(errno, path))?);
    let meta = metadata(&file, path)?;
    if !meta.is_file() {
        return Err(not_regular(path.into()));
    }
    refuse_unsuitable_file_system(&file, path)?;
    Ok(file)
}

/// Refuses a lock file that everyone on this machine may open.
pub fn refuse_if_open_to_all(file: &File, path: &Path) -> Result<()> {
    let meta = metadata(file, path)?;
    if meta.mode() & 0o007 != 0 {
        return Err(Error::Permission {
            path: path.into(),
            why: format!(
                "everyone on this machine may open it (mode {:03o}), and a user who can open a lock file can block the \
                 clean-up after a death: chmod o= it, and share it through a group",
                meta.mode() & 0o777
            ),
        });
    }
    Ok(())
}

/// Returns the first bytes and the size of a file, by `pread`: a private copy that other processes cannot change.
pub fn read_start<const N: usize>(file: &File, path: &Path) -> Result<(usize, [u8; N], u64)> {
    let size = metadata(file, path)?.len();
    let mut bytes = [0; N];
    let mut got = 0;
    while got < N {
        match file.read_at(&mut bytes[got..], got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(Error::System { what: format!("{}: reading it", path.display()), source });
            }
        }
    }
    Ok((got, bytes, size))
}

/// File systems on which two computers, or a computer and a helper process, may see different bytes or locks.
pub(super) fn refuse_unsuitable_file_system(file: &File, path: &Path) -> Result<()> {
    let kind = nix::sys::statfs::fstatfs(file).map_err(system(format!("{}: fstatfs", path.display())))?;
    match unsuitable_name(kind.filesystem_type().0 as u32) {
        None => Ok(()),
        Some(name) => Err(Error::FileSystem {
            path: path.into(),
            why: format!(
                "it lies on {name}, a network or user-space file system, where mapped memory is not the same for \
                 everyone: put it on a local one, /dev/shm or /run for example"
            ),
        }),
    }
}

/// Returns the name of an unsuitable file system by its magic number (statfs(2), linux/magic.h).
fn unsuitable_name(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x0000_6969 => "NFS",
        0x0000_517B | 0xFE53_4D42 | 0xFF53_4D42 => "SMB/CIFS",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x0102_1997 => "9P",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x6573_5546 => "FUSE",
        0x0116_1970 => "GFS2",
        0x7461_636F => "OCFS2",
        0x4750_4653 => "GPFS",
        0x1983_0326 => "BeeGFS",
        0x2003_0528 => "OrangeFS",
        0x0000_564C => "NCP",
        _ => return None,
    })
}

/// Which users may open a file that we create.
#[derive(Clone, Copy, Debug)]
pub struct Permissions {
    /// The mode bits; none for others.
    pub mode: u32,
    /// The group it is given to, if any.
    pub group: Option<u32>,
}

/// The sticky bit: a program that deletes files for their age leaves one alone that has it (XDG Base Directory
/// Specification, on XDG_RUNTIME_DIR; systemd-tmpfiles does so everywhere).
const NOT_TO_BE_CLEANED_AWAY: u32 = 0o1000;

/// Makes a file of `bytes` bytes, with room on the disk for `parts` of it, has `fill` write it, and only then gives it the name
/// `path`. `None`: another process gave that name to another file first. The file is never seen half-made.
pub fn create_whole(
    path: &Path,
    bytes: u64,
    parts: &[Range<u64>],
    permissions: Permissions,
    fill: impl FnOnce(&File) -> std::io::Result<()>,
) -> Result<Option<File>> {
    let folder = Folder::of(path).map_err(|errno| cannot_create(errno, path))?;
    create_whole_in(&folder, path, bytes, parts, permissions, fill)
}

/// The same in the folder that `path` lies in, which is open.
pub fn create_whole_in(
    folder: &Folder,
    path: &Path,
    bytes: u64,
    parts: &[Range<u64>],
    permissions: Permissions,
    fill: impl FnOnce(&File) -> std::io::Result<()>,
) -> Result<Option<File>> {
    let mode = Mode::from_bits_truncate(permissions.mode);
    let flags = OFlag::O_RDWR | OFlag::O_CLOEXEC;
    let cannot = |errno| cannot_create(errno, path);
    // Unnamed where the file system can, and where it can be given a name later, which goes by way of /proc; else with a
    // name of its own, removed again below.
    let unnamed = match Path::new(OWN_DESCRIPTORS).exists() {
        true => folder.open_unnamed(flags, mode),
        false => Err(Errno::EOPNOTSUPP),
    };
    let (file, temporary) = match unnamed {
        Ok(file) => (file, None),
        Err(Errno::EOPNOTSUPP | Errno::EISDIR | Errno::EINVAL) => {
            let name = Temporary::beside(folder, path);
            let flags = flags | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
            (folder.open(&name.path, flags, mode).map_err(cannot)?, Some(name))
        }
        Err(errno) => return Err(cannot(errno)),
    };
    refuse_unsuitable_file_system(&file, path)?;
    allocation::make(&file, path, bytes, parts)?;
    set_permissions(&file, path, permissions)?;
    fill(&file)
        .map_err(|source| Error::System { what: format!("{}: preparing it", path.display()), source })?;
    let linked = match &temporary {
        None => folder.link(&file, path),
        Some(name) => folder.link_again(&name.path, path),
    };
    match linked {
        Ok(()) => Ok(Some(file)),
        Err(Errno::EEXIST) => Ok(None),
        Err(errno) => Err(cannot(errno)),
    }
}

/// Returns what it means that no file can be created at `path`.
fn cannot_create(errno: Errno, path: &Path) -> Error {
    match errno {
        Errno::EACCES | Errno::EPERM => Error::Permission {
            path: path.into(),
            why: format!(
                "no permission to create a file in {}",
                path.parent().unwrap_or(Path::new("/")).display()
            ),
        },
        Errno::EROFS => {
            Error::FileSystem { path: path.into(), why: "it would lie on a read-only file system".into() }
        }
        errno => system(format!("{}: cannot create it", path.display()))(errno),
    }
}

/// Sets the mode, whatever the umask was: a group that was asked for must be able to take part.
pub(super) fn set_permissions(file: &File, path: &Path, permissions: Permissions) -> Result<()> {
    if let Some(group) = permissions.group {
        std::os::unix::fs::fchown(file, None, Some(group)).map_err(|source| Error::Permission {
            path: path.into(),
            why: format!(
                "cannot give it to group {group} ({source}): you can only share with a group you are in"
            ),
        })?;
    }
    file.set_permissions(std::fs::Permissions::from_mode(permissions.mode | NOT_TO_BE_CLEANED_AWAY))
        .map_err(|source| Error::System { what: format!("{}: setting its mode", path.display()), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_numbers_and_local_ones_pass() {
        for (magic, name) in
            [(0x6969, "NFS"), (0xFF53_4D42, "SMB/CIFS"), (0x0102_1997, "9P"), (0x6573_5546, "FUSE")]
        {
            assert_eq!(unsuitable_name(magic), Some(name));
        }
        // ext4, tmpfs, btrfs, xfs, overlayfs, zfs, f2fs
        for magic in [0xEF53, 0x0102_1994, 0x9123_683E, 0x5846_5342, 0x794C_7630, 0x2FC1_2FC1, 0xF2F5_2010] {
            assert_eq!(unsuitable_name(magic), None);
        }
    }
}
