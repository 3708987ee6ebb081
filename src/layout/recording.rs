//! The recording: a ring of the latest events, at the end of a file that has one.
//!
//! ```text
//! recording: words 128 | events: as many as the file was created for x 32
//! ```

use std::mem::{offset_of, size_of};
use turnlock_core::sync::AtomicU64;

/// The most events that a file can keep: 512 MiB of them.
pub const MAX_RECORDED_EVENTS: u32 = 1 << 24;
/// The fewest, in a file that keeps any.
pub const MIN_RECORDED_EVENTS: u32 = 64;

/// The words that belong to the recording rather than to an event.
#[repr(C, align(128))]
pub struct RecordingWords {
    /// How many events were ever recorded: the number of the next one. Each recording adds one (fetch_add).
    pub next: AtomicU64,
    /// The number of the first one since the boot. Written by the one that holds every slot's byte lock.
    pub since_boot: AtomicU64,
    reserved: [AtomicU64; 14],
}

/// One event. Number k is in place k modulo the number of places.
#[repr(C)]
pub struct RecordedEvent {
    /// What happened. Written by the participant that took the event's number.
    pub words: [AtomicU64; 3],
    /// A hash of the three and of the event's number, written last: a place whose hash differs is not whole.
    pub check: AtomicU64,
}

/// A file's recording, as references.
#[derive(Clone, Copy)]
pub struct RecordingView<'map> {
    /// The words of the recording.
    pub words: &'map RecordingWords,
    /// Its places: a power of two.
    pub events: &'map [RecordedEvent],
}

/// Returns how many bytes a recording of so many events has.
pub(super) const fn recording_bytes(events: u32) -> usize {
    match events {
        0 => 0,
        _ => size_of::<RecordingWords>() + events as usize * size_of::<RecordedEvent>(),
    }
}

/// The sizes and offsets, for the fingerprint.
pub(super) const FACTS: [usize; 4] = [
    size_of::<RecordingWords>(),
    offset_of!(RecordingWords, since_boot),
    size_of::<RecordedEvent>(),
    offset_of!(RecordedEvent, check),
];

const _: () = {
    assert!(size_of::<RecordingWords>() == 128);
    assert!(size_of::<RecordedEvent>() == 32);
    assert!(offset_of!(RecordedEvent, words) == 0);
};
