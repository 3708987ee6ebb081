//! Mutants of the bias and of the doorway, by named steps: one participant stands at a step, as long as it takes another one to pass it. What
//! matters happens in every round, however busy the machine is.

use super::{
    biased_to, enter_often,
    order::{MUTANT, evictions_in},
};
use std::{
    cell::RefCell,
    sync::{
        PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};
use support::{
    NoHang, Place,
    format::{Format, peek_u64},
    is_queued_for_good, join, limit, queue_at, until, until_waiting,
};
use turnlock::{
    Error, LockFile, Mutex, MutexGuard,
    mutants::{Mutant, switch_on},
    trace::{self, Step},
};

/// A thread's side: it tells of each of these steps, and goes on when it is told to, or when the other side is gone.
struct Gate {
    at: &'static [Step],
    tell: Sender<Step>,
    go_on: Receiver<()>,
}

/// The other side.
struct Keeper {
    told: Receiver<Step>,
    go_on: Sender<()>,
}

thread_local! {
    static GATE: RefCell<Option<Gate>> = const { RefCell::new(None) };
}

fn gate(at: &'static [Step]) -> (Gate, Keeper) {
    let ((tell, told), (go_on, goes_on)) = (channel(), channel());
    (Gate { at, tell, go_on: goes_on }, Keeper { told, go_on })
}

impl Gate {
    /// The calling thread stops there from now on.
    fn stand_here(self) {
        GATE.set(Some(self));
        trace::watch(|step| {
            // Not of a thread that ends.
            let _ = GATE.try_with(|gate| {
                let gate = gate.borrow();
                let Some(gate) = gate.as_ref().filter(|gate| gate.at.contains(&step)) else { return };
                if gate.tell.send(step).is_ok() {
                    let _ = gate.go_on.recv();
                }
            });
        });
    }
}

impl Keeper {
    /// Where it has come to, and stands.
    fn comes_to(&self) -> Step {
        self.told.recv_timeout(limit::of_processes()).expect("it comes to a step")
    }

    fn go_on(&self) {
        self.go_on.send(()).unwrap();
    }
}

/// A strict mutex, biased to this thread.
struct Scene {
    place: Place,
    mutex: Mutex,
    format: Format,
    /// The bias word.
    unrevoked: u64,
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        let file = LockFile::open(place.lock_file()).unwrap();
        let format = Format { participants: file.participants().into(), locks: file.locks().into() };
        let mutex = file.mutex_options().patience(Duration::ZERO).open("a").unwrap();
        enter_often(&mutex);
        let unrevoked = peek_u64(&place.lock_file(), format.region(1));
        Self { place, mutex, format, unrevoked }
    }

    fn in_queue(&self) -> usize {
        queue_at(&self.place.lock_file(), "a").len()
    }

    fn queued_for_good(&self) -> usize {
        queue_at(&self.place.lock_file(), "a").iter().filter(|one| is_queued_for_good(one)).count()
    }

    /// How far a waiter's token is above `expected`. 0 if a waiter was passed over: one that gets no processor for some
    /// milliseconds is, and then the round shows nothing.
    fn overtaken(&self, before: u64, token: u64, expected: u64) -> u64 {
        if evictions_in(&self.place, &self.format) == before { token.saturating_sub(expected) } else { 0 }
    }

    /// Returns whether a participant has revoked the bias that this thread has.
    fn is_being_revoked(&self) -> bool {
        peek_u64(&self.place.lock_file(), self.format.region(1)) != self.unrevoked
    }

    fn evictions(&self) -> u64 {
        evictions_in(&self.place, &self.format)
    }
}

/// Unlocks and enters often, and says when that is over.
fn enters_again(mutex: &Mutex, guard: MutexGuard, is_over: &AtomicBool) {
    guard.unlock().unwrap();
    enter_often(mutex);
    is_over.store(true, SeqCst);
}

/// A queue head that revoked the bias, with another one behind it, which is awake as soon as it is the head, and stands there until
/// the first has entered as often as it likes or waits behind it.
fn overtaken_by_the_head() -> u64 {
    let scene = Scene::new();
    let (mutex, path, is_over) = (&scene.mutex, scene.place.lock_file(), &AtomicBool::new(false));
    let (at_head, keeper) = gate(&[Step::Enter]);
    let (guard, before) = (mutex.lock().unwrap(), scene.evictions());
    let last = guard.fencing_token();
    thread::scope(|threads| {
        let head = threads.spawn(move || enters_again(mutex, mutex.lock().unwrap(), is_over));
        until_waiting(&path, "a", 1);
        let behind = threads.spawn(move || {
            at_head.stand_here();
            mutex.lock().unwrap().fencing_token()
        });
        until_waiting(&path, "a", 2);
        guard.unlock().unwrap();
        assert_eq!(keeper.comes_to(), Step::Enter);
        until("the first one has entered, or waits", || is_over.load(SeqCst) || scene.in_queue() == 2);
        drop(keeper);
        let token = join(behind);
        join(head);
        scene.overtaken(before, token, last + 2)
    })
}

