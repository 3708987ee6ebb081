//! Conditions, events, barriers and onces through the C ABI.

use crate::{
    c_claims::open_rwlock,
    c_handles::{Owned, current_hold, last_message, open_file, open_mutex, opened, sized},
};
use std::{ffi::CStr, ptr, thread, time::Duration};
use support::{NoHang, Place, elsewhere, join, until_waiting};
use turnlock::{capi::*, status::*};

pub const NULL: *mut turnlock_acquired = ptr::null_mut();
/// Of waits that are to end by their limit, in nanoseconds.
pub const SHORT: u64 = 20_000_000;

pub fn open_condition(
    file: &Owned<turnlock_file>,
    name: &CStr,
    flags: u32,
) -> Result<Owned<turnlock_condition>, i32> {
    // SAFETY: a file handle, a C string, and a place for the handle.
    opened(turnlock_condition_close, |condition| unsafe {
        turnlock_condition_open(file.handle, name.as_ptr(), flags, condition)
    })
}

pub fn open_event(
    file: &Owned<turnlock_file>,
    name: &CStr,
    flags: u32,
) -> Result<Owned<turnlock_event>, i32> {
    // SAFETY: a file handle, a C string, and a place for the handle.
    opened(turnlock_event_close, |event| unsafe {
        turnlock_event_open(file.handle, name.as_ptr(), flags, event)
    })
}

pub fn open_barrier(
    file: &Owned<turnlock_file>,
    name: &CStr,
    parties: u32,
    flags: u32,
) -> Result<Owned<turnlock_barrier>, i32> {
    // SAFETY: a file handle, a C string, and a place for the handle.
    opened(turnlock_barrier_close, |barrier| unsafe {
        turnlock_barrier_open(file.handle, name.as_ptr(), parties, flags, barrier)
    })
}

pub fn open_once(file: &Owned<turnlock_file>, name: &CStr, flags: u32) -> Result<Owned<turnlock_once>, i32> {
    // SAFETY: a file handle, a C string, and a place for the handle.
    opened(turnlock_once_close, |once| unsafe { turnlock_once_open(file.handle, name.as_ptr(), flags, once) })
}

/// A file with one of each, and with locks to wait with.
pub struct Scene {
    _no_hang: NoHang,
    pub condition: Owned<turnlock_condition>,
    pub event: Owned<turnlock_event>,
    /// Of three parties.
    pub barrier: Owned<turnlock_barrier>,
    pub once: Owned<turnlock_once>,
    pub mutex: Owned<turnlock_mutex>,
    pub rwlock: Owned<turnlock_rwlock>,
    pub semaphore: Owned<turnlock_semaphore>,
    pub file: Owned<turnlock_file>,
    pub place: Place,
}

impl Scene {
    pub fn new() -> Self {
        let place = Place::new();
        let file = open_file(&place.lock_file(), 32, 16).unwrap();
        let options = turnlock_semaphore_options { permits: 5, ..sized() };
        // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
        let semaphore = opened(turnlock_semaphore_close, |lock| unsafe {
            turnlock_semaphore_open(file.handle, c"semaphore".as_ptr(), &options, lock)
        });
        Self {
            _no_hang: NoHang::for_seconds(60),
            condition: open_condition(&file, c"condition", 0).unwrap(),
            event: open_event(&file, c"event", 0).unwrap(),
            barrier: open_barrier(&file, c"barrier", 3, 0).unwrap(),
            once: open_once(&file, c"once", 0).unwrap(),
            mutex: open_mutex(&file, c"mutex").unwrap(),
            rwlock: open_rwlock(&file, c"rwlock").unwrap(),
            semaphore: semaphore.unwrap(),
            file,
            place,
        }
    }

    /// Waits at the condition with a lock. Gives what came with the lock too.
    pub fn wait<L>(&self, lock: &Owned<L>, wait: u32, time_ns: u64) -> (i32, turnlock_acquired) {
        let mut told = sized::<turnlock_acquired>();
        // SAFETY: open handles, and a place for what comes with the lock.
        let status = unsafe {
            turnlock_condition_wait(self.condition.handle, lock.handle.cast(), wait, time_ns, &mut told)
        };
        (status, told)
    }

    /// Does what [`Scene::wait`] does with what a hold has.
    pub fn wait_by(&self, hold: &Owned<turnlock_hold>, wait: u32, time_ns: u64) -> (i32, turnlock_acquired) {
        let mut told = sized::<turnlock_acquired>();
        // SAFETY: open handles, and a place for what comes with the lock.
        let status =
            unsafe { turnlock_hold_wait(hold.handle, self.condition.handle, wait, time_ns, &mut told) };
        (status, told)
    }

