//! `turnlock grow`: what is in the file afterwards, and when it refuses.

use super::*;
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use turnlock::{Error, LockFile, MutexAlgorithm};

/// A file with locks of every kind and in every state.
pub fn with_everything(fixture: &Fixture) {
    assert_eq!(fixture.turnlock("create", &["--participants", "8", "--locks", "14"]).status.code(), Some(0));
    let dies = ["sh", "-c", "kill -9 $$"];
    assert_eq!(fixture.run(&["--lock", "well", "--patience", "0.25"], &["true"]), Some(0));
    assert_eq!(fixture.run(&["--lock", "told", "--on-death", "inform"], &dies), Some(137));
    assert_eq!(fixture.run(&["--lock", "closed", "--on-death", "inform"], &dies), Some(137));
    {
        let file = turnlock::LockFile::open(&fixture.file).unwrap();
        // Told, and not repaired.
        drop(file.mutex("closed").unwrap().lock().unwrap());
        let jobs = file.semaphore_options().permits(3).open("jobs").unwrap();
        jobs.resize(5).unwrap();
        drop(file.mutex_options().recursive(true).open("again").unwrap());
        drop((
            file.event("ready").unwrap(),
            file.condition("changed").unwrap(),
            file.barrier("stage", 3).unwrap(),
        ));
        let once = file.once_options().across_boots(true).open("schema").unwrap();
        once.begin().unwrap().expect("it is not done").complete().unwrap();
    }
    assert_eq!(fixture.run(&["--lock", "cache", "-x"], &["true"]), Some(0));
    assert_eq!(fixture.run(&["--lock", "rows", "--range", "5-9", "--on-death", "inform"], &dies), Some(137));
    assert_eq!(fixture.run(&["--lock", "users", "--key", "ada", "--on-death", "inform"], &dies), Some(137));
    let group = ["--lock", "store", "--in-group", "7", "--on-death", "inform"];
    assert_eq!(fixture.run(&group, &dies), Some(137));
    assert_eq!(fixture.run(&["--lock", "turns", "--algorithm", "sum", "--step", "3"], &["true"]), Some(0));
}

/// The locks, without what may be another after growing: their tokens are larger, and no bias is left.
pub fn locks(status: &Value) -> Vec<Value> {
    let mut locks = status["locks"].as_array().unwrap().clone();
    for lock in &mut locks {
        for field in ["fencing_token", "biased_to", "biased_to_readers", "turn_of"] {
            lock.as_object_mut().unwrap().remove(field);
        }
    }
    locks
}

pub fn tokens(status: &Value) -> Vec<u64> {
    let locks = status["locks"].as_array().unwrap().iter();
    locks.filter_map(|lock| Some(lock["fencing_token"].as_str()?.parse().unwrap())).collect()
}

