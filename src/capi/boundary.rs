//! What stands between a C caller and Rust: no panic passes, every failure leaves its sentence.

use crate::os::{
    memory::WithoutMalloc,
    signals::CancellationDisabled,
    thread_end::{self, Ending},
};
use std::{
    cell::{Cell, RefCell},
    ffi::{CStr, CString, c_char},
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind},
};
use turnlock_core::error::{Error, LockedBy, Result};

/// This thread's last failure: a status alone, where that says all and nothing was allocated for it, or an error.
/// So a call from a signal handler that fails with "you have it already" leaves the memory of the program alone.
struct Last {
    status: Cell<i32>,
    /// What belongs to it, if it says that the lock is taken or that the time is over.
    locked_by: Cell<LockedBy>,
    error: RefCell<Option<Error>>,
    text: RefCell<Option<CString>>,
}

thread_local! {
    // Without a destructor: those of a thread's variables come too early, see `os::thread_end`.
    static LAST: ManuallyDrop<Last> = const {
        ManuallyDrop::new(Last {
            status: Cell::new(0),
            locked_by: Cell::new(LockedBy::UNKNOWN),
            error: RefCell::new(None),
            text: RefCell::new(None),
        })
    };
}

/// Runs the body of a C function: its status, or that of its error, which is kept for
/// [`turnlock_last_error_message`]. The thread is not cancelled meanwhile.
#[inline]
pub fn status(body: impl FnOnce() -> Result<i32>) -> i32 {
    let _no_cancellation = CancellationDisabled::new();
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => keep(error),
        Err(panic) => {
            let what = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            keep(Error::Internal(what.or_else(|| panic.downcast_ref().cloned()).unwrap_or_default()))
        }
    }
}

/// [`status`], of a call that a signal handler may make: it neither takes memory from `malloc` nor gives any back.
#[inline]
pub fn status_in_handler(body: impl FnOnce() -> Result<i32>) -> i32 {
    let _without_malloc = WithoutMalloc::new();
    status(body)
}

#[cold]
fn keep(error: Error) -> i32 {
    let status = error.code();
    LAST.with(|last| {
        // Without the memory for a hook the error would never be freed; in the midst of another call (we are in a
        // signal handler then) there is no place for it. The status says enough.
        if Error::of_status(status).is_none()
            && thread_end::tell_at_end(forget_last).is_ok()
            && let Ok(mut place) = last.error.try_borrow_mut()
        {
            last.status.set(0);
            *place = Some(error);
        } else {
            last.status.set(status);
            if let Error::WouldBlock(by) | Error::TimedOut(by) = error {
                last.locked_by.set(by);
            }
        }
    });
    status
}

/// A thread that ends has no last failure any more.
fn forget_last(ending: Ending) -> bool {
    if ending != Ending::ProcessEnds {
        LAST.with(|last| {
            last.error.take();
            last.text.take();
        });
    }
    false
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
    // SAFETY: the caller's promise.
    unsafe { sized(given, smallest, "options struct") }
}

/// [`options`], of a struct that is called `what`.
///
/// # Safety
/// As [`options`].
pub unsafe fn sized<T: Copy>(given: *const T, smallest: usize, what: &str) -> Result<T> {
    // SAFETY: all zeros is a value of T, by the caller's promise.
    let mut known: T = unsafe { std::mem::zeroed() };
    if given.is_null() {
        return Ok(known);
    }
    // SAFETY: `size` comes first in every options struct.
    let size = unsafe { given.cast::<usize>().read() };
    if size < smallest || size > 4096 {
        return Err(invalid(&format!(
            "the size in the {what} is {size}, which no version of it has: set it to sizeof the struct"
        )));
    }
    // SAFETY: `size` bytes are readable, by the caller's promise.
    let given = unsafe { std::slice::from_raw_parts(given.cast::<u8>(), size) };
    let common = size.min(size_of::<T>());
    if given[common..].iter().any(|byte| *byte != 0) {
        return Err(invalid(&format!(
            "something is set in the {what} that this version of turnlock does not know: use a newer one"
        )));
    }
    // SAFETY: `common` bytes fit in both, and any numbers are a value of T.
    unsafe { std::ptr::copy_nonoverlapping(given.as_ptr(), (&raw mut known).cast(), common) };
    Ok(known)
}

/// Returns whether a struct of the caller's can be filled in. It may be of an older or a newer turnlock.
///
/// # Safety
/// NULL, or readable as far as its first member, a `size_t`.
#[inline]
pub unsafe fn check_output<T>(place: *const T, smallest: usize) -> Result<()> {
    if place.is_null() {
        return Ok(());
    }
    // SAFETY: `size` comes first in every struct of the ABI that has one.
    let size = unsafe { place.cast::<usize>().read() };
    if size < smallest || size > 4096 {
        return Err(invalid(&format!(
            "the size in the struct to be filled in is {size}, which no version of it has: set it to sizeof the struct"
        )));
    }
    Ok(())
}

/// Fills in a struct of the caller's: what it has no room for is left out, and what we do not know is 0. Its size stays.
///
/// # Safety
/// Checked by [`check_output`], and writable as far as its size says. `T` is such a struct, made of numbers.
pub unsafe fn fill_in<T: Copy>(place: *mut T, told: &T) {
    const SIZE: usize = size_of::<usize>();
    // SAFETY: as in `check_output`.
    let size = unsafe { place.cast::<usize>().read() };
    let common = size.min(size_of::<T>());
    // SAFETY: both have `common` bytes, and the caller's `size`.
    unsafe {
        let (to, from) = (place.cast::<u8>(), std::ptr::from_ref(told).cast::<u8>());
        std::ptr::copy_nonoverlapping(from.add(SIZE), to.add(SIZE), common - SIZE);
        std::ptr::write_bytes(to.add(common), 0, size - common);
    }
}

/// What was wrong in the calling thread's last failed turnlock call, in full: which path, what was expected, what to
/// do; of a time-out or a failed try, who has the lock and since when. Valid until this thread calls turnlock again. Never
/// NULL.
#[unsafe(no_mangle)]
pub extern "C" fn turnlock_last_error_message() -> *const c_char {
    LAST.with(|last| {
        let (Ok(mut error), Ok(mut text)) = (last.error.try_borrow_mut(), last.text.try_borrow_mut()) else {
            return c"".as_ptr();
        };
        let known = Error::of_status(last.status.take()).map(|error| match error {
            Error::WouldBlock(_) => Error::WouldBlock(last.locked_by.get()),
            Error::TimedOut(_) => Error::TimedOut(last.locked_by.get()),
            error => error,
        });
        let Ok(()) = thread_end::tell_at_end(forget_last) else { return c"".as_ptr() };
        // One from before it was not freed when it came.
        let older = error.take();
        if let Some(error) = known.or(older) {
            *text = CString::new(error.to_string().replace('\0', "\u{FFFD}")).ok();
        }
        text.as_ref().map_or(c"".as_ptr(), |text| text.as_ptr())
    })
}
