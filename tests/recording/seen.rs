//! What an observer says of the holders, while slots go from the dead to newcomers: compared with what is recorded.

use crate::{recorded, recording_of as seen};
use std::{
    collections::HashSet,
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
};
use turnlock::{
    LockFile,
    inspect::{self, Event},
};

/// Words: the lock file. Calls itself what its process is called.
pub fn holds_by_its_number(words: &[String]) {
    let label = std::process::id().to_string();
    let file = LockFile::options().label(&label).open(&words[0]).unwrap();
    let mutex = file.mutex("a").unwrap();
    let mut guard = mutex.lock().unwrap();
    if guard.acquired().previous_owner_died {
        guard.mark_consistent().unwrap();
    }
    say("inside");
    hear();
}

fn start(path: &Path) -> Actor {
    Actor::start("holds_by_its_number", &[path.to_str().unwrap()])
}

#[test]
fn nobody_is_shown_as_the_holder_that_a_dead_one_in_its_slot_was() {
    let _no_hang = NoHang::for_seconds(120);
    let place = Place::new();
    let path = place.lock_file();
    let _file = recorded(&place, 1 << 16);
    let (ends, began) = (AtomicBool::new(false), Instant::now());
    let shown = thread::scope(|scope| {
        let look =
            || {
                let mut shown = HashSet::new();
                while !ends.load(Relaxed) {
                    let status = inspect::snapshot(&path).unwrap();
                    let holders = status.locks.into_iter().flat_map(|lock| lock.holders);
                    shown.extend(holders.map(|holder| {
                        (holder.fencing_token, holder.participant.label, holder.participant.pid)
                    }));
                }
                shown
            };
        let looks: Vec<_> = (0..2).map(|_| scope.spawn(look)).collect();
        let mut holder = start(&path);
        while began.elapsed() < Duration::from_secs(3) {
            holder.expect("inside");
            // It comes while the other one dies, as a rule into that one's slot.
            let next = start(&path);
            holder.kill();
            holder = next;
        }
        ends.store(true, Relaxed);
        looks.into_iter().flat_map(support::join).collect::<HashSet<_>>()
    });
    let recording = seen(&path);
    let acquired = recording.events.iter().filter(|event| event.event == Event::Acquired);
    let inside: HashSet<_> = acquired
        .map(|event| {
            let pid = recording.participants[event.participant].process.unwrap().0;
            (event.fencing_token.unwrap(), pid.to_string(), pid)
        })
        .collect();
    // Who was killed between the two was inside without an event.
    let tokens: HashSet<u64> = inside.iter().map(|(token, ..)| *token).collect();
    let wrong: Vec<_> = shown.iter().filter(|one| !inside.contains(one) && tokens.contains(&one.0)).collect();
    println!("{} were inside, {} were seen there", inside.len(), shown.len());
    assert!(wrong.is_empty(), "shown, and not inside: {wrong:?}");
    assert!(shown.iter().all(|(_, label, pid)| *label == pid.to_string()), "{shown:?}");
    assert!(shown.len() > 1);
}
