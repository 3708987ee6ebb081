//! Pages that the kernel fills with zeros in every forked child.

use memmap2::MmapMut;
use std::ptr::NonNull;
use turnlock_core::error::{Error, Result};

/// Returns a page of zeros that is a page of zeros again in every forked child. Never unmapped.
pub fn wiped_page() -> Result<NonNull<u8>> {
    let system = |source| Error::System { what: "mapping a page for this process".into(), source };
    let page = MmapMut::map_anon(4096).map_err(system)?;
    let page = Box::leak(Box::new(page)).as_mut_ptr();
    // SAFETY: the page is ours, whole, private and anonymous, and never unmapped.
    if unsafe { libc::madvise(page.cast(), 4096, libc::MADV_WIPEONFORK) } != 0 {
        return Err(Error::Unsupported("MADV_WIPEONFORK: turnlock needs Linux 4.14 or newer"));
    }
    NonNull::new(page).ok_or_else(|| Error::Internal("a page at NULL".into()))
}
