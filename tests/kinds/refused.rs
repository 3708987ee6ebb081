//! What the error of a try or a wait in vain says: who has the lock, and since when.

use std::{ffi::CStr, ffi::CString, os::unix::ffi::OsStrExt, ptr, time::Duration};
use support::{Place, elsewhere};
use turnlock::{Error, LockFile, MutexAlgorithm, Result, capi::*, status::*};

const SHORT: Duration = Duration::from_millis(30);

/// What the error says behind the colon.
fn by<T>(refused: Result<T>) -> String {
    let text = match refused {
        Err(error @ (Error::WouldBlock(_) | Error::TimedOut(_))) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it is taken"),
    };
    text.split_once(": ").map_or(String::new(), |(_, by)| by.to_owned())
}

fn named(label: &str) -> String {
    format!("process {} ({label}) has", std::process::id())
}

#[test]
fn the_holder_of_a_mutex_is_named_by_each_algorithm() {
    for algorithm in [MutexAlgorithm::Bakery, MutexAlgorithm::LamportQueue, MutexAlgorithm::TokenRing] {
        let place = Place::new();
        let file = LockFile::options().mailboxes(16).open(place.lock_file()).unwrap();
        let mutex = file.mutex_options().algorithm(algorithm).open("a").unwrap();
        let holder = file.participant_options().label("backup").open().unwrap();
        let held = mutex.lock_as(&holder).unwrap();
        let (tried, timed_out) = elsewhere(|| (by(mutex.try_lock()), by(mutex.lock_for(SHORT))));
        assert!(tried.starts_with(&named("backup")), "{algorithm:?}: {tried}");
        assert!(timed_out.starts_with(&named("backup")), "{algorithm:?}: {timed_out}");
        drop(held);
    }
}

#[test]
fn since_when_it_has_the_lock_is_said_too() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    let held = mutex.lock().unwrap();
    elsewhere(|| {
        // The first waiter has the bias revoked, and from then on it is known.
        let _ = mutex.lock_for(SHORT).map(drop);
        let said = by(mutex.lock_for(SHORT));
        let label = std::env::args().next().unwrap();
        let label = label.rsplit('/').next().unwrap();
        let (who, span) = said.split_once(" for ").unwrap();
        assert!(label.starts_with(who.split(['(', ')']).nth(1).unwrap()), "{said}: a label may be cut");
        let milliseconds = span.trim_start_matches("at least ").split(' ').next().unwrap();
        assert!(milliseconds.parse::<f64>().unwrap() >= 1.0, "{said}");
    });
    drop(held);
}

#[test]
fn only_a_holder_that_is_in_the_way_is_named() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let someone = |label: &str| file.participant_options().label(label).open().unwrap();
    let (one, two) = (someone("one"), someone("two"));

    let rwlock = file.rwlock("rwlock").unwrap();
    let reads = [rwlock.read_as(&one).unwrap(), rwlock.read_as(&two).unwrap()];
    let refused = by(rwlock.try_write());
    assert!(
        refused.starts_with(&named("one")) && refused.ends_with(", and another one has it too"),
        "{refused}"
    );
    drop(reads);

    let ranges = file.range_lock("ranges").unwrap();
    let held = (ranges.write_as(&one, 0..10).unwrap(), ranges.write_as(&two, 10..20).unwrap());
    for range in [15..30, 19..20] {
        let refused = by(ranges.try_read(range));
        assert!(refused.starts_with(&named("two")) && !refused.contains("another"), "{refused}");
    }
    drop(held);

    let keys = file.keyed_lock("keys").unwrap();
    let held = (keys.write_as(&one, "ada").unwrap(), keys.write_as(&two, "ben").unwrap());
    let refused = by(keys.write_for("ben", SHORT));
    assert!(refused.starts_with(&named("two")) && !refused.contains("another"), "{refused}");
    drop(held);

    let groups = file.group_lock("groups").unwrap();
    let held = (groups.lock_as(&one, 1).unwrap(), groups.lock_as(&two, 1).unwrap());
    let refused = by(groups.try_lock(2));
    assert!(
        refused.starts_with(&named("one")) && refused.ends_with(", and another one has it too"),
        "{refused}"
    );
    drop(held);

    let semaphore = file.semaphore_options().permits(3).open("permits").unwrap();
    let held = (semaphore.acquire_as(&one, 2).unwrap(), semaphore.acquire_as(&two, 1).unwrap());
    let refused = by(semaphore.try_acquire(1));
    assert!(
        refused.starts_with(&named("one")) && refused.ends_with(", and another one has it too"),
        "{refused}"
    );
    drop(held);
}

#[test]
fn an_upgrade_in_vain_names_the_reader() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let rwlock = file.rwlock("a").unwrap();
    let reader = file.participant_options().label("reader").open().unwrap();
    let read = rwlock.read_as(&reader).unwrap();
    let refused = rwlock.upgradable().unwrap().upgrade_for(SHORT).err().unwrap();
    let refused = by::<()>(Err(refused.error));
    assert!(refused.starts_with(&named("reader")), "{refused}");
    drop(read);
}

#[test]
fn the_message_of_the_c_functions_says_it() {
    let place = Place::new();
    let path = CString::new(place.lock_file().as_os_str().as_bytes()).unwrap();
    let (mut file, mut mutex) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: strings that end, and places for the handles.
    unsafe {
        assert_eq!(turnlock_file_open(path.as_ptr(), ptr::null(), &mut file), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_open(file, c"a".as_ptr(), ptr::null(), &mut mutex), TURNLOCK_OK);
    }
    let mutex = mutex as usize;
    let tried = move || {
        let mutex = mutex as *const turnlock_mutex;
        // SAFETY: the handle is open, and the message valid until the next call.
        unsafe {
            let status = turnlock_mutex_lock_for(mutex, 1_000_000, ptr::null_mut());
            (status, CStr::from_ptr(turnlock_last_error_message()).to_str().unwrap().to_owned())
        }
    };
    assert_eq!(tried().0, TURNLOCK_OK);
    let (status, message) = elsewhere(tried);
    assert_eq!(status, TURNLOCK_ERROR_TIMED_OUT);
    let wanted = format!("the time limit passed before the turn came: process {} (", std::process::id());
    assert!(message.starts_with(&wanted), "{message}");
}
