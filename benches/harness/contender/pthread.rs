//! POSIX mutexes that processes share.

use super::Lock;
use crate::place::Place;
use std::mem::MaybeUninit;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    Normal,
    Adaptive,
    Robust,
    PriorityInheritance,
}

pub struct Family(pub Variant);

impl super::Family for Family {
    type Lock = Attached;

    fn prepare(&self, place: &Place) {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: attributes are initialised before use; the place is for one mutex, and it is not used yet.
        unsafe {
            assert_eq!(libc::pthread_mutexattr_init(attributes.as_mut_ptr()), 0);
            let attributes = attributes.as_mut_ptr();
            assert_eq!(libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED), 0);
            let done = match self.0 {
                Variant::Normal => 0,
                Variant::Adaptive => {
                    libc::pthread_mutexattr_settype(attributes, libc::PTHREAD_MUTEX_ADAPTIVE_NP)
                }
                Variant::Robust => libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST),
                Variant::PriorityInheritance => {
                    libc::pthread_mutexattr_setprotocol(attributes, libc::PTHREAD_PRIO_INHERIT)
                }
            };
            assert_eq!(done, 0);
            assert_eq!(libc::pthread_mutex_init(place.page(), attributes), 0);
        }
    }

    fn attach(&self, place: &Place, _: usize) -> Attached {
        Attached(place.page())
    }
}

pub struct Attached(*mut libc::pthread_mutex_t);

impl Lock for Attached {
    type Held<'a> = ();

    #[inline]
    fn lock(&self) {
        // SAFETY: an initialised mutex in memory that stays mapped.
        let error = unsafe { libc::pthread_mutex_lock(self.0) };
        assert_eq!(error, 0);
    }

    #[inline]
    fn unlock(&self, (): ()) {
        // SAFETY: as above, and this thread has it.
        let error = unsafe { libc::pthread_mutex_unlock(self.0) };
        assert_eq!(error, 0);
    }
}
