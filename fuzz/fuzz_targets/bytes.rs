//! What the file is made of: bytes as they come, or a sound file with garbage poked into it. Each target uses its part of this.
#![allow(dead_code)]

use arbitrary::{Arbitrary, Unstructured};
use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::PathBuf,
    sync::OnceLock,
    time::{Duration, Instant},
};
use turnlock::LockFile;

/// What a call may take beyond its limit: the machine is busy with other things too.
const SLACK: Duration = Duration::from_secs(2);

/// Sound files of these capacities (participants, locks): one with room for a little of everything, one whose parts do not
/// end at round places, the smallest.
const SHAPES: [(u32, u32); 3] = [(3, 2), (17, 5), (1, 1)];

/// Where the words of a lock lie that mean something: its token and state; the previous owner's token, ids and label.
const LOCK_WORDS: [u64; 6] = [64, 72, 128, 136, 140, 192];

/// Values at which something changes: states, 32-bit words that are full, the largest number, the largest of all.
const TELLING: [u64; 12] = [
    0,
    1,
    2,
    3,
    1 << 31,
    u32::MAX as u64,
    (1 << 62) - 1,
    1 << 62,
    (1 << 62) + 1,
    i64::MAX as u64,
    u64::MAX - 1,
    u64::MAX,
];

/// A file.
#[derive(Arbitrary, Debug)]
pub enum Bytes {
    /// These bytes and no others.
    Raw(Vec<u8>),
    /// A sound file with these changes.
    Changed {
        /// Which of [`SHAPES`].
        shape: u8,
        /// What is overwritten.
        #[arbitrary(with = up_to::<8, _>)]
        pokes: Vec<Poke>,
        /// Whether the header's checksum is made right again after that.
        with_checksum: bool,
        /// How long the file is in the end.
        length: Length,
    },
}

/// How long a file is.
#[derive(Arbitrary, Debug)]
pub enum Length {
    /// As it was made.
    Whole,
    /// As its header claims, if that is not too much for a test.
    AsClaimed,
    /// Cut off, or grown by zeros.
    Of(u16),
}

