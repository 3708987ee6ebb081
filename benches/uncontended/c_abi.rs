//! turnlock through its C ABI, in the shared library, as a C program calls it.

use harness::contender::library::Library;
use std::{
    ffi::{CString, c_char, c_void},
    hint::black_box,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr,
    time::Duration,
};

type Handle = *mut c_void;
type OpenFile = unsafe extern "C" fn(*const c_char, *const c_void, *mut Handle) -> i32;
type OpenMutex = unsafe extern "C" fn(Handle, *const c_char, *const c_void, *mut Handle) -> i32;
type OpenParticipant = unsafe extern "C" fn(Handle, *const c_void, *mut Handle) -> i32;
type Take = unsafe extern "C" fn(Handle, *mut c_void) -> i32;
type TakeFor = unsafe extern "C" fn(Handle, u64, *mut c_void) -> i32;
type TakeAs = unsafe extern "C" fn(Handle, Handle, *mut c_void) -> i32;
type Leave = unsafe extern "C" fn(Handle) -> i32;
type LeaveAs = unsafe extern "C" fn(Handle, Handle) -> i32;

#[derive(Clone, Copy)]
pub struct CAbi {
    open_file: OpenFile,
    open_mutex: OpenMutex,
    open_participant: OpenParticipant,
    close: [Leave; 3],
    lock: Take,
    try_lock: Take,
    lock_for: TakeFor,
    lock_as: TakeAs,
    unlock: Leave,
    unlock_as: LeaveAs,
}

/// A mutex in a file of its own, and a participant of that.
#[derive(Clone, Copy)]
pub struct CMutex {
    c: CAbi,
    file: Handle,
    mutex: Handle,
    participant: Handle,
}

impl CAbi {
    /// # Errors
    /// A sentence, if the shared library cannot be loaded.
    pub fn new() -> Result<Self, String> {
        let library = Library::turnlock()?;
        // SAFETY: the types that `include/turnlock.h` gives them.
        unsafe {
            Ok(Self {
                open_file: library.function(c"turnlock_file_open"),
                open_mutex: library.function(c"turnlock_mutex_open"),
                open_participant: library.function(c"turnlock_participant_open"),
                close: [
                    library.function(c"turnlock_participant_close"),
                    library.function(c"turnlock_mutex_close"),
                    library.function(c"turnlock_file_close"),
                ],
                lock: library.function(c"turnlock_mutex_lock"),
                try_lock: library.function(c"turnlock_mutex_try_lock"),
                lock_for: library.function(c"turnlock_mutex_lock_for"),
                lock_as: library.function(c"turnlock_mutex_lock_as"),
                unlock: library.function(c"turnlock_mutex_unlock"),
                unlock_as: library.function(c"turnlock_mutex_unlock_as"),
            })
        }
    }

    pub fn open(self, path: &Path) -> CMutex {
        let path = CString::new(path.as_os_str().as_bytes()).expect("a path has no NUL");
        let (mut file, mut mutex, mut participant) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: strings, NULL options and places for the handles, as the header says.
        unsafe {
            assert_eq!((self.open_file)(path.as_ptr(), ptr::null(), &mut file), 0);
            assert_eq!((self.open_mutex)(file, c"bench".as_ptr(), ptr::null(), &mut mutex), 0);
            assert_eq!((self.open_participant)(file, ptr::null(), &mut participant), 0);
        }
        CMutex { c: self, file, mutex, participant }
    }
}

// The handles are open in all of these until `close`, and there is no place for `acquired`.
impl CMutex {
    #[inline]
    pub fn lock(&self) -> i32 {
        // SAFETY: as above.
        unsafe { (self.c.lock)(black_box(self.mutex), ptr::null_mut()) }
    }

    #[inline]
    pub fn try_lock(&self) -> i32 {
        // SAFETY: as above.
        unsafe { (self.c.try_lock)(black_box(self.mutex), ptr::null_mut()) }
    }

    #[inline]
    pub fn lock_for(&self, limit: Duration) -> i32 {
        // SAFETY: as above.
        unsafe { (self.c.lock_for)(black_box(self.mutex), limit.as_nanos() as u64, ptr::null_mut()) }
    }

    /// Unlocks, after a lock with this status.
    #[inline]
    pub fn unlock_after(&self, locked: i32) {
        // SAFETY: as above.
        assert_eq!((locked, unsafe { (self.c.unlock)(black_box(self.mutex)) }), (0, 0));
    }

    #[inline]
    pub fn lock_and_unlock_as(&self) {
        let (mutex, participant) = black_box((self.mutex, self.participant));
        // SAFETY: as above.
        let locked = unsafe { (self.c.lock_as)(mutex, participant, ptr::null_mut()) };
        // SAFETY: as above.
        assert_eq!((locked, unsafe { (self.c.unlock_as)(mutex, participant) }), (0, 0));
    }

    /// Nobody uses it, or a copy of it, afterwards.
    pub fn close(&self) {
        for (close, handle) in self.c.close.iter().zip([self.participant, self.mutex, self.file]) {
            // SAFETY: opened by `CAbi::open`, and closed once.
            assert_eq!(unsafe { close(handle) }, 0);
        }
    }
}
