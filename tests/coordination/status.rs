//! What an observer is told of them.

use crate::party::{a_file, a_party, until_asleep};
use std::path::Path;
use support::{Place, until};
use turnlock::inspect::{self, Life, LockStatus, WaiterState};

fn status_of(path: &Path, name: &str) -> LockStatus {
    let status = inspect::snapshot(path).unwrap();
    status.locks.into_iter().find(|lock| lock.name == name).unwrap()
}

/// Returns the processes in the queue, and where each stands.
fn queue(lock: &LockStatus) -> Vec<(u32, WaiterState)> {
    lock.queue.iter().map(|waiter| (waiter.pid(), waiter.state)).collect()
}

#[test]
fn what_is_no_lock_has_nothing_of_a_lock() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    drop((file.condition("c").unwrap(), file.event("e").unwrap(), file.barrier("b", 3).unwrap()));
    let once = file.once_options().across_boots(true).open("o").unwrap();
    drop(file.mutex("m").unwrap());
    let states = [("c", "idle"), ("e", "not_set"), ("b", "open"), ("o", "not_done")];
    for (name, state) in states {
        let lock = status_of(&path, name);
        assert_eq!(lock.state, state, "{lock:?}");
        let of_a_lock = (lock.algorithm, lock.fencing_token, lock.death_policy, lock.patience_seconds);
        assert_eq!(of_a_lock, (None, None, None, None), "{lock:?}");
        let of_its_kind =
            [lock.condition.is_some(), lock.event.is_some(), lock.barrier.is_some(), lock.once.is_some()];
        assert_eq!(of_its_kind, ["c", "e", "b", "o"].map(|other| other == name), "{lock:?}");
        assert!(lock.holders.is_empty() && lock.queue.is_empty() && lock.permits.is_none(), "{lock:?}");
        let has_registers = inspect::registers(&path, name).unwrap().is_some();
        assert_eq!(has_registers, name == "o", "what is no lock has none");
    }
    let mutex = status_of(&path, "m");
    assert_eq!(
        (mutex.state, mutex.algorithm, mutex.death_policy),
        ("consistent", Some("bakery"), Some("inform"))
    );
    assert!(mutex.fencing_token.is_some() && mutex.condition.is_none() && mutex.once.is_none());
    assert!(once.status().unwrap().once.unwrap().across_boots);
}

#[test]
fn an_event_says_how_often_it_was_set_and_who_waits_since_when() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let event = file.event("ready").unwrap();
    for times in 1..=3 {
        event.set().unwrap();
        let seen = event.status().unwrap();
        assert_eq!(
            (seen.state, seen.event.unwrap().set, seen.event.unwrap().times_set),
            ("set", true, times)
        );
        event.clear().unwrap();
    }
    assert_eq!(
        (event.status().unwrap().state, event.status().unwrap().event.unwrap().times_set),
        ("not_set", 3)
    );
    let mut waiters = [a_party(&path), a_party(&path), a_party(&path)];
    for (at, waiter) in waiters.iter_mut().enumerate() {
        waiter.tell("await ready");
        until_asleep(&path, "ready", at + 1);
    }
    let seen = status_of(&path, "ready");
    let expected = waiters.each_ref().map(|waiter| (waiter.pid(), WaiterState::Queued));
    assert_eq!(queue(&seen), expected, "in the order in which they came");
    assert!(seen.queue.iter().all(|waiter| waiter.for_seconds.is_some() && waiter.blocked_by.is_none()));
    assert!(seen.queue.iter().all(|waiter| waiter.claim.is_none() && waiter.takes_part.is_none()));
    // A dead one is in no other's way.
    waiters[0].kill();
    until("it is gone", || queue(&status_of(&path, "ready")) == expected[1..]);
    event.set().unwrap();
    waiters[1].expect("done");
    waiters[2].expect("done");
    assert!(status_of(&path, "ready").queue.is_empty());
}