/// A queue head that gives up revoking the bias, with another one queued behind it; it stands right after its decision until the
/// bias owner has entered as often as it likes or waits.
fn overtaken_by_the_bias_owner() -> u64 {
    let scene = Scene::new();
    let (mutex, is_over) = (&scene.mutex, &AtomicBool::new(false));
    let (gives_up_at, keeper) = gate(&[Step::RevokeWait, Step::Enter, Step::Withdraw]);
    let (guard, before) = (mutex.lock().unwrap(), scene.evictions());
    let last = guard.fencing_token();
    thread::scope(|threads| {
        threads.spawn(move || {
            gives_up_at.stand_here();
            assert!(matches!(mutex.lock_for(Duration::from_millis(1)), Err(Error::TimedOut(_))));
        });
        // It has revoked the bias, has waited, and takes the entry step once more to look whether another one is queued.
        while keeper.comes_to() != Step::RevokeWait {
            keeper.go_on();
        }
        keeper.go_on();
        assert_eq!(keeper.comes_to(), Step::Enter);
        let behind = threads.spawn(|| mutex.lock().unwrap().fencing_token());
        until("both are queued for good", || scene.queued_for_good() == 2);
        keeper.go_on();
        assert_eq!(keeper.comes_to(), Step::Withdraw);
        let scene = &scene;
        threads.spawn(move || {
            until("the owner has entered, or waits", || is_over.load(SeqCst) || scene.in_queue() == 3);
            drop(keeper);
        });
        enters_again(mutex, guard, is_over);
        scene.overtaken(before, join(behind), last + 1)
    })
}

/// A bias owner that stands right after it has said that it tries, or where the mutant has it do so later; another one asks for the
/// lock meanwhile. Returns whether both are inside.
fn owner_enters_beside_the_head() -> bool {
    let scene = Scene::new();
    let mutex = &scene.mutex;
    let (is_inside, both, is_over) =
        (&AtomicBool::new(false), &AtomicBool::new(false), &AtomicBool::new(false));
    let (tries, keeper) = gate(&[Step::Try]);
    thread::scope(|threads| {
        let scene = &scene;
        threads.spawn(move || {
            assert_eq!(keeper.comes_to(), Step::Try);
            let head = threads.spawn(move || {
                let guard = mutex.lock().unwrap();
                is_inside.store(true, SeqCst);
                // The owner comes in, or waits behind it, or was sooner: then the round shows nothing.
                until("the owner goes on", || is_over.load(SeqCst) || scene.in_queue() == 1);
                is_inside.store(false, SeqCst);
                drop(guard);
            });
            until("the head is inside, or waits", || {
                is_inside.load(SeqCst) || scene.is_being_revoked() || head.is_finished()
            });
            drop(keeper);
        });
        tries.stand_here();
        let guard = mutex.lock().unwrap();
        both.store(is_inside.load(SeqCst), SeqCst);
        drop(guard);
        is_over.store(true, SeqCst);
    });
    both.load(SeqCst)
}

/// A participant that stands wherever it is written down as the holder, also where its bias begins; another one tries to take the
/// lock there. Returns whether it came in.
fn another_enters_where_a_bias_begins() -> bool {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = &file.mutex_options().patience(Duration::ZERO).open("a").unwrap();
    let (is_held, keeper) = gate(&[Step::Held]);
    let mut both = false;
    thread::scope(|threads| {
        threads.spawn(move || {
            is_held.stand_here();
            enter_often(mutex);
        });
        // Until that thread ends.
        while keeper.told.recv_timeout(limit::of_processes()).is_ok() {
            both |= mutex.try_lock().is_ok();
            let _ = keeper.go_on.send(());
        }
    });
    both
}

/// A bias owner that finds its bias revoked, and stands where the mutant has it write the bias word, until the lock is biased to
/// another participant, which holds it. Returns whether both are inside.
fn former_owner_enters_beside_the_next() -> bool {
    let scene = Scene::new();
    let (mutex, path) = (&scene.mutex, &scene.place.lock_file());
    let (is_inside, both, is_over) =
        (&AtomicBool::new(false), &AtomicBool::new(false), &AtomicBool::new(false));
    let (tries, keeper) = gate(&[Step::Try, Step::Withdraw]);
    let former = biased_to(path);
    thread::scope(|threads| {
        let scene = &scene;
        threads.spawn(move || {
            assert_eq!(keeper.comes_to(), Step::Try);
            let next = threads.spawn(move || {
                // A bias that was revoked does not begin again at once.
                until("the lock is biased to it", || {
                    enter_often(mutex);
                    biased_to(path).is_some_and(|slot| Some(slot) != former)
                });
                let guard = mutex.lock().unwrap();
                is_inside.store(true, SeqCst);
                until("the former owner goes on", || is_over.load(SeqCst) || scene.in_queue() == 1);
                is_inside.store(false, SeqCst);
                drop(guard);
            });
            until("the bias is revoked", || scene.is_being_revoked());
            keeper.go_on();
            // Without the mutant it comes to no such step.
            until("the next owner is inside", || is_inside.load(SeqCst) || next.is_finished());
            drop(keeper);
        });
        tries.stand_here();
        let guard = mutex.lock().unwrap();
        both.store(is_inside.load(SeqCst), SeqCst);
        drop(guard);
        is_over.store(true, SeqCst);
    });
    both.load(SeqCst)
}

