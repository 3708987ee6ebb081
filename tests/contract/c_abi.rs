//! What only the C ABI can be asked: handles that were closed, owners that are none, arguments that make no sense.

use crate::{
    c::AtMutex,
    c_handles::{current_hold, last_message, open_file, open_hold, open_mutex, sized},
    stage::Stage,
    way::{Held, Party, Wait, Way, WithoutGuards},
};
use std::{
    ffi::CStr,
    ptr,
    sync::{
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};
use support::{NoHang, Place, elsewhere, join};
use turnlock::{capi::*, status::*};

pub fn only_the_holder_can_give_it_back_or_heal_it<W: Way>()
where
    W::Party: WithoutGuards,
{
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    for _ in 0..2 {
        assert_eq!(party.unlock_without_asking().err(), Some(TURNLOCK_ERROR_NOT_OWNER));
        assert_eq!(party.mark_consistent_without_asking().err(), Some(TURNLOCK_ERROR_NOT_OWNER));
        let held = party.lock(Wait::Never).unwrap();
        elsewhere(|| {
            let other = stage.party("a");
            assert_eq!(other.unlock_without_asking().err(), Some(TURNLOCK_ERROR_NOT_OWNER));
            assert_eq!(other.mark_consistent_without_asking().err(), Some(TURNLOCK_ERROR_NOT_OWNER));
        });
        if party.names_the_lock() {
            assert_eq!(party.at("b").unlock_without_asking().err(), Some(TURNLOCK_ERROR_NOT_OWNER));
        }
        assert_eq!(stage.another_thread_is_told("a", Wait::Never), Some(TURNLOCK_ERROR_WOULD_BLOCK));
        held.unlock().unwrap();
    }
}

/// One thread says all the time that the data are consistent, which they were from the start.
pub fn an_unlock_beside_a_repair_in_vain_is_done_or_the_hold_busy<W: Way>()
where
    W::Party: WithoutGuards + Sync,
{
    const ROUNDS: u32 = 3_000;
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let done = AtomicBool::new(false);
    thread::scope(|threads| {
        let marks = threads.spawn(|| {
            while !done.load(SeqCst) {
                let told = party.mark_consistent_without_asking().err();
                let expected =
                    [TURNLOCK_ERROR_NOT_OWNER, TURNLOCK_ERROR_NOT_INCONSISTENT, TURNLOCK_ERROR_HOLD_BUSY];
                assert!(expected.contains(&told.unwrap()), "{told:?}");
            }
        });
        let unlocks = || {
            for _ in 0..ROUNDS {
                loop {
                    match party.lock(Wait::Forever) {
                        Ok(held) => break std::mem::forget(held),
                        Err(told) => assert_eq!(told, TURNLOCK_ERROR_HOLD_BUSY),
                    }
                }
                party.unlock_without_asking().unwrap();
            }
        };
        let unlocked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(unlocks));
        done.store(true, SeqCst);
        join(marks);
        unlocked.unwrap();
    });
    stage.another_thread_can_take("a");
}

pub fn a_mutex_handle_is_not_closed_while_its_thread_holds_it() {
    let stage = Stage::<crate::c::BakeryByThreads>::new();
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    // SAFETY: an open handle that no other thread uses.
    assert_eq!(unsafe { turnlock_mutex_close(party.mutex.handle) }, TURNLOCK_ERROR_STILL_HELD);
    held.unlock().unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { turnlock_mutex_close(party.mutex.handle) }, TURNLOCK_OK);
}

pub fn a_hold_is_not_closed_while_it_holds() {
    let stage = Stage::<crate::c::BakeryByHolds>::new();
    let party = stage.party("a");
    let hold = party.hold.as_ref().unwrap().handle;
    let held = party.lock(Wait::Never).unwrap();
    // SAFETY: an open handle that no other thread uses.
    assert_eq!(unsafe { turnlock_hold_close(hold) }, TURNLOCK_ERROR_STILL_HELD);
    held.unlock().unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { turnlock_hold_close(hold) }, TURNLOCK_OK);
}

