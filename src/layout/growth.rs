//! Where what a file holds lies in a larger one.

use super::{Cell, Geometry, PREFIX_BYTES, mail::bytes_before_mailboxes};
use std::{mem::size_of, ops::Range};

/// A stretch of a file, and where it begins in a larger one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Where it lies.
    pub from: Range<u64>,
    /// Where it begins in the larger one.
    pub to: u64,
}

impl Geometry {
    /// Returns every stretch of a file of this shape that may have been written, with its place in one of the shape `larger`:
    /// all of the header but its constant part, the first `locks` directory entries and their regions, the records of the first
    /// `slots` slots, and the recording, if that of `larger` is as long: else a new one begins there.
    pub fn moved_into(self, larger: Geometry, locks: usize, slots: usize) -> impl Iterator<Item = Moved> {
        let moved = |from: Range<u64>, to: u64| Moved { from, to };
        let header = PREFIX_BYTES as u64..Self::HEADER_BYTES as u64;
        let tables = [
            moved(header, PREFIX_BYTES as u64),
            moved(self.bytes_of_entries(0..locks), larger.bytes_of_entries(0..1).start),
            moved(self.bytes_of_slots(0..slots), larger.bytes_of_slots(0..1).start),
        ];
        let recording = (self.recorded_events() == larger.recorded_events())
            .then(|| moved(self.bytes_of_recording(), larger.bytes_of_recording().start))
            .filter(|moved| !moved.from.is_empty());
        tables
            .into_iter()
            .chain(recording)
            .chain((0..=locks).flat_map(move |region| self.region_moved_into(larger, region)))
    }

    /// Returns what moves of the mail area of a lock by messages: the words of the lock and of its participants. The mailboxes
    /// are other ones among more participants, and empty in the larger file: no participant is left that a message
    /// tells of.
    pub fn mail_moved_into(self, larger: Geometry, region: usize) -> Option<Moved> {
        let participants = self.mail_participants() as usize;
        let from = self.bytes_of_mail(region).start;
        let stretch = from..from + bytes_before_mailboxes(participants) as u64;
        (participants > 0).then(|| Moved { from: stretch, to: larger.bytes_of_mail(region).start })
    }

    /// Returns a region's parts: its words and numbers, the passive set, the entries, the cells.
    fn region_moved_into(self, larger: Geometry, region: usize) -> [Moved; 4] {
        let starts = |of: Geometry| {
            [of.passive_in_region(), of.entries_in_region(), of.cells_in_region()].map(|at| at as u64)
        };
        let [passive, entries, cells] = starts(self);
        let [passive_to, entries_to, cells_to] =
            starts(larger).map(|at| at + larger.bytes_of_region(region).start);
        let end = cells + u64::from(self.participants()) * size_of::<Cell>() as u64;
        let (from, to) = (self.bytes_of_region(region).start, larger.bytes_of_region(region).start);
        [
            Moved { from: from..from + passive, to },
            Moved { from: from + passive..from + entries, to: passive_to },
            Moved { from: from + entries..from + cells, to: entries_to },
            Moved { from: from + cells..from + end, to: cells_to },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `docs/format.md` has it.
    const MAILBOX_BYTES: u64 = 3328;

    /// A part of the file that is new in a later format, and not moved, is noticed here.
    #[test]
    fn every_byte_behind_the_constant_part_is_moved_once_and_nothing_lands_on_another() {
        for (small, large) in
            [((1, 1), (1, 2)), ((7, 3), (128, 64)), ((100, 5), (101, 5)), ((16, 16), (16, 16))]
        {
            let [small, large] =
                [small, large].map(|(participants, locks)| Geometry::new(participants, locks).unwrap());
            let all: Vec<Moved> =
                small.moved_into(large, small.locks() as usize, small.participants() as usize).collect();
            let mut from: Vec<Range<u64>> = all.iter().map(|moved| moved.from.clone()).collect();
            from.sort_by_key(|stretch| stretch.start);
            let mut at = PREFIX_BYTES as u64;
            for stretch in &from {
                assert_eq!(stretch.start, at, "{small:?}");
                at = stretch.end;
            }
            assert_eq!(at, small.file_size());
            let mut to: Vec<Range<u64>> =
                all.iter().map(|moved| moved.to..moved.to + (moved.from.end - moved.from.start)).collect();
            to.sort_by_key(|stretch| stretch.start);
            assert!(to.windows(2).all(|two| two[0].end <= two[1].start), "{to:?}");
            assert!(to.last().unwrap().end <= large.file_size());
        }
    }

    /// The same with mail areas: of them the mailboxes alone stay behind, which are the last part of each.
    #[test]
    fn of_the_mail_areas_all_but_the_mailboxes_is_moved() {
        for (had, has) in [(1, 1), (2, 2), (2, 5), (5, 16)] {
            let [small, large] = [(8, 3, had), (32, 7, has)].map(|(participants, locks, mail)| {
                Geometry::new(participants, locks).and_then(|geometry| geometry.with_mail(mail)).unwrap()
            });
            let all: Vec<Moved> = small.moved_into(large, 3, 8).collect();
            assert_eq!(all.iter().map(|moved| moved.from.end).max(), Some(small.bytes_of_mail(1).start));
            for region in 1..=3 {
                let moved = small.mail_moved_into(large, region).unwrap();
                let (mail, mailboxes) = (small.bytes_of_mail(region), u64::from(had * had) * MAILBOX_BYTES);
                assert_eq!(moved.from, mail.start..mail.end - mailboxes);
                // Their places are peer records there, and no mailboxes.
                let room = large.bytes_of_mail(region);
                assert_eq!(moved.to, room.start);
                let end = moved.to + (moved.from.end - moved.from.start);
                assert!(end <= room.end - u64::from(has * has) * MAILBOX_BYTES);
            }
        }
        let without = Geometry::new(8, 3).unwrap();
        assert_eq!(without.mail_moved_into(without.with_mail(4).unwrap(), 1), None);
    }

    #[test]
    fn the_words_of_a_region_lie_where_the_larger_one_has_them() {
        let (small, large) = (Geometry::new(5, 2).unwrap(), Geometry::new(50, 20).unwrap());
        let all: Vec<Moved> = small.moved_into(large, 2, 5).collect();
        for region in 0..3 {
            let base = large.bytes_of_region(region).start;
            let places = [0, large.passive_in_region(), large.entries_in_region(), large.cells_in_region()]
                .map(|at| base + at as u64);
            let moved: Vec<u64> = all[3 + 4 * region..][..4].iter().map(|moved| moved.to).collect();
            assert_eq!(moved, places);
        }
        assert_eq!(all[3].from.start, small.bytes_of_region(0).start);
    }
}
