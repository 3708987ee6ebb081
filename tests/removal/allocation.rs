//! Room: for as many locks and participants as a file may have, and no more of it taken than is used.

use std::{
    ffi::{CStr, CString},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
    ptr,
};
use support::{NoHang, Place, elsewhere, puppet::Puppet};
use turnlock::{Error, LockFile, capi::*, inspect, status::*};

/// A mutex through the C ABI, whose file handle is closed already.
pub fn c_mutex(path: &Path, name: &CStr) -> *mut turnlock_mutex {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let (mut file, mut mutex) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: C strings, and places for the handles.
    unsafe {
        assert_eq!(turnlock_file_open(path.as_ptr(), ptr::null(), &mut file), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_open(file, name.as_ptr(), ptr::null(), &mut mutex), TURNLOCK_OK);
        assert_eq!(turnlock_file_close(file), TURNLOCK_OK);
    }
    mutex
}

fn disk(path: &Path) -> u64 {
    path.metadata().unwrap().blocks() * 512
}

#[test]
fn a_name_is_removed_through_the_c_abi() {
    let place = Place::new();
    let path = CString::new(place.lock_file().as_os_str().as_bytes()).unwrap();
    let mutex = c_mutex(&place.lock_file(), c"a");
    let mut file = ptr::null_mut();
    // SAFETY: C strings, handles that are open, and places for others.
    unsafe {
        assert_eq!(turnlock_file_open(path.as_ptr(), ptr::null(), &mut file), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_lock(mutex, ptr::null_mut()), TURNLOCK_OK);
        assert_eq!(turnlock_file_remove_lock(file, c"a".as_ptr()), TURNLOCK_ERROR_IN_USE);
        let message = CStr::from_ptr(turnlock_last_error_message()).to_str().unwrap();
        assert!(message.contains("unlock it first"), "{message}");
        assert_eq!(turnlock_mutex_unlock(mutex), TURNLOCK_OK);
        assert_eq!(turnlock_file_remove_lock(file, c"a".as_ptr()), TURNLOCK_OK);
        assert_eq!(turnlock_file_remove_lock(file, c"a".as_ptr()), TURNLOCK_ERROR_NOT_FOUND);
        assert_eq!(turnlock_mutex_lock(mutex, ptr::null_mut()), TURNLOCK_ERROR_NOT_FOUND);
        assert_eq!(turnlock_file_remove_lock(file, ptr::null()), TURNLOCK_ERROR_INVALID_ARGUMENT);
        assert_eq!(turnlock_file_remove_lock(file, c"".as_ptr()), TURNLOCK_ERROR_BAD_NAME);
        assert_eq!(turnlock_file_remove_lock(ptr::null(), c"a".as_ptr()), TURNLOCK_ERROR_INVALID_ARGUMENT);
        assert_eq!(turnlock_mutex_close(mutex), TURNLOCK_OK);
        assert_eq!(turnlock_file_close(file), TURNLOCK_OK);
    }
}

#[test]
fn removed_locks_make_room_for_others() {
    let place = Place::new();
    let file = LockFile::options().participants(2).locks(3).open(place.lock_file()).unwrap();
    for round in 0..50 {
        let name = |number: u32| format!("{round}/{number}");
        let mutexes = [0, 1, 2].map(|number| file.mutex(&name(number)).unwrap());
        let full = file.mutex("one too many").err().unwrap();
        assert!(matches!(full, Error::LocksFull { locks: 3, .. }));
        assert!(full.to_string().contains("or create a file with more locks"), "{full}");
        let guards = mutexes.each_ref().map(|mutex| mutex.lock().unwrap());
        assert_eq!(inspect::snapshot(place.lock_file()).unwrap().locks.len(), 3);
        drop(guards);
        for number in [1, 0, 2] {
            file.remove_lock(&name(number)).unwrap();
        }
        assert!(inspect::snapshot(place.lock_file()).unwrap().locks.is_empty());
    }
}

