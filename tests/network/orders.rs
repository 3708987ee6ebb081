//! What a process is told on its standard input, without waiting for it.

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    unistd::read,
};
use std::io;

#[derive(Default)]
pub struct Orders {
    come: Vec<u8>,
}

impl Orders {
    pub fn new() -> Self {
        fcntl(io::stdin(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("the standard input is a pipe");
        Self::default()
    }

    /// The lines that have come. The process ends once the one that gave the orders is gone.
    pub fn come(&mut self) -> Vec<String> {
        let mut some = [0; 4096];
        match read(io::stdin(), &mut some) {
            Ok(0) => std::process::exit(0),
            Ok(bytes) => self.come.extend(&some[..bytes]),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(errno) => panic!("the standard input: {errno}"),
        }
        let end = self.come.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.come.drain(..end).collect();
        String::from_utf8(lines).unwrap().lines().map(str::to_owned).collect()
    }
}