#[test]
fn a_condition_says_who_was_notified_and_has_not_come() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let (mutex, condition) = (file.mutex("mutex").unwrap(), file.condition("changed").unwrap());
    assert_eq!(status_of(&path, "changed").condition.unwrap().used_with, None);
    let mut waiters = [a_party(&path), a_party(&path), a_party(&path)];
    for (at, waiter) in waiters.iter_mut().enumerate() {
        waiter.tell("wait-once changed");
        until_asleep(&path, "changed", at + 1);
    }
    let pids = waiters.each_ref().map(|waiter| waiter.pid());
    let seen = status_of(&path, "changed");
    assert_eq!(queue(&seen), pids.map(|pid| (pid, WaiterState::Queued)));
    let counts = |lock: &LockStatus| {
        let condition = lock.condition.as_ref().unwrap();
        (condition.waiting, condition.notified, condition.orphans)
    };
    assert_eq!((seen.state, counts(&seen)), ("waited_for", (3, 0, 0)));
    assert_eq!(seen.condition.as_ref().unwrap().used_with.as_deref(), Some("mutex"));
    // The one that was notified cannot come while this process has the lock.
    let guard = mutex.lock().unwrap();
    condition.notify_one().unwrap();
    let seen = status_of(&path, "changed");
    assert_eq!(counts(&seen), (2, 1, 0));
    let notified = [(pids[0], WaiterState::Notified), (pids[1], WaiterState::Queued)];
    assert_eq!(queue(&seen)[..2], notified, "first the one that was notified");
    // It dies: the next one gets the notification, as soon as its death is known.
    waiters[0].kill();
    until("the notification is passed on", || {
        let seen = status_of(&path, "changed");
        counts(&seen) == (1, 1, 0) && queue(&seen)[0] == (pids[1], WaiterState::Notified)
    });
    drop(guard);
    waiters[1].expect("done");
    condition.notify_one().unwrap();
    waiters[2].expect("done");
    assert_eq!(status_of(&path, "changed").state, "idle");
    file.remove_lock("mutex").unwrap();
    assert_eq!(
        status_of(&path, "changed").condition.unwrap().used_with,
        None,
        "another lock may have its place"
    );
}

#[test]
fn a_barrier_says_how_many_have_come_or_at_whom_it_broke() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let barrier = file.barrier("stage", 3).unwrap();
    let seen = || status_of(&path, "stage");
    let of_it = |lock: LockStatus| lock.barrier.unwrap();
    let mut parties = [a_party(&path), a_party(&path)];
    for (at, party) in parties.iter_mut().enumerate() {
        party.tell("meet stage 60000");
        until_asleep(&path, "stage", at + 1);
    }
    let pids = parties.each_ref().map(|party| party.pid());
    assert_eq!(queue(&seen()), pids.map(|pid| (pid, WaiterState::Queued)));
    assert_eq!((of_it(seen()).parties, of_it(seen()).arrived, of_it(seen()).generation), (3, 2, 0));
    barrier.wait().unwrap();
    parties.iter_mut().for_each(|party| party.expect("done"));
    let passed = of_it(seen());
    assert_eq!((passed.arrived, passed.generation, passed.members.len()), (0, 1, 3));
    assert!(seen().state == "open" && seen().queue.is_empty() && passed.broken.is_none());

    // One that has waited there dies. What is written of it says so before the next one waits.
    let victim = passed.members.iter().find(|slot| {
        let participants = inspect::snapshot(&path).unwrap().participants;
        participants.iter().any(|one| one.slot == **slot && one.pid == pids[0])
    });
    let victim = *victim.unwrap();
    parties[0].kill();
    file.reap().unwrap();
    let left = of_it(seen());
    assert_eq!((left.dead_members, left.members.len(), seen().state), (vec![victim], 2, "open"));
    assert!(barrier.wait().is_err());
    let broken = of_it(seen()).broken.unwrap();
    assert_eq!((seen().state, broken.why, broken.slot), ("broken", "died", victim));
    assert_eq!((broken.pid, broken.label), (Some(pids[0]), None), "it has left its slot");
    barrier.reset().unwrap();
    assert!(of_it(seen()).broken.is_none() && of_it(seen()).dead_members.is_empty());

    parties[1].tell("meet stage 50");
    assert!(parties[1].hear().starts_with("error"));
    let broken = of_it(seen()).broken.unwrap();
    assert_eq!((broken.why, broken.pid, broken.label.as_deref()), ("gave_up", Some(pids[1]), Some("party")));
    barrier.reset().unwrap();
    barrier.abort().unwrap();
    let broken = of_it(seen()).broken.unwrap();
    assert_eq!((broken.why, broken.pid), ("aborted", Some(std::process::id())));
}

#[test]
fn a_once_says_whether_it_is_done_and_who_is_at_it() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let mut parties = [a_party(&path), a_party(&path)];
    parties[0].tell("begin schema");
    parties[0].expect("mine");
    parties[1].tell("begin schema");
    until_asleep(&path, "schema", 1);
    let seen = status_of(&path, "schema");
    assert_eq!((seen.state, seen.once.unwrap().done), ("not_done", false));
    assert_eq!((seen.holders[0].pid(), seen.queue[0].pid()), (parties[0].pid(), parties[1].pid()));
    parties[1].kill();
    let dead = parties[0].pid();
    parties[0].kill();
    until("both are dead", || {
        inspect::snapshot(&path).unwrap().participants.iter().filter(|one| one.life == Life::Dead).count()
            == 2
    });
    file.reap().unwrap();
    let seen = status_of(&path, "schema");
    assert_eq!((seen.state, seen.previous_owner.unwrap().pid), ("inconsistent", dead));
    let once = file.once("schema").unwrap();
    once.call(|_| Ok::<_, turnlock::Error>(())).unwrap();
    let seen = once.status().unwrap();
    assert_eq!((seen.state, seen.once.unwrap().done, seen.holders.len()), ("done", true, 0));
}
