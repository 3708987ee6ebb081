//! Calls on a participant that threads share, by threads of this process: [`turnlock_core::algorithm::home`] says which
//! thread may do what.

use crate::os::{membarrier, thread_words};
use turnlock_core::algorithm::home::Caller;
use turnlock_core::error::{Error, Result};

pub use turnlock_core::algorithm::home::{AtHome, Call, Calls, Doing};

/// The calling thread.
#[derive(Clone, Copy)]
pub struct ThisThread;

impl Caller for ThisThread {
    #[inline(always)]
    fn me(&self) -> usize {
        thread_words::this_thread()
    }

    fn heavy_barrier(&self) -> Result<()> {
        membarrier::in_this_process().map_err(|source| Error::System {
            what: "asking for a memory barrier (membarrier)".into(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use turnlock_core::sync::{
        AtomicBool, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    };

    fn elsewhere<R: Send>(act: impl FnOnce() -> R + Send) -> R {
        thread::scope(|threads| threads.spawn(act).join().unwrap())
    }

    /// One whose home thread is the calling one.
    fn at_home() -> Calls {
        crate::os::fork::prepare().unwrap();
        assert!(membarrier::register());
        let calls = Calls::new(true);
        drop(calls.begin_taking(ThisThread, 1).unwrap());
        calls
    }

    fn act_at_home<R>(calls: &Calls, doing: Doing, act: impl FnOnce() -> R) -> Option<R> {
        calls.begin_at_home(ThisThread, doing).map(|_call| act())
    }

    #[test]
    fn the_first_that_takes_is_at_home_until_another_comes() {
        let calls = at_home();
        assert_eq!(act_at_home(&calls, Doing::TAKING, || 7), Some(7));
        assert_eq!(elsewhere(|| act_at_home(&calls, Doing::TAKING, || 7)), None);
        // That one only tried.
        assert_eq!(act_at_home(&calls, Doing::leaving(1), || 7), Some(7));
        elsewhere(|| calls.begin_leaving(ThisThread, 1).unwrap());
        assert_eq!(act_at_home(&calls, Doing::TAKING, || 7), None);
        assert_eq!(elsewhere(|| act_at_home(&calls, Doing::TAKING, || 7)), None);
    }

    #[test]
    fn nobody_is_at_home_where_nobody_may_be_or_came_yet() {
        let calls = Calls::new(false);
        drop(calls.begin_taking(ThisThread, 1).unwrap());
        assert_eq!(act_at_home(&calls, Doing::TAKING, || 7), None);
        let calls = Calls::new(true);
        assert_eq!(act_at_home(&calls, Doing::TAKING, || 7), None);
        assert!(matches!(calls.begin_leaving(ThisThread, 1), Err(Error::NotOwner)));
    }

    #[test]
    fn what_comes_in_the_midst_of_it_is_told_what_is_done() {
        // By a signal handler of the thread, or by another thread.
        for comes in [|act: &(dyn Fn() + Sync)| act(), |act: &(dyn Fn() + Sync)| elsewhere(act)] {
            let calls = at_home();
            act_at_home(&calls, Doing::TAKING, || {
                comes(&|| {
                    assert_eq!(act_at_home(&calls, Doing::TAKING, || 7), None);
                    for region in [1, 2] {
                        assert!(matches!(
                            calls.begin_taking(ThisThread, region),
                            Err(Error::ParticipantBusy)
                        ));
                        assert!(calls.begin_leaving(ThisThread, region).is_ok());
                    }
                });
            });
            let calls = at_home();
            act_at_home(&calls, Doing::leaving(1), || {
                comes(&|| {
                    assert!(matches!(calls.begin_taking(ThisThread, 1), Err(Error::Deadlock)));
                    assert!(matches!(calls.begin_leaving(ThisThread, 1), Err(Error::NotOwner)));
                    assert!(
                        calls.begin_taking(ThisThread, 2).is_ok()
                            && calls.begin_leaving(ThisThread, 2).is_ok()
                    );
                });
            });
            assert!(calls.begin_taking(ThisThread, 1).is_ok());
        }
    }

    #[test]
    fn one_takes_at_a_time() {
        let calls = at_home();
        let call = calls.begin_taking(ThisThread, 1).unwrap();
        assert_eq!(act_at_home(&calls, Doing::TAKING, || 7), None);
        for _ in 0..2 {
            assert!(matches!(
                elsewhere(|| calls.begin_taking(ThisThread, 2).err()),
                Some(Error::ParticipantBusy)
            ));
        }
        drop(call);
        assert!(calls.begin_taking(ThisThread, 2).is_ok());
    }

    /// One thread uses the fast path for all it is worth when another thread comes. Of so many times, the barrier's
    /// interrupt meets it between any two instructions.
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
                    drop(calls.begin_taking(ThisThread, 1).unwrap());
                    at.store(time, Release);
                    let act = || {
                        home_is_in.store(true, Relaxed);
                        met.fetch_add(usize::from(other_is_in.load(Relaxed)), Relaxed);
                        home_is_in.store(false, Release);
                    };
                    while calls.is_home_of(ThisThread.me()) {
                        for _ in 0..1_000 {
                            act_at_home(calls, Doing::TAKING, act);
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
                    match calls.begin_taking(ThisThread, 1) {
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
