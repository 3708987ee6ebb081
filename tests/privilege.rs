//! The retained privilege: who may enter again without asking, how it is taken back, and how long anyone waits for
//! that.
#![cfg(not(any(loom, shuttle)))]

mod support;

use nix::sys::signal::Signal;
use std::{
    path::Path,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    elsewhere,
    format::{Format, peek_u64},
    join, line_at, until, until_waiting,
};
use turnlock::{Error, LockFile, LockFileOptions, Mutex, inspect};

crate::roles! { forbids_membarrier, loses_membarrier, retains, retains_and_holds }

/// Enough entries in a row to retain the privilege, whatever was learnt before.
const MANY: usize = 200;

fn options(full_fences: bool) -> LockFileOptions {
    let mut options = LockFile::options();
    options.full_fences(full_fences);
    options
}

fn retained_by(path: &Path) -> Option<usize> {
    inspect::snapshot(path).unwrap().locks[0].retained_by
}

fn enter_often(mutex: &Mutex) {
    for _ in 0..MANY {
        mutex.lock().unwrap().unlock().unwrap();
    }
}

#[test]
fn one_who_enters_again_and_again_retains_the_privilege() {
    for full_fences in [false, true] {
        let place = Place::new();
        let file = options(full_fences).open(place.lock_file()).unwrap();
        let mutex = file.mutex("a").unwrap();
        assert_eq!(retained_by(&place.lock_file()), None);
        enter_often(&mutex);
        assert_eq!(retained_by(&place.lock_file()), Some(file.current_participant().unwrap().slot()));
        // Inside, as anyone is.
        let guard = mutex.lock().unwrap();
        let status = inspect::snapshot(place.lock_file()).unwrap();
        assert_eq!(status.locks[0].holder.as_ref().unwrap().fencing_token, Some(guard.fencing_token()));
        assert!(matches!(mutex.try_lock(), Err(Error::Deadlock)));
        elsewhere(|| assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock))));
        guard.unlock().unwrap();
        // Not asked, it is given to whoever comes.
        elsewhere(|| mutex.try_lock().unwrap().unlock().unwrap());
        elsewhere(|| mutex.lock().unwrap().unlock().unwrap());
        mutex.lock().unwrap().unlock().unwrap();
    }
}

/// A thread by the shortest way, a participant and whoever has full fences by a longer one: none of them through the
/// line.
#[test]
fn the_retainer_does_not_go_through_the_line() {
    for full_fences in [false, true] {
        let place = Place::new();
        let file = options(full_fences).open(place.lock_file()).unwrap();
        let format = Format { participants: file.participants().into(), locks: file.locks().into() };
        // Whoever comes through the line counts them, or begins to retain the privilege.
        let counted = || {
            let words = [format.plain_entries(1), format.retained_at(1)];
            words.map(|word| peek_u64(&place.lock_file(), word))
        };
        let mutex = file.mutex("a").unwrap();
        let participant = file.participant().unwrap();
        let enter_often_as = || {
            for _ in 0..MANY {
                mutex.lock_as(&participant).unwrap().unlock().unwrap();
            }
        };
        for enter_often in [&|| enter_often(&mutex), &enter_often_as as &dyn Fn()] {
            enter_often();
            let before = counted();
            enter_often();
            assert_eq!(counted(), before, "full fences: {full_fences}");
        }
    }
}

#[test]
fn a_counter_of_many_threads_that_enter_in_bursts_loses_nothing() {
    struct Counter(std::cell::UnsafeCell<u64>);
    // SAFETY: only touched with the lock.
    unsafe impl Sync for Counter {}
    let _no_hang = NoHang::for_seconds(120);
    for (full_fences, patience) in [(false, 0), (true, 0), (false, 50), (true, 50)] {
        let place = Place::new();
        let file = options(full_fences).open(place.lock_file()).unwrap();
        let mutex = file.mutex_options().patience(Duration::from_micros(patience)).open("a").unwrap();
        let counter = Counter(std::cell::UnsafeCell::new(0));
        const THREADS: u64 = 4;
        const BURSTS: u64 = 40;
        thread::scope(|threads| {
            for _ in 0..THREADS {
                threads.spawn(|| {
                    let counter = &counter;
                    for burst in 0..BURSTS {
                        for _ in 0..MANY {
                            let guard = mutex.lock().unwrap();
                            // SAFETY: the lock is held.
                            unsafe { *counter.0.get() += 1 };
                            guard.unlock().unwrap();
                        }
                        if burst % 4 == 0 {
                            thread::sleep(Duration::from_micros(100));
                        }
                    }
                });
            }
        });
        assert_eq!(counter.0.into_inner(), THREADS * BURSTS * MANY as u64);
    }
}

