//! Versions and texts.

use std::ffi::c_char;
use turnlock_core::error::status;

/// The ABI version that this header describes. It changes only when a program compiled against an older header could
/// break; the shared library's soname carries the same number.
pub const TURNLOCK_ABI_VERSION: u32 = 4;

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

/// The version of the library that is loaded, as a number to compare with TURNLOCK_VERSION_NUMBER: major x 1,000,000 +
/// minor x 1,000 + patch.
#[unsafe(no_mangle)]
pub extern "C" fn turnlock_version_number() -> u32 {
    const NUMBER: u32 = number(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + number(env!("CARGO_PKG_VERSION_MINOR")) * 1_000
        + number(env!("CARGO_PKG_VERSION_PATCH"));
    NUMBER
}

const fn number(digits: &str) -> u32 {
    match u32::from_str_radix(digits, 10) {
        Ok(number) if number < 1000 => number,
        _ => panic!("each part of the version has at most three digits"),
    }
}

/// A one-line sentence for any status, known or not. Valid for ever, never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn turnlock_status_text(status: i32) -> *const c_char {
    status::text_with_nul(status).as_ptr()
}
