//! The physical limit: two processes pass one word to and fro. What a hand-over costs when there is nothing to it but
//! moving a cache line.

use super::Lock;
use harness::place::Place;
use std::{
    hint::spin_loop,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Release},
    },
};

#[repr(C)]
struct Words {
    /// The worker that may go in.
    turn: AtomicU32,
    /// Not 0 when one of the two does not come again.
    left: AtomicU32,
}

pub struct Family;

impl super::Family for Family {
    type Lock = Attached;

    fn attach(&self, place: &Place, worker: usize) -> Attached {
        Attached { words: place.page(), me: worker as u32 }
    }
}

pub struct Attached {
    words: *const Words,
    me: u32,
}

impl Attached {
    #[inline]
    fn words(&self) -> &Words {
        // SAFETY: zeroed memory that stays mapped.
        unsafe { &*self.words }
    }
}

impl Lock for Attached {
    type Held<'a> = ();

    #[inline]
    fn lock(&self) {
        let words = self.words();
        while words.turn.load(Acquire) != self.me && words.left.load(Acquire) == 0 {
            spin_loop();
        }
    }

    #[inline]
    fn unlock(&self, (): ()) {
        self.words().turn.store(1 - self.me, Release);
    }

    fn leave(&self) {
        self.words().left.store(1, Release);
    }
}
