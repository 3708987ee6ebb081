//! The recording: a ring of the latest events, in a file that has one.
//!
//! A participant takes the next number, and writes its event into the place of that number, without a lock and without waiting.
//! A place whose writer was killed, or was stopped until the ring came round, does not hash to what it contains: that event is
//! lost, and counted as such. The registers of the locks have no part in it.

use crate::layout::{RecordingView, View};
use crate::os::clock;
use turnlock_core::event::{Event, Happening};
use turnlock_core::sync::Ordering::Relaxed;

/// What is written in the place of an event beside [`Event`]s: the first bytes of what the participant calls itself.
const CALLED: u8 = 255;
/// How many bytes of that are kept: in the words where others have the time and the value.
const CALLED_BYTES: usize = 16;
/// Where the slot of a participant would be: a thread that acted without one, since it could not get any.
pub const NO_SLOT: usize = u16::MAX as usize;
/// The flag of a shared hold.
const SHARED: u8 = 1;

/// An event, as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its number: how many were recorded before it, since the file was created.
    pub number: u64,
    /// What was recorded.
    pub what: What,
    /// Of which slot.
    pub slot: usize,
    /// By which slot.
    pub by: usize,
    /// Which lock: its number in the file; 0: none.
    pub region: usize,
}

/// What was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Something that happened.
    Happened {
        /// The event.
        event: Event,
        /// When (`CLOCK_MONOTONIC`, nanoseconds).
        at: u64,
        /// As in [`Happening`].
        shared: bool,
        /// As in [`Happening`].
        value: u64,
    },
    /// What the participant in the slot calls itself, as far as there was room; zeros follow.
    Called([u8; CALLED_BYTES]),
}

/// All that could be read of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The events since the boot that are still there, in the order in which their numbers were taken.
    pub events: Vec<Recorded>,
    /// How many have been recorded since the boot.
    pub recorded: u64,
    /// How many of those that should still be there are not whole: their writers are at it just now, or were killed.
    pub unreadable: u64,
}

/// Records what happens, by the participant in slot `by`, at the lock in `region`; if the file has a recording.
pub fn record(view: View, region: usize, by: usize, happening: Happening) {
    let Happening { event, slot, shared, value } = happening;
    // The directory's own lock is not recorded.
    if region > 0 {
        append(view, what(event as u8, shared, slot, by, region), [clock::monotonic_ns(), value]);
    }
}

/// Records that the participant in `slot` is there: its process, its thread, and what it calls itself.
pub fn record_attached(view: View, slot: usize, (pid, thread): (u32, u32), name: &str) {
    let who = u64::from(thread) << 32 | u64::from(pid);
    append(view, what(Event::Attached as u8, false, slot, slot, 0), [clock::monotonic_ns(), who]);
    let mut bytes = [0; CALLED_BYTES];
    let kept = name.floor_char_boundary(CALLED_BYTES);
    bytes[..kept].copy_from_slice(&name.as_bytes()[..kept]);
    append(view, what(CALLED, false, slot, slot, 0), halves(bytes));
}

/// Records that `slot` is free.
pub fn record_detached(view: View, slot: usize) {
    append(view, what(Event::Detached as u8, false, slot, slot, 0), [clock::monotonic_ns(), 0]);
}

/// After a boot: what was recorded before it has times of another clock. For a caller that has every slot's byte lock.
pub fn begin_anew(view: View) {
    if let Some(RecordingView { words, events }) = view.recording() {
        // Once round: the disk may have kept events with later numbers than it kept of `next`.
        let next = words.next.load(Relaxed).wrapping_add(events.len() as u64);
        words.next.store(next, Relaxed);
        words.since_boot.store(next, Relaxed);
    }
}

/// Event or [`CALLED`], flags, slot, by which slot, which lock: from the lowest byte 1, 1, 2, 2, 2.
fn what(event: u8, shared: bool, slot: usize, by: usize, region: usize) -> u64 {
    let flags = if shared { SHARED } else { 0 };
    let [slot, by, region] = [slot, by, region].map(|number| u64::from(number as u16));
    u64::from(event) | u64::from(flags) << 8 | slot << 16 | by << 32 | region << 48
}

fn halves(bytes: [u8; CALLED_BYTES]) -> [u64; 2] {
    let whole = u128::from_le_bytes(bytes);
    [whole as u64, (whole >> 64) as u64]
}

#[cold]
fn append(view: View, what: u64, [first, second]: [u64; 2]) {
    let Some(RecordingView { words, events }) = view.recording() else { return };
    // Relaxed, all of it: a reader goes by the hash.
    let number = words.next.fetch_add(1, Relaxed);
    let place = &events[(number % events.len() as u64) as usize];
    for (word, value) in place.words.iter().zip([first, second, what]) {
        word.store(value, Relaxed);
    }
    place.check.store(hash(number, [first, second, what]), Relaxed);
}

/// Of an event and its number. By the finalizer of `MurmurHash3` (Appleby), word by word.
fn hash(number: u64, words: [u64; 3]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let mut hash = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^= hash >> 33;
        hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ hash >> 33
    };
    // Not 0, the hash of an empty place.
    words.into_iter().fold(mix(0x7475_726e_6c6f_636b, number), mix) | 1
}

/// Reads the recording, if the file has one. Writes nothing; events that come meanwhile may be there or not.
pub fn read(view: View) -> Option<Read> {
    let RecordingView { words, events } = view.recording()?;
    let places = events.len() as u64;
    let (since_boot, next) = (words.since_boot.load(Relaxed), words.next.load(Relaxed));
    let first = next.saturating_sub(places).max(since_boot.min(next));
    let mut read = Read { events: Vec::new(), recorded: next.saturating_sub(since_boot), unreadable: 0 };
    for number in first..next {
        let place = &events[(number % places) as usize];
        let [first, second, what] = [0, 1, 2].map(|word: usize| place.words[word].load(Relaxed));
        if place.check.load(Relaxed) == hash(number, [first, second, what]) {
            read.events.extend(decoded(number, [first, second, what]));
        } else if words.next.load(Relaxed).saturating_sub(places) <= number {
            read.unreadable += 1;
        } else {
            // A later one is in its place by now: the ring has come round, and what is left begins behind it.
            (read.events, read.unreadable) = (Vec::new(), 0);
        }
    }
    Some(read)
}

/// `None`: an event that this version does not know.
fn decoded(number: u64, [first, second, what]: [u64; 3]) -> Option<Recorded> {
    let [event, flags, ..] = what.to_le_bytes();
    let [slot, by, region] = [16, 32, 48].map(|bits| usize::from((what >> bits) as u16));
    let what = if event == CALLED {
        What::Called((u128::from(second) << 64 | u128::from(first)).to_le_bytes())
    } else {
        What::Happened { event: Event::of(event)?, at: first, shared: flags & SHARED != 0, value: second }
    };
    Some(Recorded { number, what, slot, by, region })
}
