//! The anonymous memory in which the primitives of `turnlock.multiprocessing` are: a lock file without a name, and words beside it.
//!
//! Words: how many places are in use, how many processes have taken part; and of each place a total, the number of its waiters, and
//! how many of its permits each process has. The value of a place is its total less what the processes have.

use crate::any::{AnyLock, Kind, Limit, OpenLock, Plan, Want};
use crate::error::{OrRaise, raise};
use crate::file::FileOptions;
use crate::hold::Held;
use crate::shared_file::locked;
use crate::thread;
use pyo3::prelude::*;
use std::{
    os::fd::RawFd,
    path::PathBuf,
    ptr::NonNull,
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicU32,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};
use turnlock::{Error, Result};

/// How many primitives an arena has room for.
pub const PLACES: usize = 128;
/// How many processes can have something in it at a time.
const PROCESSES: usize = 512;
/// How many participants: of each process one, and one of each of its threads.
const PARTICIPANTS: u32 = 1024;
/// How many mutexes protect the words: each those of every eighth place.
const STRIPES: usize = 8;
/// Those, the range lock, and two names for each place.
const LOCKS: u32 = (STRIPES + 1 + 2 * PLACES) as u32;
/// A cache line.
const LINE: usize = 16;
const PLACE: usize = LINE + PROCESSES;
const WORDS: usize = LINE + PLACES * PLACE;

/// The words, mapped.
struct Words {
    first: NonNull<AtomicU32>,
}

// SAFETY: what is mapped is atomics, until the drop.
unsafe impl Send for Words {}
// SAFETY: likewise.
unsafe impl Sync for Words {}

impl Words {
    fn map(descriptor: RawFd) -> std::io::Result<Self> {
        let flags = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping, of which the kernel chooses the place.
        let mapped = unsafe { libc::mmap(std::ptr::null_mut(), 4 * WORDS, flags.0, flags.1, descriptor, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        NonNull::new(mapped.cast()).map(|first| Self { first }).ok_or_else(std::io::Error::last_os_error)
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at < WORDS);
        // SAFETY: inside the mapping, which stays as long as `self` and is used as atomics only.
        unsafe { self.first.add(at).as_ref() }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: it was mapped so, and no reference outlives `self`.
        unsafe { libc::munmap(self.first.as_ptr().cast(), 4 * WORDS) };
    }
}

/// An arena as this process has it open.
pub struct OpenArena {
    /// The index of this process, and the range that says that it is alive; with the process that took it. Never held while the
    /// GIL is given up. First, so that it is dropped first.
    process: Mutex<Option<(u64, usize, Held)>>,
    /// A range lock of process indexes, each of which its process holds.
    alive: Arc<OpenLock>,
    stripes: Vec<turnlock::Mutex>,
    words: Words,
}

/// What of the words belongs to one primitive. All is changed with its stripe locked, by one store at a time.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    words: &'a Words,
    number: usize,
}

impl<'a> Place<'a> {
    /// Its total.
    pub fn total(self) -> &'a AtomicU32 {
        self.words.word(LINE + self.number * PLACE)
    }

    /// How many wait, or more if some were killed.
    pub fn waiters(self) -> &'a AtomicU32 {
        self.words.word(LINE + self.number * PLACE + 1)
    }

    /// How many permits a process has.
    pub fn held(self, process: usize) -> &'a AtomicU32 {
        assert!(process < PROCESSES);
        self.words.word(LINE + self.number * PLACE + LINE + process)
    }

    /// The processes that have any.
    pub fn holders(self) -> impl Iterator<Item = usize> + 'a {
        // Acquire. Partner: the release in `OpenArena::join`: the process has stored nothing before.
        let bound = self.words.word(1).load(Acquire).min(PROCESSES as u32);
        (0..bound as usize).filter(move |process| self.held(*process).load(Relaxed) != 0)
    }

    /// How many permits all processes have.
    pub fn all_held(self) -> u32 {
        self.holders().map(|process| self.held(process).load(Relaxed)).fold(0, u32::saturating_add)
    }

    /// How many permits are free.
    pub fn value(self) -> u32 {
        self.total().load(Relaxed).saturating_sub(self.all_held())
    }
}

