//! Slots that are left to an open file which several processes may share.

use std::{
    fs::{self, File},
    os::fd::{AsRawFd, OwnedFd},
};
use support::{
    NoHang, Place, elsewhere,
    puppet::{Puppet, Said},
    until,
};
use turnlock::{DeathPolicy, Error, LockFile, Participant, inspect, status::*};

/// A lock's name, and how a participant takes it.
type Take<'a> = (&'static str, &'a dyn Fn(&Participant));

fn participant(file: &LockFile) -> Participant {
    file.participant_options().label("shell").release_on_close(true).open().unwrap()
}

fn opened(place: &Place) -> (LockFile, File) {
    let path = place.lock_file();
    (LockFile::open(&path).unwrap(), File::open(path).unwrap())
}

#[test]
fn what_is_left_is_held_until_the_last_copy_is_closed() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let (file, descriptor) = opened(&place);
    let mutex = file.mutex_options().death_policy(DeathPolicy::Release).open("a").unwrap();
    let shell = participant(&file);
    let guard = mutex.lock_as(&shell).unwrap();
    let token = guard.fencing_token();
    std::mem::forget(guard);
    shell.transfer_to_fd(descriptor.as_raw_fd(), std::process::id()).unwrap();
    // No participant can unlock it any more, or close it.
    assert_eq!(mutex.lock_as(&shell).map(drop).unwrap_err().code(), TURNLOCK_ERROR_CLOSED);
    drop(shell);
    let mut other = Puppet::at(&place.lock_file(), "a");
    assert_eq!(other.ask("try"), Said::Error(TURNLOCK_ERROR_WOULD_BLOCK));
    let status = inspect::snapshot(place.lock_file()).unwrap();
    let holder = &status.locks[0].holders[0];
    assert_eq!((holder.fencing_token, holder.participant.pid), (token, std::process::id()));
    assert_eq!((&*holder.participant.label, holder.participant.kept_by), ("shell", "descriptor"));
    let copy: OwnedFd = descriptor.try_clone().unwrap().into();
    drop(descriptor);
    assert_eq!(other.ask("try"), Said::Error(TURNLOCK_ERROR_WOULD_BLOCK));
    drop(copy);
    // An ordinary end: no participant is told.
    assert_eq!(other.ask("lock"), Said::Taken(token + 1, false));
    assert_eq!(other.ask("unlock"), Said::Done);
    assert!(mutex.previous_owner().is_none());
}

#[test]
fn where_the_lock_wants_to_be_told_closing_is_a_death() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let (file, descriptor) = opened(&place);
    let mutex = file.mutex("a").unwrap();
    let shell = participant(&file);
    std::mem::forget(mutex.lock_as(&shell).unwrap());
    shell.transfer_to_fd(descriptor.as_raw_fd(), 1).unwrap();
    drop(descriptor);
    let mut guard = mutex.lock().unwrap();
    assert_eq!(guard.previous_owner().unwrap().label, "shell");
    guard.mark_consistent().unwrap();
}

