//! Guards that are stored and sent.

use std::{sync::mpsc, thread, time::Duration};
use support::{Place, elsewhere};
use turnlock::{Error, LockFile, OwnedGuard, OwnedKeyGuard, OwnedMutexGuard, inspect};

fn would_block<T>(result: turnlock::Result<T>) -> bool {
    matches!(result, Err(Error::WouldBlock(_)))
}

fn attached(place: &Place) -> usize {
    inspect::snapshot(place.lock_file()).unwrap().participants.len()
}

#[test]
fn each_kind_is_taken_here_and_released_elsewhere() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let (mutex, rwlock) = (file.mutex("m").unwrap(), file.rwlock("r").unwrap());
    let (jobs, rows, users) =
        (file.semaphore("s").unwrap(), file.range_lock("g").unwrap(), file.keyed_lock("k").unwrap());
    let guards = (
        (mutex.lock_owned().unwrap(), rwlock.write_owned().unwrap(), jobs.acquire_owned(1).unwrap()),
        (rows.lock_exclusive_owned(0..10).unwrap(), users.lock_exclusive_owned("a").unwrap()),
    );
    // A participant of its own has each, so this thread is another one.
    assert!(would_block(mutex.try_lock()) && would_block(mutex.try_lock_owned()));
    assert!(would_block(rwlock.try_read_owned()) && would_block(rwlock.try_write_owned()));
    assert!(would_block(jobs.try_acquire_owned(1)) && would_block(rows.try_lock_shared_owned(9..12)));
    assert!(
        would_block(users.try_lock_exclusive_owned("a")) && would_block(users.try_lock_shared_owned("a"))
    );
    assert!(would_block(rows.try_lock_exclusive_owned(9..12)));
    drop((rows.try_lock_exclusive_owned(10..12).unwrap(), users.try_lock_exclusive_owned("b").unwrap()));
    let short = Duration::from_millis(1);
    assert!(matches!(mutex.try_lock_owned_for(short), Err(Error::TimedOut(_))));
    assert!(matches!(rwlock.try_read_owned_for(short), Err(Error::TimedOut(_))));
    assert!(matches!(rwlock.try_write_owned_for(short), Err(Error::TimedOut(_))));
    assert!(matches!(jobs.try_acquire_owned_for(1, short), Err(Error::TimedOut(_))));
    assert!(matches!(rows.try_lock_shared_owned_for(0.., short), Err(Error::TimedOut(_))));
    assert!(matches!(rows.try_lock_exclusive_owned_for(0.., short), Err(Error::TimedOut(_))));
    assert!(matches!(users.try_lock_shared_owned_for("a", short), Err(Error::TimedOut(_))));
    assert!(matches!(users.try_lock_exclusive_owned_for("a", short), Err(Error::TimedOut(_))));
    thread::spawn(move || drop(guards)).join().unwrap();
    drop((mutex.try_lock().unwrap(), rwlock.try_write().unwrap(), jobs.try_acquire(1).unwrap()));
    let readers = (rwlock.read_owned().unwrap(), rwlock.read_owned().unwrap());
    let shared = (rows.lock_shared_owned(..).unwrap(), users.lock_shared_owned("a").unwrap());
    elsewhere(|| drop((rows.try_read(5..6).unwrap(), users.try_read("a").unwrap())));
    drop((readers, shared));
    drop(rwlock.try_write_owned().unwrap());
}

#[test]
fn a_guard_outlives_all_handles() {
    let place = Place::new();
    fn store() -> impl Fn(&Place) -> OwnedMutexGuard {
        |place| LockFile::open(place.lock_file()).unwrap().mutex("m").unwrap().lock_owned().unwrap()
    }
    let guard = store()(&place);
    assert!(format!("{guard:?}").contains("fencing_token"));
    let mutex = LockFile::open(place.lock_file()).unwrap().mutex("m").unwrap();
    assert!(would_block(mutex.try_lock()) && !guard.is_contended());
    guard.unlock().unwrap();
    drop(mutex.try_lock().unwrap());
}

