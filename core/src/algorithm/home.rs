//! The home thread of a participant that several threads use.
//!
//! A thread that takes a lock by the slow way sets `busy`, by an exchange; a thread that unlocks changes its local
//! state, by another. On the fast path both would cost more than all the rest. So the first thread that takes a lock as
//! the participant is its *home thread*, and may use the fast path without either, until another thread comes. While the home
//! thread itself takes a lock by the slow way, it says so where its fast path looks: for a signal handler in between. Which
//! thread does what:
//!
//! ```text
//! home thread   home == me? then doing = what; BARRIER; home == me still? then it is alone; doing = DOING_NOTHING
//! other thread  home = REVOKING; HEAVY BARRIER; home = SHARED, for good; and looks what the home thread is doing
//! ```
//!
//! If the home thread's store comes first, the other thread sees what the home thread is doing. If the other thread's
//! store comes first, the home thread sees that it has none of its rights any more. It is the argument of the biased
//! lock ([`super::bias`]), inside one process and for one revocation in a participant's life. No thread waits here: a
//! participant whose home thread is taking a lock is busy, and a lock that it is unlocking is as good as unlocked.
//!
//! BARRIER keeps the compiler in order, and HEAVY BARRIER is `membarrier`. Loom knows no membarrier: there both are full
//! fences (`core/tests/loom/home.rs`).

use crate::error::{Error, Result};
#[cfg(any(loom, shuttle))]
use crate::mutants::{self, Mutant};
use crate::sync::{
    AtomicBool, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    compiler_fence, one_equals,
};

/// No thread has taken a lock yet.
const NO_HOME: usize = 0;
/// Another thread came: no fast path any more.
const SHARED: usize = 1;
/// Another thread came, and may not have passed its barrier.
const REVOKING: usize = 2;

/// What the home thread does on the fast path, to a lock: a number of at least 2, and not `TAKING_SLOWLY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doing(usize);

/// Nothing, and it is no home thread any more, or none has come yet. Doing nothing, a home thread has its own number there.
const NO_THREAD: usize = 0;
/// It takes one by the slow way. Even, and no [`Doing`]'s.
const TAKING_SLOWLY: usize = 4;

impl Doing {
    /// It takes one.
    pub const TAKING: Self = Self(2);

    /// It unlocks that of this region.
    #[inline(always)]
    pub const fn leaving(region: usize) -> Self {
        Self(2 * region + 3)
    }

    /// Returns the region, of one that unlocks.
    #[inline(always)]
    pub const fn region(self) -> usize {
        self.0.wrapping_sub(3) / 2
    }

    /// Returns it as a word, of which [`Doing::of_word`] makes it again.
    #[inline(always)]
    pub const fn word(self) -> usize {
        self.0
    }

    /// See [`Doing::word`].
    #[inline(always)]
    pub const fn of_word(word: usize) -> Self {
        Self(word)
    }
}

/// The thread that calls, and what it can have the others do.
pub trait Caller {
    /// The thread's number, which no other thread of the process has: even, and above 4.
    fn me(&self) -> usize;
    /// Has every thread of the process pass a full fence.
    ///
    /// # Errors
    /// The kernel refuses it.
    fn heavy_barrier(&self) -> Result<()>;
}

const HOME: usize = 0;
const DOING: usize = 1;

/// The threads that are in a call on one participant.
#[repr(C)]
pub struct Calls {
    /// `HOME`: the home thread, or one of the numbers above, which are no thread's. `DOING`: the [`Doing`] of the home thread, which
    /// alone writes it, or `TAKING_SLOWLY`, or its number; at last `NO_THREAD`.
    words: [AtomicUsize; 2],
    /// A thread takes a lock by the slow way.
    busy: AtomicBool,
}

impl Calls {
    /// `by_fast_path`: a home thread may use the fast path.
    pub fn new(by_fast_path: bool) -> Self {
        Self {
            words: [
                AtomicUsize::new(if by_fast_path { NO_HOME } else { SHARED }),
                AtomicUsize::new(NO_THREAD),
            ],
            busy: AtomicBool::new(false),
        }
    }

    #[inline(always)]
    fn home(&self) -> &AtomicUsize {
        &self.words[HOME]
    }

    #[inline(always)]
    fn doing(&self) -> &AtomicUsize {
        &self.words[DOING]
    }

    /// Returns whether thread `me` is the home thread.
    #[inline(always)]
    pub fn is_home_of(&self, me: usize) -> bool {
        one_equals::<HOME, 2>(&self.words, me)
    }

