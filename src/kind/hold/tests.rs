//! Calls of two threads by one hold, and of a thread and its signal handler.

use super::*;
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
