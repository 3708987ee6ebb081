//! What the C ABI is asked about a file and its locks: arrays, structs of other versions, places that are not there.

use crate::{
    c::AtMutex,
    c_handles::{last_message, open_file, open_mutex, opened, sized},
    stage::Stage,
    way::{Held, Party, Wait},
};
use std::{ffi::CStr, mem::offset_of, ptr, thread};
use support::{Place, elsewhere, join};
use turnlock::{capi::*, inspect, status::*};

fn label(info: &turnlock_participant_info) -> &str {
    // SAFETY: NUL-terminated, as the header says.
    unsafe { CStr::from_ptr(info.label.as_ptr()) }.to_str().unwrap()
}

/// What a newer header might have.
#[repr(C)]
#[derive(Clone, Copy)]
struct Newer {
    known: turnlock_participant_info,
    new: u64,
}

pub fn an_array_of_waiters_is_filled_as_far_as_it_goes() {
    let stage = Stage::<crate::c::BakeryByThreads>::new();
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    let mutex = party.any();
    thread::scope(|threads| {
        let waiters = [1, 2, 3].map(|waiting| {
            let waiter = threads.spawn(|| stage.party("a").lock(Wait::Forever).unwrap().unlock().unwrap());
            stage.until_waiting("a", waiting);
            waiter
        });
        let mut count = 7;
        // SAFETY: an open handle, no array for no elements, and places for the numbers.
        unsafe {
            assert_eq!(turnlock_lock_waiters(mutex, 0, ptr::null_mut(), &mut count), TURNLOCK_OK);
            assert_eq!(count, 3);
            let none = ptr::null_mut();
            assert_eq!(turnlock_lock_waiters(mutex, 1, none, &mut count), TURNLOCK_ERROR_INVALID_ARGUMENT);
            assert_eq!(
                turnlock_lock_waiters(mutex, 0, none, ptr::null_mut()),
                TURNLOCK_ERROR_INVALID_ARGUMENT
            );
            assert_eq!(turnlock_lock_holders(mutex, 1, none, &mut count), TURNLOCK_ERROR_INVALID_ARGUMENT);
        }
        let mut array = [Newer { known: sized(), new: 7 }; 3];
        let known = array[0].known.size;
        // Not those of the others: only the first is asked.
        for one in &mut array[1..] {
            one.known.size = 0;
        }
        for size in [0, known - 1, known + 1, 1 << 20] {
            array[0].known.size = size;
            // SAFETY: an open handle, and a size that is refused.
            let refused = unsafe { turnlock_lock_waiters(mutex, 1, (&raw mut array).cast(), &mut count) };
            assert_eq!(refused, TURNLOCK_ERROR_INVALID_ARGUMENT);
            assert!(last_message().contains(&size.to_string()), "{}", last_message());
        }
        array[0].known.size = size_of::<Newer>();
        // SAFETY: an open handle, and two elements as large as the first one says.
        let told = unsafe { turnlock_lock_waiters(mutex, 2, (&raw mut array).cast(), &mut count) };
        assert_eq!((told, count), (TURNLOCK_OK, 3));
        for one in &array[..2] {
            assert_eq!((one.known.size, one.known.pid), (size_of::<Newer>(), std::process::id()));
            assert_eq!((one.known.state, one.known.life), (TURNLOCK_STATE_QUEUED, TURNLOCK_LIFE_ALIVE));
            assert!(one.known.duration_ns > 0 && one.known.flags == 0);
            assert_eq!((one.new, one.known.fencing_token), (0, 0));
        }
        assert_eq!((array[2].known.size, array[2].new), (0, 7), "no room was given for it");
        held.unlock().unwrap();
        waiters.into_iter().for_each(join);
    });
}

pub fn a_free_lock_has_no_holder() {
    let stage = Stage::<crate::c::BakeryByThreads>::new();
    let party = stage.party("a");
    let ask = || {
        let (mut holder, mut count) = (sized::<turnlock_participant_info>(), usize::MAX);
        // SAFETY: an open handle, and places for the answer.
        let told = unsafe { turnlock_lock_holders(party.any(), 1, &mut holder, &mut count) };
        (told, count, holder.pid)
    };
    assert_eq!(ask(), (TURNLOCK_OK, 0, 0));
    let held = party.lock(Wait::Never).unwrap();
    assert_eq!(ask(), (TURNLOCK_OK, 1, std::process::id()));
    held.unlock().unwrap();
    assert_eq!(ask(), (TURNLOCK_OK, 0, 0));
}

