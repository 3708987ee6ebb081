//! A register that changes faster than a waiter can look: the limit of a wait holds all the same.

use crate::{
    scene::{GUEST, OTHER, REGION, SHAPE, Scene, VACANT},
    watch::{AT_ONCE, Watch},
};
use memmap2::MmapRaw;
use std::{
    fs::OpenOptions,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};
use support::{
    NoHang, Place,
    format::{Format, SLOTS_IN_USE, poke_u32},
};
use turnlock::{LockFile, MutexAlgorithm, inspect};

/// For calls that would never come to an end on their own: then the hostile one stops, and they are seen to be late.
const AT_MOST: Duration = Duration::from_secs(20);
const LIMIT: Duration = Duration::from_millis(20);

/// Has `at` changed from one of `values` to the next without end, while `act` runs.
fn restless(scene: &Scene, at: u64, values: &[u64], act: impl FnOnce()) -> u64 {
    // Mapped, which is faster than a call to the kernel for each change.
    let map =
        MmapRaw::map_raw(&OpenOptions::new().read(true).write(true).open(&scene.path).unwrap()).unwrap();
    assert!(at as usize + 8 <= map.len() && at.is_multiple_of(8));
    // SAFETY: inside the mapping and aligned, as was just asserted; the mapping is shared, lives until the end of this
    // function and is used through this reference alone; the library's own mapping has atomics there too.
    let register = unsafe { AtomicU64::from_ptr(map.as_mut_ptr().add(at as usize).cast()) };
    let (done, changes) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|threads| {
        threads.spawn(|| {
            let began = Instant::now();
            while !done.load(Relaxed) && began.elapsed() < AT_MOST {
                for value in values {
                    register.store(*value, Relaxed);
                    changes.fetch_add(1, Relaxed);
                }
            }
            register.store(0, Relaxed);
        });
        // Not before the first change.
        while changes.load(Relaxed) == 0 {
            thread::yield_now();
        }
        act();
        done.store(true, Relaxed);
    });
    changes.into_inner()
}

#[test]
fn a_register_that_never_stands_still_keeps_no_caller_beyond_the_limit() {
    let _no_hang = NoHang::for_seconds(120);
    let scene = Scene::set();
    let (mut watch, mut changes) = (Watch::default(), 0);
    for slot in [OTHER, VACANT] {
        for values in
            [&[2, 3][..], &[1, 2], &[0, 2], &[u64::MAX, 2], &[u64::MAX, u64::MAX - 1], &[1, 0, 3, u64::MAX]]
        {
            let guest = scene.file.participant().unwrap();
            assert_eq!(guest.slot() as u64, GUEST);
            // Has that slot scanned, whether a participant has it or not.
            scene.poke(SLOTS_IN_USE, SHAPE.participants);
            changes += restless(&scene, SHAPE.number(REGION, slot), values, || {
                let _ = watch.call("try_lock", AT_ONCE, || scene.mutex.try_lock().map(drop));
                let _ = watch.call("lock_for", LIMIT, || scene.mutex.lock_for(LIMIT).map(drop));
                let _ = watch.call("reset_for", LIMIT, || scene.mutex.reset_for(LIMIT));
                let _ = watch.call("status", AT_ONCE, || inspect::snapshot(&scene.path));
            });
            // Behind a participant with a large number, whatever the register says is before us.
            scene.mutex.try_lock().unwrap().unlock().unwrap();
            let guard = scene.mutex.try_lock_as(&guest).unwrap();
            scene.poke(SHAPE.number(REGION, GUEST), 1_000);
            changes += restless(&scene, SHAPE.number(REGION, slot), values, || {
                thread::scope(|threads| {
                    threads.spawn(|| {
                        thread::sleep(LIMIT / 4);
                        let _ = guard.unlock();
                    });
                    let _ = watch.call("lock_for", LIMIT, || scene.mutex.lock_for(LIMIT).map(drop));
                });
            });
            drop(guest);
            scene.restore();
        }
    }
    println!("{changes} changes: {watch}");
    scene.mutex.try_lock().unwrap().unlock().unwrap();
}

#[test]
fn a_directory_lock_that_looks_taken_keeps_no_thread_that_names_a_lock_for_ever() {
    const NAMING: Duration = Duration::from_secs(5);
    let _no_hang = NoHang::for_seconds(60);
    let scene = Scene::set();
    let mut watch = Watch::default();
    for value in [u64::MAX, 2] {
        let register = SHAPE.number(0, OTHER);
        scene.poke(register, value);
        let (returned, waits) = mpsc::channel();
        thread::scope(|threads| {
            let scene = &scene;
            threads.spawn(move || {
                // So that a call that would never end does: this thread corrects the register.
                if waits.recv_timeout(NAMING + AT_MOST) == Err(RecvTimeoutError::Timeout) {
                    scene.poke(register, 0);
                }
            });
            let _ = watch.call("mutex", NAMING, || scene.file.mutex("b"));
            returned.send(()).unwrap();
        });
        scene.restore();
    }
}

/// Neither what the file says of the sleep of a participant's service thread, nor how many slots are in use by what it says:
/// each end would take as long as the longest nap of that thread, ten seconds.
#[test]
fn what_is_said_of_a_service_threads_sleep_does_not_hold_up_its_participants_end() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().mailboxes(4).open(&path).unwrap();
    let mutex = file.mutex_options().algorithm(MutexAlgorithm::TokenRing).open("a").unwrap();
    let format = Format { participants: file.participants().into(), locks: file.locks().into() };
    let task = || {
        let task = file.participant().unwrap();
        drop(mutex.lock_as(&task).unwrap());
        task
    };
    // Long enough for the thread to be asleep, as a rule, and while the participant ends.
    let ends_while = |act: &(dyn Fn(u64) + Sync)| {
        let (task, done, acts) = (task(), AtomicBool::new(false), AtomicU64::new(0));
        let slot = task.slot() as u64;
        thread::scope(|threads| {
            threads.spawn(|| {
                while !done.load(Relaxed) {
                    act(slot);
                    acts.fetch_add(1, Relaxed);
                }
            });
            while acts.load(Relaxed) < 100 {
                thread::yield_now();
            }
            drop(task);
            done.store(true, Relaxed);
        });
    };
    for _ in 0..16 {
        ends_while(&|slot| poke_u32(&path, format.asleep(slot), 0));
        ends_while(&|_| poke_u32(&path, SLOTS_IN_USE, 0));
    }
}