/// Once its patience is over, a waiter is the next, however many want the lock meanwhile, the last holder included.
#[test]
fn nobody_overtakes_a_waiter_after_its_patience() {
    let _no_hang = NoHang::for_seconds(120);
    for patience in [Duration::ZERO, Duration::from_micros(200), Duration::from_millis(5)] {
        let place = Place::new();
        let file = LockFile::open(place.lock_file()).unwrap();
        let mutex = file.mutex_options().patience(patience).open("a").unwrap();
        enter_often(&mutex);
        for _ in 0..20 {
            let guard = mutex.lock().unwrap();
            let last = guard.fencing_token();
            let stop = AtomicBool::new(false);
            thread::scope(|threads| {
                let waiter = threads.spawn(|| {
                    let guard = mutex.lock().unwrap();
                    let token = guard.fencing_token();
                    guard.unlock().unwrap();
                    token
                });
                until_waiting(&place.lock_file(), "a", 1);
                for _ in 0..3 {
                    threads.spawn(|| {
                        while !stop.load(Relaxed) {
                            drop(mutex.try_lock());
                            drop(mutex.lock().unwrap());
                        }
                    });
                }
                guard.unlock().unwrap();
                drop(mutex.lock().unwrap());
                let token = waiter.join().unwrap();
                stop.store(true, Relaxed);
                assert_eq!(token, last + 1, "somebody overtook it");
            });
        }
    }
}

const PATIENCES: [Duration; 2] = [Duration::ZERO, Duration::from_micros(500)];

/// A planted bug is one for the whole process, and tests are its threads. Those that would see one have this to read.
static FIELD: RwLock<()> = RwLock::new(());

/// Who takes it from one who used it all the time would retain it, and enter again and again before the next one is
/// awake.
#[test]
fn who_takes_it_over_lets_those_behind_in_first() {
    let _unplanted = FIELD.read().unwrap_or_else(PoisonError::into_inner);
    for patience in PATIENCES {
        assert_eq!(entries_before_the_one_behind_who_takes_over(patience), 0, "{patience:?}");
    }
}

/// In strict order or among those whose patience is over. In the worst of some rounds.
fn entries_before_the_one_behind_who_takes_over(patience: Duration) -> u64 {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex_options().patience(patience).open("a").unwrap();
    let overtaken = (0..30).map(|_| {
        enter_often(&mutex);
        let guard = mutex.lock().unwrap();
        let last = guard.fencing_token();
        thread::scope(|threads| {
            threads.spawn(|| {
                let guard = mutex.lock().unwrap();
                assert_eq!(guard.fencing_token(), last + 1);
                guard.unlock().unwrap();
                enter_often(&mutex);
            });
            until_waiting(&path, "a", 1);
            let behind = threads.spawn(|| mutex.lock().unwrap().fencing_token());
            until_waiting(&path, "a", 2);
            guard.unlock().unwrap();
            join(behind) - (last + 2)
        })
    });
    overtaken.max().unwrap()
}

/// Who gives up has asked for those behind it too: the retainer does not pass them meanwhile.
#[test]
fn one_who_gives_up_asking_does_not_let_the_retainer_pass_those_behind() {
    let _unplanted = FIELD.read().unwrap_or_else(PoisonError::into_inner);
    for patience in PATIENCES {
        assert_eq!(entries_before_the_one_behind_who_gives_up(patience), 0, "{patience:?}");
    }
}

/// In strict order or among those whose patience is over. In the worst of some rounds.
fn entries_before_the_one_behind_who_gives_up(patience: Duration) -> u64 {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let format = Format { participants: file.participants().into(), locks: file.locks().into() };
    let mutex = file.mutex_options().patience(patience).open("a").unwrap();
    let overtaken = (0..10).map(|_| {
        enter_often(&mutex);
        let guard = mutex.lock().unwrap();
        let last = guard.fencing_token();
        let control = || peek_u64(&path, format.region(1));
        let unasked = control();
        thread::scope(|threads| {
            let gives_up = threads.spawn(|| {
                assert!(matches!(mutex.lock_for(Duration::from_millis(60)), Err(Error::TimedOut)));
            });
            until("somebody asks", || control() != unasked);
            let behind = threads.spawn(|| mutex.lock().unwrap().fencing_token());
            let gave_up = || gives_up.is_finished();
            let insist = || line_at(&path, "a").iter().filter(|waiter| waiter.for_seconds.is_some()).count();
            until("both insist on their places", || gave_up() || insist() == 2);
            // On a machine that is too busy this round shows nothing.
            let too_late = gave_up();
            // Until the first moment at which we might pass.
            while !gave_up() && control() != unasked {}
            guard.unlock().unwrap();
            enter_often(&mutex);
            let overtaken = join(behind) - (last + 1);
            if too_late { 0 } else { overtaken }
        })
    });
    overtaken.max().unwrap()
}

