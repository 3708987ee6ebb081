//! Acquisitions that are begun, waited for by a descriptor and finished, through the C ABI.

use crate::{
    c_handles::{Owned, current_hold, last_message, open_hold, open_mutex, sized},
    c_holds::{Scene, acquire, call, key, range, release, token},
};
use std::{os::fd::BorrowedFd, ptr, thread, time::Duration};
use support::{
    elsewhere,
    limit::{is_readable, of_processes},
    until, until_waiting,
};
use turnlock::{capi::*, status::*};

fn begin(hold: &Owned<turnlock_hold>, request: &turnlock_request) -> i32 {
    // SAFETY: an open handle, and a request whose lock is open and whose parts are there.
    unsafe { turnlock_hold_begin_acquire(hold.handle, request) }
}

fn begun(hold: &Owned<turnlock_hold>, request: &turnlock_request) {
    assert_eq!(begin(hold, request), TURNLOCK_OK, "{}", last_message());
}

fn finish(hold: &Owned<turnlock_hold>) -> i32 {
    // SAFETY: an open handle.
    unsafe { turnlock_hold_finish_acquire(hold.handle, ptr::null_mut()) }
}

fn cancel(hold: &Owned<turnlock_hold>) -> i32 {
    call(hold, turnlock_hold_cancel_acquire)
}

fn descriptor(hold: &Owned<turnlock_hold>) -> BorrowedFd<'_> {
    let mut descriptor = -1;
    // SAFETY: an open handle, and a place for the number.
    assert_eq!(unsafe { turnlock_hold_fd(hold.handle, &mut descriptor) }, TURNLOCK_OK);
    // SAFETY: it is open as long as the hold is.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

fn can_be_finished(hold: &Owned<turnlock_hold>) -> bool {
    is_readable(&descriptor(hold), Duration::ZERO)
}

/// Waits for the descriptor, and finishes.
fn finished(hold: &Owned<turnlock_hold>) -> i32 {
    assert!(is_readable(&descriptor(hold), of_processes()), "nothing comes of it");
    let finished = finish(hold);
    assert!(!can_be_finished(hold));
    finished
}

pub fn what_is_free_is_finished_at_once() {
    let scene = Scene::new();
    let hold = scene.hold();
    for _ in 0..100 {
        begun(&hold, &scene.of_mutex());
        let mut told = sized::<turnlock_acquired>();
        // SAFETY: an open handle, and a place for the notice.
        assert_eq!(unsafe { turnlock_hold_finish_acquire(hold.handle, &mut told) }, TURNLOCK_OK);
        assert_eq!((token(&hold), told.previous_owner_died), (Ok(told.fencing_token), 0));
        assert_eq!(release(&hold), TURNLOCK_OK);
    }
    // It is readable whether it was asked for before or afterwards, and the same descriptor always.
    let number = |hold| std::os::fd::AsRawFd::as_raw_fd(&descriptor(hold));
    let (first, other) = (number(&hold), scene.hold());
    assert!(!can_be_finished(&hold));
    begun(&hold, &scene.of_mutex());
    begun(&other, &scene.of_permits(2));
    assert!(can_be_finished(&hold) && can_be_finished(&other) && number(&hold) == first);
    assert_eq!((finish(&hold), finish(&other)), (TURNLOCK_OK, TURNLOCK_OK));
    assert!(!can_be_finished(&hold) && !can_be_finished(&other) && number(&hold) == first);
    assert_eq!((release(&hold), release(&other)), (TURNLOCK_OK, TURNLOCK_OK));
    // By a hold that begins and by one that waits in its call, alternately.
    assert_eq!((acquire(&hold, &scene.of_mutex()), release(&hold)), (TURNLOCK_OK, TURNLOCK_OK));
    begun(&hold, &scene.of_mutex());
    assert_eq!((finish(&hold), release(&hold)), (TURNLOCK_OK, TURNLOCK_OK));
}

