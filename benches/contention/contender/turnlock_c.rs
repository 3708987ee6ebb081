//! turnlock through its C ABI, in the shared library, as a C program calls it.

use super::{Lock, library::Library, turnlock_rust};
use harness::place::Place;
use std::{
    any::Any,
    ffi::{c_char, c_void},
    ptr,
};
use turnlock::LockFile;

type OpenFile = unsafe extern "C" fn(*const c_char, *const c_void, *mut *mut c_void) -> i32;
type OpenMutex = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void, *mut *mut c_void) -> i32;
type LockMutex = unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32;
type UnlockMutex = unsafe extern "C" fn(*mut c_void) -> i32;

pub struct Family {
    open_file: OpenFile,
    open_mutex: OpenMutex,
    lock: LockMutex,
    unlock: UnlockMutex,
}

impl Family {
    pub fn new() -> Result<Self, String> {
        let library = Library::turnlock()?;
        // SAFETY: the types that `include/turnlock.h` gives them.
        unsafe {
            Ok(Self {
                open_file: library.function(c"turnlock_file_open"),
                open_mutex: library.function(c"turnlock_mutex_open"),
                lock: library.function(c"turnlock_mutex_lock"),
                unlock: library.function(c"turnlock_mutex_unlock"),
            })
        }
    }
}

impl super::Family for Family {
    type Lock = Attached;

    fn attach(&self, place: &Place, _: usize) -> Attached {
        let (mut file, mut mutex) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: strings, NULL options and places for the handles, as the header says.
        unsafe {
            assert_eq!((self.open_file)(place.c_path().as_ptr(), ptr::null(), &mut file), 0);
            assert_eq!((self.open_mutex)(file, c"bench".as_ptr(), ptr::null(), &mut mutex), 0);
        }
        Attached { mutex, lock: self.lock, unlock: self.unlock }
    }

    fn idle(&self, place: &Place, participants: usize) -> Option<Box<dyn Any>> {
        let file = LockFile::open(place.path()).unwrap();
        Some(turnlock_rust::idle(&file, participants))
    }
}

/// Its handles live as long as the worker.
pub struct Attached {
    mutex: *mut c_void,
    lock: LockMutex,
    unlock: UnlockMutex,
}

impl Lock for Attached {
    type Held<'a> = ();

    #[inline]
    fn lock(&self) {
        // SAFETY: a mutex handle, and no place for `acquired`.
        let status = unsafe { (self.lock)(self.mutex, ptr::null_mut()) };
        assert_eq!(status, 0);
    }

    #[inline]
    fn unlock(&self, (): ()) {
        // SAFETY: a mutex handle.
        let status = unsafe { (self.unlock)(self.mutex) };
        assert_eq!(status, 0);
    }
}