    pub fn notify_one(&self) -> u32 {
        let mut notified = u32::MAX;
        // SAFETY: an open handle, and a place for the number.
        let status = unsafe { turnlock_condition_notify_one(self.condition.handle, &mut notified) };
        assert_eq!(status, TURNLOCK_OK, "{}", last_message());
        notified
    }

    pub fn until_waiting(&self, name: &str, how_many: usize) {
        until_waiting(&self.place.lock_file(), name, how_many);
        // Long enough that they sleep, as a rule.
        thread::sleep(Duration::from_millis(5));
    }

    pub fn lock(&self) -> u64 {
        let mut told = sized::<turnlock_acquired>();
        // SAFETY: an open handle, and a place for what comes with the lock.
        assert_eq!(unsafe { turnlock_mutex_lock(self.mutex.handle, &mut told) }, TURNLOCK_OK);
        told.fencing_token
    }

    pub fn unlock(&self) -> i32 {
        call(&self.mutex, turnlock_mutex_unlock)
    }

    /// What a try of another thread is answered, which unlocks at once.
    pub fn another_tries<L>(
        &self,
        lock: &Owned<L>,
        try_lock: unsafe extern "C" fn(*const L, *mut turnlock_acquired) -> i32,
        unlock: unsafe extern "C" fn(*const L) -> i32,
    ) -> i32 {
        elsewhere(|| {
            let tried = take(lock, try_lock);
            if tried >= 0 {
                assert_eq!(call(lock, unlock), TURNLOCK_OK);
            }
            tried
        })
    }

    pub fn another_tries_the_mutex(&self) -> i32 {
        self.another_tries(&self.mutex, turnlock_mutex_try_lock, turnlock_mutex_unlock)
    }

    pub fn request<L>(&self, lock: &Owned<L>, mode: u32) -> turnlock_request {
        turnlock_request { lock: lock.handle.cast(), mode, ..sized() }
    }
}

pub fn acquire(hold: &Owned<turnlock_hold>, request: &turnlock_request) -> i32 {
    // SAFETY: an open handle, and a request of the right size whose lock is open.
    unsafe { turnlock_hold_acquire(hold.handle, request, NULL) }
}

pub fn release(hold: &Owned<turnlock_hold>) -> i32 {
    call(hold, turnlock_hold_release)
}

/// Takes a lock as the calling thread.
pub fn take<L>(lock: &Owned<L>, take: unsafe extern "C" fn(*const L, *mut turnlock_acquired) -> i32) -> i32 {
    // SAFETY: an open handle.
    unsafe { take(lock.handle, NULL) }
}

/// Does something with a handle that gives nothing but a status.
pub fn call<L>(on: &Owned<L>, act: unsafe extern "C" fn(*const L) -> i32) -> i32 {
    // SAFETY: an open handle.
    unsafe { act(on.handle) }
}

pub fn meet(barrier: &Owned<turnlock_barrier>, wait: u32, time_ns: u64) -> (i32, u32) {
    let mut last = u32::MAX;
    // SAFETY: an open handle, and a place for the answer.
    (unsafe { turnlock_barrier_wait(barrier.handle, wait, time_ns, &mut last) }, last)
}

pub fn await_event(scene: &Scene, wait: u32, time_ns: u64) -> i32 {
    // SAFETY: an open handle.
    unsafe { turnlock_event_wait(scene.event.handle, wait, time_ns) }
}

fn begin(once: &Owned<turnlock_once>, wait: u32, time_ns: u64) -> i32 {
    // SAFETY: an open handle.
    unsafe { turnlock_once_begin(once.handle, wait, time_ns) }
}