pub fn each_kind_is_waited_for_by_a_descriptor() {
    let scene = Scene::new();
    let (ranges, keys) = ([range(5, 9)], [key("a")]);
    let ring = turnlock_request { lock: scene.ring.handle.cast(), ..sized() };
    for request in [
        scene.of_mutex(),
        scene.of_rwlock(TURNLOCK_MODE_EXCLUSIVE),
        scene.of_rwlock(TURNLOCK_MODE_UPGRADABLE),
        scene.of_permits(5),
        scene.of_ranges(&ranges),
        scene.of_keys(&keys),
        ring,
    ] {
        let (holder, waits) = (scene.hold(), scene.hold());
        assert_eq!(acquire(&holder, &request), TURNLOCK_OK);
        begun(&waits, &request);
        assert_eq!(finish(&waits), TURNLOCK_ERROR_WOULD_BLOCK);
        assert!(!can_be_finished(&waits));
        elsewhere(|| assert_eq!(release(&holder), TURNLOCK_OK));
        assert_eq!(finished(&waits), TURNLOCK_OK);
        assert!(token(&waits).is_ok());
        elsewhere(|| assert_eq!(release(&waits), TURNLOCK_OK));
    }
    // Readers together, and an upgrade of what was begun.
    let (reader, candidate) = (scene.hold(), scene.hold());
    begun(&reader, &scene.of_rwlock(TURNLOCK_MODE_SHARED));
    begun(&candidate, &scene.of_rwlock(TURNLOCK_MODE_UPGRADABLE));
    assert_eq!((finish(&reader), finish(&candidate)), (TURNLOCK_OK, TURNLOCK_OK));
    assert_eq!(release(&reader), TURNLOCK_OK);
    // SAFETY: an open handle.
    let upgraded =
        unsafe { turnlock_hold_upgrade(candidate.handle, TURNLOCK_WAIT_NEVER, 0, ptr::null_mut()) };
    assert_eq!((upgraded, release(&candidate)), (TURNLOCK_OK, TURNLOCK_OK));
}

pub fn several_ranges_or_keys_are_waited_for_by_a_descriptor() {
    let scene = Scene::new();
    let (holder, waits) = (scene.hold(), scene.hold());
    for _ in 0..3 {
        let one = [range(12, 13)];
        assert_eq!(acquire(&holder, &scene.of_ranges(&one)), TURNLOCK_OK);
        {
            let wanted = [range(20, 30), range(10, 15), range(0, 5)];
            begun(&waits, &scene.of_ranges(&wanted));
        }
        // One that overlaps none of them is not behind them.
        let beside = scene.hold();
        let free = [range(100, 200)];
        begun(&beside, &scene.of_ranges(&free));
        assert_eq!((finish(&beside), release(&beside)), (TURNLOCK_OK, TURNLOCK_OK));
        assert_eq!(finish(&waits), TURNLOCK_ERROR_WOULD_BLOCK);
        assert_eq!(release(&holder), TURNLOCK_OK);
        assert_eq!(finished(&waits), TURNLOCK_OK);
        assert_eq!(scene.holders(&scene.of_ranges(&[])), 3);
        assert_eq!(release(&waits), TURNLOCK_OK);
        let keys = [key("b"), key("a")];
        assert_eq!(acquire(&holder, &scene.of_keys(&keys[1..])), TURNLOCK_OK);
        begun(&waits, &scene.of_keys(&keys));
        until("it waits", || scene.waiting("keys") == 1);
        assert_eq!(cancel(&waits), TURNLOCK_OK);
        assert_eq!(scene.holders(&scene.of_keys(&[])), 1);
        assert_eq!(release(&holder), TURNLOCK_OK);
        begun(&waits, &scene.of_keys(&keys));
        assert_eq!((finished(&waits), release(&waits)), (TURNLOCK_OK, TURNLOCK_OK));
    }
}

pub fn those_of_one_process_are_served_in_the_order_in_which_they_began() {
    let scene = Scene::new();
    let holds: Vec<_> = (0..5).map(|_| scene.hold()).collect();
    let first = scene.hold();
    assert_eq!(acquire(&first, &scene.of_mutex()), TURNLOCK_OK);
    holds.iter().for_each(|hold| begun(hold, &scene.of_mutex()));
    let mut before = &first;
    for (at, hold) in holds.iter().enumerate() {
        assert_eq!(release(before), TURNLOCK_OK);
        assert_eq!(finished(hold), TURNLOCK_OK);
        assert!(holds[at + 1..].iter().all(|later| !can_be_finished(later)));
        before = hold;
    }
    assert_eq!(release(before), TURNLOCK_OK);
}

