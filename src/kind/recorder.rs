//! What participants do at conditions, events, barriers and onces, for the recording of the file, if it has one.

use super::handle::{Handle, LockKind};
use crate::attach::{open_file::OpenFile, thread::with_thread_attachment};
use crate::os::fork::process_mark;
use crate::recording::{self, NO_SLOT};
use turnlock_core::error::{Error, Result};
use turnlock_core::event::{Event, Happening, Recorder};

/// A participant at what is named in a region of a file that records.
pub(super) struct Records<'a> {
    file: &'a OpenFile,
    region: usize,
    /// Its slot, or [`NO_SLOT`].
    me: usize,
    /// Of the process whose participant it is.
    process: u64,
}

impl Recorder for Records<'_> {
    #[cold]
    fn record(&self, happening: Happening) {
        // What a child that was forked in a call remembers is its parent's.
        if process_mark() == self.process {
            recording::record(self.file.view(), self.region, self.me, happening);
        }
    }
}

/// A participant at what is named in a region of a file, of which nothing is recorded if it is `None`.
pub(super) struct MayRecord<'a>(Option<Records<'a>>);

impl MayRecord<'_> {
    /// Returns what is told of events, if the file records.
    pub fn recorder(&self) -> Option<&dyn Recorder> {
        self.0.as_ref().map(|records| records as &dyn Recorder)
    }

    /// Returns that with the participant's slot.
    pub fn slot_and_recorder(&self) -> Option<(usize, &dyn Recorder)> {
        self.0.as_ref().map(|records| (records.me, records as &dyn Recorder))
    }

    /// Records what the participant does.
    #[inline]
    pub fn note(&self, event: Event, value: u64) {
        if let Some(records) = &self.0 {
            records.record(Happening { event, slot: records.me, shared: false, value });
        }
    }

    /// Records how a wait of the participant ended.
    pub fn note_end<T>(&self, waited: &Result<T>) {
        let event = match waited {
            Ok(_) => Event::Woken,
            Err(Error::TimedOut(_)) => Event::TimedOut,
            Err(_) => Event::GaveUp,
        };
        self.note(event, 0);
    }
}

impl<K: LockKind> Handle<K> {
    /// Returns what records for the participant in slot `me`.
    #[inline]
    pub(super) fn recorder_of(&self, me: usize) -> MayRecord<'_> {
        let file: &OpenFile = &self.file.open;
        let region = self.lock.region;
        let records = || Records { file, region, me, process: process_mark() };
        MayRecord(file.has_recording().then(records))
    }

    /// Returns what records for the calling thread, which gets a slot for that if it has none.
    #[inline]
    pub(super) fn recorder_of_thread(&self) -> MayRecord<'_> {
        if self.file.open.has_recording() { self.recorder_of(self.slot_of_thread()) } else { MayRecord(None) }
    }

    #[cold]
    fn slot_of_thread(&self) -> usize {
        // What the thread does is done without a slot too.
        with_thread_attachment(&self.file.open, |attachment| Ok(attachment.slot)).unwrap_or(NO_SLOT)
    }
}
