//! Holds and their requests, through the C ABI: what there is beside the promises that every lock keeps.

use crate::c_handles::{Owned, current_hold, last_message, open_file, open_hold, open_mutex, opened, sized};
use std::{ffi::CStr, mem::offset_of, ptr, thread, time::Duration};
use support::{NoHang, Place, elsewhere, join, until};
use turnlock::{capi::*, inspect, status::*};

/// A file with a lock of each kind.
pub struct Scene {
    _no_hang: NoHang,
    pub mutex: Owned<turnlock_mutex>,
    pub rwlock: Owned<turnlock_rwlock>,
    pub semaphore: Owned<turnlock_semaphore>,
    pub ranges: Owned<turnlock_rangelock>,
    pub keys: Owned<turnlock_keyedlock>,
    pub ring: Owned<turnlock_ring>,
    pub file: Owned<turnlock_file>,
    pub place: Place,
}

impl Scene {
    pub fn new() -> Self {
        let place = Place::new();
        let file = open_file(&place.lock_file(), 32, 8).unwrap();
        let name = |name: &'static CStr| name.as_ptr();
        let mutex = open_mutex(&file, c"mutex").unwrap();
        // SAFETY: a file handle, a C string, NULL or options of the right size, and a place for the handle.
        let rwlock = opened(turnlock_rwlock_close, |lock| unsafe {
            turnlock_rwlock_open(file.handle, name(c"rwlock"), ptr::null(), lock)
        });
        let options = turnlock_semaphore_options { permits: 5, ..sized() };
        // SAFETY: a file handle, a C string, NULL or options of the right size, and a place for the handle.
        let semaphore = opened(turnlock_semaphore_close, |lock| unsafe {
            turnlock_semaphore_open(file.handle, name(c"semaphore"), &options, lock)
        });
        // SAFETY: a file handle, a C string, NULL or options of the right size, and a place for the handle.
        let ranges = opened(turnlock_rangelock_close, |lock| unsafe {
            turnlock_rangelock_open(file.handle, name(c"ranges"), ptr::null(), lock)
        });
        // SAFETY: a file handle, a C string, NULL or options of the right size, and a place for the handle.
        let keys = opened(turnlock_keyedlock_close, |lock| unsafe {
            turnlock_keyedlock_open(file.handle, name(c"keys"), ptr::null(), lock)
        });
        let options = turnlock_ring_options { flags: TURNLOCK_RING_MEMBER, ..sized() };
        // SAFETY: a file handle, a C string, NULL or options of the right size, and a place for the handle.
        let ring = opened(turnlock_ring_close, |lock| unsafe {
            turnlock_ring_open(file.handle, name(c"ring"), &options, lock)
        });
        let (rwlock, semaphore) = (rwlock.unwrap(), semaphore.unwrap());
        let (ranges, keys, ring) = (ranges.unwrap(), keys.unwrap(), ring.unwrap());
        Self { _no_hang: NoHang::for_seconds(60), mutex, rwlock, semaphore, ranges, keys, ring, file, place }
    }

    pub fn hold(&self) -> Owned<turnlock_hold> {
        open_hold(&self.file).unwrap()
    }

    pub fn of_mutex(&self) -> turnlock_request {
        turnlock_request { lock: self.mutex.handle.cast(), ..sized() }
    }

    pub fn of_rwlock(&self, mode: u32) -> turnlock_request {
        turnlock_request { lock: self.rwlock.handle.cast(), mode, ..sized() }
    }

    pub fn of_permits(&self, permits: u32) -> turnlock_request {
        turnlock_request { lock: self.semaphore.handle.cast(), permits, ..sized() }
    }

    pub fn of_ranges(&self, ranges: &[turnlock_range]) -> turnlock_request {
        let (first, range_count) = (ranges.as_ptr(), ranges.len());
        turnlock_request { lock: self.ranges.handle.cast(), ranges: first, range_count, ..sized() }
    }

    pub fn of_keys(&self, keys: &[turnlock_key]) -> turnlock_request {
        let (first, key_count) = (keys.as_ptr(), keys.len());
        turnlock_request { lock: self.keys.handle.cast(), keys: first, key_count, ..sized() }
    }

    /// How many hold the lock of this request.
    pub fn holders(&self, request: &turnlock_request) -> usize {
        let mut count = usize::MAX;
        // SAFETY: an open handle, and a place for the number.
        assert_eq!(
            // SAFETY: as above.
            unsafe { turnlock_lock_holders(request.lock, 0, ptr::null_mut(), &mut count) },
            TURNLOCK_OK
        );
        count
    }

    pub fn slots(&self) -> usize {
        inspect::snapshot(self.place.lock_file()).unwrap().participants.len()
    }

    pub fn waiting(&self, name: &str) -> usize {
        support::queue_at(&self.place.lock_file(), name).len()
    }
}

pub fn range(start: u64, end: u64) -> turnlock_range {
    turnlock_range { start, end }
}

pub fn key(key: &str) -> turnlock_key {
    turnlock_key { data: key.as_ptr().cast(), size: key.len() }
}

pub fn acquire(hold: &Owned<turnlock_hold>, request: &turnlock_request) -> i32 {
    // SAFETY: an open handle, and a request whose lock is open and whose parts are there.
    unsafe { turnlock_hold_acquire(hold.handle, request, ptr::null_mut()) }
}

pub fn acquired(hold: &Owned<turnlock_hold>, request: &turnlock_request) -> (i32, turnlock_acquired) {
    let mut told = sized::<turnlock_acquired>();
    // SAFETY: as in `acquire`, and a place for the notice.
    (unsafe { turnlock_hold_acquire(hold.handle, request, &mut told) }, told)
}

pub fn attempt(hold: &Owned<turnlock_hold>, request: &turnlock_request) -> i32 {
    acquire(hold, &turnlock_request { wait: TURNLOCK_WAIT_NEVER, ..*request })
}

pub fn call(hold: &Owned<turnlock_hold>, act: unsafe extern "C" fn(*const turnlock_hold) -> i32) -> i32 {
    // SAFETY: an open handle.
    unsafe { act(hold.handle) }
}

pub fn release(hold: &Owned<turnlock_hold>) -> i32 {
    call(hold, turnlock_hold_release)
}

