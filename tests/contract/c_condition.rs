//! Conditions through the C ABI: with which locks a thread or a hold waits, and how a wait ends.

use crate::{
    c_coordination::{NULL, SHORT, Scene, acquire, call, release, take},
    c_handles::{current_hold, last_message, open_file, open_hold, open_mutex, opened, sized},
};
use std::thread;
use support::{Place, elsewhere, join};
use turnlock::{capi::*, status::*};

pub fn a_thread_waits_with_a_mutex_and_has_it_again() {
    let scene = Scene::new();
    thread::scope(|threads| {
        let waits = threads.spawn(|| {
            let before = scene.lock();
            let (status, told) = scene.wait(&scene.mutex, TURNLOCK_WAIT_FOREVER, 0);
            assert_eq!(scene.another_tries_the_mutex(), TURNLOCK_ERROR_WOULD_BLOCK);
            assert_eq!(scene.unlock(), TURNLOCK_OK);
            (status, told.fencing_token > before, told.previous_owner_died)
        });
        scene.until_waiting("condition", 1);
        scene.lock();
        assert_eq!((scene.notify_one(), scene.notify_one()), (1, 0));
        assert_eq!(scene.unlock(), TURNLOCK_OK);
        assert_eq!(join(waits), (TURNLOCK_OK, true, 0));
    });
    assert_eq!(scene.unlock(), TURNLOCK_ERROR_NOT_OWNER);
}

pub fn a_thread_waits_with_a_rwlock_that_it_has_exclusively() {
    let scene = Scene::new();
    let rwlock = &scene.rwlock;
    let tried_by_another =
        || scene.another_tries(rwlock, turnlock_rwlock_try_lock_shared, turnlock_rwlock_unlock);
    thread::scope(|threads| {
        let waits = threads.spawn(|| {
            assert_eq!(take(&scene.rwlock, turnlock_rwlock_lock_exclusive), TURNLOCK_OK);
            let (status, _) = scene.wait(&scene.rwlock, TURNLOCK_WAIT_FOREVER, 0);
            assert_eq!(tried_by_another(), TURNLOCK_ERROR_WOULD_BLOCK, "it is held exclusively again");
            assert_eq!(call(&scene.rwlock, turnlock_rwlock_unlock), TURNLOCK_OK);
            status
        });
        scene.until_waiting("condition", 1);
        assert_eq!(tried_by_another(), TURNLOCK_OK);
        assert_eq!(scene.notify_one(), 1);
        assert_eq!(join(waits), TURNLOCK_OK);
    });
}

/// What one thread acquired and waits with, another one releases.
pub fn a_hold_waits_with_what_it_has() {
    let scene = Scene::new();
    let locks: [(*const turnlock_lock, &str); 2] =
        [(scene.mutex.handle.cast(), "mutex"), (scene.rwlock.handle.cast(), "rwlock")];
    for (lock, name) in locks {
        let hold = open_hold(&scene.file).unwrap();
        let request = turnlock_request { lock, ..sized() };
        assert_eq!(acquire(&hold, &request), TURNLOCK_OK);
        let mut token = 0;
        thread::scope(|threads| {
            let waits = threads.spawn(|| scene.wait_by(&hold, TURNLOCK_WAIT_FOREVER, 0));
            scene.until_waiting("condition", 1);
            assert_eq!(release(&hold), TURNLOCK_ERROR_HOLD_BUSY, "{name}");
            let other = open_hold(&scene.file).unwrap();
            let attempt = turnlock_request { wait: TURNLOCK_WAIT_NEVER, ..request };
            assert_eq!(acquire(&other, &attempt), TURNLOCK_OK, "{name} is unlocked meanwhile");
            assert_eq!(scene.notify_one(), 1);
            assert_eq!(release(&other), TURNLOCK_OK);
            let (status, told) = join(waits);
            assert_eq!((status, told.previous_owner_died), (TURNLOCK_OK, 0), "{name}");
            // SAFETY: an open handle, and a place for the token.
            assert_eq!(unsafe { turnlock_hold_fencing_token(hold.handle, &mut token) }, TURNLOCK_OK);
            assert_eq!(token, told.fencing_token, "{name}");
            assert_eq!(acquire(&other, &attempt), TURNLOCK_ERROR_WOULD_BLOCK, "{name} is held again");
        });
        assert_eq!(release(&hold), TURNLOCK_OK, "{name}");
    }
}

