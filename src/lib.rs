//! Locks between processes that are nothing but a memory-mapped file.
//!
//! Programs that open the same lock file take turns, whatever they are written in. A lock is first come first served (after a
//! moment of patience), survives a `kill -9` of any participant at any instruction, and tells the next holder of a holder's
//! death. There is no daemon, and no system call where no other participant wants the lock.
//!
//! # First steps
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("app.lock");
//! use turnlock::LockFile;
//!
//! let file = LockFile::open(&path)?; // created if it is not there
//! let accounts = file.mutex("accounts")?; // likewise; a file has room for many locks
//! let guard = accounts.lock()?;
//! // ... one at a time, among all threads of all processes ...
//! drop(guard);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`LockFile::options`] sets a file's capacities, its mode and what participants call themselves, [`LockFile::mutex_options`]
//! a mutex's patience and death policy. Put the file on a local file system: in a folder of the program's own below `/run` or
//! `/dev/shm`, or beside the data.
//!
//! # Who holds a lock
//!
//! A lock belongs to the thread that took it. Each thread is attached to a slot of the file when it first takes a lock
//! there, and detached when it ends. For work that moves between threads, a [`Participant`] has a slot of its own:
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
//! let accounts = file.mutex("accounts")?;
//! let task = file.participant()?;
//! let guard = accounts.lock_as(&task)?;
//! std::thread::scope(|threads| {
//!     threads.spawn(move || drop(guard)); // unlocked on another thread
//! });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A forked child is another participant; it does not have its parent's locks.
//!
//! # When a holder dies
//!
//! The next holder gets the lock within about a millisecond (after a long wait within 1/24 of it, at most 50 ms), and is told.
//! It repairs what the dead one left half-done:
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
//! # let accounts = file.mutex("accounts")?;
//! # let doomed = file.participant()?;
//! # std::mem::forget(accounts.lock_as(&doomed)?);
//! # drop(doomed); // as a death
//! let mut guard = accounts.lock()?;
//! if let Some(dead) = guard.previous_owner() {
//!     eprintln!("{} (process {}) died in the middle of it", dead.label, dead.pid);
//!     // ... look at the data, repair them ...
//!     guard.mark_consistent()?;
//! }
//! # assert!(guard.acquired().previous_owner_died);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Without [`MutexGuard::mark_consistent`](Guard::mark_consistent) an unlock then closes the lock for everyone, until
//! [`Mutex::reset`]. A lock whose data need no repair is created with [`DeathPolicy::Release`]: the next holder is told, and
//! nothing has to be repaired.
//!
//! Each acquisition has a *fencing token* ([`Guard::fencing_token`]) larger than all before it, for the life of the file and
//! after it was created anew: a store that remembers the largest it has seen can turn a late writer away.
//!
//! # Waiting
//!
//! [`Mutex::lock`] waits without a limit, [`Mutex::lock_for`] for at most a duration, [`Mutex::try_lock`] does not wait.
//! [`Participant::cancel`] ends a wait from another thread, [`LockFileOptions::interrupted_by`] from the waiting one. A wait
//! that is given up leaves nothing in the queue.
//!
//! For a moment ([`MutexOptions::patience`], a millisecond by default) a waiter lets others pass, which saves a context switch
//! for each acquisition; after it waiters are served in the order of their arrival, and what is left to wait is, for each one
//! ahead, a wake-up and a section. A mutex with no patience is strictly first come first served.
//!
//! # Other kinds of locks
//!
//! A [`RwLock`] is held by several that read, or by one that writes; a [`Semaphore`] by as many as it has permits for; a
//! [`RangeLock`] and a [`KeyedLock`] by one for each range of numbers, or key, or by several that read it, a [`GroupLock`] by any
//! number of one group. All are first come
//! first served among claims that conflict, and survive deaths as a [`Mutex`] does. A reader or a holder of permits leaves
//! nothing to repair; the death of one that writes to a part is told to the next holders of that part.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
//! let cache = file.rwlock("cache")?;
//! let reader = cache.read()?; // others may read
//! drop(reader);
//! let writer = cache.write()?; // alone
//! let reader = writer.downgrade()?; // no writer came in between
//!
//! let jobs = file.semaphore_options().permits(4).open("jobs")?;
//! let two = jobs.acquire(2)?; // of four; they come back if we die
//!
//! let rows = file.range_lock("rows")?;
//! let both = rows.write_all([100..200, 900..1000])?; // several at once, without deadlock
//! let users = file.keyed_lock("users")?;
//! let ada = users.write("ada")?;
//! # drop((reader, two, both, ada));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`TurnRing`] is for programs that take turns: a participant gets the turn again only after all others that want it.
//!
//! # Futures
//!
//! With the feature `async` a task waits without blocking its thread, under any executor: `Mutex::lock_async`,
//! `RwLock::read_async`, `Semaphore::acquire_async` and their like return futures, whose guards can be stored and sent. One that is
//! dropped leaves the queue. `AcquireFuture` says what waits in its place.
//!
//! # Looking on
//!
//! [`inspect::snapshot`] names the holders and the waiters, and changes nothing; `turnlock status` prints it. A file
//! that is created with [`LockFileOptions::recorded_events`] keeps the latest events, which [`inspect::recording`]
//! reads; `turnlock trace` and `turnlock report` show them.
//!
//! # By messages
//!
//! A mutex may also run an algorithm by messages ([`MutexAlgorithm`]), over mailboxes in the file
//! ([`LockFileOptions::mailboxes`]): to see what these cost, and for programs that will go on to other transports. The machines
//! are in the module `message`. Both need the feature `messages`.
//!
//! # From C and other languages
//!
//! `include/turnlock.h` is the same in C. What a signal handler may do, what `fork`, `exec`, cancellation and the end of a
//! thread mean, and how sure all this is, is in `docs/c-abi.md` and `docs/reliability.md`; how it works in
//! `docs/architecture.md` and `docs/algorithms.md`.

#![warn(missing_debug_implementations)]
#![cfg_attr(
    not(feature = "capi"),
    allow(
        dead_code,
        unused_imports,
        reason = "some of it only the C functions use; lints are run with them"
    )
)]

#[allow(missing_debug_implementations, reason = "not public")]
mod attach;
#[allow(missing_debug_implementations, reason = "for C")]
#[cfg(feature = "capi")]
pub mod capi;
#[allow(missing_debug_implementations, reason = "not public")]
mod deadlock;
pub mod inspect;
mod kind;
#[allow(missing_debug_implementations, reason = "not public")]
mod layout;
#[allow(missing_debug_implementations, reason = "not public")]
mod os;
mod recording;
mod recovery;
#[allow(missing_debug_implementations, reason = "not public")]
mod registers;
mod slots;
mod transport;

/// For the command: what `turnlock flock` does with a file that is none of turnlock's.
#[cfg(feature = "command")]
#[doc(hidden)]
pub use os::kernel_lock;
#[cfg(feature = "command")]
#[doc(hidden)]
pub use os::peers;

pub use kind::*;
/// For the suites of the verification ladder.
#[cfg(feature = "mutants")]
#[doc(hidden)]
pub use turnlock_core::mutants;
#[doc(hidden)]
pub use turnlock_core::sync;
#[cfg(feature = "trace")]
#[doc(hidden)]
pub use turnlock_core::trace;
pub use turnlock_core::{
    Error, Result, error,
    error::{Awaited, LockedBy, status, status_text},
};
#[cfg(feature = "messages")]
pub use turnlock_message as message;
