//! Room for mailboxes, the names of algorithms, removal.

use crate::{ALL, lock, seen};
use std::fs;
use support::{NoHang, Place, elsewhere, puppet::Puppet};
use turnlock::{Error, LockFile, MutexAlgorithm};

#[test]
fn a_file_that_was_made_without_mailboxes_has_none() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    for algorithm in ALL {
        match file.mutex_options().algorithm(algorithm).open("a") {
            Err(Error::FileTooSmall { what, has: 0, .. }) => assert_eq!(what, "participants with mailboxes"),
            other => panic!("{:?}", other.map(drop)),
        }
    }
    // Nor is anything of the name left.
    file.mutex("a").unwrap().lock().unwrap().unlock().unwrap();
    let more = LockFile::options().mailboxes(1).open(place.lock_file());
    assert!(matches!(more, Err(Error::FileTooSmall { has: 0, wanted: 1, .. })));
}

#[test]
fn only_so_many_participants_have_mailboxes() {
    let place = Place::new();
    for (participants, mailboxes) in [(64, 17), (2, 3)] {
        let asked =
            LockFile::options().participants(participants).mailboxes(mailboxes).open(place.lock_file());
        assert!(matches!(asked, Err(Error::InvalidArgument(_))), "{participants} {mailboxes}");
    }
    let file = LockFile::options().mailboxes(2).open(place.lock_file()).unwrap();
    let mutex = file.mutex_options().algorithm(MutexAlgorithm::RicartAgrawala).open("a").unwrap();
    let other = file.participant().unwrap();
    drop(mutex.lock_as(&other).unwrap());
    drop(mutex.lock().unwrap());
    elsewhere(|| match mutex.lock() {
        Err(error @ Error::FileTooSmall { what, has: 2, wanted: 3, .. }) => {
            assert_eq!(what, "participants with mailboxes");
            assert!(error.to_string().contains("make it larger"), "{error}");
        }
        other => panic!("{:?}", other.map(drop)),
    });
    // The others are not disturbed by it.
    drop(mutex.try_lock().unwrap());
}

/// No file has mailboxes for more than 16, so a larger one would not help, whether this one has as many or fewer.
#[test]
fn the_17th_participant_is_not_told_to_make_the_file_larger() {
    for mailboxes in [16, 8] {
        let place = Place::new();
        let file = LockFile::options().participants(32).mailboxes(mailboxes).open(place.lock_file()).unwrap();
        let mutex = file.mutex_options().algorithm(MutexAlgorithm::LamportQueue).open("a").unwrap();
        let participants: Vec<_> = (0..17).map(|_| file.participant().unwrap()).collect();
        for participant in &participants {
            let (wanted, told) = (participant.slot() as u32 + 1, mutex.lock_as(participant).map(drop));
            match told {
                Ok(()) => assert!(wanted <= mailboxes),
                Err(error @ Error::FileTooSmall { .. }) => {
                    let (text, helps) = (error.to_string(), wanted <= 16);
                    assert!(
                        wanted > mailboxes && text.contains(&format!("{wanted} were asked for")),
                        "{text}"
                    );
                    assert_eq!(text.contains("make it larger"), helps, "{text}");
                    assert_eq!(text.contains("no file has room for more than 16"), !helps, "{text}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn mail_areas_take_room_only_where_a_lock_uses_them() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new();
    let file = LockFile::options().mailboxes(16).open(place.lock_file()).unwrap();
    let blocks = || fs::metadata(place.lock_file()).unwrap().blocks() * 512;
    file.mutex("plain").unwrap();
    let before = blocks();
    file.mutex_options().algorithm(MutexAlgorithm::RicartAgrawala).open("a").unwrap();
    let area = 128 + 16 * 128 + 16 * 16 * 3328;
    assert!(before < area && blocks() >= before + area, "{before} then {}", blocks());
}

#[test]
fn a_lock_keeps_the_algorithm_that_it_was_created_with() {
    for algorithm in ALL {
        let place = Place::new();
        let (file, mutex) = lock(&place, algorithm);
        for other in ALL.into_iter().chain([MutexAlgorithm::Bakery]).filter(|other| *other != algorithm) {
            let opened = file.mutex_options().algorithm(other).open("a");
            assert!(matches!(opened, Err(Error::Kind { .. })), "{algorithm:?} {other:?}");
        }
        // A caller that does not say which one has the same.
        let guard = mutex.lock().unwrap();
        elsewhere(|| assert!(matches!(file.mutex("a").unwrap().try_lock(), Err(Error::WouldBlock(_)))));
        drop(guard);
    }
}

#[test]
fn it_is_removed_when_no_participant_holds_it_and_another_one_may_come_in_its_place() {
    for algorithm in ALL {
        let _no_hang = NoHang::for_seconds(60);
        let place = Place::new();
        let file = LockFile::options().locks(1).mailboxes(8).open(place.lock_file()).unwrap();
        let make = || file.mutex_options().algorithm(algorithm).open("a").unwrap();
        let mut last = 0;
        for next in ALL {
            let mutex = make();
            let mut puppet = Puppet::that_holds(&place.lock_file(), "a");
            assert!(matches!(file.remove_lock("a"), Err(Error::InUse { .. })), "{algorithm:?}");
            puppet.ask("unlock");
            let guard = mutex.lock().unwrap();
            assert!(matches!(file.remove_lock("a"), Err(Error::InUse { .. })), "{algorithm:?}");
            assert!(guard.fencing_token() > last, "{algorithm:?}");
            last = guard.fencing_token();
            drop(guard);
            file.remove_lock("a").unwrap();
            assert!(matches!(mutex.lock(), Err(Error::NotFound { .. })), "{algorithm:?}");
            // The member of the old one, in the other process, has left it.
            let other = file.mutex_options().algorithm(next).open("b").unwrap();
            let guard = other.lock().unwrap();
            assert!(guard.fencing_token() > last, "{algorithm:?} then {next:?}");
            last = guard.fencing_token();
            assert_eq!(seen(&other).members.len(), 1);
            drop(guard);
            assert!(matches!(mutex.lock(), Err(Error::NotFound { .. })), "{algorithm:?}");
            file.remove_lock("b").unwrap();
        }
    }
}

#[test]
fn it_is_not_removed_while_a_death_is_still_to_be_told() {
    for algorithm in ALL {
        let place = Place::new();
        let (file, mutex) = lock(&place, algorithm);
        let mut doomed = Puppet::that_holds(&place.lock_file(), "a");
        doomed.0.kill();
        assert!(matches!(file.remove_lock("a"), Err(Error::InUse { .. })), "{algorithm:?}");
        let mut guard = mutex.lock().unwrap();
        assert!(guard.acquired().previous_owner_died, "{algorithm:?}: the notice is still there");
        guard.mark_consistent().unwrap();
        drop(guard);
        file.remove_lock("a").unwrap();
    }
}