pub fn a_recursive_mutex_is_unlocked_whole_and_had_as_often_again() {
    let scene = Scene::new();
    let options = turnlock_mutex_options { flags: TURNLOCK_MUTEX_RECURSIVE, ..sized() };
    // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
    let recursive = opened(turnlock_mutex_close, |mutex| unsafe {
        turnlock_mutex_open(scene.file.handle, c"recursive".as_ptr(), &options, mutex)
    })
    .unwrap();
    let tried_by_another = || scene.another_tries(&recursive, turnlock_mutex_try_lock, turnlock_mutex_unlock);
    let unlock = || call(&recursive, turnlock_mutex_unlock);
    thread::scope(|threads| {
        let waits = threads.spawn(|| {
            for _ in 0..2 {
                assert_eq!(take(&recursive, turnlock_mutex_lock), TURNLOCK_OK);
            }
            assert_eq!(scene.wait(&recursive, TURNLOCK_WAIT_FOREVER, 0).0, TURNLOCK_OK);
            assert_eq!(unlock(), TURNLOCK_OK);
            assert_eq!(tried_by_another(), TURNLOCK_ERROR_WOULD_BLOCK, "it is had once more");
            // Likewise by a limit.
            assert_eq!(take(&recursive, turnlock_mutex_lock), TURNLOCK_OK);
            let (timed_out, _) = scene.wait(&recursive, TURNLOCK_WAIT_AT_MOST, SHORT);
            assert_eq!(timed_out, TURNLOCK_ERROR_TIMED_OUT);
            assert_eq!(unlock(), TURNLOCK_OK);
            assert_eq!(tried_by_another(), TURNLOCK_ERROR_WOULD_BLOCK);
            assert_eq!(unlock(), TURNLOCK_OK);
            assert_eq!(tried_by_another(), TURNLOCK_OK);
            assert_eq!(unlock(), TURNLOCK_ERROR_NOT_OWNER);
        });
        scene.until_waiting("condition", 1);
        assert_eq!(tried_by_another(), TURNLOCK_OK);
        assert_eq!(scene.notify_one(), 1);
        join(waits);
    });
}

