//! A TCP connection that no call waits for.

use crate::frame::Frame;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt::TcpUserTimeout,
};
use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddrV4, TcpStream},
    os::fd::AsRawFd,
};

/// After how many milliseconds without a confirmation of the other end's host a connection is given up. Only the
/// connection: nothing is concluded about the other end.
const CONFIRMED_WITHIN: u32 = 250;

pub struct Connection {
    stream: TcpStream,
    come: Vec<u8>,
    to_go: Vec<u8>,
}

impl Connection {
    pub fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        setsockopt(&stream, TcpUserTimeout, &CONFIRMED_WITHIN)?;
        Ok(Self { stream, come: Vec::new(), to_go: Vec::new() })
    }

    /// Begins to connect.
    pub fn begin(to: SocketAddrV4) -> io::Result<Self> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
        match connect(socket.as_raw_fd(), &SockaddrIn::from(to)) {
            Ok(()) | Err(nix::Error::EINPROGRESS) => Self::over(TcpStream::from(socket)),
            Err(errno) => Err(errno.into()),
        }
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub fn put(&mut self, frame: &Frame) {
        frame.write(&mut self.to_go);
    }

    /// How many bytes the kernel has not taken yet.
    pub fn to_go(&self) -> usize {
        self.to_go.len()
    }

    /// Writes what the kernel takes.
    pub fn write(&mut self) -> io::Result<()> {
        while !self.to_go.is_empty() {
            match self.stream.write(&self.to_go) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => drop(self.to_go.drain(..bytes)),
                Err(error) if is_for_later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what has come, up to 64 KiB.
    pub fn read(&mut self) -> io::Result<()> {
        let mut some = [0; 1 << 16];
        match self.stream.read(&mut some) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => {
                self.come.extend(&some[..bytes]);
                Ok(())
            }
            Err(error) if is_for_later(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The next frame that has come.
    pub fn frame(&mut self) -> io::Result<Option<Frame>> {
        Frame::read(&mut self.come).map_err(|_| ErrorKind::InvalidData.into())
    }
}

fn is_for_later(error: &io::Error) -> bool {
    // Not connected: it has not come so far yet.
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected)
}
