//! A hold: what one acquisition belongs to, whichever thread makes it and whichever ends it.
//!
//! It has a participant for each part that it takes at once, one as a rule. They come from the pool of idle participants that an
//! open file keeps, and go back to it, unless the hold's options ask for something that those do not have.
//!
//! **The writer of each word.** The lock that the hold took last is remembered ([`Taken`]): by its owned handle, for
//! the slow paths, and by two words, for the fast path, on which a mutex that was taken before is taken again and
//! released. `busy` belongs to one slow call at a time, which alone looks at the handle. The words are written by a
//! slow acquisition, after it has begun a call on the participant and has seen that nothing is held:
//!
//! - The home thread on the fast path reads the words before it enters. If its entry comes first, the slow acquisition finds the
//!   lock held, and changes nothing. If the slow acquisition comes first, the home thread has lost its rights, and its entry fails.
//! - A signal handler of the home thread comes between the look at the words and the entry, takes another lock and releases it: the
//!   home thread keeps its rights, and enters. So the words are looked at once more: once the lock is held, no other
//!   call changes them.

mod held;
mod several;
#[cfg(test)]
mod tests;

use super::{
    acquired::Acquired,
    any_handle::{AnyHandle, AnyHandleRef, of_any},
    file::LockFile,
    handle::Handle,
    mutex::MutexKind,
    part::Part,
    participant::Participant,
    ring::RingKind,
};
use crate::attach::{
    attachment::{AttachOptions, FileKey, LocalOffset},
    fast_path::{self, LockPointer, UnlockOutcome},
    file_handle::FileHandle,
    idle,
    site::FileSite,
};
use crate::os::thread_words::this_thread;
use crate::registers::Exclusively;
use std::{cell::UnsafeCell, os::fd::RawFd, sync::Arc, thread, time::Duration};
use turnlock_core::acquire::{
    host::Host,
    site::{Limit, Lock, Site},
};
use turnlock_core::algorithm::claim::Claim;
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

/// What is wanted of a lock. The kind of the lock decides which it can be.
pub enum Wanted {
    /// All of a mutex, or the turn of a ring.
    Everything,
    /// What this says of a rwlock or a semaphore.
    Claim(Claim),
    /// One part of a range lock or a keyed lock.
    Part(Part),
    /// Parts of one, which have nothing in common.
    Parts(Vec<Part>),
}

/// `busy`: a call that waits for nothing.
const BRIEF: usize = 1;
/// `busy`: a call that acquires.
const ACQUIRING: usize = 2;
/// `busy`: a call that has something, and waits until it may have more of it.
const UPGRADING: usize = 3;
/// `busy`: the bits of these. The others are those of a thread's number, which is the address of several words.
const CALL: usize = 3;
/// So often the core is left to a brief call of another thread, which is over then, unless that thread has no core.
const YIELDS: u32 = 100;
/// So often it is slept for: for a second, and more. One that has no core so long may have been stopped.
const SLEEPS: u32 = 1000;
const SLEEP: Duration = Duration::from_millis(1);

/// A hold.
pub struct Hold {
    /// Takes what is alone, and does the long waits where several parts are taken.
    own: Participant,
    /// How the others are attached, and this one; `None`: they come from the pool.
    options: Option<AttachOptions>,
    /// The number of the handle by which a mutex was taken last, and that mutex's region: see above. 0: none, or another kind.
    serial: AtomicU64,
    region: AtomicUsize,
    /// Which slow call is under way, `BRIEF`, `ACQUIRING` or `UPGRADING`, and of which thread; 0: none.
    busy: AtomicUsize,
    taken: UnsafeCell<Taken>,
    /// Keeps the file's pool, to which the participants go back.
    file: FileHandle,
}

// SAFETY: one call at a time looks at what was taken.
unsafe impl Send for Hold {}
// SAFETY: as above.
unsafe impl Sync for Hold {}

