//! What no participant writes stands in the words of a condition, an event, a barrier or a once: calls end, with an error or
//! without, and none panics or waits beyond its limit.

use crate::party::a_file;
use std::time::{Duration, Instant};
use support::{
    Place,
    format::{Format, poke_u64},
    limit,
};
use turnlock::{Error, LockFile, Result};

const LIMIT: Duration = Duration::from_millis(5);
const GARBAGE: [u64; 8] =
    [1, 2, 7, 0xffff_ffff, 0x8000_0001_0000_8001, u64::MAX, u64::MAX << 3 | 1, 0x0123_4567_89ab_cdef];

fn calls_end(file: &LockFile) {
    let mutex = file.mutex("mutex").unwrap();
    let calls: [(&str, &dyn Fn() -> Result<()>); 7] = [
        ("wait at a condition", &|| {
            let mut guard = mutex.lock()?;
            let waited = file.condition("named")?.wait_for(&mut guard, LIMIT);
            guard.unlock()?;
            waited
        }),
        ("notify", &|| {
            file.condition("named")?.notify_one()?;
            file.condition("named")?.notify_all().map(drop)
        }),
        ("an event", &|| {
            let event = file.event("named")?;
            (event.set(), event.clear(), event.wait_for(LIMIT)).2
        }),
        ("meet", &|| file.barrier_options().open("named")?.wait_for(LIMIT).map(drop)),
        ("reset", &|| {
            let barrier = file.barrier_options().open("named")?;
            (barrier.waiting(), barrier.check(), barrier.abort(), barrier.reset()).3
        }),
        ("once", &|| file.once("named")?.begin_for(LIMIT).map(drop)),
        ("look", &|| turnlock::inspect::snapshot(file.path()).map(drop)),
    ];
    for (what, call) in calls {
        let began = Instant::now();
        let ended = call();
        assert!(began.elapsed() < limit::seconds(5), "{what}: {ended:?}");
        assert!(!matches!(ended, Err(Error::Internal(_))), "{what}: {ended:?}");
    }
}

/// Whatever else names it is another kind then, which is an error.
#[test]
fn garbage_in_their_words_ends_calls_and_hangs_none() {
    let names: [fn(&LockFile); 4] = [
        |file| drop(file.condition("named").unwrap()),
        |file| drop(file.event("named").unwrap()),
        |file| drop(file.barrier("named", 2).unwrap()),
        |file| drop(file.once("named").unwrap()),
    ];
    for name in names {
        let place = Place::new();
        let (path, file) = a_file(&place);
        name(&file);
        let format = Format { participants: file.participants().into(), locks: file.locks().into() };
        calls_end(&file);
        for garbage in GARBAGE {
            for word in 0..5 {
                poke_u64(&path, format.coordination(1) + 8 * word, garbage);
                calls_end(&file);
            }
            for slot in 0..3 {
                poke_u64(&path, format.entry_of(1, slot), garbage);
            }
            calls_end(&file);
        }
    }
}
