//! Torture of the locks whose participants hold them beside others: readers and writers, permits, ranges, keys, groups.
//!
//! Each kind has a worker of its own and phases of its own, in each of which workers are killed; what they check each other
//! by is the [`ledger`].

mod groups;
mod keys;
pub mod ledger;
mod permits;
mod ranges;
mod readers;

use super::arena::{Arena, Fault};
use ledger::Ledger;
use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::Ordering::Relaxed,
    time::Duration,
};
use support::Dice;
use turnlock::{Error, GroupLock, KeyedLock, LockFile, RangeLock, Result, RwLock, Semaphore};

/// Which kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Readers, writers, and those that upgrade and downgrade.
    RwLock,
    /// Permits of a semaphore that is resized.
    Semaphore,
    /// Ranges of records.
    RangeLock,
    /// Keys.
    KeyedLock,
    /// Groups.
    GroupLock,
}

/// Where a worker is, as it says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Phase {
    LockShared = 1,
    InsideShared,
    UnlockShared,
    LockUpgradable,
    InsideUpgradable,
    UnlockUpgradable,
    Upgrade,
    /// An upgrade that will not wait, or not for long.
    UpgradeWithLimit,
    LockExclusive,
    InsideExclusive,
    UnlockExclusive,
    Downgrade,
    /// A second part, or more permits, beside those that the worker has.
    LockSecond,
    InsideBoth,
    UnlockBoth,
    LockAll,
    InsideAll,
    MarkConsistent,
    Acquire,
    InsidePermits,
    ReleasePart,
    Release,
    Resize,
    Reset,
    // Of `super::coordination`.
    LockBuffer,
    /// A producer waits, and takes the lock again.
    WaitNotFull,
    Produce,
    /// A consumer waits, and takes the lock again.
    WaitNotEmpty,
    Consume,
    Notify,
    /// What a dead one left is finished or undone, and all are notified.
    Repair,
    UnlockBuffer,
    Meet,
    ResetBarrier,
    SetEvent,
    ClearEvent,
    AwaitEvent,
    // Of groups.
    EnterGroup,
    InsideGroup,
    LeaveGroup,
}

use Phase::*;

impl Kind {
    pub const ALL: [Self; 5] =
        [Self::RwLock, Self::Semaphore, Self::RangeLock, Self::KeyedLock, Self::GroupLock];

    /// The phases that its workers come to.
    pub fn phases(self) -> &'static [Phase] {
        match self {
            Kind::RwLock => &[
                LockShared,
                InsideShared,
                UnlockShared,
                LockUpgradable,
                InsideUpgradable,
                UnlockUpgradable,
                Upgrade,
                UpgradeWithLimit,
                LockExclusive,
                InsideExclusive,
                UnlockExclusive,
                Downgrade,
                MarkConsistent,
            ],
            Kind::Semaphore => {
                &[Acquire, InsidePermits, ReleasePart, Release, LockSecond, InsideBoth, UnlockBoth, Resize]
            }
            Kind::RangeLock => &PHASES_OF_PARTS[..PHASES_OF_PARTS.len() - 1],
            Kind::KeyedLock => &PHASES_OF_PARTS,
            Kind::GroupLock => &[EnterGroup, InsideGroup, LeaveGroup, MarkConsistent, Reset],
        }
    }

    pub fn open(self, file: &LockFile, name: &str) -> Lock {
        match self {
            Kind::RwLock => Lock::RwLock(file.rwlock_options().patience(Duration::ZERO).open(name).unwrap()),
            Kind::Semaphore => {
                let mut options = file.semaphore_options();
                options.permits(permits::FEW).patience(Duration::ZERO);
                Lock::Semaphore(options.open(name).unwrap(), permits::InC::open(file, name))
            }
            Kind::RangeLock => Lock::RangeLock(file.range_lock(name).unwrap()),
            Kind::KeyedLock => Lock::KeyedLock(file.keyed_lock(name).unwrap()),
            Kind::GroupLock => Lock::GroupLock(file.group_lock(name).unwrap()),
        }
    }
}

const PHASES_OF_PARTS: [Phase; 13] = [
    LockShared,
    InsideShared,
    UnlockShared,
    LockExclusive,
    InsideExclusive,
    UnlockExclusive,
    LockSecond,
    InsideBoth,
    UnlockBoth,
    LockAll,
    InsideAll,
    MarkConsistent,
    // Of keys only: one that has all numbers can mark them all.
    Reset,
];

/// A lock of such a kind, open.
pub enum Lock {
    RwLock(RwLock),
    Semaphore(Semaphore, permits::InC),
    RangeLock(RangeLock),
    KeyedLock(KeyedLock),
    GroupLock(GroupLock),
}

/// A worker's place.
pub struct Post<'a> {
    pub arena: &'static Arena,
    pub ledger: &'static Ledger,
    pub me: usize,
    pub file: &'a LockFile,
}

