//! The header page: what never changes once the file is published, and the few words that do.

use super::{
    Cell, ClaimCell, CoordinationWords, DirectoryEntry, FORMAT_MAJOR, FORMAT_MINOR, Geometry, LockWords,
    PreviousOwner, RingCell, SlotRecord, mail, recording,
};
use std::mem::{offset_of, size_of};
use turnlock_core::sync::{AtomicU32, AtomicU64};

const MAGIC: [u8; 8] = *b"turnlock";
/// Reads as another number on a machine of the other byte order.
const BYTE_ORDER: u32 = 0x0A0B_0C0D;
/// How many bytes of the file never change: what [`HeaderPrefix::decode`] wants.
pub const PREFIX_BYTES: usize = 64;

/// The constant part of the header, in private memory: read once with `pread`, checked, then believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderPrefix {
    /// How many participants and locks the file has room for.
    pub geometry: Geometry,
    /// A random number, never 0, that no other creation of a file has: a file truncated and regrown has lost it.
    pub incarnation: u64,
    /// When the file was created, in nanoseconds since 1970.
    pub created_realtime_ns: u64,
}

/// Why a file is not taken for a turnlock file of this format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderFault {
    /// The magic bytes are not there: some other file.
    Foreign,
    /// A turnlock file of another format version, byte order or layout; the sentence says which.
    Version(String),
    /// A turnlock file whose header was overwritten; the sentence says how it was noticed.
    Damaged(String),
}

impl HeaderPrefix {
    /// Returns the bytes as they stand at the start of the file.
    ///
    /// | offset | bytes | what |
    /// |---|---|---|
    /// | 0 | 8 | magic `turnlock` |
    /// | 8 | 2 + 2 | format major, minor |
    /// | 12 | 4 | byte order tag |
    /// | 16 | 8 | layout fingerprint |
    /// | 24 | 2 + 2 | participants, binary logarithm of the number of events that the recording keeps (0: there is none) |
    /// | 28 | 2 + 2 | locks, of the participants those that have mailboxes |
    /// | 32 | 8 | file size |
    /// | 40 | 8 | incarnation |
    /// | 48 | 8 | creation time |
    /// | 56 | 8 | checksum of bytes 0..56 |
    pub fn encode(&self) -> [u8; PREFIX_BYTES] {
        let mut bytes = [0; PREFIX_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&FORMAT_MAJOR.to_ne_bytes());
        bytes[10..12].copy_from_slice(&FORMAT_MINOR.to_ne_bytes());
        bytes[12..16].copy_from_slice(&BYTE_ORDER.to_ne_bytes());
        bytes[16..24].copy_from_slice(&layout_fingerprint().to_ne_bytes());
        // At most 4096, both.
        bytes[24..26].copy_from_slice(&(self.geometry.participants() as u16).to_ne_bytes());
        let events = self.geometry.recorded_events().checked_ilog2().unwrap_or(0);
        bytes[26..28].copy_from_slice(&(events as u16).to_ne_bytes());
        bytes[28..30].copy_from_slice(&(self.geometry.locks() as u16).to_ne_bytes());
        bytes[30..32].copy_from_slice(&(self.geometry.mail_participants() as u16).to_ne_bytes());
        bytes[32..40].copy_from_slice(&self.geometry.file_size().to_ne_bytes());
        bytes[40..48].copy_from_slice(&self.incarnation.to_ne_bytes());
        bytes[48..56].copy_from_slice(&self.created_realtime_ns.to_ne_bytes());
        let checksum = fnv1a(&bytes[..56]);
        bytes[56..64].copy_from_slice(&checksum.to_ne_bytes());
        bytes
    }

