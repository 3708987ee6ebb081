//! Handles of the C ABI, as the tests have them: opened, and closed when dropped.

use std::{
    ffi::{CStr, CString},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr,
};
use turnlock::{capi::*, status::*};

/// A handle of the C ABI, closed when dropped.
pub struct Owned<T> {
    pub handle: *mut T,
    close: unsafe extern "C" fn(*mut T) -> i32,
}

// SAFETY: the C ABI says that any thread may use its handles.
unsafe impl<T> Send for Owned<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Owned<T> {}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: a handle that is not used any more. Closed already, or still held: then nothing happens.
        unsafe { (self.close)(self.handle) };
    }
}

pub fn opened<T>(
    close: unsafe extern "C" fn(*mut T) -> i32,
    open: impl FnOnce(*mut *mut T) -> i32,
) -> Result<Owned<T>, i32> {
    let mut handle = ptr::null_mut();
    match open(&mut handle) {
        TURNLOCK_OK => Ok(Owned { handle, close }),
        failure => {
            assert!(handle.is_null(), "outputs are written only on success");
            Err(failure)
        }
    }
}

pub fn open_file(path: &Path, participants: u32, locks: u32) -> Result<Owned<turnlock_file>, i32> {
    open_file_with(path, &file_options(participants, locks))
}

pub fn open_file_with(path: &Path, options: &turnlock_file_options) -> Result<Owned<turnlock_file>, i32> {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a C string, an options struct of the right size, and a place for the handle.
    opened(turnlock_file_close, |file| unsafe { turnlock_file_open(path.as_ptr(), options, file) })
}

pub fn file_options(participants: u32, locks: u32) -> turnlock_file_options {
    turnlock_file_options {
        size: size_of::<turnlock_file_options>(),
        participants,
        locks,
        mode: 0,
        group: 0,
        flags: 0,
        mailboxes: 0,
        label: ptr::null(),
        should_stop_waiting: None,
        context: ptr::null_mut(),
        recorded_events: 0,
        reserved: 0,
    }
}

pub fn open_mutex(file: &Owned<turnlock_file>, name: &CStr) -> Result<Owned<turnlock_mutex>, i32> {
    // SAFETY: a file handle, a C string, and a place for the handle.
    opened(turnlock_mutex_close, |mutex| unsafe {
        turnlock_mutex_open(file.handle, name.as_ptr(), ptr::null(), mutex)
    })
}

pub fn open_ring(file: &Owned<turnlock_file>, name: &CStr) -> Result<Owned<turnlock_ring>, i32> {
    // SAFETY: a file handle, a C string, and a place for the handle.
    opened(turnlock_ring_close, |ring| unsafe {
        turnlock_ring_open(file.handle, name.as_ptr(), ptr::null(), ring)
    })
}

pub fn open_hold(file: &Owned<turnlock_file>) -> Result<Owned<turnlock_hold>, i32> {
    // SAFETY: a file handle and a place for the handle.
    opened(turnlock_hold_close, |hold| unsafe { turnlock_hold_open(file.handle, ptr::null(), hold) })
}

pub fn current_hold(file: &Owned<turnlock_file>) -> Result<Owned<turnlock_hold>, i32> {
    // SAFETY: a file handle and a place for the handle.
    opened(turnlock_hold_close, |hold| unsafe { turnlock_hold_of_thread(file.handle, hold) })
}

/// The sentence of this thread's last failure.
pub fn last_message() -> String {
    // SAFETY: never NULL, and valid until the next call.
    unsafe { CStr::from_ptr(turnlock_last_error_message()) }.to_str().unwrap().to_owned()
}

/// A struct to be filled in, all zeros but for its size.
pub fn sized<T: Copy>() -> T {
    let mut empty = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: the structs of the ABI are made of numbers, and the first is a size_t.
    unsafe {
        empty.as_mut_ptr().cast::<usize>().write(size_of::<T>());
        empty.assume_init()
    }
}
