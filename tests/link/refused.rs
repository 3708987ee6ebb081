//! What cannot be linked, and what cannot be done with what is.

use crate::agents::{NAME, agent_of, bring_home, linked};
use support::Place;
use turnlock::{Error, LockFile, MutexAlgorithm, inspect};

#[test]
fn only_a_lock_by_the_bakery_that_was_created_linked_is_linked() {
    let place = Place::new();
    let file = LockFile::options().mailboxes(4).open(place.lock_file()).unwrap();
    let plain = file.mutex("plain").unwrap();
    file.rwlock("readers").unwrap();
    let open = |name: &str| file.mutex_options().linked(true).open(name).map(drop).unwrap_err();
    let error = open("plain");
    assert!(matches!(error, Error::Kind { .. }) && error.to_string().contains("is not linked"), "{error}");
    let error = open("readers");
    assert!(matches!(error, Error::Kind { .. }) && error.to_string().contains("is a rwlock"), "{error}");
    let by_messages = file
        .mutex_options()
        .linked(true)
        .algorithm(MutexAlgorithm::TokenRing)
        .open("token")
        .map(drop)
        .unwrap_err();
    assert!(matches!(by_messages, Error::InvalidArgument(_)), "{by_messages}");
    assert!(by_messages.to_string().contains("token-ring, by messages"), "{by_messages}");
    let agent = file.link_agent("agent").unwrap();
    let Err(error) = agent.attach(&plain) else { panic!("an agent of a mutex that is not linked") };
    assert!(
        matches!(error, Error::InvalidArgument(_)) && error.to_string().contains("is not linked"),
        "{error}"
    );
    assert!(!plain.is_linked());
    let other = LockFile::open(place.at("other.lock")).unwrap();
    let elsewhere = other.mutex_options().linked(true).open(NAME).unwrap();
    assert!(matches!(agent.attach(&elsewhere), Err(Error::InvalidArgument(_))), "of another file");
}

#[test]
fn it_is_not_removed_while_another_host_may_have_it_or_an_agent_does() {
    let place = Place::new();
    let (file, mutex) = linked(&place.lock_file());
    let refused = |why: &str| {
        let error = file.remove_lock(NAME).unwrap_err();
        assert!(matches!(error, Error::InUse { .. }) && error.to_string().contains(why), "{error}");
    };
    refused("is linked, and away");
    let (agent, linked) = agent_of(&file, &mutex);
    refused("is linked, and away");
    bring_home(&linked);
    refused("is linked, and has an agent");
    drop((linked, agent));
    file.remove_lock(NAME).unwrap();
    // One of the same name that is not linked admits programs.
    assert!(file.mutex(NAME).unwrap().try_lock().is_ok());
    // An agent does not take it for the lock that other hosts have.
    let error = file.mutex_options().linked(true).open(NAME).map(drop).unwrap_err();
    assert!(error.to_string().contains("is not linked"), "{error}");
}

#[test]
fn a_larger_file_has_it_as_it_was() {
    let place = Place::new();
    let path = place.lock_file();
    let at_home = |is_home: bool| {
        std::thread::scope(|threads| {
            // A thread has a slot as long as it lives, and a file that is used does not grow.
            threads.spawn(|| {
                let (file, mutex) = linked(&path);
                let (_agent, linked) = agent_of(&file, &mutex);
                if is_home {
                    bring_home(&linked);
                } else {
                    linked.move_away().unwrap();
                }
            });
        });
        let before = inspect::snapshot(&path).unwrap();
        let locks = before.lock_capacity as u32;
        drop(LockFile::options().locks(2 * locks).grow(&path).unwrap());
        let after = inspect::snapshot(&path).unwrap();
        assert_eq!(after.locks[0].link, before.locks[0].link);
        assert_eq!(after.locks[0].fencing_token, before.locks[0].fencing_token);
        assert_eq!(after.locks[0].link.unwrap().home, is_home);
    };
    at_home(true);
    at_home(false);
}