#[test]
fn of_every_kind_it_is_unlocked_and_a_waiter_comes_in() {
    let (_no_hang, place) = (NoHang::for_seconds(100), Place::new());
    let (file, descriptor) = opened(&place);
    let number = descriptor.as_raw_fd();
    let (mutex, ring, rwlock) =
        (file.mutex("mutex").unwrap(), file.turn_ring("ring").unwrap(), file.rwlock("rwlock").unwrap());
    let semaphore = file.semaphore_options().permits(2).open("semaphore").unwrap();
    let (ranges, keys) = (file.range_lock("ranges").unwrap(), file.keyed_lock("keys").unwrap());
    let groups = file.group_lock("groups").unwrap();
    let leave = |take: &dyn Fn(&Participant)| {
        let shell = participant(&file);
        take(&shell);
        shell.transfer_to_fd(number, 1).unwrap();
    };
    use std::mem::forget;
    let takes: [Take; 8] = [
        ("mutex", &|shell| forget(mutex.lock_as(shell).unwrap())),
        ("ring", &|shell| forget(ring.lock_as(shell).unwrap())),
        ("rwlock", &|shell| forget(rwlock.write_as(shell).unwrap())),
        ("rwlock", &|shell| forget(rwlock.read_as(shell).unwrap())),
        ("semaphore", &|shell| forget(semaphore.acquire_as(shell, 2).unwrap())),
        ("ranges", &|shell| forget(ranges.write_as(shell, 5..9).unwrap())),
        ("keys", &|shell| forget(keys.write_as(shell, "ada").unwrap())),
        ("groups", &|shell| forget(groups.lock_as(shell, 1).unwrap())),
    ];
    for (name, take) in takes {
        leave(take);
        assert_eq!(file.count_transferred(number, name).unwrap(), 1, "{name}");
        // A waiter for all of it, which is told of no death.
        let waits = |what: &dyn Fn() -> turnlock::Result<bool>| what().unwrap();
        std::thread::scope(|threads| {
            let waiter = threads.spawn(|| match name {
                "mutex" => waits(&|| Ok(mutex.lock()?.acquired().previous_owner_died)),
                "ring" => waits(&|| Ok(ring.lock()?.acquired().previous_owner_died)),
                "rwlock" => waits(&|| Ok(rwlock.write()?.acquired().previous_owner_died)),
                "semaphore" => waits(&|| Ok(semaphore.acquire(2)?.acquired().previous_owner_died)),
                "ranges" => waits(&|| Ok(ranges.write(0..100)?.acquired().previous_owner_died)),
                "groups" => waits(&|| Ok(groups.lock(2)?.acquired().previous_owner_died)),
                _ => waits(&|| Ok(keys.write("ada")?.acquired().previous_owner_died)),
            });
            let is_waiting = || {
                let status = inspect::snapshot(place.lock_file()).unwrap();
                status.locks.iter().any(|lock| lock.name == name && !lock.queue.is_empty())
            };
            until("it waits", is_waiting);
            assert_eq!(file.unlock_transferred(number, Some(name)).unwrap(), 1, "{name}");
            assert!(!support::join(waiter), "{name}: no holder died");
        });
        assert_eq!(file.unlock_transferred(number, None).unwrap(), 0, "{name}");
    }
    let status = inspect::snapshot(place.lock_file()).unwrap();
    assert!(status.participants.iter().all(|one| one.label != "shell"), "{:?}", status.participants);
}

#[test]
fn one_lock_is_unlocked_and_the_others_are_kept() {
    let place = Place::new();
    let (file, descriptor) = opened(&place);
    let (a, b) = (file.mutex("a").unwrap(), file.mutex("b").unwrap());
    // One slot has both, another one a third.
    let shell = participant(&file);
    std::mem::forget((a.lock_as(&shell).unwrap(), b.lock_as(&shell).unwrap()));
    shell.transfer_to_fd(descriptor.as_raw_fd(), 1).unwrap();
    assert_eq!(file.unlock_transferred(descriptor.as_raw_fd(), Some("a")).unwrap(), 1);
    elsewhere(|| a.try_lock().map(drop)).unwrap();
    assert!(matches!(elsewhere(|| b.try_lock().map(drop)), Err(Error::WouldBlock(_))));
    assert_eq!(file.unlock_transferred(descriptor.as_raw_fd(), None).unwrap(), 1);
    elsewhere(|| b.try_lock().map(drop)).unwrap();
    let unknown = file.unlock_transferred(descriptor.as_raw_fd(), Some("c")).unwrap_err();
    assert_eq!(unknown.code(), TURNLOCK_ERROR_NOT_FOUND);
}

