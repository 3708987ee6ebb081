//! The registers of one lock, what it protects, and what is known of both from outside.

use super::{Form, Misuse, Plan, Visits};
use loom::{cell::UnsafeCell, thread};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool as PlainBool, AtomicU64 as PlainU64, AtomicUsize as PlainUsize};
use turnlock::algorithm::bakery::{Bakery, Line, Registers, TwoRegisters};
use turnlock::algorithm::ownership::{Health, Ownership};
use turnlock::algorithm::{Place, Protocol};
use turnlock::sync::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};

/// What must hold in every execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// One holder at a time.
    Exclusion,
    /// The data are plain memory (`loom::cell::UnsafeCell`): an access that is not ordered after the last holder's
    /// writes is a failure even if it finds the right value.
    Data,
    /// Each fencing token is larger than the one before.
    Token,
    /// Nobody is overtaken by a participant who began its doorway after theirs was finished.
    Order,
    /// The next holder after a death inside has the news, with the dead holder's token; after any other, none.
    News,
}

// What a slot's byte lock, which the kernel holds for the living, can be.
const FREE: u32 = 0;
const LOCKED: u32 = 1;

/// The registers of one lock, what it protects, and what the properties are checked against.
pub struct World {
    pub form: Form,
    /// The numbers; packed with `choosing`, where that is not apart.
    pub words: Vec<AtomicU64>,
    pub choosing: Vec<AtomicU64>,
    pub bound: AtomicU32,
    pub held: Vec<AtomicU64>,
    pub token: AtomicU64,
    pub state: AtomicU32,
    pub byte_locks: Vec<AtomicU32>,
    /// The protected data: two words that must agree.
    pub data: [UnsafeCell<u64>; 2],
    /// The dead holder's token, as told by whoever acted for it.
    pub news: UnsafeCell<u64>,
    pub oracle: Oracle,
    pub unpruned: bool,
    pub only: Option<Property>,
}

// SAFETY: whether the cells are used by one thread at a time is what the models ask; loom fails where they are not.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

/// The truth, as seen by one who sees everything at once. Plain atomics of the standard library: they are no steps of
/// the model and order nothing in it.
#[derive(Default)]
pub struct Oracle {
    pub inside: PlainUsize,
    pub last_token: PlainU64,
    /// What the last complete section wrote.
    pub written: PlainU64,
    /// A holder died inside, and nobody repaired the data since.
    pub died_inside: PlainBool,
    /// The token of the last who did.
    pub dead_token: PlainU64,
    /// The participant who acted for it; 0 = none did, else its slot + 1.
    pub actor: PlainUsize,
    /// For each slot, which of its visits stands in the line; 0 = none.
    pub waiting: [PlainUsize; 3],
    pub entries: PlainUsize,
}

/// What the executions of a search came upon: a search that never came upon what its test is named after shows nothing.
#[derive(Default)]
pub struct Tally {
    pub executions: PlainUsize,
    pub waits: PlainUsize,
    pub withdrawals: PlainUsize,
    pub tries_won: PlainUsize,
    /// Of the retained privilege: entries by it, entries refused, and how often it was asked for.
    pub retained_entries: PlainUsize,
    pub refusals: PlainUsize,
    pub asked: PlainUsize,
    pub deaths: PlainUsize,
    /// News that came to the one who had acted for the dead, and to another one.
    pub news_to_actor: PlainUsize,
    pub news_to_other: PlainUsize,
}

impl Tally {
    pub fn get(count: &PlainUsize) -> usize {
        count.load(SeqCst)
    }
}

/// The bakery's own registers; the oracle notes who is in the queue at the very step in which a doorway begins.
pub struct Watched<'a> {
    pub registers: Either<'a>,
    pub oracle: &'a Oracle,
    pub before_me: Cell<[usize; 3]>,
}

