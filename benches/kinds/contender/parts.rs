//! Parts: turnlock's range and keyed locks from Rust, byte ranges of an open file, and a file for each key.

use super::Family;
use crate::{cell::Cell, worker::Lock};
use harness::{contender::patience, place::Place};
use std::{
    fs::{self, File},
    os::fd::AsRawFd,
    path::PathBuf,
};
use turnlock::{KeyedLock, LockFile, RangeLock};

/// The numbers of a worker's parts. No two are neighbours: the kernel joins byte ranges of one owner that are.
pub fn numbers(cell: &Cell, worker: usize) -> Vec<u64> {
    cell.parts(worker).into_iter().map(|place| 2 * place as u64).collect()
}

/// A key as programs have them.
pub fn key(number: &u64) -> String {
    format!("user-{number}")
}

pub struct Ranges;

impl Family for Ranges {
    type Lock = RangesAttached;

    fn attach(&self, place: &Place, cell: &Cell, worker: usize) -> RangesAttached {
        let file = patience::file(place).unwrap();
        let ranges = file.range_lock("bench").unwrap();
        RangesAttached { ranges, numbers: numbers(cell, worker), _file: file }
    }
}

pub struct RangesAttached {
    ranges: RangeLock,
    numbers: Vec<u64>,
    _file: LockFile,
}

impl Lock for RangesAttached {
    fn with(&self, _: bool, section: impl FnOnce()) {
        if let [number] = self.numbers[..] {
            let _held = self.ranges.write(number..number + 1).unwrap();
            section();
        } else {
            let _held = self.ranges.write_all(self.numbers.iter().map(|start| *start..start + 1)).unwrap();
            section();
        }
    }
}

pub struct Keys;

impl Family for Keys {
    type Lock = KeysAttached;

    fn attach(&self, place: &Place, cell: &Cell, worker: usize) -> KeysAttached {
        let file = patience::file(place).unwrap();
        let keyed = file.keyed_lock("bench").unwrap();
        KeysAttached { keyed, keys: numbers(cell, worker).iter().map(key).collect(), _file: file }
    }
}

pub struct KeysAttached {
    keyed: KeyedLock,
    keys: Vec<String>,
    _file: LockFile,
}

impl Lock for KeysAttached {
    fn with(&self, _: bool, section: impl FnOnce()) {
        if let [key] = &self.keys[..] {
            let _held = self.keyed.write(key).unwrap();
            section();
        } else {
            let _held = self.keyed.write_all(&self.keys).unwrap();
            section();
        }
    }
}

/// Each worker opens the file itself, since a lock belongs to the open file.
fn open(path: PathBuf) -> File {
    File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

pub struct Ofd;

impl Family for Ofd {
    type Lock = OfdAttached;

    fn attach(&self, place: &Place, cell: &Cell, worker: usize) -> OfdAttached {
        OfdAttached { file: open(place.path()), bytes: numbers(cell, worker) }
    }
}

pub struct OfdAttached {
    file: File,
    bytes: Vec<u64>,
}

impl OfdAttached {
    fn call(&self, kind: i32, byte: u64) {
        // SAFETY: flock is plain data, all zeros is a value of it; the descriptor is open.
        let done = unsafe {
            let mut request: libc::flock = std::mem::zeroed();
            request.l_type = kind as libc::c_short;
            request.l_start = byte as libc::off_t;
            request.l_len = 1;
            libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLKW, &request)
        };
        assert_eq!(done, 0);
    }
}

impl Lock for OfdAttached {
    fn with(&self, _: bool, section: impl FnOnce()) {
        self.bytes.iter().for_each(|byte| self.call(libc::F_WRLCK, *byte));
        section();
        self.bytes.iter().for_each(|byte| self.call(libc::F_UNLCK, *byte));
    }
}

pub struct Files;

impl Family for Files {
    type Lock = FilesAttached;

    fn attach(&self, place: &Place, cell: &Cell, worker: usize) -> FilesAttached {
        let folder = place.path().with_extension("keys");
        fs::create_dir_all(&folder).unwrap();
        FilesAttached(numbers(cell, worker).iter().map(|number| open(folder.join(key(number)))).collect())
    }
}

pub struct FilesAttached(Vec<File>);

impl FilesAttached {
    fn call(&self, operation: i32) {
        for file in &self.0 {
            // SAFETY: an open descriptor.
            assert_eq!(unsafe { libc::flock(file.as_raw_fd(), operation) }, 0);
        }
    }
}

impl Lock for FilesAttached {
    fn with(&self, _: bool, section: impl FnOnce()) {
        self.call(libc::LOCK_EX);
        section();
        self.call(libc::LOCK_UN);
    }
}