pub fn token(hold: &Owned<turnlock_hold>) -> Result<u64, i32> {
    let mut token = 0;
    // SAFETY: an open handle, and a place for the token.
    match unsafe { turnlock_hold_fencing_token(hold.handle, &mut token) } {
        TURNLOCK_OK => Ok(token),
        failure => Err(failure),
    }
}

pub fn several_ranges_are_one_acquisition() {
    let scene = Scene::new();
    let (hold, other) = (scene.hold(), scene.hold());
    for _ in 0..3 {
        let wanted = [range(50, TURNLOCK_RANGE_END), range(10, 20), range(0, 5), range(15, 30)];
        let request = scene.of_ranges(&wanted);
        let (status, told) = acquired(&hold, &request);
        assert_eq!(status, TURNLOCK_OK, "{}", last_message());
        assert_eq!(scene.holders(&request), 3, "those that overlap are one");
        assert_eq!(token(&hold), Ok(told.fencing_token));
        let largest = inspect::snapshot(scene.place.lock_file()).unwrap();
        let largest = largest.locks.iter().find(|lock| lock.name == "ranges").unwrap();
        assert_eq!(largest.holders.iter().map(|one| one.fencing_token).max(), Some(told.fencing_token));
        for (start, end, free) in
            [(0, 1, false), (5, 10, true), (29, 30, false), (30, 50, true), (99, 100, false)]
        {
            let told = attempt(&other, &scene.of_ranges(&[range(start, end)]));
            assert_eq!(told == TURNLOCK_OK, free, "{start}..{end}: {told}");
            assert_eq!(release(&other) == TURNLOCK_OK, free);
        }
        assert_eq!(call(&hold, turnlock_hold_is_contended), TURNLOCK_OK);
        elsewhere(|| assert_eq!(release(&hold), TURNLOCK_OK));
        assert_eq!(scene.holders(&request), 0);
        assert_eq!((release(&hold), token(&hold)), (TURNLOCK_ERROR_NOT_OWNER, Err(TURNLOCK_ERROR_NOT_OWNER)));
    }
}

pub fn several_keys_are_one_acquisition() {
    let scene = Scene::new();
    let (hold, other) = (scene.hold(), scene.hold());
    let all = [key("a"), key("b"), key("a"), turnlock_key { data: ptr::null(), size: 0 }];
    for mode in [TURNLOCK_MODE_EXCLUSIVE, TURNLOCK_MODE_SHARED] {
        let request = turnlock_request { mode, ..scene.of_keys(&all) };
        assert_eq!(acquire(&hold, &request), TURNLOCK_OK, "{}", last_message());
        assert_eq!(scene.holders(&request), 3, "the same one twice is one");
        for (wanted, free) in [("a", false), ("b", false), ("", false), ("c", true)] {
            let wanted = [key(wanted)];
            let exclusive = attempt(&other, &scene.of_keys(&wanted));
            assert_eq!(exclusive == TURNLOCK_OK, free, "{exclusive}");
            release(&other);
            let shared = turnlock_request { mode: TURNLOCK_MODE_SHARED, ..scene.of_keys(&wanted) };
            assert_eq!(attempt(&other, &shared) == TURNLOCK_OK, free || mode == TURNLOCK_MODE_SHARED);
            release(&other);
        }
        assert_eq!(release(&hold), TURNLOCK_OK);
        assert_eq!(scene.holders(&request), 0);
    }
}

pub fn two_threads_that_take_the_same_parts_in_another_order_do_not_wait_for_each_other() {
    const ROUNDS: u32 = 300;
    let scene = Scene::new();
    let orders = [[key("a"), key("b"), key("c")], [key("c"), key("a"), key("b")]];
    let (all, whole) = ([range(0, 5), range(10, 15)], [range(0, 20)]);
    thread::scope(|threads| {
        for order in &orders {
            // Pointers do not go from thread to thread by themselves.
            let order = order.map(|one| (one.data.expose_provenance(), one.size));
            let scene = &scene;
            threads.spawn(move || {
                let order =
                    order.map(|(data, size)| turnlock_key { data: ptr::with_exposed_provenance(data), size });
                let hold = scene.hold();
                for _ in 0..ROUNDS {
                    assert_eq!(acquire(&hold, &scene.of_keys(&order)), TURNLOCK_OK, "{}", last_message());
                    assert_eq!(release(&hold), TURNLOCK_OK);
                }
            });
        }
        // And one that wants all in one piece, beside one that wants two of it.
        for wanted in [&all[..], &whole] {
            let scene = &scene;
            threads.spawn(move || {
                let hold = scene.hold();
                for _ in 0..ROUNDS {
                    assert_eq!(acquire(&hold, &scene.of_ranges(wanted)), TURNLOCK_OK, "{}", last_message());
                    assert_eq!(release(&hold), TURNLOCK_OK);
                }
            });
        }
    });
}

pub fn parts_that_cannot_all_be_had_are_not_held() {
    let scene = Scene::new();
    let (hold, other) = (scene.hold(), scene.hold());
    assert_eq!(acquire(&other, &scene.of_ranges(&[range(10, 11)])), TURNLOCK_OK);
    let wanted = [range(0, 5), range(10, 15), range(20, 25)];
    let request = scene.of_ranges(&wanted);
    assert_eq!(attempt(&hold, &request), TURNLOCK_ERROR_WOULD_BLOCK);
    assert_eq!(scene.holders(&request), 1);
    let limited = turnlock_request { wait: TURNLOCK_WAIT_AT_MOST, time_ns: 60_000_000, ..request };
    assert_eq!(acquire(&hold, &limited), TURNLOCK_ERROR_TIMED_OUT);
    assert_eq!((scene.holders(&request), scene.waiting("ranges")), (1, 0));
    assert_eq!((release(&hold), release(&other)), (TURNLOCK_ERROR_NOT_OWNER, TURNLOCK_OK));
    assert_eq!(attempt(&hold, &request), TURNLOCK_OK);
    assert_eq!(release(&hold), TURNLOCK_OK);
}

