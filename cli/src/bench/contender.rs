//! What is measured: turnlock's kinds of locks, and the locks of others.

use std::path::{Path, PathBuf};
use turnlock::{
    GroupLock, KeyedLock, LockFile, Mutex, RangeLock, RwLock, Semaphore, TurnRing,
    peers::{Peer, PeerKind},
};

/// A lock that one goes into and comes out of.
pub trait Entry {
    /// Runs `section` inside.
    fn enter<R>(&self, section: impl FnOnce() -> R) -> Result<R, String>;
}

/// One of those that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contender {
    /// What it is called in tables, and how it is chosen.
    pub name: &'static str,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Mutex,
    StrictMutex,
    Ring,
    Writing,
    Reading,
    Semaphore,
    Range,
    Key,
    Group,
    Peer(PeerKind),
    Nothing,
}

pub const ALL: [Contender; 14] = [
    Contender { name: "turnlock mutex", how: How::Mutex },
    Contender { name: "turnlock mutex, strict", how: How::StrictMutex },
    Contender { name: "turnlock ring", how: How::Ring },
    Contender { name: "turnlock rwlock, writing", how: How::Writing },
    Contender { name: "turnlock rwlock, reading", how: How::Reading },
    Contender { name: "turnlock semaphore", how: How::Semaphore },
    Contender { name: "turnlock range lock", how: How::Range },
    Contender { name: "turnlock keyed lock", how: How::Key },
    Contender { name: "turnlock group lock", how: How::Group },
    Contender { name: "pthread mutex", how: How::Peer(PeerKind::Mutex) },
    Contender { name: "pthread robust mutex", how: How::Peer(PeerKind::RobustMutex) },
    Contender { name: "POSIX semaphore", how: How::Peer(PeerKind::Semaphore) },
    Contender { name: "flock", how: How::Peer(PeerKind::Flock) },
    Contender { name: "fcntl OFD lock", how: How::Peer(PeerKind::OpenFile) },
];

/// All, and the one that locks nothing.
pub fn all_and_none() -> impl Iterator<Item = Contender> {
    ALL.into_iter().chain([NOTHING])
}

/// Locks nothing, and is measured only where it is asked for: by it one sees that two inside at once are noticed.
pub const NOTHING: Contender = Contender { name: "nothing", how: How::Nothing };

impl Contender {
    /// Returns whether it is one of ours.
    pub fn is_turnlock(self) -> bool {
        !matches!(self.how, How::Peer(_) | How::Nothing)
    }

    /// Returns whether several are inside at a time.
    pub fn is_shared(self) -> bool {
        matches!(self.how, How::Reading | How::Group)
    }

    fn file(folder: &Path) -> PathBuf {
        folder.join("lock")
    }

    /// Makes it, before any worker is there.
    pub fn create(self, folder: &Path) -> Result<(), String> {
        let path = Self::file(folder);
        match self.how {
            How::Peer(kind) => Peer::create(kind, &path).map_err(|error| error.to_string()),
            How::Nothing => Ok(()),
            _ => LockFile::open(&path).map(drop).map_err(|error| error.to_string()),
        }
    }

    /// Has `worker` use it, in a process of its own.
    pub fn attach<W: Worker>(self, folder: &Path, worker: W) -> Result<(), String> {
        let path = Self::file(folder);
        if let How::Peer(kind) = self.how {
            return worker.work(&Peer::open(kind, &path).map_err(|error| error.to_string())?);
        }
        if self.how == How::Nothing {
            return worker.work(&Nothing);
        }
        let said = |error: turnlock::Error| error.to_string();
        let file = LockFile::open(&path).map_err(said)?;
        match self.how {
            How::Mutex | How::Peer(_) | How::Nothing => worker.work(&file.mutex("bench").map_err(said)?),
            How::StrictMutex => {
                let mut strict = file.mutex_options();
                worker.work(&strict.patience(std::time::Duration::ZERO).open("bench").map_err(said)?)
            }
            How::Ring => worker.work(&file.turn_ring("bench").map_err(said)?),
            How::Writing => worker.work(&Writing(file.rwlock("bench").map_err(said)?)),
            How::Reading => worker.work(&Reading(file.rwlock("bench").map_err(said)?)),
            How::Semaphore => worker.work(&file.semaphore("bench").map_err(said)?),
            How::Range => worker.work(&file.range_lock("bench").map_err(said)?),
            How::Key => worker.work(&file.keyed_lock("bench").map_err(said)?),
            How::Group => worker.work(&file.group_lock("bench").map_err(said)?),
        }
    }
}

/// What a worker does with the lock, once for each type of one.
pub trait Worker {
    /// Does it.
    fn work<E: Entry>(self, lock: &E) -> Result<(), String>;
}

/// As a writer.
struct Writing(RwLock);
/// As a reader.
struct Reading(RwLock);

macro_rules! entries {
    ($($lock:ty: |$own:ident| $acquire:expr;)*) => { $(impl Entry for $lock {
        #[inline]
        fn enter<R>(&self, section: impl FnOnce() -> R) -> Result<R, String> {
            let $own = self;
            let guard = $acquire.map_err(|error| error.to_string())?;
            let result = section();
            drop(guard);
            Ok(result)
        }
    })* };
}
entries! {
    Mutex: |own| own.lock();
    TurnRing: |own| own.lock();
    Writing: |own| own.0.write();
    Reading: |own| own.0.read();
    Semaphore: |own| own.acquire(1);
    RangeLock: |own| own.write(100..200);
    KeyedLock: |own| own.write("ada");
    GroupLock: |own| own.lock(7);
}

/// No lock.
struct Nothing;

impl Entry for Nothing {
    #[inline]
    fn enter<R>(&self, section: impl FnOnce() -> R) -> Result<R, String> {
        Ok(section())
    }
}

impl Entry for Peer {
    #[inline]
    fn enter<R>(&self, section: impl FnOnce() -> R) -> Result<R, String> {
        self.lock().map_err(|error| error.to_string())?;
        let result = section();
        self.unlock().map_err(|error| error.to_string())?;
        Ok(result)
    }
}
