//! A mailbox whose words are loom's, and its two ends.
//!
//! A message says whose life it is of and the how-manieth try it was, and in its last word the same inverted: so no mixture of
//! two messages is one.
//!
//! Loom remembers only the last access of a word, whichever end made it, and looks for other schedules where two accesses
//! that depend on each other came one after the other. So an end that loads its own count before it stores it hides the other
//! end's load, and then loom goes through one schedule alone. So both ends also touch a word that has no other use before each
//! call and at each step; it is relaxed, and orders nothing.

use crate::plan::{End, Life, Plan};
use loom::{cell::UnsafeCell, thread};
use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize as PlainUsize, Ordering::SeqCst},
    },
};
use support::watchdog;
use turnlock_core::{
    spsc::Ring,
    sync::{AtomicU64, Ordering::Relaxed},
    trace::Step,
};

/// So that three messages are one more than there is room for.
const ENTRIES: usize = 2;
const WORDS: usize = 3;

/// What came about in all executions.
#[derive(Default)]
pub struct Tally {
    /// Puts that found no room.
    pub full: PlainUsize,
    /// Looks that found nothing.
    pub empty: PlainUsize,
    /// Messages that were taken while the producer may have been at work.
    pub taken: PlainUsize,
    /// Ends that died.
    pub deaths: PlainUsize,
    /// Messages that were read again after their consumer's death.
    pub read_again: PlainUsize,
}

pub fn count(what: &PlainUsize) {
    what.fetch_add(1, SeqCst);
}

struct Mailbox {
    tail: AtomicU64,
    head: AtomicU64,
    entries: [[AtomicU64; WORDS]; ENTRIES],
    /// Of each entry: written with its words, read with them.
    races: [UnsafeCell<()>; ENTRIES],
    /// See above.
    schedule: AtomicU64,
    plan: Plan,
}

// SAFETY: the cells are touched by one end at a time, which is what is shown; loom says so if not.
unsafe impl Sync for Mailbox {}
// SAFETY: as above.
unsafe impl Send for Mailbox {}

/// What ends a life.
struct Dead;

/// Which end the running thread is.
#[derive(Clone)]
struct Now {
    mailbox: Arc<Mailbox>,
    /// How many messages it has put in or taken out, in all its lives.
    done: u64,
    dies_at: Option<Step>,
}

loom::thread_local! {
    static NOW: RefCell<Option<Now>> = RefCell::new(None);
}

/// The watcher of [`turnlock_core::trace`].
pub fn watch(step: Step) {
    let Some(now) = NOW.with(|now| now.borrow().clone()) else { return };
    now.mailbox.may_be_preempted();
    let at = (now.mailbox.plan.start.wrapping_add(now.done) % ENTRIES as u64) as usize;
    let cell = &now.mailbox.races[at];
    match step {
        // The words of the entry are written.
        Step::Put if now.mailbox.plan.sees_races => cell.with_mut(|_| ()),
        // They are read.
        Step::Take if now.mailbox.plan.sees_races => cell.with(|_| ()),
        _ => {}
    }
    if now.dies_at == Some(step) {
        resume_unwind(Box::new(Dead));
    }
}

impl Mailbox {
    fn new(plan: &Plan) -> Arc<Self> {
        let word = || AtomicU64::new(0);
        Arc::new(Self {
            tail: AtomicU64::new(plan.start),
            head: AtomicU64::new(plan.start),
            entries: std::array::from_fn(|_| std::array::from_fn(|_| word())),
            races: std::array::from_fn(|_| UnsafeCell::new(())),
            schedule: word(),
            plan: plan.clone(),
        })
    }

    fn may_be_preempted(&self) {
        self.schedule.fetch_add(1, Relaxed);
    }

    fn ring(&self) -> Ring<'_, WORDS> {
        Ring { tail: &self.tail, head: &self.head, entries: &self.entries }
    }

    /// Reads the next message, if there is one.
    fn first(&self) -> Option<u64> {
        let mut words = [0; WORDS];
        let is_there = self.ring().first(&mut words).expect("counts that cannot be");
        is_there.then(|| {
            let [first, middle, last] = words;
            assert!(middle == first && last == !first, "torn: {words:x?}");
            first
        })
    }
}

