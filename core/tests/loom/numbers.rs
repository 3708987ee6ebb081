//! The bakery's registers, of either form.

use crate::plan::{Form, Misuse};
use crate::scene::Scene;
use turnlock_core::algorithm::{
    Place,
    bakery::{Line, Registers, TwoRegisters},
};
use turnlock_core::sync::Ordering::{Acquire, Relaxed, Release};

/// The registers. Leaves out some of the first, quick looks of the queue head: each is followed by a longer one if it is in
/// vain, and to explore both makes the search twice as long. Unless everything is explored, slot 0 takes both, and the
/// others begin with the longer one.
#[derive(Clone, Copy)]
pub struct Numbers<'a> {
    scene: &'a Scene,
    me: usize,
    words: Words<'a>,
}

#[derive(Clone, Copy)]
enum Words<'a> {
    One(Line<'a>),
    Two(TwoRegisters<'a>, Option<Misuse>),
}

impl<'a> Numbers<'a> {
    /// The scene's registers, as slot `me` looks at them.
    pub fn new(scene: &'a Scene, me: usize) -> Self {
        let Scene { plan, choosing, numbers, bound, .. } = scene;
        let two = TwoRegisters { choosing, number: numbers, bound };
        let words = match plan.form {
            Form::OneWord => Words::One(Line { words: numbers, bound }),
            Form::TwoWords => Words::Two(two, None),
            Form::Misused(misuse) => Words::Two(two, Some(misuse)),
        };
        Numbers { scene, me, words }
    }
}

macro_rules! with {
    ($numbers:expr, $registers:ident => $then:expr) => {
        match &$numbers.words {
            Words::One($registers) => $then,
            Words::Two($registers, _) => $then,
        }
    };
}

impl Registers for Numbers<'_> {
    fn bound(&self) -> usize {
        with!(self, registers => registers.bound())
    }

    fn all(&self, look: impl FnMut(usize) -> bool) -> bool {
        let skips = std::mem::take(&mut self.scene.now(self.me).skips_quick_look);
        !skips && with!(self, registers => registers.all(look))
    }

    fn set_choosing(&self, me: usize) {
        with!(self, registers => registers.set_choosing(me));
    }

    fn set_number(&self, me: usize, number: u64) {
        match self.words {
            Words::Two(two, Some(Misuse::NumberStoredLast)) => {
                two.choosing[me].store(0, Release);
                two.number[me].store(number, Release);
            }
            Words::Two(two, Some(Misuse::ChoosingStoredRelaxed)) => {
                two.number[me].store(number, Release);
                two.choosing[me].store(0, Relaxed);
            }
            _ => with!(self, registers => registers.set_number(me, number)),
        }
    }

    fn clear(&self, me: usize) {
        with!(self, registers => registers.clear(me));
    }

    fn end(&self, slot: usize, number: u64) {
        with!(self, registers => registers.end(slot, number));
    }

    fn read(&self, slot: usize) -> Place {
        let (choosing, number) = match self.words {
            Words::Two(two, Some(Misuse::NumberLoadedFirst)) => {
                let number = two.number[slot].load(Acquire);
                (two.choosing[slot].load(Acquire), number)
            }
            Words::Two(two, Some(Misuse::ChoosingLoadedRelaxed)) => {
                (two.choosing[slot].load(Relaxed), two.number[slot].load(Acquire))
            }
            Words::Two(two, Some(Misuse::NumberLoadedRelaxed)) => {
                (two.choosing[slot].load(Acquire), two.number[slot].load(Relaxed))
            }
            _ => return with!(self, registers => registers.read(slot)),
        };
        match (choosing, number) {
            (0, 0) => Place::Idle,
            (0, number) => Place::Numbered(number),
            _ => Place::Choosing,
        }
    }

    fn read_word(&self, slot: usize) -> u64 {
        with!(self, registers => registers.read_word(slot))
    }
}
