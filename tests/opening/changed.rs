//! What happens to the file behind the library's back, while it is open or between two openings.

use crate::witness::{sound_file, told};
use nix::fcntl::{FallocateFlags, fallocate};
use std::{
    fs::{self, OpenOptions},
    os::unix::fs::PermissionsExt,
    path::Path,
    thread,
    time::Duration,
};
use support::{
    NoHang, Place, elsewhere,
    format::{self, Format, peek_u64, poke, poke_u32, poke_u64, this_boot},
    join,
    puppet::{Puppet, Said},
    until_waiting,
};
use turnlock::{Error, LockFile, Result, RingAlgorithm, inspect, status::*};

#[test]
fn unlinked_while_open_it_takes_no_newcomers() {
    let place = Place::new();
    let path = sound_file(&place);
    let file = LockFile::open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    mutex.lock().unwrap().unlock().unwrap();
    fs::remove_file(&path).unwrap();
    let words = &["unlinked or replaced", "close it and open the path again"];
    let newcomer = || elsewhere(|| mutex.lock().map(drop));
    told(newcomer(), &path, TURNLOCK_ERROR_REPLACED, words);
    // Something else of that name, a foreign file or a new lock file, makes no difference.
    fs::create_dir(&path).unwrap();
    assert!(newcomer().is_err());
    fs::remove_dir(&path).unwrap();
    let recreated = LockFile::open(&path).unwrap();
    told(newcomer(), &path, TURNLOCK_ERROR_REPLACED, words);
    told(file.participant(), &path, TURNLOCK_ERROR_REPLACED, words);
    recreated.mutex("a").unwrap().lock().unwrap().unlock().unwrap();
    drop((file, mutex));
    LockFile::open(&path).unwrap().mutex("a").unwrap().lock().unwrap().unlock().unwrap();
}

#[test]
fn a_waiter_notices_that_the_file_was_replaced() {
    let _no_hang = NoHang::for_seconds(60);
    for by in ["nothing", "another"] {
        let place = Place::new();
        let path = sound_file(&place);
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let guard = mutex.lock().unwrap();
        thread::scope(|threads| {
            let waiter = threads.spawn(|| mutex.lock().map(drop));
            until_waiting(&path, "a", 1);
            if by == "nothing" {
                fs::remove_file(&path).unwrap();
            } else {
                let other = place.at("other.lock");
                LockFile::open(&other).unwrap();
                fs::rename(other, &path).unwrap();
            }
            told(join(waiter), &path, TURNLOCK_ERROR_REPLACED, &["close it and open the path again"]);
        });
        // Another participant has seen it, so the holder is told that newcomers may have been inside beside it.
        told(guard.unlock(), &path, TURNLOCK_ERROR_REPLACED, &["do not exclude each other"]);
    }
}

/// Where it is asked to, a blocked waiter goes over to the file that the path names by then: a new one, or one that it
/// creates alike.
#[test]
fn a_waiter_that_follows_goes_over_to_the_new_file() {
    let _no_hang = NoHang::for_seconds(60);
    for by in ["nothing", "another"] {
        let place = Place::new();
        let path = sound_file(&place);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
        let file = LockFile::open(&path).unwrap();
        let mutex = file.mutex_options().patience(Duration::from_millis(7)).open("b").unwrap();
        let guard = mutex.lock().unwrap();
        thread::scope(|threads| {
            let mut follows = mutex.clone();
            let waiter = threads.spawn(move || {
                follows.lock_or_reopen().unwrap().unlock().unwrap();
                // The handle stays with the new file.
                drop(follows.try_lock().unwrap());
                follows.patience()
            });
            until_waiting(&path, "b", 1);
            if by == "nothing" {
                fs::remove_file(&path).unwrap();
            } else {
                let other = place.at("other.lock");
                LockFile::options().participants(9).open(&other).unwrap();
                fs::rename(other, &path).unwrap();
            }
            assert_eq!(join(waiter), Duration::from_millis(7));
        });
        let status = inspect::snapshot(&path).unwrap();
        assert_eq!(status.locks.iter().map(|lock| lock.name.as_str()).collect::<Vec<_>>(), ["b"]);
        if by == "nothing" {
            assert_eq!((status.participant_capacity, status.lock_capacity), (4, 3));
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        }
        told(guard.unlock(), &path, TURNLOCK_ERROR_REPLACED, &["do not exclude each other"]);
    }
}