pub fn what_a_condition_cannot_wait_with_is_refused_and_stays_as_it_was() {
    let scene = Scene::new();
    let refused = |lock: *const turnlock_lock, why: &str| {
        let mut told = turnlock_acquired { fencing_token: 7, ..sized() };
        let condition = scene.condition.handle;
        // SAFETY: open handles, and a place for what would come with the lock.
        let status =
            unsafe { turnlock_condition_wait(condition, lock, TURNLOCK_WAIT_AT_MOST, SHORT, &mut told) };
        assert_eq!(told.fencing_token, 7, "nothing was taken");
        assert!(last_message().contains(why), "{}", last_message());
        status
    };
    let (mutex, rwlock, semaphore) = (scene.mutex.handle, scene.rwlock.handle, scene.semaphore.handle);
    // Held by no thread, or by another.
    assert_eq!(refused(mutex.cast(), ""), TURNLOCK_ERROR_NOT_OWNER);
    assert_eq!(refused(rwlock.cast(), ""), TURNLOCK_ERROR_NOT_OWNER);
    scene.lock();
    elsewhere(|| {
        assert_eq!(scene.wait(&scene.mutex, TURNLOCK_WAIT_AT_MOST, SHORT).0, TURNLOCK_ERROR_NOT_OWNER);
    });
    // A way to wait that there is none of.
    assert_eq!(scene.wait(&scene.mutex, 4, 0).0, TURNLOCK_ERROR_INVALID_ARGUMENT);
    assert!(last_message().contains("wait is 4"), "{}", last_message());
    let mut small = turnlock_acquired { size: 1, ..sized() };
    // SAFETY: open handles, and a size that is refused.
    let status = unsafe { turnlock_condition_wait(scene.condition.handle, mutex.cast(), 0, 0, &mut small) };
    assert_eq!(status, TURNLOCK_ERROR_INVALID_ARGUMENT);
    assert_eq!(scene.another_tries_the_mutex(), TURNLOCK_ERROR_WOULD_BLOCK);
    assert_eq!(scene.unlock(), TURNLOCK_OK);
    // SAFETY: open handles.
    unsafe {
        assert_eq!(turnlock_rwlock_lock_shared(rwlock, NULL), TURNLOCK_OK);
        assert_eq!(refused(rwlock.cast(), ""), TURNLOCK_ERROR_NOT_EXCLUSIVE);
        assert_eq!(turnlock_rwlock_unlock(rwlock), TURNLOCK_OK);
        assert_eq!(turnlock_rwlock_lock_upgradable(rwlock, NULL), TURNLOCK_OK);
        assert_eq!(refused(rwlock.cast(), ""), TURNLOCK_ERROR_NOT_EXCLUSIVE);
        assert_eq!(turnlock_rwlock_unlock(rwlock), TURNLOCK_OK);
        assert_eq!(turnlock_semaphore_acquire(semaphore, 2, NULL), TURNLOCK_OK);
        assert_eq!(refused(semaphore.cast(), "held exclusively"), TURNLOCK_ERROR_INVALID_ARGUMENT);
        assert_eq!(turnlock_semaphore_release(semaphore, 2), TURNLOCK_OK);
        assert_eq!(refused(scene.event.handle.cast(), "mutex"), TURNLOCK_ERROR_INVALID_ARGUMENT);
    }
    let hold = open_hold(&scene.file).unwrap();
    let limited = || scene.wait_by(&hold, TURNLOCK_WAIT_AT_MOST, SHORT).0;
    assert_eq!(limited(), TURNLOCK_ERROR_NOT_OWNER);
    for (request, status) in [
        (scene.request(&scene.rwlock, TURNLOCK_MODE_SHARED), TURNLOCK_ERROR_NOT_EXCLUSIVE),
        (scene.request(&scene.rwlock, TURNLOCK_MODE_UPGRADABLE), TURNLOCK_ERROR_NOT_EXCLUSIVE),
        (
            turnlock_request { permits: 1, ..scene.request(&scene.semaphore, 0) },
            TURNLOCK_ERROR_INVALID_ARGUMENT,
        ),
    ] {
        assert_eq!(acquire(&hold, &request), TURNLOCK_OK);
        assert_eq!(limited(), status, "{}", last_message());
        assert_eq!(release(&hold), TURNLOCK_OK);
    }
    // Nor does a hold acquire what is not a lock.
    assert_eq!(acquire(&hold, &scene.request(&scene.event, 0)), TURNLOCK_ERROR_INVALID_ARGUMENT);
    scene.until_waiting("condition", 0);
}

pub fn a_lock_of_another_file_is_refused_and_stays_held() {
    let (scene, place) = (Scene::new(), Place::new());
    let other = open_file(&place.lock_file(), 8, 2).unwrap();
    let mutex = open_mutex(&other, c"mutex").unwrap();
    // SAFETY: an open handle.
    assert_eq!(unsafe { turnlock_mutex_lock(mutex.handle, NULL) }, TURNLOCK_OK);
    assert_eq!(scene.wait(&mutex, TURNLOCK_WAIT_AT_MOST, SHORT).0, TURNLOCK_ERROR_INVALID_ARGUMENT);
    for path in [scene.place.lock_file(), place.lock_file()] {
        assert!(last_message().contains(path.to_str().unwrap()), "{}", last_message());
    }
    let tried = scene.another_tries(&mutex, turnlock_mutex_try_lock, turnlock_mutex_unlock);
    assert_eq!(tried, TURNLOCK_ERROR_WOULD_BLOCK);
    // SAFETY: an open handle.
    assert_eq!(unsafe { turnlock_mutex_unlock(mutex.handle) }, TURNLOCK_OK);
    let hold = open_hold(&other).unwrap();
    assert_eq!(acquire(&hold, &scene.request(&mutex, 0)), TURNLOCK_OK);
    let (status, _) = scene.wait_by(&hold, TURNLOCK_WAIT_AT_MOST, SHORT);
    assert_eq!(status, TURNLOCK_ERROR_INVALID_ARGUMENT);
    assert_eq!(release(&hold), TURNLOCK_OK);
}

