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
use turnlock::capi::turnlock_request;

type Handle = *mut c_void;
type OpenFile = unsafe extern "C" fn(*const c_char, *const c_void, *mut Handle) -> i32;
type OpenMutex = unsafe extern "C" fn(Handle, *const c_char, *const c_void, *mut Handle) -> i32;
type OpenHold = unsafe extern "C" fn(Handle, *const c_void, *mut Handle) -> i32;
type Take = unsafe extern "C" fn(Handle, *mut c_void) -> i32;
type TakeFor = unsafe extern "C" fn(Handle, u64, *mut c_void) -> i32;
type Acquire = unsafe extern "C" fn(Handle, *const turnlock_request, *mut c_void) -> i32;
type Leave = unsafe extern "C" fn(Handle) -> i32;
type TakePermits = unsafe extern "C" fn(Handle, u32, *mut c_void) -> i32;
type LeavePermits = unsafe extern "C" fn(Handle, u32) -> i32;

#[derive(Clone, Copy)]
pub struct CAbi {
    open_file: OpenFile,
    open_mutex: OpenMutex,
    open_rwlock: OpenMutex,
    open_semaphore: OpenMutex,
    open_hold: OpenHold,
    close: [Leave; 5],
    lock: Take,
    try_lock: Take,
    lock_for: TakeFor,
    acquire: Acquire,
    unlock: Leave,
    lock_in: [Take; 2],
    unlock_rwlock: Leave,
    take_permits: TakePermits,
    leave_permits: LeavePermits,
    release: Leave,
}

/// What a hold acquires.
#[derive(Clone, Copy)]
pub enum Held {
    Mutex,
    Read,
    Write,
    Permit,
}

/// A mutex in a file of its own, a rwlock and a semaphore beside it, a hold of that, and what the hold is to acquire.
#[derive(Clone, Copy)]
pub struct CMutex {
    c: CAbi,
    file: Handle,
    mutex: Handle,
    rwlock: Handle,
    semaphore: Handle,
    hold: Handle,
    requests: [turnlock_request; 4],
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
                open_rwlock: library.function(c"turnlock_rwlock_open"),
                open_semaphore: library.function(c"turnlock_semaphore_open"),
                open_hold: library.function(c"turnlock_hold_open"),
                close: [
                    library.function(c"turnlock_hold_close"),
                    library.function(c"turnlock_semaphore_close"),
                    library.function(c"turnlock_rwlock_close"),
                    library.function(c"turnlock_mutex_close"),
                    library.function(c"turnlock_file_close"),
                ],
                lock: library.function(c"turnlock_mutex_lock"),
                try_lock: library.function(c"turnlock_mutex_try_lock"),
                lock_for: library.function(c"turnlock_mutex_lock_for"),
                acquire: library.function(c"turnlock_hold_acquire"),
                unlock: library.function(c"turnlock_mutex_unlock"),
                lock_in: [
                    library.function(c"turnlock_rwlock_lock_shared"),
                    library.function(c"turnlock_rwlock_lock_exclusive"),
                ],
                unlock_rwlock: library.function(c"turnlock_rwlock_unlock"),
                take_permits: library.function(c"turnlock_semaphore_acquire"),
                leave_permits: library.function(c"turnlock_semaphore_release"),
                release: library.function(c"turnlock_hold_release"),
            })
        }
    }

    pub fn open(self, path: &Path) -> CMutex {
        let path = CString::new(path.as_os_str().as_bytes()).expect("a path has no NUL");
        let (mut file, mut mutex, mut hold) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let (mut rwlock, mut semaphore) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: strings, NULL options and places for the handles, as the header says.
        unsafe {
            assert_eq!((self.open_file)(path.as_ptr(), ptr::null(), &mut file), 0);
            assert_eq!((self.open_mutex)(file, c"bench".as_ptr(), ptr::null(), &mut mutex), 0);
            assert_eq!((self.open_rwlock)(file, c"rwlock".as_ptr(), ptr::null(), &mut rwlock), 0);
            assert_eq!((self.open_semaphore)(file, c"semaphore".as_ptr(), ptr::null(), &mut semaphore), 0);
            assert_eq!((self.open_hold)(file, ptr::null(), &mut hold), 0);
        }
        let request = |lock: Handle, mode| turnlock_request {
            size: size_of::<turnlock_request>(),
            lock: lock.cast(),
            mode,
            flags: 0,
            permits: 0,
            wait: 0,
            time_ns: 0,
            ranges: ptr::null(),
            range_count: 0,
            keys: ptr::null(),
            key_count: 0,
            group: 0,
        };
        // TURNLOCK_MODE_SHARED is 1. In the order of `Held`.
        let requests = [request(mutex, 0), request(rwlock, 1), request(rwlock, 0), request(semaphore, 0)];
        CMutex { c: self, file, mutex, rwlock, semaphore, hold, requests }
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
    pub fn read(&self) {
        self.in_mode(self.c.lock_in[0]);
    }

    #[inline]
    pub fn write(&self) {
        self.in_mode(self.c.lock_in[1]);
    }

    #[inline]
    fn in_mode(&self, lock: Take) {
        let rwlock = black_box(self.rwlock);
        // SAFETY: as above.
        assert_eq!(unsafe { (lock(rwlock, ptr::null_mut()), (self.c.unlock_rwlock)(rwlock)) }, (0, 0));
    }

    #[inline]
    pub fn permit(&self) {
        let semaphore = black_box(self.semaphore);
        // SAFETY: as above.
        let took = unsafe { (self.c.take_permits)(semaphore, 1, ptr::null_mut()) };
        // SAFETY: as above.
        assert_eq!((took, unsafe { (self.c.leave_permits)(semaphore, 1) }), (0, 0));
    }

    #[inline]
    pub fn acquire_and_release(&self, held: Held) {
        let (hold, request) = black_box((self.hold, &raw const self.requests[held as usize]));
        // SAFETY: as above.
        let locked = unsafe { (self.c.acquire)(hold, request, ptr::null_mut()) };
        // SAFETY: as above.
        assert_eq!((locked, unsafe { (self.c.release)(hold) }), (0, 0));
    }

    /// It is not used, nor is a copy of it, afterwards.
    pub fn close(&self) {
        let handles = [self.hold, self.semaphore, self.rwlock, self.mutex, self.file];
        for (close, handle) in self.c.close.iter().zip(handles) {
            // SAFETY: opened by `CAbi::open`, and closed once.
            assert_eq!(unsafe { close(handle) }, 0);
        }
    }
}
