//! The file, byte by byte: header, directory, slots, locks. `docs/format.md` is the same map for people.
//!
//! Everything in the mapped part that can change is an atomic. [`View`] hands out references, and [`RegionPointer`]s for
//! the fast path; what it indexes by was checked when the file was opened and is kept in private memory ([`Geometry`]).

mod directory;
mod geometry;
mod growth;
mod header;
mod key;
mod kinds;
mod lock;
mod mail;
mod recording;
mod slot;
mod text;
mod view;

pub use directory::{DirectoryEntry, MAX_NAME_BYTES, names_a_lock};
pub use geometry::{Geometry, MAX_LOCKS, MAX_PARTICIPANTS};
pub use header::{Fences, HeaderFault, HeaderPrefix, LiveHeader, PREFIX_BYTES};
pub use key::{KeyBeginning, KeyRecord};
pub use kinds::{Algorithm, DeathPolicy, Kind};
pub use lock::{Cell, ClaimCell, CoordinationWords, LockWords, PreviousOwner, RingCell};
pub use mail::{ENTRY_WORDS, MAX_MAIL_PARTICIPANTS, MailView};
pub use recording::{MAX_RECORDED_EVENTS, MIN_RECORDED_EVENTS, RecordingView};
pub use slot::{LivenessLockKind, SlotRecord, SlotState};
pub use text::Text;
pub use view::{CellOffset, LockView, RegionPointer, RegionWord, View};

/// Format version: another major number cannot be read; a larger minor number adds only what may be ignored.
pub const FORMAT_MAJOR: u16 = 11;
/// See [`FORMAT_MAJOR`].
pub const FORMAT_MINOR: u16 = 0;

/// Slot i's byte lock is on byte `SLOT_BYTES_START + i`, far behind the end of the file.
pub const SLOT_BYTES_START: u64 = 1 << 40;
/// The byte whose lock is taken first to clear the file after a boot, or to change how biases are revoked.
pub const RENEWAL_BYTE: u64 = SLOT_BYTES_START - 1;
/// The byte whose lock is taken first to unlock what was transferred to an open file that several processes share.
pub const HAND_BACK_BYTE: u64 = SLOT_BYTES_START - 2;
/// Bytes from here on are used for an instant to try out what this file system's byte locks do.
pub const CANARY_BYTES_START: u64 = 1 << 41;

#[cfg(test)]
mod tests {
    use super::{
        lock::RingWords,
        mail::{MailWords, Mailbox, MailboxEnd, PeerRecord},
        recording::{RecordedEvent, RecordingWords},
        *,
    };
    use std::mem::{offset_of, size_of};

    const DOCUMENT: &str = include_str!("../../docs/format.md");

    /// Returns the rows of the table under a heading: offset, bytes, field.
    fn rows(heading: &str) -> Vec<(usize, usize, String)> {
        let section =
            DOCUMENT.split("\n#").find(|section| section.trim_start_matches('#').trim().starts_with(heading));
        let section = section.unwrap_or_else(|| panic!("no heading {heading:?}"));
        let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let row = |cells: Vec<String>| {
            let field = cells.get(3)?.trim_matches('`').to_owned();
            Some((cells.get(1)?.parse().ok()?, cells.get(2)?.parse().ok()?, field))
        };
        section.lines().filter_map(|line| row(cells(line))).collect()
    }

    macro_rules! offsets {
        ($part:ty: $($field:ident)*) => { [$((stringify!($field), offset_of!($part, $field))),*] };
    }

    fn compare<const N: usize>(heading: &str, in_code: [(&str, usize); N]) {
        let in_document: Vec<_> =
            rows(heading).into_iter().map(|(offset, _, field)| (field, offset)).collect();
        let in_code: Vec<_> = in_code.into_iter().map(|(field, offset)| (field.to_owned(), offset)).collect();
        assert_eq!(in_document, in_code, "docs/format.md, {heading}");
    }

    #[test]
    fn the_document_has_every_event_with_its_number() {
        let listed = DOCUMENT.split_once("\nEvents: ").unwrap().1.split_once('.').unwrap().0;
        let listed = listed.split_whitespace().collect::<Vec<_>>().join(" ");
        let events = turnlock_core::event::Event::ALL;
        let in_code: Vec<String> =
            events.into_iter().map(|event| format!("{} = {}", event as u8, event.name())).collect();
        assert_eq!(listed, in_code.join(", "), "docs/format.md, Recorded event");
    }

