//! A page of memory that processes share, in a file.

use std::{fs::OpenOptions, os::fd::AsRawFd, path::Path, ptr::NonNull};

/// Maps the first page of the file, for ever. The first one to open it makes it, full of zeros; returns whether that was this
/// call.
pub fn open<T>(path: &Path) -> Result<(NonNull<T>, bool), String> {
    let text = |error: std::io::Error| format!("{}: {error}", path.display());
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(text)?;
    let is_new = file.metadata().map_err(text)?.len() == 0;
    file.set_len(4096).map_err(text)?;
    // SAFETY: a new mapping, which is kept for ever.
    let page = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), 4096, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    if page == libc::MAP_FAILED {
        return Err(text(std::io::Error::last_os_error()));
    }
    Ok((NonNull::new(page).expect("mmap gives no NULL").cast(), is_new))
}