/// A place and a value.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Poke {
    place: Place,
    value: Value,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Place {
    /// Of the 32-bit words of the header, one of the first.
    Header(u8),
    /// Anywhere behind it.
    Anywhere(u16),
    /// A register: of this region, this slot.
    Number(u8, u8),
    /// `held`, `since`, `wake` and `parked`, as 32-bit words: of this region, this slot.
    Cell(u8, u8, u8),
    /// Of this region, one of [`LOCK_WORDS`].
    Lock(u8, u8),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Value {
    Byte(u8),
    Half(u16),
    Word(u32),
    Long(u64),
    /// One of [`TELLING`].
    Telling(u8),
    /// 64 times this byte: what a text field is long.
    Text(u8),
}

impl Poke {
    /// Does it, in a file of this shape.
    fn apply(self, shape: Shape, mut write: impl FnMut(u64, &[u8])) {
        let at = self.place.offset(shape) % shape.bytes();
        match self.value {
            Value::Byte(value) => write(at, &[value]),
            Value::Half(value) => write(at & !1, &value.to_ne_bytes()),
            Value::Word(value) => write(at & !3, &value.to_ne_bytes()),
            Value::Long(value) => write(at & !7, &value.to_ne_bytes()),
            Value::Text(value) => write(at & !63, &[value; 64]),
            Value::Telling(which) => {
                let value = TELLING[usize::from(which) % TELLING.len()];
                write(at & !7, &value.to_ne_bytes());
            }
        }
    }
}

impl Place {
    fn offset(self, shape: Shape) -> u64 {
        let region = |number: u8| shape.region(u64::from(number) % (shape.locks + 1));
        let slot = |number: u8| u64::from(number) % shape.participants;
        match self {
            Place::Header(word) => u64::from(word % 40) * 4,
            Place::Anywhere(at) => 4096 + u64::from(at) % (shape.bytes() - 4096),
            Place::Number(of, by) => region(of) + 512 + slot(by) * 8,
            Place::Cell(of, by, word) => region(of) + shape.cells() + slot(by) * 64 + u64::from(word % 6) * 4,
            Place::Lock(of, word) => region(of) + LOCK_WORDS[usize::from(word) % LOCK_WORDS.len()],
        }
    }
}

/// Where things lie in a file, as docs/format.md says.
#[derive(Clone, Copy)]
struct Shape {
    participants: u64,
    locks: u64,
}

impl Shape {
    fn cells(self) -> u64 {
        512 + (self.participants * 8).next_multiple_of(128)
    }

    fn region(self, number: u64) -> u64 {
        let bytes = (self.cells() + self.participants * 64).next_multiple_of(128);
        4096 + self.locks * 128 + self.participants * 256 + number * bytes
    }

    fn bytes(self) -> u64 {
        self.region(self.locks + 1)
    }
}

/// The one file of this process, written anew for each input.
pub struct Lair {
    pub path: PathBuf,
    sound: Vec<Vec<u8>>,
}

/// The file that is under test now. Removed at the end; after a crash it is still there to be looked at.
pub struct Bait {
    path: PathBuf,
    hand: File,
    shape: Shape,
}

impl Bait {
    /// Overwrites it while it is in use.
    pub fn poke(&self, poke: &Poke) {
        poke.apply(self.shape, |at, bytes| {
            // Not beyond its end, which would make it longer.
            if self.hand.metadata().unwrap().len() >= at + bytes.len() as u64 {
                self.hand.write_all_at(bytes, at).unwrap();
            }
        });
    }

    /// Cuts it off, or has it grow, while it is in use.
    pub fn resize(&self, bytes: u16) {
        self.hand.set_len(bytes.into()).unwrap();
    }
}

impl Drop for Bait {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Lair {
    pub fn get() -> &'static Self {
        static LAIR: OnceLock<Lair> = OnceLock::new();
        LAIR.get_or_init(|| {
            let path = PathBuf::from(format!("/dev/shm/turnlock-fuzz-{}", std::process::id()));
            // A crashed process of the same number may have left it.
            let _ = fs::remove_file(&path);
            let sound = SHAPES.map(|(participants, locks)| {
                let file = LockFile::options().participants(participants).locks(locks).open(&path).unwrap();
                file.mutex("a").unwrap().lock().unwrap().unlock().unwrap();
                drop(file);
                let bytes = fs::read(&path).unwrap();
                fs::remove_file(&path).unwrap();
                bytes
            });
            Lair { path, sound: sound.into() }
        })
    }

    /// Puts a file there.
    pub fn put(&self, bytes: &Bytes) -> Bait {
        let path = self.path.clone();
        let hand =
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path).unwrap();
        let shape = |number: u8| {
            let (participants, locks) = SHAPES[usize::from(number) % SHAPES.len()];
            Shape { participants: participants.into(), locks: locks.into() }
        };
        match bytes {
            Bytes::Raw(bytes) => {
                hand.write_all_at(bytes, 0).unwrap();
                Bait { path, hand, shape: shape(0) }
            }
            Bytes::Changed { shape: number, pokes, with_checksum, length } => {
                let shape = shape(*number);
                let mut bytes = self.sound[usize::from(*number) % SHAPES.len()].clone();
                assert_eq!(bytes.len() as u64, shape.bytes());
                for poke in pokes {
                    poke.apply(shape, |at, value| {
                        let end = bytes.len().min(at as usize + value.len());
                        bytes[at as usize..end].copy_from_slice(&value[..end - at as usize]);
                    });
                }
                if *with_checksum {
                    let sum = checksum(&bytes[..56]).to_ne_bytes();
                    bytes[56..64].copy_from_slice(&sum);
                }
                hand.write_all_at(&bytes, 0).unwrap();
                match length {
                    Length::Whole => {}
                    Length::AsClaimed => {
                        let capacity =
                            |at: usize| u64::from(u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap()));
                        let (participants, locks) = (capacity(24), capacity(28));
                        if participants <= 64 && locks <= 64 {
                            let claimed = Shape { participants, locks }.bytes();
                            hand.set_len(claimed).unwrap();
                            if *with_checksum {
                                hand.write_all_at(&claimed.to_ne_bytes(), 32).unwrap();
                                bytes[32..40].copy_from_slice(&claimed.to_ne_bytes());
                                hand.write_all_at(&checksum(&bytes[..56]).to_ne_bytes(), 56).unwrap();
                            }
                        }
                    }
                    Length::Of(length) => hand.set_len((*length).into()).unwrap(),
                }
                Bait { path, hand, shape }
            }
        }
    }
}

/// Up to so many of them. Of the crate's own `Vec` each next element is as likely to be the last, so that few have
/// many.
pub fn up_to<'a, const MOST: usize, T: Arbitrary<'a>>(
    from: &mut Unstructured<'a>,
) -> arbitrary::Result<Vec<T>> {
    let mut made = Vec::new();
    for _ in 0..from.int_in_range(0..=MOST)? {
        if from.is_empty() {
            break;
        }
        made.push(from.arbitrary()?);
    }
    Ok(made)
}

/// FNV-1a with 64 bits (Fowler, Noll, Vo), the header's checksum.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Makes a call that has `limit`; its result, whatever it is, comes in time.
pub fn in_time<T>(what: &str, limit: Duration, act: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let result = act();
    let over = began.elapsed().saturating_sub(limit);
    assert!(over < SLACK, "{what} took {over:?} longer than its limit of {limit:?}");
    result
}