impl OpenArena {
    fn open(py: Python, descriptor: RawFd, words: RawFd) -> PyResult<Self> {
        let file = FileOptions {
            path: PathBuf::from("/memfd:turnlock"),
            descriptor: Some(descriptor),
            participants: Some(PARTICIPANTS),
            locks: Some(LOCKS),
            ..FileOptions::default()
        };
        let plan = Plan { file, name: "processes".into(), kind: Kind::Range, death_policy: None };
        let alive = plan.open(py).or_raise(py)?;
        let mut stripes = Vec::with_capacity(STRIPES);
        for stripe in 0..STRIPES {
            let mut options = alive.file.file.mutex_options();
            options.default_death_policy(turnlock::DeathPolicy::Release);
            stripes.push(py.detach(|| options.open(&format!("words {stripe}"))).or_raise(py)?);
        }
        let words = Words::map(words).map_err(PyErr::from)?;
        Ok(Self { process: Mutex::default(), alive: Arc::new(alive), stripes, words })
    }

    /// The words of a place.
    pub fn place(&self, number: usize) -> Place<'_> {
        assert!(number < PLACES);
        Place { words: &self.words, number }
    }

    /// The mutex that protects them.
    pub fn stripe(&self, place: usize) -> &turnlock::Mutex {
        &self.stripes[place % STRIPES]
    }

    /// The lock file.
    pub fn file(&self) -> &crate::file::OpenFile {
        &self.alive.file
    }

    /// The index of this process. With the GIL.
    pub fn me(&self) -> Result<usize> {
        let now = thread::process();
        let known = |process: &Option<(u64, usize, Held)>| {
            process.as_ref().filter(|(then, ..)| *then == now).map(|(_, index, _)| *index)
        };
        if let Some(index) = known(&locked(&self.process)) {
            return Ok(index);
        }
        let (index, held) = self.join()?;
        let mut process = locked(&self.process);
        // A signal handler that ran meanwhile may have done the same.
        if let Some(index) = known(&process) {
            drop(process);
            drop(held);
            return Ok(index);
        }
        // What a parent process had is the parent's.
        *process = Some((now, index, held));
        Ok(index)
    }

    /// Takes an index that no living process has.
    fn join(&self) -> Result<(usize, Held)> {
        for index in 0..PROCESSES {
            let slot = self.file().spare_slot()?;
            match Held::acquire_to_spare(&self.alive, &range_of(index), slot, Limit::Never) {
                Ok(held) => {
                    // Release. Partner: the acquire in `Place::holders`.
                    self.words.word(1).fetch_max(index as u32 + 1, Release);
                    self.forget(index)?;
                    return Ok((index, held));
                }
                Err(Error::WouldBlock(_) | Error::TimedOut(_) | Error::Deadlock) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::InvalidArgument(format!(
            "{PROCESSES} processes use these locks at this moment, and there is no room for one more"
        )))
    }

    /// Takes back what the dead process of this index had.
    fn forget(&self, index: usize) -> Result<()> {
        for number in 0..PLACES {
            let held = self.place(number).held(index);
            if held.load(Relaxed) != 0 {
                let guard = self.stripe(number).lock()?;
                held.store(0, Relaxed);
                guard.unlock()?;
            }
        }
        Ok(())
    }

    /// Runs `act` if the process of this index is dead; meanwhile no other process takes the index.
    pub fn if_dead(&self, index: usize, act: impl FnOnce()) -> Result<()> {
        let AnyLock::Range(alive) = &self.alive.lock else { return Err(Error::Internal("no range".into())) };
        let index = index as u64;
        match alive.try_write(index..index + 1) {
            Ok(guard) => {
                act();
                guard.unlock()
            }
            // It lives; or another participant looks, which will see the same.
            Err(Error::WouldBlock(_) | Error::Deadlock | Error::ParticipantBusy) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn range_of(index: usize) -> Want {
    Want::Range { write: true, first: index as u64, end: Some(index as u64 + 1) }
}

/// An arena: two memory files, by their descriptors, which stay the caller's.
#[pyclass(frozen, module = "turnlock._native")]
pub struct Arena {
    pub open: Arc<OpenArena>,
}

#[pymethods]
impl Arena {
    #[new]
    fn new(py: Python, descriptor: RawFd, words: RawFd) -> PyResult<Self> {
        Ok(Self { open: Arc::new(OpenArena::open(py, descriptor, words)?) })
    }

    /// How many bytes of words there are.
    #[classattr]
    const BYTES: usize = 4 * WORDS;

    /// Takes a place for a primitive, whose total is `value`; `None`: there is none left.
    fn take_place(&self, py: Python, value: u32) -> PyResult<Option<usize>> {
        let used = self.open.words.word(0);
        let number = used.fetch_add(1, Relaxed) as usize;
        if number >= PLACES {
            used.store(PLACES as u32, Relaxed);
            return Ok(None);
        }
        self.open.place(number).total().store(value, Relaxed);
        // The process is known before it has something, so that no later call can fail for want of room.
        self.open.me().map_err(|error| raise(py, error))?;
        Ok(Some(number))
    }
}
