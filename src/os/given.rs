//! A lock file that is given by a descriptor: a memfd, or a file that came over a socket or by inheritance.
//!
//! The open file behind a descriptor is shared by all processes that inherited or received it, and with it every byte
//! lock that it holds. So nothing is ever locked through the one that was given: the file is opened anew, by way of
//! `/proc`, and the descriptor stays the caller's.

use super::{
    allocation,
    anchor::{OWN_DESCRIPTORS, open_again},
    byte_lock,
    file::{self, Access, Permissions},
    fork::ForkGuard,
    identity,
    signals::without_sigxfsz,
};
use crate::layout::RENEWAL_BYTE;
use nix::errno::Errno;
use std::{
    fs::File,
    ops::Range,
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::fs::{FileExt, MetadataExt},
    },
    path::{Path, PathBuf},
    time::Duration,
};
use turnlock_core::error::{Error, Result};
use turnlock_core::trace::{self, Step};

/// A file that was opened anew.
pub struct Given {
    /// An open file of its own.
    pub file: File,
    /// What the kernel calls it, for people.
    pub name: PathBuf,
    /// It has no name: only a process that is given a descriptor can open it.
    pub nameless: bool,
}

/// Opens anew the file that `given` is a descriptor of; changes nothing.
pub fn open_given(given: BorrowedFd, access: Access) -> Result<Given> {
    let number = given.as_raw_fd();
    let name = name_of(number);
    let known = identity::look_at(number).ok_or_else(|| {
        Error::InvalidArgument(format!(
            "{number} is no open descriptor: give one of a lock file, or of an empty file"
        ))
    })?;
    check_access(number, &name, access)?;
    let opened = open_again(number, access.flags()).map_err(|errno| match errno {
        Errno::EISDIR => file::open_error(errno, &name),
        Errno::ENXIO | Errno::ENODEV | Errno::ETXTBSY => file::not_regular(name.clone()),
        Errno::EACCES | Errno::EPERM => Error::Permission {
            path: name.clone(),
            why: format!(
                "the descriptor is open, but its file's mode ({:03o}) does not let this process open it anew, which taking \
                 part needs: its creator must allow this user or group to read and write it (fchmod, fchown)",
                known.mode & 0o777
            ),
        },
        errno => Error::System {
            what: format!(
                "{}: opening a lock file by its descriptor goes by way of {OWN_DESCRIPTORS}, where /proc must be mounted",
                name.display()
            ),
            source: errno.into(),
        },
    })?;
    // SAFETY: opened above, for this alone.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(opened.into_number()) });
    if identity::of(&file, &name)? != known.identity {
        return Err(Error::Replaced { path: name });
    }
    let meta = file::metadata(&file, &name)?;
    if meta.is_dir() {
        return Err(file::open_error(Errno::EISDIR, &name));
    } else if !meta.is_file() {
        return Err(file::not_regular(name));
    }
    file::refuse_unsuitable_file_system(&file, &name)?;
    Ok(Given { file, nameless: meta.nlink() == 0, name })
}

/// Returns what the kernel calls the file: its path, or `/memfd:NAME (deleted)`.
fn name_of(descriptor: RawFd) -> PathBuf {
    let link = std::fs::read_link(format!("{OWN_DESCRIPTORS}/{descriptor}"));
    link.unwrap_or_else(|_| format!("descriptor {descriptor}").into())
}

/// A process that was given a file for reading only must not come to write it by way of `/proc`.
fn check_access(descriptor: RawFd, name: &Path, access: Access) -> Result<()> {
    // SAFETY: takes numbers only.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    let allowed = match (access, flags & libc::O_ACCMODE) {
        _ if flags < 0 || flags & libc::O_PATH != 0 => false,
        (_, libc::O_RDWR) => true,
        (Access::Read, mode) => mode == libc::O_RDONLY,
        (Access::ReadWrite, _) => false,
    };
    if allowed {
        return Ok(());
    }
    let what = if access == Access::Read { "reading" } else { "reading and writing" };
    Err(Error::InvalidArgument(format!(
        "{}: descriptor {descriptor} is not open for {what}: open it so before it is handed on",
        name.display()
    )))
}

/// What stands at the beginning of a file while it is made in place.
const UNDER_CONSTRUCTION: &[u8; 8] = b"turnmake";
/// How long another process may be making it before it counts as stopped.
const LOOKS: u32 = 5_000;
const BETWEEN_THEM: Duration = Duration::from_millis(1);

/// Returns whether the file is still to be made: it is empty, or its maker died.
pub fn is_to_be_made(start: &[u8], size: u64) -> bool {
    size == 0 || start.starts_with(UNDER_CONSTRUCTION)
}

/// Makes a lock file of an empty one, unless another process does so first. It is one as soon as it begins with what `fill`
/// wrote there last, and until then it is not taken for one; should this process die meanwhile, the next one begins again.
///
/// `permissions`: unless they are asked for, a file without a name keeps those it has, since only a descriptor leads to it.
pub fn make_in_place(
    given: &Given,
    bytes: u64,
    parts: &[Range<u64>],
    permissions: Option<Permissions>,
    fill: impl Fn(&File) -> std::io::Result<()>,
) -> Result<()> {
    let Given { file, name, .. } = given;
    let byte = RENEWAL_BYTE..RENEWAL_BYTE + 1;
    for _ in 0..LOOKS {
        // No fork in between: a child's copy of the descriptor would keep the lock.
        let fork_guard = ForkGuard::enter();
        if byte_lock::try_lock(file, byte.clone())? {
            let (_, start, size) = file::read_start::<8>(file, name)?;
            let made = if is_to_be_made(&start, size) {
                make(given, bytes, parts, permissions, &fill)
            } else {
                Ok(())
            };
            let unlocked = byte_lock::unlock(file, byte);
            return made.and(unlocked);
        }
        drop(fork_guard);
        std::thread::sleep(BETWEEN_THEM);
    }
    Err(Error::Damaged {
        path: name.clone(),
        why: format!(
            "another process has been making it for {:?}, which takes milliseconds otherwise: a process is stopped while it makes \
             the file; continue it or end it",
            BETWEEN_THEM * LOOKS
        ),
    })
}

fn make(
    Given { file, name, .. }: &Given,
    bytes: u64,
    parts: &[Range<u64>],
    permissions: Option<Permissions>,
    fill: impl Fn(&File) -> std::io::Result<()>,
) -> Result<()> {
    let cannot = |source: std::io::Error| {
        match source.kind() {
        std::io::ErrorKind::PermissionDenied => Error::Permission {
            path: name.clone(),
            why: "it cannot be written to, or its size cannot be changed: seal a memfd after it was made a lock file, and \
                  against changes of its size only (F_SEAL_SHRINK, F_SEAL_GROW)"
                .into(),
        },
        _ => Error::System { what: format!("{}: preparing it", name.display()), source },
    }
    };
    // Of whatever a process that died making it has left.
    without_sigxfsz(|| file.set_len(0).and_then(|()| file.write_all_at(UNDER_CONSTRUCTION, 0)))
        .map_err(cannot)?;
    trace::at(Step::Make);
    let made = allocation::make(file, name, bytes, parts)
        .and_then(|()| permissions.map_or(Ok(()), |wanted| file::set_permissions(file, name, wanted)))
        .and_then(|()| fill(file).map_err(cannot));
    if made.is_err() {
        // As it was. If that fails too, the next one begins again all the same.
        let _ = file.set_len(0);
    }
    made
}
