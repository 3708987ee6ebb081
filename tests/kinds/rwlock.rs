//! Readers and writers.

use std::sync::{
    atomic::{AtomicBool, Ordering::SeqCst},
    mpsc,
};
use std::time::Duration;
use support::{NoHang, Place, elsewhere, join, until};
use turnlock::{
    Error, LockFile, RwLock,
    inspect::{self, ClaimMode},
};

fn a_lock(place: &Place) -> (LockFile, RwLock) {
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.rwlock("a").unwrap();
    (file, lock)
}

fn would_block<T>(result: turnlock::Result<T>) -> bool {
    matches!(result, Err(Error::WouldBlock(_)))
}

#[test]
fn readers_share_writers_do_not() {
    let place = Place::new();
    let (_file, lock) = a_lock(&place);
    for _ in 0..200 {
        let reader = lock.read().unwrap();
        elsewhere(|| {
            drop(lock.try_read().unwrap());
            drop(lock.try_upgradable().unwrap());
            assert!(would_block(lock.try_write()));
        });
        drop(reader);
        let writer = lock.write().unwrap();
        elsewhere(|| {
            assert!(would_block(lock.try_read()));
            assert!(would_block(lock.try_write()));
            assert!(would_block(lock.try_upgradable()));
        });
        drop(writer);
        let upgradable = lock.upgradable().unwrap();
        elsewhere(|| {
            drop(lock.try_read().unwrap());
            assert!(would_block(lock.try_upgradable()));
            assert!(would_block(lock.try_write()));
        });
        drop(upgradable);
    }
}

#[test]
fn a_second_hold_of_one_thread_is_a_deadlock() {
    let place = Place::new();
    let (_file, lock) = a_lock(&place);
    for _ in 0..100 {
        let reader = lock.read().unwrap();
        assert!(matches!(lock.read(), Err(Error::Deadlock)));
        assert!(matches!(lock.write(), Err(Error::Deadlock)));
        drop(reader);
    }
}

#[test]
fn readers_have_the_token_of_the_last_writer() {
    let place = Place::new();
    let (_file, lock) = a_lock(&place);
    let writer = lock.write().unwrap();
    let token = writer.fencing_token();
    drop(writer);
    for _ in 0..100 {
        assert_eq!(lock.read().unwrap().fencing_token(), token);
    }
    assert_eq!(lock.upgradable().unwrap().fencing_token(), token);
    assert_eq!(lock.write().unwrap().fencing_token(), token + 1);
}

#[test]
fn an_upgrade_waits_for_readers_and_lets_no_more_in() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (_file, lock) = a_lock(&place);
    for warm in [1, 100] {
        for _ in 0..warm {
            drop(lock.read().unwrap());
        }
        let (reader, for_good) = (lock.read().unwrap(), AtomicBool::new(false));
        std::thread::scope(|threads| {
            let upgrader = threads.spawn(|| {
                let upgradable = lock.upgradable().unwrap();
                let before = upgradable.fencing_token();
                let failed = upgradable.try_upgrade().err().unwrap();
                assert!(matches!(failed.error, Error::WouldBlock(_)));
                let failed = failed.guard.upgrade_for(Duration::from_millis(5)).err().unwrap();
                assert!(matches!(failed.error, Error::TimedOut(_)));
                // Others read as before.
                elsewhere(|| drop(lock.try_read().unwrap()));
                for_good.store(true, SeqCst);
                let writer = failed.guard.upgrade().unwrap();
                assert_eq!(writer.fencing_token(), before + 1);
                elsewhere(|| assert!(would_block(lock.try_read())));
                let reader = writer.downgrade().unwrap();
                elsewhere(|| drop(lock.try_read().unwrap()));
                assert_eq!(reader.fencing_token(), before + 1);
            });
            until("it waits to upgrade", || {
                let waits = |holder: &turnlock::inspect::Holder| holder.claim.mode == ClaimMode::Upgrading;
                for_good.load(SeqCst) && lock.status().unwrap().holders.iter().any(waits)
            });
            elsewhere(|| assert!(would_block(lock.try_read())));
            drop(reader);
            join(upgrader);
        });
    }
}

#[test]
fn what_is_not_upgradable_is_not_upgraded_and_readers_mark_nothing() {
    let place = Place::new();
    let (_file, lock) = a_lock(&place);
    let mut reader = lock.read().unwrap();
    assert!(matches!(reader.mark_consistent(), Err(Error::NotExclusive)));
    drop(reader);
    elsewhere(|| std::mem::forget(lock.write().unwrap()));
    let reader = lock.read().unwrap();
    assert!(reader.acquired().previous_owner_died);
    drop(reader);
    elsewhere(|| assert!(lock.read().unwrap().acquired().previous_owner_died));
    let mut writer = lock.write().unwrap();
    assert!(writer.acquired().previous_owner_died);
    writer.mark_consistent().unwrap();
    drop(writer);
    assert!(!lock.read().unwrap().acquired().previous_owner_died);
}