pub fn the_hold_of_a_thread_ends_each_of_its_waits() {
    let scene = Scene::new();
    // At the once too there is something to wait for.
    assert_eq!(begin(&scene.once, TURNLOCK_WAIT_FOREVER, 0), TURNLOCK_OK);
    type Wait = fn(&Scene) -> i32;
    let waits: [(&str, Wait); 4] = [
        ("condition", |scene| {
            let before = scene.lock();
            let (status, told) = scene.wait(&scene.mutex, TURNLOCK_WAIT_FOREVER, 0);
            assert!(told.fencing_token > before);
            assert_eq!(scene.unlock(), TURNLOCK_OK, "it has the lock");
            status
        }),
        ("event", |scene| await_event(scene, TURNLOCK_WAIT_FOREVER, 0)),
        ("barrier", |scene| meet(&scene.barrier, TURNLOCK_WAIT_FOREVER, 0).0),
        ("once", |scene| begin(&scene.once, TURNLOCK_WAIT_FOREVER, 0)),
    ];
    for (name, wait) in waits {
        let (send, holds) = std::sync::mpsc::channel();
        thread::scope(|threads| {
            let scene = &scene;
            let waits = threads.spawn(move || {
                send.send(current_hold(&scene.file).unwrap()).unwrap();
                wait(scene)
            });
            let hold = holds.recv().unwrap();
            scene.until_waiting(name, 1);
            assert_eq!(call(&hold, turnlock_hold_cancel), TURNLOCK_OK);
            assert_eq!(join(waits), TURNLOCK_ERROR_CANCELLED, "{name}");
        });
        scene.until_waiting(name, 0);
    }
    // For the others the barrier is broken.
    assert_eq!(meet(&scene.barrier, TURNLOCK_WAIT_AT_MOST, SHORT).0, TURNLOCK_ERROR_BROKEN_BARRIER);
    assert_eq!(call(&scene.once, turnlock_once_give_up), TURNLOCK_OK);
}

pub fn an_event_is_waited_for_as_long_as_is_said() {
    let scene = Scene::new();
    let event = scene.event.handle;
    let is_set = || {
        let mut set = u32::MAX;
        // SAFETY: an open handle, and a place for the answer.
        assert_eq!(unsafe { turnlock_event_is_set(event, &mut set) }, TURNLOCK_OK);
        set
    };
    let wait = |wait, time_ns| await_event(&scene, wait, time_ns);
    assert_eq!(is_set(), 0);
    let late = "the time limit passed before the event was set";
    for (how, time_ns, status, says) in [
        (TURNLOCK_WAIT_NEVER, 0, TURNLOCK_ERROR_WOULD_BLOCK, "the event is not set"),
        (TURNLOCK_WAIT_AT_MOST, SHORT, TURNLOCK_ERROR_TIMED_OUT, late),
        (TURNLOCK_WAIT_UNTIL, 1, TURNLOCK_ERROR_TIMED_OUT, late),
        (4, 0, TURNLOCK_ERROR_INVALID_ARGUMENT, "wait is 4"),
    ] {
        assert_eq!(wait(how, time_ns), status, "{how}");
        let said = last_message();
        assert!(said.starts_with(says), "{said}");
    }
    thread::scope(|threads| {
        let waits = threads.spawn(|| wait(TURNLOCK_WAIT_FOREVER, 0));
        scene.until_waiting("event", 1);
        // It was set while the other waited.
        assert_eq!(call(&scene.event, turnlock_event_set), TURNLOCK_OK);
        assert_eq!(call(&scene.event, turnlock_event_clear), TURNLOCK_OK);
        assert_eq!(join(waits), TURNLOCK_OK);
    });
    assert_eq!(is_set(), 0);
    assert_eq!(call(&scene.event, turnlock_event_set), TURNLOCK_OK);
    assert_eq!((is_set(), wait(TURNLOCK_WAIT_NEVER, 0)), (1, TURNLOCK_OK));
}

