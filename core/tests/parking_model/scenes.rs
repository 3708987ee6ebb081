//! What two threads do: one waits, the other one ends the wait.

use crate::futex::Loom;
use loom::thread;
use std::sync::Arc;
use std::time::Duration;
use turnlock_core::acquire::site::{Limit, Outcome};
use turnlock_core::algorithm::{
    Blocker,
    link::{Link, Wish},
};
use turnlock_core::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    full_fence,
};
use turnlock_core::wait::{
    AdaptiveSpin, Bell, CalledWord, Cancel, ParkingSpot, Standby, Stop, Waiter, name_of,
};

pub type Scene = fn();

/// The words of one lock with two slots, as far as waiting needs them.
struct Words {
    /// Whether the lock is left.
    left: AtomicU32,
    wake: AtomicU32,
    parked: AtomicU32,
    successor: AtomicU32,
    event: AtomicU32,
    standby_parked: AtomicU32,
    designated: AtomicU32,
    has_passive: AtomicU32,
    looked_at: AtomicU64,
    passive: [AtomicU64; 2],
    slots_in_use: AtomicU32,
    called: [Called; 2],
    cancel: Cancel,
}

struct Called(AtomicU32);

impl CalledWord for Called {
    fn called(&self) -> &AtomicU32 {
        &self.0
    }
}

impl Words {
    fn new(designated: u32) -> Self {
        let word = AtomicU32::new;
        Words {
            left: word(0),
            wake: word(0),
            parked: word(0),
            successor: word(0),
            event: word(0),
            standby_parked: word(0),
            designated: word(designated),
            has_passive: word(0),
            looked_at: AtomicU64::new(0),
            passive: [AtomicU64::new(0), AtomicU64::new(0)],
            slots_in_use: word(2),
            called: [Called(word(0)), Called(word(0))],
            cancel: Cancel::default(),
        }
    }

    fn spot(&self) -> ParkingSpot<'_> {
        let Words { wake, parked, successor, .. } = self;
        ParkingSpot { wake, parked, successor, name: name_of(1, 0) }
    }

    fn standby(&self) -> Standby<'_, Called> {
        let Words { event, standby_parked, designated, has_passive, looked_at, passive, .. } = self;
        Standby {
            event,
            parked: standby_parked,
            designated,
            has_passive,
            designated_looked_at: looked_at,
            passive,
            slots_in_use: &self.slots_in_use,
            cells: &self.called,
            region: 1,
        }
    }

    /// Has a participant in slot 1, with this patience in nanoseconds, wait as `wait` does.
    fn with_waiter(&self, patience: u64, wait: impl FnOnce(&mut Waiter<Loom, Called>)) {
        let (adaptive, since, waiting) = (AdaptiveSpin::default(), AtomicU64::new(0), AtomicU64::new(0));
        let stop = Stop { cancel: Some(&self.cancel), interrupt: None };
        let (limit, times) = (Limit::For(Duration::from_secs(1000)), (&since, &waiting));
        wait(&mut Waiter::new(limit, patience, 1, (stop, &adaptive), times, self.standby()));
    }

    fn stands(&self) -> bool {
        // Partner: the release store of the one that leaves.
        self.left.load(Acquire) == 0
    }

    /// Waits in the queue, behind slot 0. Returns what ended that.
    fn wait_in_queue(&self) -> Outcome {
        let mut outcome = Outcome::LookAgain;
        self.with_waiter(0, |waiter| {
            while self.stands() {
                // As one that is further back: it does not yield for long.
                outcome = waiter.wait(|| self.stands(), self.spot(), &Blocker { slot: 0, seen: 1, ahead: 2 });
                if outcome == Outcome::Cancelled {
                    break;
                }
            }
        });
        outcome
    }

    fn leave(&self) {
        self.left.store(1, Release);
        self.spot().unpark::<Loom>();
    }
}

fn beside(words: Words, other: impl FnOnce(&Words) + 'static, first: impl FnOnce(&Words)) {
    let words = Arc::new(words);
    let others = Arc::clone(&words);
    let thread = thread::spawn(move || other(&others));
    first(&words);
    thread.join().unwrap();
}

/// A waiter in the queue, and one that leaves.
pub fn queued() {
    beside(
        Words::new(0),
        |words| {
            words.wait_in_queue();
        },
        Words::leave,
    );
}

/// A waiter in the queue, and a thread that cancels its wait.
pub fn cancelled() {
    beside(
        Words::new(0),
        |words| assert_eq!(words.wait_in_queue(), Outcome::Cancelled),
        |words| {
            if words.cancel.request().is_some() {
                words.spot().unpark_all::<Loom>();
            }
        },
    );
}

/// A designated waker, and one that leaves the lock to none in the queue.
pub fn designated() {
    beside(
        Words::new(2),
        |words| {
            words.with_waiter(1_000_000_000_000, |waiter| {
                while words.stands() {
                    waiter.stand_by(2, || words.stands());
                }
            });
        },
        |words| {
            words.leave();
            // The fence is in `unpark`.
            words.standby().unpark_designated::<Loom>();
        },
    );
}

/// A waiter that comes into the passive set, and a designated waker that retires.
pub fn passive() {
    beside(
        Words::new(1),
        |words| {
            words.with_waiter(1_000_000_000_000, |waiter| {
                while !waiter.claim_designation() {
                    // As the designated waker it need not wait any more.
                    waiter.stand_by(2, || words.designated.load(Relaxed) != 2);
                }
            });
        },
        |words| {
            full_fence();
            assert!(words.standby().retire::<Loom>(1));
            let designated = words.designated.load(Relaxed);
            assert!(designated == 0 || designated == 2);
        },
    );
}

/// The words of one linked lock, and its agent's bell.
#[derive(Default)]
struct Linked {
    state: AtomicU32,
    token: AtomicU64,
    token_end: AtomicU64,
    agent: AtomicU64,
    wanted: AtomicU32,
    lease_end: AtomicU64,
    total: AtomicU32,
    bell: AtomicU32,
    asleep: AtomicU32,
}

impl Linked {
    fn link(&self) -> Link<'_> {
        let Linked { state, token, token_end, agent, wanted, lease_end, total, .. } = self;
        Link { state, token, token_end, agent, wanted, lease_end, total }
    }

    fn bell(&self) -> Bell<'_> {
        Bell { bell: &self.bell, asleep: &self.asleep }
    }
}

/// The agent of a linked lock, and a program that wants it.
pub fn agent() {
    let words = Arc::new(Linked::default());
    assert!(words.link().name_agent(0));
    let others = Arc::clone(&words);
    let program = thread::spawn(move || {
        if others.link().want(Wish::Write).is_some() {
            others.bell().ring_if_asleep::<Loom>();
        }
    });
    while !words.bell().sleep::<Loom>(Duration::from_secs(1), || words.link().is_wanted()) {}
    assert_eq!(words.link().take_wanted(), Some(Wish::Write));
    program.join().unwrap();
}