#[test]
fn a_larger_file_holds_what_the_smaller_one_held() {
    let fixture = new_fixture();
    with_everything(&fixture);
    // A holder that died and was not removed: what it held passes on in the larger file.
    fixture.leave_dead(&["--lock", "cache", "-x", "--label", "last"]);
    let (before, inode) = (json_of(&fixture, "status"), fixture.file.metadata().unwrap().ino());
    let grow = fixture.turnlock("grow", &["--participants", "100", "--locks", "70", "--json"]);
    assert_eq!(grow.status.code(), Some(0), "{}", errors(&grow));
    assert_eq!(json(&grow)["participant_capacity"], 100);
    assert_ne!(fixture.file.metadata().unwrap().ino(), inode);
    let after = json_of(&fixture, "status");
    assert_eq!((&after["participant_capacity"], &after["lock_capacity"]), (&100.into(), &70.into()));
    assert_eq!(after["participants"], Value::Array(vec![]), "the dead are removed");
    let was = |status: &Value| {
        let mut locks = locks(status);
        locks.retain(|lock| lock["name"] != "cache");
        locks
    };
    assert_eq!(was(&after), was(&before));
    let cache = locks(&after).into_iter().find(|lock| lock["name"] == "cache").unwrap();
    assert_eq!(
        (&cache["state"], &cache["previous_owner"]["label"]),
        (&"inconsistent".into(), &"last".into())
    );
    assert!(tokens(&after).iter().zip(tokens(&before)).all(|(after, before)| *after > before));
    assert_eq!(fixture.folder().read_dir().unwrap().count(), 1, "nothing else is left behind");

    // It is a lock file like any other: each next holder is told what it would have been told, and there is room.
    let told = ["sh", "-c", "exit $TURNLOCK_PREVIOUS_OWNER_DIED"];
    assert_eq!(fixture.run(&["--lock", "told"], &told), Some(1));
    assert_eq!(fixture.run(&["--lock", "well"], &told), Some(0));
    assert_eq!(fixture.run(&["--lock", "closed"], &["true"]), Some(65));
    assert_eq!(fixture.run(&["--lock", "rows", "--range", "7"], &told), Some(1));
    assert_eq!(fixture.run(&["--lock", "rows", "--range", "10-"], &told), Some(0));
    assert_eq!(fixture.run(&["--lock", "users", "--key", "ada"], &told), Some(1));
    assert_eq!(fixture.run(&["--lock", "store", "--in-group", "8"], &told), Some(1));
    assert_eq!(fixture.run(&["--lock", "jobs", "--permits", "1", "--weight", "1"], &["true"]), Some(0));
    assert_eq!(fixture.run(&["--lock", "turns"], &["true"]), Some(0));
    for at in 0..56 {
        assert_eq!(fixture.run(&["--lock", &format!("new {at}")], &["true"]), Some(0));
    }
    let file = turnlock::LockFile::open(&fixture.file).unwrap();
    let all: Vec<_> = (0..100).map(|_| file.participant().unwrap()).collect();
    let jobs = file.semaphore("jobs").unwrap();
    assert_eq!(jobs.permits().unwrap(), 5);
    drop(jobs.acquire_as(&all[99], 5).unwrap());
}

