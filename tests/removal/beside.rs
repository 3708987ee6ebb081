//! A removal beside one that uses the lock, at the moment that matters: the user stands inside, or comes into the queue at
//! a named step of the removal. Chance would make these meetings seldom.

use crate::churn::{Arena, NAMES};
use std::{path::Path, sync::atomic::Ordering::SeqCst};
use support::{
    Place,
    actor::{Actor, hear, say},
    elsewhere, limit,
    shared::Shared,
};
use turnlock::{Error, LockFile, TurnRing};

/// The name that all of them use, of the oracle's.
const NAME: usize = 0;

type Scene = fn(&LockFile, &Arena) -> String;

const SCENES: &[(&str, Scene)] = &[
    ("inside", removes_while_one_is_inside),
    ("stale", enters_by_a_stale_handle),
    #[cfg(feature = "trace")]
    ("waiting", at_named_steps::removes_while_one_waits),
];

/// Words: the lock file, the arena, which scene. A process of its own, since a mutant is on in all of one.
pub fn removes_beside(words: &[String]) {
    let file = LockFile::options().locks(2).open(&words[0]).unwrap();
    let arena = Shared::<Arena>::open(Path::new(&words[1]));
    let (_, scene) = SCENES.iter().find(|(name, _)| *name == words[2]).unwrap();
    let what = scene(&file, &arena);
    let seen = if arena.failures.load(SeqCst) == 0 { "all is well" } else { "two were inside" };
    say(&format!("{what}; {seen}"));
    hear();
}

/// What comes of a scene.
fn outcome(scene: &str, mutant: &str) -> String {
    let place = Place::new();
    let (file, arena) = (place.lock_file(), place.at("arena"));
    drop(Shared::<Arena>::open(&arena));
    let words = [file.to_str().unwrap(), arena.to_str().unwrap(), scene];
    let mut actor = Actor::start_with("removes_beside", &words, &[("TURNLOCK_MUTANT", mutant)]);
    let outcome = actor.hear();
    actor.dismiss();
    outcome
}

fn ring(file: &LockFile) -> TurnRing {
    file.turn_ring(NAMES[NAME]).unwrap()
}

/// Locks it, and is seen inside by the oracle.
fn enter(arena: &Arena, ring: &TurnRing, me: u64) -> Result<(), Error> {
    let turn = ring.lock_for(limit::of_processes())?;
    arena.section_while(NAME, me, turn.fencing_token(), turn.acquired().previous_owner_died, || ());
    turn.unlock()
}

/// One is inside by its turn; another removes the lock and enters the next one of that name.
fn removes_while_one_is_inside(file: &LockFile, arena: &Arena) -> String {
    let ring_of_first = ring(file);
    let turn = ring_of_first.lock().unwrap();
    let (token, died) = (turn.fencing_token(), turn.acquired().previous_owner_died);
    let removed = arena.section_while(NAME, 1, token, died, || {
        elsewhere(|| {
            let removed = file.remove_lock(NAMES[NAME]);
            if removed.is_ok() {
                // Another lock takes its region, so that the next one of its name is in a region of its own.
                drop(file.turn_ring(NAMES[NAME + 1]).unwrap());
                enter(arena, &ring(file), 2).unwrap();
            }
            removed
        })
    });
    in_words(removed)
}

/// A lock is removed, and another one of its name is in another region: one is inside that, and one comes by a handle of the
/// first, whose region has yet another lock.
fn enters_by_a_stale_handle(file: &LockFile, arena: &Arena) -> String {
    let stale = ring(file);
    file.remove_lock(NAMES[NAME]).unwrap();
    drop(file.turn_ring(NAMES[NAME + 1]).unwrap());
    let next = ring(file);
    let turn = next.lock().unwrap();
    let (token, died) = (turn.fencing_token(), turn.acquired().previous_owner_died);
    let entered = arena.section_while(NAME, 1, token, died, || elsewhere(|| enter(arena, &stale, 2)));
    in_words(entered)
}

fn in_words(done: Result<(), Error>) -> String {
    match done {
        Ok(()) => "done".into(),
        Err(Error::InUse { .. }) => "in use".into(),
        Err(Error::NotFound { .. }) => "not found".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_lock_is_not_removed_while_one_is_inside_by_its_turn() {
    assert_eq!(outcome("inside", ""), "in use; all is well");
}

#[test]
fn a_stale_handle_lets_nobody_in_beside_the_holder_of_the_next_lock_of_its_name() {
    assert_eq!(outcome("stale", ""), "not found; all is well");
}

#[cfg(feature = "trace")]
mod at_named_steps {
    use super::*;
    use std::{cell::Cell, sync::Mutex as Shut, sync::mpsc, thread, time::Duration};
    use support::{is_queued_for_good, join, queue_at, until};
    use turnlock::trace::{self, Step};

    thread_local! {
        /// This thread removes.
        static REMOVES: Cell<bool> = const { Cell::new(false) };
    }

    /// By these the one that removes says that it is at the head of a queue, passed over by no one, and is told to go on.
    static AT_HEAD: Shut<Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>> = Shut::new(None);

    /// One comes into the queue behind the removal, which has not looked yet who else is there.
    pub fn removes_while_one_waits(file: &LockFile, _: &Arena) -> String {
        let mutex = file.mutex_options().patience(Duration::ZERO).open(NAMES[NAME]).unwrap();
        let ((tell, told), (go_on, goes_on)) = (mpsc::channel(), mpsc::channel());
        *AT_HEAD.lock().unwrap() = Some((tell, goes_on));
        trace::watch(|step| {
            if step == Step::Enter && REMOVES.get() {
                let at_head = AT_HEAD.lock().unwrap();
                let (tell, goes_on) = at_head.as_ref().unwrap();
                tell.send(()).unwrap();
                goes_on.recv().unwrap();
            }
        });
        let queue = || queue_at(&file.path(), NAMES[NAME]);
        thread::scope(|threads| {
            let removes = threads.spawn(|| {
                REMOVES.set(true);
                let removed = file.remove_lock(NAMES[NAME]);
                REMOVES.set(false);
                removed
            });
            // First at the head of the directory's queue.
            while {
                told.recv().unwrap();
                queue().is_empty()
            } {
                go_on.send(()).unwrap();
            }
            let waits = threads.spawn(|| mutex.lock().map(drop));
            until("it stands behind the removal", || {
                let queue = queue();
                queue.len() == 2 && is_queued_for_good(&queue[1])
            });
            go_on.send(()).unwrap();
            format!("{}, and the waiter: {}", in_words(join(removes)), in_words(join(waits)))
        })
    }

    #[test]
    fn a_lock_is_not_removed_while_one_waits_for_it() {
        assert_eq!(outcome("waiting", ""), "in use, and the waiter: done; all is well");
    }
}

/// That the oracle sees what it is after.
#[cfg(feature = "mutants")]
mod with_mutants {
    use super::outcome;

    #[test]
    fn handles_that_do_not_look_are_caught() {
        assert_eq!(outcome("stale", "RemovalUnseen"), "done; two were inside");
    }

    #[test]
    fn a_removal_in_use_is_caught() {
        assert_eq!(outcome("inside", "RemovedInUse"), "done; two were inside");
    }

    #[test]
    #[cfg(feature = "trace")]
    fn a_removal_of_what_is_waited_for_is_caught() {
        assert_eq!(outcome("waiting", ""), "in use, and the waiter: done; all is well");
        assert_eq!(outcome("waiting", "RemovedInUse"), "done, and the waiter: not found; all is well");
    }
}
