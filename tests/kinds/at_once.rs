//! Two threads that use one hold at once: what both do is done, or one is told that the other is at it. Through the C ABI,
//! where no thread has a guard.

use std::{
    ffi::CString,
    os::unix::ffi::OsStrExt,
    ptr,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};
use support::{NoHang, Place, join};
use turnlock::{LockFile, capi::*, status::*};

/// A handle, for several threads.
struct Shared<T>(*mut T);

// SAFETY: the C ABI says that any thread may use its handles.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn opened(open: impl FnOnce(*mut *mut T) -> i32) -> Self {
        let mut handle = ptr::null_mut();
        assert_eq!(open(&mut handle), TURNLOCK_OK);
        Self(handle)
    }

    fn get(&self) -> *mut T {
        self.0
    }
}

fn open_file(place: &Place) -> (Shared<turnlock_file>, Shared<turnlock_hold>) {
    let path = CString::new(place.lock_file().as_os_str().as_bytes()).unwrap();
    // SAFETY: a C string, and places for the handles.
    let file = Shared::opened(|file| unsafe { turnlock_file_open(path.as_ptr(), ptr::null(), file) });
    // SAFETY: as above.
    let hold = Shared::opened(|hold| unsafe { turnlock_hold_open(file.get(), ptr::null(), hold) });
    (file, hold)
}

/// Again as long as another thread is at it.
fn unless_busy(act: impl Fn() -> i32) -> i32 {
    loop {
        match act() {
            TURNLOCK_ERROR_HOLD_BUSY => thread::yield_now(),
            status => return status,
        }
    }
}

/// A request with nothing in it but its size.
fn request() -> turnlock_request {
    turnlock_request {
        size: size_of::<turnlock_request>(),
        lock: ptr::null(),
        mode: 0,
        flags: 0,
        permits: 0,
        wait: 0,
        time_ns: 0,
        ranges: ptr::null(),
        range_count: 0,
        keys: ptr::null(),
        key_count: 0,
        group: 0,
    }
}

#[test]
fn permits_that_two_threads_give_back_come_back_all() {
    const ROUNDS: u32 = 4_000;
    let _no_hang = NoHang::for_seconds(120);
    let place = Place::new();
    let semaphore =
        LockFile::open(place.lock_file()).unwrap().semaphore_options().permits(3).open("a").unwrap();
    let (file, hold) = open_file(&place);
    // SAFETY: a file handle, a C string, and a place for the handle.
    let handle = Shared::opened(|semaphore| unsafe {
        turnlock_semaphore_open(file.get(), c"a".as_ptr(), ptr::null(), semaphore)
    });
    // SAFETY: open handles.
    let give_back = || unless_busy(|| unsafe { turnlock_hold_release_permits(hold.get(), 1) });
    let request = turnlock_request { lock: handle.get().cast(), permits: 3, ..request() };
    let (begin, end) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|threads| {
        let other = threads.spawn(|| {
            (0..ROUNDS)
                .map(|_| {
                    begin.wait();
                    let given = give_back();
                    end.wait();
                    given
                })
                .filter(|given| *given != TURNLOCK_OK)
                .count()
        });
        let mut lost = 0;
        for _ in 0..ROUNDS {
            // SAFETY: open handles.
            let taken = unsafe { turnlock_hold_acquire(hold.get(), &request, ptr::null_mut()) };
            assert_eq!(taken, TURNLOCK_OK);
            begin.wait();
            assert_eq!(give_back(), TURNLOCK_OK);
            end.wait();
            lost += u32::from(give_back() != TURNLOCK_OK);
            // SAFETY: open handles. None is left.
            let more = unsafe { turnlock_hold_release_permits(hold.get(), 1) };
            lost += u32::from(more != TURNLOCK_ERROR_NOT_OWNER);
            if more == TURNLOCK_OK {
                give_back();
            }
        }
        assert_eq!(
            (lost, other.join().unwrap()),
            (0, 0),
            "rounds in which a permit was lost, or not taken back"
        );
    });
    drop(semaphore.try_acquire(3).unwrap());
}

#[test]
fn a_release_beside_a_change_of_mode_is_done_or_the_hold_busy() {
    const ROUNDS: u32 = 3_000;
    let _no_hang = NoHang::for_seconds(120);
    let place = Place::new();
    let (file, hold) = open_file(&place);
    // SAFETY: a file handle, a C string, and a place for the handle.
    let rwlock = Shared::opened(|rwlock| unsafe {
        turnlock_rwlock_open(file.get(), c"a".as_ptr(), ptr::null(), rwlock)
    });
    let hold = &hold;
    type Change = fn(*const turnlock_hold) -> i32;
    // SAFETY: an open handle.
    let downgrade: Change = |hold| unsafe { turnlock_hold_downgrade(hold, TURNLOCK_MODE_SHARED) };
    // SAFETY: as above.
    let upgrade: Change =
        |hold| unsafe { turnlock_hold_upgrade(hold, TURNLOCK_WAIT_NEVER, 0, ptr::null_mut()) };
    for change in [downgrade, upgrade] {
        for mode in [TURNLOCK_MODE_SHARED, TURNLOCK_MODE_UPGRADABLE, TURNLOCK_MODE_EXCLUSIVE] {
            let request = turnlock_request { lock: rwlock.get().cast(), mode, ..request() };
            let done = AtomicBool::new(false);
            thread::scope(|threads| {
                let changes = threads.spawn(|| {
                    while !done.load(SeqCst) {
                        let told = change(hold.get());
                        let expected = [
                            TURNLOCK_OK,
                            TURNLOCK_ERROR_NOT_OWNER,
                            TURNLOCK_ERROR_NOT_UPGRADABLE,
                            TURNLOCK_ERROR_HOLD_BUSY,
                        ];
                        assert!(expected.contains(&told), "{told}");
                    }
                });
                let unlocks = || {
                    for _ in 0..ROUNDS {
                        // SAFETY: open handles.
                        let taken = unless_busy(|| unsafe {
                            turnlock_hold_acquire(hold.get(), &request, ptr::null_mut())
                        });
                        assert_eq!(taken, TURNLOCK_OK);
                        // SAFETY: open handles.
                        let left = unless_busy(|| unsafe { turnlock_hold_release(hold.get()) });
                        assert_eq!(left, TURNLOCK_OK);
                    }
                };
                let unlocked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(unlocks));
                done.store(true, SeqCst);
                join(changes);
                unlocked.unwrap();
            });
        }
    }
    // Nothing is left: neither a mode nor an upgrade.
    let file = LockFile::open(place.lock_file()).unwrap();
    drop(file.rwlock("a").unwrap().try_write().unwrap());
}
