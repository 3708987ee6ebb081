//! Holds that are transferred to an open file, through the C ABI. What holds for them in general is in tests/descriptor.

use crate::c_handles::{Owned, last_message, open_file, opened, sized};
use std::{fs::File, os::fd::AsRawFd, ptr};
use support::Place;
use turnlock::{capi::*, status::*};

/// A file with a mutex that releases on death, and two open files of it.
struct Scene {
    place: Place,
    file: Owned<turnlock_file>,
    mutex: Owned<turnlock_mutex>,
    shared: File,
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        let file = open_file(&place.lock_file(), 8, 2).unwrap();
        let options = turnlock_mutex_options { flags: TURNLOCK_MUTEX_RELEASE_ON_DEATH, ..sized() };
        // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
        let mutex = opened(turnlock_mutex_close, |mutex| unsafe {
            turnlock_mutex_open(file.handle, c"a".as_ptr(), &options, mutex)
        });
        let shared = File::open(place.lock_file()).unwrap();
        Self { place, file, mutex: mutex.unwrap(), shared }
    }

    /// A hold that has the mutex.
    fn holder(&self, flags: u32) -> Owned<turnlock_hold> {
        let options = turnlock_hold_options { flags, ..sized() };
        // SAFETY: a file handle, options of the right size, and a place for the handle.
        let holder = opened(turnlock_hold_close, |hold| unsafe {
            turnlock_hold_open(self.file.handle, &options, hold)
        });
        let holder = holder.unwrap();
        let request = turnlock_request { lock: self.mutex.handle.cast(), ..sized() };
        // SAFETY: open handles, and a request of the right size.
        let status = unsafe { turnlock_hold_acquire(holder.handle, &request, ptr::null_mut()) };
        assert_eq!(status, TURNLOCK_OK);
        holder
    }

    fn transfer(&self, holder: &Owned<turnlock_hold>, descriptor: i32) -> i32 {
        // SAFETY: an open handle.
        unsafe { turnlock_hold_transfer_to_fd(holder.handle, descriptor, 0) }
    }

    /// The status, and how many acquisitions were transferred to it.
    fn count(&self, descriptor: i32) -> (i32, usize) {
        let mut count = usize::MAX;
        // SAFETY: an open handle, a C string, and a place for the number.
        let status = unsafe {
            turnlock_file_count_transferred(self.file.handle, descriptor, c"a".as_ptr(), &mut count)
        };
        (status, count)
    }

    fn holder_now(&self) -> Option<turnlock_participant_info> {
        let mut holder = sized::<turnlock_participant_info>();
        let (lock, mut count) = (self.mutex.handle.cast_const().cast(), 0);
        // SAFETY: an open handle, and places for the answer.
        assert_eq!(unsafe { turnlock_lock_holders(lock, 1, &mut holder, &mut count) }, TURNLOCK_OK);
        (count == 1).then_some(holder)
    }

    /// What the calling thread gets that tries: it has it no more.
    fn tried(&self) -> i32 {
        // SAFETY: open handles.
        unsafe {
            let status = turnlock_mutex_try_lock(self.mutex.handle, ptr::null_mut());
            if status >= 0 {
                assert_eq!(turnlock_mutex_unlock(self.mutex.handle), TURNLOCK_OK);
            }
            status
        }
    }
}

