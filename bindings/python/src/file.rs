//! The lock file under a lock object: how it is opened, and the participants that this process has in it.

use crate::shared_file::{SharedFile, Slot, locked};
use crate::thread;
use pyo3::{exceptions::PyValueError, prelude::*};
use std::{
    os::{
        fd::{BorrowedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use turnlock::{DeathPolicy, Error, LockFile, Participant};

/// What a lock object was made with, beside its kind: enough to make it once more in another process.
#[derive(Clone, Default)]
pub struct FileOptions {
    /// Absolute.
    pub path: PathBuf,
    /// What is opened instead of the path: an anonymous file. Its owner keeps it open as long as lock objects are made of it.
    pub descriptor: Option<RawFd>,
    pub participants: Option<u32>,
    pub locks: Option<u32>,
    pub mode: Option<u32>,
    pub group: Option<u32>,
    pub label: Option<String>,
    /// Which slot a thread's participant takes; `None`: a free one.
    pub slot: Option<usize>,
    pub must_exist: bool,
}

/// How many participants that belong to no thread are kept for the next wait that needs one.
const SPARE_AT_MOST: usize = 4;

/// A lock file as one lock object has it open.
pub struct OpenFile {
    pub file: LockFile,
    pub shared: Arc<SharedFile>,
    pub options: FileOptions,
}

impl FileOptions {
    /// Opens the file, or creates it, without the GIL: that may wait for others that create it.
    pub fn open(self, py: Python) -> turnlock::Result<OpenFile> {
        let mut options = LockFile::options();
        options.participants(self.participants.unwrap_or(0)).locks(self.locks.unwrap_or(0));
        options.must_exist(self.must_exist).interrupted_by(thread::should_stop_waiting);
        if let Some(mode) = self.mode {
            options.mode(mode);
        }
        if let Some(group) = self.group {
            options.group(group);
        }
        if let Some(label) = &self.label {
            options.label(label);
        }
        let file = py.detach(|| match self.descriptor {
            None => options.open(&self.path),
            // SAFETY: it is open, as its owner says; if it is not, the call says so.
            Some(descriptor) => options.open_descriptor(unsafe { BorrowedFd::borrow_raw(descriptor) }),
        })?;
        let shared = match self.descriptor {
            None => SharedFile::at(&self.path),
            Some(descriptor) => SharedFile::at(Path::new(&format!("/proc/self/fd/{descriptor}"))),
        };
        let shared = shared
            .map_err(|source| Error::System { what: format!("{}: stat", self.path.display()), source })?;
        Ok(OpenFile { file, shared, options: self })
    }
}

impl OpenFile {
    fn attach(&self) -> turnlock::Result<Arc<Slot>> {
        let mut options = self.file.participant_options();
        if let Some(label) = &self.options.label {
            options.label(label);
        }
        if let Some(slot) = self.options.slot {
            options.slot(slot);
        }
        Ok(Arc::new(Slot { participant: options.open()?, process: thread::process() }))
    }

    /// Runs `act` with the calling thread's participant in this file, which is attached at the thread's first lock and
    /// detached when the thread ends.
    pub fn with_slot_of_thread<R>(
        &self,
        act: impl FnOnce(&Arc<Slot>) -> turnlock::Result<R>,
    ) -> turnlock::Result<R> {
        thread::with_slot(&self.shared, self.options.slot, || self.attach(), act)
    }

    /// A participant that no thread uses now: for a thread whose own one is taking, or has, the same lock; and for waits
    /// that another thread may cancel.
    pub fn spare_slot(&self) -> turnlock::Result<Arc<Slot>> {
        if self.options.slot.is_some() {
            return self.attach();
        }
        let process = thread::process();
        loop {
            match locked(&self.shared.spare).pop() {
                // A forked child remembers those of its parent.
                Some(slot) if slot.process != process => {}
                Some(slot) => return Ok(slot),
                None => return self.attach(),
            }
        }
    }

    /// Runs `wait` without the GIL as the calling thread's participant, or as another one if that waits already: in a signal
    /// handler that has interrupted it.
    pub fn wait_as_thread<R: Send>(
        &self,
        py: Python,
        wait: impl Fn(&Participant) -> turnlock::Result<R> + Sync,
    ) -> turnlock::Result<R> {
        let slot = self.with_slot_of_thread(|slot| Ok(slot.clone()))?;
        match py.detach(|| wait(&slot.participant)) {
            Err(Error::ParticipantBusy) => {
                let slot = self.spare_slot()?;
                let waited = py.detach(|| wait(&slot.participant));
                self.spare(slot);
                waited
            }
            waited => waited,
        }
    }

    /// Takes a participant of [`OpenFile::spare_slot`] back.
    pub fn spare(&self, slot: Arc<Slot>) {
        slot.participant.clear_cancel();
        let mut spare = locked(&self.shared.spare);
        if spare.len() < SPARE_AT_MOST && slot.process == thread::process() {
            spare.push(slot);
        }
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        // The last one: this thread has no more use for its slot. Other threads notice at their next lock, or end.
        if Arc::strong_count(&self.shared) == 1 {
            thread::forget(&self.shared);
        }
    }
}

/// Makes a path absolute, as it has to be for a child that has another working directory.
pub fn absolute(path: PathBuf) -> PyResult<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(PyValueError::new_err("path is empty: name the lock file"));
    }
    if path.as_os_str().as_bytes().contains(&0) {
        return Err(PyValueError::new_err("path has a NUL in it, as no file's can: name the lock file"));
    }
    Ok(std::path::absolute(path)?)
}

/// A death policy by its name.
pub fn death_policy(name: &str) -> PyResult<DeathPolicy> {
    match name {
        "inform" => Ok(DeathPolicy::Inform),
        "release" => Ok(DeathPolicy::Release),
        _ => Err(PyValueError::new_err(format!(
            "death_policy is 'inform' (the next holder repairs the data and says mark_consistent) or 'release' (it is \
             told, and that is all), not {name:?}"
        ))),
    }
}

/// A time in seconds, such as a patience.
pub fn seconds(what: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        PyValueError::new_err(format!("{what} is a number of seconds, 0 or more, and not {seconds}"))
    })
}
