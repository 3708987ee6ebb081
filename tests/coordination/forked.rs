//! A process that forks while it waits: the child has no part in the wait, and the parent waits on.

use crate::party::{a_file, until_asleep};
use nix::{sys::wait::waitpid, unistd::Pid};
use std::{
    sync::atomic::{AtomicI32, Ordering::Relaxed},
    thread,
    time::Duration,
};
use support::{
    Place,
    actor::{Actor, say},
};
use turnlock::{Error, LockFile, Result};

const LIMIT: Duration = Duration::from_secs(50);
const SHORT: Duration = Duration::from_millis(20);

static FORKED: AtomicI32 = AtomicI32::new(0);

fn wait(file: &LockFile, kind: &str, limit: Duration) -> Result<()> {
    match kind {
        "condition" => {
            let (mutex, condition) = (file.mutex("mutex")?, file.condition("condition")?);
            let mut guard = mutex.lock_for(LIMIT)?;
            condition.wait_for(&mut guard, limit)?;
            guard.unlock()
        }
        "event" => file.event("event")?.wait_for(limit),
        _ => file.barrier("barrier", 2)?.wait_for(limit).map(drop),
    }
}

/// Ends the child: 0 if it can take part on its own, and has done nothing to the parent's wait.
fn end_as_child(file: &LockFile, kind: &str, left: bool) -> ! {
    let is_right = match kind {
        // If it waited here it would be the second of the two.
        "barrier" => {
            let barrier = file.barrier("barrier", 2).unwrap();
            barrier.waiting().unwrap() == 1 && barrier.check().is_ok()
        }
        _ => matches!(wait(file, kind, SHORT), Err(Error::TimedOut(_))),
    };
    // SAFETY: ends the child without the rest of the parent's program.
    unsafe { libc::_exit(if left && is_right { 0 } else { 1 }) }
}

fn fork() {
    // SAFETY: the child runs on as a copy of this process, which allocates no more than glibc allows it.
    FORKED.store(unsafe { libc::fork() }, Relaxed);
}

/// The role. Words: the lock file, what it waits for, and whether the waiting thread forks.
pub fn forker(words: &[String]) {
    let (kind, by_itself) = (words[1].as_str(), words[2] == "itself");
    let parent = std::process::id();
    let mut options = LockFile::options();
    if by_itself {
        options.interrupted_by(move || {
            if std::process::id() == parent && FORKED.load(Relaxed) == 0 {
                fork();
            }
            false
        });
    }
    let file = options.open(&words[0]).unwrap();
    let waited = if by_itself {
        let waited = wait(&file, kind, LIMIT);
        if std::process::id() != parent {
            end_as_child(&file, kind, matches!(waited, Err(Error::Interrupted)));
        }
        waited
    } else {
        thread::scope(|threads| {
            let waiter = threads.spawn(|| wait(&file, kind, LIMIT));
            until_asleep(file.path().as_ref(), kind, 1);
            fork();
            if std::process::id() != parent {
                end_as_child(&file, kind, true);
            }
            say("forked");
            waiter.join().unwrap()
        })
    };
    let child = waitpid(Pid::from_raw(FORKED.load(Relaxed)), None).unwrap();
    say(&format!("{child:?}"));
    waited.unwrap();
    say("done");
}

#[test]
fn a_child_that_is_forked_in_a_wait_has_no_part_in_it_and_the_parent_waits_on() {
    for kind in ["condition", "event", "barrier"] {
        for who in ["itself", "another thread"] {
            let place = Place::new();
            let (path, file) = a_file(&place);
            let (condition, event) = (file.condition("condition").unwrap(), file.event("event").unwrap());
            let barrier = file.barrier("barrier", 2).unwrap();
            let mut waiter = Actor::start("forker", &[path.to_str().unwrap(), kind, who]);
            until_asleep(&path, kind, 1);
            support::until("the child has come and gone", || {
                let children = format!("/proc/{0}/task/{0}/children", waiter.pid());
                let child = std::fs::read_to_string(children).unwrap_or_default();
                let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
                stat.is_ok_and(|stat| stat.contains(") Z "))
            });
            if who != "itself" {
                waiter.expect("forked");
            }
            until_asleep(&path, kind, 1);
            match kind {
                "condition" => assert_eq!(condition.notify_all().unwrap(), 1, "the child waits no more"),
                "event" => assert!(event.set().unwrap()),
                _ => assert!(barrier.wait_for(LIMIT).unwrap()),
            }
            let said = waiter.hear();
            assert!(said.contains(", 0)"), "{kind}, forked by {who}: {said}");
            waiter.expect("done");
            waiter.end_well();
        }
    }
}