#[test]
fn a_ring_is_opened_again_as_it_was() {
    let place = Place::new();
    let path = sound_file(&place);
    let file = LockFile::options().must_exist(true).open(&path).unwrap();
    let ring = file.ring_options().algorithm(RingAlgorithm::Sum { step: 3 }).member(true).open("r").unwrap();
    fs::remove_file(&path).unwrap();
    let again = ring.reopened().unwrap();
    drop(again.lock().unwrap());
    let status = inspect::snapshot(&path).unwrap();
    assert_eq!(
        (status.locks[0].name.as_str(), status.locks[0].algorithm.unwrap(), status.locks[0].ring_step),
        ("r", "sum", Some(3))
    );
    assert_eq!(status.locks[0].queue[0].takes_part, Some("member"));
}

/// Every way to take part in `file` fails closed.
fn everything_fails(file: &LockFile, mutex: &turnlock::Mutex, path: &Path) {
    let words = &["truncated or overwrote", "delete it and let it be created anew"];
    let attempts: [(&str, Result<()>); 7] = [
        ("lock", mutex.lock().map(drop)),
        ("try", mutex.try_lock().map(drop)),
        ("for", mutex.lock_for(Duration::from_secs(9)).map(drop)),
        ("reset", mutex.reset()),
        ("newcomer", elsewhere(|| mutex.lock().map(drop))),
        ("participant", file.participant().map(drop)),
        ("name", file.mutex("new").map(drop)),
    ];
    for (what, attempt) in attempts {
        assert!(attempt.is_err(), "{what}");
        told(attempt, path, TURNLOCK_ERROR_DAMAGED, words);
    }
}

#[test]
fn truncated_and_regrown_while_open_it_fails_closed() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = sound_file(&place);
    let size = fs::metadata(&path).unwrap().len();
    let file = LockFile::open(&path).unwrap();
    let (mutex, held) = (file.mutex("a").unwrap(), file.mutex("b").unwrap());
    mutex.lock().unwrap().unlock().unwrap();
    let guard = held.lock().unwrap();
    let opened = OpenOptions::new().write(true).open(&path).unwrap();
    opened.set_len(0).unwrap();
    opened.set_len(size).unwrap();
    everything_fails(&file, &mutex, &path);
    // The holder is told that it may not have been alone.
    assert!(guard.unlock().is_err());
    everything_fails(&file, &held, &path);
    drop((file, mutex, held));
    told(LockFile::open(&path), &path, TURNLOCK_ERROR_NOT_A_LOCK_FILE, &["not a turnlock file"]);
}

#[test]
fn truncated_while_open_it_is_an_error_and_not_a_crash() {
    let _no_hang = NoHang::for_seconds(60);
    // To nothing; in the middle of the header page, which stays; so that only locks are missing.
    for length in [0, 64, 4096] {
        let place = Place::new();
        let path = sound_file(&place);
        let mut inside = Puppet::that_holds(&path, "a");
        let mut waiting = Puppet::at(&path, "a");
        waiting.0.tell("lock");
        until_waiting(&path, "a", 1);
        let mut idle = Puppet::at(&path, "a");
        OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        let damaged = Said::Error(TURNLOCK_ERROR_DAMAGED);
        assert_eq!(waiting.hear(), damaged, "the one that waits, {length}");
        assert_eq!(inside.ask("unlock"), damaged, "the one inside, {length}");
        for order in ["try", "lock", "for 1000"] {
            assert_eq!(idle.ask(order), damaged, "{order}, {length}");
        }
    }
}