/// Long enough for one that may go in. If it is not, the round shows nothing.
const A_WHILE: Duration = Duration::from_millis(20);

/// A participant that has read the numbers stands before it writes its own, until another one in a higher slot has its number, and
/// is inside if it does not wait. Returns whether both are inside at once.
fn both_enter_by_one_number() -> bool {
    let place = Place::new();
    let path = &place.lock_file();
    let file = LockFile::open(path).unwrap();
    let mutex = &file.mutex_options().patience(Duration::ZERO).open("a").unwrap();
    let (inside, both, over) = (&AtomicUsize::new(0), &AtomicBool::new(false), &AtomicUsize::new(0));
    let enters = move |gate: Gate| {
        gate.stand_here();
        let guard = mutex.lock().unwrap();
        inside.fetch_add(1, SeqCst);
        let began = Instant::now();
        until("the other one is inside too, or goes on waiting, or was", || {
            both.fetch_or(inside.load(SeqCst) == 2, SeqCst);
            let waits = || began.elapsed() > A_WHILE && queue_at(path, "a").len() == 1;
            both.load(SeqCst) || over.load(SeqCst) > 0 || waits()
        });
        inside.fetch_sub(1, SeqCst);
        drop(guard);
        over.fetch_add(1, SeqCst);
    };
    let (at_doorway, first) = gate(&[Step::Doorway]);
    let (at_number, second) = gate(&[Step::Wait]);
    thread::scope(|threads| {
        threads.spawn(move || enters(at_doorway));
        assert_eq!(first.comes_to(), Step::Doorway);
        first.go_on();
        // The mutants have it stand here; else it goes in.
        until("it has read the numbers, or is inside", || {
            first.told.try_recv().is_ok() || inside.load(SeqCst) > 0
        });
        threads.spawn(move || enters(at_number));
        assert_eq!(second.comes_to(), Step::Wait);
        drop(second);
        let began = Instant::now();
        while inside.load(SeqCst) == 0 && began.elapsed() < A_WHILE {
            thread::yield_now();
        }
        drop(first);
    });
    both.load(SeqCst)
}

/// So many rounds: in each that is not disturbed the mutant shows itself.
const ROUNDS: usize = 100;

mod with_mutants {
    use super::*;

    fn two_are_caught(mutant: Mutant, are_both_inside: fn() -> bool) {
        is_caught(mutant, || u64::from(are_both_inside()));
    }

    fn is_caught(mutant: Mutant, wrong: impl Fn() -> u64) {
        let _no_hang = NoHang::for_seconds(300);
        let _alone = MUTANT.write().unwrap_or_else(PoisonError::into_inner);
        let without = (0..3).map(|_| wrong()).max();
        assert_eq!(without, Some(0), "without {mutant:?}");
        switch_on(Some(mutant));
        let caught = (1..=ROUNDS).find(|_| wrong() > 0);
        switch_on(None);
        println!("{mutant:?}: in round {caught:?}");
        assert!(caught.is_some(), "{mutant:?} was on and nothing was seen");
    }

    #[test]
    fn a_bias_over_the_heads_of_those_behind_is_caught() {
        is_caught(Mutant::BiasOverQueue, overtaken_by_the_head);
    }

    #[test]
    fn a_revocation_cancelled_over_the_heads_of_those_behind_is_caught() {
        is_caught(Mutant::CancelsOverQueue, overtaken_by_the_bias_owner);
    }
    #[test]
    fn a_bias_owner_that_looks_before_it_says_that_it_tries_is_caught() {
        two_are_caught(Mutant::FlagAfterCheck, owner_enters_beside_the_head);
    }

    #[test]
    fn a_number_given_up_before_the_bias_word_is_written_is_caught() {
        two_are_caught(Mutant::LeaveBeforeBias, another_enters_where_a_bias_begins);
    }

    #[test]
    fn a_bias_owner_that_writes_the_bias_word_itself_is_caught() {
        two_are_caught(Mutant::BiasByNonHead, former_owner_enters_beside_the_next);
    }
    #[test]
    fn a_missing_choosing_is_caught() {
        two_are_caught(Mutant::NoChoosing, both_enter_by_one_number);
    }

    #[test]
    fn a_missing_tie_break_is_caught() {
        two_are_caught(Mutant::NoTieBreak, both_enter_by_one_number);
    }
}
