//! Where everything lies, computed from two capacities and never read from the file again.

use super::{
    Cell, DirectoryEntry, LockWords, SlotRecord,
    mail::{MAX_MAIL_PARTICIPANTS, mail_bytes},
    recording::{MAX_RECORDED_EVENTS, MIN_RECORDED_EVENTS, recording_bytes},
};
use std::{mem::size_of, ops::Range};
use turnlock_core::sync::AtomicU64;

/// The most participants a file can be created for.
pub const MAX_PARTICIPANTS: u32 = 4096;
/// The most named locks a file can be created for.
pub const MAX_LOCKS: u32 = 4096;

/// The shape of a file: how many participants and named locks, and where their parts begin.
///
/// ```text
/// header | directory: locks x 128 | slots: participants x 256 | lock regions: (1 + locks) x region
///        | mail areas: locks x mail area, if there are any | recording, if there is one
/// region: lock words 512 | number[participants] x 8, rounded up to 128 | passive[participants] x 8, likewise
///         | entry[participants] x 8, likewise | cell[participants] x 128
/// ```
/// Lock region 0 is the directory's own lock; named lock k has region k + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    participants: u32,
    locks: u32,
    /// What follows from the two, computed once: every acquisition that goes through the queue needs it several times.
    slots: usize,
    regions: usize,
    region_bytes: usize,
    passive_in_region: usize,
    entries_in_region: usize,
    cells_in_region: usize,
    /// How many of the participants, those with the lowest slots, have mailboxes.
    mail_participants: u32,
    mail_bytes: usize,
    /// How many events the recording keeps; 0: there is none.
    recorded_events: u32,
}

impl Geometry {
    /// The header page, in bytes.
    pub const HEADER_BYTES: usize = 4096;

    /// `None` where a capacity is 0 or above [`MAX_PARTICIPANTS`], [`MAX_LOCKS`].
    pub const fn new(participants: u32, locks: u32) -> Option<Self> {
        if participants == 0 || participants > MAX_PARTICIPANTS || locks == 0 || locks > MAX_LOCKS {
            return None;
        }
        let slots = Self::HEADER_BYTES + locks as usize * size_of::<DirectoryEntry>();
        // A word for each slot.
        let bytes_of_words = (participants as usize * size_of::<AtomicU64>()).next_multiple_of(128);
        let passive_in_region = size_of::<LockWords>() + bytes_of_words;
        let entries_in_region = passive_in_region + bytes_of_words;
        let cells_in_region = entries_in_region + bytes_of_words;
        Some(Self {
            participants,
            locks,
            slots,
            // The slot table ends at a multiple of 128, since its records and everything before are multiples of 128.
            regions: slots + participants as usize * size_of::<SlotRecord>(),
            region_bytes: (cells_in_region + participants as usize * size_of::<Cell>()).next_multiple_of(128),
            passive_in_region,
            entries_in_region,
            cells_in_region,
            mail_participants: 0,
            mail_bytes: 0,
            recorded_events: 0,
        })
    }

    /// With mailboxes between so many of the participants, in each lock; 0: none.
    ///
    /// `None` if there are not so many participants, or more than [`MAX_MAIL_PARTICIPANTS`] were asked for.
    pub const fn with_mail(mut self, mail_participants: u32) -> Option<Self> {
        if mail_participants > self.participants || mail_participants > MAX_MAIL_PARTICIPANTS {
            return None;
        }
        self.mail_participants = mail_participants;
        self.mail_bytes = mail_bytes(mail_participants as usize);
        Some(self)
    }

    /// With a recording of so many events; 0: none.
    ///
    /// `None` if it is no power of two, less than [`MIN_RECORDED_EVENTS`], or more than [`MAX_RECORDED_EVENTS`].
    pub const fn with_recording(mut self, events: u32) -> Option<Self> {
        let is_possible = events == 0
            || events.is_power_of_two() && events >= MIN_RECORDED_EVENTS && events <= MAX_RECORDED_EVENTS;
        if !is_possible {
            return None;
        }
        self.recorded_events = events;
        Some(self)
    }

    /// Returns how many events the recording keeps; 0: there is none.
    #[inline]
    pub const fn recorded_events(&self) -> u32 {
        self.recorded_events
    }

    /// Returns how many of the participants, those with the lowest slots, have mailboxes.
    pub const fn mail_participants(&self) -> u32 {
        self.mail_participants
    }

    /// How many participant slots.
    pub const fn participants(&self) -> u32 {
        self.participants
    }

    /// How many named locks.
    pub const fn locks(&self) -> u32 {
        self.locks
    }

    /// Returns the size of the whole file, in bytes.
    pub const fn file_size(&self) -> u64 {
        (self.recording() + recording_bytes(self.recorded_events)) as u64
    }

    /// Returns where the directory entries `entries` lie in the file.
    pub fn bytes_of_entries(&self, entries: Range<usize>) -> Range<u64> {
        Self::bytes(self.directory(), size_of::<DirectoryEntry>(), entries)
    }

    /// Returns where the records of `slots` lie in the file.
    pub fn bytes_of_slots(&self, slots: Range<usize>) -> Range<u64> {
        Self::bytes(self.slots(), size_of::<SlotRecord>(), slots)
    }

    /// Returns where the lock region `region` lies in the file.
    pub fn bytes_of_region(&self, region: usize) -> Range<u64> {
        Self::bytes(self.lock_region(region), self.region_bytes, 0..1)
    }

