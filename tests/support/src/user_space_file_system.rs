//! A file system in user space (FUSE), as small as one can be: its root is one empty file, and a thread of the test
//! answers for it. Enough to be opened, and to be told from a local file system.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    thread,
};

// linux/fuse.h
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const STATFS: u32 = 17;
const INIT: u32 = 26;
const FORGET: u32 = 2;
const INTERRUPT: u32 = 36;
const MODE: u32 = libc::S_IFREG | 0o600;

/// Mounted until dropped.
pub struct UserSpaceFile(PathBuf);

impl UserSpaceFile {
    /// Mounts it over an existing file. Only for root, in private mounts: else the reason.
    pub fn mount_at(path: &Path) -> Result<Self, String> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        let device = device.map_err(|error| format!("/dev/fuse: {error}"))?;
        let options = format!("fd={},rootmode={MODE:o},user_id=0,group_id=0", device.as_raw_fd());
        mount(Some("test"), path, Some("fuse"), MsFlags::empty(), Some(options.as_str()))
            .map_err(|errno| format!("a FUSE file system: {errno}"))?;
        thread::spawn(|| answer(device));
        Ok(Self(path.into()))
    }
}

impl Drop for UserSpaceFile {
    fn drop(&mut self) {
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

/// Answers until it is unmounted.
fn answer(mut device: File) {
    let mut request = vec![0; 1 << 17];
    while let Ok(bytes) = device.read(&mut request) {
        let u32_at = |at: usize| u32::from_ne_bytes(request[at..at + 4].try_into().unwrap());
        assert!(bytes >= 40, "a request has a header");
        let (question, number) = (u32_at(4), &request[8..16]);
        let answer = match question {
            FORGET | INTERRUPT => continue,
            // Version 7.31, nothing optional, writes of up to 4096 bytes.
            INIT => Ok(numbers(&[7, 31, 0, 0, 0, 4096], 64)),
            GETATTR => Ok(attributes()),
            OPEN => Ok(numbers(&[1], 16)),
            STATFS => Ok(numbers(&[], 80)),
            _ => Err(libc::ENOSYS),
        };
        let (error, body) = answer.map_or_else(|errno| (-errno, Vec::new()), |body| (0, body));
        let mut reply = (16 + body.len() as u32).to_ne_bytes().to_vec();
        reply.extend(error.to_ne_bytes());
        reply.extend(number);
        reply.extend(body);
        // Fails when the process that asked is gone: no harm.
        let _ = device.write_all(&reply);
    }
}

/// So many bytes that begin with these numbers, the rest zeros.
fn numbers(begin: &[u32], bytes: usize) -> Vec<u8> {
    let mut all: Vec<u8> = begin.iter().flat_map(|number| number.to_ne_bytes()).collect();
    all.resize(bytes, 0);
    all
}

/// Those of the root: inode 1, no bytes, one link, root's.
fn attributes() -> Vec<u8> {
    let mut all = numbers(&[], 104);
    all[16..24].copy_from_slice(&1u64.to_ne_bytes());
    all[76..80].copy_from_slice(&MODE.to_ne_bytes());
    all[80..84].copy_from_slice(&1u32.to_ne_bytes());
    all
}