pub fn a_wait_for_several_parts_is_cancelled() {
    let scene = Scene::new();
    let (hold, other) = (scene.hold(), scene.hold());
    // The last one in order: those before it are held when it is waited for first.
    assert_eq!(acquire(&other, &scene.of_ranges(&[range(20, 21)])), TURNLOCK_OK);
    thread::scope(|threads| {
        let waits = threads.spawn(|| {
            let wanted = [range(0, 5), range(10, 15), range(20, 25)];
            acquire(&hold, &scene.of_ranges(&wanted))
        });
        until("a thread waits", || scene.waiting("ranges") == 1);
        assert_eq!(call(&hold, turnlock_hold_cancel), TURNLOCK_OK);
        assert_eq!(join(waits), TURNLOCK_ERROR_CANCELLED);
    });
    assert_eq!((scene.holders(&scene.of_ranges(&[])), scene.waiting("ranges")), (1, 0));
    assert_eq!(release(&other), TURNLOCK_OK);
}

pub fn a_hold_has_one_acquisition_at_a_time() {
    let scene = Scene::new();
    let hold = scene.hold();
    let one_range = [range(0, 1)];
    let all = [
        scene.of_mutex(),
        scene.of_rwlock(TURNLOCK_MODE_SHARED),
        scene.of_permits(1),
        scene.of_ranges(&one_range),
    ];
    for first in &all {
        // The second time by the fast path, if there is one.
        for _ in 0..2 {
            assert_eq!(acquire(&hold, first), TURNLOCK_OK);
            for second in &all {
                let same = ptr::eq(first, second);
                let expected = if same { TURNLOCK_ERROR_DEADLOCK } else { TURNLOCK_ERROR_STILL_HELD };
                assert_eq!(acquire(&hold, second), expected);
                elsewhere_status(&hold, second, expected);
            }
            // SAFETY: an open handle that no other thread uses.
            assert_eq!(unsafe { turnlock_hold_close(hold.handle) }, TURNLOCK_ERROR_STILL_HELD);
            assert!(last_message().contains("release that first"), "{}", last_message());
            assert_eq!(release(&hold), TURNLOCK_OK);
        }
    }
}

fn elsewhere_status(hold: &Owned<turnlock_hold>, request: &turnlock_request, expected: i32) {
    struct Request<'a>(&'a turnlock_request);
    // SAFETY: it is only read, and the C ABI says that any thread may use its handles.
    unsafe impl Sync for Request<'_> {}
    let request = &Request(request);
    elsewhere(|| {
        let Request(request) = request;
        assert_eq!(acquire(hold, request), expected);
    });
}

pub fn while_one_thread_waits_by_it_a_hold_is_busy() {
    let scene = Scene::new();
    let (hold, holder) = (scene.hold(), scene.hold());
    assert_eq!(acquire(&holder, &scene.of_mutex()), TURNLOCK_OK);
    thread::scope(|threads| {
        let waits = threads.spawn(|| acquire(&hold, &scene.of_mutex()));
        until("a thread waits", || scene.waiting("mutex") == 1);
        for request in [scene.of_mutex(), scene.of_permits(1)] {
            assert_eq!(attempt(&hold, &request), TURNLOCK_ERROR_HOLD_BUSY);
            assert_eq!(acquire(&hold, &request), TURNLOCK_ERROR_HOLD_BUSY);
        }
        assert_eq!(release(&hold), TURNLOCK_ERROR_HOLD_BUSY);
        // SAFETY: an open handle.
        assert_eq!(unsafe { turnlock_hold_close(hold.handle) }, TURNLOCK_ERROR_HOLD_BUSY);
        // A hint: not before the waiter is queued for good.
        until("it is contended", || call(&holder, turnlock_hold_is_contended) == TURNLOCK_CONTENDED);
        assert_eq!(release(&holder), TURNLOCK_OK);
        assert_eq!(join(waits), TURNLOCK_OK);
    });
    // What one thread has acquired another one releases, and acquires anew.
    assert_eq!(release(&hold), TURNLOCK_OK);
    assert_eq!(attempt(&hold, &scene.of_mutex()), TURNLOCK_OK);
    assert_eq!(release(&hold), TURNLOCK_OK);
}

pub fn while_it_waits_for_an_upgrade_a_hold_is_busy() {
    let scene = Scene::new();
    let (hold, reader) = (scene.hold(), scene.hold());
    assert_eq!(acquire(&hold, &scene.of_rwlock(TURNLOCK_MODE_UPGRADABLE)), TURNLOCK_OK);
    assert_eq!(attempt(&reader, &scene.of_rwlock(TURNLOCK_MODE_SHARED)), TURNLOCK_OK);
    thread::scope(|threads| {
        let upgraded = &hold;
        let waits = threads.spawn(|| {
            // SAFETY: an open handle.
            unsafe { turnlock_hold_upgrade(upgraded.handle, TURNLOCK_WAIT_FOREVER, 0, ptr::null_mut()) }
        });
        until("it waits", || call(&reader, turnlock_hold_is_contended) == TURNLOCK_CONTENDED);
        // So often that there is no time for a wait in each.
        for _ in 0..100 {
            assert_eq!(release(&hold), TURNLOCK_ERROR_HOLD_BUSY);
        }
        assert_eq!(release(&reader), TURNLOCK_OK);
        assert_eq!(join(waits), TURNLOCK_OK);
    });
    assert_eq!(release(&hold), TURNLOCK_OK);
}

pub fn what_a_hold_does_is_recorded() {
    use inspect::Event::{Acquired, Asked, Released};
    let place = Place::new();
    // Rust creates it, since the scene's file has no recording.
    let recorded = turnlock::LockFile::options().recorded_events(1024).open(place.lock_file()).unwrap();
    let file = open_file(&place.lock_file(), 0, 0).unwrap();
    let (mutex, hold) = (open_mutex(&file, c"mutex").unwrap(), open_hold(&file).unwrap());
    let request = turnlock_request { lock: mutex.handle.cast(), ..sized() };
    for _ in 0..20 {
        assert_eq!(acquire(&hold, &request), TURNLOCK_OK);
        assert_eq!(release(&hold), TURNLOCK_OK);
    }
    let seen = inspect::recording(place.lock_file()).unwrap().expect("it was created with a recording");
    let events: Vec<_> = seen.events.iter().map(|event| event.event).collect();
    let told: Vec<_> = events.iter().filter(|event| [Asked, Acquired, Released].contains(event)).collect();
    assert!(told.chunks(3).all(|round| round == [&Asked, &Acquired, &Released]), "{events:?}");
    assert_eq!(told.len(), 60);
    drop(recorded);
}