#[test]
fn the_largest_file_takes_as_much_room_as_is_used() {
    let _no_hang = NoHang::for_seconds(100);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().participants(4096).locks(4096).open(&path).unwrap();
    assert_eq!((file.participants(), file.locks()), (4096, 4096));
    assert!(path.metadata().unwrap().len() > 1 << 30);
    let empty = disk(&path);
    let mutex = file.mutex("a").unwrap();
    let mut other = Puppet::that_holds(&path, "a");
    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
    other.0.kill();
    let mut guard = mutex.lock().unwrap();
    guard.mark_consistent().unwrap();
    drop(guard);
    let status = inspect::snapshot(&path).unwrap();
    assert_eq!((status.locks.len(), status.participants.len()), (1, 1));
    let used = disk(&path);
    println!(
        "{} bytes, of which {empty} have room in an empty one, {used} with a lock",
        path.metadata().unwrap().len()
    );
    assert!(empty < 1 << 20 && used < 2 << 20, "{empty}, {used}");
    // An error message that would name all slots, a boot, and all that goes over everything: the same.
    drop((mutex, file));
    support::format::poke(&path, support::format::BOOT_ID, &[0xab; 16]);
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    elsewhere(|| mutex.lock().map(drop)).unwrap();
    assert!(disk(&path) < 2 << 20, "{}", disk(&path));
}

#[test]
fn as_many_participants_as_a_file_may_have_take_part() {
    let _no_hang = NoHang::for_seconds(200);
    let place = Place::new();
    let file = LockFile::options().participants(4096).locks(2).open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    // This thread has one slot, by naming the lock.
    let all: Vec<_> = (1..4096).map(|_| file.participant().unwrap()).collect();
    let full = file.participant().err();
    assert!(matches!(full, Some(Error::ParticipantsFull { slots: 4096, .. })));
    is_told_that_a_larger_file_does_not_help(full);
    for participant in all.iter().step_by(97).chain(all.last()) {
        mutex.lock_as(participant).unwrap().unlock().unwrap();
    }
    let ring = file.turn_ring("r").unwrap();
    for participant in [&all[4094], &all[0], &all[2048]] {
        ring.lock_as(participant).unwrap().unlock().unwrap();
    }
    drop(all);
    assert_eq!(inspect::snapshot(place.lock_file()).unwrap().participants.len(), 1);
    drop(mutex.lock().unwrap());
}

#[test]
fn as_many_locks_as_a_file_may_have_are_named() {
    let _no_hang = NoHang::for_seconds(200);
    let place = Place::new();
    let file = LockFile::options().participants(2).locks(4096).open(place.lock_file()).unwrap();
    for name in 0..4096 {
        file.mutex(&name.to_string()).unwrap();
    }
    let full = file.mutex("one too many").err();
    assert!(matches!(full, Some(Error::LocksFull { locks: 4096, .. })));
    is_told_that_a_larger_file_does_not_help(full);
    let last = file.mutex("4095").unwrap();
    elsewhere(|| last.lock().map(drop)).unwrap();
    file.remove_lock("1234").unwrap();
    drop(file.mutex("another").unwrap().lock().unwrap());
    assert_eq!(inspect::snapshot(place.lock_file()).unwrap().locks.len(), 4096);
}

/// What a disk kept of a file that was in use when the power went: the header's bounds may be older than the rest.
#[test]
fn after_a_boot_the_bounds_are_found_anew() {
    use support::format::{self, Format, poke, poke_u32, poke_u64};
    let place = Place::new();
    let path = place.lock_file();
    let shape = Format { participants: 8, locks: 5 };
    {
        let file = LockFile::options().participants(8).locks(5).open(&path).unwrap();
        for name in ["a", "b", "c"] {
            file.mutex(name).unwrap().lock().unwrap().unlock().unwrap();
        }
    }
    for bound in [format::LOCKS_BOUND, format::SLOTS_BOUND] {
        poke_u32(&path, bound, 0);
    }
    // Rubbish of a slot that the table knows nothing of, and in a region that the directory knows nothing of.
    for region in [2, 4] {
        poke_u64(&path, shape.number(region, 7), 5);
        poke_u64(&path, shape.cell(region, 6), 77);
    }
    poke_u32(&path, shape.state(4), 1);
    poke(&path, format::BOOT_ID, &[0xab; 16]);
    let file = LockFile::open(&path).unwrap();
    let names: Vec<_> = inspect::snapshot(&path).unwrap().locks.into_iter().map(|lock| lock.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let b = file.existing_mutex("b").unwrap();
    assert!(b.try_lock().unwrap().acquired().previous_owner_died, "77 looks like a holder");
    let d = file.mutex("d").unwrap();
    assert!(!d.try_lock().unwrap().acquired().previous_owner_died, "it never had a holder");
}

/// It is as large as one can be.
fn is_told_that_a_larger_file_does_not_help(full: Option<Error>) {
    let text = full.unwrap().to_string();
    assert!(text.contains("none has more than 4096") && !text.contains("larger"), "{text}");
}
