//! A process that takes part in what it is told, and says what came of it.

use std::{path::Path, thread, time::Duration};
use support::{
    Place,
    actor::{Actor, hear, say},
    until,
};
use turnlock::{Error, LockFile, MutexGuard, inspect};

/// The role. Words: the lock file. It hears an order and a name, and says `done`, what it found, or `error <number>`.
pub fn party(words: &[String]) {
    let file = LockFile::options().label("party").open(&words[0]).unwrap();
    let mutex = file.mutex("mutex").unwrap();
    let mut guard = None;
    say("ready");
    loop {
        let order = hear();
        let words: Vec<&str> = order.split(' ').collect();
        let limit = || Duration::from_millis(words[2].parse().unwrap());
        let done = match words[0] {
            "lock" => mutex.lock().map(|taken| guard = Some(taken)),
            "unlock" => guard.take().unwrap().unlock(),
            "wait" => {
                let condition = file.condition(words[1]).unwrap();
                let held = guard.as_mut().unwrap();
                condition.wait(held).map(|()| {
                    if held.acquired().previous_owner_died {
                        say("owner-dead");
                        held.mark_consistent().unwrap();
                    }
                })
            }
            // The lock, the wait, and the end of it, without an order between.
            "wait-once" => mutex.lock().and_then(|mut held| {
                // One that is killed may have had the lock.
                let repairs = |held: &mut MutexGuard| match held.acquired().previous_owner_died {
                    true => held.mark_consistent(),
                    false => Ok(()),
                };
                repairs(&mut held)?;
                file.condition(words[1]).unwrap().wait(&mut held)?;
                repairs(&mut held)?;
                held.unlock()
            }),
            "notify" => file.condition(words[1]).and_then(|condition| condition.notify_one()).map(drop),
            "await" => file.event(words[1]).and_then(|event| event.wait()),
            "set" => file.event(words[1]).and_then(|event| event.set()).map(drop),
            "meet" => {
                let barrier = file.barrier_options().open(words[1]).unwrap();
                match barrier.wait_for(limit()) {
                    Err(Error::BrokenBarrier(why)) => {
                        say(&format!("broken {why}"));
                        continue;
                    }
                    met => met.map(drop),
                }
            }
            "begin" => {
                let once = file.once(words[1]).unwrap();
                let run = once.begin().unwrap();
                match run {
                    None => say("it-is"),
                    Some(run) => {
                        let died = run.previous_runner().is_some();
                        say(if died { "after-a-death" } else { "mine" });
                        match hear().as_str() {
                            "complete" => run.complete().unwrap(),
                            _ => drop(run),
                        }
                    }
                }
                Ok(())
            }
            other => panic!("{other}: no order that a party knows"),
        };
        say(&done.map_or_else(|error| format!("error {}", error.code()), |()| "done".into()));
    }
}

pub fn a_party(path: &Path) -> Actor {
    let mut party = Actor::start("party", &[path.to_str().unwrap()]);
    party.expect("ready");
    party
}

/// A new lock file, and this process's handle of it.
pub fn a_file(place: &Place) -> (std::path::PathBuf, LockFile) {
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    (path, file)
}

/// Waits until so many participants wait for `name`, for long enough to sleep.
pub fn until_asleep(path: &Path, name: &str, count: usize) {
    until(&format!("{count} participants wait for {name}"), || {
        let status = inspect::snapshot(path).unwrap();
        let lock = status.locks.iter().find(|lock| lock.name == name);
        // Since when it waits a participant says a moment after it says that it waits.
        lock.is_some_and(|lock| {
            lock.queue.iter().filter(|waiter| waiter.for_seconds.is_some()).count() >= count
        })
    });
    thread::sleep(Duration::from_millis(5));
}

/// So many processes wait at the condition `changed`, in the order in which they are returned.
pub fn asleep_in_order(path: &Path, count: usize) -> Vec<Actor> {
    let asleep = |count| {
        let mut waiter = a_party(path);
        waiter.tell("wait-once changed");
        until_asleep(path, "changed", count);
        waiter
    };
    (1..=count).map(asleep).collect()
}