pub fn what_is_held_is_upgraded_and_downgraded_by_any_thread() {
    let scene = Scene::new();
    let (hold, reader) = (scene.hold(), scene.hold());
    let upgraded = &hold;
    let upgrade = |wait, time_ns| {
        let mut told = sized::<turnlock_acquired>();
        // SAFETY: an open handle, and a place for the notice.
        let status = unsafe { turnlock_hold_upgrade(upgraded.handle, wait, time_ns, &mut told) };
        (status, told.fencing_token)
    };
    // SAFETY: an open handle.
    let downgrade = |mode| unsafe { turnlock_hold_downgrade(upgraded.handle, mode) };
    assert_eq!(upgrade(0, 0).0, TURNLOCK_ERROR_NOT_OWNER);
    assert_eq!(acquire(&hold, &scene.of_rwlock(TURNLOCK_MODE_UPGRADABLE)), TURNLOCK_OK);
    assert_eq!(attempt(&reader, &scene.of_rwlock(TURNLOCK_MODE_SHARED)), TURNLOCK_OK);
    elsewhere(|| {
        assert_eq!(upgrade(TURNLOCK_WAIT_NEVER, 0).0, TURNLOCK_ERROR_WOULD_BLOCK);
        assert_eq!(upgrade(TURNLOCK_WAIT_AT_MOST, 1_000_000).0, TURNLOCK_ERROR_TIMED_OUT);
        assert_eq!(upgrade(7, 0).0, TURNLOCK_ERROR_INVALID_ARGUMENT);
    });
    assert_eq!(release(&reader), TURNLOCK_OK);
    let (status, told) = elsewhere(|| upgrade(TURNLOCK_WAIT_FOREVER, 0));
    assert_eq!((status, token(&hold)), (TURNLOCK_OK, Ok(told)));
    assert_eq!(attempt(&reader, &scene.of_rwlock(TURNLOCK_MODE_SHARED)), TURNLOCK_ERROR_WOULD_BLOCK);
    for mode in [TURNLOCK_MODE_EXCLUSIVE, TURNLOCK_MODE_UPGRADING, 9] {
        assert_eq!(downgrade(mode), TURNLOCK_ERROR_INVALID_ARGUMENT);
    }
    elsewhere(|| assert_eq!(downgrade(TURNLOCK_MODE_SHARED), TURNLOCK_OK));
    assert_eq!(downgrade(TURNLOCK_MODE_SHARED), TURNLOCK_ERROR_NOT_UPGRADABLE);
    assert_eq!(upgrade(0, 0).0, TURNLOCK_ERROR_NOT_UPGRADABLE);
    assert_eq!(call(&hold, turnlock_hold_mark_consistent), TURNLOCK_ERROR_NOT_EXCLUSIVE);
    assert_eq!(attempt(&reader, &scene.of_rwlock(TURNLOCK_MODE_SHARED)), TURNLOCK_OK);
    assert_eq!((release(&reader), release(&hold)), (TURNLOCK_OK, TURNLOCK_OK));
    // Of another kind there is nothing to upgrade.
    assert_eq!(acquire(&hold, &scene.of_mutex()), TURNLOCK_OK);
    assert_eq!(upgrade(0, 0).0, TURNLOCK_ERROR_NOT_UPGRADABLE);
    assert_eq!(downgrade(TURNLOCK_MODE_SHARED), TURNLOCK_ERROR_NOT_UPGRADABLE);
    assert_eq!(release(&hold), TURNLOCK_OK);
}

pub fn what_is_not_held_has_no_owner_whatever_was_held_before() {
    let scene = Scene::new();
    let hold = scene.hold();
    let keys = [key("a")];
    for before in
        [scene.of_mutex(), scene.of_rwlock(TURNLOCK_MODE_SHARED), scene.of_permits(1), scene.of_keys(&keys)]
    {
        assert_eq!(acquire(&hold, &before), TURNLOCK_OK);
        assert_eq!(release(&hold), TURNLOCK_OK);
        // SAFETY: an open handle, and no place for a notice.
        let refused = unsafe {
            [
                turnlock_hold_release_permits(hold.handle, 1),
                turnlock_hold_upgrade(hold.handle, TURNLOCK_WAIT_NEVER, 0, ptr::null_mut()),
                turnlock_hold_downgrade(hold.handle, TURNLOCK_MODE_SHARED),
                turnlock_hold_mark_consistent(hold.handle),
                turnlock_hold_is_contended(hold.handle),
                turnlock_hold_abandon(hold.handle),
            ]
        };
        assert_eq!(refused, [TURNLOCK_ERROR_NOT_OWNER; 6]);
    }
}

pub fn permits_are_given_back_in_portions() {
    let scene = Scene::new();
    let (hold, other) = (scene.hold(), scene.hold());
    let taker = &hold;
    // SAFETY: an open handle.
    let give_back = |permits| unsafe { turnlock_hold_release_permits(taker.handle, permits) };
    assert_eq!(give_back(1), TURNLOCK_ERROR_NOT_OWNER);
    assert_eq!(acquire(&hold, &scene.of_permits(6)), TURNLOCK_ERROR_PERMITS);
    assert_eq!(acquire(&hold, &scene.of_permits(5)), TURNLOCK_OK);
    assert_eq!(
        (give_back(0), give_back(6)),
        (TURNLOCK_ERROR_INVALID_ARGUMENT, TURNLOCK_ERROR_TOO_MANY_RELEASED)
    );
    elsewhere(|| assert_eq!(give_back(2), TURNLOCK_OK));
    assert_eq!(attempt(&other, &scene.of_permits(3)), TURNLOCK_ERROR_WOULD_BLOCK);
    // None are one.
    assert_eq!(attempt(&other, &scene.of_permits(0)), TURNLOCK_OK);
    assert_eq!(release(&other), TURNLOCK_OK);
    assert_eq!((give_back(2), release(&hold)), (TURNLOCK_OK, TURNLOCK_OK));
    assert_eq!(give_back(1), TURNLOCK_ERROR_NOT_OWNER);
    assert_eq!(attempt(&other, &scene.of_permits(5)), TURNLOCK_OK);
    assert_eq!(release(&other), TURNLOCK_OK);
    assert_eq!(acquire(&hold, &scene.of_mutex()), TURNLOCK_OK);
    assert_eq!(give_back(1), TURNLOCK_ERROR_INVALID_ARGUMENT);
    assert_eq!(release(&hold), TURNLOCK_OK);
}

