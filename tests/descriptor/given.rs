//! Files that are given by a descriptor.

use nix::{
    sys::wait::waitpid,
    unistd::{ForkResult, fork},
};
use std::{
    fs::{self, File, OpenOptions},
    os::{
        fd::AsRawFd,
        unix::{
            fs::{FileExt, MetadataExt, PermissionsExt},
            net::UnixStream,
        },
    },
    thread,
    time::Duration,
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    descriptor::{let_inherit, memfd, open, receive, send},
    elsewhere, join,
    puppet::{Puppet, Said},
    until,
};
use turnlock::{
    Error, LockFile, RingAlgorithm,
    inspect::{self, FileStatus, Life},
    status::*,
};

fn open_to_both(path: &std::path::Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

fn status_of(file: &File) -> FileStatus {
    inspect::snapshot_descriptor(file).unwrap()
}

/// As [`support::until_waiting`].
fn until_waiting(file: &File, how_many: usize) {
    until("they wait", || is_waiting(file, how_many));
}

fn is_waiting(file: &File, how_many: usize) -> bool {
    let queue = &status_of(file).locks[0].queue;
    queue.len() == how_many && queue.iter().all(|entry| entry.for_seconds.is_some())
}

#[test]
fn an_empty_memfd_becomes_a_lock_file_and_is_never_taken_for_a_deleted_one() {
    let _no_hang = NoHang::for_seconds(60);
    let given = memfd();
    let file = LockFile::options().participants(4).locks(3).open_descriptor(&given).unwrap();
    assert_eq!((file.participants(), file.locks()), (4, 3));
    assert_eq!(file.path().to_str().unwrap(), "/memfd:turnlock-test (deleted)");
    let mode = given.metadata().unwrap().permissions().mode() & 0o777;
    assert!(mode & 0o007 != 0, "no other mode was asked for: {mode:o}");
    // The descriptor was the caller's, and is not needed.
    let looks_on = given.try_clone().unwrap();
    drop(given);
    let mutex = file.mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    thread::scope(|threads| {
        let waiter = threads.spawn(|| mutex.lock_for(Duration::from_millis(300)).map(drop));
        until("it waits, or has waited", || waiter.is_finished() || is_waiting(&looks_on, 1));
        // It waits on when it has looked whether the holder lives, and the file.
        assert!(matches!(join(waiter), Err(Error::TimedOut(_))));
    });
    guard.unlock().unwrap();
    // It does not move to another file: no path leads to one.
    let mut follows = mutex.clone();
    elsewhere(move || follows.lock_or_reopen().unwrap().unlock().unwrap());
    elsewhere(|| mutex.reopened().unwrap().lock().map(drop)).unwrap();
    let status = status_of(&looks_on);
    assert_eq!((status.participant_capacity, status.lock_capacity), (4, 3));
    assert_eq!(status.locks[0].name, "a");
    // Opened once more it is the same file, and the same slot of this thread.
    let again = LockFile::options().must_exist(true).open_descriptor(&looks_on).unwrap();
    let held = mutex.lock().unwrap();
    assert!(matches!(again.mutex("a").unwrap().lock(), Err(Error::Deadlock)));
    drop(held);
}

#[test]
fn mode_and_group_of_a_memfd_are_set_if_they_are_asked_for() {
    let given = memfd();
    LockFile::options().mode(0o660).open_descriptor(&given).unwrap();
    assert_eq!(given.metadata().unwrap().mode() & 0o777, 0o660);
}

#[test]
fn a_ring_is_opened_again_by_descriptor_as_it_was() {
    let given = memfd();
    let file = LockFile::open_descriptor(&given).unwrap();
    let ring = file.ring_options().algorithm(RingAlgorithm::KState).member(true).open("r").unwrap();
    drop(ring.reopened().unwrap().lock().unwrap());
    assert_eq!(status_of(&given).locks[0].queue[0].takes_part, Some("member"));
}

/// A successor of its memory, not of its lock: the open file behind the descriptor is one for all processes that
/// have it.
#[test]
fn inherited_by_another_process_it_is_one_lock_and_a_death_is_seen() {
    let _no_hang = NoHang::for_seconds(60);
    let given = memfd();
    let mutex = LockFile::open_descriptor(&given).unwrap().mutex("a").unwrap();
    let told = format!("descriptor {}", given.as_raw_fd());
    let mut other = Puppet::by_words(&told, "a");
    let guard = mutex.lock().unwrap();
    assert_eq!(other.ask("try"), Said::Error(TURNLOCK_ERROR_WOULD_BLOCK));
    guard.unlock().unwrap();
    let Said::Taken(token, false) = other.ask("lock") else { panic!("it is free") };
    let slots: Vec<_> = status_of(&given).participants.iter().map(|one| (one.slot, one.life)).collect();
    assert_eq!(slots, [(0, Life::Alive), (1, Life::Alive)]);
    thread::scope(|threads| {
        let waiter = threads.spawn(|| {
            let mut guard = mutex.lock().unwrap();
            guard.mark_consistent().unwrap();
            (guard.previous_owner().unwrap().fencing_token, guard.previous_owner().unwrap().pid)
        });
        until_waiting(&given, 1);
        other.0.kill_without_waiting();
        assert_eq!(join(waiter), (token, other.0.pid()));
    });
}

#[test]
fn received_over_a_socket_it_is_one_lock_and_a_death_is_seen() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    for given in [memfd(), open_to_both(&place.at("given.lock"))] {
        let mutex = LockFile::open_descriptor(&given).unwrap().mutex("a").unwrap();
        let (here, there) = UnixStream::pair().unwrap();
        let_inherit(&there);
        send(&here, &given);
        let mut other = Puppet::by_words(&format!("socket {}", there.as_raw_fd()), "a");
        let Said::Taken(token, false) = other.ask("lock") else { panic!("it is free") };
        assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
        other.0.kill();
        let mut guard = mutex.lock().unwrap();
        assert_eq!(guard.previous_owner().unwrap().fencing_token, token);
        guard.mark_consistent().unwrap();
    }
}

