//! Disk space for the parts of a lock file, before they are first used.
//!
//! A file is as long as its capacities make it, and has holes where nothing was named or taken yet. Touching a hole in a
//! mapping takes space then and there, and where there is none left the kernel's answer is SIGBUS. So each part is
//! allocated by a call that can fail with an error, before the first look at it.

use super::{signals::without_sigxfsz, system_error::system};
use nix::{
    errno::Errno,
    fcntl::{FallocateFlags, fallocate, posix_fallocate},
};
use std::{
    fs::File,
    ops::Range,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    path::{Path, PathBuf},
};
use turnlock_core::error::{Error, Result};

/// Makes an empty file `bytes` bytes long, with `parts` of it allocated; where the file system cannot allocate a part alone,
/// all of it.
pub fn make(file: &File, path: &Path, bytes: u64, parts: &[Range<u64>]) -> Result<()> {
    without_sigxfsz(|| file.set_len(bytes)).map_err(|source| Error::System {
        what: match source.raw_os_error() {
            Some(libc::EFBIG) => format!(
                "{}: it needs {bytes} bytes, and this process may not make a file so long: raise its limit (ulimit -f, \
                 RLIMIT_FSIZE), or ask for room for fewer participants and locks",
                path.display()
            ),
            _ => format!("{}: cannot make it {bytes} bytes long", path.display()),
        },
        source,
    })?;
    for part in parts {
        match allocate_part(file.as_fd(), part) {
            Ok(()) => {}
            Err(Errno::EOPNOTSUPP) => {
                let whole = posix_fallocate(file, 0, bytes as libc::off_t);
                return whole.map_err(no_space(&|| path.into(), bytes));
            }
            Err(errno) => return Err(no_space(&|| path.into(), part.end - part.start)(errno)),
        }
    }
    Ok(())
}

/// Allocates `parts` of a file that was made by [`make`], for good. What they hold stays as it is.
pub fn allocate(file: BorrowedFd, path: &dyn Fn() -> PathBuf, parts: &[Range<u64>]) -> Result<()> {
    for part in parts {
        match allocate_part(file, part) {
            // All of it was allocated when it was made.
            Ok(()) | Err(Errno::EOPNOTSUPP) => {}
            Err(errno) => return Err(no_space(path, part.end - part.start)(errno)),
        }
    }
    Ok(())
}

fn allocate_part(file: BorrowedFd, part: &Range<u64>) -> nix::Result<()> {
    loop {
        // A file that was truncated meanwhile stays as short as it is, so that it is noticed. Not posix_fallocate: where the
        // system call is missing it writes zeros, over what others write meanwhile.
        let given = fallocate(
            file,
            FallocateFlags::FALLOC_FL_KEEP_SIZE,
            part.start as libc::off_t,
            (part.end - part.start) as libc::off_t,
        );
        if given != Err(Errno::EINTR) {
            return given;
        }
    }
}

fn no_space(path: &dyn Fn() -> PathBuf, bytes: u64) -> impl FnOnce(Errno) -> Error {
    move |errno| match errno {
        Errno::ENOSPC | Errno::EDQUOT => Error::NoSpace { path: path(), bytes },
        errno => system(format!("{}: allocating {bytes} bytes of it", path().display()))(errno),
    }
}

/// Returns how many of the records of a table, `count` of the same size, were ever used: one more than the last that begins
/// with anything but 16 zeros.
pub fn used_records(
    file: BorrowedFd,
    path: &dyn Fn() -> PathBuf,
    table: Range<u64>,
    count: u32,
) -> Result<u32> {
    let each = (table.end - table.start) / u64::from(count);
    for record in (0..count).rev() {
        let mut beginning = [0u64; 2];
        let at = (table.start + u64::from(record) * each) as libc::off_t;
        // SAFETY: the buffer is ours, and as long as we say.
        let got = unsafe {
            libc::pread(file.as_raw_fd(), beginning.as_mut_ptr().cast(), size_of_val(&beginning), at)
        };
        Errno::result(got).map_err(system(format!("{}: reading it", path().display())))?;
        if beginning != [0, 0] {
            return Ok(record + 1);
        }
    }
    Ok(0)
}
