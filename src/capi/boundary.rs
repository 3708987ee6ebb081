//! What stands between a C caller and Rust: no panic passes, every failure leaves its sentence.

use crate::error::{Error, Result};
use std::{
    cell::RefCell,
    ffi::{CStr, CString, c_char},
    panic::{AssertUnwindSafe, catch_unwind},
};

struct Last {
    error: Option<Error>,
    text: Option<CString>,
}

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last { error: None, text: None }) };
}

/// Runs the body of a C function: its status, or that of its error, which is kept for
/// [`turnlock_last_error_message`].
#[inline]
pub fn status(body: impl FnOnce() -> Result<i32>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => keep(error),
        Err(panic) => {
            let what = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            keep(Error::Internal(what.or_else(|| panic.downcast_ref().cloned()).unwrap_or_default()))
        }
    }
}

#[cold]
fn keep(error: Error) -> i32 {
    let status = error.code();
    // Not possible in a thread that is ending; the status says enough.
    let _ = LAST.try_with(|last| last.borrow_mut().error = Some(error));
    status
}

/// An error about an argument.
#[cold]
pub fn invalid(why: &str) -> Error {
    Error::InvalidArgument(why.into())
}

/// The text at `text`, which must be a C string of UTF-8.
///
/// # Safety
/// NULL, or a NUL-terminated string.
pub unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    // SAFETY: the caller's promise.
    unsafe { bytes(text, what) }?.to_str().map_err(|_| invalid(&format!("{what} is not UTF-8")))
}

/// The name of a lock at `name`.
///
/// # Safety
/// NULL, or a NUL-terminated string.
pub unsafe fn name<'a>(name: *const c_char) -> Result<&'a str> {
    // SAFETY: the caller's promise.
    let name = unsafe { bytes(name, "the name") }?;
    let bad_name = || Error::BadName { name: name.to_string_lossy().into_owned(), why: "is not UTF-8" };
    name.to_str().map_err(|_| bad_name())
}

/// The string at `text`.
///
/// # Safety
/// NULL, or a NUL-terminated string.
pub unsafe fn bytes<'a>(text: *const c_char, what: &str) -> Result<&'a CStr> {
    if text.is_null() {
        return Err(invalid(&format!("{what} is NULL")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) })
}

/// An options struct of the caller's, which may be of an older or a newer turnlock: what it lacks is 0, and what we do
/// not know must be 0. NULL: all 0.
///
/// # Safety
/// NULL, or at least as many readable bytes as its first member, a `size_t`, says. `T` is such a struct, valid when all
/// bytes are 0 and whatever numbers a caller puts in it.
pub unsafe fn options<T: Copy>(given: *const T, smallest: usize) -> Result<T> {
    // SAFETY: all zeros is a value of T, by the caller's promise.
    let mut known: T = unsafe { std::mem::zeroed() };
    if given.is_null() {
        return Ok(known);
    }
    // SAFETY: `size` comes first in every options struct.
    let size = unsafe { given.cast::<usize>().read() };
    if size < smallest || size > 4096 {
        return Err(invalid(&format!(
            "the size in the options struct is {size}, which no version of it has: set it to sizeof the struct"
        )));
    }
    // SAFETY: `size` bytes are readable, by the caller's promise.
    let given = unsafe { std::slice::from_raw_parts(given.cast::<u8>(), size) };
    let common = size.min(size_of::<T>());
    if given[common..].iter().any(|byte| *byte != 0) {
        return Err(invalid("an option is set that this version of turnlock does not know: use a newer one"));
    }
    // SAFETY: `common` bytes fit in both, and any numbers are a value of T.
    unsafe { std::ptr::copy_nonoverlapping(given.as_ptr(), (&raw mut known).cast(), common) };
    Ok(known)
}

/// What was wrong in the calling thread's last failed turnlock call, in full: which path, what was expected, what to
/// do. Valid until this thread calls turnlock again. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn turnlock_last_error_message() -> *const c_char {
    LAST.try_with(|last| {
        let mut last = last.borrow_mut();
        if let Some(error) = last.error.take() {
            last.text = CString::new(error.to_string().replace('\0', "\u{FFFD}")).ok();
        }
        last.text.as_ref().map_or(c"".as_ptr(), |text| text.as_ptr())
    })
    .unwrap_or(c"".as_ptr())
}