pub fn the_dead_ones_parts_are_marked_consistent_together() {
    let scene = Scene::new();
    let hold = scene.hold();
    let wanted = [range(0, 5), range(10, 15), range(20, 25)];
    let request = scene.of_ranges(&wanted);
    assert_eq!(acquire(&hold, &request), TURNLOCK_OK);
    assert_eq!(call(&hold, turnlock_hold_mark_consistent), TURNLOCK_ERROR_NOT_INCONSISTENT);
    assert_eq!(call(&hold, turnlock_hold_abandon), TURNLOCK_OK);
    assert_eq!(call(&hold, turnlock_hold_abandon), TURNLOCK_ERROR_NOT_OWNER);
    let (status, told) = acquired(&hold, &request);
    assert_eq!((status, told.previous_owner_died), (TURNLOCK_OWNER_DEAD, 1));
    assert_eq!(told.previous_owner_pid, std::process::id());
    assert_eq!(call(&hold, turnlock_hold_mark_consistent), TURNLOCK_OK);
    assert_eq!(call(&hold, turnlock_hold_mark_consistent), TURNLOCK_ERROR_NOT_INCONSISTENT);
    assert_eq!(release(&hold), TURNLOCK_OK);
    assert_eq!(acquire(&hold, &request), TURNLOCK_OK);
    assert_eq!(release(&hold), TURNLOCK_OK);
}

pub fn a_deadline_ends_the_wait() {
    let scene = Scene::new();
    let (hold, holder) = (scene.hold(), scene.hold());
    let now = || {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a place for the time.
        assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) }, 0);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    };
    let by = |time_ns| turnlock_request { wait: TURNLOCK_WAIT_UNTIL, time_ns, ..scene.of_mutex() };
    // What is free needs no time, what is not gets what is left.
    assert_eq!(acquire(&hold, &by(1)), TURNLOCK_OK);
    assert_eq!(release(&hold), TURNLOCK_OK);
    assert_eq!(acquire(&holder, &scene.of_mutex()), TURNLOCK_OK);
    assert_eq!(acquire(&hold, &by(1)), TURNLOCK_ERROR_TIMED_OUT);
    let deadline = now() + Duration::from_millis(40).as_nanos() as u64;
    assert_eq!(acquire(&hold, &by(deadline)), TURNLOCK_ERROR_TIMED_OUT);
    assert!(now() >= deadline, "not earlier");
    thread::scope(|threads| {
        let waits = threads.spawn(|| acquire(&hold, &by(u64::MAX)));
        until("a thread waits", || scene.waiting("mutex") == 1);
        assert_eq!(release(&holder), TURNLOCK_OK);
        assert_eq!(join(waits), TURNLOCK_OK);
    });
    assert_eq!(release(&hold), TURNLOCK_OK);
}

/// How long a request was before it had a group.
const BEFORE_GROUPS: usize = offset_of!(turnlock_request, group);

pub fn a_request_of_an_older_header_is_understood() {
    let scene = Scene::new();
    let hold = scene.hold();
    let request = turnlock_request { size: BEFORE_GROUPS, group: 7, ..scene.of_mutex() };
    for _ in 0..2 {
        assert_eq!(acquire(&hold, &request), TURNLOCK_OK);
        assert_eq!(release(&hold), TURNLOCK_OK);
    }
}

