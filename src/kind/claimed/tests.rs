//! Two threads that use one participant: one has looked at what the participant holds, and goes on when the other is done, or in
//! the midst of it.

use super::*;
use crate::attach::site::FileSite;
use crate::kind::{LockFile, Participant, RwLock, RwLockKind, Semaphore, SemaphoreKind};
use crate::layout::DeathPolicy;
use crate::registers::FileLock;
use turnlock_core::acquire::{
    attempt::{Attempt, Progress},
    readers,
    site::{Lock, Site},
};
use turnlock_core::algorithm::{Protocol, claim::Mode, eviction::Skipped};

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

    fn semaphore(&self, permits: u32) -> Semaphore {
        self.file.semaphore_options().permits(permits).open("s").unwrap()
    }

    fn rwlock(&self) -> RwLock {
        self.file.rwlock_options().death_policy(DeathPolicy::Inform).open("r").unwrap()
    }
}

/// What a call has found that goes on later.
fn found<'a, K: LockKind<Claims = Claimed>>(
    lock: &'a Handle<K>,
    participant: &'a Participant,
) -> Attempt<FileSite<'a, Claimed>> {
    lock.owned(&participant.attachment).unwrap()
}

fn take(semaphore: &Handle<SemaphoreKind>, participant: &Participant, permits: u32) {
    semaphore.acquire_permits_as(participant, permits, Limit::Never).unwrap();
}

fn take_in(rwlock: &Handle<RwLockKind>, participant: &Participant, mode: Mode) {
    rwlock.lock_in_mode_as(participant, mode, Limit::Never).unwrap();
}

#[test]
fn permits_that_another_thread_gives_back_meanwhile_are_not_lost() {
    let scene = Scene::new();
    let (semaphore, participant) = (scene.semaphore(3), scene.file.participant().unwrap());
    let semaphore = semaphore.handle();
    for (first, then) in [(1, 1), (1, 2), (2, 1)] {
        take(semaphore, &participant, 3);
        let late = found(semaphore, &participant);
        semaphore.release_permits_as(&participant, first).unwrap();
        late.give_back(then).unwrap();
        if first + then < 3 {
            semaphore.release_permits_as(&participant, 3 - first - then).unwrap();
        }
        // All are there again, and the participant has none.
        drop(scene.semaphore(3).try_acquire(3).unwrap());
        assert!(matches!(semaphore.release_permits_as(&participant, 1), Err(Error::NotOwner)));
    }
    take(semaphore, &participant, 3);
    let late = found(semaphore, &participant);
    semaphore.release_permits_as(&participant, 2).unwrap();
    assert!(matches!(late.give_back(2), Err(Error::TooManyReleased { given: 2, held: 1 })));
    late.unlock(None).unwrap();
}

#[test]
fn an_unlock_after_another_thread_has_changed_the_mode_leaves_nothing() {
    let scene = Scene::new();
    let (rwlock, participant) = (scene.rwlock(), scene.file.participant().unwrap());
    let lock = rwlock.handle();
    take_in(lock, &participant, Mode::Upgradable);
    let late = found(lock, &participant);
    lock.upgrade_as(&participant, Limit::Never).unwrap();
    late.unlock(None).unwrap();
    assert!(!late.site.lock().shared_bias().is_upgraded());
    // A writer that was told of a death, and has not repaired: as a reader it closes nothing more.
    std::thread::scope(|threads| {
        // Joined, so that its slot is given up.
        threads.spawn(|| std::mem::forget(rwlock.write().unwrap())).join().unwrap();
    });
    take_in(lock, &participant, Mode::Upgradable);
    let late = found(lock, &participant);
    lock.upgrade_as(&participant, Limit::Never).unwrap();
    late.mark_consistent().unwrap();
    late.unlock(None).unwrap();
    drop(rwlock.try_write().unwrap());
    take_in(lock, &participant, Mode::Exclusive);
    let late = found(lock, &participant);
    lock.downgrade_as(&participant, Mode::Shared).unwrap();
    assert!(matches!(late.mark_consistent(), Err(Error::NotExclusive)));
    late.unlock(None).unwrap();
    drop(rwlock.try_write().unwrap());
}

#[test]
fn in_the_midst_of_a_change_the_participant_is_busy_and_holds() {
    let scene = Scene::new();
    let (semaphore, rwlock) = (scene.semaphore(3), scene.rwlock());
    let mutex = scene.file.mutex("m").unwrap();
    let participant = scene.file.participant().unwrap();
    fn is_busy<K: LockKind>(lock: &Handle<K>, participant: &Participant) {
        let attachment = &participant.attachment;
        let mut attempt = lock.owned(attachment).unwrap();
        let holding = attempt.begin_change().unwrap();
        let busy = |done: Result<()>| assert!(matches!(done, Err(Error::ParticipantBusy)), "{done:?}");
        busy(lock.unlock_as(participant, None));
        busy(lock.unlock_as(participant, Some(holding.token)));
        busy(lock.abandon_as(participant, None));
        busy(lock.mark_consistent_as(participant));
        assert!(!lock.is_contended_as(participant).unwrap());
        assert!(attachment.holds_any());
        attempt.site.local().record(Some(holding));
        lock.unlock_as(participant, None).unwrap();
        assert!(!attachment.holds_any());
    }
    take(semaphore.handle(), &participant, 3);
    is_busy(semaphore.handle(), &participant);
    take_in(rwlock.handle(), &participant, Mode::Exclusive);
    is_busy(rwlock.handle(), &participant);
    mutex.handle().lock_as(&participant, Limit::Never).unwrap();
    is_busy(mutex.handle(), &participant);
    // An unlock that is under way is none to be done again.
    take(semaphore.handle(), &participant, 3);
    let mut late = found(semaphore.handle(), &participant);
    let holding = late.begin_unlock(None).unwrap();
    assert!(matches!(semaphore.handle().unlock_as(&participant, None), Err(Error::NotOwner)));
    late.end(holding).unwrap();
}

