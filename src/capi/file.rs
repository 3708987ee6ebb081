//! Lock files, from C.

use super::{
    boundary::{bytes, invalid, name, options, status, text},
    handle::{Marked, OpaqueHandle},
};
use crate::kind::{LockFile, LockFileOptions};
use std::{
    ffi::{OsStr, c_char, c_void},
    mem::offset_of,
    os::{fd::BorrowedFd, unix::ffi::OsStrExt},
};
use turnlock_core::error::{Result, status::TURNLOCK_OK};

/// A lock file that is open. Any thread may use it.
#[allow(non_camel_case_types)]
pub struct turnlock_file {
    _opaque: [u8; 0],
}

/// `turnlock_file_options.flags`: do not create the file.
pub const TURNLOCK_FILE_MUST_EXIST: u32 = 1;
/// `turnlock_file_options.flags`: share a file that is created with `group`, and give it mode 0660 if `mode` is 0.
pub const TURNLOCK_FILE_GROUP: u32 = 2;
/// `turnlock_file_options.flags`: do without membarrier, if no participant is attached now: locks that no other
/// participant wants cost a full fence then also while one process alone uses the file, and the second one that comes
/// waits for nothing. For files that a process without membarrier (by a filter that is installed later, say) is to use
/// together with others. The file keeps it until the next boot.
pub const TURNLOCK_FILE_FULL_FENCES: u32 = 4;
/// `turnlock_file_options.flags`: no wait through this handle, or through a lock that was opened from it, ends with
/// TURNLOCK_ERROR_CIRCULAR_WAIT. Where it closes a circle of waits it goes on, and another one of the circle may be told.
pub const TURNLOCK_FILE_NO_DEADLOCK_ERRORS: u32 = 8;

/// How to open, or create, a lock file. Set `size` to `sizeof(struct turnlock_file_options)` and everything else that
/// you do not care about to 0.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_file_options {
    /// `sizeof(struct turnlock_file_options)`.
    pub size: usize,
    /// How many participants may take part at once, 1 to 4096; 0 = 128. A file that exists must have at least as many
    /// as a number given here.
    pub participants: u32,
    /// How many named locks, 1 to 4096; 0 = 64. A file that exists must have at least as many as a number given here.
    pub locks: u32,
    /// The permission bits of a file that is created; 0 = 0600 (0660 with a group). None for others.
    pub mode: u32,
    /// With TURNLOCK_FILE_GROUP: the number of the group that a file that is created is given to.
    pub group: u32,
    /// TURNLOCK_FILE_... or'ed together.
    pub flags: u32,
    /// How many participants, those in the lowest slots, can take locks by messages (TURNLOCK_ALGORITHM_RICART_AGRAWALA and
    /// others), at most 16; 0 = none. A file that exists must have mailboxes for at least as many as a number given here.
    pub mailboxes: u32,
    /// What this process calls itself in `turnlock status` and in the owner-dead notice, up to 63 bytes of UTF-8;
    /// NULL = the program's name.
    pub label: *const c_char,
    /// NULL, or a function that a thread asks between its sleeps while it waits through this handle, or through a lock
    /// opened from it: when a signal handler has interrupted a sleep, and every 20 to 70 milliseconds. Not 0: the wait
    /// ends with TURNLOCK_ERROR_INTERRUPTED and leaves nothing in the queue. It is called on the waiting thread, takes
    /// no lock of this file, and neither throws nor jumps.
    pub should_stop_waiting: Option<unsafe extern "C" fn(context: *mut c_void) -> i32>,
    /// What `should_stop_waiting` is called with.
    pub context: *mut c_void,
    /// How many of the latest events the file keeps (which participant asked, acquired, released, died, and when), for
    /// `turnlock trace` and `turnlock report`: 64 to 16777216, rounded up to a power of two, of 32 bytes each; 0 =
    /// none: then nothing is recorded. A file that exists must have a recording of at least as many as a number given
    /// here. In a file with a recording no acquisition goes by the fast path.
    pub recorded_events: u32,
    /// 0.
    pub reserved: u32,
}