#[test]
fn a_dead_reader_is_no_owner_dead_and_a_dead_writer_is() {
    let place = Place::new();
    let (_file, lock) = a_lock(&place);
    for warm in [1, 100] {
        elsewhere(|| {
            for _ in 0..warm {
                drop(lock.read().unwrap());
            }
            std::mem::forget(lock.read().unwrap());
        });
        let writer = lock.write().unwrap();
        assert!(!writer.acquired().previous_owner_died);
        drop(writer);
        elsewhere(|| std::mem::forget(lock.upgradable().unwrap()));
        assert!(!lock.write().unwrap().acquired().previous_owner_died);
    }
    elsewhere(|| std::mem::forget(lock.write().unwrap()));
    assert!(lock.write().unwrap().acquired().previous_owner_died);
    assert!(matches!(lock.read(), Err(Error::NotRecoverable)));
    lock.reset().unwrap();
    drop(lock.read().unwrap());
}

#[test]
fn a_writer_that_waits_lets_no_later_reader_pass() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.rwlock_options().patience(Duration::ZERO).open("a").unwrap();
    for warm in [0, 100] {
        for _ in 0..warm {
            drop(lock.read().unwrap());
        }
        let reader = lock.read().unwrap();
        std::thread::scope(|threads| {
            let writer = threads.spawn(|| drop(lock.write().unwrap()));
            until("the writer waits", || !lock.status().unwrap().queue.is_empty());
            elsewhere(|| assert!(would_block(lock.try_read())));
            // Not before the writer parks at its slot.
            until("the reader is told", || reader.is_contended());
            drop(reader);
            join(writer);
        });
    }
}

/// A writer is parked at the slot of one of those before it.
#[test]
fn each_holder_beside_others_is_told_of_a_waiter() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.rwlock_options().patience(Duration::ZERO).open("a").unwrap();
    let [one, other, third] = [(); 3].map(|()| file.participant().unwrap());
    // All by the queue: a lock that is new is not biased.
    let first = lock.upgradable_as(&one).unwrap();
    let second = lock.read_as(&other).unwrap();
    let last = lock.read_as(&third).unwrap();
    assert!(!first.is_contended() && !second.is_contended() && !last.is_contended());
    std::thread::scope(|threads| {
        let writer = threads.spawn(|| drop(lock.write().unwrap()));
        until("the last holder is told", || last.is_contended());
        until("the one before it is told", || second.is_contended());
        until("the first one is told", || first.is_contended());
        drop(last);
        until("the one before it is still told", || second.is_contended());
        drop(second);
        drop(first);
        join(writer);
    });
}

/// A reader is inside that entered by the queue, so that a writer is not at its head; and another one enters by the bias.
struct BesideBiasedReader<'a> {
    file: &'a LockFile,
    lock: &'a RwLock,
    asks: mpsc::Sender<&'static str>,
    answered: mpsc::Receiver<bool>,
}

impl BesideBiasedReader<'_> {
    fn with(patience: Duration, act: impl FnOnce(BesideBiasedReader)) {
        let _no_hang = NoHang::for_seconds(60);
        let place = Place::new();
        let file = LockFile::open(place.lock_file()).unwrap();
        let lock = file.rwlock_options().patience(patience).open("a").unwrap();
        let inside = lock.read().unwrap();
        let (asks, asked) = mpsc::channel();
        let (answers, answered) = mpsc::channel();
        std::thread::scope(|threads| {
            let (file, lock) = (&file, &lock);
            threads.spawn(move || {
                (0..100).for_each(|_| drop(lock.read().unwrap()));
                assert!(lock.status().unwrap().biased_to_readers);
                // It is ready.
                answers.send(false).unwrap();
                for question in asked {
                    let refused = match question {
                        "try" => would_block(lock.try_read()),
                        _ => lock.read().is_err(),
                    };
                    answers.send(refused).unwrap();
                }
            });
            assert!(!answered.recv().unwrap());
            act(BesideBiasedReader { file, lock, asks, answered });
        });
        drop(inside);
        drop(lock.try_write().unwrap());
    }

    /// Returns whether the biased reader is refused.
    fn is_refused(&self) -> bool {
        self.asks.send("try").unwrap();
        self.answered.recv().unwrap()
    }

    /// Runs `act` while a writer waits.
    fn beside_a_writer(&self, act: impl FnOnce()) {
        let (writer, lock) = (self.file.participant().unwrap(), self.lock);
        std::thread::scope(|threads| {
            let waits = threads.spawn(|| lock.write_as(&writer).map(drop));
            act();
            writer.cancel();
            assert!(matches!(waits.join().unwrap(), Err(Error::Cancelled)));
        });
    }
}

