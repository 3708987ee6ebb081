//! Semaphores with one permit.

use super::Lock;
use crate::place::Place;
use std::io;

pub struct Posix;

impl super::Family for Posix {
    type Lock = PosixAttached;

    fn prepare(&self, place: &Place) {
        // SAFETY: the place is for one semaphore, and it is not used yet.
        assert_eq!(unsafe { libc::sem_init(place.page(), 1, 1) }, 0);
    }

    fn attach(&self, place: &Place, _: usize) -> PosixAttached {
        PosixAttached(place.page())
    }
}

pub struct PosixAttached(*mut libc::sem_t);

impl Lock for PosixAttached {
    type Held<'a> = ();

    #[inline]
    fn lock(&self) {
        // SAFETY: an initialised semaphore in memory that stays mapped.
        let done = unsafe { libc::sem_wait(self.0) };
        assert_eq!(done, 0);
    }

    #[inline]
    fn unlock(&self, (): ()) {
        // SAFETY: as above.
        let done = unsafe { libc::sem_post(self.0) };
        assert_eq!(done, 0);
    }
}

/// A System V semaphore set of one. Its number is kept in the page, for the processes that attach.
pub struct SysV;

impl super::Family for SysV {
    type Lock = SysVAttached;

    fn prepare(&self, place: &Place) {
        // SAFETY: a set of our own, given its one permit.
        let set = unsafe { libc::semget(libc::IPC_PRIVATE, 1, 0o600) };
        assert!(set >= 0, "semget: {}", io::Error::last_os_error());
        let attached = SysVAttached(set);
        attached.add(1);
        // SAFETY: the place is ours, and it is not read yet.
        unsafe { place.page::<i32>().write(set) };
    }

    fn attach(&self, place: &Place, _: usize) -> SysVAttached {
        // SAFETY: written by `prepare`.
        SysVAttached(unsafe { place.page::<i32>().read() })
    }

    fn clear(&self, place: &Place) {
        // SAFETY: the set that `prepare` made.
        unsafe { libc::semctl(place.page::<i32>().read(), 0, libc::IPC_RMID) };
    }
}

pub struct SysVAttached(i32);

impl SysVAttached {
    #[inline]
    fn add(&self, permits: i16) {
        let mut operation = libc::sembuf { sem_num: 0, sem_op: permits, sem_flg: 0 };
        // SAFETY: one operation on the one semaphore.
        let done = unsafe { libc::semop(self.0, &mut operation, 1) };
        assert_eq!(done, 0);
    }
}

impl Lock for SysVAttached {
    type Held<'a> = ();

    #[inline]
    fn lock(&self) {
        self.add(-1);
    }

    #[inline]
    fn unlock(&self, (): ()) {
        self.add(1);
    }
}
