//! What fork and exec do to locks: a child has a slot of its own, and another program has none.

use nix::{
    sys::{
        signal::{self, kill},
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, fork},
};
use std::{os::unix::process::CommandExt, process::Command, time::Duration};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    limit, until_waiting,
};
use turnlock::{Error, LockFile};

/// Forks: in the parent the child, in the child nothing.
fn child() -> Option<Pid> {
    // SAFETY: a role is played by the only thread of its process, so the child may do whatever the parent may.
    match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => Some(child),
        ForkResult::Child => None,
    }
}

/// Words: the lock file.
pub fn forks_while_holding(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    let (a, b, c) = (file.mutex("a").unwrap(), file.mutex("b").unwrap(), file.mutex("c").unwrap());
    let participant = file.participant().unwrap();
    let (guard_a, guard_b) = (a.lock().unwrap(), b.lock().unwrap());
    let guard_c = c.lock_as(&participant).unwrap();
    let parents_slot = file.current_participant().unwrap().slot();
    let Some(child) = child() else {
        // Neither the guards that it remembers nor the participant are its own.
        assert!(matches!(a.try_lock(), Err(Error::WouldBlock(_))));
        assert!(matches!(guard_a.unlock(), Err(Error::NotOwner)));
        drop(guard_b);
        drop(guard_c);
        assert!(matches!(c.try_lock_as(&participant), Err(Error::Closed)));
        drop(participant);
        for held in [&a, &b, &c] {
            assert!(matches!(held.try_lock(), Err(Error::WouldBlock(_))));
            assert!(matches!(held.lock_for(Duration::from_millis(5)), Err(Error::TimedOut(_))));
        }
        assert_ne!(file.current_participant().unwrap().slot(), parents_slot);
        assert!(!file.mutex("free").unwrap().lock().unwrap().acquired().previous_owner_died);
        let participant = file.participant().unwrap();
        say("child waits");
        let guard = a.lock_as(&participant).unwrap();
        assert!(!guard.acquired().previous_owner_died);
        say("child is in");
        drop(guard);
        return;
    };
    assert_eq!(hear(), "unlock");
    guard_a.unlock().unwrap();
    guard_c.unlock().unwrap();
    assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
    // Still ours, after the child ended with all its destructors.
    assert!(matches!(b.try_lock(), Err(Error::Deadlock)));
    say("child ended");
    assert_eq!(hear(), "unlock");
    guard_b.unlock().unwrap();
    say("done");
    hear();
}

#[test]
fn a_forked_child_has_a_slot_of_its_own_and_not_its_parents_locks() {
    let _no_hang = NoHang::for_seconds(30);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let mut actor = Actor::start("forks_while_holding", &[path.to_str().unwrap()]);
    actor.expect("child waits");
    until_waiting(&path, "a", 1);
    for name in ["a", "b", "c"] {
        assert!(matches!(file.mutex(name).unwrap().try_lock(), Err(Error::WouldBlock(_))), "{name}");
    }
    actor.tell("unlock");
    actor.expect("child is in");
    actor.expect("child ended");
    assert!(matches!(file.mutex("b").unwrap().try_lock(), Err(Error::WouldBlock(_))));
    assert!(!file.mutex("a").unwrap().lock().unwrap().acquired().previous_owner_died);
    actor.tell("unlock");
    actor.expect("done");
    assert!(!file.mutex("b").unwrap().try_lock().unwrap().acquired().previous_owner_died);
}

/// Words: the lock file.
pub fn forks_as_the_bias_owner(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let enter_often = || (0..200).for_each(|_| mutex.lock().unwrap().unlock().unwrap());
    enter_often();
    let guard = mutex.lock().unwrap();
    let Some(child) = child() else {
        // What the parent's thread knew to enter and leave by the shortest way is not known here.
        assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
        assert!(matches!(guard.unlock(), Err(Error::NotOwner)));
        assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
        say("child waits");
        enter_often();
        return;
    };
    assert_eq!(hear(), "unlock");
    guard.unlock().unwrap();
    enter_often();
    assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
    enter_often();
    say("done");
    hear();
}