    /// Returns where the mail area of the lock in `region` lies in the file; empty if there is none. Not of region 0.
    pub fn bytes_of_mail(&self, region: usize) -> Range<u64> {
        Self::bytes(self.mail_area(region), self.mail_bytes, 0..1)
    }

    /// Returns where the recording lies in the file; empty if there is none.
    pub fn bytes_of_recording(&self) -> Range<u64> {
        Self::bytes(self.recording(), recording_bytes(self.recorded_events), 0..1)
    }

    fn bytes(start: usize, each: usize, these: Range<usize>) -> Range<u64> {
        (start + these.start * each) as u64..(start + these.end * each) as u64
    }

    /// Returns the bytes of a new file that are allocated at once: the header, the directory's own lock, and the recording.
    pub fn bytes_of_new(&self) -> Vec<Range<u64>> {
        let parts = [0..Self::HEADER_BYTES as u64, self.bytes_of_region(0), self.bytes_of_recording()];
        parts.into_iter().filter(|part| !part.is_empty()).collect()
    }

    pub(super) const fn directory(&self) -> usize {
        Self::HEADER_BYTES
    }

    pub(super) const fn slots(&self) -> usize {
        self.slots
    }

    /// Returns where region `region` begins; 0 is the directory's own lock.
    #[inline]
    pub(super) const fn lock_region(&self, region: usize) -> usize {
        self.regions + region * self.region_bytes
    }

    /// Returns where the mail area of region `region` begins, counted from 1.
    pub(super) const fn mail_area(&self, region: usize) -> usize {
        self.lock_region(self.locks as usize + 1) + (region - 1) * self.mail_bytes
    }

    /// Returns where the recording begins.
    pub(super) const fn recording(&self) -> usize {
        self.mail_area(self.locks as usize + 1)
    }

    #[inline]
    pub(super) const fn numbers_in_region(&self) -> usize {
        size_of::<LockWords>()
    }

    #[inline]
    pub(super) const fn passive_in_region(&self) -> usize {
        self.passive_in_region
    }

    #[inline]
    pub(super) const fn entries_in_region(&self) -> usize {
        self.entries_in_region
    }

    #[inline]
    pub(super) const fn cells_in_region(&self) -> usize {
        self.cells_in_region
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_aligned_and_inside() {
        for participants in [1, 2, 7, 8, 127, 128, MAX_PARTICIPANTS] {
            for locks in [1, 3, 64, MAX_LOCKS] {
                let geometry = Geometry::new(participants, locks).unwrap();
                let directory = geometry.bytes_of_entries(0..locks as usize);
                assert_eq!(directory.start, Geometry::HEADER_BYTES as u64);
                assert_eq!(directory.end, geometry.bytes_of_slots(0..1).start);
                assert_eq!(
                    geometry.bytes_of_slots(0..participants as usize).end,
                    geometry.bytes_of_region(0).start
                );
                assert_eq!(geometry.bytes_of_region(locks as usize).end, geometry.file_size());
                for region in [0, 1, locks as usize] {
                    let start = geometry.lock_region(region);
                    assert_eq!(start % 128, 0);
                    assert_eq!((start + geometry.cells_in_region()) % 128, 0);
                    assert!((start + geometry.region_bytes) as u64 <= geometry.file_size());
                }
            }
        }
    }

    #[test]
    fn mail_areas_lie_behind_the_regions() {
        let without = Geometry::new(32, 3).unwrap();
        for participants in [0, 1, 5, MAX_MAIL_PARTICIPANTS] {
            let geometry = without.with_mail(participants).unwrap();
            assert_eq!(geometry.bytes_of_mail(1).start, geometry.bytes_of_region(3).end);
            assert_eq!(geometry.bytes_of_mail(1).end, geometry.bytes_of_mail(2).start);
            assert_eq!(geometry.bytes_of_mail(3).end, geometry.file_size());
            assert_eq!(geometry.file_size() == without.file_size(), participants == 0);
            assert_eq!(geometry.bytes_of_mail(2).start % 128, 0);
        }
        assert_eq!(without.with_mail(MAX_MAIL_PARTICIPANTS + 1), None);
        assert_eq!(Geometry::new(4, 3).unwrap().with_mail(5), None);
    }

    #[test]
    fn the_recording_lies_behind_the_mail_areas() {
        let without = Geometry::new(32, 3).unwrap().with_mail(5).unwrap();
        assert_eq!(without.bytes_of_recording(), without.file_size()..without.file_size());
        assert_eq!(without.bytes_of_new().len(), 2);
        for events in [MIN_RECORDED_EVENTS, 1024, MAX_RECORDED_EVENTS] {
            let geometry = without.with_recording(events).unwrap();
            assert_eq!(geometry.bytes_of_recording().start, geometry.bytes_of_mail(3).end);
            assert_eq!(geometry.bytes_of_recording().end, geometry.file_size());
            assert_eq!(geometry.bytes_of_recording().start % 128, 0);
            assert_eq!(geometry.bytes_of_new()[2], geometry.bytes_of_recording());
        }
        for events in [1, MIN_RECORDED_EVENTS / 2, 1000, MAX_RECORDED_EVENTS * 2] {
            assert_eq!(without.with_recording(events), None, "{events}");
        }
    }

    #[test]
    fn impossible_capacities_are_refused() {
        for (participants, locks) in [(0, 1), (1, 0), (MAX_PARTICIPANTS + 1, 1), (1, MAX_LOCKS + 1)] {
            assert_eq!(Geometry::new(participants, locks), None);
        }
    }
}
