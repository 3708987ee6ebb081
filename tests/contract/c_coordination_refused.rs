//! What the C functions of conditions, events, barriers and onces answer where their arguments make no sense; and what a signal
//! handler may do with them.

use crate::{
    c_coordination::{NULL, Scene, await_event, meet, open_barrier, open_condition, open_event, open_once},
    c_handles::{last_message, open_file, open_hold, open_mutex, sized},
};
use std::{
    collections::BTreeSet,
    ffi::{CStr, c_void},
    ptr,
    sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering::SeqCst},
    thread,
};
use support::{Place, join};
use turnlock::{capi::*, status::*};

/// Calls a function with any handle.
type Call = (&'static str, Box<dyn Fn(*mut c_void) -> i32>);

macro_rules! calls {
    ($($name:ident($($argument:expr),*);)*) => {
        // SAFETY: NULL or a handle, closed or not, which the functions promise to check; the other arguments are open handles, C
        // strings, and NULL or places for what comes.
        vec![$((stringify!($name), Box::new(move |handle: *mut c_void| unsafe { $name(handle.cast() $(, $argument)*) }) as _)),*]
    };
}

/// The functions of the header for these kinds, each called with the handle that comes first.
fn calls(condition: *mut turnlock_condition) -> Vec<Call> {
    let (name, never) = (c"x".as_ptr(), TURNLOCK_WAIT_NEVER);
    calls! {
        turnlock_condition_open(name, 0, &mut ptr::null_mut());
        turnlock_condition_close();
        turnlock_condition_notify_one(ptr::null_mut());
        turnlock_condition_notify_all(ptr::null_mut());
        turnlock_condition_wait(ptr::null(), never, 0, NULL);
        turnlock_event_open(name, 0, &mut ptr::null_mut());
        turnlock_event_close();
        turnlock_event_set();
        turnlock_event_clear();
        turnlock_event_is_set(&mut 0);
        turnlock_event_wait(never, 0);
        turnlock_barrier_open(name, 2, 0, &mut ptr::null_mut());
        turnlock_barrier_close();
        turnlock_barrier_wait(TURNLOCK_WAIT_AT_MOST, 1, ptr::null_mut());
        turnlock_barrier_abort();
        turnlock_barrier_reset();
        turnlock_barrier_query(ptr::null_mut(), ptr::null_mut());
        turnlock_once_open(name, 0, &mut ptr::null_mut());
        turnlock_once_close();
        turnlock_once_begin(never, 0);
        turnlock_once_complete();
        turnlock_once_give_up();
        turnlock_once_is_done(&mut 0);
        turnlock_once_reset();
        turnlock_hold_wait(condition, never, 0, NULL);
    }
}

pub fn every_function_of_coordination_checks_its_handle() {
    let place = Place::new();
    let (file, closed_file) =
        (open_file(&place.lock_file(), 8, 8).unwrap(), open_file(&place.lock_file(), 8, 8).unwrap());
    let mutex = open_mutex(&file, c"mutex").unwrap();
    let condition = open_condition(&file, c"condition", 0).unwrap();
    let closed = [
        ("condition", open_condition(&file, c"condition", 0).unwrap().handle.cast::<c_void>()),
        ("event", open_event(&file, c"event", 0).unwrap().handle.cast()),
        ("barrier", open_barrier(&file, c"barrier", 2, 0).unwrap().handle.cast()),
        ("once", open_once(&file, c"once", 0).unwrap().handle.cast()),
        ("hold", open_hold(&file).unwrap().handle.cast()),
    ];
    let to_close = closed_file.handle.cast();
    drop(closed_file);
    let calls = calls(condition.handle);
    for (name, call) in &calls {
        let kind = name.split('_').nth(1).unwrap();
        let (what, closed) = match name.ends_with("_open") {
            true => ("file", to_close),
            false => *closed.iter().find(|(of, _)| *of == kind).unwrap(),
        };
        assert_eq!(call(ptr::null_mut()), TURNLOCK_ERROR_INVALID_ARGUMENT, "{name}");
        assert_eq!(last_message(), format!("the {what} handle is NULL"), "{name}");
        assert_eq!(call(mutex.handle.cast()), TURNLOCK_ERROR_INVALID_ARGUMENT, "{name}");
        assert_eq!(last_message(), format!("this is not a {what} handle"), "{name}");
        assert_eq!(call(closed), TURNLOCK_ERROR_CLOSED, "{name}");
    }
    let called: BTreeSet<&str> = calls.iter().map(|(name, _)| *name).collect();
    let declared = include_str!("../../include/turnlock.h").lines().filter_map(|line| {
        let name = line.strip_prefix("int32_t ")?.split('(').next()?;
        let kinds = ["condition", "event", "barrier", "once"].map(|kind| format!("turnlock_{kind}_"));
        (kinds.iter().any(|kind| name.starts_with(kind)) || name == "turnlock_hold_wait").then_some(name)
    });
    assert_eq!(called, declared.collect());
}

pub fn a_place_or_another_handle_that_is_missing_is_named() {
    let scene = Scene::new();
    let (file, condition) = (scene.file.handle, scene.condition.handle);
    let hold = open_hold(&scene.file).unwrap();
    let request = turnlock_request { lock: scene.mutex.handle.cast(), ..sized() };
    let (never, name) = (TURNLOCK_WAIT_NEVER, c"x".as_ptr());
    let (closed, null) = (open_condition(&scene.file, c"condition", 0).unwrap().handle, ptr::null_mut());
    // SAFETY: NULL and handles, closed or of another kind, which the functions promise to check.
    unsafe {
        assert_eq!(turnlock_hold_acquire(hold.handle, &request, NULL), TURNLOCK_OK);
        for (refused, why) in [
            (turnlock_condition_open(file, name, 0, ptr::null_mut()), "place for the condition handle"),
            (turnlock_event_open(file, name, 0, ptr::null_mut()), "place for the event handle"),
            (turnlock_barrier_open(file, name, 2, 0, ptr::null_mut()), "place for the barrier handle"),
            (turnlock_once_open(file, name, 0, ptr::null_mut()), "place for the once handle"),
            (turnlock_condition_open(file, ptr::null(), 0, &mut ptr::null_mut()), "name is NULL"),
            (turnlock_event_open(file, ptr::null(), 0, &mut ptr::null_mut()), "name is NULL"),
            (turnlock_barrier_open(file, ptr::null(), 2, 0, &mut ptr::null_mut()), "name is NULL"),
            (turnlock_once_open(file, ptr::null(), 0, &mut ptr::null_mut()), "name is NULL"),
            (turnlock_event_is_set(scene.event.handle, null), "place for the answer"),
            (turnlock_once_is_done(scene.once.handle, null), "place for the answer"),
            (turnlock_condition_wait(condition, ptr::null(), never, 0, NULL), "lock handle is NULL"),
            (turnlock_condition_wait(condition, file.cast(), never, 0, NULL), "not a handle of a lock"),
            (turnlock_hold_wait(hold.handle, ptr::null(), never, 0, NULL), "condition handle is NULL"),
            (turnlock_hold_wait(hold.handle, file.cast(), never, 0, NULL), "not a condition handle"),
            (turnlock_hold_wait(hold.handle, condition, 4, 0, NULL), "wait is 4"),
        ] {
            assert_eq!(refused, TURNLOCK_ERROR_INVALID_ARGUMENT, "{why}");
        }
        // Each with its sentence.
        assert_eq!(turnlock_event_is_set(scene.event.handle, null), TURNLOCK_ERROR_INVALID_ARGUMENT);
        assert_eq!(turnlock_hold_wait(hold.handle, closed, never, 0, NULL), TURNLOCK_ERROR_CLOSED);
        assert_eq!(turnlock_hold_release(hold.handle), TURNLOCK_OK, "it is held as before");
    }
}

pub fn what_is_opened_is_of_its_kind_and_there_if_it_must_be() {
    let scene = Scene::new();
    let file = &scene.file;
    type Open<'a> = &'a dyn Fn(&CStr, u32) -> Option<i32>;
    let openings: [(&str, Open); 4] = [
        ("condition", &|name, flags| open_condition(file, name, flags).err()),
        ("event", &|name, flags| open_event(file, name, flags).err()),
        ("barrier", &|name, flags| open_barrier(file, name, 3, flags).err()),
        ("once", &|name, flags| open_once(file, name, flags).err()),
    ];
    // The flag that says so is the same for all.
    let must_exist = TURNLOCK_CONDITION_MUST_EXIST;
    let same = [TURNLOCK_EVENT_MUST_EXIST, TURNLOCK_BARRIER_MUST_EXIST, TURNLOCK_ONCE_MUST_EXIST];
    assert_eq!(same, [must_exist; 3]);
    for (kind, open) in openings {
        assert_eq!(open(c"new", must_exist), Some(TURNLOCK_ERROR_NOT_FOUND), "{kind}");
        assert_eq!(open(c"new", 1 << 31), Some(TURNLOCK_ERROR_INVALID_ARGUMENT), "{kind}");
        assert!(last_message().contains("a flag"), "{}", last_message());
        assert_eq!(open(c"", 0), Some(TURNLOCK_ERROR_BAD_NAME), "{kind}");
        assert_eq!(open(c"\xff", 0), Some(TURNLOCK_ERROR_BAD_NAME), "{kind}");
        for name in [c"mutex", c"condition", c"event", c"barrier", c"once"] {
            let expected = (name.to_str() != Ok(kind)).then_some(TURNLOCK_ERROR_KIND);
            assert_eq!(open(name, must_exist), expected, "a {kind} called {name:?}");
        }
    }
    assert_eq!(open_barrier(file, c"barrier", 2, 0).err(), Some(TURNLOCK_ERROR_KIND));
    assert!(last_message().contains("3 parties"), "{}", last_message());
    assert_eq!(open_barrier(file, c"barrier", 0, 0).err(), None, "however many it has");
    assert_eq!(open_barrier(file, c"new", 0, 0).err(), Some(TURNLOCK_ERROR_NOT_FOUND));
    assert_eq!(open_barrier(file, c"new", 4097, 0).err(), Some(TURNLOCK_ERROR_INVALID_ARGUMENT));
    assert!(last_message().contains("4097"), "{}", last_message());
    // What is done stays done by each handle.
    let across = open_once(file, c"across boots", TURNLOCK_ONCE_ACROSS_BOOTS).unwrap();
    // SAFETY: an open handle.
    unsafe {
        assert_eq!(turnlock_once_begin(across.handle, TURNLOCK_WAIT_NEVER, 0), TURNLOCK_OK);
        assert_eq!(turnlock_once_complete(across.handle), TURNLOCK_OK);
        let again = open_once(file, c"across boots", TURNLOCK_ONCE_MUST_EXIST).unwrap();
        assert_eq!(turnlock_once_begin(again.handle, TURNLOCK_WAIT_NEVER, 0), TURNLOCK_DONE);
    }
}

/// At what the thread waits that the handler interrupts, and what it has there.
static WAITS_AT: AtomicU32 = AtomicU32::new(0);
static EVENT: AtomicPtr<turnlock_event> = AtomicPtr::new(ptr::null_mut());
static CONDITION: AtomicPtr<turnlock_condition> = AtomicPtr::new(ptr::null_mut());
static BARRIER: AtomicPtr<turnlock_barrier> = AtomicPtr::new(ptr::null_mut());
static LOCK: AtomicPtr<turnlock_mutex> = AtomicPtr::new(ptr::null_mut());
/// What it was answered, in order.
static ANSWERS: [AtomicI32; 4] = [const { AtomicI32::new(i32::MIN) }; 4];

const AN_EVENT: u32 = 1;
const A_CONDITION: u32 = 2;
const A_BARRIER: u32 = 3;

/// Nested waits that are not refused end all the same, with another answer.
extern "C" fn handler(_: i32) {
    const A_SECOND: u64 = 1_000_000_000;
    let (event, condition) = (EVENT.load(SeqCst), CONDITION.load(SeqCst));
    let (barrier, mutex) = (BARRIER.load(SeqCst), LOCK.load(SeqCst));
    let at_most = TURNLOCK_WAIT_AT_MOST;
    // SAFETY: open handles, and a place for the number.
    let answers = unsafe {
        match WAITS_AT.load(SeqCst) {
            AN_EVENT => [turnlock_event_wait(event, at_most, A_SECOND), turnlock_event_set(event), 0, 0],
            A_CONDITION => {
                let mut notified = 0;
                // The wait has unlocked it.
                let locked = turnlock_mutex_try_lock(mutex, NULL);
                let nested = turnlock_condition_wait(condition, mutex.cast(), at_most, A_SECOND, NULL);
                let told = turnlock_condition_notify_one(condition, &mut notified);
                [nested, if notified == 1 { told } else { i32::MAX }, locked, turnlock_mutex_unlock(mutex)]
            }
            _ => [
                turnlock_barrier_wait(barrier, at_most, A_SECOND, ptr::null_mut()),
                turnlock_event_set(event),
                turnlock_condition_notify_one(condition, ptr::null_mut()),
                turnlock_barrier_query(barrier, ptr::null_mut(), ptr::null_mut()),
            ],
        }
    };
    for (answer, place) in answers.into_iter().zip(&ANSWERS) {
        place.store(answer, SeqCst);
    }
}

pub fn a_handler_sets_and_notifies_and_does_not_wait_where_its_thread_does() {
    let scene = Scene::new();
    EVENT.store(scene.event.handle, SeqCst);
    CONDITION.store(scene.condition.handle, SeqCst);
    BARRIER.store(scene.barrier.handle, SeqCst);
    LOCK.store(scene.mutex.handle, SeqCst);
    // SAFETY: a handler that calls only what a handler may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(i32) as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &action, ptr::null_mut()), 0);
    }
    let interrupted = |waits_at: u32, name: &str, wait: fn(&Scene) -> i32, meanwhile: &dyn Fn()| {
        WAITS_AT.store(waits_at, SeqCst);
        ANSWERS.iter().for_each(|answer| answer.store(i32::MIN, SeqCst));
        let (send, thread_of) = std::sync::mpsc::channel();
        let status = thread::scope(|threads| {
            let scene = &scene;
            let waits = threads.spawn(move || {
                // SAFETY: asks for the thread itself.
                send.send(unsafe { libc::pthread_self() }).unwrap();
                wait(scene)
            });
            let thread = thread_of.recv().unwrap();
            scene.until_waiting(name, 1);
            // SAFETY: a thread that is joined later.
            assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR2) }, 0);
            support::until("the handler has run", || ANSWERS[3].load(SeqCst) != i32::MIN);
            meanwhile();
            join(waits)
        });
        (status, ANSWERS.each_ref().map(|answer| answer.load(SeqCst)))
    };
    const BUSY: i32 = TURNLOCK_ERROR_HOLD_BUSY;
    let by_event =
        interrupted(AN_EVENT, "event", |scene| await_event(scene, TURNLOCK_WAIT_FOREVER, 0), &|| {});
    assert_eq!(by_event, (TURNLOCK_OK, [BUSY, TURNLOCK_OK, 0, 0]));
    let with_lock: fn(&Scene) -> i32 = |scene| {
        // SAFETY: open handles.
        unsafe {
            assert_eq!(turnlock_mutex_lock(scene.mutex.handle, NULL), TURNLOCK_OK);
            let (status, _) = scene.wait(&scene.mutex, TURNLOCK_WAIT_FOREVER, 0);
            assert_eq!(turnlock_mutex_unlock(scene.mutex.handle), TURNLOCK_OK);
            status
        }
    };
    let by_condition = interrupted(A_CONDITION, "condition", with_lock, &|| {});
    assert_eq!(by_condition, (TURNLOCK_OK, [BUSY, TURNLOCK_OK, TURNLOCK_OK, TURNLOCK_OK]));
    // It waits on until the others come.
    let by_barrier =
        interrupted(A_BARRIER, "barrier", |scene| meet(&scene.barrier, TURNLOCK_WAIT_FOREVER, 0).0, &|| {
            thread::scope(|threads| {
                for _ in 0..2 {
                    threads.spawn(|| {
                        assert_eq!(meet(&scene.barrier, TURNLOCK_WAIT_FOREVER, 0).0, TURNLOCK_OK);
                    });
                }
            });
        });
    assert_eq!(by_barrier, (TURNLOCK_OK, [BUSY, TURNLOCK_OK, TURNLOCK_OK, TURNLOCK_OK]));
}