    /// Checks the first bytes of a file of `file_size` bytes, in the order in which the questions make sense: is it
    /// ours, is it this version, is it whole.
    pub fn decode(bytes: &[u8; PREFIX_BYTES], file_size: u64) -> Result<Self, HeaderFault> {
        let u16_at = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let u64_at = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        if bytes[0..8] != MAGIC {
            return Err(HeaderFault::Foreign);
        }
        if u32_at(12) == BYTE_ORDER.swap_bytes() {
            return Err(HeaderFault::Version("it was created on a machine of the other byte order".into()));
        }
        let (major, minor) = (u16_at(8), u16_at(10));
        if u64_at(56) != fnv1a(&bytes[..56]) {
            // A checksum that fails says nothing about which byte is wrong, the version's own included.
            return Err(HeaderFault::Damaged("its header checksum is wrong".into()));
        }
        if major != FORMAT_MAJOR {
            return Err(HeaderFault::Version(format!(
                "its format is version {major}.{minor} and this turnlock reads version {FORMAT_MAJOR}.x"
            )));
        }
        if u32_at(12) != BYTE_ORDER {
            return Err(HeaderFault::Damaged("its byte order tag is impossible".into()));
        }
        if u64_at(16) != layout_fingerprint() {
            return Err(HeaderFault::Version(format!(
                "its layout fingerprint is {:#018x} and this turnlock's is {:#018x}",
                u64_at(16),
                layout_fingerprint()
            )));
        }
        let [participants, log_of_events, locks, mail] = [24, 26, 28, 30].map(|at| u32::from(u16_at(at)));
        let events = if log_of_events == 0 { Some(0) } else { 1_u32.checked_shl(log_of_events) };
        let geometry = Geometry::new(participants, locks).and_then(|geometry| geometry.with_mail(mail));
        let geometry = geometry.and_then(|geometry| geometry.with_recording(events?));
        let Some(geometry) = geometry else {
            return Err(HeaderFault::Damaged(format!(
                "it claims room for {participants} participants, {locks} locks, {mail} participants with mailboxes and \
                 2^{log_of_events} recorded events, which no turnlock file has"
            )));
        };
        if u64_at(32) != geometry.file_size() || file_size != geometry.file_size() {
            return Err(HeaderFault::Damaged(format!(
                "it is {file_size} bytes long and should be {}: it was truncated or grown",
                geometry.file_size()
            )));
        }
        if u64_at(40) == 0 {
            return Err(HeaderFault::Damaged("its incarnation is 0".into()));
        }
        Ok(Self { geometry, incarnation: u64_at(40), created_realtime_ns: u64_at(48) })
    }
}

/// The header as it is mapped: the constant part again (for the incarnation check) and the words that change.
#[repr(C, align(64))]
pub struct LiveHeader {
    constant_start: [u8; 40],
    /// The incarnation, compared by every acquisition and unlock but biased ones: those compare the bias word,
    /// which a truncated file has lost too. Written once, before publication.
    pub incarnation: AtomicU64,
    constant_end: [u8; 16],
    /// The boot during which the registers below were last valid; written by the one that holds every slot's byte lock.
    pub boot_id: [AtomicU64; 2],
    /// Not 0: a participant saw that the file has lost its last name. For those that do not look by themselves.
    pub unlinked: AtomicU32,
    boot_reserved: [AtomicU32; 11],
    /// One more than the highest slot in use; scans of the registers stop here. Raised (fetch_max) by a newcomer
    /// before its first doorway; lowered by one at a time (compare-exchange), by a participant that has the byte lock
    /// of the slot that it then leaves out.
    pub slots_in_use: AtomicU32,
    slots_reserved: [AtomicU32; 15],
    /// One more than the highest slot that was ever taken; the slot table has holes behind it. Raised (fetch_max) by a
    /// newcomer.
    pub slots_bound: AtomicU32,
    /// One more than the highest directory entry that ever named a lock: behind it neither the directory nor lock regions
    /// are looked at, since the file may have holes there. Raised under the directory's lock.
    pub locks_bound: AtomicU32,
    /// The highest fencing token of any lock that was removed: the next lock of any name begins above it. Written under
    /// the directory's lock.
    pub removed_token: AtomicU64,
    removed_reserved: [AtomicU64; 6],
    /// A [`Fences`]: which process alone takes part, if one does. On the fast path, so in a cache line of its own. Written by a
    /// participant that takes a slot, by compare-exchange; or by the one that holds every slot's byte lock.
    pub sole_process: AtomicU64,
    rest: [AtomicU64; 479],
}

