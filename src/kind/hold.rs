//! A hold: what one acquisition belongs to, whichever thread makes it and whichever ends it.
//!
//! It has a participant for each part that it takes at once, one as a rule. They come from the pool of idle participants that an
//! open file keeps, and go back to it, unless the hold's options ask for something that those do not have.

mod again;
mod begun;
mod by;
mod by_server;
mod held;
mod notifier;
mod several;
#[cfg(test)]
mod tests;

use super::{
    acquired::Acquired,
    any_handle::{AnyHandle, AnyHandleRef, of_any},
    file::LockFile,
    handle::Handle,
    part::Part,
    participant::Participant,
    ring::RingKind,
};
use crate::attach::{attachment::AttachOptions, cached::HomeLine, file_handle::FileHandle, idle};
use crate::os::thread_words::this_thread;
use again::Again;
use begun::Begun;
use by::By;
use notifier::Notifier;
use std::{
    cell::UnsafeCell,
    os::fd::RawFd,
    ptr::NonNull,
    sync::{Arc, Mutex, OnceLock},
    thread,
    time::Duration,
};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Claim;
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

/// What is wanted of a lock. The kind of the lock decides which it can be.
pub enum Wanted {
    /// All of a mutex, or the turn of a ring.
    Everything,
    /// What this says of a rwlock, a semaphore or a group lock.
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
/// `busy`: an acquisition that was begun, of no thread. As a call that upgrades, it is not waited for.
const BEGUN: usize = UPGRADING;
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
    again: Again,
    /// Which slow call is under way, `BRIEF`, `ACQUIRING` or `UPGRADING`, and of which thread; 0: none.
    busy: AtomicUsize,
    taken: UnsafeCell<Taken>,
    /// What was begun, and not finished yet: then `busy` is `BEGUN`.
    begun: Mutex<Option<Begun>>,
    /// Tells when that can be finished.
    notifier: OnceLock<Arc<Notifier>>,
    /// The line of `own` for the fast path.
    home: NonNull<HomeLine>,
    /// Keeps the file's pool, to which the participants go back.
    file: FileHandle,
}

// SAFETY: one call at a time looks at what was taken; the line is shared between threads, as the participant is.
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
            again: Again::none(&own.attachment),
            home: NonNull::from(own.attachment.home()),
            own,
            options,
            busy: AtomicUsize::new(0),
            taken: UnsafeCell::default(),
            begun: Mutex::new(None),
            notifier: OnceLock::new(),
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
        self.own.attachment.local(self.again.region.load(Relaxed)).is_held()
    }

    /// Takes what is wanted of the lock, by the handle with this number.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if it has something of this lock already, [`Error::StillHeld`] of another lock;
    /// [`Error::ParticipantBusy`]; [`Error::InvalidArgument`].
    pub fn acquire(&self, serial: u64, lock: AnyHandleRef, wanted: Wanted, limit: Limit) -> Result<Acquired> {
        self.check_file(lock)?;
        let mut call = self.begin(ACQUIRING)?;
        // From here on no other thread is on the fast path.
        let _calls = self.own.attachment.begin_taking(lock.region())?;
        self.remember(&mut call, serial, lock)?;
        self.by().acquire(&mut call.taken().more, lock, wanted, limit)
    }

    /// Remembers the lock that is about to be taken, by the handle with this number. Errors as [`Hold::acquire`], if something is held.
    fn remember(&self, call: &mut Call<'_>, serial: u64, lock: AnyHandleRef) -> Result<()> {
        if call.held().is_ok_and(|(_, mut held)| held.next().is_some()) {
            let is_same = self.again.region.load(Relaxed) == lock.region();
            return Err(if is_same { Error::Deadlock } else { Error::StillHeld });
        }
        let taken = call.taken();
        if self.again.serial.load(Relaxed) != serial {
            self.again.remember(serial, lock, &self.own.attachment);
            taken.lock = Some(lock.to_owned());
        }
        taken.may_be_in_ring |= matches!(lock, AnyHandleRef::TurnRing(_));
        Ok(())
    }

    /// What it acquires by.
    fn by(&self) -> By<'_> {
        By { own: &self.own, options: self.options.as_ref(), file: &self.file }
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
        if !self.cancel_begun() {
            self.own.cancel();
        }
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
        // In a forked child it is an error: what was begun is the parent's.
        let _ = self.cancel_acquire();
        let Taken { more, may_be_in_ring, .. } = std::mem::take(self.taken.get_mut());
        if may_be_in_ring {
            return;
        }
        // The file's pool lives at least as long as `file`.
        more.into_iter().chain([self.own.clone()]).for_each(|one| self.by().give_up(one));
    }
}