const STRICTLY_OR_NOT: [Duration; 2] = [Duration::ZERO, Duration::from_millis(1)];

#[test]
fn a_biased_reader_does_not_pass_a_writer_that_is_queued_for_good() {
    for patience in STRICTLY_OR_NOT {
        BesideBiasedReader::with(patience, |reader| {
            assert!(!reader.is_refused());
            reader.beside_a_writer(|| {
                until("a try is refused", || reader.is_refused());
                assert!((0..1_000).all(|_| reader.is_refused()), "and so is every later one");
            });
            // The writer has gone: the first one comes in by the queue, and the lock is biased again.
            assert!(!reader.is_refused());
            assert!(reader.lock.status().unwrap().biased_to_readers);
        });
    }
}

/// As tst-rwlock15 of the GNU C library has it: a reader that is refused waits, and comes in when the writer
/// gives up.
#[test]
fn a_reader_that_a_writer_keeps_out_comes_in_when_that_one_gives_up() {
    for patience in STRICTLY_OR_NOT {
        BesideBiasedReader::with(patience, |reader| {
            reader.beside_a_writer(|| {
                until("a try is refused", || reader.is_refused());
                reader.asks.send("wait").unwrap();
                until("it waits", || reader.lock.status().unwrap().queue.len() == 2);
            });
            assert!(!reader.answered.recv().unwrap());
        });
    }
}

/// One of two writers gives up: the other one is not passed either.
#[test]
fn a_writer_that_gives_up_lets_no_reader_pass_another_writer() {
    BesideBiasedReader::with(Duration::ZERO, |reader| {
        reader.beside_a_writer(|| {
            until("a try is refused", || reader.is_refused());
            for _ in 0..3 {
                let lock = reader.lock;
                let gives_up = move || lock.write_for(Duration::from_millis(2)).map(drop);
                assert!(std::thread::scope(|threads| threads.spawn(gives_up).join().unwrap()).is_err());
                assert!((0..100).all(|_| reader.is_refused()));
            }
        });
    });
}

#[test]
fn a_wait_that_is_given_up_leaves_nothing() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (_file, lock) = a_lock(&place);
    for _ in 0..100 {
        drop(lock.read().unwrap());
    }
    let reader = lock.read().unwrap();
    elsewhere(|| {
        assert!(matches!(lock.write_for(Duration::from_millis(10)), Err(Error::TimedOut(_))));
        drop(lock.try_read().unwrap());
    });
    assert!(lock.status().unwrap().queue.is_empty());
    drop(reader);
    drop(lock.try_write().unwrap());
}

/// A participant that wrote twice in a row keeps its place reserved, and comes in by it as a reader or a writer.
#[test]
fn a_writer_comes_again_as_whatever_it_likes() {
    let place = Place::new();
    let (_file, lock) = a_lock(&place);
    for round in 0..3 {
        for _ in 0..3 {
            lock.write().unwrap().unlock().unwrap();
        }
        let last = lock.write().unwrap().fencing_token();
        let reader = lock.read().unwrap();
        assert_eq!(reader.fencing_token(), last, "round {round}");
        elsewhere(|| drop(lock.try_read().unwrap()));
        elsewhere(|| assert!(would_block(lock.try_write())));
        reader.unlock().unwrap();
        lock.read().unwrap().unlock().unwrap();
        elsewhere(|| assert_eq!(lock.write().unwrap().fencing_token(), last + 1));
    }
}

/// The owner of a reserved place keeps it while it writes, as long as the patience of a reader lasts. While it reads, a reader takes
/// the place away and goes in beside it at once.
#[test]
fn a_reader_is_patient_with_a_writer_in_its_reserved_place_and_goes_in_beside_a_reader() {
    const HOUR: Duration = Duration::from_secs(3600);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.rwlock_options().patience(HOUR).open("a").unwrap();
    let slots = || inspect::registers(place.lock_file(), "a").unwrap().unwrap().slots;
    let is_evicted = || slots().iter().any(|slot| slot.evicted);
    let reserve = || {
        until("the place is reserved", || {
            lock.write().unwrap().unlock().unwrap();
            slots().iter().any(|slot| slot.number != 0)
        });
    };
    reserve();
    let writer = lock.write().unwrap();
    std::thread::scope(|threads| {
        let reader = threads.spawn(|| drop(lock.read().unwrap()));
        until("the reader waits", || slots().iter().any(|slot| slot.waits));
        for _ in 0..20 {
            assert!(!is_evicted());
            std::thread::sleep(Duration::from_millis(1));
        }
        writer.unlock().unwrap();
        join(reader);
    });
    reserve();
    let reader = lock.read().unwrap();
    elsewhere(|| drop(lock.read_for(HOUR / 360).unwrap()));
    assert!(is_evicted());
    reader.unlock().unwrap();
}
