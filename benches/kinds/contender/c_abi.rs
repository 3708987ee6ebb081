//! turnlock through its C ABI, in the shared library, as a C program calls it. Handles live as long as the worker.

use super::{Family, parts, semaphore};
use crate::{cell::Cell, worker::Lock};
use harness::{contender::library::Library, place::Place};
use std::{
    ffi::{CStr, c_char, c_void},
    hint::black_box,
    ptr,
};

type Handle = *mut c_void;
type OpenFile = unsafe extern "C" fn(*const c_char, *const c_void, *mut Handle) -> i32;
type OpenLock = unsafe extern "C" fn(Handle, *const c_char, *const c_void, *mut Handle) -> i32;
type Take = unsafe extern "C" fn(Handle, *mut c_void) -> i32;
type Leave = unsafe extern "C" fn(Handle) -> i32;
type Enter = unsafe extern "C" fn(Handle, u64, *mut c_void) -> i32;
type Acquire = unsafe extern "C" fn(Handle, u32, *mut c_void) -> i32;
type Release = unsafe extern "C" fn(Handle, u32) -> i32;
type TakeKey = unsafe extern "C" fn(Handle, *const c_void, usize, *mut c_void) -> i32;
type LeaveKey = unsafe extern "C" fn(Handle, *const c_void, usize) -> i32;

/// The two functions that open a file, and a lock in it.
struct Open {
    file: OpenFile,
    lock: OpenLock,
}

impl Open {
    fn new(library: &Library, lock: &CStr) -> Self {
        // SAFETY: the types that `include/turnlock.h` gives them.
        unsafe { Self { file: library.function(c"turnlock_file_open"), lock: library.function(lock) } }
    }

    /// `options`: NULL, or those of this kind of lock.
    fn open(&self, place: &Place, options: *const c_void) -> Handle {
        let (mut file, mut lock) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: strings, options and places for the handles, as the header says.
        unsafe {
            assert_eq!((self.file)(place.c_path().as_ptr(), ptr::null(), &mut file), 0);
            assert_eq!((self.lock)(file, c"bench".as_ptr(), options, &mut lock), 0);
        }
        lock
    }
}

pub struct RwLock {
    open: Open,
    take: [Take; 2],
    unlock: Leave,
}

impl RwLock {
    /// # Errors
    /// A sentence, if the shared library cannot be loaded.
    pub fn new() -> Result<Self, String> {
        let library = Library::turnlock()?;
        let open = Open::new(&library, c"turnlock_rwlock_open");
        // SAFETY: the types that `include/turnlock.h` gives them.
        unsafe {
            let take = [
                library.function(c"turnlock_rwlock_lock_shared"),
                library.function(c"turnlock_rwlock_lock_exclusive"),
            ];
            Ok(Self { open, take, unlock: library.function(c"turnlock_rwlock_unlock") })
        }
    }
}

impl Family for RwLock {
    type Lock = RwLockAttached;

    fn attach(&self, place: &Place, _: &Cell, _: usize) -> RwLockAttached {
        RwLockAttached { rwlock: self.open.open(place, ptr::null()), take: self.take, unlock: self.unlock }
    }
}

pub struct RwLockAttached {
    rwlock: Handle,
    take: [Take; 2],
    unlock: Leave,
}

impl Lock for RwLockAttached {
    #[inline]
    fn with(&self, writes: bool, section: impl FnOnce()) {
        let rwlock = black_box(self.rwlock);
        // SAFETY: a rwlock handle, and no place for `acquired`.
        assert_eq!(unsafe { self.take[usize::from(writes)](rwlock, ptr::null_mut()) }, 0);
        section();
        // SAFETY: as above.
        assert_eq!(unsafe { (self.unlock)(rwlock) }, 0);
    }
}

pub struct GroupLock {
    open: Open,
    enter: Enter,
    unlock: Leave,
}

impl GroupLock {
    /// # Errors
    /// A sentence, if the shared library cannot be loaded.
    pub fn new() -> Result<Self, String> {
        let library = Library::turnlock()?;
        let open = Open::new(&library, c"turnlock_grouplock_open");
        // SAFETY: the types that `include/turnlock.h` gives them.
        unsafe {
            let enter = library.function(c"turnlock_grouplock_lock");
            Ok(Self { open, enter, unlock: library.function(c"turnlock_grouplock_unlock") })
        }
    }
}

impl Family for GroupLock {
    type Lock = GroupLockAttached;