/// One stands in the queue, and has looked for permits, when there are fewer.
#[test]
fn who_looked_for_permits_before_there_were_fewer_looks_again() {
    let scene = Scene::new();
    let semaphore = scene.semaphore(8);
    let handle = semaphore.handle();
    let holder = semaphore.acquire(5).unwrap();
    for wanted in [2, 4] {
        handle.resize(9).unwrap();
        let participant = scene.file.participant().unwrap();
        let claim = Claim { weight: wanted, ..Claim::whole(Mode::Shared) };
        let late = Attempt { claim, ..found(handle, &participant) };
        let (lock, me) = (late.site.lock(), late.site.me());
        assert!(late.site.local().begin().is_some());
        late.write_claim();
        lock.eviction(me).begin_doorway();
        let number = lock.queue().doorway(me).unwrap();
        assert!(lock.queue().is_next(me, number), "there are permits enough");
        handle.resize(3).unwrap();
        assert!(!readers::take_at_once(&late, number));
        let mut waiter = late.site.waiter(Limit::Forever, 0, true);
        let progress = readers::take_as_head(&late, &mut waiter, number, &Skipped::NONE).unwrap();
        assert!(matches!(progress, Progress::LookAgain));
        // More again, and it comes in.
        handle.resize(9).unwrap();
        let progress = readers::take_as_head(&late, &mut waiter, number, &Skipped::NONE).unwrap();
        assert!(matches!(progress, Progress::Done(_)));
        late.withdraw();
        late.site.local().record(None);
    }
    drop(holder);
}

/// One that resizes a semaphore waits while another participant removes it, and names one in its place.
#[test]
fn a_resize_beside_a_removal_changes_no_other_semaphore() {
    let scene = Scene::new();
    let stale = scene.semaphore(3);
    let handle = stale.handle();
    std::thread::scope(|threads| {
        let resizes = thread::with_thread_attachment(&handle.file.open, |attachment| {
            directory::with_directory_lock(attachment, || {
                let resizes = threads.spawn(|| stale.resize(5));
                let view = handle.file.open.view();
                let queue = FileLock::new(view, 0).queue();
                while !queue.is_another_queued(attachment.slot, |_| true) && !resizes.is_finished() {
                    std::thread::yield_now();
                }
                assert_eq!(stale.permits()?, 3, "nothing is changed while another one has the directory");
                crate::kind::removal::remove(attachment, "s")?;
                Ok(resizes)
            })
        });
        let other = scene.file.semaphore_options().permits(2).open("other").unwrap();
        assert_eq!(other.handle().region(), handle.region());
        assert!(matches!(resizes.unwrap().join().unwrap(), Err(Error::NotFound { .. })));
        assert_eq!(other.permits().unwrap(), 2);
        assert!(matches!(stale.permits(), Err(Error::NotFound { .. })));
        assert!(matches!(stale.resize(5), Err(Error::NotFound { .. })));
    });
}

/// A writer has died, and its notice stands. An upgrade that is given up beside a reader leaves no way in by which a reader that was
/// inside by the bias would not be told.
#[test]
fn an_upgrade_given_up_after_a_death_lets_no_reader_in_untold() {
    let scene = Scene::new();
    let rwlock = scene.rwlock();
    let [reader, writer, upgrader] = [(); 3].map(|()| scene.file.participant().unwrap());
    // It reads by the bias by now.
    (0..200).for_each(|_| drop(rwlock.read_as(&reader).unwrap()));
    rwlock.write_as(&writer).unwrap().abandon().unwrap();
    let beside = rwlock.read_as(&writer).unwrap();
    assert!(beside.acquired().previous_owner_died);
    let upgradable = rwlock.upgradable_as(&upgrader).unwrap();
    assert!(upgradable.acquired().previous_owner_died);
    let upgradable = upgradable.try_upgrade().expect_err("a reader is inside").guard;
    for _ in 0..200 {
        assert!(rwlock.read_as(&reader).unwrap().acquired().previous_owner_died);
        assert!(rwlock.read().unwrap().acquired().previous_owner_died);
    }
    drop(beside);
    // Once it is repaired the bias begins again.
    let mut writer = upgradable.upgrade().map_err(|failed| failed.error).unwrap();
    writer.mark_consistent().unwrap();
    drop(writer);
    assert!(!rwlock.read_as(&reader).unwrap().acquired().previous_owner_died);
}
