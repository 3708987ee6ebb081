//! Readers and writers: turnlock's rwlock from Rust, and the process-shared ones of POSIX.

use super::Family;
use crate::{cell::Cell, worker::Lock};
use harness::{contender::patience, place::Place};
use std::{hint::black_box, mem::MaybeUninit};
use turnlock::{LockFile, RwLock};

pub struct Rust;

impl Family for Rust {
    type Lock = Attached;

    fn attach(&self, place: &Place, _: &Cell, _: usize) -> Attached {
        let file = patience::file(place).unwrap();
        Attached { rwlock: file.rwlock("bench").unwrap(), _file: file }
    }
}

pub struct Attached {
    rwlock: RwLock,
    _file: LockFile,
}

impl Lock for Attached {
    #[inline]
    fn with(&self, writes: bool, section: impl FnOnce()) {
        let rwlock = black_box(&self.rwlock);
        if writes {
            let _held = rwlock.write().unwrap();
            section();
        } else {
            let _held = rwlock.read().unwrap();
            section();
        }
    }
}

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP` of glibc's pthread.h.
const PREFER_WRITER_NONRECURSIVE: i32 = 2;

pub struct Pthread {
    /// A writer that waits lets no later reader pass.
    pub writers_first: bool,
}

impl Family for Pthread {
    type Lock = PthreadAttached;

    fn prepare(&self, place: &Place, _: &Cell) {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: attributes are initialised before use; the place is for one rwlock, and it is not used yet.
        unsafe {
            assert_eq!(libc::pthread_rwlockattr_init(attributes.as_mut_ptr()), 0);
            let attributes = attributes.as_mut_ptr();
            assert_eq!(libc::pthread_rwlockattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED), 0);
            if self.writers_first {
                assert_eq!(libc::pthread_rwlockattr_setkind_np(attributes, PREFER_WRITER_NONRECURSIVE), 0);
            }
            assert_eq!(libc::pthread_rwlock_init(place.page(), attributes), 0);
        }
    }

    fn attach(&self, place: &Place, _: &Cell, _: usize) -> PthreadAttached {
        PthreadAttached(place.page())
    }
}

pub struct PthreadAttached(*mut libc::pthread_rwlock_t);

impl Lock for PthreadAttached {
    #[inline]
    fn with(&self, writes: bool, section: impl FnOnce()) {
        // SAFETY: an initialised rwlock in memory that stays mapped.
        let locked = unsafe {
            if writes { libc::pthread_rwlock_wrlock(self.0) } else { libc::pthread_rwlock_rdlock(self.0) }
        };
        assert_eq!(locked, 0);
        section();
        // SAFETY: as above, and this thread has it.
        assert_eq!(unsafe { libc::pthread_rwlock_unlock(self.0) }, 0);
    }
}
