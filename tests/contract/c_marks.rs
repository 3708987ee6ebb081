//! A handle of one kind in the place of one of another: an error, and nothing is done.

use crate::{
    c_coordination::{open_barrier, open_condition, open_event, open_once},
    c_handles::{last_message, open_file, open_hold, opened},
};
use std::{ffi::c_void, ptr};
use support::Place;
use turnlock::{capi::*, status::*};

/// A function that takes a handle, and its `close`.
struct Kind {
    name: &'static str,
    call: unsafe fn(*mut c_void) -> i32,
    close: unsafe fn(*mut c_void) -> i32,
}

macro_rules! kinds {
    ($($name:literal $call:expr, $close:ident;)*) => { [$(Kind {
        name: $name,
        call: $call,
        // SAFETY: the caller's promise.
        close: |handle| unsafe { $close(handle.cast()) },
    }),*] };
}

pub fn a_handle_of_one_kind_does_not_pass_for_one_of_another() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 16).unwrap();
    let hold = open_hold(&file).unwrap();
    macro_rules! lock {
        ($open:ident $close:ident $name:literal) => {
            // SAFETY: a file handle, a C string, and a place for the handle.
            opened($close, |lock| unsafe { $open(file.handle, $name.as_ptr(), ptr::null(), lock) }).unwrap()
        };
    }
    let mutex = lock!(turnlock_mutex_open turnlock_mutex_close c"mutex");
    let ring = lock!(turnlock_ring_open turnlock_ring_close c"ring");
    let rwlock = lock!(turnlock_rwlock_open turnlock_rwlock_close c"rwlock");
    let semaphore = lock!(turnlock_semaphore_open turnlock_semaphore_close c"semaphore");
    let rangelock = lock!(turnlock_rangelock_open turnlock_rangelock_close c"range lock");
    let keyedlock = lock!(turnlock_keyedlock_open turnlock_keyedlock_close c"keyed lock");
    let grouplock = lock!(turnlock_grouplock_open turnlock_grouplock_close c"group lock");
    let condition = open_condition(&file, c"condition", 0).unwrap();
    let event = open_event(&file, c"event", 0).unwrap();
    let barrier = open_barrier(&file, c"barrier", 2, 0).unwrap();
    let once = open_once(&file, c"once", 0).unwrap();
    let handles: [*mut c_void; 13] = [
        file.handle.cast(),
        hold.handle.cast(),
        mutex.handle.cast(),
        ring.handle.cast(),
        rwlock.handle.cast(),
        semaphore.handle.cast(),
        rangelock.handle.cast(),
        keyedlock.handle.cast(),
        grouplock.handle.cast(),
        condition.handle.cast(),
        event.handle.cast(),
        barrier.handle.cast(),
        once.handle.cast(),
    ];
    macro_rules! call {
        ($call:ident $(, $argument:expr)*) => {
            // SAFETY: any handle that is open.
            |handle: *mut c_void| unsafe { $call(handle.cast() $(, $argument)*) }
        };
    }
    let kinds = kinds! {
        "file" call!(turnlock_file_path, 0, ptr::null_mut(), &mut 0), turnlock_file_close;
        "hold" call!(turnlock_hold_cancel), turnlock_hold_close;
        // Those with a fast path.
        "mutex" call!(turnlock_mutex_try_lock, ptr::null_mut()), turnlock_mutex_close;
        "ring" call!(turnlock_ring_try_lock, ptr::null_mut()), turnlock_ring_close;
        "rwlock" call!(turnlock_rwlock_try_lock_shared, ptr::null_mut()), turnlock_rwlock_close;
        "semaphore" call!(turnlock_semaphore_try_acquire, 1, ptr::null_mut()), turnlock_semaphore_close;
        "range lock" call!(turnlock_rangelock_try_lock_shared, 0, 1, ptr::null_mut()), turnlock_rangelock_close;
        "keyed lock" call!(turnlock_keyedlock_try_lock_shared, c"a".as_ptr().cast(), 1, ptr::null_mut()),
            turnlock_keyedlock_close;
        "group lock" call!(turnlock_grouplock_try_lock, 1, ptr::null_mut()), turnlock_grouplock_close;
        "condition" call!(turnlock_condition_notify_one, ptr::null_mut()), turnlock_condition_close;
        "event" call!(turnlock_event_is_set, &mut 0), turnlock_event_close;
        "barrier" call!(turnlock_barrier_query, ptr::null_mut(), ptr::null_mut()), turnlock_barrier_close;
        "once" call!(turnlock_once_is_done, &mut 0), turnlock_once_close;
    };
    for (at, kind) in kinds.iter().enumerate() {
        for (other, handle) in handles.into_iter().enumerate().filter(|(other, _)| *other != at) {
            for act in [kind.call, kind.close] {
                // SAFETY: an open handle.
                let told = unsafe { act(handle) };
                let of = kinds[other].name;
                assert_eq!(told, TURNLOCK_ERROR_INVALID_ARGUMENT, "a {of} for a {}", kind.name);
                assert_eq!(last_message(), format!("this is not a {} handle", kind.name));
            }
        }
    }
    // None was closed or locked by that.
    for (kind, handle) in kinds.iter().zip(handles) {
        // SAFETY: an open handle.
        assert_eq!(unsafe { (kind.call)(handle) }, TURNLOCK_OK, "a {}", kind.name);
    }
}