pub fn a_request_that_makes_no_sense_says_what_was_expected() {
    let scene = Scene::new();
    let hold = scene.hold();
    let (ranges, keys) = ([range(0, 1)], [key("a")]);
    let (mutex, rwlock) = (scene.of_mutex(), scene.of_rwlock(TURNLOCK_MODE_EXCLUSIVE));
    let (of_ranges, of_keys, permits) = (scene.of_ranges(&ranges), scene.of_keys(&keys), scene.of_permits(1));
    let ring = turnlock_request { lock: scene.ring.handle.cast(), ..sized() };
    for (request, why) in [
        (turnlock_request { size: 0, ..mutex }, "the size in the request is 0"),
        (turnlock_request { size: BEFORE_GROUPS - 8, ..mutex }, "the size in the request is"),
        (turnlock_request { size: 1 << 20, ..mutex }, "set it to sizeof"),
        (turnlock_request { flags: 1, ..mutex }, "leave flags 0"),
        (turnlock_request { wait: 4, ..mutex }, "TURNLOCK_WAIT_FOREVER is 0"),
        (turnlock_request { mode: 9, ..rwlock }, "the request's mode is 9"),
        (turnlock_request { mode: TURNLOCK_MODE_UPGRADING, ..rwlock }, "the request's mode is 3"),
        (turnlock_request { mode: TURNLOCK_MODE_SHARED, ..mutex }, "which a mutex does not have"),
        (turnlock_request { mode: TURNLOCK_MODE_SHARED, ..ring }, "which a turn ring does not have"),
        (turnlock_request { mode: TURNLOCK_MODE_SHARED, ..permits }, "which a semaphore does not have"),
        (
            turnlock_request { mode: TURNLOCK_MODE_UPGRADABLE, ..of_ranges },
            "which a range lock does not have",
        ),
        (turnlock_request { mode: TURNLOCK_MODE_UPGRADABLE, ..of_keys }, "which a keyed lock does not have"),
        (turnlock_request { permits: 1, ..mutex }, "leave permits 0"),
        (turnlock_request { permits: 1, ..of_keys }, "leave permits 0"),
        (turnlock_request { lock: mutex.lock, ..of_ranges }, "leave range_count 0"),
        (turnlock_request { lock: of_keys.lock, ..of_ranges }, "leave range_count 0"),
        (turnlock_request { lock: mutex.lock, ..of_keys }, "leave key_count 0"),
        (turnlock_request { lock: rwlock.lock, ..of_keys }, "leave key_count 0"),
        (scene.of_ranges(&[]), "names no range"),
        (scene.of_keys(&[]), "names no key"),
        (turnlock_request { ranges: ptr::null(), ..of_ranges }, "1 ranges, at NULL"),
        (turnlock_request { keys: ptr::null(), ..of_keys }, "1 keys, at NULL"),
        (turnlock_request { lock: ptr::null(), ..mutex }, "the lock handle is NULL"),
    ] {
        // Twice: the fast path refuses it too, once a mutex is biased to the hold.
        for _ in 0..2 {
            assert_eq!(acquire(&hold, &request), TURNLOCK_ERROR_INVALID_ARGUMENT, "{why}");
            assert!(last_message().contains(why), "{}", last_message());
            assert_eq!(release(&hold), TURNLOCK_ERROR_NOT_OWNER, "nothing was done");
            assert_eq!(acquire(&hold, &mutex), TURNLOCK_OK);
            assert_eq!(release(&hold), TURNLOCK_OK);
        }
    }
    let (empty, null_key) = ([range(5, 5)], [turnlock_key { data: ptr::null(), size: 1 }]);
    assert_eq!(acquire(&hold, &scene.of_ranges(&empty)), TURNLOCK_ERROR_EMPTY_RANGE);
    assert_eq!(acquire(&hold, &scene.of_keys(&null_key)), TURNLOCK_ERROR_INVALID_ARGUMENT);
    // What a newer header might have: taken if it is not used.
    #[repr(C)]
    struct Newer {
        known: turnlock_request,
        new: u64,
    }
    let mut newer = Newer { known: turnlock_request { size: size_of::<Newer>(), ..mutex }, new: 1 };
    // SAFETY: an open handle, and as many bytes as the size says.
    let ask = |newer: &Newer| unsafe {
        turnlock_hold_acquire(hold.handle, ptr::from_ref(newer).cast(), ptr::null_mut())
    };
    assert_eq!(ask(&newer), TURNLOCK_ERROR_INVALID_ARGUMENT);
    newer.new = 0;
    assert_eq!(ask(&newer), TURNLOCK_OK);
    assert_eq!(release(&hold), TURNLOCK_OK);
}

pub fn a_handle_of_no_lock_is_refused() {
    let scene = Scene::new();
    let hold = scene.hold();
    let no_locks: [*const turnlock_lock; 2] = [scene.file.handle.cast(), hold.handle.cast()];
    let mut count = 0;
    for lock in no_locks {
        let refused = [
            acquire(&hold, &turnlock_request { lock, ..sized() }),
            // SAFETY: an open handle, and a place for the number.
            unsafe { turnlock_lock_holders(lock, 0, ptr::null_mut(), &mut count) },
            // SAFETY: an open handle.
            unsafe { turnlock_lock_reset(lock) },
            // SAFETY: an open handle.
            unsafe { turnlock_lock_is_contended(lock) },
        ];
        assert_eq!(refused, [TURNLOCK_ERROR_INVALID_ARGUMENT; 4]);
        assert!(last_message().contains("this is not a handle of a lock"), "{}", last_message());
    }
    // A closed one says so.
    let closed = open_mutex(&scene.file, c"closed").unwrap();
    let request = turnlock_request { lock: closed.handle.cast(), ..sized() };
    assert_eq!(acquire(&hold, &request), TURNLOCK_OK);
    assert_eq!(release(&hold), TURNLOCK_OK);
    // SAFETY: an open handle that no other thread uses.
    assert_eq!(unsafe { turnlock_mutex_close(closed.handle) }, TURNLOCK_OK);
    assert_eq!(acquire(&hold, &request), TURNLOCK_ERROR_CLOSED);
}

pub fn slots_come_from_the_pool_and_go_back() {
    let scene = Scene::new();
    // The thread that named the locks has one.
    assert_eq!(scene.slots(), 1);
    let wanted = [range(0, 5), range(10, 15), range(20, 25)];
    for _ in 0..5 {
        let hold = scene.hold();
        assert_eq!(acquire(&hold, &scene.of_ranges(&wanted)), TURNLOCK_OK);
        assert_eq!(release(&hold), TURNLOCK_OK);
        drop(hold);
        assert_eq!(scene.slots(), 4, "they are kept, and used again");
    }
    // A cancel of one does not come to the next.
    let hold = scene.hold();
    assert_eq!(call(&hold, turnlock_hold_cancel), TURNLOCK_OK);
    drop(hold);
    // SAFETY: an open handle.
    assert_eq!(unsafe { turnlock_mutex_lock(scene.mutex.handle, ptr::null_mut()) }, TURNLOCK_OK);
    for _ in 0..4 {
        let hold = scene.hold();
        let limited = turnlock_request { wait: TURNLOCK_WAIT_AT_MOST, time_ns: 1_000, ..scene.of_mutex() };
        assert_eq!(acquire(&hold, &limited), TURNLOCK_ERROR_TIMED_OUT);
        std::mem::forget(hold);
    }
    // SAFETY: an open handle.
    assert_eq!(unsafe { turnlock_mutex_unlock(scene.mutex.handle) }, TURNLOCK_OK);
}

pub fn a_cancel_of_a_closed_hold_does_not_end_a_wait_for_several_parts() {
    let scene = Scene::new();
    let (hold, other) = (scene.hold(), scene.hold());
    assert_eq!(acquire(&other, &scene.of_ranges(&[range(10, 11)])), TURNLOCK_OK);
    let cancelled = scene.hold();
    assert_eq!(call(&cancelled, turnlock_hold_cancel), TURNLOCK_OK);
    drop(cancelled);
    // The participant of the second part is the one that the closed hold had.
    let wanted = [range(0, 5), range(10, 15)];
    let limited =
        turnlock_request { wait: TURNLOCK_WAIT_AT_MOST, time_ns: 60_000_000, ..scene.of_ranges(&wanted) };
    assert_eq!(acquire(&hold, &limited), TURNLOCK_ERROR_TIMED_OUT);
    assert_eq!(release(&other), TURNLOCK_OK);
}

