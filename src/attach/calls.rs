//! Calls on a participant that threads share: it takes one lock at a time.
//!
//! Whoever takes a lock by the slow way sets `busy`, by an exchange, and whoever unlocks has its local state, by another.
//! On the fast path both would cost more than all the rest. So the first thread that takes a lock as the participant is
//! its *home thread*, and may use the fast path without either, until another thread comes. Which one does what:
//!
//! ```text
//! home thread   home == me? then doing = what; COMPILER FENCE; home == me still? then it is alone; doing = IDLE
//! another one   home = REVOKING; MEMBARRIER; home = SHARED, for good; and looks what the home thread is doing
//! ```
//!
//! Either the other one sees what the home thread is doing, or the home thread sees that it has none of its rights any
//! more: the argument of the biased lock ([`crate::algorithm::bias`]), inside one process and for one revocation in a
//! participant's life. Nobody waits here: a participant whose home thread is taking a lock is busy, and a lock that it is
//! unlocking is as good as unlocked.

use crate::error::{Error, Result};
use crate::os::{membarrier, thread_words::this_thread};
use crate::sync::{
    AtomicBool, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    compiler_fence,
};

/// Nobody has taken a lock yet.
const NOBODY: usize = 0;
/// Another thread came: no fast path any more.
const SHARED: usize = 1;
/// Another thread came, and may not have passed its barrier.
const REVOKING: usize = 2;

/// What the home thread does on the fast path, to the lock of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It takes it.
    Taking(usize),
    /// It unlocks it.
    Leaving(usize),
}

/// Nothing.
const IDLE: usize = 0;

impl Doing {
    #[inline(always)]
    fn word(self) -> usize {
        match self {
            Doing::Taking(region) => 2 * region + 2,
            Doing::Leaving(region) => 2 * region + 3,
        }
    }
}

/// Who is in a call on one participant.
pub struct Calls {
    /// The home thread, or one of the numbers above, which are no thread's.
    home: AtomicUsize,
    /// The [`Doing`] of the home thread, which alone writes it, or `IDLE`.
    doing: AtomicUsize,
    /// Somebody takes a lock by the slow way.
    busy: AtomicBool,
}

impl Calls {
    /// `by_fast_path`: a home thread may use the fast path.
    pub fn new(by_fast_path: bool) -> Self {
        Self {
            home: AtomicUsize::new(if by_fast_path { NOBODY } else { SHARED }),
            doing: AtomicUsize::new(IDLE),
            busy: AtomicBool::new(false),
        }
    }

    /// Runs `act` if the calling thread is the home thread, and no signal handler in the midst of a call: nobody else does
    /// anything as this participant to the lock meanwhile.
    #[inline(always)]
    pub fn at_home<R>(&self, doing: Doing, act: impl FnOnce() -> Option<R>) -> Option<R> {
        let me = this_thread();
        // Relaxed, all three: of another thread only the look below counts. That one is the first says that nobody else
        // writes `doing`: there is one home thread, ever.
        if self.home.load(Relaxed) != me || self.doing.load(Relaxed) != IDLE || self.busy.load(Relaxed) {
            return None;
        }
        self.doing.store(doing.word(), Relaxed);
        // Partner: the membarrier in `share`. If theirs comes first, we see that we have lost our rights; if ours does, they
        // see what we do.
        compiler_fence(SeqCst);
        let done = if self.home.load(Relaxed) == me { act() } else { None };
        // Release. Partner: the acquire loads in `begin_taking` and `begin_leaving`.
        self.doing.store(IDLE, Release);
        done
    }

    /// Begins to take the lock of `region`, or to do something else that only one thread does at a time.
    ///
    /// # Errors
    /// [`Error::ParticipantBusy`]; [`Error::Deadlock`] if the home thread is just unlocking this very lock.
    pub fn begin_taking(&self, region: usize) -> Result<Call<'_>> {
        // Acquire. Partner: the release in `Call::drop`.
        if self.busy.swap(true, Acquire) {
            return Err(Error::ParticipantBusy);
        }
        let call = Call(&self.busy);
        // One at a time comes here.
        if self.home.load(Relaxed) == NOBODY {
            // Release. Partner: the acquire load in `share`, of one that was told of what we are going to lock.
            self.home.store(this_thread(), Release);
        }
        self.share()?;
        // Acquire. Partner: the release store in `at_home`.
        match self.doing.load(Acquire) {
            doing if doing == Doing::Leaving(region).word() => Err(Error::Deadlock),
            doing if doing != IDLE && doing & 1 == Doing::Taking(0).word() & 1 => Err(Error::ParticipantBusy),
            _ => Ok(call),
        }
    }

    /// Begins to unlock the lock of `region`, or to do something else that only its holder does.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if nobody has locked anything, or the home thread is just unlocking this very lock.
    pub fn begin_leaving(&self, region: usize) -> Result<()> {
        if self.share()? == NOBODY {
            return Err(Error::NotOwner);
        }
        // Acquire, as in `begin_taking`. One that is just taken needs nothing: it is not locked before the local state says
        // so, and that is the home thread's last word.
        let is_left = self.doing.load(Acquire) == Doing::Leaving(region).word();
        if is_left { Err(Error::NotOwner) } else { Ok(()) }
    }

    /// Sees to it that no other thread is the home thread. Returns who is, or was a moment ago.
    fn share(&self) -> Result<usize> {
        // Acquire. Partner: the release stores below, and in `begin_taking`.
        let home = self.home.load(Acquire);
        if home == NOBODY || home == SHARED || home == this_thread() {
            return Ok(home);
        }
        self.home.store(REVOKING, Relaxed);
        // Partner: the compiler's fence in `at_home`. A participant that is not registered has no home thread.
        membarrier::everywhere()?;
        self.home.store(SHARED, Release);
        Ok(SHARED)
    }
}

