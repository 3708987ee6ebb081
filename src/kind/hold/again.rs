//! The fast path of a hold: what it took last is taken again, and released.
//!
//! **The writer of each word.** The lock that the hold took last is remembered ([`Taken`]): by its owned handle, for
//! the slow paths, and by the words of [`Again`], for the fast path. `busy` belongs to one slow call at a time, which alone looks at
//! the handle. The words are written by a slow acquisition, after it has begun a call on the participant and has seen that nothing
//! is held:
//!
//! - The home thread on the fast path reads the words in its call at home. A slow acquisition of another thread ends the call's rights
//!   before it writes them: then the entry fails, or came first, and the slow acquisition finds the lock held and changes nothing.
//! - A slow acquisition by a signal handler of the home thread finds that the call has begun, and is refused.

#[cfg(doc)]
use super::Taken;
use super::{AnyHandleRef, Hold, of_any};
use crate::attach::{
    attachment::Attachment,
    cached::{FileKey, HomeLine},
    calls::Doing,
    fast_path::{At, Remembered, UnlockOutcome},
    site::FileSite,
};
use crate::layout::Kind;
use crate::registers::Exclusively;
use turnlock_core::acquire::{
    host::Host,
    site::{Lock, Site},
};
use turnlock_core::algorithm::{claim::Mode, shared_bias::ReadersMark};
use turnlock_core::error::Result;
use turnlock_core::sync::{
    AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
    compiler_fence,
};

/// The lock that was taken last.
pub(super) struct Again {
    /// The number of the handle by which it was taken.
    pub(super) serial: AtomicU64,
    /// Its [`Kind`], if it has a fast path; else `NO_FAST_PATH`.
    kind: AtomicU32,
    /// Its region.
    pub(super) region: AtomicUsize,
    /// That the home thread unlocks it ([`Doing::leaving`]), as a word.
    leaving: AtomicUsize,
    /// Where the words of the hold's own participant are for it.
    place: Remembered,
    /// How its bias word reads while it is biased to its readers, if it is a rwlock.
    readers: AtomicU64,
}

/// No handle's number.
const NO_HANDLE: u64 = u64::MAX;
/// Not the number of a kind.
const NO_FAST_PATH: u32 = 0;

impl Again {
    pub(super) fn none(own: &Attachment) -> Self {
        Self {
            serial: AtomicU64::new(NO_HANDLE),
            kind: AtomicU32::new(NO_FAST_PATH),
            region: AtomicUsize::new(0),
            leaving: AtomicUsize::new(Doing::leaving(0).word()),
            place: Remembered::new(own, 0),
            readers: AtomicU64::new(0),
        }
    }

    /// Remembers the lock that `own` is about to take, by the handle with this number.
    pub(super) fn remember(&self, serial: u64, lock: AnyHandleRef, own: &Attachment) {
        let (kind, generation) = match lock {
            AnyHandleRef::Mutex(handle) => (Kind::Mutex as u32, handle.name.generation),
            AnyHandleRef::RwLock(handle) => (Kind::RwLock as u32, handle.name.generation),
            AnyHandleRef::Semaphore(handle) => (Kind::Semaphore as u32, handle.name.generation),
            _ => (NO_FAST_PATH, 0),
        };
        // In a file that records, say.
        let has_none = of_any!(AnyHandleRef, lock, handle => handle.lock.key.file == FileKey::OF_NONE);
        let kind = if has_none { NO_FAST_PATH } else { kind };
        // Relaxed, all of them: see above.
        self.region.store(lock.region(), Relaxed);
        self.leaving.store(Doing::leaving(lock.region()).word(), Relaxed);
        self.place.remember(own, lock.region());
        self.readers.store(ReadersMark::new(generation).word(), Relaxed);
        self.kind.store(kind, Relaxed);
        self.serial.store(if kind == NO_FAST_PATH { NO_HANDLE } else { serial }, Relaxed);
    }
}

/// How a lock is taken again. Methods rather than closures, which would be compiled as calls.
trait Take {
    fn take(self, at: At<'_>) -> Option<u64>;
}

/// By its bias.
struct ByBias;

impl Take for ByBias {
    #[inline(always)]
    fn take(self, at: At<'_>) -> Option<u64> {
        at.take_as_owner()
    }
}

/// In this mode.
struct In<'a>(Mode, &'a ReadersMark);