/// What the caller's function needs.
struct Asked {
    should_stop: unsafe extern "C" fn(*mut c_void) -> i32,
    context: *mut c_void,
}

// SAFETY: the header says that every thread that waits calls the function, with this context.
unsafe impl Send for Asked {}
// SAFETY: as above.
unsafe impl Sync for Asked {}

impl Asked {
    fn should_stop(&self) -> bool {
        // SAFETY: the caller of `turnlock_file_open` gave the two for this.
        unsafe { (self.should_stop)(self.context) != 0 }
    }
}

/// Opens the lock file at `path`, or creates it, and puts a handle into `file`. `options` may be NULL. A file that is
/// open already in this process gives another handle of the same; close each.
///
/// The first lock that the second process takes in a file waits some milliseconds for the kernel, once, whatever its time limit
/// (see TURNLOCK_FILE_FULL_FENCES).
///
/// TURNLOCK_ERROR_NOT_A_LOCK_FILE, _VERSION, _DAMAGED: something else lies there, and was left as it is. _FILESYSTEM,
/// _PERMISSION, _NOT_FOUND, _NO_SPACE, _FILE_TOO_SMALL, _INVALID_ARGUMENT, _UNSUPPORTED, _SYSTEM: as they say.
///
/// # Safety
/// `path` is a NUL-terminated string, `options` NULL or a struct whose `size` is right, `file` NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_file_open(
    path: *const c_char,
    options: *const turnlock_file_options,
    file: *mut *mut turnlock_file,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let path = OsStr::from_bytes(unsafe { bytes(path, "the path") }?.to_bytes());
        // SAFETY: the caller's promise.
        unsafe { open(options, file, |options| options.open(path)) }
    })
}

/// Opens the lock file that `descriptor` is open on, for reading and writing, or makes one of it if it is empty (a memfd,
/// say), and puts a handle into `file`. The file is opened anew: the descriptor stays yours, and may be closed. `/proc`
/// must be mounted, and the file's mode must allow this process to open it; a file without a name keeps the mode that it
/// has, unless `options` says another.
///
/// Errors as `turnlock_file_open`; TURNLOCK_ERROR_INVALID_ARGUMENT: not a descriptor, or not open for both.
///
/// # Safety
/// `options` is NULL or a struct whose `size` is right, `file` NULL or writable. While the call runs, `descriptor` is
/// not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_file_open_descriptor(
    descriptor: i32,
    options: *const turnlock_file_options,
    file: *mut *mut turnlock_file,
) -> i32 {
    status(|| {
        if descriptor < 0 {
            return Err(invalid(&format!(
                "the descriptor is {descriptor}: give one that is open on the lock file"
            )));
        }
        // SAFETY: not -1, and not closed meanwhile, by the caller's promise; one that never was open is told apart by the
        // first thing that is asked of it.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        // SAFETY: the caller's promise.
        unsafe { open(options, file, |options| options.open_descriptor(descriptor)) }
    })
}

/// # Safety
/// As the two above.
unsafe fn open(
    options: *const turnlock_file_options,
    file: *mut *mut turnlock_file,
    open: impl FnOnce(&LockFileOptions) -> Result<LockFile>,
) -> Result<i32> {
    // SAFETY: the caller's promise.
    let given =
        unsafe { self::options(options, offset_of!(turnlock_file_options, label) + size_of::<usize>()) }?;
    if file.is_null() {
        return Err(invalid("the place for the file handle is NULL"));
    }
    const FLAGS: u32 = TURNLOCK_FILE_GROUP
        | TURNLOCK_FILE_MUST_EXIST
        | TURNLOCK_FILE_FULL_FENCES
        | TURNLOCK_FILE_NO_DEADLOCK_ERRORS;
    if given.flags & !FLAGS != 0 {
        return Err(invalid("a flag is set that this version of turnlock does not know"));
    }
    let mut wanted = LockFile::options();
    wanted.participants(given.participants).locks(given.locks).mailboxes(given.mailboxes);
    wanted.recorded_events(given.recorded_events);
    if given.reserved != 0 {
        return Err(invalid("the reserved member of the options struct is not 0"));
    }
    wanted.must_exist(given.flags & TURNLOCK_FILE_MUST_EXIST != 0);
    wanted.full_fences(given.flags & TURNLOCK_FILE_FULL_FENCES != 0);
    wanted.deadlock_errors(given.flags & TURNLOCK_FILE_NO_DEADLOCK_ERRORS == 0);
    if let Some(should_stop) = given.should_stop_waiting {
        let asked = Asked { should_stop, context: given.context };
        wanted.interrupted_by(move || asked.should_stop());
    }
    if given.mode != 0 {
        wanted.mode(given.mode);
    }
    if given.flags & TURNLOCK_FILE_GROUP != 0 {
        wanted.group(given.group);
    }
    if !given.label.is_null() {
        // SAFETY: the caller's promise.
        wanted.label(unsafe { text(given.label, "the label") }?);
    }
    let opened = OpaqueHandle::open(open(&wanted)?);
    // SAFETY: not NULL, and the caller's promise.
    unsafe { file.write(opened.cast()) };
    Ok(TURNLOCK_OK)
}