pub fn a_request_for_very_many_parts_is_granted_or_refused() {
    const MANY: u64 = 300_000;
    let scene = Scene::new();
    let hold = scene.hold();
    let overlapping: Vec<_> = (0..MANY).map(|at| range(at, at + 2)).collect();
    let request = scene.of_ranges(&overlapping);
    assert_eq!(acquire(&hold, &request), TURNLOCK_OK, "{}", last_message());
    assert_eq!(scene.holders(&request), 1);
    assert_eq!(release(&hold), TURNLOCK_OK);
    let slots = scene.slots();
    let apart: Vec<_> = (0..MANY).map(|at| range(2 * at, 2 * at + 1)).collect();
    let request = scene.of_ranges(&apart);
    assert_eq!(acquire(&hold, &request), TURNLOCK_ERROR_PARTICIPANTS_FULL);
    assert!(last_message().contains("300000 parts"), "{}", last_message());
    assert_eq!((scene.holders(&request), scene.slots()), (0, slots));
    // More than there can be.
    let request = turnlock_request { range_count: usize::MAX / 4, ..request };
    assert_eq!(acquire(&hold, &request), TURNLOCK_ERROR_INVALID_ARGUMENT);
}

pub fn a_refused_request_for_several_parts_leaves_the_slots_to_others() {
    let scene = Scene::new();
    let hold = scene.hold();
    let all: Vec<[u8; 4]> = (0..200_u32).map(u32::to_ne_bytes).collect();
    let keys: Vec<_> =
        all.iter().map(|one| turnlock_key { data: one.as_ptr().cast(), size: one.len() }).collect();
    let slots = scene.slots();
    // More than the file has slots, and more than are free.
    for (count, added) in [(200, 0), (32, 8)] {
        assert_eq!(acquire(&hold, &scene.of_keys(&keys[..count])), TURNLOCK_ERROR_PARTICIPANTS_FULL);
        assert_eq!(release(&hold), TURNLOCK_ERROR_NOT_OWNER);
        assert!(scene.slots() <= slots + added, "{} slots are taken", scene.slots());
    }
    let mutex = &scene.mutex;
    elsewhere(|| {
        // SAFETY: an open handle.
        unsafe {
            assert_eq!(turnlock_mutex_lock(mutex.handle, ptr::null_mut()), TURNLOCK_OK, "{}", last_message());
            assert_eq!(turnlock_mutex_unlock(mutex.handle), TURNLOCK_OK);
        }
    });
    // Likewise where one of them is taken.
    let other = scene.hold();
    assert_eq!(acquire(&other, &scene.of_keys(&keys[10..11])), TURNLOCK_OK);
    for wait in [TURNLOCK_WAIT_NEVER, TURNLOCK_WAIT_AT_MOST] {
        let request = turnlock_request { wait, time_ns: 1_000_000, ..scene.of_keys(&keys[..20]) };
        let expected =
            [TURNLOCK_ERROR_WOULD_BLOCK, TURNLOCK_ERROR_TIMED_OUT][usize::from(wait != TURNLOCK_WAIT_NEVER)];
        assert_eq!(acquire(&hold, &request), expected);
        assert!(scene.slots() <= slots + 9, "{} slots are taken", scene.slots());
    }
    assert_eq!(release(&other), TURNLOCK_OK);
    assert_eq!(acquire(&hold, &scene.of_keys(&keys[..20])), TURNLOCK_OK);
    assert_eq!(release(&hold), TURNLOCK_OK);
}

pub fn what_is_not_known_in_the_options_is_named() {
    let scene = Scene::new();
    for (options, why) in [
        (turnlock_hold_options { flags: 1 << 31, ..sized() }, "a flag is set"),
        (turnlock_hold_options { slot: 1, ..sized() }, "without TURNLOCK_HOLD_AT_SLOT"),
    ] {
        // SAFETY: a file handle, options of the right size, and a place for the handle.
        let refused = opened(turnlock_hold_close, |hold| unsafe {
            turnlock_hold_open(scene.file.handle, &options, hold)
        });
        assert_eq!(refused.err(), Some(TURNLOCK_ERROR_INVALID_ARGUMENT));
        assert!(last_message().contains(why), "{}", last_message());
    }
}

pub fn a_slot_of_its_own_is_given_up() {
    let scene = Scene::new();
    let options = turnlock_hold_options { label: c"of its own".as_ptr(), ..sized() };
    // SAFETY: a file handle, options of the right size, and a place for the handle.
    let open = || {
        // SAFETY: as above.
        opened(turnlock_hold_close, |hold| unsafe { turnlock_hold_open(scene.file.handle, &options, hold) })
    };
    let hold = open().unwrap();
    assert_eq!(scene.slots(), 2);
    drop(hold);
    assert_eq!(scene.slots(), 1);
    // A member of a ring, for which the others would wait, does not go to the pool either.
    let hold = scene.hold();
    assert_eq!(acquire(&hold, &turnlock_request { lock: scene.ring.handle.cast(), ..sized() }), TURNLOCK_OK);
    assert_eq!(release(&hold), TURNLOCK_OK);
    drop(hold);
    assert_eq!(scene.slots(), 1);
    // The slots that are kept make room, but there is no more of it than the file has.
    drop((0..8).map(|_| scene.hold()).collect::<Vec<_>>());
    assert_eq!(scene.slots(), 9);
    let all: Vec<_> = std::iter::from_fn(|| open().ok()).collect();
    assert_eq!((all.len(), open().err()), (31, Some(TURNLOCK_ERROR_PARTICIPANTS_FULL)));
}