impl Take for In<'_> {
    #[inline(always)]
    fn take(self, at: At<'_>) -> Option<u64> {
        at.take_in_mode(self.1, self.0)
    }
}

/// So many permits.
struct Permits(u32);

impl Take for Permits {
    #[inline(always)]
    fn take(self, at: At<'_>) -> Option<u64> {
        at.take_permits(self.0)
    }
}

impl Hold {
    /// The line of its own participant.
    #[inline(always)]
    fn home(&self) -> &HomeLine {
        // SAFETY: the participant's, which the hold keeps.
        unsafe { self.home.as_ref() }
    }

    /// How the bias word reads while the rwlock that was taken last is biased to its readers. For a call at home.
    #[inline(always)]
    fn readers(&self) -> &ReadersMark {
        // SAFETY: a word that is one. It is looked at in a call at home alone, and then no thread writes it, see above: so it is no atomic
        // load, which would take up a register from there on.
        unsafe { &*self.again.readers.as_ptr().cast::<ReadersMark>() }
    }

    /// Takes a lock by its fast path, as `take` does, if the handle with this number, which is looked at in its place, is the one by which the hold took one last, and
    /// the calling thread is the home thread. Returns the fencing token.
    #[inline(always)]
    fn take_again(&self, serial: &u64, take: impl Take) -> Option<u64> {
        let home = self.home();
        let call = home.begin(Doing::TAKING)?;
        // Relaxed: see above.
        if self.again.serial.load(Relaxed) != *serial {
            return None;
        }
        // SAFETY: of the hold's own participant, whose file it keeps open; see above.
        let token = take.take(unsafe { At::again(home, &self.again.place, &call) });
        drop(call);
        if token.is_none() {
            // Keeps the compiler from ending the call in one place for both, which would cost the way in two jumps.
            compiler_fence(SeqCst);
        }
        token
    }

    /// Takes the mutex of the handle with this number by its bias, if it is the lock that was taken last. Returns the fencing token.
    #[inline(always)]
    pub fn lock_again(&self, serial: &u64) -> Option<u64> {
        self.take_again(serial, ByBias)
    }

    /// Takes the rwlock in this mode, likewise.
    #[inline(always)]
    pub fn lock_again_in(&self, serial: &u64, mode: Mode) -> Option<u64> {
        self.take_again(serial, In(mode, self.readers()))
    }

    /// Takes so many permits of the semaphore, likewise.
    #[inline(always)]
    pub fn take_permits_again(&self, serial: &u64, permits: u32) -> Option<u64> {
        self.take_again(serial, Permits(permits))
    }

    /// Releases what was taken by the fast path, on the home thread. `None`: it is held otherwise, or not at all. Where the bias or the
    /// reservation was lost meanwhile, the number of the lock is for [`Hold::complete_release`].
    #[inline(always)]
    pub fn release_by_fast_path(&self) -> Option<(UnlockOutcome, usize)> {
        let home = self.home();
        let leaving = Doing::of_word(self.again.leaving.load(Relaxed));
        let call = home.begin(leaving)?;
        // Relaxed: see above.
        let kind = self.again.kind.load(Relaxed);
        // SAFETY: as in `take_again`.
        let at = unsafe { At::again(home, &self.again.place, &call) };
        let left = if kind == Kind::Mutex as u32 {
            at.leave_as_owner(None)
        } else if kind == Kind::RwLock as u32 {
            at.leave_in_mode(self.readers(), None)
        } else if kind == Kind::Semaphore as u32 {
            at.leave_reserved(None)
        } else {
            None
        };
        left.map(|left| (left, leaving.region()))
    }

    /// Unparks the waiters for what [`Hold::release_by_fast_path`] found lost in the lock of `region`. Another thread may be taking
    /// something by the hold by now.
    pub fn complete_release(&self, region: usize) -> Result<()> {
        let site = FileSite::new(&self.own.attachment, region, 0, Exclusively, None);
        site.lock().unpark_waiters_of(site.me());
        // Of a reservation, see `reservation::complete_leave`.
        site.lock().unpark_standby(site.me(), true);
        site.check_after_unlock()
    }
}