/// The values of [`LiveHeader::sole_process`]: what is between two accesses that the other side of a barrier relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fences {
    /// No participant has come yet: 0.
    Undecided,
    /// Full fences on both sides: 1.
    Full,
    /// A second process is about to take part: 2. Full fences, and membarrier besides.
    Changing,
    /// No other process takes part than the one with this mark, which is larger than 2: its own fast side has no fence, and
    /// the other one asks for membarrier.
    PrivateTo(u64),
}

impl Fences {
    /// What the word says.
    pub fn of(word: u64) -> Self {
        match word {
            0 => Fences::Undecided,
            1 => Fences::Full,
            2 => Fences::Changing,
            process => Fences::PrivateTo(process),
        }
    }

    /// The word that says it.
    pub fn word(self) -> u64 {
        match self {
            Fences::Undecided => 0,
            Fences::Full => 1,
            Fences::Changing => 2,
            Fences::PrivateTo(process) => process,
        }
    }
}

const _: () = {
    assert!(offset_of!(LiveHeader, sole_process) == 256);
    assert!(offset_of!(LiveHeader, incarnation) == 40);
    assert!(offset_of!(LiveHeader, boot_id) == 64);
    assert!(offset_of!(LiveHeader, unlinked) == 80);
    assert!(offset_of!(LiveHeader, slots_in_use) == 128);
    assert!(offset_of!(LiveHeader, locks_bound) == 196);
    assert!(offset_of!(LiveHeader, slots_bound) == 192);
    assert!(offset_of!(LiveHeader, removed_token) == 200);
    assert!(size_of::<LiveHeader>() == Geometry::HEADER_BYTES);
};

/// Returns a number that differs whenever a size or an offset in the file differs: two builds that disagree about the layout
/// refuse each other's files instead of corrupting them.
pub(super) const fn layout_fingerprint() -> u64 {
    let facts = [
        Geometry::HEADER_BYTES,
        offset_of!(LiveHeader, incarnation),
        offset_of!(LiveHeader, boot_id),
        offset_of!(LiveHeader, unlinked),
        offset_of!(LiveHeader, slots_in_use),
        offset_of!(LiveHeader, sole_process),
        offset_of!(LiveHeader, locks_bound),
        offset_of!(LiveHeader, slots_bound),
        offset_of!(LiveHeader, removed_token),
        size_of::<DirectoryEntry>(),
        offset_of!(DirectoryEntry, generation),
        offset_of!(DirectoryEntry, kind),
        offset_of!(DirectoryEntry, algorithm),
        offset_of!(DirectoryEntry, ring_step),
        offset_of!(DirectoryEntry, death_policy),
        offset_of!(DirectoryEntry, patience_ns),
        offset_of!(DirectoryEntry, recursive),
        offset_of!(DirectoryEntry, permits),
        offset_of!(DirectoryEntry, linked),
        offset_of!(DirectoryEntry, name),
        size_of::<SlotRecord>(),
        offset_of!(SlotRecord, state),
        offset_of!(SlotRecord, liveness_lock),
        offset_of!(SlotRecord, generation),
        offset_of!(SlotRecord, pid),
        offset_of!(SlotRecord, tid),
        offset_of!(SlotRecord, pid_namespace),
        offset_of!(SlotRecord, attached_realtime_ns),
        offset_of!(SlotRecord, cannot_probe),
        offset_of!(SlotRecord, bell),
        offset_of!(SlotRecord, asleep),
        offset_of!(SlotRecord, label),
        offset_of!(SlotRecord, program),
        size_of::<LockWords>(),
        offset_of!(LockWords, bias),
        offset_of!(LockWords, biased_at),
        offset_of!(LockWords, bias_back_off),
        offset_of!(LockWords, unbiased),
        offset_of!(LockWords, last_unbiased),
        offset_of!(LockWords, revoking_since),
        offset_of!(LockWords, token),
        offset_of!(LockWords, state),
        offset_of!(LockWords, previous_owner),
        offset_of!(LockWords, standby_event),
        offset_of!(LockWords, standby_parked),
        offset_of!(LockWords, designated_waker),
        offset_of!(LockWords, has_passive),
        offset_of!(LockWords, designated_looked_at),
        offset_of!(LockWords, first_token),
        offset_of!(LockWords, contended),
        offset_of!(LockWords, timed_out),
        offset_of!(LockWords, died),
        offset_of!(LockWords, passed_over),
        offset_of!(LockWords, ring),
        offset_of!(LockWords, permits),
        offset_of!(LockWords, dead_parts),
        offset_of!(LockWords, coordination),
        offset_of!(LockWords, members_died),
        offset_of!(LockWords, deaths_repaired),
        offset_of!(LockWords, token_end),
        offset_of!(LockWords, agent),
        offset_of!(LockWords, wanted),
        offset_of!(LockWords, lease_end),
        size_of::<CoordinationWords>(),
        offset_of!(CoordinationWords, state),
        offset_of!(CoordinationWords, sequence),
        offset_of!(CoordinationWords, partner),
        offset_of!(CoordinationWords, unused),
        offset_of!(CoordinationWords, wake),
        size_of::<PreviousOwner>(),
        offset_of!(PreviousOwner, token),
        offset_of!(PreviousOwner, pid),
        offset_of!(PreviousOwner, tid),
        offset_of!(PreviousOwner, label),
        size_of::<Cell>(),
        offset_of!(Cell, held),
        offset_of!(Cell, since),
        offset_of!(Cell, wake),
        offset_of!(Cell, parked),
        offset_of!(Cell, successor),
        offset_of!(Cell, asleep),
        offset_of!(Cell, waiting_since),
        offset_of!(Cell, doorway),
        offset_of!(Cell, evicted),
        offset_of!(Cell, called),
        offset_of!(Cell, dead),
        offset_of!(Cell, ring),
        offset_of!(Cell, claim),
        offset_of!(Cell, dead_first),
        offset_of!(Cell, dead_last),
        offset_of!(ClaimCell, mode_word),
        offset_of!(ClaimCell, first),
        offset_of!(ClaimCell, last),
        size_of::<RingCell>(),
        offset_of!(RingCell, state),
        offset_of!(RingCell, link),
        offset_of!(RingCell, membership),
        super::SLOT_BYTES_START as usize,
        super::RENEWAL_BYTE as usize,
    ];
    fnv1a_of(fnv1a_of(fnv1a_of(FNV_START, &facts), &mail::FACTS), &recording::FACTS)
}