pub fn the_hold_of_a_thread_can_be_closed_after_the_thread_ended() {
    let _no_hang = NoHang::for_seconds(20);
    let place = Place::new();
    let file = open_file(&place.lock_file(), 1, 1).unwrap();
    // There is one slot: a later thread has the same.
    let of_ended_thread = elsewhere(|| {
        open_mutex(&file, c"a").unwrap();
        current_hold(&file).unwrap()
    });
    let mutex = open_mutex(&file, c"a").unwrap();
    // SAFETY: open handles.
    unsafe {
        assert_eq!(turnlock_mutex_lock(mutex.handle, ptr::null_mut()), TURNLOCK_OK);
        assert_eq!(turnlock_hold_close(of_ended_thread.handle), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_unlock(mutex.handle), TURNLOCK_OK);
    }
}

pub fn every_call_with_a_closed_handle_says_so() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 2).unwrap();
    let mutex = open_mutex(&file, c"a").unwrap();
    let hold = open_hold(&file).unwrap();
    let (f, m, h) = (file.handle, mutex.handle, hold.handle);
    let (mut other_mutex, mut other_hold) = (ptr::null_mut(), ptr::null_mut());
    let (request, mut token) = (turnlock_request { lock: m.cast(), ..sized() }, 0);
    // SAFETY: handles that were opened once; closed ones among the last 1024 are answered.
    unsafe {
        assert_eq!(turnlock_hold_close(h), TURNLOCK_OK);
        for told in [
            turnlock_hold_close(h),
            turnlock_hold_cancel(h),
            turnlock_hold_clear_cancel(h),
            turnlock_hold_acquire(h, &request, ptr::null_mut()),
            turnlock_hold_release(h),
            turnlock_hold_release_permits(h, 1),
            turnlock_hold_upgrade(h, TURNLOCK_WAIT_NEVER, 0, ptr::null_mut()),
            turnlock_hold_downgrade(h, TURNLOCK_MODE_SHARED),
            turnlock_hold_abandon(h),
            turnlock_hold_mark_consistent(h),
            turnlock_hold_fencing_token(h, &mut token),
            turnlock_hold_is_contended(h),
            turnlock_hold_leave_ring(h, ptr::null()),
            turnlock_hold_transfer_to_fd(h, 0, 0),
        ] {
            assert_eq!(told, TURNLOCK_ERROR_CLOSED);
        }
        assert_eq!(turnlock_file_close(f), TURNLOCK_OK);
        for told in [
            turnlock_file_close(f),
            turnlock_mutex_open(f, c"b".as_ptr(), ptr::null(), &mut other_mutex),
            turnlock_hold_open(f, ptr::null(), &mut other_hold),
            turnlock_hold_of_thread(f, &mut other_hold),
        ] {
            assert_eq!(told, TURNLOCK_ERROR_CLOSED);
        }
        assert!(other_mutex.is_null() && other_hold.is_null());
        // The file's mutexes live on.
        assert_eq!(turnlock_mutex_lock(m, ptr::null_mut()), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_unlock(m), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_close(m), TURNLOCK_OK);
        let mut owner = std::mem::zeroed();
        for told in [
            turnlock_mutex_close(m),
            turnlock_mutex_lock(m, ptr::null_mut()),
            turnlock_mutex_try_lock(m, ptr::null_mut()),
            turnlock_mutex_lock_for(m, 1, ptr::null_mut()),
            turnlock_mutex_unlock(m),
            turnlock_mutex_mark_consistent(m),
            turnlock_lock_reset(m.cast()),
            turnlock_lock_previous_owner(m.cast(), &mut owner),
            turnlock_lock_is_contended(m.cast()),
        ] {
            assert_eq!(told, TURNLOCK_ERROR_CLOSED);
        }
    }
}