#[test]
fn a_holder_and_a_waiter_notice_that_the_file_was_overwritten_with_zeros() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = sound_file(&place);
    let size = fs::metadata(&path).unwrap().len();
    let file = LockFile::open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    thread::scope(|threads| {
        let waiter = threads.spawn(|| mutex.lock().map(drop));
        until_waiting(&path, "a", 1);
        // As truncating and regrowing does, but without the moment in which touching the memory is deadly.
        let opened = OpenOptions::new().write(true).open(&path).unwrap();
        let hole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        fallocate(opened, hole, 0, size as i64).unwrap();
        told(join(waiter), &path, TURNLOCK_ERROR_DAMAGED, &["truncated or overwrote"]);
    });
    assert!(guard.unlock().is_err());
    everything_fails(&file, &mutex, &path);
}

/// A file as an unclean shutdown may leave it: a participant held `b`, and rubbish stands in registers of vacant
/// slots.
fn left_by_another_boot(place: &Place) -> (Format, u64, u32) {
    const SHAPE: Format = Format { participants: 4, locks: 3 };
    let path = place.lock_file();
    {
        let file = LockFile::options().participants(4).locks(3).open(&path).unwrap();
        for name in ["a", "b", "c"] {
            file.mutex(name).unwrap().lock().unwrap().unlock().unwrap();
        }
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), SHAPE.file_bytes());
    let mut holder = Puppet::at(&path, "b");
    let Said::Taken(token, false) = holder.ask("lock") else { panic!("it is free") };
    holder.0.kill();
    poke(&path, format::BOOT_ID, &[0xab; 16]);
    (SHAPE, token, holder.0.pid())
}

#[test]
fn after_a_boot_what_was_held_is_told_of_and_tokens_jump() {
    const JUMP: u64 = 1 << 40;
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let (shape, token, pid) = left_by_another_boot(&place);
    // Numbers and tokens that never reached the disk whole.
    for slot in 1..4 {
        poke_u64(&path, shape.number(1, slot), u64::MAX - slot);
        poke_u64(&path, shape.number(3, slot), 1);
    }
    poke_u64(&path, shape.token(3), u64::MAX);
    poke_u64(&path, shape.cell(3, 3), 77);
    poke_u32(&path, shape.slot(2), 9);
    poke_u32(&path, format::SLOTS_IN_USE, u32::MAX);
    let token_of_a = peek_u64(&path, shape.token(1));
    let before = inspect::snapshot(&path).unwrap();
    assert!(!before.of_this_boot);

    let file = LockFile::open(&path).unwrap();
    assert!(inspect::snapshot(&path).unwrap().of_this_boot);
    assert_eq!(fs::read(&path).unwrap()[format::BOOT_ID as usize..][..16], this_boot());
    assert_eq!(inspect::snapshot(&path).unwrap().participants.len(), 0, "no participant of before is left");
    // No participant held it: no owner-dead notice, and a token that no earlier holder can have.
    let a = file.mutex("a").unwrap();
    let guard = a.try_lock().unwrap();
    assert!(!guard.acquired().previous_owner_died);
    assert!(guard.fencing_token() > token_of_a + JUMP);
    drop(guard);
    let b = file.mutex("b").unwrap();
    let mut guard = b.try_lock().unwrap();
    let dead = guard.previous_owner().unwrap();
    assert_eq!((dead.fencing_token, dead.pid), (token, pid));
    assert!(guard.fencing_token() > token + JUMP);
    guard.mark_consistent().unwrap();
    drop(guard);
    // Rubbish that looks like a holder is taken for one: better one repair too many.
    let c = file.mutex("c").unwrap();
    let mut guard = c.try_lock().unwrap();
    assert!(guard.acquired().previous_owner_died);
    assert!(guard.fencing_token() > JUMP && guard.fencing_token() < 1 << 63);
    guard.mark_consistent().unwrap();
    drop(guard);
    for mutex in [a, b, c] {
        let guard = elsewhere(|| mutex.try_lock().map(|guard| guard.acquired()).unwrap());
        assert!(!guard.previous_owner_died);
    }
}