pub fn a_wait_that_timed_out_has_the_lock_and_says_what_came_with_it() {
    let scene = Scene::new();
    let before = scene.lock();
    // The second one is over before it begins.
    for (wait, time_ns) in [(TURNLOCK_WAIT_AT_MOST, SHORT), (TURNLOCK_WAIT_UNTIL, 1)] {
        let (status, told) = scene.wait(&scene.mutex, wait, time_ns);
        assert_eq!(status, TURNLOCK_ERROR_TIMED_OUT, "{}", last_message());
        assert!(told.fencing_token > before && told.previous_owner_died == 0);
        assert_eq!(scene.another_tries_the_mutex(), TURNLOCK_ERROR_WOULD_BLOCK);
    }
    assert_eq!((scene.notify_one(), scene.unlock()), (0, TURNLOCK_OK));
    let hold = open_hold(&scene.file).unwrap();
    assert_eq!(acquire(&hold, &scene.request(&scene.mutex, 0)), TURNLOCK_OK);
    let (status, told) = scene.wait_by(&hold, TURNLOCK_WAIT_AT_MOST, SHORT);
    assert!(status == TURNLOCK_ERROR_TIMED_OUT && told.fencing_token > before, "{status}");
    assert_eq!(release(&hold), TURNLOCK_OK);
}

/// A holder dies while a participant waits: that one is told, whether it was notified or its wait was ended.
pub fn a_waiter_is_told_of_a_dead_holder() {
    for notifies in [true, false] {
        let scene = Scene::new();
        let (send, holds) = std::sync::mpsc::channel();
        thread::scope(|threads| {
            let waiter = || {
                send.send(current_hold(&scene.file).unwrap()).unwrap();
                scene.lock();
                let (status, told) = scene.wait(&scene.mutex, TURNLOCK_WAIT_FOREVER, 0);
                assert_eq!(call(&scene.mutex, turnlock_mutex_mark_consistent), TURNLOCK_OK);
                assert_eq!(scene.unlock(), TURNLOCK_OK);
                (status, told)
            };
            let waits = threads.spawn(waiter);
            let hold = holds.recv().unwrap();
            scene.until_waiting("condition", 1);
            // It ends as the holder.
            let dead = elsewhere(|| scene.lock());
            let expected = match notifies {
                true => {
                    assert_eq!(scene.notify_one(), 1);
                    TURNLOCK_OWNER_DEAD
                }
                false => {
                    assert_eq!(call(&hold, turnlock_hold_cancel), TURNLOCK_OK);
                    TURNLOCK_ERROR_CANCELLED
                }
            };
            let (status, told) = join(waits);
            assert_eq!(status, expected);
            assert_eq!((told.previous_owner_died, told.previous_owner_fencing_token), (1, dead));
            assert_eq!(told.previous_owner_pid, std::process::id());
        });
    }
}

pub fn a_wait_by_a_hold_is_cancelled_with_the_lock_held() {
    let scene = Scene::new();
    let hold = open_hold(&scene.file).unwrap();
    assert_eq!(acquire(&hold, &scene.request(&scene.mutex, 0)), TURNLOCK_OK);
    thread::scope(|threads| {
        let waits = threads.spawn(|| scene.wait_by(&hold, TURNLOCK_WAIT_FOREVER, 0));
        scene.until_waiting("condition", 1);
        assert_eq!(call(&hold, turnlock_hold_cancel), TURNLOCK_OK);
        let (status, told) = join(waits);
        assert!(status == TURNLOCK_ERROR_CANCELLED && told.fencing_token > 0, "{status}");
    });
    assert_eq!(scene.another_tries_the_mutex(), TURNLOCK_ERROR_WOULD_BLOCK);
    assert_eq!((scene.notify_one(), release(&hold)), (0, TURNLOCK_OK));
}