    /// Begins what only the home thread does: if the calling thread is that, and no signal handler in the midst of a call, no other
    /// thread does anything as this participant to the lock until what is returned is dropped.
    #[inline(always)]
    pub fn begin_at_home(&self, caller: impl Caller, doing: Doing) -> Option<AtHome<'_>> {
        let me = caller.me();
        // Relaxed: of another thread only the look below counts. That it is our number says that we are the home thread, and so that
        // no other writes it: there is one home thread, ever.
        if !one_equals::<DOING, 2>(&self.words, me) {
            return None;
        }
        self.doing().store(doing.0, Relaxed);
        // Partner: the heavy barrier in `share`. If theirs comes first, we see that we have lost our rights; if ours does,
        // they see what we do.
        barrier();
        if !self.is_home_of(me) {
            // For good. Release, as in `AtHome::drop`.
            self.doing().store(NO_THREAD, Release);
            // Keeps the compiler from making one store of this one and that in `AtHome::drop`.
            compiler_fence(SeqCst);
            return None;
        }
        Some(AtHome { doing: self.doing(), me })
    }

    /// Begins to take the lock of `region`, or to do something else that only one thread does at a time.
    ///
    /// # Errors
    /// [`Error::ParticipantBusy`]; [`Error::Deadlock`] if the home thread is just unlocking this very lock.
    pub fn begin_taking(&self, caller: impl Caller, region: usize) -> Result<Call<'_>> {
        // Acquire. Partner: the release in `Call::drop`.
        if self.busy.swap(true, Acquire) {
            return Err(Error::ParticipantBusy);
        }
        let (mut call, me) = (Call { calls: self, home: NO_HOME }, caller.me());
        // One at a time comes here.
        if self.home().load(Relaxed) == NO_HOME {
            // Release. Partner: the acquire load in `share`, of a thread that was told of what we are going to lock.
            self.home().store(me, Release);
        }
        let home = self.share(caller)?;
        // Acquire. Partner: the release store in `AtHome::drop`.
        let doing = self.doing().load(Acquire);
        if doing == Doing::leaving(region).0 {
            return Err(Error::Deadlock);
        } else if doing == Doing::TAKING.0 {
            return Err(Error::ParticipantBusy);
        } else if home == me && (doing == me || doing == NO_THREAD) {
            // Relaxed: for signal handlers of this thread. One that came before has taken and left what it wanted, or holds it.
            self.doing().store(TAKING_SLOWLY, Relaxed);
            compiler_fence(SeqCst);
            call.home = me;
        }
        Ok(call)
    }

    /// Begins to unlock the lock of `region`, or to do something else that only its holder does.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if no thread has locked anything, or the home thread is just unlocking this very lock.
    pub fn begin_leaving(&self, caller: impl Caller, region: usize) -> Result<()> {
        if self.share(caller)? == NO_HOME {
            return Err(Error::NotOwner);
        }
        // Acquire, as in `begin_taking`. One that is just taken needs nothing: it is not locked before the local state says
        // so, and that is the home thread's last word.
        let is_left = self.doing().load(Acquire) == Doing::leaving(region).0;
        if is_left { Err(Error::NotOwner) } else { Ok(()) }
    }

    /// Sees to it that no other thread is the home thread. Returns which one is, or was a moment ago.
    fn share(&self, caller: impl Caller) -> Result<usize> {
        // Acquire. Partner: the release stores below, and in `begin_taking`.
        let home = self.home().load(Acquire);
        if home == NO_HOME || home == SHARED || home == caller.me() {
            return Ok(home);
        }
        self.home().store(REVOKING, Relaxed);
        // Partner: the barrier in `begin_at_home`. A participant of a process that is not registered has no home thread.
        caller.heavy_barrier()?;
        self.home().store(SHARED, Release);
        Ok(SHARED)
    }
}

/// The home thread's half of the barrier.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
fn barrier() {
    compiler_fence(SeqCst);
}

#[cfg(any(loom, shuttle))]
fn barrier() {
    mutants::full_fence_unless(Mutant::NoBarrierAtHome);
}

/// A call of the home thread in progress.
pub struct AtHome<'a> {
    doing: &'a AtomicUsize,
    me: usize,
}

impl Drop for AtHome<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release. Partner: the acquire loads in `begin_taking` and `begin_leaving`.
        self.doing.store(self.me, Release);
    }
}

/// A call in progress on a shared participant.
pub struct Call<'a> {
    calls: &'a Calls,
    /// The home thread, if it is that one's, which says so.
    home: usize,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.home != NO_HOME {
            // Release, as in `AtHome::drop`.
            self.calls.doing().store(self.home, Release);
        }
        self.calls.busy.store(false, Release);
    }
}