    #[test]
    fn the_document_has_the_numbers_of_kinds_algorithms_and_death_policies() {
        let row = |field: &str| {
            let line = DOCUMENT.lines().find(|line| line.contains(&format!("| `{field}` |")));
            line.unwrap_or_else(|| panic!("no row of {field}")).rsplit('|').nth(1).unwrap().trim().to_owned()
        };
        let list = |all: &[(u32, &str)]| {
            all.iter().map(|(number, name)| format!("{number} = {name}")).collect::<Vec<_>>().join(", ")
        };
        let policies = DeathPolicy::ALL.map(|policy| (policy as u32, policy.name()));
        assert!(row("kind").starts_with(&list(&Kind::ALL.map(|kind| (kind as u32, kind.name())))));
        let algorithms = Algorithm::ALL.map(|algorithm| (algorithm as u32, algorithm.name()));
        assert!(row("algorithm").starts_with(&list(&algorithms)));
        assert!(row("death_policy").starts_with(&list(&policies)));
    }

    #[test]
    fn the_document_says_what_the_code_does() {
        compare(
            "Directory entry",
            offsets!(DirectoryEntry: generation kind algorithm ring_step death_policy patience_ns recursive permits linked name),
        );
        compare(
            "Slot",
            offsets!(SlotRecord: state liveness_lock generation pid tid pid_namespace attached_realtime_ns cannot_probe thread_generation bell asleep wait label program key),
        );
        compare(
            "Lock words",
            offsets!(LockWords: bias biased_at bias_back_off unbiased last_unbiased revoking_since token state previous_owner standby_event standby_parked designated_waker has_passive designated_looked_at first_token contended timed_out died passed_over ring permits dead_parts coordination members_died deaths_repaired token_end agent wanted total lease_end),
        );
        compare("Previous owner", offsets!(PreviousOwner: token pid tid label));
        compare(
            "Cell",
            offsets!(Cell: held since wake parked successor asleep waiting_since doorway evicted called dead ring claim dead_first dead_last),
        );
        compare("Coordination words", offsets!(CoordinationWords: state sequence partner unused wake));
        compare("Ring words", offsets!(RingWords: bound));
        compare("Ring cell", offsets!(RingCell: state link membership));
        compare("Claim", offsets!(ClaimCell: mode_word first last));
        compare("Mail words", offsets!(MailWords: token_at second_token_at));
        compare("Peer record", offsets!(PeerRecord: life attended standing sends_to sends_at hints sent));
        compare("Recording", offsets!(RecordingWords: next since_boot));
        compare("Recorded event", offsets!(RecordedEvent: words check));
        compare("Mailbox", offsets!(Mailbox: tail head entries));
        assert_eq!(offset_of!(MailboxEnd, count), 0);
        let header = rows("Header");
        assert_eq!(header.len(), 20);
        for (field, offset) in offsets!(LiveHeader: incarnation boot_id unlinked slots_in_use sole_process slots_bound locks_bound removed_token)
        {
            assert!(header.iter().any(|row| (row.2.as_str(), row.0) == (field, offset)), "{field}");
        }
        for pair in header.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:?} overlap");
        }
        assert!(DOCUMENT.contains(&format!("Format {FORMAT_MAJOR}.{FORMAT_MINOR}.")));
        for (participants, locks) in [(128, 64), (MAX_PARTICIPANTS, MAX_LOCKS)] {
            let size = Geometry::new(participants, locks).unwrap().file_size().to_string();
            let thousands: Vec<&str> =
                size.as_bytes().rchunks(3).rev().map(|three| std::str::from_utf8(three).unwrap()).collect();
            let written = thousands.join(",");
            assert!(DOCUMENT.contains(&written), "a file for {participants} and {locks} has {written} bytes");
        }
        for (part, size) in [
            ("Directory entry", size_of::<DirectoryEntry>()),
            ("Slot", size_of::<SlotRecord>()),
            ("Lock words", size_of::<LockWords>()),
            ("Cell", size_of::<Cell>()),
            ("Mail words", size_of::<MailWords>()),
            ("Peer record", size_of::<PeerRecord>()),
            ("Mailbox", size_of::<Mailbox>()),
            ("Recording", size_of::<RecordingWords>()),
            ("Recorded event", size_of::<RecordedEvent>()),
        ] {
            assert!(DOCUMENT.contains(&format!("## {part}\n\n{size} bytes")), "{part} has {size} bytes");
        }
    }
}