/// Removes the lock called `name`, of whatever kind: its place in the file is free for another lock. Handles that are
/// open to it fail from then on with TURNLOCK_ERROR_NOT_FOUND, in every process; close them as ever. A lock of the same
/// name that is created later is a new lock, and its fencing tokens are larger.
///
/// TURNLOCK_ERROR_IN_USE: a participant holds it, waits for it or is a member of its ring, or a holder died and no
/// other was told yet; _NOT_RECOVERABLE: it is closed, reset it first; _NOT_FOUND, _BAD_NAME, _PARTICIPANTS_FULL
/// (removing takes a slot), _DAMAGED, _REPLACED.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_file_remove_lock(file: *const turnlock_file, name: *const c_char) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        file.remove_lock(name).map(|()| TURNLOCK_OK)
    })
}

/// Closes a file handle. Locks and holds opened from it stay open. With the last of all these the calling
/// thread detaches from its slot; other threads do when they end.
///
/// # Safety
/// `file` is NULL or a handle of `turnlock_file_open` or `turnlock_file_open_descriptor`; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_file_close(file: *mut turnlock_file) -> i32 {
    // SAFETY: the caller's promise; turnlock_file stands for it.
    status(|| unsafe { OpaqueHandle::close(file.cast::<OpaqueHandle<LockFile>>()) }.map(|()| TURNLOCK_OK))
}

/// Puts the file's path, with its folder resolved, into `path`, which has room for `capacity` bytes, as far as it fits and
/// NUL-terminated; and into `length` how many bytes it has without the NUL. It was cut if `length` is not less than
/// `capacity`; with capacity 0 `path` may be NULL. The bytes are those of the file system, not UTF-8 as a rule.
///
/// # Safety
/// `file` is a file handle, `path` is writable for `capacity` bytes, `length` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_file_path(
    file: *const turnlock_file,
    capacity: usize,
    path: *mut c_char,
    length: *mut usize,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let found = unsafe { lock_file(file) }?.path();
        if length.is_null() || (path.is_null() && capacity > 0) {
            return Err(invalid("the place for the path, or for its length, is NULL"));
        }
        let bytes = found.as_os_str().as_bytes();
        if let Some(room) = capacity.checked_sub(1) {
            let fitting = bytes.len().min(room);
            // SAFETY: not NULL, and `fitting + 1` bytes at most as many as the caller promises.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), path, fitting);
                path.add(fitting).write(0);
            }
        }
        // SAFETY: not NULL, and the caller's promise.
        unsafe { length.write(bytes.len()) };
        Ok(TURNLOCK_OK)
    })
}

impl Marked for LockFile {
    const NUMBER: u8 = 0xf0;
    const NAME: &'static str = "file";
}

/// # Safety
/// As every function that takes a file.
pub(super) unsafe fn lock_file<'a>(file: *const turnlock_file) -> crate::Result<&'a LockFile> {
    // SAFETY: the caller's promise; turnlock_file stands for it.
    unsafe { OpaqueHandle::get(file.cast::<OpaqueHandle<LockFile>>()) }
}
