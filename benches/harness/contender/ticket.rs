//! A ticket lock: first come first served, by spinning.
//!
//! It yields its core after a short spin: with more processes than cores, one that only spun would be far slower, and
//! a peer should be at its best.

use super::Lock;
use crate::place::Place;
use std::{
    hint::spin_loop,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
};

const SPINS: u32 = 200;

#[repr(C)]
struct Words {
    next: AtomicU32,
    serving: AtomicU32,
}

pub struct Family;

impl super::Family for Family {
    type Lock = Attached;

    fn attach(&self, place: &Place, _: usize) -> Attached {
        Attached(place.page())
    }
}

pub struct Attached(*const Words);

impl Attached {
    #[inline]
    fn words(&self) -> &Words {
        // SAFETY: zeroed memory that stays mapped.
        unsafe { &*self.0 }
    }
}

impl Lock for Attached {
    type Held<'a> = ();

    #[inline]
    fn lock(&self) {
        let mine = self.words().next.fetch_add(1, Relaxed);
        let mut spins = 0;
        while self.words().serving.load(Acquire) != mine {
            if spins < SPINS {
                spins += 1;
                spin_loop();
            } else {
                // SAFETY: takes nothing.
                unsafe { libc::sched_yield() };
            }
        }
    }

    #[inline]
    fn unlock(&self, (): ()) {
        let serving = &self.words().serving;
        serving.store(serving.load(Relaxed).wrapping_add(1), Release);
    }
}