pub fn what_was_transferred_is_released_by_the_descriptor() {
    let scene = Scene::new();
    let holder = scene.holder(TURNLOCK_HOLD_RELEASE_ON_CLOSE);
    let descriptor = scene.shared.as_raw_fd();
    assert_eq!(scene.count(descriptor), (TURNLOCK_OK, 0));
    assert_eq!(scene.transfer(&holder, descriptor), TURNLOCK_OK);
    assert_eq!(scene.holder_now().unwrap().pid, std::process::id());
    // No handle can unlock it any more; closing this one changes nothing.
    assert_eq!(scene.transfer(&holder, descriptor), TURNLOCK_ERROR_CLOSED);
    // SAFETY: open handles, of which no other thread uses the hold's.
    unsafe {
        for refused in [turnlock_hold_release, turnlock_hold_cancel, turnlock_hold_clear_cancel] {
            assert_eq!(refused(holder.handle), TURNLOCK_ERROR_CLOSED);
        }
        assert_eq!(turnlock_hold_close(holder.handle), TURNLOCK_OK);
    }
    assert_eq!(scene.count(descriptor), (TURNLOCK_OK, 1));
    assert_eq!(scene.tried(), TURNLOCK_ERROR_WOULD_BLOCK);
    // Another open file has nothing of it, a copy of this one has it all.
    let other = File::open(scene.place.lock_file()).unwrap();
    assert_eq!(scene.count(other.as_raw_fd()), (TURNLOCK_OK, 0));
    let copy = scene.shared.try_clone().unwrap();
    let unlock = |name: *const std::ffi::c_char, unlocked: *mut usize| {
        // SAFETY: an open handle, NULL or a C string, NULL or a place for the number.
        unsafe { turnlock_file_unlock_transferred(scene.file.handle, copy.as_raw_fd(), name, unlocked) }
    };
    let mut unlocked = 7;
    assert_eq!((unlock(c"b".as_ptr(), &mut unlocked), unlocked), (TURNLOCK_ERROR_NOT_FOUND, 7));
    assert_eq!((unlock(c"a".as_ptr(), &mut unlocked), unlocked), (TURNLOCK_OK, 1));
    assert_eq!((unlock(ptr::null(), &mut unlocked), unlocked), (TURNLOCK_OK, 0));
    assert_eq!(unlock(ptr::null(), ptr::null_mut()), TURNLOCK_OK);
    assert_eq!((scene.count(descriptor), scene.tried()), ((TURNLOCK_OK, 0), TURNLOCK_OK));
}

pub fn closing_is_an_ordinary_end_only_where_both_said_so() {
    for (flags, next) in
        [(TURNLOCK_HOLD_RELEASE_ON_CLOSE, TURNLOCK_OK), (TURNLOCK_HOLD_BY_DESCRIPTOR, TURNLOCK_OWNER_DEAD)]
    {
        let mut scene = Scene::new();
        let holder = scene.holder(flags);
        assert_eq!(scene.transfer(&holder, scene.shared.as_raw_fd()), TURNLOCK_OK);
        assert_eq!(scene.tried(), TURNLOCK_ERROR_WOULD_BLOCK);
        scene.shared = File::open("/dev/null").unwrap();
        assert_eq!(scene.tried(), next, "{flags}");
    }
}

pub fn what_cannot_be_transferred_stays_as_it_was() {
    let scene = Scene::new();
    let by_mapping = scene.holder(0);
    assert_eq!(scene.transfer(&by_mapping, scene.shared.as_raw_fd()), TURNLOCK_ERROR_INVALID_ARGUMENT);
    assert!(last_message().contains("kept by a descriptor"), "{}", last_message());
    // SAFETY: open handles.
    unsafe { turnlock_hold_release(by_mapping.handle) };
    let holder = scene.holder(TURNLOCK_HOLD_RELEASE_ON_CLOSE);
    let of_another = tempfile::tempfile().unwrap();
    for descriptor in [-1, i32::MIN, i32::MAX, of_another.as_raw_fd()] {
        assert_eq!(scene.transfer(&holder, descriptor), TURNLOCK_ERROR_INVALID_ARGUMENT, "{descriptor}");
        assert!(last_message().contains("descriptor"), "{}", last_message());
        assert_eq!(scene.count(descriptor), (TURNLOCK_ERROR_INVALID_ARGUMENT, usize::MAX));
    }
    let (file, null) = (scene.file.handle, ptr::null_mut());
    let descriptor = scene.shared.as_raw_fd();
    // SAFETY: NULL, or open handles and C strings.
    unsafe {
        for refused in [
            turnlock_hold_transfer_to_fd(ptr::null(), descriptor, 0),
            turnlock_file_unlock_transferred(ptr::null(), descriptor, ptr::null(), null),
            turnlock_file_count_transferred(ptr::null(), descriptor, c"a".as_ptr(), null),
            turnlock_file_count_transferred(file, descriptor, c"a".as_ptr(), null),
        ] {
            assert_eq!(refused, TURNLOCK_ERROR_INVALID_ARGUMENT);
        }
        // A text that is missing, or none, is a name that no lock has.
        let mut count = 7;
        assert!(turnlock_file_count_transferred(file, descriptor, ptr::null(), &mut count) < 0);
        assert!(turnlock_file_unlock_transferred(file, descriptor, c"\xff".as_ptr(), &mut count) < 0);
        assert_eq!(count, 7);
        assert_eq!(turnlock_hold_release(holder.handle), TURNLOCK_OK);
    }
    assert_eq!(scene.tried(), TURNLOCK_OK);
}