/// Registers of either form.
#[derive(Clone, Copy)]
pub enum Either<'a> {
    OneWord(Line<'a>),
    TwoWords(TwoRegisters<'a>, Option<Misuse>),
}

macro_rules! ask {
    ($watched:ident, $registers:ident => $answer:expr) => {
        match $watched.registers {
            Either::OneWord($registers) => $answer,
            Either::TwoWords($registers, _) => $answer,
        }
    };
}

impl Registers for Watched<'_> {
    fn bound(&self) -> usize {
        ask!(self, registers => registers.bound())
    }

    fn set_choosing(&self, me: usize) {
        ask!(self, registers => registers.set_choosing(me));
        self.before_me.set(self.oracle.waiting.each_ref().map(|visit| visit.load(SeqCst)));
    }

    fn set_number(&self, me: usize, number: u64) {
        match self.registers {
            Either::TwoWords(two, Some(Misuse::NumberStoredLast)) => {
                two.choosing[me].store(0, Release);
                two.number[me].store(number, Release);
            }
            Either::TwoWords(two, Some(Misuse::ChoosingStoredRelaxed)) => {
                two.number[me].store(number, Release);
                two.choosing[me].store(0, Relaxed);
            }
            _ => ask!(self, registers => registers.set_number(me, number)),
        }
    }

    fn clear(&self, me: usize) {
        ask!(self, registers => registers.clear(me));
    }

    fn read(&self, slot: usize) -> Place {
        let (choosing, number) = match self.registers {
            Either::TwoWords(two, Some(Misuse::NumberLoadedFirst)) => {
                let number = two.number[slot].load(Acquire);
                (two.choosing[slot].load(Acquire), number)
            }
            Either::TwoWords(two, Some(Misuse::ChoosingLoadedRelaxed)) => {
                (two.choosing[slot].load(Relaxed), two.number[slot].load(Acquire))
            }
            Either::TwoWords(two, Some(Misuse::NumberLoadedRelaxed)) => {
                (two.choosing[slot].load(Acquire), two.number[slot].load(Relaxed))
            }
            _ => return ask!(self, registers => registers.read(slot)),
        };
        match (choosing, number) {
            (0, 0) => Place::Idle,
            (0, number) => Place::Numbered(number),
            _ => Place::Choosing,
        }
    }

    fn read_word(&self, slot: usize) -> u64 {
        ask!(self, registers => registers.read_word(slot))
    }
}

impl World {
    pub fn new<V: Visits>(plan: &Plan<V>) -> Self {
        let slots = plan.visits.len();
        let registers = || (0..slots).map(|_| AtomicU64::new(0)).collect();
        World {
            form: plan.form,
            words: registers(),
            choosing: registers(),
            bound: AtomicU32::new(if plan.newcomers { 1 } else { slots as u32 }),
            held: registers(),
            token: AtomicU64::new(0),
            state: AtomicU32::new(Health::Consistent as u32),
            byte_locks: (0..slots).map(|_| AtomicU32::new(LOCKED)).collect(),
            data: [UnsafeCell::new(0), UnsafeCell::new(0)],
            news: UnsafeCell::new(0),
            oracle: Oracle::default(),
            unpruned: plan.unpruned,
            only: plan.only,
        }
    }

