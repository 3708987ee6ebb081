//! The same tests over both kinds of registers.

use super::*;

/// Registers of one's own.
struct Owned {
    words: Vec<AtomicU64>,
    choosing: Vec<AtomicU64>,
    number: Vec<AtomicU64>,
    bound: AtomicU32,
}

impl Owned {
    fn new(slots: usize) -> Self {
        let words = || (0..slots).map(|_| AtomicU64::new(0)).collect();
        Self { words: words(), choosing: words(), number: words(), bound: AtomicU32::new(slots as u32) }
    }

    fn line(&self) -> Bakery<Line<'_>> {
        Bakery { registers: Line { words: &self.words, bound: &self.bound }, claims: Always }
    }

    fn two(&self) -> Bakery<TwoRegisters<'_>> {
        Bakery {
            registers: TwoRegisters { choosing: &self.choosing, number: &self.number, bound: &self.bound },
            claims: Always,
        }
    }
}

/// A function that is given a bakery, and is called with one over each kind of registers.
macro_rules! over_both {
    ($slots:expr, $test:ident $(, $more:expr)*) => {{
        $test(&Owned::new($slots).line() $(, $more)*);
        $test(&Owned::new($slots).two() $(, $more)*);
    }};
}

#[test]
fn served_in_order_of_arrival_whatever_the_slots() {
    over_both!(4, serves_in_order, &[2, 0, 3, 1]);
    over_both!(FEW + 1, serves_in_order, &[FEW, 2, 0, 3]);
    over_both!(5 * FEW, serves_in_order, &[5 * FEW - 1, 7, 8, 2 * FEW, 0, 3 * FEW + 5]);
}

fn serves_in_order(bakery: &Bakery<impl Registers>, order: &[usize]) {
    let tickets: Vec<u64> = order.iter().map(|slot| bakery.doorway(*slot).unwrap()).collect();
    for (turn, (slot, ticket)) in order.iter().zip(&tickets).enumerate() {
        for (later, later_ticket) in order.iter().zip(&tickets).skip(turn + 1) {
            let blocker = bakery.blocker(*later, *later_ticket, |_| false).unwrap().unwrap();
            let before = order.iter().position(|s| s == later).unwrap() - 1;
            assert_eq!((blocker.slot, blocker.ahead), (order[before], before - turn + 1));
            assert!(bakery.still_blocks(&blocker));
            assert!(!bakery.is_next(*later, *later_ticket));
        }
        assert!(bakery.is_next(*slot, *ticket));
        assert_eq!(bakery.blocker(*slot, *ticket, |_| false), Ok(None));
        bakery.leave(*slot);
    }
}

#[test]
fn one_in_its_doorway_is_waited_for_and_its_slot_breaks_the_tie() {
    over_both!(3, waits_for_the_doorway);
}

fn waits_for_the_doorway(bakery: &Bakery<impl Registers>) {
    bakery.registers.set_choosing(0);
    assert_eq!(bakery.place(0), Place::Choosing);
    let ticket = bakery.doorway(1).unwrap();
    let blocker = bakery.blocker(1, ticket, |_| false).unwrap().unwrap();
    assert_eq!((blocker.slot, blocker.ahead), (0, 1));
    assert!(bakery.still_blocks(&blocker) && !bakery.is_next(1, ticket));
    bakery.registers.set_number(0, ticket);
    assert!(!bakery.still_blocks(&blocker) && !bakery.is_next(1, ticket) && bakery.is_next(0, ticket));
    bakery.leave(0);
    assert!(bakery.is_next(1, ticket));
}

#[test]
fn a_death_in_the_doorway_or_behind_it_is_cleared() {
    over_both!(2, clears_the_dead);
}

fn clears_the_dead(bakery: &Bakery<impl Registers>) {
    bakery.registers.set_choosing(1);
    bakery.forget(1);
    assert_eq!(bakery.place(1), Place::Idle);
    bakery.doorway(1).unwrap();
    bakery.forget(1);
    bakery.forget(1);
    assert_eq!(bakery.place(1), Place::Idle);
    assert_eq!(bakery.doorway(0), Ok(1));
    assert!(bakery.is_next(0, 1));
}

#[test]
fn what_was_written_over_is_said_again() {
    over_both!(2, restores);
}

fn restores(bakery: &Bakery<impl Registers>) {
    let ticket = bakery.doorway(0).unwrap();
    for overwrite in [Registers::clear, Registers::set_choosing] {
        overwrite(&bakery.registers, 0);
        bakery.restore(0, ticket);
        assert_eq!(bakery.place(0), Place::Numbered(ticket));
    }
}

#[test]
fn an_impossible_number_is_named_and_nothing_is_left_behind() {
    let owned = Owned::new(3);
    names_the_impossible(&owned.line(), |word| owned.words[2].store(word, Relaxed));
    names_the_impossible(&owned.two(), |word| owned.number[2].store(word - 1, Relaxed));
    owned.number[2].store(u64::MAX, Relaxed);
    assert_eq!(owned.two().place(2), Place::Corrupt(u64::MAX));
}

fn names_the_impossible(bakery: &Bakery<impl Registers>, overwrite: impl Fn(u64)) {
    overwrite(NUMBER_LIMIT + 1);
    assert_eq!(bakery.doorway(0), Err(Corrupt { slot: 2, value: NUMBER_LIMIT + 1 }));
    assert_eq!(bakery.place(0), Place::Idle);
    overwrite(NUMBER_LIMIT);
    assert_eq!(bakery.doorway(0), Ok(NUMBER_LIMIT));
    assert_eq!(bakery.place(0), Place::Corrupt(NUMBER_LIMIT + 1), "the last number is taken only once");
}

#[test]
fn slots_beyond_the_bound_are_not_looked_at() {
    let owned = Owned::new(4);
    looks_below_the_bound(&owned.line(), &owned.bound);
    looks_below_the_bound(&owned.two(), &owned.bound);
}

fn looks_below_the_bound(bakery: &Bakery<impl Registers>, bound: &AtomicU32) {
    bakery.registers.set_number(3, 8);
    bound.store(2, Relaxed);
    assert_eq!(bakery.doorway(0), Ok(1));
    assert_eq!(bakery.blocker(0, 1, |_| false), Ok(None));
    bound.store(u32::MAX, Relaxed);
    assert_eq!(bakery.doorway(0), Ok(9));
}