pub fn null_is_an_invalid_argument() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 2).unwrap();
    let mutex = open_mutex(&file, c"a").unwrap();
    let hold = open_hold(&file).unwrap();
    let (m, null) = (mutex.handle, ptr::null_mut::<turnlock_hold>());
    // SAFETY: NULL is what these functions promise to check; the other arguments are open handles and C strings.
    unsafe {
        let mut f = ptr::null_mut();
        for told in [
            turnlock_file_open(ptr::null(), ptr::null(), &mut f),
            turnlock_file_open(c"/x".as_ptr(), ptr::null(), ptr::null_mut()),
            turnlock_file_close(ptr::null_mut()),
            turnlock_mutex_open(ptr::null(), c"a".as_ptr(), ptr::null(), ptr::null_mut()),
            turnlock_mutex_open(file.handle, ptr::null(), ptr::null(), ptr::null_mut()),
            turnlock_mutex_open(file.handle, c"a".as_ptr(), ptr::null(), ptr::null_mut()),
            turnlock_mutex_close(ptr::null_mut()),
            turnlock_mutex_lock(ptr::null(), ptr::null_mut()),
            turnlock_mutex_unlock(ptr::null()),
            turnlock_lock_previous_owner(m.cast(), ptr::null_mut()),
            turnlock_lock_reset(ptr::null()),
            turnlock_hold_acquire(null, &turnlock_request { lock: m.cast(), ..sized() }, ptr::null_mut()),
            turnlock_hold_acquire(hold.handle, ptr::null(), ptr::null_mut()),
            turnlock_hold_acquire(hold.handle, &sized(), ptr::null_mut()),
            turnlock_hold_fencing_token(hold.handle, ptr::null_mut()),
            turnlock_hold_leave_ring(hold.handle, ptr::null()),
            turnlock_hold_release(null),
            turnlock_hold_open(ptr::null(), ptr::null(), ptr::null_mut()),
            turnlock_hold_open(file.handle, ptr::null(), ptr::null_mut()),
            turnlock_hold_of_thread(file.handle, ptr::null_mut()),
            turnlock_hold_close(null),
            turnlock_hold_cancel(null),
        ] {
            assert_eq!(told, TURNLOCK_ERROR_INVALID_ARGUMENT);
            assert!(last_message().contains("NULL"), "{}", last_message());
        }
        assert!(f.is_null());
    }
}

pub fn a_name_that_is_not_utf_8_is_a_bad_name() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 2).unwrap();
    assert_eq!(open_mutex(&file, c"\xff").err(), Some(TURNLOCK_ERROR_BAD_NAME));
}

pub fn options_of_another_version_are_taken_or_refused_but_never_misread() {
    let place = Place::new();
    let path = std::ffi::CString::new(place.lock_file().to_str().unwrap()).unwrap();
    /// What a newer header might have.
    #[repr(C)]
    struct Newer {
        known: turnlock_file_options,
        new: u64,
    }
    // SAFETY: plain data; all zeros are a value.
    let mut newer: Newer = unsafe { std::mem::zeroed() };
    newer.known.participants = 7;
    let mut file = ptr::null_mut();
    let mut open = |newer: &Newer| {
        // SAFETY: a C string, as many bytes as `size` says (or a size that is refused), a place for the handle.
        unsafe { turnlock_file_open(path.as_ptr(), (&raw const *newer).cast(), &mut file) }
    };
    // As the first version had them.
    let smallest = std::mem::offset_of!(turnlock_file_options, should_stop_waiting);
    for size in [0, 1, smallest - 1, 1 << 20] {
        newer.known.size = size;
        assert_eq!(open(&newer), TURNLOCK_ERROR_INVALID_ARGUMENT);
        assert!(last_message().contains(&size.to_string()), "{}", last_message());
    }
    newer.known.size = size_of::<Newer>();
    newer.new = 1;
    assert_eq!(
        open(&newer),
        TURNLOCK_ERROR_INVALID_ARGUMENT,
        "an option that is not understood is not ignored"
    );
    newer.new = 0;
    newer.known.flags = 1 << 31;
    assert_eq!(open(&newer), TURNLOCK_ERROR_INVALID_ARGUMENT);
    newer.known.flags = 0;
    newer.known.mailboxes = 17;
    assert_eq!(open(&newer), TURNLOCK_ERROR_INVALID_ARGUMENT);
    newer.known.mailboxes = 0;
    newer.known.flags = TURNLOCK_FILE_MUST_EXIST;
    assert_eq!(open(&newer), TURNLOCK_ERROR_NOT_FOUND);
    newer.known.flags = 0;
    newer.known.size = smallest;
    assert_eq!(open(&newer), TURNLOCK_OK);
    // SAFETY: opened just now.
    assert_eq!(unsafe { turnlock_file_close(file) }, TURNLOCK_OK);
    assert_eq!(turnlock::inspect::snapshot(place.lock_file()).unwrap().participant_capacity, 7);
}

