//! Memory that its source has zeroed.

use std::{alloc::Layout, ptr};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::AtomicU64;

/// So many words, all 0. Those that are never touched cost no memory, as a rule: the allocator has zeroed pages.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn zeroed_words(count: usize) -> Result<Box<[AtomicU64]>> {
    let layout = Layout::array::<AtomicU64>(count.max(1)).map_err(|_| Error::OutOfMemory)?;
    // SAFETY: the layout is not empty.
    let words = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<AtomicU64>();
    if words.is_null() {
        return Err(Error::OutOfMemory);
    }
    // SAFETY: allocated just now for so many words (one at least), with the layout that the box will give back; all zeros
    // is a value of each.
    Ok(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(words, count.max(1))) })
}