/// Message number `number` of the producer's life number `life`.
fn name(life: usize, number: usize) -> u64 {
    (life as u64) << 32 | (number as u64 + 1)
}

/// Plays `lives`, one after another, of an end that does `one` in each try; `one` says whether it put or took a message. A
/// life that is over when the next one begins is so by the kernel's byte lock, which orders them as one thread does.
fn live(
    mailbox: &Arc<Mailbox>,
    lives: &[Life],
    at: Step,
    tally: &Tally,
    mut one: impl FnMut(usize, usize, End) -> bool,
) {
    NOW.with(|now| *now.borrow_mut() = Some(Now { mailbox: mailbox.clone(), done: 0, dies_at: None }));
    let change = |change: &dyn Fn(&mut Now)| NOW.with(|now| change(now.borrow_mut().as_mut().unwrap()));
    for (number, life) in lives.iter().enumerate() {
        for attempt in 0..life.tries {
            let end = if attempt + 1 == life.tries { life.ends } else { End::Well };
            mailbox.may_be_preempted();
            change(&|now| now.dies_at = (end == End::BeforeTheStore).then_some(at));
            match catch_unwind(AssertUnwindSafe(|| one(number + 1, attempt, end))) {
                Ok(true) => change(&|now| now.done += 1),
                Ok(false) => {}
                Err(panic) if panic.is::<Dead>() => count(&tally.deaths),
                Err(panic) => resume_unwind(panic),
            }
        }
    }
    NOW.with(|now| *now.borrow_mut() = None);
}

/// The producer. Returns what it put in.
fn produce(mailbox: &Arc<Mailbox>, tally: &Tally) -> Vec<u64> {
    let mut sent = Vec::new();
    live(mailbox, &mailbox.plan.producer, Step::Put, tally, |life, number, end| {
        let name = name(life, number);
        let message = [name, name, !name];
        if let End::WordsWritten(written) = end {
            // As `put` does, which has no step between its words.
            let ring = mailbox.ring();
            if !ring.is_full() {
                let entry = &mailbox.entries[(ring.count() % ENTRIES as u64) as usize];
                entry.iter().zip(message).take(written).for_each(|(word, value)| word.store(value, Relaxed));
                resume_unwind(Box::new(Dead));
            }
            count(&tally.full);
            return false;
        }
        let put = mailbox.ring().put(&message).expect("counts that cannot be");
        if put {
            sent.push(name)
        } else {
            count(&tally.full)
        }
        put
    });
    sent
}

/// The consumer. Returns what it took out.
fn consume(mailbox: &Arc<Mailbox>, tally: &Tally) -> Vec<u64> {
    let (mut taken, mut read) = (Vec::new(), None);
    live(mailbox, &mailbox.plan.consumer, Step::Take, tally, |_, _, _| {
        let Some(first) = mailbox.first() else {
            count(&tally.empty);
            assert!(read.is_none(), "lost: what a dead consumer had read is not there any more");
            return false;
        };
        if let Some(read) = read.replace(first) {
            assert_eq!(first, read, "out of order: not what a dead consumer had read");
            count(&tally.read_again);
        }
        mailbox.ring().take();
        read = None;
        count(&tally.taken);
        taken.push(first);
        true
    });
    taken
}

/// One execution: both ends at once, and then what is left.
pub fn execute(plan: &Plan, tally: &Tally) {
    watchdog::sign_of_life();
    let mailbox = Mailbox::new(plan);
    let (there, counts) = (mailbox.clone(), Arc::<Tally>::default());
    let counted = counts.clone();
    let producer = thread::spawn(move || produce(&there, &counted));
    let mut taken = consume(&mailbox, tally);
    let sent = producer.join().unwrap();
    for (sum, of_producer) in [(&tally.full, &counts.full), (&tally.deaths, &counts.deaths)] {
        sum.fetch_add(of_producer.load(SeqCst), SeqCst);
    }
    while let Some(first) = mailbox.first() {
        mailbox.ring().take();
        taken.push(first);
    }
    assert_eq!(taken, sent, "lost, repeated, out of order, or never sent");
    assert!(mailbox.ring().is_empty() && !mailbox.ring().is_full());
}