pub fn a_mutex_that_must_exist_is_not_created() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 2).unwrap();
    let options = turnlock_mutex_options {
        size: size_of::<turnlock_mutex_options>(),
        algorithm: TURNLOCK_ALGORITHM_BAKERY,
        flags: TURNLOCK_MUTEX_MUST_EXIST,
        patience_ns: 0,
    };
    let mut mutex = ptr::null_mut();
    // SAFETY: an open handle, a C string, options of the right size, a place for the handle.
    let mut open = || unsafe { turnlock_mutex_open(file.handle, c"a".as_ptr(), &options, &mut mutex) };
    assert_eq!(open(), TURNLOCK_ERROR_NOT_FOUND);
    let _created = open_mutex(&file, c"a").unwrap();
    assert_eq!(open(), TURNLOCK_OK);
    // SAFETY: opened just now.
    assert_eq!(unsafe { turnlock_mutex_close(mutex) }, TURNLOCK_OK);
}

pub fn the_last_message_is_the_calling_threads_own() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 1).unwrap();
    let _a = open_mutex(&file, c"a").unwrap();
    assert_eq!(open_mutex(&file, c"b").err(), Some(TURNLOCK_ERROR_LOCKS_FULL));
    elsewhere(|| {
        assert_eq!(last_message(), "");
        assert_eq!(open_mutex(&file, c"").err(), Some(TURNLOCK_ERROR_BAD_NAME));
        assert!(last_message().contains("1 to 63 bytes"), "{}", last_message());
    });
    let told = last_message();
    assert!(told.contains(place.lock_file().to_str().unwrap()), "{told}");
    assert!(told.contains("all 1 named locks"), "{told}");
    assert_eq!(told, last_message(), "asking does not use it up");
    // SAFETY: never NULL, valid for ever.
    let short = unsafe { CStr::from_ptr(turnlock_status_text(TURNLOCK_ERROR_LOCKS_FULL)) };
    assert_eq!(short, c"every named lock of the file is taken");
}

pub fn a_hold_and_a_mutex_of_two_files_do_not_go_together() {
    let (here, there) = (Place::new(), Place::new());
    let file_here = open_file(&here.lock_file(), 8, 1).unwrap();
    let file_there = open_file(&there.lock_file(), 8, 1).unwrap();
    let mutex = open_mutex(&file_here, c"a").unwrap();
    let hold = open_hold(&file_there).unwrap();
    let request = turnlock_request { lock: mutex.handle.cast(), ..sized() };
    // SAFETY: open handles, and a request of the right size.
    let told = unsafe { turnlock_hold_acquire(hold.handle, &request, ptr::null_mut()) };
    assert_eq!(told, TURNLOCK_ERROR_INVALID_ARGUMENT);
    for path in [here.lock_file(), there.lock_file()] {
        assert!(last_message().contains(path.to_str().unwrap()), "{}", last_message());
    }
}