#[cfg(feature = "mutants")]
mod planted {
    use super::*;
    use turnlock::mutants::{Mutant, plant};

    fn is_caught(bug: Mutant, overtaken: fn(Duration) -> u64) {
        let _alone = FIELD.write().unwrap_or_else(PoisonError::into_inner);
        plant(Some(bug));
        // On a busy machine the one behind may be awake before anybody can pass.
        let caught = PATIENCES.map(|patience| (0..10).any(|_| overtaken(patience) > 0));
        plant(None);
        assert_eq!(caught, [true; 2], "{bug:?}, patience {PATIENCES:?}");
    }

    #[test]
    fn retaining_over_the_heads_of_those_behind_is_caught() {
        is_caught(Mutant::BiasOverQueue, entries_before_the_one_behind_who_takes_over);
    }

    #[test]
    fn taking_a_request_back_over_the_heads_of_those_behind_is_caught() {
        is_caught(Mutant::CancelsOverQueue, entries_before_the_one_behind_who_gives_up);
    }
}

/// One who retains it and enters again without a pause cannot keep a waiter out.
#[test]
fn patience_has_an_end() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex_options().patience(Duration::from_millis(20)).open("a").unwrap();
    enter_often(&mutex);
    let is_in = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            let guard = mutex.lock().unwrap();
            is_in.store(true, Relaxed);
            guard.unlock().unwrap();
        });
        while !is_in.load(Relaxed) {
            enter_often(&mutex);
        }
    });
}

/// Patience is for those who have the time.
#[test]
fn a_time_limit_shorter_than_the_patience_holds() {
    let _no_hang = NoHang::for_seconds(20);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex_options().patience(Duration::from_secs(3600)).open("a").unwrap();
    enter_often(&mutex);
    let _guard = mutex.lock().unwrap();
    elsewhere(|| {
        for limit in [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(20)] {
            let began = Instant::now();
            assert!(matches!(mutex.lock_for(limit), Err(Error::TimedOut)));
            assert!(began.elapsed() >= limit);
        }
        let me = file.current_participant().unwrap();
        // Before the wait, and in the midst of it, out of the line.
        me.cancel();
        assert!(matches!(mutex.lock(), Err(Error::Cancelled)));
        thread::scope(|threads| {
            threads.spawn(|| {
                thread::sleep(Duration::from_millis(10));
                me.cancel();
            });
            assert!(matches!(mutex.lock(), Err(Error::Cancelled)));
        });
    });
}

/// It is the thread's, which takes part by itself at the same time: two would be in one slot.
#[test]
fn nobody_locks_as_a_threads_own_participant() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    let thread = file.current_participant().unwrap();
    for taken in [mutex.try_lock_as(&thread), mutex.lock_as(&thread)] {
        assert!(matches!(taken.map(drop), Err(Error::InvalidArgument(_))));
    }
}

fn retains(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    say("retains");
    hear();
}

fn retains_and_holds(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    let _guard = mutex.lock().unwrap();
    say("holds");
    hear();
}

/// A process that retains the privilege, and is inside or not.
fn retainer_at(path: &Path, inside: bool) -> Actor {
    let (role, says) = if inside { ("retains_and_holds", "holds") } else { ("retains", "retains") };
    let mut retainer = Actor::start(role, &[path.to_str().unwrap()]);
    retainer.expect(says);
    assert!(retained_by(path).is_some());
    retainer
}

#[test]
fn a_dead_retainer_is_news_if_it_was_inside_and_none_if_not() {
    let _no_hang = NoHang::for_seconds(60);
    for inside in [false, true] {
        let place = Place::new();
        let path = place.lock_file();
        let mut retainer = retainer_at(&path, inside);
        retainer.kill();
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let mut guard = mutex.lock_for(Duration::from_secs(10)).unwrap();
        assert_eq!(guard.acquired().previous_owner_died, inside);
        assert_eq!(guard.previous_owner().map(|dead| dead.pid), inside.then_some(retainer.pid()));
        if inside {
            guard.mark_consistent().unwrap();
        }
    }
}

