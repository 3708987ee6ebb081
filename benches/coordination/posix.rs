//! glibc's condition variables and barrier, shared between processes.

use std::{
    cell::UnsafeCell,
    mem::MaybeUninit,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

/// One mutex, two conditions, one barrier.
#[repr(C)]
pub struct Memory {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    conditions: [UnsafeCell<libc::pthread_cond_t>; 2],
    barrier: UnsafeCell<libc::pthread_barrier_t>,
}

impl Memory {
    /// Before any process uses it.
    pub fn prepare(&self, parties: u32, robust: bool) {
        let (mut mutex, mut condition, mut barrier) =
            (MaybeUninit::uninit(), MaybeUninit::uninit(), MaybeUninit::uninit());
        let shared = libc::PTHREAD_PROCESS_SHARED;
        // SAFETY: attributes are initialised before use; the memory is ours, zeros, and not used yet.
        unsafe {
            assert_eq!(libc::pthread_mutexattr_init(mutex.as_mut_ptr()), 0);
            assert_eq!(libc::pthread_mutexattr_setpshared(mutex.as_mut_ptr(), shared), 0);
            if robust {
                let robust = libc::PTHREAD_MUTEX_ROBUST;
                assert_eq!(libc::pthread_mutexattr_setrobust(mutex.as_mut_ptr(), robust), 0);
            }
            assert_eq!(libc::pthread_mutex_init(self.mutex.get(), mutex.as_ptr()), 0);
            assert_eq!(libc::pthread_condattr_init(condition.as_mut_ptr()), 0);
            assert_eq!(libc::pthread_condattr_setpshared(condition.as_mut_ptr(), shared), 0);
            for place in &self.conditions {
                assert_eq!(libc::pthread_cond_init(place.get(), condition.as_ptr()), 0);
            }
            assert_eq!(libc::pthread_barrierattr_init(barrier.as_mut_ptr()), 0);
            assert_eq!(libc::pthread_barrierattr_setpshared(barrier.as_mut_ptr(), shared), 0);
            assert_eq!(libc::pthread_barrier_init(self.barrier.get(), barrier.as_ptr(), parties), 0);
        }
    }

    /// Waits for the turn, and gives it to the other one.
    pub fn take_and_give(&self, turn: &AtomicU32, me: u32) {
        let (mine, other) = (self.conditions[me as usize].get(), self.conditions[1 - me as usize].get());
        // SAFETY: all of them are initialised, in memory that stays mapped; the thread has the mutex where it waits and unlocks.
        unsafe {
            assert_eq!(libc::pthread_mutex_lock(self.mutex.get()), 0);
            while turn.load(SeqCst) != me {
                assert_eq!(libc::pthread_cond_wait(mine, self.mutex.get()), 0);
            }
            turn.store(1 - me, SeqCst);
            assert_eq!(libc::pthread_cond_signal(other), 0);
            assert_eq!(libc::pthread_mutex_unlock(self.mutex.get()), 0);
        }
    }

    /// Waits at the barrier.
    pub fn meet(&self) {
        // SAFETY: it is initialised, in memory that stays mapped.
        let met = unsafe { libc::pthread_barrier_wait(self.barrier.get()) };
        assert!(met == 0 || met == libc::PTHREAD_BARRIER_SERIAL_THREAD);
    }
}