/// What was taken last. It is held as long as the participants say so.
#[derive(Default)]
struct Taken {
    lock: Option<AnyHandle>,
    /// The participants of further parts; more than are in use.
    more: Vec<Participant>,
    /// It may be a member of a ring, which would wait for it: its participant does not go back to the pool.
    may_be_in_ring: bool,
}

/// A slow call in progress.
struct Call<'a>(&'a Hold);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        // Release. Partner: the acquire in `begin`.
        self.0.busy.store(0, Release);
    }
}

impl Call<'_> {
    fn taken(&mut self) -> &mut Taken {
        // SAFETY: there is one call at a time.
        unsafe { &mut *self.0.taken.get() }
    }

    /// The lock that was taken last, and the participants that may have something of it, for what only the holder does.
    fn held(&mut self) -> Result<(&AnyHandle, impl Iterator<Item = &Participant>)> {
        let own = &self.0.own;
        let Taken { lock, more, .. } = self.taken();
        let lock = lock.as_ref().ok_or(Error::NotOwner)?;
        let region = of_any!(AnyHandle, lock, handle => handle.region());
        let more = more.iter().filter(move |one| one.attachment.local(region).is_held());
        Ok((lock, std::iter::once(own).filter(move |own| own.attachment.local(region).is_held()).chain(more)))
    }
}

impl LockFile {
    /// Opens a hold, with participants from the pool or attached by these options.
    pub(crate) fn hold(&self, options: Option<AttachOptions>) -> Result<Hold> {
        let own = participant(&self.file, options.as_ref())?;
        Ok(Hold::new(own, options, &self.file))
    }

    /// Returns the calling thread's participant, to be cancelled.
    pub(crate) fn hold_of_thread(&self) -> Result<Hold> {
        Ok(Hold::new(self.current_participant()?, Some(AttachOptions::default()), &self.file))
    }
}

fn participant(file: &FileHandle, options: Option<&AttachOptions>) -> Result<Participant> {
    let idle = if options.is_none() { idle::take(&file.open) } else { None };
    let attach = || idle::attach(&file.open, &options.cloned().unwrap_or_default()).map(Arc::new);
    Ok(Participant { attachment: idle.map_or_else(attach, Ok)? })
}

impl Hold {
    fn new(own: Participant, options: Option<AttachOptions>, file: &FileHandle) -> Self {
        Self {
            own,
            options,
            serial: AtomicU64::new(0),
            region: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            taken: UnsafeCell::default(),
            file: file.clone(),
        }
    }