#[test]
fn a_stopped_retainer_is_asked_in_vain_only_if_it_is_inside() {
    let _no_hang = NoHang::for_seconds(60);
    for inside in [false, true] {
        let place = Place::new();
        let path = place.lock_file();
        let retainer = retainer_at(&path, inside);
        retainer.signal(Signal::SIGSTOP);
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let taken = mutex.lock_for(Duration::from_millis(300));
        match taken {
            Ok(guard) => assert!(!inside && !guard.acquired().previous_owner_died),
            Err(error) => assert!(inside && matches!(error, Error::TimedOut), "{error}"),
        }
        if inside {
            assert!(retained_by(&path).is_some(), "who gave up asking leaves the privilege where it was");
        }
        retainer.signal(Signal::SIGCONT);
    }
}

/// `control` goes on naming the slot of a dead retainer, whoever takes it.
#[test]
fn an_heir_of_the_slot_may_enter_and_is_asked_like_anyone() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().participants(2).open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    let mut retainer = retainer_at(&path, false);
    retainer.kill();
    elsewhere(|| {
        let successor = file.current_participant().unwrap();
        assert_eq!(retained_by(&path), Some(successor.slot()), "the only slot that is left");
        let guard = mutex.lock().unwrap();
        assert!(!guard.acquired().previous_owner_died);
        assert!(matches!(elsewhere_with_participant(&file, &mutex), Err(Error::ParticipantsFull { .. })));
    });
    mutex.lock().unwrap().unlock().unwrap();
}

fn elsewhere_with_participant(file: &LockFile, mutex: &Mutex) -> turnlock::Result<()> {
    let first = file.participant()?;
    let second = file.participant()?;
    mutex.try_lock_as(&first)?.unlock()?;
    mutex.try_lock_as(&second)?.unlock()
}

/// Has the kernel refuse membarrier from now on, as a container's filter may.
fn refuse_membarrier() {
    const LOAD_SYSTEM_CALL_NUMBER: libc::sock_filter = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    let skip_unless = libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: libc::SYS_membarrier as u32 };
    let answer = |k| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
    let filter = [
        LOAD_SYSTEM_CALL_NUMBER,
        skip_unless,
        answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: a filter program of our own, read by the kernel during the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}

fn forbids_membarrier(words: &[String]) {
    refuse_membarrier();
    match LockFile::open(&words[0]).and_then(|file| file.mutex("a")) {
        Err(error) => say(&error.to_string()),
        Ok(mutex) => {
            enter_often(&mutex);
            say("takes part");
            hear();
            enter_often(&mutex);
            say("took part");
        }
    }
    hear();
}

/// Where the first one to come has no membarrier, everybody has full fences.
#[test]
fn without_membarrier_everybody_fences() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let mut without = Actor::start("forbids_membarrier", &[path.to_str().unwrap()]);
    without.expect("takes part");
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    without.tell("again");
    enter_often(&mutex);
    without.expect("took part");
    assert_eq!(inspect::snapshot(&path).unwrap().fences, "full");
    without.tell("end");
    without.end_well();
}

fn loses_membarrier(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    say("takes part");
    hear();
    refuse_membarrier();
    say(&mutex.lock().map(drop).unwrap_err().to_string());
    hear();
    drop(mutex.lock().unwrap());
    say("inside");
}

/// A filter that comes after the file was opened: who cannot take the privilege back is told so at once, and what to do;
/// nobody else is held up, and it takes part again when nobody retains the privilege.
#[test]
fn one_that_membarrier_is_taken_from_is_told_at_once_what_to_do() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let mut loses = Actor::start("loses_membarrier", &[path.to_str().unwrap()]);
    loses.expect("takes part");
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    loses.tell("go on");
    let said = loses.hear();
    assert!(said.contains("membarrier") && said.contains("TURNLOCK_FILE_FULL_FENCES"), "{said}");
    enter_often(&mutex);
    assert!(inspect::snapshot(&path).unwrap().locks[0].queue.is_empty());
    // Its slot given back, nobody has the privilege.
    drop(mutex);
    loses.tell("go on");
    loses.expect("inside");
    loses.end_well();
}

/// Where others rely on membarrier already, one without it is told so, and nothing is changed.
#[test]
fn one_without_membarrier_is_refused_among_those_who_rely_on_it() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    enter_often(&mutex);
    let mut without = Actor::start("forbids_membarrier", &[path.to_str().unwrap()]);
    let said = without.hear();
    assert!(said.contains("membarrier"), "{said}");
    assert_eq!(inspect::snapshot(&path).unwrap().fences, "membarrier");
    enter_often(&mutex);
    // With nobody taking part, the file goes over to full fences.
    drop((mutex, file));
    let mut without = Actor::start("forbids_membarrier", &[path.to_str().unwrap()]);
    without.expect("takes part");
    assert_eq!(inspect::snapshot(&path).unwrap().fences, "full");
}