pub fn a_label_stands_in_the_owner_dead_notice() {
    let _no_hang = NoHang::for_seconds(20);
    let place = Place::new();
    let path = std::ffi::CString::new(place.lock_file().to_str().unwrap()).unwrap();
    let label = std::ffi::CString::new("é".repeat(40)).unwrap();
    // SAFETY: plain data; all zeros are a value.
    let mut options: turnlock_file_options = unsafe { std::mem::zeroed() };
    options.size = size_of::<turnlock_file_options>();
    options.label = label.as_ptr();
    let mut file = ptr::null_mut();
    // SAFETY: C strings, options of the right size, a place for the handle.
    assert_eq!(unsafe { turnlock_file_open(path.as_ptr(), &options, &mut file) }, TURNLOCK_OK);
    let at = || {
        let opened = open_file(&place.lock_file(), 0, 0).unwrap();
        AtMutex {
            hold: None,
            mutex: open_mutex(&opened, c"a").unwrap(),
            file: opened.into(),
            open: open_mutex,
            begins: false,
        }
    };
    elsewhere(|| {
        // Held, and never given back.
        at().lock(Wait::Never).unwrap().fencing_token()
    });
    let party = at();
    let held = party.lock(Wait::Never).unwrap();
    assert!(held.previous_owner_died());
    assert_eq!(party.previous_owner().unwrap().3, "é".repeat(31), "cut between two characters");
    held.unlock().unwrap();
    // SAFETY: opened above.
    assert_eq!(unsafe { turnlock_file_close(file) }, TURNLOCK_OK);
}

pub fn a_cancelled_hold_may_be_closed_from_another_thread() {
    let stage = Stage::<crate::c::BakeryByThreads>::new();
    let holder = stage.party("a");
    let held = holder.lock(Wait::Never).unwrap();
    let (told, waiter) = mpsc::channel();
    thread::scope(|threads| {
        let waits = threads.spawn(|| {
            let party = stage.party("a");
            told.send(current_hold(&party.file).unwrap()).unwrap();
            party.lock(Wait::Forever).err()
        });
        let waiter = waiter.recv().unwrap();
        stage.until_waiting("a", 1);
        // SAFETY: an open handle, used by this thread alone: the waiting thread never sees it.
        unsafe {
            assert_eq!(turnlock_hold_cancel(waiter.handle), TURNLOCK_OK);
            assert_eq!(turnlock_hold_close(waiter.handle), TURNLOCK_OK);
        }
        assert_eq!(join(waits), Some(TURNLOCK_ERROR_CANCELLED));
    });
    held.unlock().unwrap();
}

/// The output structs grow by their size: a program that knows less gets less, one that knows more gets zeros.
pub fn structs_to_be_filled_in_are_of_any_version_and_checked_before_the_lock_is_taken() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 2).unwrap();
    let mutex = open_mutex(&file, c"a").unwrap();
    /// What a newer header might have.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Newer {
        known: turnlock_acquired,
        new: u64,
    }
    let mut newer = Newer { known: sized(), new: 7 };
    let known = newer.known.size;
    // Through the fast path too, which comes after the first.
    for size in [known, known, size_of::<Newer>(), size_of::<Newer>()] {
        newer.known = turnlock_acquired { size, ..sized() };
        // SAFETY: an open handle, and as many writable bytes as the size says.
        assert_eq!(unsafe { turnlock_mutex_lock(mutex.handle, (&raw mut newer).cast()) }, TURNLOCK_OK);
        assert!(newer.known.fencing_token > 0 && newer.known.size == size);
        assert_eq!(newer.new, if size > known { 0 } else { 7 });
        // SAFETY: an open handle.
        assert_eq!(unsafe { turnlock_mutex_unlock(mutex.handle) }, TURNLOCK_OK);
    }
    for size in [0, known - 1, 1 << 20] {
        newer.known.size = size;
        let refused = [
            // SAFETY: an open handle, and a size that is refused.
            unsafe { turnlock_mutex_lock(mutex.handle, (&raw mut newer).cast()) },
            // SAFETY: as above.
            unsafe { turnlock_mutex_try_lock(mutex.handle, (&raw mut newer).cast()) },
            // SAFETY: as above.
            unsafe { turnlock_mutex_lock_for(mutex.handle, 1, (&raw mut newer).cast()) },
        ];
        assert_eq!(refused, [TURNLOCK_ERROR_INVALID_ARGUMENT; 3]);
        assert!(last_message().contains(&size.to_string()), "{}", last_message());
        // SAFETY: an open handle.
        assert_eq!(unsafe { turnlock_mutex_unlock(mutex.handle) }, TURNLOCK_ERROR_NOT_OWNER);
    }
}

