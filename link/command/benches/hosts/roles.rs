//! Programs at a host. The first two words of each are the lock file and the name of the lock.

use std::{
    hint::spin_loop,
    thread,
    time::{Duration, Instant},
};
use support::{
    actor::{hear, say},
    limit,
};
use turnlock::{LockFile, Mutex, MutexGuard};

/// How long a contender stays inside.
const INSIDE: Duration = Duration::from_micros(20);

fn mutex(words: &[String]) -> Mutex {
    LockFile::open(&words[0]).unwrap().mutex(&words[1]).unwrap()
}

fn enter(mutex: &Mutex) -> MutexGuard<'_> {
    let mut guard = mutex.lock_for(limit::seconds(100)).unwrap();
    if guard.acquired().previous_owner_died {
        guard.mark_consistent().unwrap();
    }
    guard
}

fn seconds(word: &str) -> Duration {
    Duration::from_secs_f64(word.parse().unwrap())
}

/// Enters, says `inside` and its token, and leaves when it is told something.
pub fn holder(words: &[String]) {
    let mutex = mutex(words);
    let guard = enter(&mutex);
    say(&format!("inside {}", guard.fencing_token()));
    hear();
    // The lease may have ended.
    let _ = guard.unlock();
    say("left");
}

/// Enters, says `inside` and its token, and `told` and a 0 when it is not the owner any more.
pub fn told(words: &[String]) {
    let mutex = mutex(words);
    let guard = enter(&mutex);
    say(&format!("inside {}", guard.fencing_token()));
    while guard.still_owner() {
        thread::sleep(Duration::from_millis(1));
    }
    say("told 0");
    drop(guard);
    hear();
}

/// Takes part in the file, and has nothing to do with the lock.
pub fn opener(words: &[String]) {
    let other = LockFile::open(&words[0]).unwrap().mutex("other").unwrap();
    other.lock().unwrap().unlock().unwrap();
    say("open 0");
    hear();
}

/// Enters again and again for so many seconds, and says how often, for how many stays of the lock at this host, and for how many microseconds
/// the lock was in use in these.
pub fn contender(words: &[String]) {
    let (mutex, time) = (mutex(words), seconds(&words[2]));
    let (mut entries, mut stays, mut last) = (0_u64, 0_u64, None::<u64>);
    let (mut in_use, mut since, mut until) = (Duration::ZERO, Instant::now(), Instant::now());
    let began = Instant::now();
    while began.elapsed() < time {
        let guard = enter(&mutex);
        let (now, token) = (Instant::now(), guard.fencing_token());
        // The only program of this host: after another host has had the lock, it comes with another block of tokens.
        if last.is_none_or(|last| token != last + 1) {
            in_use += until - since;
            since = now;
            stays += 1;
        }
        last = Some(token);
        while now.elapsed() < INSIDE {
            spin_loop();
        }
        until = Instant::now();
        guard.unlock().unwrap();
        entries += 1;
    }
    in_use += until - since;
    say(&format!("entries {entries}"));
    say(&format!("stays {stays}"));
    say(&format!("in-use {}", in_use.as_micros()));
}

/// Tries to enter again and again for so many seconds, and says how often it did, and when it did last, in milliseconds.
pub fn looper(words: &[String]) {
    let (mutex, time) = (mutex(words), seconds(&words[2]));
    say("begun 0");
    let (began, mut entries, mut last) = (Instant::now(), 0_u64, Duration::ZERO);
    while began.elapsed() < time {
        if let Ok(guard) = mutex.lock_for(Duration::from_millis(50)) {
            guard.unlock().unwrap();
            (entries, last) = (entries + 1, began.elapsed());
        }
        thread::sleep(Duration::from_millis(1));
    }
    say(&format!("entries {entries}"));
    say(&format!("last {}", last.as_millis()));
}

/// Reads again and again for so many seconds, and writes every so many milliseconds, if not 0; says how often it was inside.
pub fn reader(words: &[String]) {
    let rwlock = LockFile::open(&words[0]).unwrap().rwlock(&words[1]).unwrap();
    let (time, writes) = (seconds(&words[2]), Duration::from_millis(words[3].parse().unwrap()));
    let (mut entries, began, mut written) = (0_u64, Instant::now(), Instant::now());
    let stay = || {
        let now = Instant::now();
        while now.elapsed() < INSIDE {
            spin_loop();
        }
    };
    while began.elapsed() < time {
        if !writes.is_zero() && written.elapsed() >= writes {
            let guard = rwlock.write_for(limit::seconds(100)).unwrap();
            stay();
            guard.unlock().unwrap();
            written = Instant::now();
        } else {
            let guard = rwlock.read_for(limit::seconds(100)).unwrap();
            stay();
            guard.unlock().unwrap();
        }
        entries += 1;
    }
    say(&format!("entries {entries}"));
}