#[test]
fn what_cannot_be_is_refused_and_the_file_left_as_it_is() {
    let fixture = new_fixture();
    assert_eq!(fixture.turnlock("grow", &["--locks", "70"]).status.code(), Some(66));
    with_everything(&fixture);
    let before = std::fs::read(&fixture.file).unwrap();
    for (options, code, why) in [
        (&["--participants", "7"][..], 1, "is not made smaller"),
        (&["--participants", "8", "--locks", "14"], 1, "already"),
        (&["--participants", "9"], 1, "\"turns\" has step 3"),
        (&["--locks", "4097"], 64, "4097"),
        (&[], 64, "--participants"),
    ] {
        let refused = fixture.turnlock("grow", options);
        assert_eq!(refused.status.code(), Some(code), "{options:?}: {}", errors(&refused));
        assert!(errors(&refused).contains(why), "{options:?}: {}", errors(&refused));
    }
    let other_name = fixture.folder().join("other.lock");
    std::fs::hard_link(&fixture.file, &other_name).unwrap();
    let refused = fixture.turnlock("grow", &["--locks", "70"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors(&refused).contains("more than one name"), "{}", errors(&refused));
    std::fs::remove_file(other_name).unwrap();
    assert_eq!(std::fs::read(&fixture.file).unwrap(), before);

    let holder = fixture.hold(&["--lock", "well", "--label", "busy"]);
    let refused = fixture.turnlock("grow", &["--locks", "70"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors(&refused).contains("is in use, by busy (pid "), "{}", errors(&refused));
    drop(holder);
    assert_eq!(json_of(&fixture, "status")["lock_capacity"], 14);
}

/// More locks, more participants, more of them with mailboxes; and one that died inside a mesh.
#[test]
fn locks_by_messages_go_on_in_a_larger_file() {
    const BY_MESSAGES: [MutexAlgorithm; 4] = [
        MutexAlgorithm::RicartAgrawala,
        MutexAlgorithm::TokenRing,
        MutexAlgorithm::LamportQueue,
        MutexAlgorithm::MessageBakery,
    ];
    let fixture = new_fixture();
    let create = ["--participants", "6", "--locks", "4", "--mailboxes", "3"];
    assert_eq!(fixture.turnlock("create", &create).status.code(), Some(0));
    let open = |file: &LockFile, algorithm: MutexAlgorithm| {
        file.mutex_options().algorithm(algorithm).open(&format!("{algorithm:?}")).unwrap()
    };
    let mut tokens = Vec::new();
    {
        let file = LockFile::open(&fixture.file).unwrap();
        let others = [file.participant().unwrap(), file.participant().unwrap()];
        for algorithm in BY_MESSAGES {
            let mutex = open(&file, algorithm);
            // So that there are messages in all mailboxes, or were.
            for participant in &others {
                drop(mutex.lock_as(participant).unwrap());
            }
            tokens.push(mutex.lock().unwrap().fencing_token());
        }
    }
    fixture.leave_dead(&["--lock", "RicartAgrawala", "--label", "last", "--on-death", "inform"]);

    let refused = fixture.turnlock("grow", &["--mailboxes", "2"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors(&refused).contains("is not made smaller"), "{}", errors(&refused));
    let refused = fixture.turnlock("grow", &["--mailboxes", "7"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors(&refused).contains("mailboxes for 7 of 6 participants"), "{}", errors(&refused));

    for (options, mailboxes) in [
        (&["--locks", "9"][..], 3),
        (&["--participants", "40"], 3),
        (&["--mailboxes", "16", "--locks", "11"], 16),
    ] {
        let grow = fixture.turnlock("grow", &[options, &["--json"]].concat());
        assert_eq!(grow.status.code(), Some(0), "{options:?}: {}", errors(&grow));
        assert_eq!(json(&grow)["mailbox_capacity"], mailboxes, "{options:?}");
        let file = LockFile::open(&fixture.file).unwrap();
        for (algorithm, last) in BY_MESSAGES.into_iter().zip(&mut tokens) {
            let mutex = open(&file, algorithm);
            let by_messages = mutex.status().unwrap().by_messages.unwrap();
            assert_eq!((by_messages.members, by_messages.token_of), (vec![], None), "of the smaller file");
            let all: Vec<_> = (0..mailboxes).map(|_| file.participant().unwrap()).collect();
            for participant in &all {
                let mut guard = mutex.lock_as(participant).unwrap();
                let told = guard.acquired().previous_owner_died;
                let is_first = options[1] == "9" && participant.slot() == 0;
                assert_eq!(told, is_first && algorithm == MutexAlgorithm::RicartAgrawala, "{options:?}");
                if told {
                    assert_eq!(guard.previous_owner().unwrap().label, "last");
                    guard.mark_consistent().unwrap();
                }
                assert!(guard.fencing_token() > *last, "{algorithm:?}: {options:?}");
                *last = guard.fencing_token();
            }
            assert_eq!(mutex.status().unwrap().by_messages.unwrap().members.len(), mailboxes, "{options:?}");
            let one_too_many = file.participant().unwrap();
            assert!(matches!(mutex.lock_as(&one_too_many), Err(Error::FileTooSmall { .. })), "{options:?}");
        }
    }
    // And a file that had none.
    let fixture = new_fixture();
    with_everything(&fixture);
    assert_eq!(fixture.turnlock("grow", &["--mailboxes", "4"]).status.code(), Some(0));
    assert_eq!(fixture.run(&["--lock", "told"], &["true"]), Some(0));
    assert_eq!(fixture.turnlock("grow", &["--mailboxes", "4"]).status.code(), Some(1));
}

/// A newcomer waits a moment while the file is made larger, and is in one of the two: no two are alone at once.
#[test]
fn newcomers_and_growing_get_along() {
    let fixture = new_fixture();
    let (counter, end) = (fixture.folder().join("counter"), 40);
    std::fs::write(&counter, "0").unwrap();
    // Read and written under the lock alone; each reads again what it wrote.
    let script = "n=$(cat \"$0\"); sleep 0.003; echo $((n + 1)) > \"$0\"";
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let (mut shell, file) = (Command::new("sh"), fixture.file.clone());
            let all = format!(
                "for i in $(seq {end}); do '{TURNLOCK}' run '{}' -- sh -c '{script}' '{}' || exit 1; done",
                file.display(),
                counter.display()
            );
            shell.args(["-c", &all]).spawn().unwrap()
        })
        .collect();
    let mut grown = 0;
    let mut workers = workers;
    while workers.iter_mut().any(|worker| worker.try_wait().unwrap().is_none()) {
        let locks = (70 + grown).to_string();
        match fixture.turnlock("grow", &["--locks", &locks]).status.code() {
            Some(0) => grown += 1,
            Some(1 | 66 | 71) => {}
            other => panic!("{other:?}"),
        }
    }
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success());
    }
    let counted: u32 = std::fs::read_to_string(&counter).unwrap().trim().parse().unwrap();
    println!("made larger {grown} times meanwhile");
    assert_eq!(counted, 2 * end);
}
