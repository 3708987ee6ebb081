//! glibc's rwlock, shared between processes.

use crate::place::Place;
use std::mem::MaybeUninit;

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP` of glibc's pthread.h.
const PREFER_WRITER_NONRECURSIVE: i32 = 2;

/// One in the page of a [`Place`].
pub struct PthreadRwLock(*mut libc::pthread_rwlock_t);

impl PthreadRwLock {
    /// Makes one in the page of `place`, which no process uses yet. `writers_first`: a writer that waits lets no later reader
    /// pass.
    pub fn prepare(place: &Place, writers_first: bool) {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: attributes are initialised before use; the place is for one rwlock, and it is not used yet.
        unsafe {
            assert_eq!(libc::pthread_rwlockattr_init(attributes.as_mut_ptr()), 0);
            let attributes = attributes.as_mut_ptr();
            assert_eq!(libc::pthread_rwlockattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED), 0);
            if writers_first {
                assert_eq!(libc::pthread_rwlockattr_setkind_np(attributes, PREFER_WRITER_NONRECURSIVE), 0);
            }
            assert_eq!(libc::pthread_rwlock_init(place.page(), attributes), 0);
        }
    }

    /// The one that [`PthreadRwLock::prepare`] made. `place` must outlive it.
    pub fn attach(place: &Place) -> Self {
        Self(place.page())
    }

    /// Holds it in this mode for the section.
    #[inline]
    pub fn with(&self, writes: bool, section: impl FnOnce()) {
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