/// A call in progress on a shared participant.
pub struct Call<'a>(&'a AtomicBool);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn elsewhere<R: Send>(act: impl FnOnce() -> R + Send) -> R {
        thread::scope(|threads| threads.spawn(act).join().unwrap())
    }

    /// One whose home thread is the calling one.
    fn at_home() -> Calls {
        crate::os::fork::prepare().unwrap();
        assert!(membarrier::register());
        let calls = Calls::new(true);
        drop(calls.begin_taking(1).unwrap());
        calls
    }

    #[test]
    fn the_first_that_takes_is_at_home_until_another_comes() {
        let calls = at_home();
        assert_eq!(calls.at_home(Doing::Taking(1), || Some(7)), Some(7));
        assert_eq!(elsewhere(|| calls.at_home(Doing::Taking(1), || Some(7))), None);
        // That one only tried.
        assert_eq!(calls.at_home(Doing::Leaving(1), || Some(7)), Some(7));
        elsewhere(|| calls.begin_leaving(1).unwrap());
        assert_eq!(calls.at_home(Doing::Taking(1), || Some(7)), None);
        assert_eq!(elsewhere(|| calls.at_home(Doing::Taking(1), || Some(7))), None);
    }

    #[test]
    fn nobody_is_at_home_where_nobody_may_be_or_came_yet() {
        let calls = Calls::new(false);
        drop(calls.begin_taking(1).unwrap());
        assert_eq!(calls.at_home(Doing::Taking(1), || Some(7)), None);
        let calls = Calls::new(true);
        assert_eq!(calls.at_home(Doing::Taking(1), || Some(7)), None);
        assert!(matches!(calls.begin_leaving(1), Err(Error::NotOwner)));
    }

    #[test]
    fn what_comes_in_the_midst_of_it_is_told_what_is_done() {
        // By a signal handler of the thread, or by another thread.
        for comes in [|act: &(dyn Fn() + Sync)| act(), |act: &(dyn Fn() + Sync)| elsewhere(act)] {
            let calls = at_home();
            calls.at_home(Doing::Taking(1), || {
                comes(&|| {
                    assert_eq!(calls.at_home(Doing::Taking(2), || Some(7)), None);
                    for region in [1, 2] {
                        assert!(matches!(calls.begin_taking(region), Err(Error::ParticipantBusy)));
                        assert!(calls.begin_leaving(region).is_ok());
                    }
                });
                Some(())
            });
            let calls = at_home();
            calls.at_home(Doing::Leaving(1), || {
                comes(&|| {
                    assert!(matches!(calls.begin_taking(1), Err(Error::Deadlock)));
                    assert!(matches!(calls.begin_leaving(1), Err(Error::NotOwner)));
                    assert!(calls.begin_taking(2).is_ok() && calls.begin_leaving(2).is_ok());
                });
                Some(())
            });
            assert!(calls.begin_taking(1).is_ok());
        }
    }

    #[test]
    fn one_takes_at_a_time() {
        let calls = at_home();
        let call = calls.begin_taking(1).unwrap();
        assert_eq!(calls.at_home(Doing::Taking(2), || Some(7)), None);
        for _ in 0..2 {
            assert!(matches!(elsewhere(|| calls.begin_taking(2).err()), Some(Error::ParticipantBusy)));
        }
        drop(call);
        assert!(calls.begin_taking(2).is_ok());
    }

    /// One thread uses the fast path for all it is worth when another one comes. Of so many times, the barrier's interrupt
    /// meets it between any two instructions.
    #[test]
    fn nobody_is_at_home_beside_another() {
        const TIMES: usize = 4_000;
        crate::os::fork::prepare().unwrap();
        assert!(membarrier::register());
        let all: Vec<Calls> = (0..TIMES).map(|_| Calls::new(true)).collect();
        let (at, met) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
        let (home_is_in, other_is_in) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|threads| {
            threads.spawn(|| {
                for (time, calls) in all.iter().enumerate() {
                    drop(calls.begin_taking(1).unwrap());
                    at.store(time, Release);
                    let act = || {
                        home_is_in.store(true, Relaxed);
                        met.fetch_add(usize::from(other_is_in.load(Relaxed)), Relaxed);
                        home_is_in.store(false, Release);
                        Some(())
                    };
                    while calls.home.load(Relaxed) == this_thread() {
                        for _ in 0..1_000 {
                            calls.at_home(Doing::Taking(1), act);
                        }
                        // The other one may have no core.
                        thread::yield_now();
                    }
                    while at.load(Acquire) == time {
                        thread::yield_now();
                    }
                }
            });
            for (time, calls) in all.iter().enumerate() {
                while at.load(Acquire) != time {
                    thread::yield_now();
                }
                (0..time % 100).for_each(|_| std::hint::spin_loop());
                let call = loop {
                    match calls.begin_taking(1) {
                        Ok(call) => break call,
                        Err(Error::ParticipantBusy) => {}
                        Err(error) => panic!("{error}"),
                    }
                };
                other_is_in.store(true, Relaxed);
                for _ in 0..1_000 {
                    met.fetch_add(usize::from(home_is_in.load(Relaxed)), Relaxed);
                }
                other_is_in.store(false, Relaxed);
                drop(call);
                at.store(usize::MAX, Release);
            }
        });
        assert_eq!(met.into_inner(), 0, "both were in a call");
    }
}
