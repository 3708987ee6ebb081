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
use super::{AnyHandleRef, Hold};
use crate::attach::{
    attachment::{Attachment, LocalOffset},
    calls::{AtHome, Doing},
    fast_path::{self, LockPointer, UnlockOutcome},
    open_file::OpenFile,
    site::FileSite,
};
use crate::kind::{handle::Handle, mutex::MutexKind, rwlock::RwLockKind, semaphore::SemaphoreKind};
use crate::layout::{Kind, RegionWord};
use crate::registers::Exclusively;
use turnlock_core::acquire::{
    host::Host,
    site::{Lock, Site},
};
use turnlock_core::algorithm::{claim::Mode, shared_bias::ReadersMark};
use turnlock_core::error::Result;
use turnlock_core::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The lock that was taken last.
pub(super) struct Again {
    /// The number of the handle by which it was taken.
    pub(super) serial: AtomicU64,
    /// Its [`Kind`], if it has a fast path; else `NO_FAST_PATH`.
    kind: AtomicU32,
    /// Its region.
    pub(super) region: AtomicUsize,
    /// Where that lies.
    at: RegionWord,
    /// The generation of its name.
    generation: AtomicU64,
}

/// No handle's number.
const NO_HANDLE: u64 = u64::MAX;
/// Not the number of a kind.
const NO_FAST_PATH: u32 = 0;

impl Again {
    pub(super) fn none(file: &OpenFile) -> Self {
        Self {
            serial: AtomicU64::new(NO_HANDLE),
            kind: AtomicU32::new(NO_FAST_PATH),
            region: AtomicUsize::new(0),
            at: RegionWord::new(file.view().region_pointer(0)),
            generation: AtomicU64::new(0),
        }
    }

    /// Remembers the lock that is about to be taken, by the handle with this number.
    pub(super) fn remember(&self, serial: u64, lock: AnyHandleRef, file: &OpenFile) {
        let (kind, generation) = match lock {
            AnyHandleRef::Mutex(handle) => (Kind::Mutex as u32, handle.name.generation),
            AnyHandleRef::RwLock(handle) => (Kind::RwLock as u32, handle.name.generation),
            AnyHandleRef::Semaphore(handle) => (Kind::Semaphore as u32, handle.name.generation),
            _ => (NO_FAST_PATH, 0),
        };
        // Relaxed, all of them: see above.
        self.region.store(lock.region(), Relaxed);
        self.at.store(file.view().region_pointer(lock.region()));
        self.generation.store(generation, Relaxed);
        self.kind.store(kind, Relaxed);
        self.serial.store(if kind == NO_FAST_PATH { NO_HANDLE } else { serial }, Relaxed);
    }
}

impl Hold {
    /// Begins to take a lock by its fast path, if the handle with this number is the one by which the hold took one last, and the
    /// calling thread is the home thread.
    #[inline(always)]
    fn begin_again<'a>(&self, own: &'a Attachment, serial: u64) -> Option<AtHome<'a>> {
        let call = own.begin_at_home(Doing::Taking)?;
        // Relaxed: see above.
        (self.again.serial.load(Relaxed) == serial).then_some(call)
    }

    /// Takes the mutex by its bias, where [`Hold::begin_again`] allows it. Returns the fencing token.
    #[inline(always)]
    pub fn lock_again(&self, serial: u64, mutex: &Handle<MutexKind>) -> Option<u64> {
        let own: &Attachment = &self.own.attachment;
        mutex.take_at_home(own, &self.begin_again(own, serial)?)
    }

    /// Takes the rwlock in this mode, likewise.
    #[inline(always)]
    pub fn lock_again_in(&self, serial: u64, rwlock: &Handle<RwLockKind>, mode: Mode) -> Option<u64> {
        let own: &Attachment = &self.own.attachment;
        rwlock.take_in_mode_at_home(own, &self.begin_again(own, serial)?, mode)
    }

    /// Takes so many permits of the semaphore, likewise.
    #[inline(always)]
    pub fn take_permits_again(
        &self,
        serial: u64,
        semaphore: &Handle<SemaphoreKind>,
        permits: u32,
    ) -> Option<u64> {
        let own: &Attachment = &self.own.attachment;
        semaphore.take_permits_at_home(own, &self.begin_again(own, serial)?, permits)
    }

    /// Releases what was taken by the fast path, on the home thread. `None`: it is held otherwise, or not at all. Where the bias or the
    /// reservation was lost meanwhile, the number of the lock is for [`Hold::complete_release`].
    #[inline(always)]
    pub fn release_by_fast_path(&self) -> Option<(UnlockOutcome, usize)> {
        let (region, own): (_, &Attachment) = (self.again.region.load(Relaxed), &self.own.attachment);
        let call = own.begin_at_home(Doing::Leaving(region))?;
        let (local, at) = (LocalOffset::of(region), self.again.at.load());
        let lock = LockPointer { file: self.key, word: self.file.open.word.word(), region, local, at };
        // Relaxed: see above.
        let kind = self.again.kind.load(Relaxed);
        // SAFETY: this hold keeps the file open.
        let left = unsafe {
            if kind == Kind::Mutex as u32 {
                fast_path::leave_as(lock, own, &call, None)
            } else if kind == Kind::RwLock as u32 {
                let readers = ReadersMark::new(self.again.generation.load(Relaxed));
                fast_path::leave_in_mode_as(lock, own, &call, &readers, None)
            } else if kind == Kind::Semaphore as u32 {
                fast_path::leave_permits_as(lock, own, &call, None)
            } else {
                None
            }
        };
        left.map(|left| (left, region))
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