pub fn what_is_held_of_ranges_and_keys_is_shown() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 4).unwrap();
    // SAFETY: a file handle, a C string, and a place for the handle.
    let ranges = opened(turnlock_rangelock_close, |lock| unsafe {
        turnlock_rangelock_open(file.handle, c"r".as_ptr(), ptr::null(), lock)
    })
    .unwrap();
    // SAFETY: as above.
    let keys = opened(turnlock_keyedlock_close, |lock| unsafe {
        turnlock_keyedlock_open(file.handle, c"k".as_ptr(), ptr::null(), lock)
    })
    .unwrap();
    let holder = |lock: *const turnlock_lock, size| {
        let (mut found, mut count) = (turnlock_participant_info { size, ..sized() }, 0);
        // SAFETY: an open handle, room for one, and a place for the number.
        assert_eq!(unsafe { turnlock_lock_holders(lock, 1, &mut found, &mut count) }, TURNLOCK_OK);
        assert_eq!(count, 1);
        found
    };
    let whole = size_of::<turnlock_participant_info>();
    for (start, end, last) in [(5, 8, 7), (8, u64::MAX, u64::MAX)] {
        // SAFETY: an open handle.
        let shown = unsafe {
            assert_eq!(
                turnlock_rangelock_lock_shared(ranges.handle, start, end, ptr::null_mut()),
                TURNLOCK_OK
            );
            let shown = holder(ranges.handle.cast(), whole);
            assert_eq!(turnlock_rangelock_unlock(ranges.handle, start, end), TURNLOCK_OK);
            shown
        };
        assert_eq!((shown.first, shown.last, shown.mode), (start, last, TURNLOCK_MODE_SHARED));
        assert_eq!((shown.key_size, shown.flags, shown.key), (0, 0, [0; 48]));
    }
    let mut hashes = Vec::new();
    for (key, flags) in [
        (&b""[..], 0),
        (b"a\0\xff", TURNLOCK_INFO_WHOLE_KEY),
        (&[b'x'; 47], TURNLOCK_INFO_WHOLE_KEY),
        (&[b'x'; 48], 0),
    ] {
        // SAFETY: an open handle, and so many bytes.
        let (shown, older) = unsafe {
            let of = (keys.handle, key.as_ptr().cast(), key.len());
            assert_eq!(turnlock_keyedlock_lock_exclusive(of.0, of.1, of.2, ptr::null_mut()), TURNLOCK_OK);
            let shown = holder(of.0.cast(), whole);
            // A struct from before keys were shown.
            let older = holder(of.0.cast(), offset_of!(turnlock_participant_info, key));
            assert_eq!(turnlock_keyedlock_unlock(of.0, of.1, of.2), TURNLOCK_OK);
            (shown, older)
        };
        assert_eq!((&shown.key[..shown.key_size as usize], shown.flags), (&key[..key.len().min(47)], flags));
        assert_eq!((older.first, older.last, older.key), (shown.first, shown.last, [0; 48]));
        hashes.push((shown.first, shown.last));
    }
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 4, "each key has a hash of its own");
}

pub fn only_the_holder_is_told_whether_a_waiter_is_there() {
    let stage = Stage::<crate::c::BakeryByThreads>::new();
    let party = stage.party("a");
    // SAFETY: an open handle.
    let ask = |party: &AtMutex| unsafe { turnlock_lock_is_contended(party.any()) };
    assert_eq!(ask(&party), TURNLOCK_ERROR_NOT_OWNER);
    let held = party.lock(Wait::Never).unwrap();
    assert_eq!(ask(&party), TURNLOCK_OK);
    assert_eq!(elsewhere(|| ask(&stage.party("a"))), TURNLOCK_ERROR_NOT_OWNER);
    held.unlock().unwrap();
    // SAFETY: no handle.
    assert_eq!(unsafe { turnlock_lock_is_contended(ptr::null()) }, TURNLOCK_ERROR_INVALID_ARGUMENT);
}