pub fn a_barrier_lets_all_go_or_says_at_whom_it_broke() {
    let scene = Scene::new();
    let barrier = &scene.barrier;
    let query = || {
        let (mut parties, mut waiting) = (u32::MAX, u32::MAX);
        // SAFETY: an open handle, and places for the answers.
        let status = unsafe { turnlock_barrier_query(barrier.handle, &mut parties, &mut waiting) };
        (status, parties, waiting)
    };
    let broken = |whose: u32, why: &str| {
        assert_eq!(meet(barrier, TURNLOCK_WAIT_FOREVER, 0).0, TURNLOCK_ERROR_BROKEN_BARRIER);
        let said = last_message();
        assert!(said.contains(&format!("process {whose}")) && said.contains(why), "{said}");
        assert_eq!(query(), (TURNLOCK_ERROR_BROKEN_BARRIER, 3, 0));
        assert_eq!(call(barrier, turnlock_barrier_reset), TURNLOCK_OK);
        assert_eq!(query(), (TURNLOCK_OK, 3, 0));
    };
    for _ in 0..2 {
        thread::scope(|threads| {
            let others = [(); 2].map(|()| threads.spawn(|| meet(barrier, TURNLOCK_WAIT_FOREVER, 0)));
            scene.until_waiting("barrier", 2);
            assert_eq!(query(), (TURNLOCK_OK, 3, 2));
            assert_eq!(meet(barrier, TURNLOCK_WAIT_FOREVER, 0), (TURNLOCK_OK, 1), "the last one");
            assert_eq!(others.map(join), [(TURNLOCK_OK, 0); 2]);
        });
    }
    let me = std::process::id();
    assert_eq!(meet(barrier, TURNLOCK_WAIT_AT_MOST, SHORT), (TURNLOCK_ERROR_TIMED_OUT, u32::MAX));
    broken(me, "gave up");
    assert_eq!(call(barrier, turnlock_barrier_abort), TURNLOCK_OK);
    broken(me, "broke it");
    let handle = barrier.handle;
    // SAFETY: the child calls nothing but turnlock and `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: an open handle; should the parent die, so does the child, whose wait has a limit besides.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            turnlock_barrier_wait(handle, TURNLOCK_WAIT_AT_MOST, 300_000_000_000, ptr::null_mut());
            libc::_exit(1);
        }
    }
    scene.until_waiting("barrier", 1);
    thread::scope(|threads| {
        let waits = threads.spawn(|| (meet(barrier, TURNLOCK_WAIT_FOREVER, 0).0, last_message()));
        scene.until_waiting("barrier", 2);
        // SAFETY: a child of our own that was not waited for.
        unsafe { libc::kill(child, libc::SIGKILL) };
        support::limit::status_of(child, 0);
        let (status, said) = join(waits);
        assert_eq!(status, TURNLOCK_ERROR_BROKEN_BARRIER);
        assert!(said.contains(&format!("process {child}")) && said.contains("has died"), "{said}");
    });
    broken(child as u32, "has died");
}

pub fn a_once_is_done_by_one_and_then_it_is_done() {
    let scene = Scene::new();
    let once = &scene.once;
    let is_done = || {
        let mut done = u32::MAX;
        // SAFETY: an open handle, and a place for the answer.
        assert_eq!(unsafe { turnlock_once_is_done(once.handle, &mut done) }, TURNLOCK_OK);
        done
    };
    let call = |act| call(&scene.once, act);
    assert_eq!(call(turnlock_once_complete), TURNLOCK_ERROR_NOT_OWNER);
    assert_eq!(call(turnlock_once_give_up), TURNLOCK_ERROR_NOT_OWNER);
    assert_eq!(begin(once, 4, 0), TURNLOCK_ERROR_INVALID_ARGUMENT);
    assert_eq!(begin(once, TURNLOCK_WAIT_FOREVER, 0), TURNLOCK_OK);
    assert_eq!(begin(once, TURNLOCK_WAIT_FOREVER, 0), TURNLOCK_ERROR_DEADLOCK);
    // SAFETY: an open handle that no other thread uses.
    assert_eq!(unsafe { turnlock_once_close(once.handle) }, TURNLOCK_ERROR_STILL_HELD);
    elsewhere(|| {
        assert_eq!(begin(&scene.once, TURNLOCK_WAIT_NEVER, 0), TURNLOCK_ERROR_WOULD_BLOCK);
        assert_eq!(begin(&scene.once, TURNLOCK_WAIT_AT_MOST, SHORT), TURNLOCK_ERROR_TIMED_OUT);
        assert_eq!(call(turnlock_once_complete), TURNLOCK_ERROR_NOT_OWNER);
    });
    assert_eq!((call(turnlock_once_give_up), is_done()), (TURNLOCK_OK, 0));
    // A thread that ends at it is a dead one.
    elsewhere(|| assert_eq!(begin(&scene.once, TURNLOCK_WAIT_NEVER, 0), TURNLOCK_OK));
    assert_eq!(begin(once, TURNLOCK_WAIT_FOREVER, 0), TURNLOCK_OWNER_DEAD);
    thread::scope(|threads| {
        let waits = threads.spawn(|| begin(&scene.once, TURNLOCK_WAIT_FOREVER, 0));
        scene.until_waiting("once", 1);
        assert_eq!(call(turnlock_once_complete), TURNLOCK_OK);
        assert_eq!(join(waits), TURNLOCK_DONE);
    });
    assert_eq!((begin(once, TURNLOCK_WAIT_NEVER, 0), is_done()), (TURNLOCK_DONE, 1));
    assert_eq!((call(turnlock_once_reset), is_done()), (TURNLOCK_OK, 0));
    assert_eq!(begin(once, TURNLOCK_WAIT_NEVER, 0), TURNLOCK_OK);
    assert_eq!(call(turnlock_once_complete), TURNLOCK_OK);
}
