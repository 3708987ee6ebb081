//! Versions and texts.

use crate::error::status;
use std::ffi::c_char;

/// The ABI version that this header describes. It changes only when a program compiled against an older header could
/// break; the shared library's soname carries the same number.
pub const TURNLOCK_ABI_VERSION: u32 = 3;

/// The ABI version of the library that is loaded: compare it with TURNLOCK_ABI_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn turnlock_abi_version() -> u32 {
    TURNLOCK_ABI_VERSION
}

/// The version of the library that is loaded, as text, such as "0.1.0". Valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn turnlock_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// A one-line sentence for any status, known or not. Valid for ever, never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn turnlock_status_text(status: i32) -> *const c_char {
    status::text_with_nul(status).as_ptr()
}