/// A wait ends when the function that the file was opened with says so; and leaves nothing behind.
pub fn a_wait_is_ended_by_what_it_asks_between_its_sleeps() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = std::ffi::CString::new(place.lock_file().to_str().unwrap()).unwrap();
    static ASKED: AtomicU32 = AtomicU32::new(0);
    /// Says yes the third time.
    unsafe extern "C" fn third_time(context: *mut std::ffi::c_void) -> i32 {
        assert_eq!(context.addr(), 77);
        i32::from(ASKED.fetch_add(1, SeqCst) == 2)
    }
    let options = turnlock_file_options {
        should_stop_waiting: Some(third_time),
        context: ptr::without_provenance_mut(77),
        ..sized()
    };
    let mut file = ptr::null_mut();
    // SAFETY: a C string, options of the right size, a place for the handle.
    assert_eq!(unsafe { turnlock_file_open(path.as_ptr(), &options, &mut file) }, TURNLOCK_OK);
    let holder = open_file(&place.lock_file(), 8, 2).unwrap();
    let held = open_mutex(&holder, c"a").unwrap();
    let mut mutex = ptr::null_mut();
    // SAFETY: open handles, a C string, places for what comes.
    unsafe {
        assert_eq!(turnlock_mutex_open(file, c"a".as_ptr(), ptr::null(), &mut mutex), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_lock(held.handle, ptr::null_mut()), TURNLOCK_OK);
    }
    let waits = mutex.expose_provenance();
    elsewhere(|| {
        // SAFETY: an open handle.
        let status = unsafe { turnlock_mutex_lock(ptr::with_exposed_provenance(waits), ptr::null_mut()) };
        assert_eq!(status, TURNLOCK_ERROR_INTERRUPTED, "{}", last_message());
    });
    assert_eq!(ASKED.load(SeqCst), 3);
    let status = turnlock::inspect::snapshot(place.lock_file()).unwrap();
    assert!(status.locks[0].queue.is_empty(), "{status:?}");
    // SAFETY: open handles.
    unsafe {
        assert_eq!(turnlock_mutex_unlock(held.handle), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_lock(mutex, ptr::null_mut()), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_unlock(mutex), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_close(mutex), TURNLOCK_OK);
        assert_eq!(turnlock_file_close(file), TURNLOCK_OK);
    }
}

/// The lock of the same name, in the file that the path names by now.
pub fn a_handle_is_opened_again_in_the_file_that_the_path_names() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 2).unwrap();
    let mutex = open_mutex(&file, c"a").unwrap();
    std::fs::remove_file(place.lock_file()).unwrap();
    let mut again = ptr::null_mut();
    // SAFETY: an open handle, and a place for another.
    unsafe {
        assert_eq!(
            turnlock_lock_reopen(mutex.handle.cast(), ptr::null_mut()),
            TURNLOCK_ERROR_INVALID_ARGUMENT
        );
        assert_eq!(turnlock_lock_reopen(mutex.handle.cast(), &mut again), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_lock(again.cast(), ptr::null_mut()), TURNLOCK_OK);
    }
    let status = turnlock::inspect::snapshot(place.lock_file()).unwrap();
    assert_eq!((status.participant_capacity, status.locks[0].name.as_str()), (8, "a"));
    assert_eq!(status.locks[0].holders.len(), 1);
    // SAFETY: an open handle.
    unsafe {
        assert_eq!(turnlock_mutex_unlock(again.cast()), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_close(again.cast()), TURNLOCK_OK);
    }
}