#[test]
fn a_forked_child_does_not_enter_by_its_parents_bias() {
    let _no_hang = NoHang::for_seconds(30);
    let place = Place::new();
    let mut actor = Actor::start("forks_as_the_bias_owner", &[place.lock_file().to_str().unwrap()]);
    actor.expect("child waits");
    actor.tell("unlock");
    actor.expect("done");
    assert!(
        !LockFile::open(place.lock_file())
            .unwrap()
            .mutex("a")
            .unwrap()
            .lock()
            .unwrap()
            .acquired()
            .previous_owner_died
    );
}

/// Words: the lock file, how the slot is kept.
pub fn forks_and_is_killed(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    let mutex = file.mutex("a").unwrap();
    let participant = match words[1].as_str() {
        "mapping" => Some(file.participant().unwrap()),
        "descriptor" => Some(file.participant_options().kept_by_descriptor(true).open().unwrap()),
        "thread" => None,
        other => panic!("{other}"),
    };
    // A child from before, and one from after the lock was taken.
    if child().is_some() {
        match &participant {
            Some(participant) => std::mem::forget(mutex.lock_as(participant).unwrap()),
            None => std::mem::forget(mutex.lock().unwrap()),
        }
        if child().is_some() {
            say("holding");
            // Until it is killed.
            loop {
                std::thread::park();
            }
        }
    }
    say(&format!("child {}", std::process::id()));
    // Until the test is gone, or has seen enough.
    hear();
}

#[test]
fn a_parent_killed_while_its_children_live_on_is_dead() {
    let _no_hang = NoHang::for_seconds(30);
    for kept_by in ["thread", "mapping", "descriptor"] {
        let place = Place::new();
        let path = place.lock_file();
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let mut actor = Actor::start("forks_and_is_killed", &[path.to_str().unwrap(), kept_by]);
        let (mut children, mut holding) = (Vec::new(), false);
        while children.len() < 2 || !holding {
            let said = actor.hear();
            match said.strip_prefix("child ") {
                Some(child) => children.push(Pid::from_raw(child.parse().unwrap())),
                None => holding = true,
            }
        }
        assert!(matches!(mutex.lock_for(Duration::from_millis(30)), Err(Error::TimedOut(_))), "{kept_by}");
        let parent = actor.pid();
        actor.kill();
        let mut guard = mutex.lock_for(limit::of_processes()).unwrap();
        assert_eq!(guard.previous_owner().unwrap().pid, parent, "{kept_by}");
        guard.mark_consistent().unwrap();
        for child in children {
            assert_eq!(kill(child, None), Ok(()), "the children live");
        }
    }
}

/// Words: the lock file.
pub fn execs_while_holding(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    std::mem::forget(mutex.lock().unwrap());
    say("holding");
    hear();
    // It reads what the test tells it, and so ends with the test.
    panic!("{}", Command::new("cat").exec());
}

#[test]
fn a_process_that_becomes_another_program_while_holding_is_told_of() {
    let _no_hang = NoHang::for_seconds(30);
    let place = Place::new();
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    let mut actor = Actor::start("execs_while_holding", &[path.to_str().unwrap()]);
    actor.expect("holding");
    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
    actor.tell("exec");
    let mut guard = mutex.lock().unwrap();
    assert_eq!(guard.previous_owner().unwrap().pid, actor.pid());
    guard.mark_consistent().unwrap();
    // The process is still there, as the other program: it answers.
    actor.tell("still there");
    actor.expect("still there");
}

/// Words: the lock file.
pub fn lends_its_slot(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    let mutex = file.mutex("a").unwrap();
    let participant = file.participant_options().inherited_by_children(true).open().unwrap();
    std::mem::forget(mutex.lock_as(&participant).unwrap());
    // It ends with the test, which holds the other end of its input.
    let mut child = Command::new("cat").spawn().unwrap();
    say(&format!("holding {}", child.id()));
    child.wait().unwrap();
}

#[test]
fn a_slot_lent_to_a_child_lives_as_long_as_the_child() {
    let _no_hang = NoHang::for_seconds(30);
    let place = Place::new();
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    let mut actor = Actor::start("lends_its_slot", &[path.to_str().unwrap()]);
    let child = Pid::from_raw(actor.expect_number("holding") as i32);
    let parent = actor.pid();
    actor.kill();
    assert!(matches!(mutex.lock_for(Duration::from_millis(100)), Err(Error::TimedOut(_))));
    kill(child, signal::SIGKILL).unwrap();
    let mut guard = mutex.lock().unwrap();
    assert_eq!(guard.previous_owner().unwrap().pid, parent);
    guard.mark_consistent().unwrap();
}
