//! What the lock protects: a number in a file that all hosts share, in two halves that a write changes one after the other.
//!
//! Of a lock that is kept nothing else protects it, so two programs at once tear it. Of one that is leased it goes by fencing tokens, as
//! whatever outlives a lease has to: who comes with a smaller one than another had is refused.

use nix::fcntl::{Flock, FlockArg};
use std::{fs::File, os::unix::fs::FileExt, path::Path, time::Duration};

const HALVES: [u64; 2] = [0, 8];
/// The largest fencing token that came, of one that may write, and of one that reads.
const FLOOR: u64 = 16;
const READ_FLOOR: u64 = 24;
pub const SIZE: u64 = 32;

/// What is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done<T> {
    Yes(T),
    /// By its fencing token it came too late.
    Refused,
}

pub struct Register {
    file: File,
    /// Whether it goes by fencing tokens.
    is_fenced: bool,
}

impl Register {
    /// Makes one: 0.
    pub fn create(path: &Path) {
        File::create(path).unwrap().set_len(SIZE).unwrap();
    }

    pub fn open(path: &Path, is_fenced: bool) -> Self {
        Self { file: File::options().read(true).write(true).open(path).unwrap(), is_fenced }
    }

    /// Returns what it is; `None`: a write has ended in the middle.
    pub fn read(&self, token: u64) -> Done<Option<u64>> {
        self.with(token, false, || self.look())
    }

    /// Likewise, for one that reads beside others: they may have different tokens, from that of the last writer up to below that of the next.
    pub fn read_beside(&self, token: u64) -> Done<Option<u64>> {
        self.with(token, true, || self.look())
    }

    fn look(&self) -> Option<u64> {
        let [one, other] = HALVES.map(|at| self.get(at));
        (one == other).then_some(one)
    }

    /// Writes it, with a pause in the middle.
    pub fn write(&self, token: u64, value: u64, pause: Duration) -> Done<()> {
        self.with(token, false, || {
            self.put(HALVES[0], value);
            std::thread::sleep(pause);
            self.put(HALVES[1], value);
        })
    }

    fn with<T>(&self, token: u64, reads: bool, act: impl FnOnce() -> T) -> Done<T> {
        if !self.is_fenced {
            return Done::Yes(act());
        }
        let file = self.file.try_clone().unwrap();
        let _alone = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| errno).unwrap();
        let (floor, read_floor) = (self.get(FLOOR), self.get(READ_FLOOR));
        if token < floor || !reads && token <= read_floor {
            return Done::Refused;
        }
        match reads {
            true => self.put(READ_FLOOR, token.max(read_floor)),
            false => self.put(FLOOR, token),
        }
        Done::Yes(act())
    }

    fn get(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at).unwrap();
        u64::from_le_bytes(bytes)
    }

    fn put(&self, at: u64, value: u64) {
        self.file.write_all_at(&value.to_le_bytes(), at).unwrap();
    }
}
