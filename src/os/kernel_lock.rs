//! The kernel's own locks on whole files or ranges of bytes, as flock(1) takes them: for the command, where a file is none
//! of turnlock's. Nothing else here uses them.

use super::clock;
use crate::layout::{HAND_BACK_BYTE, MAX_PARTICIPANTS, SLOT_BYTES_START};
use std::{
    ffi::{CString, c_int},
    io,
    os::{
        fd::{FromRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    ptr,
    time::Duration,
};

/// Which lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelLock {
    /// The whole file's, by flock(2).
    File,
    /// That of so many bytes from `start` on, by fcntl(2), of the open file (`F_OFD_SETLKW`). A length of 0: to the end.
    Bytes {
        /// The first byte.
        start: i64,
        /// How many.
        length: i64,
    },
}

/// What is wanted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// To have it beside others.
    Shared,
    /// To have it alone.
    Exclusive,
    /// To have it no more.
    Unlock,
}

/// Takes the lock for the open file of `descriptor`, or gives it up; waits as long as `limit` says, and without one until
/// it is free. Returns whether it was to be had. While it waits, SIGALRM is its own.
pub fn change(
    descriptor: RawFd,
    lock: KernelLock,
    change: Change,
    limit: Option<Duration>,
) -> io::Result<bool> {
    let waits = limit != Some(Duration::ZERO) && change != Change::Unlock;
    let _alarm = limit.filter(|_| waits).map(Alarm::set).transpose()?;
    let began = clock::monotonic_ns();
    loop {
        let done = match lock {
            // SAFETY: takes numbers only.
            KernelLock::File => unsafe { libc::flock(descriptor, operation(change, waits)) },
            KernelLock::Bytes { start, length } => {
                let command = if waits { libc::F_OFD_SETLKW } else { libc::F_OFD_SETLK };
                let request = request(change, start, length);
                // SAFETY: numbers, and a structure of our own.
                unsafe { libc::fcntl(descriptor, command, &request) }
            }
        };
        if done == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EWOULDBLOCK | libc::EACCES) => return Ok(false),
            Some(libc::EINTR) => {}
            _ => return Err(error),
        }
        let waited = Duration::from_nanos(clock::monotonic_ns() - began);
        if limit.is_some_and(|limit| waited >= limit) {
            return Ok(false);
        }
    }
}

fn operation(change: Change, waits: bool) -> c_int {
    let operation = match change {
        Change::Shared => libc::LOCK_SH,
        Change::Exclusive => libc::LOCK_EX,
        Change::Unlock => libc::LOCK_UN,
    };
    if waits { operation } else { operation | libc::LOCK_NB }
}

fn request(change: Change, start: i64, length: i64) -> libc::flock {
    // SAFETY: plain data; all zeros is a value of it, and F_OFD_* demand l_pid = 0.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = match change {
        Change::Shared => libc::F_RDLCK,
        Change::Exclusive => libc::F_WRLCK,
        Change::Unlock => libc::F_UNLCK,
    } as libc::c_short;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    (request.l_start, request.l_len) = (start, length);
    request
}

/// SIGALRM comes after a while, again and again (the first may come just before the call that it is to interrupt), and does
/// nothing but interrupt.
struct Alarm {
    before: libc::sigaction,
}

/// How often it comes again.
const AGAIN: Duration = Duration::from_millis(20);

impl Alarm {
    fn set(after: Duration) -> io::Result<Self> {
        extern "C" fn nothing(_: c_int) {}
        // SAFETY: all zeros are values of both: no flags, and so no restart of what is interrupted; an empty mask.
        let (mut action, mut before): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
        action.sa_sigaction = nothing as *const () as usize;
        // SAFETY: structures of our own, and a handler that does nothing.
        if unsafe { libc::sigaction(libc::SIGALRM, &action, &mut before) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let alarm = Self { before };
        // SAFETY: a set of our own. Our parent process may have blocked it.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGALRM);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, ptr::null_mut());
        }
        set_timer(after, AGAIN)?;
        Ok(alarm)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let _ = set_timer(Duration::ZERO, Duration::ZERO);
        // SAFETY: what the kernel gave.
        unsafe { libc::sigaction(libc::SIGALRM, &self.before, ptr::null_mut()) };
    }
}

fn set_timer(after: Duration, again: Duration) -> io::Result<()> {
    let time = |span: Duration| libc::timeval {
        tv_sec: span.as_secs().try_into().unwrap_or(i64::from(i32::MAX)).min(i64::from(i32::MAX)),
        tv_usec: span.subsec_micros().into(),
    };
    // A time of 0 would be no alarm at all.
    let after = if again.is_zero() { after } else { after.max(Duration::from_micros(1)) };
    let timer = libc::itimerval { it_interval: time(again), it_value: time(after) };
    // SAFETY: a structure of our own. (The C library's types name the timer in two ways.)
    let set = unsafe { libc::setitimer(libc::ITIMER_REAL as _, &timer, ptr::null_mut()) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Opens what lies at `path`, a file or a folder, as flock(1) does; an empty file is created if nothing is there. Children
/// inherit it.
pub fn open_or_create(path: &Path, to_write: bool) -> io::Result<OwnedFd> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let access = if to_write { libc::O_WRONLY } else { libc::O_RDONLY };
    let open = |flags: c_int| {
        // SAFETY: a C string and numbers.
        let opened = unsafe { libc::open(name.as_ptr(), flags | libc::O_NOCTTY, 0o666) };
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: opened above, for this alone.
        Ok(unsafe { OwnedFd::from_raw_fd(opened) })
    };
    open(access | libc::O_CREAT).or_else(|error| match error.kind() {
        // A folder is not created, not even where it is there.
        io::ErrorKind::IsADirectory => open(libc::O_RDONLY),
        _ => Err(error),
    })
}

/// Has commands that are started from here on inherit `descriptor`, or not.
pub fn let_inherit(descriptor: RawFd, inherit: bool) -> io::Result<()> {
    // SAFETY: takes numbers only.
    let set = unsafe { libc::fcntl(descriptor, libc::F_SETFD, if inherit { 0 } else { libc::FD_CLOEXEC }) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns whether the lock file that this file was has participants, whatever has become of its content.
pub fn has_participants(descriptor: RawFd) -> io::Result<bool> {
    let bytes = SLOT_BYTES_START + u64::from(MAX_PARTICIPANTS) - HAND_BACK_BYTE;
    let mut question = request(Change::Exclusive, HAND_BACK_BYTE as i64, bytes as i64);
    // SAFETY: a number, and a structure of our own.
    if unsafe { libc::fcntl(descriptor, libc::F_OFD_GETLK, &mut question) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // One that begins before them is a lock on the whole file.
    Ok(i32::from(question.l_type) != libc::F_UNLCK && question.l_start >= HAND_BACK_BYTE as i64)
}

/// Where the bytes of a lock file of turnlock's begin that its participants lock. A program that locks all of such a
/// file by fcntl(2) must leave them alone.
pub const PARTICIPANTS_BYTES: i64 = HAND_BACK_BYTE as i64;

/// The letters that a lock file of turnlock's begins with, or is made with.
pub const BEGINNINGS: [&[u8; 8]; 2] = [b"turnlock", b"turnmake"];
