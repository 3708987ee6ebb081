//! Semaphores: turnlock's from Rust, and those of POSIX and System V.

use super::Family;
use crate::{
    cell::{Cell, Task},
    worker::Lock,
};
use harness::{contender::patience, place::Place};
use std::{hint::black_box, io};
use turnlock::{LockFile, Semaphore};

/// How many permits a cell asks for.
pub fn permits(cell: &Cell) -> u32 {
    match cell.task {
        Task::Permit { permits, .. } => permits,
        _ => panic!("a cell without a semaphore"),
    }
}

pub struct Rust;

impl Family for Rust {
    type Lock = Attached;

    fn attach(&self, place: &Place, cell: &Cell, _: usize) -> Attached {
        let file = patience::file(place).unwrap();
        let semaphore = file.semaphore_options().permits(permits(cell)).open("bench").unwrap();
        Attached { semaphore, _file: file }
    }
}

pub struct Attached {
    semaphore: Semaphore,
    _file: LockFile,
}

impl Lock for Attached {
    #[inline]
    fn with(&self, _: bool, section: impl FnOnce()) {
        let _held = black_box(&self.semaphore).acquire(1).unwrap();
        section();
    }
}

pub struct Posix;

impl Family for Posix {
    type Lock = PosixAttached;

    fn prepare(&self, place: &Place, cell: &Cell) {
        // SAFETY: the place is for one semaphore, and it is not used yet.
        assert_eq!(unsafe { libc::sem_init(place.page(), 1, permits(cell)) }, 0);
    }

    fn attach(&self, place: &Place, _: &Cell, _: usize) -> PosixAttached {
        PosixAttached(place.page())
    }
}

pub struct PosixAttached(*mut libc::sem_t);

impl Lock for PosixAttached {
    #[inline]
    fn with(&self, _: bool, section: impl FnOnce()) {
        // SAFETY: an initialised semaphore in memory that stays mapped.
        assert_eq!(unsafe { libc::sem_wait(self.0) }, 0);
        section();
        // SAFETY: as above.
        assert_eq!(unsafe { libc::sem_post(self.0) }, 0);
    }
}

/// A set of one. Its number is kept in the page, for the processes that attach.
pub struct SysV;

impl Family for SysV {
    type Lock = SysVAttached;

    fn prepare(&self, place: &Place, cell: &Cell) {
        // SAFETY: a set of our own, given its permits.
        let set = unsafe { libc::semget(libc::IPC_PRIVATE, 1, 0o600) };
        assert!(set >= 0, "semget: {}", io::Error::last_os_error());
        SysVAttached(set).add(permits(cell) as i16);
        // SAFETY: the place is ours, and it is not read yet.
        unsafe { place.page::<i32>().write(set) };
    }

    fn attach(&self, place: &Place, _: &Cell, _: usize) -> SysVAttached {
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
        assert_eq!(unsafe { libc::semop(self.0, &mut operation, 1) }, 0);
    }
}

impl Lock for SysVAttached {
    #[inline]
    fn with(&self, _: bool, section: impl FnOnce()) {
        self.add(-1);
        section();
        self.add(1);
    }
}
