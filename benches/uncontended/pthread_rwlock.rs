//! glibc's rwlock, shared between processes.

use std::ptr;

/// One in a mapping that processes share.
pub struct Shared(*mut libc::pthread_rwlock_t);

impl Shared {
    pub fn new() -> Self {
        // SAFETY: a mapping of its own, of zeros, with room for one; the attribute is initialised before it is used.
        unsafe {
            let (size, both) = (size_of::<libc::pthread_rwlock_t>(), libc::PROT_READ | libc::PROT_WRITE);
            let shared = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
            let place = libc::mmap(ptr::null_mut(), size, both, shared, -1, 0);
            assert_ne!(place, libc::MAP_FAILED, "no memory");
            let mut how = std::mem::zeroed();
            assert_eq!(libc::pthread_rwlockattr_init(&mut how), 0);
            assert_eq!(libc::pthread_rwlockattr_setpshared(&mut how, libc::PTHREAD_PROCESS_SHARED), 0);
            assert_eq!(libc::pthread_rwlock_init(place.cast(), &how), 0);
            Self(place.cast())
        }
    }

    #[inline]
    pub fn read(&self) {
        // SAFETY: initialised in `new`, and mapped as long as the process lives.
        let done = unsafe { (libc::pthread_rwlock_rdlock(self.0), libc::pthread_rwlock_unlock(self.0)) };
        assert_eq!(done, (0, 0));
    }

    #[inline]
    pub fn write(&self) {
        // SAFETY: as above.
        let done = unsafe { (libc::pthread_rwlock_wrlock(self.0), libc::pthread_rwlock_unlock(self.0)) };
        assert_eq!(done, (0, 0));
    }
}