pub fn the_hold_of_a_thread_only_cancels() {
    let scene = Scene::new();
    let hold = current_hold(&scene.file).unwrap();
    assert_eq!(acquire(&hold, &scene.of_mutex()), TURNLOCK_ERROR_INVALID_ARGUMENT);
    assert!(last_message().contains("only for cancelling"), "{}", last_message());
    assert_eq!(release(&hold), TURNLOCK_ERROR_NOT_OWNER);
    // SAFETY: an open handle.
    let transferred = unsafe { turnlock_hold_transfer_to_fd(hold.handle, 0, 0) };
    assert_eq!(transferred, TURNLOCK_ERROR_INVALID_ARGUMENT);
    // It is closed while the thread has a lock, which it keeps.
    // SAFETY: open handles.
    unsafe {
        assert_eq!(turnlock_mutex_lock(scene.mutex.handle, ptr::null_mut()), TURNLOCK_OK);
        assert_eq!(turnlock_hold_close(hold.handle), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_unlock(scene.mutex.handle), TURNLOCK_OK);
    }
}

pub fn a_member_of_a_ring_leaves_it() {
    let scene = Scene::new();
    let hold = scene.hold();
    let request = turnlock_request { lock: scene.ring.handle.cast(), ..sized() };
    // SAFETY: open handles.
    let leave = || unsafe { turnlock_hold_leave_ring(hold.handle, scene.ring.handle) };
    let members = || {
        let mut count = usize::MAX;
        // SAFETY: an open handle, and a place for the number.
        assert_eq!(
            // SAFETY: as above.
            unsafe { turnlock_lock_waiters(request.lock, 0, ptr::null_mut(), &mut count) },
            TURNLOCK_OK
        );
        count
    };
    assert_eq!(leave(), TURNLOCK_OK);
    assert_eq!(acquire(&hold, &request), TURNLOCK_OK);
    assert_eq!(leave(), TURNLOCK_ERROR_STILL_HELD);
    assert_eq!(release(&hold), TURNLOCK_OK);
    assert_eq!(members(), 1);
    // Another lock in between does not change that.
    assert_eq!(acquire(&hold, &scene.of_mutex()), TURNLOCK_OK);
    assert_eq!(release(&hold), TURNLOCK_OK);
    assert_eq!((leave(), members()), (TURNLOCK_OK, 0));
}

pub fn a_lock_is_held_on_when_its_handle_and_file_are_closed() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 2).unwrap();
    let mutex = open_mutex(&file, c"a").unwrap();
    let hold = open_hold(&file).unwrap();
    let request = turnlock_request { lock: mutex.handle.cast(), ..sized() };
    for _ in 0..2 {
        assert_eq!(acquire(&hold, &request), TURNLOCK_OK);
        assert_eq!(release(&hold), TURNLOCK_OK);
    }
    assert_eq!(acquire(&hold, &request), TURNLOCK_OK);
    let held = token(&hold);
    // It is not the calling thread that has it.
    drop((mutex, file));
    assert_eq!(token(&hold), held);
    let status = inspect::snapshot(place.lock_file()).unwrap();
    assert_eq!(status.locks[0].holders.len(), 1);
    assert_eq!(release(&hold), TURNLOCK_OK);
    let status = inspect::snapshot(place.lock_file()).unwrap();
    assert_eq!(status.locks[0].holders.len(), 0);
    drop(hold);
    let status = inspect::snapshot(place.lock_file()).unwrap();
    assert_eq!(status.participants.len(), 0, "with its last handle the file gives up its pool");
}

pub fn what_every_lock_has_is_there_for_every_kind() {
    let scene = Scene::new();
    let locks: [(&str, *const turnlock_lock); 6] = [
        ("mutex", scene.mutex.handle.cast()),
        ("rwlock", scene.rwlock.handle.cast()),
        ("semaphore", scene.semaphore.handle.cast()),
        ("ranges", scene.ranges.handle.cast()),
        ("keys", scene.keys.handle.cast()),
        ("ring", scene.ring.handle.cast()),
    ];
    for (name, lock) in locks {
        let (mut policy, mut patience, mut count) = (u32::MAX, u64::MAX, usize::MAX);
        let (mut owner, mut reopened) = (sized::<turnlock_previous_owner>(), ptr::null_mut());
        // SAFETY: an open handle, and places for what is told.
        unsafe {
            assert_eq!(turnlock_lock_death_policy(lock, &mut policy), TURNLOCK_OK, "{name}");
            assert_eq!(policy, if name == "semaphore" { TURNLOCK_DEATH_POLICY_RELEASE } else { 0 }, "{name}");
            assert_eq!(turnlock_lock_patience(lock, &mut patience), TURNLOCK_OK, "{name}");
            let has_patience = ["mutex", "rwlock", "semaphore"].contains(&name);
            assert_eq!(patience > 0, has_patience, "{name}: {patience}");
            assert_eq!(turnlock_lock_holders(lock, 0, ptr::null_mut(), &mut count), TURNLOCK_OK, "{name}");
            assert_eq!(count, 0, "{name}");
            assert_eq!(turnlock_lock_waiters(lock, 0, ptr::null_mut(), &mut count), TURNLOCK_OK, "{name}");
            assert_eq!(turnlock_lock_is_contended(lock), TURNLOCK_ERROR_NOT_OWNER, "{name}");
            assert_eq!(turnlock_lock_previous_owner(lock, &mut owner), TURNLOCK_ERROR_NOT_FOUND, "{name}");
            for reset in [turnlock_lock_reset, turnlock_lock_try_reset] {
                assert_eq!(reset(lock), TURNLOCK_OK, "{name}");
            }
            assert_eq!(turnlock_lock_reset_for(lock, 1), TURNLOCK_OK, "{name}");
            assert_eq!(turnlock_lock_reopen(lock, &mut reopened), TURNLOCK_OK, "{name}");
            // It is one of the same kind, which closes it.
            assert_eq!(turnlock_lock_patience(reopened, &mut patience), TURNLOCK_OK, "{name}");
            let closed = match name {
                "mutex" => turnlock_mutex_close(reopened.cast()),
                "rwlock" => turnlock_rwlock_close(reopened.cast()),
                "semaphore" => turnlock_semaphore_close(reopened.cast()),
                "ranges" => turnlock_rangelock_close(reopened.cast()),
                "keys" => turnlock_keyedlock_close(reopened.cast()),
                _ => turnlock_ring_close(reopened.cast()),
            };
            assert_eq!(closed, TURNLOCK_OK, "{name}");
            assert_eq!(turnlock_lock_patience(reopened, &mut patience), TURNLOCK_ERROR_CLOSED, "{name}");
        }
    }
}