pub fn until_it_is_finished_the_hold_is_busy() {
    let scene = Scene::new();
    let (holder, hold) = (scene.hold(), scene.hold());
    for waits in [true, false] {
        if waits {
            assert_eq!(acquire(&holder, &scene.of_mutex()), TURNLOCK_OK);
        }
        begun(&hold, &scene.of_mutex());
        for _ in 0..2 {
            assert_eq!(begin(&hold, &scene.of_mutex()), TURNLOCK_ERROR_HOLD_BUSY);
            assert_eq!(acquire(&hold, &scene.of_permits(1)), TURNLOCK_ERROR_HOLD_BUSY);
            // SAFETY: an open handle that no other thread uses.
            assert_eq!(unsafe { turnlock_hold_close(hold.handle) }, TURNLOCK_ERROR_HOLD_BUSY);
            for act in [turnlock_hold_abandon, turnlock_hold_mark_consistent, turnlock_hold_is_contended] {
                elsewhere(|| assert_eq!(call(&hold, act), TURNLOCK_ERROR_HOLD_BUSY));
            }
            elsewhere(|| assert_eq!(release(&hold), TURNLOCK_ERROR_HOLD_BUSY));
            assert_eq!(token(&hold), Err(TURNLOCK_ERROR_HOLD_BUSY));
        }
        if waits {
            assert_eq!(release(&holder), TURNLOCK_OK);
        }
        assert_eq!(finished(&hold), TURNLOCK_OK);
        assert_eq!(begin(&hold, &scene.of_mutex()), TURNLOCK_ERROR_DEADLOCK);
        assert_eq!(begin(&hold, &scene.of_permits(1)), TURNLOCK_ERROR_STILL_HELD);
        assert_eq!(release(&hold), TURNLOCK_OK);
    }
}

pub fn what_is_taken_back_is_not_held_and_leaves_the_queue() {
    let scene = Scene::new();
    let (path, holder) = (scene.place.lock_file(), scene.hold());
    let (hold, behind) = (scene.hold(), scene.hold());
    let nothing = (TURNLOCK_ERROR_NOT_OWNER, TURNLOCK_ERROR_INVALID_ARGUMENT);
    assert_eq!(cancel(&hold), TURNLOCK_OK, "none was begun");
    // It was acquired at once.
    begun(&hold, &scene.of_mutex());
    assert_eq!(cancel(&hold), TURNLOCK_OK);
    assert_eq!((release(&hold), finish(&hold)), nothing);
    assert!(!can_be_finished(&hold));
    assert_eq!(acquire(&holder, &scene.of_mutex()), TURNLOCK_OK);
    // It waits at the head of the line, and behind it.
    begun(&hold, &scene.of_mutex());
    begun(&behind, &scene.of_mutex());
    until_waiting(&path, "mutex", 1);
    assert_eq!((cancel(&behind), cancel(&hold)), (TURNLOCK_OK, TURNLOCK_OK));
    assert_eq!(scene.waiting("mutex"), 0);
    assert_eq!((release(&hold), finish(&hold)), nothing);
    // It was acquired, and is not finished yet.
    begun(&hold, &scene.of_mutex());
    assert_eq!(release(&holder), TURNLOCK_OK);
    assert!(is_readable(&descriptor(&hold), of_processes()));
    assert_eq!(cancel(&hold), TURNLOCK_OK);
    assert!(!can_be_finished(&hold));
    assert_eq!((release(&hold), finish(&hold)), nothing);
    // At any moment of all that.
    for round in 0..500u64 {
        assert_eq!(acquire(&holder, &scene.of_mutex()), TURNLOCK_OK);
        begun(&hold, &scene.of_mutex());
        begun(&behind, &scene.of_mutex());
        thread::scope(|threads| {
            threads.spawn(|| {
                (0..round * 7 % 3_000).for_each(|_| std::hint::spin_loop());
                assert_eq!(release(&holder), TURNLOCK_OK);
            });
            (0..round * 11 % 3_000).for_each(|_| std::hint::spin_loop());
            assert_eq!(cancel(&hold), TURNLOCK_OK);
        });
        assert_eq!(release(&hold), TURNLOCK_ERROR_NOT_OWNER);
        assert_eq!((finished(&behind), release(&behind)), (TURNLOCK_OK, TURNLOCK_OK));
    }
}

