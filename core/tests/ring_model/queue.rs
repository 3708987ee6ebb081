//! The ring's reconfiguration lock: the bakery's own queue under shuttle, and fewer steps of it under loom.

#[cfg(loom)]
pub use loom_queue::{Queue, Registers};
#[cfg(shuttle)]
pub use shuttle_queue::{Queue, Registers};

/// To go through the bakery's interleavings too, inside those of the ring, is beyond loom; `core/tests/loom` does that for
/// itself. Here the registers are plain words, each written in the same step of the model as a read-modify-write on a word
/// beside them all, and so is each scan: loom knows by that word which steps it has to try in another order.
///
/// The bakery makes as much happens-before as the read-modify-writes do: the reader of a register (acquire) has what its
/// writer did before the store (release), and fences A and B make a scan read every store whose own fence came before. A
/// waiter's look whether its blocker has changed has no step: the waiter scans after it.
#[cfg(loom)]
mod loom_queue {
    use std::sync::atomic::{AtomicU64 as PlainU64, Ordering::SeqCst};
    use turnlock_core::algorithm::{Place, bakery};
    use turnlock_core::sync::{
        AtomicU64,
        Ordering::{Acquire, Release},
    };

    pub struct Queue {
        words: Vec<PlainU64>,
        steps: AtomicU64,
    }

    impl Queue {
        pub fn new(slots: usize) -> Self {
            Queue { words: (0..slots).map(|_| PlainU64::new(0)).collect(), steps: AtomicU64::new(0) }
        }

        pub fn registers(&self) -> Registers<'_> {
            Registers(self)
        }
    }

    #[derive(Clone, Copy)]
    pub struct Registers<'a>(&'a Queue);

    impl Registers<'_> {
        /// Release. Partner: the acquire of [`bakery::Registers::bound`], with which every scan begins.
        fn write(&self, slot: usize, word: u64) {
            self.0.steps.fetch_add(1, Release);
            self.0.words[slot].store(word, SeqCst);
        }
    }

    impl bakery::Registers for Registers<'_> {
        fn bound(&self) -> usize {
            self.0.steps.fetch_add(0, Acquire);
            self.0.words.len()
        }

        fn set_choosing(&self, me: usize) {
            self.write(me, 1);
        }

        fn set_number(&self, me: usize, number: u64) {
            self.write(me, number + 1);
        }

        fn clear(&self, me: usize) {
            self.write(me, 0);
        }

        fn end(&self, _: usize, _: u64) {
            unreachable!("no participant retains a place where every two claims conflict");
        }

        fn read(&self, slot: usize) -> Place {
            match self.read_word(slot) {
                0 => Place::Idle,
                1 => Place::Choosing,
                word => Place::Numbered(word - 1),
            }
        }

        fn read_word(&self, slot: usize) -> u64 {
            self.0.words[slot].load(SeqCst)
        }
    }
}

#[cfg(shuttle)]
mod shuttle_queue {
    use turnlock_core::algorithm::bakery::Line;
    use turnlock_core::sync::{AtomicU32, AtomicU64};

    pub type Registers<'a> = Line<'a>;

    pub struct Queue {
        words: Vec<AtomicU64>,
        bound: AtomicU32,
    }

    impl Queue {
        pub fn new(slots: usize) -> Self {
            let words = (0..slots).map(|_| AtomicU64::new(0)).collect();
            Queue { words, bound: AtomicU32::new(slots as u32) }
        }

        pub fn registers(&self) -> Registers<'_> {
            Line { words: &self.words, bound: &self.bound }
        }
    }
}
