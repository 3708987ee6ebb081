//! A small file with two participants, and how it looked before garbage was written into it.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::PathBuf,
};
use support::{Place, format::Format};
use turnlock::{LockFile, Mutex, Participant};

/// Few of everything, so that every word counts.
pub const SHAPE: Format = Format { participants: 4, locks: 2 };
/// The slot of the thread that sets the scene.
pub const THREAD: u64 = 0;
/// The slot of [`Scene::other`].
pub const OTHER: u64 = 1;
/// The slot of a third participant.
pub const GUEST: u64 = 2;
/// A slot of no participant.
pub const VACANT: u64 = 3;
/// The region of [`Scene::mutex`].
pub const REGION: u64 = 1;

/// What stands in a file that was overwritten: small numbers that could be right, the edges of what a number may
/// be, and noise.
pub const GARBAGE: [u64; 9] =
    [0, 1, 2, (1 << 62) - 1, 1 << 62, (1 << 62) + 1, 1 << 63, u64::MAX, 0x8d1f_0b7c_52e9_36a4];

pub struct Scene {
    _place: Place,
    pub path: PathBuf,
    pub file: LockFile,
    pub mutex: Mutex,
    pub other: Participant,
    /// The hostile one's way in.
    hand: File,
    image: Vec<u8>,
}

impl Scene {
    /// The calling thread and one participant have slots; no participant is at the lock.
    pub fn set() -> Self {
        let place = Place::new();
        let path = place.lock_file();
        let (participants, locks) = (SHAPE.participants as u32, SHAPE.locks as u32);
        let file = LockFile::options().participants(participants).locks(locks).open(&path).unwrap();
        let mutex = file.mutex("a").unwrap();
        assert_eq!(file.current_participant().unwrap().slot() as u64, THREAD);
        let other = file.participant().unwrap();
        assert_eq!(other.slot() as u64, OTHER);
        let hand = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let image = fs::read(&path).unwrap();
        assert_eq!(image.len() as u64, SHAPE.file_bytes());
        Self { _place: place, path, file, mutex, other, hand, image }
    }

    /// What stood there when the scene was set.
    pub fn was(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.image[at as usize..][..8].try_into().unwrap())
    }

    pub fn poke(&self, at: u64, value: u64) {
        self.hand.write_all_at(&value.to_le_bytes(), at).unwrap();
    }

    pub fn poke_byte(&self, at: u64, value: u8) {
        self.hand.write_all_at(&[value], at).unwrap();
    }

    pub fn peek(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        self.hand.read_exact_at(&mut bytes, at).unwrap();
        u64::from_le_bytes(bytes)
    }

    /// Everything as it was, once all participants have given up what they had.
    pub fn restore(&self) {
        self.hand.write_all_at(&self.image, 0).unwrap();
    }
}