pub fn a_wait_that_was_begun_ends_by_its_limit_or_a_cancel() {
    let scene = Scene::new();
    let (holder, first, hold) = (scene.hold(), scene.hold(), scene.hold());
    let mutex = scene.of_mutex();
    assert_eq!(acquire(&holder, &mutex), TURNLOCK_OK);
    let never = turnlock_request { wait: TURNLOCK_WAIT_NEVER, ..mutex };
    assert_eq!(begin(&hold, &never), TURNLOCK_ERROR_WOULD_BLOCK);
    let limited = turnlock_request { wait: TURNLOCK_WAIT_AT_MOST, time_ns: 3_000_000, ..mutex };
    let over = turnlock_request { wait: TURNLOCK_WAIT_UNTIL, time_ns: 1, ..mutex };
    assert_eq!(begin(&hold, &over), TURNLOCK_ERROR_TIMED_OUT);
    for first_waits in [false, true] {
        if first_waits {
            begun(&first, &mutex);
        }
        begun(&hold, &limited);
        assert_eq!(finished(&hold), TURNLOCK_ERROR_TIMED_OUT);
        let holder = format!("process {}", std::process::id());
        assert!(last_message().contains(&holder), "{}", last_message());
        assert_eq!(
            (release(&hold), finish(&hold)),
            (TURNLOCK_ERROR_NOT_OWNER, TURNLOCK_ERROR_INVALID_ARGUMENT)
        );
        begun(&hold, &mutex);
        assert_eq!(elsewhere(|| call(&hold, turnlock_hold_cancel)), TURNLOCK_OK);
        assert_eq!(finished(&hold), TURNLOCK_ERROR_CANCELLED);
        // One that came before.
        assert_eq!(call(&hold, turnlock_hold_cancel), TURNLOCK_OK);
        if !first_waits {
            begun(&hold, &mutex);
            assert_eq!(finished(&hold), TURNLOCK_ERROR_CANCELLED);
        }
        assert_eq!(call(&hold, turnlock_hold_clear_cancel), TURNLOCK_OK);
    }
    // Neither a limit nor a cancel that came too late is left for the next wait.
    for _ in 0..50 {
        begun(&hold, &turnlock_request { time_ns: 30_000, ..limited });
        assert_eq!(finished(&hold), TURNLOCK_ERROR_TIMED_OUT);
    }
    begun(&hold, &mutex);
    assert_eq!(release(&holder), TURNLOCK_OK);
    assert_eq!((finished(&first), release(&first)), (TURNLOCK_OK, TURNLOCK_OK));
    assert_eq!((finished(&hold), release(&hold)), (TURNLOCK_OK, TURNLOCK_OK));
    begun(&hold, &limited);
    assert_eq!((finish(&hold), release(&hold)), (TURNLOCK_OK, TURNLOCK_OK));
}

pub fn a_death_that_was_not_seen_is_told_to_the_next() {
    let scene = Scene::new();
    let (dead, hold) = (scene.hold(), scene.hold());
    assert_eq!(acquire(&dead, &scene.of_mutex()), TURNLOCK_OK);
    begun(&hold, &scene.of_mutex());
    assert_eq!(call(&dead, turnlock_hold_abandon), TURNLOCK_OK);
    assert!(is_readable(&descriptor(&hold), of_processes()));
    assert_eq!(cancel(&hold), TURNLOCK_OK);
    // Once more, acquired at once.
    begun(&hold, &scene.of_mutex());
    assert_eq!(cancel(&hold), TURNLOCK_OK);
    begun(&hold, &scene.of_mutex());
    let mut told = sized::<turnlock_acquired>();
    // SAFETY: an open handle, and a place for the notice.
    assert_eq!(unsafe { turnlock_hold_finish_acquire(hold.handle, &mut told) }, TURNLOCK_OWNER_DEAD);
    assert_eq!(told.previous_owner_died, 1);
    assert_eq!(call(&hold, turnlock_hold_mark_consistent), TURNLOCK_OK);
    assert_eq!(release(&hold), TURNLOCK_OK);
}