    /// Begins a slow call. One of another thread is waited for if it is brief: one that neither acquires nor upgrades, or that
    /// acquires in vain, since something is held. One of this thread is not, which a signal handler has interrupted.
    fn begin(&self, call: usize) -> Result<Call<'_>> {
        // In a forked child it is the parent's, and so is the thread that may be busy with it.
        self.own.attachment.check()?;
        let me = this_thread();
        for look in 0..YIELDS + SLEEPS {
            // Acquire. Partner: the release in `Call::drop`.
            let Err(other) = self.busy.compare_exchange(0, me | call, Acquire, Relaxed) else {
                return Ok(Call(self));
            };
            let waits = match other & CALL {
                ACQUIRING => !self.holds(),
                other => other == UPGRADING,
            };
            if waits || other & !CALL == me {
                break;
            } else if look < YIELDS {
                thread::yield_now();
            } else {
                thread::sleep(SLEEP);
            }
        }
        Err(Error::ParticipantBusy)
    }

    /// Returns whether its own participant holds what was taken last, or is taken.
    fn holds(&self) -> bool {
        self.own.attachment.local(self.region.load(Relaxed)).is_held()
    }

    /// Takes the mutex, by the handle with this number, if it is the one that was taken last, is biased to this hold, and the
    /// calling thread is its home thread. Returns the fencing token.
    #[inline(always)]
    pub fn lock_biased(&self, serial: u64, mutex: &Handle<MutexKind>) -> Option<u64> {
        // Relaxed: see above.
        if self.serial.load(Relaxed) != serial {
            return None;
        }
        let token = mutex.lock_biased_as(&self.own)?;
        if self.serial.load(Relaxed) != serial {
            return self.take_back(mutex);
        }
        Some(token)
    }

    /// A signal handler has used the hold before the mutex was taken.
    #[cold]
    #[inline(never)]
    fn take_back(&self, mutex: &Handle<MutexKind>) -> Option<u64> {
        let _ = mutex.unlock_as(&self.own, None);
        None
    }

    /// Releases a mutex that was taken by its bias, on the home thread. `None`: it is held otherwise, or not at all. Where the bias was
    /// revoked meanwhile, the number of the mutex is for [`Hold::complete_release`].
    #[inline(always)]
    pub fn release_biased(&self) -> Option<(UnlockOutcome, usize)> {
        if self.serial.load(Relaxed) == 0 {
            return None;
        }
        let (open, region) = (&self.file.open, self.region.load(Relaxed));
        let at = open.view().region_pointer(region);
        let lock = LockPointer {
            file: FileKey::of_locks_in(open),
            word: open.word.word(),
            region,
            local: LocalOffset::of(region),
            at,
        };
        // SAFETY: this hold keeps the file open.
        unsafe { fast_path::leave_as(lock, &self.own.attachment, None) }.map(|left| (left, region))
    }

    /// Unparks the waiters for the revocation that [`Hold::release_biased`] found in the mutex of `region`. Another
    /// thread may be taking something by the hold by now.
    pub fn complete_release(&self, region: usize) -> Result<()> {
        let site = FileSite::new(&self.own.attachment, region, 0, Exclusively, None);
        site.lock().unpark_waiters_of(site.me());
        site.check_after_unlock()
    }

    /// Takes what is wanted of the lock, by the handle with this number.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if it has something of this lock already, [`Error::StillHeld`] of another lock;
    /// [`Error::ParticipantBusy`]; [`Error::InvalidArgument`].
    pub fn acquire(&self, serial: u64, lock: AnyHandleRef, wanted: Wanted, limit: Limit) -> Result<Acquired> {
        self.check_file(lock)?;
        let mut call = self.begin(ACQUIRING)?;
        let region = lock.region();
        // From here on no other thread is on the fast path.
        let _calls = self.own.attachment.begin_taking(region)?;
        if call.held().is_ok_and(|(_, mut held)| held.next().is_some()) {
            let is_same = self.region.load(Relaxed) == region;
            return Err(if is_same { Error::Deadlock } else { Error::StillHeld });
        }
        let is_mutex = matches!(lock, AnyHandleRef::Mutex(_));
        let taken = call.taken();
        if !is_mutex || self.serial.load(Relaxed) != serial {
            self.serial.store(0, Relaxed);
            taken.lock = Some(lock.to_owned());
            self.region.store(region, Relaxed);
            self.serial.store(if is_mutex { serial } else { 0 }, Relaxed);
        }
        taken.may_be_in_ring |= matches!(lock, AnyHandleRef::TurnRing(_));
        let own = &self.own.attachment;
        match (lock, wanted) {
            (AnyHandleRef::Mutex(handle), Wanted::Everything) => handle.acquire_at(own, (), limit),
            (AnyHandleRef::TurnRing(handle), Wanted::Everything) => handle.acquire_at(own, (), limit),
            (AnyHandleRef::RwLock(handle), Wanted::Claim(claim)) => handle.acquire_at(own, claim, limit),
            (AnyHandleRef::Semaphore(handle), Wanted::Claim(claim)) => {
                handle.check_weight(claim.weight)?;
                handle.acquire_at(own, claim, limit)
            }
            (AnyHandleRef::RangeLock(handle), Wanted::Part(part)) => handle.acquire_part_at(own, part, limit),
            (AnyHandleRef::KeyedLock(handle), Wanted::Part(part)) => handle.acquire_part_at(own, part, limit),
            (AnyHandleRef::RangeLock(handle), Wanted::Parts(parts)) => {
                self.acquire_parts(&mut taken.more, handle, parts, limit)
            }
            (AnyHandleRef::KeyedLock(handle), Wanted::Parts(parts)) => {
                self.acquire_parts(&mut taken.more, handle, parts, limit)
            }
            _ => Err(Error::InvalidArgument("a lock of this kind is not taken like this".into())),
        }
    }

    fn check_file(&self, lock: AnyHandleRef) -> Result<()> {
        if self.own.attachment.of_thread {
            return Err(Error::InvalidArgument(
                "this is the hold of a thread, which is only for cancelling that thread's waits: lock without a hold, or \
                 open one of its own"
                    .into(),
            ));
        }
        if !Arc::ptr_eq(&self.file.open, lock.file()) {
            return Err(Error::InvalidArgument(format!(
                "the hold belongs to {} and the lock to {}: open a hold of the same file",
                self.file.open.reopen().path().display(),
                lock.file().reopen().path().display()
            )));
        }
        Ok(())
    }

    /// Lets others have the slot of one that holds nothing.
    fn give_up(&self, Participant { attachment }: Participant) {
        // In a forked child it is the parent's.
        if self.options.is_none() && attachment.check().is_ok() && !attachment.holds_any() {
            idle::keep(attachment);
        }
    }

    /// Has the hold, which does not have the turn, be no member of the ring.
    pub fn leave_ring(&self, ring: &Handle<RingKind>) -> Result<()> {
        self.check_file(AnyHandleRef::TurnRing(ring))?;
        let _call = self.begin(BRIEF)?;
        ring.depart_as(&self.own)
    }

    /// Ends a wait, the present one or else the next.
    ///
    /// # Errors
    /// [`Error::Closed`], but not of a thread that has ended.
    pub fn cancel(&self) -> Result<()> {
        self.check_cancelled()?;
        self.own.cancel();
        Ok(())
    }

    /// Takes a [`Hold::cancel`] back. Errors as there.
    pub fn clear_cancel(&self) -> Result<()> {
        self.check_cancelled()?;
        self.own.clear_cancel();
        Ok(())
    }

    fn check_cancelled(&self) -> Result<()> {
        let own = &self.own.attachment;
        if own.of_thread { Ok(()) } else { own.check() }
    }

    /// [`Participant::transfer_to_fd`].
    pub fn transfer_to_fd(&self, descriptor: RawFd, pid: u32) -> Result<()> {
        let mut call = self.begin(BRIEF)?;
        if call.held().is_ok_and(|(_, held)| held.count() > 1) {
            return Err(Error::InvalidArgument(
                "the hold has several parts: transfer one at a time, each by a hold of its own".into(),
            ));
        }
        self.own.transfer_to_fd(descriptor, pid)
    }

    /// Checks that closing it gives up nothing.
    ///
    /// # Errors
    /// [`Error::StillHeld`], [`Error::ParticipantBusy`].
    pub fn check_idle(&self) -> Result<()> {
        let mut call = match self.begin(BRIEF) {
            // It is another process's by now, or an open file's.
            Err(Error::Closed) => return Ok(()),
            call => call?,
        };
        let is_held = call.held().is_ok_and(|(_, mut held)| held.next().is_some());
        if is_held { Err(Error::StillHeld) } else { Ok(()) }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Taken { more, may_be_in_ring, .. } = std::mem::take(self.taken.get_mut());
        if may_be_in_ring {
            return;
        }
        // The file's pool lives at least as long as `file`.
        more.into_iter().chain([self.own.clone()]).for_each(|one| self.give_up(one));
    }
}