pub fn a_hold_is_opened_with_options() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 2).unwrap();
    let mutex = open_mutex(&file, c"a").unwrap();
    let open = |options: &turnlock_hold_options| {
        let mut hold = ptr::null_mut();
        // SAFETY: an open handle, options of the size they say (or one that is refused), a place for the handle.
        let status = unsafe { turnlock_hold_open(file.handle, options, &mut hold) };
        (status, hold)
    };
    let usual = turnlock_hold_options { label: c"a task".as_ptr(), ..sized() };
    for refused in [
        turnlock_hold_options { size: 8, ..usual },
        turnlock_hold_options { flags: 1 << 31, ..usual },
        turnlock_hold_options { slot: 1, ..usual },
        turnlock_hold_options { label: c"\xff".as_ptr(), ..usual },
    ] {
        assert_eq!(open(&refused), (TURNLOCK_ERROR_INVALID_ARGUMENT, ptr::null_mut()));
    }
    for (flags, kept_by) in [
        (0, None),
        (TURNLOCK_HOLD_BY_DESCRIPTOR, Some("descriptor")),
        (TURNLOCK_HOLD_INHERIT_TO_CHILDREN, Some("descriptor")),
    ] {
        let (status, hold) = open(&turnlock_hold_options { flags, ..usual });
        assert_eq!(status, TURNLOCK_OK);
        let (mut holder, mut count) = (sized::<turnlock_participant_info>(), 0);
        let request = turnlock_request { lock: mutex.handle.cast(), ..sized() };
        // SAFETY: open handles, and a place for the answer.
        unsafe {
            assert_eq!(turnlock_hold_acquire(hold, &request, ptr::null_mut()), TURNLOCK_OK);
            assert_eq!(turnlock_lock_holders(request.lock, 1, &mut holder, &mut count), TURNLOCK_OK);
            assert_eq!(turnlock_hold_is_contended(hold), TURNLOCK_OK);
        }
        assert_eq!((label(&holder), holder.life), ("a task", TURNLOCK_LIFE_ALIVE));
        let status = inspect::snapshot(place.lock_file()).unwrap();
        assert!(kept_by.is_none_or(|kept_by| status.locks[0].holders[0].participant.kept_by == kept_by));
        // SAFETY: open handles.
        unsafe {
            assert_eq!(turnlock_hold_release(hold), TURNLOCK_OK);
            assert_eq!(turnlock_hold_close(hold), TURNLOCK_OK);
        }
    }
}

pub fn the_path_of_a_file_is_given_as_far_as_there_is_room() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 2).unwrap();
    let whole = place.lock_file().canonicalize().unwrap().to_str().unwrap().to_owned();
    for capacity in [0, 1, 5, whole.len(), whole.len() + 1, 4096] {
        let (mut path, mut length) = (vec![b'x'; capacity + 1], 0);
        // SAFETY: an open handle, and as much room as said.
        let status =
            unsafe { turnlock_file_path(file.handle, capacity, path.as_mut_ptr().cast(), &mut length) };
        assert_eq!((status, length), (TURNLOCK_OK, whole.len()));
        assert_eq!(path[capacity], b'x', "beyond the room");
        if capacity > 0 {
            let fitting = &whole[..whole.len().min(capacity - 1)];
            assert_eq!(CStr::from_bytes_until_nul(&path).unwrap().to_str(), Ok(fitting));
        }
    }
    // SAFETY: an open handle, and places that are refused.
    unsafe {
        let (mut length, null) = (0, ptr::null_mut());
        assert_eq!(
            turnlock_file_path(file.handle, 0, ptr::null_mut(), null),
            TURNLOCK_ERROR_INVALID_ARGUMENT
        );
        let refused = turnlock_file_path(file.handle, 9, ptr::null_mut(), &mut length);
        assert_eq!(refused, TURNLOCK_ERROR_INVALID_ARGUMENT);
    }
}