pub fn what_cannot_be_begun_is_refused_at_once() {
    let scene = Scene::new();
    let hold = scene.hold();
    let invalid = TURNLOCK_ERROR_INVALID_ARGUMENT;
    assert_eq!(finish(&hold), invalid);
    assert!(last_message().contains("begin one first"), "{}", last_message());
    let (mutex, empty) = (scene.of_mutex(), [range(5, 5)]);
    for (request, status) in [
        (turnlock_request { size: 0, ..mutex }, invalid),
        (turnlock_request { lock: ptr::null(), ..mutex }, invalid),
        (turnlock_request { wait: 9, ..mutex }, invalid),
        (turnlock_request { mode: TURNLOCK_MODE_SHARED, ..mutex }, invalid),
        (scene.of_ranges(&empty), TURNLOCK_ERROR_EMPTY_RANGE),
        (scene.of_permits(6), TURNLOCK_ERROR_PERMITS),
    ] {
        assert_eq!(begin(&hold, &request), status);
        assert_eq!(finish(&hold), invalid, "nothing was begun");
    }
    // SAFETY: open handles, or NULL, and places that are NULL or none.
    unsafe {
        assert_eq!(turnlock_hold_begin_acquire(hold.handle, ptr::null()), invalid);
        assert_eq!(turnlock_hold_begin_acquire(ptr::null(), &mutex), invalid);
        assert_eq!(turnlock_hold_finish_acquire(ptr::null(), ptr::null_mut()), invalid);
        assert_eq!(turnlock_hold_cancel_acquire(ptr::null()), invalid);
        assert_eq!(turnlock_hold_fd(hold.handle, ptr::null_mut()), invalid);
        let mut descriptor = -7;
        assert_eq!(turnlock_hold_fd(ptr::null(), &mut descriptor), invalid);
        let mut told = turnlock_acquired { size: 3, ..sized() };
        begun(&hold, &mutex);
        assert_eq!(turnlock_hold_finish_acquire(hold.handle, &mut told), invalid);
        assert!(last_message().contains("struct to be filled in is 3"), "{}", last_message());
        assert_eq!((finish(&hold), release(&hold)), (TURNLOCK_OK, TURNLOCK_OK));
        let closed = scene.hold();
        assert_eq!(turnlock_hold_close(closed.handle), TURNLOCK_OK);
        assert_eq!(turnlock_hold_fd(closed.handle, &mut descriptor), TURNLOCK_ERROR_CLOSED);
        assert_eq!(begin(&closed, &mutex), TURNLOCK_ERROR_CLOSED);
        assert_eq!((finish(&closed), cancel(&closed)), (TURNLOCK_ERROR_CLOSED, TURNLOCK_ERROR_CLOSED));
        assert_eq!(descriptor, -7, "outputs are written only on success");
    }
    let of_thread = current_hold(&scene.file).unwrap();
    assert_eq!(begin(&of_thread, &mutex), invalid);
    assert!(last_message().contains("which is only for cancelling"), "{}", last_message());
    let elsewhere = Scene::new();
    assert_eq!(begin(&elsewhere.hold(), &mutex), invalid);
}

pub fn what_was_begun_and_released_is_not_finished() {
    let scene = Scene::new();
    let hold = scene.hold();
    // Its thread is at home, and may be on the fast path.
    for _ in 0..20 {
        assert_eq!((acquire(&hold, &scene.of_mutex()), release(&hold)), (TURNLOCK_OK, TURNLOCK_OK));
    }
    begun(&hold, &scene.of_mutex());
    let came = match release(&hold) {
        TURNLOCK_OK => TURNLOCK_ERROR_NOT_OWNER,
        released => {
            assert_eq!(released, TURNLOCK_ERROR_HOLD_BUSY);
            TURNLOCK_OK
        }
    };
    assert_eq!(finish(&hold), came);
    let released = if came == TURNLOCK_OK { TURNLOCK_OK } else { TURNLOCK_ERROR_NOT_OWNER };
    assert_eq!(release(&hold), released);
    assert_eq!((acquire(&hold, &scene.of_mutex()), release(&hold)), (TURNLOCK_OK, TURNLOCK_OK));
}

pub fn handles_may_be_closed_while_it_waits() {
    let scene = Scene::new();
    let holder = scene.hold();
    let mutex = open_mutex(&scene.file, c"another").unwrap();
    let request = turnlock_request { lock: mutex.handle.cast(), ..sized() };
    assert_eq!(acquire(&holder, &request), TURNLOCK_OK);
    let hold = open_hold(&scene.file).unwrap();
    begun(&hold, &request);
    drop(mutex);
    assert_eq!(release(&holder), TURNLOCK_OK);
    assert_eq!((finished(&hold), release(&hold)), (TURNLOCK_OK, TURNLOCK_OK));
}
