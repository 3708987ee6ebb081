//! The file format, worked out a second time from its description, to write into files what the library would never
//! write, and to read what it wrote.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

pub const VERSION_MAJOR: u64 = 8;
pub const VERSION_MINOR: u64 = 10;
pub const BYTE_ORDER: u64 = 12;
pub const FINGERPRINT: u64 = 16;
pub const PARTICIPANTS: u64 = 24;
pub const LOCKS: u64 = 28;
pub const INCARNATION: u64 = 40;
pub const CREATED: u64 = 48;
pub const CHECKSUM: u64 = 56;
pub const BOOT_ID: u64 = 64;
pub const SLOTS_IN_USE: u64 = 128;
pub const SLOTS_BOUND: u64 = 192;
pub const LOCKS_BOUND: u64 = 196;
pub const SOLE_PROCESS: u64 = 256;

const HEADER_BYTES: u64 = 4096;
const ENTRY_BYTES: u64 = 128;
const RECORD_BYTES: u64 = 256;
const LOCK_WORDS_BYTES: u64 = 512;
/// Where the area of the kind begins in a cell.
const KIND_IN_CELL: u64 = 64;
const CELL_BYTES: u64 = 128;

/// Where things lie in a file with these capacities.
#[derive(Clone, Copy)]
pub struct Format {
    pub participants: u64,
    pub locks: u64,
}

impl Format {
    fn region_bytes(self) -> u64 {
        LOCK_WORDS_BYTES + 3 * (self.participants * 8).next_multiple_of(128) + self.cells_bytes()
    }

    fn cells_bytes(self) -> u64 {
        (self.participants * CELL_BYTES).next_multiple_of(128)
    }

    pub fn file_bytes(self) -> u64 {
        self.region(self.locks + 1)
    }

    /// A lock's directory entry, which begins with its generation: the first named one is 1.
    pub fn entry(self, region: u64) -> u64 {
        HEADER_BYTES + (region - 1) * ENTRY_BYTES
    }

    /// A participant's record.
    pub fn slot(self, slot: u64) -> u64 {
        HEADER_BYTES + self.locks * ENTRY_BYTES + slot * RECORD_BYTES
    }

    /// Whether a participant's service thread says that it may be asleep; 4 bytes.
    pub fn asleep(self, slot: u64) -> u64 {
        self.slot(slot) + 52
    }

    /// A lock's region: 0 is the directory's own lock, the first named one is 1.
    pub fn region(self, region: u64) -> u64 {
        self.slot(self.participants) + region * self.region_bytes()
    }

    /// The last fencing token given out.
    pub fn token(self, region: u64) -> u64 {
        self.region(region) + 48
    }

    /// The fencing token before the first one that the lock gave out.
    pub fn first_token(self, region: u64) -> u64 {
        self.region(region) + 280
    }

    /// The fencing token with which the present retention began.
    pub fn biased_at(self, region: u64) -> u64 {
        self.region(region) + 8
    }

    /// So many plain entries must come before the next retention.
    pub fn back_off(self, region: u64) -> u64 {
        self.region(region) + 16
    }

    /// So many have come.
    pub fn unbiased(self, region: u64) -> u64 {
        self.region(region) + 24
    }

    /// Whether the data can be trusted.
    pub fn state(self, region: u64) -> u64 {
        self.region(region) + 56
    }

    /// A slot's place in the queue, as a word: 0 idle, 1 choosing, n + 1 number n.
    pub fn number(self, region: u64, slot: u64) -> u64 {
        self.region(region) + LOCK_WORDS_BYTES + slot * 8
    }

    /// Of a condition or a barrier: a slot's entry.
    pub fn entry_of(self, region: u64, slot: u64) -> u64 {
        self.region(region) + LOCK_WORDS_BYTES + 2 * (self.participants * 8).next_multiple_of(128) + slot * 8
    }

    /// Of a condition, an event, a barrier or a once: its words.
    pub fn coordination(self, region: u64) -> u64 {
        self.region(region) + 400
    }

    /// Of a ring: a slot's state S.
    pub fn ring_state(self, region: u64, slot: u64) -> u64 {
        self.cell(region, slot) + KIND_IN_CELL
    }

    /// Whether it wants a turn; 4 bytes.
    pub fn ring_membership(self, region: u64, slot: u64) -> u64 {
        self.ring_state(region, slot) + 16
    }

    /// Its place on a ring; 0 in the low 16 bits: it is not on it.
    pub fn ring_link(self, region: u64, slot: u64) -> u64 {
        self.cell(region, slot) + KIND_IN_CELL + 8
    }

    /// Since when a slot's call has waited.
    pub fn waiting_since(self, region: u64, slot: u64) -> u64 {
        self.cell(region, slot) + 32
    }

    /// The latest of a slot's doorways that others pass over.
    pub fn evicted(self, region: u64, slot: u64) -> u64 {
        self.cell(region, slot) + 48
    }

    /// What else a slot says of itself: held, since, wake, parked, and on a ring its state, link and membership.
    pub fn cell(self, region: u64, slot: u64) -> u64 {
        self.region(region + 1) - self.cells_bytes() + slot * CELL_BYTES
    }
}

/// Writes bytes into a file as it is.
pub fn poke(path: &Path, at: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

pub fn poke_u64(path: &Path, at: u64, value: u64) {
    poke(path, at, &value.to_le_bytes());
}

pub fn poke_u32(path: &Path, at: u64, value: u32) {
    poke(path, at, &value.to_le_bytes());
}

pub fn peek_u64(path: &Path, at: u64) -> u64 {
    let bytes = fs::read(path).unwrap();
    u64::from_le_bytes(bytes[at as usize..][..8].try_into().unwrap())
}

/// Makes the header's checksum right again after a change to the header.
pub fn renew_checksum(path: &Path) {
    let bytes = fs::read(path).unwrap();
    poke_u64(path, CHECKSUM, fnv1a(&bytes[..CHECKSUM as usize]));
}

/// FNV-1a with 64 bits, the header's checksum (Fowler, Noll, Vo).
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// This boot's number, as it stands in files.
pub fn this_boot() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16).unwrap();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&((number >> 64) as u64).to_le_bytes());
    bytes[8..].copy_from_slice(&(number as u64).to_le_bytes());
    bytes
}