/// A forked child has its parent's descriptors of the file closed, and no path to open it by.
pub fn hands_on_to_children(_: &[String]) {
    let given = memfd();
    let file = LockFile::open_descriptor(&given).unwrap();
    drop(given);
    let mutex = file.mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    // SAFETY: this process has one thread.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))), "its parent has it");
            // And so for its own children.
            // SAFETY: as above.
            match unsafe { fork() }.unwrap() {
                ForkResult::Child => {
                    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
                    let other = file.mutex("b").unwrap();
                    std::mem::forget(other.lock().unwrap());
                    // SAFETY: ends this process, and nothing else of it runs.
                    unsafe { libc::_exit(0) }
                }
                ForkResult::Parent { child } => drop(waitpid(child, None).unwrap()),
            }
            let other = file.mutex("b").unwrap();
            let mut guard = other.lock().unwrap();
            assert!(guard.acquired().previous_owner_died, "its child died holding it");
            guard.mark_consistent().unwrap();
            drop(guard);
            // SAFETY: as above.
            unsafe { libc::_exit(0) }
        }
        ForkResult::Parent { child } => {
            let ended = waitpid(child, None).unwrap();
            assert_eq!(ended, nix::sys::wait::WaitStatus::Exited(child, 0));
        }
    }
    guard.unlock().unwrap();
    say("done");
    hear();
}

#[test]
fn forked_children_take_part_in_a_memfd_with_slots_of_their_own() {
    let _no_hang = NoHang::for_seconds(60);
    let mut parent = Actor::start("hands_on_to_children", &[]);
    parent.expect("done");
    parent.dismiss();
}

/// One of many that are told of the same empty memfd at once.
pub fn makes_it_with_others(words: &[String]) {
    hear();
    let file = open(LockFile::options().participants(32).locks(2), &words[0]).unwrap();
    let guard = file.mutex("a").unwrap().lock().map(|guard| guard.fencing_token());
    say(&format!("token {}", guard.unwrap()));
    hear();
}

#[test]
fn of_many_that_open_an_empty_memfd_at_once_one_makes_it_and_all_share_it() {
    let _no_hang = NoHang::for_seconds(100);
    for _ in 0..5 {
        let given = memfd();
        let told = format!("descriptor {}", given.as_raw_fd());
        let mut others: Vec<_> =
            (0..8).map(|_| Actor::start("makes_it_with_others", &[told.as_str()])).collect();
        others.iter_mut().for_each(|other| other.tell("go"));
        let mut tokens: Vec<_> = others.iter_mut().map(|other| other.expect_number("token")).collect();
        tokens.sort_unstable();
        let first = tokens[0];
        assert_eq!(tokens, (first..first + 8).collect::<Vec<_>>(), "one line of tokens");
        assert_eq!(status_of(&given).participants.len(), 8);
    }
}

#[test]
fn a_file_whose_maker_died_is_made_anew() {
    let given = memfd();
    for (start, size) in [(&b"turnmake"[..], 8), (b"turnmake", 5000), (b"turnmake rubbish", 1 << 20)] {
        given.set_len(0).unwrap();
        given.write_all_at(start, 0).unwrap();
        given.set_len(size).unwrap();
        let file = LockFile::options().participants(2).locks(1).open_descriptor(&given).unwrap();
        assert_eq!((file.participants(), file.locks()), (2, 1));
        assert!(!file.mutex("a").unwrap().lock().unwrap().acquired().previous_owner_died);
    }
}