    fn attach(&self, place: &Place, cell: &Cell, worker: usize) -> GroupLockAttached {
        let lock = self.open.open(place, ptr::null());
        GroupLockAttached { lock, group: cell.group(worker), enter: self.enter, unlock: self.unlock }
    }
}

pub struct GroupLockAttached {
    lock: Handle,
    group: u64,
    enter: Enter,
    unlock: Leave,
}

impl Lock for GroupLockAttached {
    #[inline]
    fn with(&self, _: bool, section: impl FnOnce()) {
        let lock = black_box(self.lock);
        // SAFETY: a handle of a group lock, and no place for `acquired`.
        assert_eq!(unsafe { (self.enter)(lock, self.group, ptr::null_mut()) }, 0);
        section();
        // SAFETY: as above.
        assert_eq!(unsafe { (self.unlock)(lock) }, 0);
    }
}

/// `turnlock_semaphore_options`.
#[repr(C)]
struct SemaphoreOptions {
    size: usize,
    flags: u32,
    permits: u32,
    patience_ns: u64,
}

pub struct Semaphore {
    open: Open,
    acquire: Acquire,
    release: Release,
}

impl Semaphore {
    /// # Errors
    /// As [`RwLock::new`].
    pub fn new() -> Result<Self, String> {
        let library = Library::turnlock()?;
        let open = Open::new(&library, c"turnlock_semaphore_open");
        // SAFETY: the types that `include/turnlock.h` gives them.
        unsafe {
            Ok(Self {
                open,
                acquire: library.function(c"turnlock_semaphore_acquire"),
                release: library.function(c"turnlock_semaphore_release"),
            })
        }
    }
}

impl Family for Semaphore {
    type Lock = SemaphoreAttached;

    fn attach(&self, place: &Place, cell: &Cell, _: usize) -> SemaphoreAttached {
        let permits = semaphore::permits(cell);
        let options =
            SemaphoreOptions { size: size_of::<SemaphoreOptions>(), flags: 0, permits, patience_ns: 0 };
        let semaphore = self.open.open(place, ptr::from_ref(&options).cast());
        SemaphoreAttached { semaphore, acquire: self.acquire, release: self.release }
    }
}

pub struct SemaphoreAttached {
    semaphore: Handle,
    acquire: Acquire,
    release: Release,
}

impl Lock for SemaphoreAttached {
    #[inline]
    fn with(&self, _: bool, section: impl FnOnce()) {
        let semaphore = black_box(self.semaphore);
        // SAFETY: a semaphore handle, and no place for `acquired`.
        assert_eq!(unsafe { (self.acquire)(semaphore, 1, ptr::null_mut()) }, 0);
        section();
        // SAFETY: as above.
        assert_eq!(unsafe { (self.release)(semaphore, 1) }, 0);
    }
}

pub struct Keys {
    open: Open,
    take: TakeKey,
    leave: LeaveKey,
}

impl Keys {
    /// # Errors
    /// As [`RwLock::new`].
    pub fn new() -> Result<Self, String> {
        let library = Library::turnlock()?;
        let open = Open::new(&library, c"turnlock_keyedlock_open");
        // SAFETY: the types that `include/turnlock.h` gives them.
        unsafe {
            Ok(Self {
                open,
                take: library.function(c"turnlock_keyedlock_lock_exclusive"),
                leave: library.function(c"turnlock_keyedlock_unlock"),
            })
        }
    }
}

impl Family for Keys {
    type Lock = KeysAttached;

    fn attach(&self, place: &Place, cell: &Cell, worker: usize) -> KeysAttached {
        let keys = parts::numbers(cell, worker).iter().map(parts::key).collect();
        KeysAttached { keyed: self.open.open(place, ptr::null()), keys, take: self.take, leave: self.leave }
    }
}

pub struct KeysAttached {
    keyed: Handle,
    keys: Vec<String>,
    take: TakeKey,
    leave: LeaveKey,
}

impl Lock for KeysAttached {
    fn with(&self, _: bool, section: impl FnOnce()) {
        for key in &self.keys {
            // SAFETY: a handle, a key of that length, and no place for `acquired`.
            let taken = unsafe { (self.take)(self.keyed, key.as_ptr().cast(), key.len(), ptr::null_mut()) };
            assert_eq!(taken, 0);
        }
        section();
        for key in &self.keys {
            // SAFETY: as above.
            assert_eq!(unsafe { (self.leave)(self.keyed, key.as_ptr().cast(), key.len()) }, 0);
        }
    }
}