// FNV-1a, 64 bits (Fowler, Noll, Vo): a check against accidents, not against forgers.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const fn fnv1a_step(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3)
}
const fn fnv1a_of(mut hash: u64, facts: &[usize]) -> u64 {
    let mut i = 0;
    while i < facts.len() {
        hash = fnv1a_step(hash, facts[i] as u64);
        i += 1;
    }
    hash
}
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV_START, |hash, byte| fnv1a_step(hash, u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> HeaderPrefix {
        HeaderPrefix { geometry: Geometry::new(128, 64).unwrap(), incarnation: 7, created_realtime_ns: 9 }
    }

    #[test]
    fn comes_back_as_it_was() {
        let prefix = sample();
        assert_eq!(HeaderPrefix::decode(&prefix.encode(), prefix.geometry.file_size()), Ok(prefix));
    }

    #[test]
    fn a_file_with_mailboxes_and_a_recording_comes_back_as_it_was() {
        for events in [64, 1 << 10, 1 << 24] {
            let geometry =
                sample().geometry.with_mail(16).and_then(|geometry| geometry.with_recording(events));
            let prefix = HeaderPrefix { geometry: geometry.unwrap(), ..sample() };
            assert_eq!(HeaderPrefix::decode(&prefix.encode(), prefix.geometry.file_size()), Ok(prefix));
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let prefix = sample();
        for bit in 0..PREFIX_BYTES * 8 {
            let mut bytes = prefix.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(HeaderPrefix::decode(&bytes, prefix.geometry.file_size()).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn another_major_version_is_named() {
        let mut bytes = sample().encode();
        bytes[8..10].copy_from_slice(&(FORMAT_MAJOR + 1).to_ne_bytes());
        let checksum = fnv1a(&bytes[..56]);
        bytes[56..64].copy_from_slice(&checksum.to_ne_bytes());
        match HeaderPrefix::decode(&bytes, 0) {
            Err(HeaderFault::Version(why)) => {
                assert!(why.contains(&format!("{}.0", FORMAT_MAJOR + 1)) && why.contains("11.x"), "{why}")
            }
            other => panic!("{other:?}"),
        }
    }
}
