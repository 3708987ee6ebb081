//! Opening a file of arbitrary bytes, and taking part in it while more of it is overwritten: every call returns in time,
//! with a result or an error.
#![no_main]

mod bytes;

use arbitrary::Arbitrary;
use bytes::{Bait, Bytes, Lair, Poke, in_time, up_to};
use libfuzzer_sys::fuzz_target;
use std::{thread, time::Duration};
use turnlock::{Error, LockFile, Mutex, Participant, ParticipantGuard, Result, inspect};

const LIMIT: Duration = Duration::from_millis(1);
const AT_ONCE: Duration = Duration::ZERO;
/// Naming a lock waits so long for others that do.
const NAMING: Duration = Duration::from_secs(5);
/// Opening waits so long for those of another boot to leave.
const OPENING: Duration = Duration::from_secs(6);
/// More of them teach nothing new, and each may wait.
const STEPS: usize = 24;

#[derive(Arbitrary, Debug)]
struct Input {
    bytes: Bytes,
    #[arbitrary(with = up_to::<STEPS, _>)]
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// The hostile neighbour's moves.
    Poke(Poke),
    Resize(u16),
    /// Ours.
    TryLock,
    LockFor,
    Reset,
    TakeAs,
    MarkConsistent,
    Unlock,
    Abandon,
    AnotherThread,
    Name(u8),
    Attach,
    Detach,
    Status,
    OpenAgain,
}

/// Whatever a call says, it is nothing that is a defect by its own words.
fn heard<T>(result: Result<T>) -> Option<T> {
    if let Err(error) = &result {
        assert!(!matches!(error, Error::Internal(_)), "{error}");
        assert!(!error.to_string().is_empty());
    }
    result.ok()
}

fn call<T>(what: &str, limit: Duration, act: impl FnOnce() -> Result<T>) -> Option<T> {
    heard(in_time(what, limit, act))
}

fn take_part(lair: &Lair, bait: &Bait, steps: &[Step]) {
    let Some(file) = call("open", OPENING, || LockFile::options().must_exist(true).open(&lair.path)) else {
        return;
    };
    let Some(mutex) = call("mutex", NAMING, || file.mutex("a")) else { return };
    // This thread has a slot before another thread takes the last one: without it, it can do nothing.
    call("try_lock", AT_ONCE, || mutex.try_lock()?.unlock());
    let other = call("participant", AT_ONCE, || file.participant());
    go_through(lair, bait, &file, &mutex, other.as_ref(), steps);
    // Whatever happened, one goes through everything.
    call("lock_for", LIMIT, || mutex.lock_for(LIMIT)?.unlock());
    call("reset_for", LIMIT, || mutex.reset_for(LIMIT));
    call("try_lock", AT_ONCE, || mutex.try_lock()?.unlock());
    in_time("end", AT_ONCE, || drop((other, mutex, file)));
}

fn go_through(
    lair: &Lair,
    bait: &Bait,
    file: &LockFile,
    mutex: &Mutex,
    other: Option<&Participant>,
    steps: &[Step],
) {
    let mut held: Option<ParticipantGuard> = None;
    let (mut more, mut overwritten) = (Vec::new(), false);
    for step in steps {
        match step {
            Step::Poke(poke) => {
                overwritten = true;
                bait.poke(poke);
            }
            Step::Resize(bytes) => {
                overwritten = true;
                bait.resize(*bytes);
            }
            Step::TryLock => drop(call("try_lock", AT_ONCE, || mutex.try_lock())),
            Step::LockFor => drop(call("lock_for", LIMIT, || mutex.lock_for(LIMIT))),
            Step::Reset => drop(call("reset_for", LIMIT, || mutex.reset_for(LIMIT))),
            Step::TakeAs => {
                let Some(other) = other else { continue };
                let taken = call("lock_for_as", LIMIT, || mutex.lock_for_as(other, LIMIT));
                held = taken.or(held);
            }
            Step::MarkConsistent => {
                held.as_mut().and_then(|guard| call("mark_consistent", AT_ONCE, || guard.mark_consistent()));
                in_time("previous_owner", AT_ONCE, || mutex.previous_owner());
            }
            Step::Unlock => drop(held.take().and_then(|guard| call("unlock", AT_ONCE, || guard.unlock()))),
            Step::Abandon => drop(held.take().and_then(|guard| call("abandon", AT_ONCE, || guard.abandon()))),
            Step::AnotherThread => on_a_thread(|| {
                call("lock_for, elsewhere", LIMIT, || mutex.lock_for(LIMIT).map(drop));
            }),
            Step::Name(letter) => {
                let name = char::from(*letter).to_string();
                // A directory lock that looks taken costs seconds, and tests/hostile has that case already.
                if overwritten {
                    call("existing_mutex", AT_ONCE, || file.existing_mutex(&name)?.try_lock().map(drop));
                } else {
                    call("mutex", NAMING, || file.mutex(&name)?.try_lock().map(drop));
                }
            }
            Step::Attach => more.extend(call("participant", AT_ONCE, || file.participant())),
            Step::Detach => in_time("end of a participant", AT_ONCE, || drop(more.pop())),
            Step::Status => drop(call("status", AT_ONCE, || inspect::snapshot(&lair.path))),
            Step::OpenAgain => drop(call("open again", OPENING, || LockFile::open(&lair.path))),
        }
    }
}

/// On a thread of its own, whose end is that of its slots. Joined by hand: the scope itself waits for what the thread
/// does, and not until it has given its slots back.
fn on_a_thread(act: impl FnOnce() + Send) {
    thread::scope(|threads| threads.spawn(act).join().unwrap());
}

fuzz_target!(|input: Input| {
    let lair = Lair::get();
    let bait = lair.put(&input.bytes);
    on_a_thread(|| take_part(lair, &bait, &input.steps));
});
