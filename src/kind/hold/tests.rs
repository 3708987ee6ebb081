//! Calls of two threads by one hold, and of a thread and its signal handler.

use super::*;
use crate::attach::fast_path::UnlockOutcome;
use std::sync::mpsc;
use turnlock_core::algorithm::claim::Mode;

struct Scene {
    _folder: tempfile::TempDir,
    file: LockFile,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = LockFile::open(folder.path().join("a.lock")).unwrap();
        Self { _folder: folder, file }
    }

    /// A hold that has a lock.
    fn hold(&self) -> Hold {
        let hold = self.file.hold(None).unwrap();
        let semaphore = self.file.semaphore_options().permits(1).open("s").unwrap();
        let permit = Wanted::Claim(Claim { weight: 1, ..Claim::whole(Mode::Shared) });
        hold.acquire(1, AnyHandleRef::Semaphore(semaphore.handle()), permit, Limit::Never).unwrap();
        hold
    }
}

#[test]
fn a_release_waits_for_a_brief_call_whose_thread_lost_its_core() {
    let scene = Scene::new();
    let hold = scene.hold();
    let (begun, has_begun) = mpsc::channel();
    thread::scope(|threads| {
        threads.spawn(|| {
            let _call = hold.begin(BRIEF).unwrap();
            begun.send(()).unwrap();
            thread::sleep(Duration::from_millis(30));
        });
        has_begun.recv().unwrap();
        hold.release().unwrap();
    });
    assert!(matches!(hold.release(), Err(Error::NotOwner)));
}

#[test]
fn a_handler_is_told_at_once_that_its_thread_is_in_a_call() {
    let scene = Scene::new();
    let hold = scene.hold();
    for call in [BRIEF, ACQUIRING, UPGRADING] {
        let began = std::time::Instant::now();
        // More of them than there is time for, if they waited.
        let call = hold.begin(call).unwrap();
        for _ in 0..100 {
            assert!(matches!(hold.release(), Err(Error::ParticipantBusy)));
        }
        drop(call);
        assert!(began.elapsed() < 50 * SLEEPS * SLEEP);
    }
    hold.release().unwrap();
}

#[test]
fn a_call_that_upgrades_is_not_waited_for() {
    let scene = Scene::new();
    let hold = scene.hold();
    let call = hold.begin(UPGRADING).unwrap();
    thread::scope(|threads| {
        threads.spawn(|| {
            let began = std::time::Instant::now();
            for _ in 0..100 {
                assert!(matches!(hold.release(), Err(Error::ParticipantBusy)));
            }
            assert!(began.elapsed() < 50 * SLEEPS * SLEEP);
        });
    });
    drop(call);
    hold.release().unwrap();
}

/// How a hold takes a lock.
struct Way<'a> {
    wanted: fn() -> Wanted,
    lock: AnyHandleRef<'a>,
    again: &'a (dyn Fn(&Hold) -> Option<u64> + Sync),
}

impl Way<'_> {
    /// Takes it, by the fast path if that is open. Returns whether it was.
    fn take(&self, hold: &Hold) -> bool {
        if (self.again)(hold).is_some() {
            return true;
        }
        hold.acquire(1, self.lock, (self.wanted)(), Limit::Forever).unwrap();
        false
    }
}

fn give_back(hold: &Hold) {
    match hold.release_by_fast_path() {
        Some((UnlockOutcome::Done, _)) => {}
        Some((UnlockOutcome::WasRevoked, region)) => hold.complete_release(region).unwrap(),
        None => hold.release().unwrap(),
    }
}

/// Two threads take the lock again and again, each by a hold whose home thread it is, until another thread ends a section, and then by
/// a new one. No two sections are at once, and while no other comes they are by the fast path.
fn exclude_each_other(scene: &Scene, way: &Way) {
    const SECTIONS: usize = if cfg!(debug_assertions) { 4_000 } else { 40_000 };
    let (inside, met) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let section = |hold: &Hold| {
        let fast = way.take(hold);
        met.fetch_add(inside.fetch_add(1, Relaxed), Relaxed);
        inside.fetch_sub(1, Relaxed);
        fast
    };
    let alone = scene.file.hold(None).unwrap();
    let fast = (0..100).filter(|_| (section(&alone), give_back(&alone)).0).count();
    assert!(fast > 80, "{fast} of 100 by the fast path");
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let mut hold = scene.file.hold(None).unwrap();
                for at in 0..SECTIONS {
                    section(&hold);
                    if at % 64 != 0 {
                        give_back(&hold);
                        continue;
                    }
                    // It has no home thread any more: the next sections are another hold's.
                    thread::scope(|other| other.spawn(|| give_back(&hold)).join().unwrap());
                    hold = scene.file.hold(None).unwrap();
                }
            });
        }
    });
    assert_eq!(met.load(Relaxed), 0, "two were inside");
    section(&alone);
    give_back(&alone);
}

#[test]
fn holds_exclude_each_other_as_owners_of_a_mutex() {
    let scene = Scene::new();
    let mutex = scene.file.mutex("m").unwrap();
    let again = |hold: &Hold| hold.lock_again(&1);
    let lock = AnyHandleRef::Mutex(mutex.handle());
    exclude_each_other(&scene, &Way { wanted: || Wanted::Everything, lock, again: &again });
}

#[test]
fn holds_exclude_each_other_as_writers_with_a_reservation() {
    let scene = Scene::new();
    let rwlock = scene.file.rwlock("r").unwrap();
    let again = |hold: &Hold| hold.lock_again_in(&1, Mode::Exclusive);
    let wanted = || Wanted::Claim(Claim::whole(Mode::Exclusive));
    let lock = AnyHandleRef::RwLock(rwlock.handle());
    exclude_each_other(&scene, &Way { wanted, lock, again: &again });
}

#[test]
fn holds_exclude_each_other_by_a_permit_with_a_reservation() {
    let scene = Scene::new();
    let semaphore = scene.file.semaphore_options().permits(1).open("p").unwrap();
    let again = |hold: &Hold| hold.take_permits_again(&1, 1);
    let wanted = || Wanted::Claim(Claim { weight: 1, ..Claim::whole(Mode::Shared) });
    let lock = AnyHandleRef::Semaphore(semaphore.handle());
    exclude_each_other(&scene, &Way { wanted, lock, again: &again });
}
