//! Every word of the file overwritten, one at a time, with one garbage after another, while two take part in it.

use crate::{
    scene::{GARBAGE, SHAPE, Scene},
    watch::{AT_ONCE, Watch},
};
use std::{thread, time::Duration};
use support::{NoHang, join};
use turnlock::{LockFile, inspect};

const LIMIT: Duration = Duration::from_millis(1);
/// After these the header page has only room left over; one word of it stands for the others.
const HEADER_IN_USE: u64 = 216;

/// Everything that one can call, while the file is as bad as it is. `held`: the other has the lock meanwhile.
fn everything(scene: &Scene, held: bool, poke: impl FnOnce(), watch: &mut Watch) {
    let Scene { path, file, mutex, other, .. } = scene;
    let held = held.then(|| mutex.try_lock_as(other).unwrap());
    poke();
    let _ = watch.call("try_lock", AT_ONCE, || mutex.try_lock().map(drop));
    let _ = watch.call("lock_for", LIMIT, || mutex.lock_for(LIMIT)?.unlock());
    let _ = watch.call("status", AT_ONCE, || inspect::snapshot(path));
    let _ = watch.call("existing_mutex", AT_ONCE, || file.existing_mutex("a"));
    let _ = watch.call("open", AT_ONCE, || LockFile::open(path));
    if let Ok(fresh) = watch.call("participant", AT_ONCE, || file.participant()) {
        let _ = watch.call("lock_for_as", LIMIT, || mutex.lock_for_as(&fresh, LIMIT).map(drop));
        let _ = watch.call("end of a participant", AT_ONCE, || {
            drop(fresh);
            Ok(())
        });
    }
    if let Some(guard) = held {
        let _ = watch.call("unlock", AT_ONCE, || guard.unlock());
    }
    let _ = watch.call("lock_for_as", LIMIT, || mutex.lock_for_as(other, LIMIT)?.unlock());
    let _ = watch.call("reset_for", LIMIT, || mutex.reset_for(LIMIT));
    let _ = watch.call("previous_owner", AT_ONCE, || Ok(mutex.previous_owner()));
}

#[test]
fn garbage_in_any_word_crashes_no_process_and_keeps_no_caller_beyond_the_limit() {
    const THREADS: u64 = 4;
    let _no_hang = NoHang::for_seconds(120);
    let words = || (0..HEADER_IN_USE + 8).chain(4096..SHAPE.file_bytes()).step_by(8);
    let (mut watch, mut pokes) = (Watch::default(), 0);
    // Mostly they wait for a millisecond, so more threads than processors get more done.
    thread::scope(|threads| {
        let all: Vec<_> = (0..THREADS)
            .map(|mine| {
                threads.spawn(move || {
                    let scene = Scene::set();
                    let (mut watch, mut pokes) = (Watch::default(), 0);
                    for at in words().filter(|at| at / 8 % THREADS == mine) {
                        for value in GARBAGE.into_iter().filter(|value| *value != scene.was(at)) {
                            for held in [false, true] {
                                everything(&scene, held, || scene.poke(at, value), &mut watch);
                                scene.restore();
                                pokes += 1;
                            }
                        }
                    }
                    scene.mutex.try_lock().unwrap().unlock().unwrap();
                    scene.mutex.try_lock_as(&scene.other).unwrap().unlock().unwrap();
                    (watch, pokes)
                })
            })
            .collect();
        for (theirs, more) in all.into_iter().map(join) {
            watch.add(theirs);
            pokes += more;
        }
    });
    println!("{} words, {pokes} times garbage: {watch}", words().count());
    assert!(pokes > 7_000);
}