#[test]
fn what_is_no_lock_file_is_refused_in_words_that_help() {
    let place = Place::new();
    let refused = |given: &File, status: i32, words: &[&str]| {
        let error = LockFile::open_descriptor(given).map(drop).unwrap_err();
        assert_eq!(error.code(), status, "{error}");
        assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
    };
    let foreign = memfd();
    foreign.write_all_at(&[b'x'; 100], 0).unwrap();
    refused(&foreign, TURNLOCK_ERROR_NOT_A_LOCK_FILE, &["/memfd:turnlock-test", "not a turnlock file"]);
    assert_eq!(foreign.metadata().unwrap().len(), 100, "it was left as it is");
    refused(&File::open("/dev/zero").unwrap(), TURNLOCK_ERROR_INVALID_ARGUMENT, &["reading and writing"]);
    refused(&File::open(place.folder()).unwrap(), TURNLOCK_ERROR_INVALID_ARGUMENT, &["reading and writing"]);
    refused(&open_to_both("/dev/null".as_ref()), TURNLOCK_ERROR_NOT_A_LOCK_FILE, &["not a regular file"]);
    // Given to look at only, it is not to be written by way of /proc.
    let path = place.lock_file();
    drop(LockFile::open(&path).unwrap());
    let to_look_at = File::open(&path).unwrap();
    refused(&to_look_at, TURNLOCK_ERROR_INVALID_ARGUMENT, &["is not open for reading and writing"]);
    assert_eq!(status_of(&to_look_at).path, path.canonicalize().unwrap());
    let to_write = OpenOptions::new().write(true).open(&path).unwrap();
    assert!(inspect::snapshot_descriptor(&to_write).is_err());
    // A file with a name can be opened by any user whom its mode lets.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    refused(&open_to_both(&path), TURNLOCK_ERROR_PERMISSION, &["everyone", "chmod o="]);
    // Nothing is made where nothing was to be made.
    let empty = memfd();
    let must_exist = LockFile::options().must_exist(true).open_descriptor(&empty).map(drop).unwrap_err();
    assert_eq!(must_exist.code(), TURNLOCK_ERROR_NOT_FOUND);
    assert_eq!(empty.metadata().unwrap().len(), 0);
}

#[test]
fn an_empty_file_with_a_name_becomes_a_lock_file_of_the_usual_mode() {
    let place = Place::new();
    let path = place.lock_file();
    let given = open_to_both(&path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let by_descriptor = LockFile::open_descriptor(&given).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o1600);
    // By its path it is the same file.
    let guard = by_descriptor.mutex("a").unwrap();
    let guard = guard.lock().unwrap();
    assert_eq!(Puppet::at(&path, "a").ask("try"), Said::Error(TURNLOCK_ERROR_WOULD_BLOCK));
    drop(guard);
    // It had a name when it was opened; processes that know it by that are told that it is gone, and so are we.
    let mutex = by_descriptor.mutex("a").unwrap();
    fs::remove_file(&path).unwrap();
    let told = elsewhere(|| mutex.lock().map(drop)).unwrap_err();
    assert_eq!(told.code(), TURNLOCK_ERROR_REPLACED);
    let follows = elsewhere(|| mutex.clone().lock_or_reopen().map(drop)).unwrap_err();
    assert_eq!(follows.code(), TURNLOCK_ERROR_NOT_FOUND);
    assert!(follows.to_string().contains("no path leads to what came in its place"), "{follows}");
}

#[test]
fn a_sealed_memfd_takes_part_and_cannot_be_truncated() {
    let given = memfd_with_seals();
    let mutex = LockFile::open_descriptor(&given).unwrap().mutex("a").unwrap();
    seal(&given, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL);
    assert!(given.set_len(0).is_err());
    elsewhere(|| mutex.lock().map(drop)).unwrap();
    // Sealed before, it cannot be made a lock file.
    let empty = memfd_with_seals();
    seal(&empty, libc::F_SEAL_GROW);
    let error = LockFile::open_descriptor(&empty).map(drop).unwrap_err();
    assert_eq!(error.code(), TURNLOCK_ERROR_PERMISSION);
    assert!(error.to_string().contains("F_SEAL_SHRINK"), "{error}");
}

fn memfd_with_seals() -> File {
    use std::os::fd::FromRawFd;
    // SAFETY: a C string; the descriptor is new, and for this alone.
    unsafe { File::from_raw_fd(libc::memfd_create(c"sealed".as_ptr(), libc::MFD_ALLOW_SEALING)) }
}

fn seal(file: &File, seals: i32) {
    // SAFETY: takes numbers only.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }, 0);
}

#[test]
fn what_was_received_may_be_closed_at_once() {
    let given = memfd();
    let (here, there) = UnixStream::pair().unwrap();
    send(&here, &given);
    let file = LockFile::open_descriptor(receive(&there)).unwrap();
    drop((given, here, there));
    let mutex = file.mutex("a").unwrap();
    elsewhere(|| mutex.lock().map(drop)).unwrap();
}