    pub fn bakery(&self) -> Bakery<Watched<'_>> {
        let two = TwoRegisters { choosing: &self.choosing, number: &self.words, bound: &self.bound };
        let registers = match self.form {
            Form::OneWord => Either::OneWord(Line { words: &self.words, bound: &self.bound }),
            Form::TwoWords => Either::TwoWords(two, None),
            Form::Misused(misuse) => Either::TwoWords(two, Some(misuse)),
        };
        Bakery(Watched { registers, oracle: &self.oracle, before_me: Default::default() })
    }

    pub fn ownership(&self) -> Ownership<'_> {
        Ownership { token: &self.token, state: &self.state }
    }

    pub fn checks(&self, property: Property) -> bool {
        self.only.is_none_or(|only| only == property)
    }

    /// Nobody is before `me`: it is inside from here on. No access of the model lies between the look that let it in
    /// and here.
    pub fn arrive(&self, me: usize) {
        let others_inside = self.oracle.inside.fetch_add(1, SeqCst);
        assert!(others_inside == 0 || !self.checks(Property::Exclusion), "Exclusion: two are inside");
        self.oracle.waiting[me].store(0, SeqCst);
    }

    /// Whom was `me` not to overtake, when its doorway began?
    pub fn check_order(&self, me: usize, before_me: [usize; 3]) {
        for (slot, visit) in before_me.into_iter().enumerate() {
            let overtaken = visit != 0 && self.oracle.waiting[slot].load(SeqCst) == visit;
            assert!(!overtaken || !self.checks(Property::Order), "Order: slot {slot} was overtaken by {me}");
        }
    }

    pub fn check_token(&self, token: u64) {
        let last = self.oracle.last_token.swap(token, SeqCst);
        assert!(token > last || !self.checks(Property::Token), "Token: {token} after {last}");
    }

    /// The section of slot `me`, which is written down as the holder. `false`: it died in there, at one of `deaths`.
    pub fn work(&self, me: usize, token: u64, health: Health, deaths: [bool; 3]) -> bool {
        let [when_entered, when_torn, when_written] = deaths;
        if when_entered {
            self.die_inside(me, Some(token));
            return false;
        }
        self.read(health);
        if health == Health::Inconsistent {
            self.write(0, 0);
            self.write(1, 0);
            self.ownership().mark_consistent();
            self.oracle.died_inside.store(false, SeqCst);
        }
        self.write(0, token);
        if when_torn {
            self.die_inside(me, Some(token));
            return false;
        }
        self.write(1, token);
        self.oracle.written.store(token, SeqCst);
        if when_written {
            self.die_inside(me, Some(token));
        }
        !when_written
    }

    /// The section of `me` is over.
    pub fn depart(&self) {
        self.oracle.inside.fetch_sub(1, SeqCst);
        self.oracle.entries.fetch_add(1, SeqCst);
    }

    /// Gives up while it waits.
    pub fn withdraw(&self, me: usize, tally: &Tally) {
        self.oracle.waiting[me].store(0, SeqCst);
        tally.withdrawals.fetch_add(1, SeqCst);
        self.bakery().withdraw(me);
    }

    /// As the first, quick look of `At::come`. Only slot 0 takes it, and only the others begin with the longer one:
    /// both in turn would make the search twice as long, and a look in vain changes nothing.
    pub fn comes_at_once(&self, me: usize, number: u64) -> bool {
        me == 0 && self.bakery().is_next(me, number)
    }

    /// As `Turn::come_to_the_head`.
    pub fn wait(&self, me: usize, number: u64, tally: &Tally) {
        let bakery = self.bakery();
        while let Some(blocker) = bakery.blocker(me, number).unwrap() {
            if !bakery.still_blocks(&blocker) {
                continue;
            }
            // As the waiting loop of `lock` does before it asks for deaths.
            bakery.insist(me, number);
            if self.act_for(blocker.slot, me) {
                continue;
            }
            self.look_again_later(tally);
        }
    }

    pub fn look_again_later(&self, tally: &Tally) {
        tally.waits.fetch_add(1, SeqCst);
        // A look in vain changes nothing, so it may as well have come later; and that execution is explored too.
        // Hence what follows this one need not be.
        if !self.unpruned {
            loom::skip_branch();
        }
        // Nothing changes here until another participant goes on.
        thread::yield_now();
    }

    /// As `recovery::reap`: whoever gets a dead slot's byte lock acts for it.
    pub fn act_for(&self, slot: usize, me: usize) -> bool {
        let byte_lock = &self.byte_locks[slot];
        // A read-modify-write, since the kernel's answer is never out of date.
        if byte_lock.compare_exchange(FREE, LOCKED, AcqRel, Relaxed).is_err() {
            return false;
        }
        self.recover(slot, me);
        byte_lock.store(FREE, Release);
        true
    }

    /// As `recovery::recover`, with the slot's byte lock in hand.
    fn recover(&self, slot: usize, me: usize) {
        self.ownership().forget(&self.held[slot], |token| {
            // SAFETY: with the byte lock of a dead holder in hand nobody else is inside; loom fails where that is
            // wrong.
            self.news.with_mut(|news| unsafe { *news = token });
            self.oracle.actor.store(me + 1, SeqCst);
        });
        self.bakery().forget(slot);
    }

    /// A newcomer takes the slot of a dead one, once nobody else acts for that.
    pub fn move_in(&self, slot: usize, tally: &Tally) {
        while self.byte_locks[slot].compare_exchange(FREE, LOCKED, AcqRel, Relaxed).is_err() {
            self.look_again_later(tally);
        }
        self.recover(slot, slot);
    }

    /// The thread stops here, and its byte lock is free. The release store stands for the kernel, which gives the byte
    /// lock up after the last of the dead one's stores.
    pub fn die(&self, me: usize) {
        self.oracle.waiting[me].store(0, SeqCst);
        self.byte_locks[me].store(FREE, Release);
    }

    /// Dies between winning and leaving; with a token if it is written down as the holder.
    pub fn die_inside(&self, me: usize, token: Option<u64>) {
        if let Some(token) = token {
            self.oracle.died_inside.store(true, SeqCst);
            self.oracle.dead_token.store(token, SeqCst);
        }
        self.oracle.inside.fetch_sub(1, SeqCst);
        self.die(me);
    }

    /// Compares what the lock says of a death with what happened.
    pub fn hear(&self, me: usize, health: Health, tally: &Tally) {
        if !self.checks(Property::News) {
            return;
        }
        let happened =
            if self.oracle.died_inside.load(SeqCst) { Health::Inconsistent } else { Health::Consistent };
        assert_eq!(health, happened, "News: what the lock says, and what happened");
        if health == Health::Inconsistent {
            // SAFETY: only for a holder, while no dead holder is left to act for; loom fails where that is wrong.
            let told = self.news.with(|news| unsafe { *news });
            assert_eq!(
                told,
                self.oracle.dead_token.load(SeqCst),
                "News: the token told, and the dead holder's"
            );
            let told_by_me = self.oracle.actor.load(SeqCst) == me + 1;
            let count = if told_by_me { &tally.news_to_actor } else { &tally.news_to_other };
            count.fetch_add(1, SeqCst);
        }
    }

    pub fn read(&self, health: Health) {
        if !self.checks(Property::Data) {
            return;
        }
        // SAFETY: only for the holder; loom fails where that is wrong.
        let [left, right] = self.data.each_ref().map(|word| word.with(|word| unsafe { *word }));
        if health == Health::Consistent {
            assert_eq!(left, right, "Data: torn, and nobody told");
            assert_eq!(
                left,
                self.oracle.written.load(SeqCst),
                "Data: what is there, and what was written last"
            );
        }
    }

    pub fn write(&self, word: usize, value: u64) {
        if self.checks(Property::Data) {
            // SAFETY: only for the holder; loom fails where that is wrong.
            self.data[word].with_mut(|word| unsafe { *word = value });
        }
    }

    /// When everybody has gone and `me` has entered once more, nothing of them is left.
    pub fn check_cleared(&self, me: usize, entries: usize) {
        for slot in 0..self.words.len() {
            self.act_for(slot, me);
            assert_eq!(self.bakery().place(slot), Place::Idle, "slot {slot} left something in the queue");
            assert_eq!(self.held[slot].load(Acquire), 0, "slot {slot} is still written down as a holder");
        }
        assert_eq!(self.oracle.entries.load(SeqCst), entries, "the last entry");
    }
}