#[test]
fn a_guard_that_is_dropped_afterwards_unlocks_nothing() {
    let place = Place::new();
    let (file, descriptor) = opened(&place);
    let mutex = file.mutex("a").unwrap();
    let shell = participant(&file);
    // By turns, so that the lock is biased to it; and as often as not by the fast path.
    (0..100).for_each(|_| drop(mutex.lock_as(&shell).unwrap()));
    let guard = mutex.lock_as(&shell).unwrap();
    shell.transfer_to_fd(descriptor.as_raw_fd(), 1).unwrap();
    drop(guard);
    assert!(matches!(elsewhere(|| mutex.try_lock().map(drop)), Err(Error::WouldBlock(_))));
    assert_eq!(file.unlock_transferred(descriptor.as_raw_fd(), None).unwrap(), 1);
    elsewhere(|| mutex.try_lock().map(drop)).unwrap();
    // A thread's own participant is not to be left.
    let refused = file.current_participant().unwrap().transfer_to_fd(descriptor.as_raw_fd(), 1).unwrap_err();
    assert_eq!(refused.code(), TURNLOCK_ERROR_INVALID_ARGUMENT, "{refused}");
}

/// Two open files of one process, and two copies of one: each unlocks what is its own.
#[test]
fn an_open_file_unlocks_what_was_left_to_it_alone() {
    let place = Place::new();
    let (file, one) = opened(&place);
    let other = File::open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    let shell = participant(&file);
    std::mem::forget(mutex.lock_as(&shell).unwrap());
    shell.transfer_to_fd(one.as_raw_fd(), 1).unwrap();
    assert_eq!(file.unlock_transferred(other.as_raw_fd(), None).unwrap(), 0);
    assert_eq!(mutex.try_lock().map(drop).unwrap_err().code(), TURNLOCK_ERROR_WOULD_BLOCK);
    let copy = one.try_clone().unwrap();
    assert_eq!(file.unlock_transferred(copy.as_raw_fd(), None).unwrap(), 1);
    drop(mutex.try_lock().unwrap());
}

/// Many threads take, leave and unlock by one open file at once: no slot is had twice, and none is lost.
#[test]
fn many_at_one_open_file_get_slots_of_their_own() {
    let (_no_hang, place) = (NoHang::for_seconds(100), Place::new());
    let (file, descriptor) = opened(&place);
    let number = descriptor.as_raw_fd();
    std::thread::scope(|threads| {
        for at in 0..4 {
            let file = &file;
            threads.spawn(move || {
                let mutex = file.mutex(&format!("lock {at}")).unwrap();
                for _ in 0..50 {
                    let shell = participant(file);
                    std::mem::forget(mutex.lock_as(&shell).unwrap());
                    shell.transfer_to_fd(number, 1).unwrap();
                    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
                    assert_eq!(file.unlock_transferred(number, Some(&format!("lock {at}"))).unwrap(), 1);
                    drop(mutex.try_lock().unwrap());
                }
            });
        }
    });
    let status = inspect::snapshot(place.lock_file()).unwrap();
    assert!(status.participants.iter().all(|one| one.label != "shell"), "{:?}", status.participants);
}

#[test]
fn what_cannot_keep_a_slot_is_refused_and_all_is_as_before() {
    let place = Place::new();
    let (file, descriptor) = opened(&place);
    let mutex = file.mutex("a").unwrap();
    let shell = participant(&file);
    let guard = mutex.lock_as(&shell).unwrap();
    let to_write = fs::OpenOptions::new().append(true).open(place.lock_file()).unwrap();
    let another = tempfile::tempfile().unwrap();
    for (number, says) in [
        (to_write.as_raw_fd(), "is not open for reading"),
        (another.as_raw_fd(), "is of another file"),
        (777, "is no open descriptor"),
        (-1, "is no open descriptor"),
    ] {
        let refused = shell.transfer_to_fd(number, 1).unwrap_err();
        assert_eq!(refused.code(), TURNLOCK_ERROR_INVALID_ARGUMENT, "{refused}");
        assert!(refused.to_string().contains(says), "{refused}");
        assert_eq!(
            file.unlock_transferred(number, None).unwrap_err().code(),
            TURNLOCK_ERROR_INVALID_ARGUMENT
        );
    }
    let by_mapping = file.participant().unwrap();
    assert!(
        by_mapping
            .transfer_to_fd(descriptor.as_raw_fd(), 1)
            .unwrap_err()
            .to_string()
            .contains("kept by a descriptor")
    );
    guard.unlock().unwrap();
    elsewhere(|| mutex.try_lock().map(drop)).unwrap();
}