/// What a forked child does until it is killed.
pub fn work(post: &Post, lock: &Lock, mut dice: Dice) -> ! {
    super::worker::begins(post.arena, post.me, false);
    let mut reads = 0;
    loop {
        let done = match lock {
            Lock::RwLock(lock) => readers::turn(post, lock, &mut dice, &mut reads),
            Lock::Semaphore(lock, in_c) => permits::turn(post, lock, in_c, &mut dice),
            Lock::RangeLock(lock) => ranges::turn(post, lock, &mut dice),
            Lock::KeyedLock(lock) => keys::turn(post, lock, &mut dice),
            Lock::GroupLock(lock) => groups::turn(post, lock, &mut dice),
        };
        match done {
            // A try that was turned away, or a wait that was over.
            Ok(()) | Err(Error::WouldBlock(_) | Error::TimedOut(_)) => {}
            Err(error) => {
                post.arena.last_error.store(error.code() as u32, Relaxed);
                post.fault(Fault::Error);
            }
        }
        post.ledger.leaves_everything(post.me);
        post.ledger.risks(post.me, false);
        post.note().phase.store(0, Relaxed);
        post.note().step.store(0, Relaxed);
        if dice.in_hundred(20) {
            std::thread::yield_now();
        }
        pause(dice.roll(500));
    }
}

/// Takes everything as a newcomer when all workers are dead, and checks what they left; notes what is wrong as a fault.
pub fn survives(post: &Post, lock: &Lock) {
    const PATIENCE: Duration = Duration::from_secs(5);
    let checked = match lock {
        Lock::RwLock(lock) => readers::survives(post, lock, PATIENCE),
        Lock::Semaphore(lock, _) => permits::survives(post, lock, PATIENCE),
        Lock::RangeLock(lock) => ranges::survives(post, lock, PATIENCE),
        Lock::KeyedLock(lock) => keys::survives(post, lock, PATIENCE),
        Lock::GroupLock(lock) => groups::survives(post, lock, PATIENCE),
    };
    if let Err(error) = checked {
        println!("a survivor does not get in: {error}");
        post.arena.last_error.store(error.code() as u32, Relaxed);
        post.fault(Fault::Lost);
    }
}

impl Post<'_> {
    pub fn note(&self) -> &super::arena::Note {
        &self.arena.workers[self.me]
    }

    pub fn fault(&self, fault: Fault) {
        self.arena.fault(fault);
    }

    /// Is in this phase from now on; dies here, if that is what it is to do.
    pub fn is_at(&self, phase: Phase) {
        self.note().phase.store(phase as u32, Relaxed);
        super::worker::beat(self.arena, self.me);
    }

    /// Dies here, if it is in the phase in which it is to die.
    pub fn may_die(&self) {
        super::worker::beat(self.arena, self.me);
    }

    /// Returns whether to go the way that leads to one of these phases: always, if this worker is to die in one, or else by
    /// chance.
    fn goes(&self, dice: &mut Dice, in_hundred: u64, phases: &[Phase]) -> bool {
        let armed = self.note().armed_phase.load(Relaxed);
        let by_chance = dice.in_hundred(in_hundred);
        match phases.iter().any(|phase| *phase as u32 == armed) {
            true => dice.in_hundred(70) || by_chance,
            false => by_chance,
        }
    }

    /// Returns whether to leave as a dying owner does. That is the way of one that is to die marking what a dead one left as
    /// consistent: there has to be something.
    fn abandons(&self, dice: &mut Dice) -> bool {
        let is_to_mark = self.note().armed_phase.load(Relaxed) == MarkConsistent as u32;
        let abandons = is_to_mark && dice.in_hundred(60);
        if abandons {
            self.ledger.counts_as_dead();
        }
        abandons
    }

    /// A section lasts for a while.
    pub fn stays(&self, dice: &mut Dice) {
        if dice.in_hundred(30) {
            pause(dice.roll(400));
        }
        if dice.in_hundred(3) {
            std::thread::yield_now();
        }
        super::worker::beat(self.arena, self.me);
    }

    /// Checks an owner-dead notice: a worker died whose death it may tell of.
    fn is_told(&self, told: bool) {
        if told {
            self.arena.told.fetch_add(1, Relaxed);
            if !self.ledger.may_be_told(self.arena) {
                self.fault(Fault::FalseNotice);
            }
        }
    }

    /// This worker has come in and done what it came for.
    pub fn goes_on(&self) {
        self.arena.progress.fetch_add(1, Relaxed);
    }

    /// How long to wait for a lock, by chance.
    fn way(&self, dice: &mut Dice) -> Way {
        match dice.roll(12) {
            0 => Way::Try,
            1 => Way::For(Duration::from_nanos(dice.roll(30_000))),
            2 => Way::AsParticipant,
            _ => Way::Wait,
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    Try,
    For(Duration),
    Wait,
    /// Waits, as a participant of its own.
    AsParticipant,
}

/// Gives a guard up as a dying owner does.
pub fn abandon<G>(guard: G) {
    // Unwinds without the panic hook, so that no message is printed; the guard is dropped as by a panic.
    let dropped = catch_unwind(AssertUnwindSafe(|| {
        let _guard = guard;
        resume_unwind(Box::new(()));
    }));
    assert!(dropped.is_err());
}

pub fn pause(times: u64) {
    for _ in 0..times {
        std::hint::spin_loop();
    }
}

type Done = Result<()>;