#[test]
fn a_second_opening_in_the_same_boot_clears_nothing() {
    let place = Place::new();
    let path = place.lock_file();
    let (shape, ..) = left_by_another_boot(&place);
    drop(LockFile::open(&path).unwrap());
    let tokens = [1, 2, 3].map(|region| peek_u64(&path, shape.token(region)));
    drop(LockFile::open(&path).unwrap());
    assert_eq!([1, 2, 3].map(|region| peek_u64(&path, shape.token(region))), tokens);
}

#[test]
fn a_state_that_is_never_written_lets_no_participant_in_until_a_reset() {
    let place = Place::new();
    let path = sound_file(&place);
    let shape = Format { participants: 4, locks: 3 };
    poke_u32(&path, shape.state(1), 0x5555);
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    assert!(matches!(mutex.lock(), Err(Error::NotRecoverable)));
    mutex.reset().unwrap();
    mutex.lock().unwrap().unlock().unwrap();
}

/// A participant that lives has cleared the file since this computer booted, whatever boot id stands there:
/// containers may have ids of their own.
#[test]
fn a_file_that_a_living_participant_uses_is_of_this_boot_whatever_its_boot_id() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = sound_file(&place);
    let mut holder = Puppet::that_holds(&path, "a");
    poke(&path, format::BOOT_ID, &[0xab; 16]);
    let shape = Format { participants: 4, locks: 3 };
    let token = peek_u64(&path, shape.token(1));
    assert!(inspect::snapshot(&path).unwrap().of_this_boot);
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))), "it is held");
    assert_eq!(holder.ask("unlock"), Said::Done);
    let guard = mutex.try_lock().unwrap();
    assert!(!guard.acquired().previous_owner_died, "nothing was cleared");
    assert_eq!(guard.fencing_token(), token + 1);
}

/// Two containers, each with a boot id of its own, that open the file by turns: what one cleared the other clears again,
/// as long as there is no participant, and no fencing token falls.
#[test]
fn tokens_rise_where_two_boot_ids_open_the_file_by_turns() {
    let place = Place::new();
    let path = sound_file(&place);
    let shape = Format { participants: 4, locks: 3 };
    poke_u64(&path, shape.token(1), (1 << 63) - (1 << 42));
    let mut last = peek_u64(&path, shape.token(1));
    for turn in 0..20 {
        poke(&path, format::BOOT_ID, &[turn; 16]);
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let token = elsewhere(|| mutex.lock().unwrap().fencing_token());
        assert!(token > last, "turn {turn}: {token} after {last}");
        last = token;
    }
}

#[test]
fn a_renamed_file_takes_newcomers_by_its_new_name_and_by_those_who_have_it_open() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = sound_file(&place);
    let by_old = LockFile::open(&path).unwrap().mutex("a").unwrap();
    let guard = by_old.lock().unwrap();
    let renamed = place.at("renamed.lock");
    fs::rename(&path, &renamed).unwrap();
    // A new thread of a process that has it open and has not heard of the new name.
    let newcomer = || elsewhere(|| by_old.try_lock().map(drop));
    assert!(matches!(newcomer(), Err(Error::WouldBlock(_))), "{:?}", newcomer());
    let by_new = LockFile::open(&renamed).unwrap().mutex("a").unwrap();
    assert!(matches!(elsewhere(|| by_new.try_lock().map(drop)), Err(Error::WouldBlock(_))));
    assert_eq!(Puppet::at(&renamed, "a").ask("try"), Said::Error(TURNLOCK_ERROR_WOULD_BLOCK));
    guard.unlock().unwrap();
    newcomer().unwrap();
    // Another file in its old place: a process that has the old name only is told.
    drop((by_old, by_new));
    let file = LockFile::open(&renamed).unwrap();
    let mutex = file.mutex("a").unwrap();
    drop(mutex.lock().unwrap());
    fs::rename(&renamed, &path).unwrap();
    LockFile::open(&renamed).unwrap();
    told(elsewhere(|| mutex.lock().map(drop)), &renamed, TURNLOCK_ERROR_REPLACED, &["unlinked or replaced"]);
}
