//! Lock files that are handed on by descriptor: memfds, inheritance, Unix sockets.

use std::{
    fs::File,
    io,
    mem::{MaybeUninit, size_of},
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
    ptr,
};
use turnlock::{LockFile, LockFileOptions, Result};

/// An empty memfd. Processes that are started from here on inherit it.
pub fn memfd() -> File {
    // SAFETY: a C string; the descriptor is new, and for this alone.
    unsafe {
        let descriptor = libc::memfd_create(c"turnlock-test".as_ptr(), 0);
        assert!(descriptor >= 0, "{}", io::Error::last_os_error());
        File::from_raw_fd(descriptor)
    }
}

/// Has processes that are started from here on inherit `descriptor`.
pub fn let_inherit(descriptor: &impl AsRawFd) {
    // SAFETY: takes numbers only.
    let set = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, 0) };
    assert_eq!(set, 0, "{}", io::Error::last_os_error());
}

/// Opens the lock file that a process was told of: `descriptor N`, one that it inherited; `socket N`, one that comes over
/// an inherited Unix socket; else a path.
pub fn open(options: &LockFileOptions, told: &str) -> Result<LockFile> {
    // SAFETY: the process that started this one left the descriptor open for it.
    let inherited = |number: &str| unsafe { BorrowedFd::borrow_raw(number.parse().unwrap()) };
    match told.split_once(' ') {
        Some(("descriptor", number)) => options.open_descriptor(inherited(number)),
        Some(("socket", number)) => options.open_descriptor(receive(&inherited(number))),
        _ => options.open(told),
    }
}

/// Room for one descriptor beside a message, aligned as its header wants it.
#[repr(C, align(8))]
struct Beside([u8; 64]);

fn message(byte: &mut libc::iovec, beside: &mut Beside) -> libc::msghdr {
    // SAFETY: plain data, all zeros is a value of it.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = byte;
    message.msg_iovlen = 1;
    message.msg_control = beside.0.as_mut_ptr().cast();
    // SAFETY: computes.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as _;
    message
}

/// Sends `descriptor` over a Unix socket (SCM_RIGHTS, see unix(7)).
pub fn send(socket: &UnixStream, descriptor: &impl AsRawFd) {
    let (mut byte, mut beside) = ([0u8], Beside([0; 64]));
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let message = message(&mut part, &mut beside);
    // SAFETY: there is room for one header and one descriptor, and all of it outlives the call.
    let sent = unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        ptr::write_unaligned(libc::CMSG_DATA(header).cast(), descriptor.as_raw_fd());
        libc::sendmsg(socket.as_raw_fd(), &message, 0)
    };
    assert_eq!(sent, 1, "{}", io::Error::last_os_error());
}

/// Receives what [`send`] sent.
pub fn receive(socket: &impl AsRawFd) -> OwnedFd {
    let (mut byte, mut beside) = ([0u8], Beside([0; 64]));
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut message = message(&mut part, &mut beside);
    // SAFETY: as above; what came is looked at before it is believed.
    unsafe {
        let received = libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC);
        assert_eq!(received, 1, "{}", io::Error::last_os_error());
        let header = libc::CMSG_FIRSTHDR(&message);
        assert!(!header.is_null() && (*header).cmsg_type == libc::SCM_RIGHTS, "no descriptor came");
        OwnedFd::from_raw_fd(ptr::read_unaligned(libc::CMSG_DATA(header).cast()))
    }
}