#[test]
fn what_is_kept_for_later_makes_room_where_the_file_is_full() {
    let place = Place::new();
    let file = LockFile::options().participants(3).open(place.lock_file()).unwrap();
    // Created elsewhere, by a thread that is over: this one has no slot yet.
    elsewhere(|| drop(file.rwlock("r").unwrap()));
    let rwlock = file.rwlock("r").unwrap();
    let keep_all = || drop([(); 3].map(|()| rwlock.read_owned().unwrap()));
    keep_all();
    assert_eq!(attached(&place), 3);
    elsewhere(|| drop(rwlock.read().unwrap()));
    keep_all();
    assert_eq!(attached(&place), 3);
    drop([(); 3].map(|()| file.participant().unwrap()));
    let held = [(); 3].map(|()| rwlock.read_owned().unwrap());
    assert!(matches!(file.participant(), Err(Error::ParticipantsFull { .. })));
    assert!(matches!(elsewhere(|| rwlock.read().map(drop)), Err(Error::ParticipantsFull { .. })));
    drop(held);
}

#[test]
fn participants_are_kept_for_later_and_given_up_with_the_last_handle() {
    let place = Place::new();
    let file = LockFile::options().participants(16).open(place.lock_file()).unwrap();
    let users = file.keyed_lock("k").unwrap();
    // This thread's own, for the name.
    let own = attached(&place);
    for _ in 0..100 {
        drop(users.lock_exclusive_owned("a").unwrap());
    }
    assert_eq!(attached(&place), own + 1);
    let many: Vec<OwnedKeyGuard> = (0..12_u8).map(|key| users.lock_exclusive_owned([key]).unwrap()).collect();
    assert_eq!(attached(&place), own + 12);
    assert!(matches!(
        (0..9_u8).map(|key| users.lock_exclusive_owned([100 + key])).collect::<Result<Vec<_>, _>>(),
        Err(Error::ParticipantsFull { .. })
    ));
    drop(many);
    assert_eq!(attached(&place), own + 8);
    drop((users, file));
    assert_eq!(attached(&place), 0);
}

#[test]
fn a_death_with_an_owned_guard_is_told() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex("m").unwrap();
    let guard = mutex.lock_owned().unwrap();
    let died = thread::spawn(move || {
        let _guard = guard;
        std::panic::resume_unwind(Box::new(()))
    });
    assert!(died.join().is_err());
    let mut guard = mutex.lock_owned().unwrap();
    assert!(guard.acquired().previous_owner_died && guard.previous_owner().is_some());
    guard.mark_consistent().unwrap();
    guard.abandon().unwrap();
    let mut guard = mutex.lock_owned().unwrap();
    assert!(guard.acquired().previous_owner_died);
    guard.mark_consistent().unwrap();
    drop(guard);
    assert!(!mutex.lock().unwrap().acquired().previous_owner_died);
}

#[test]
fn a_waiter_gets_what_another_thread_releases() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex("m").unwrap();
    let (to_last, guards) = mpsc::channel::<OwnedGuard<_>>();
    let first = mutex.lock_owned().unwrap();
    let token = first.fencing_token();
    let waiter = {
        let mutex = mutex.clone();
        thread::spawn(move || to_last.send(mutex.lock_owned().unwrap()).unwrap())
    };
    thread::spawn(move || drop(first)).join().unwrap();
    waiter.join().unwrap();
    assert!(guards.recv().unwrap().fencing_token() > token);
}

#[test]
fn a_forked_child_has_none_of_its_parents() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let (mutex, users) = (file.mutex("m").unwrap(), file.keyed_lock("k").unwrap());
    // One is kept, one is in use.
    drop((users.lock_exclusive_owned("a").unwrap(), users.lock_exclusive_owned("b").unwrap()));
    let guard = mutex.lock_owned().unwrap();
    // SAFETY: the child calls nothing but turnlock, which says what it can do there, and `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let has_its_own = users.lock_exclusive_owned("a").is_ok_and(|guard| guard.unlock().is_ok());
        let waits = would_block(mutex.try_lock_owned());
        drop(guard); // a copy: it unlocks nothing
        let still_waits = would_block(mutex.try_lock_owned());
        // SAFETY: nothing of the child is to be cleaned up.
        unsafe { libc::_exit(i32::from(!(has_its_own && waits && still_waits))) }
    }
    let mut status = 0;
    // SAFETY: the child is ours, and `status` a place for what is said of it.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    assert!(would_block(mutex.try_lock_owned()));
    guard.unlock().unwrap();
    drop(mutex.try_lock_owned().unwrap());
}
