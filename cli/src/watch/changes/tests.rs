//! Real locks of real files: each test does something between two looks.

use super::*;
use std::{path::PathBuf, thread, time::Duration};
use turnlock::{LockFile, inspect};

struct Fixture {
    _folder: tempfile::TempDir,
    path: PathBuf,
    file: LockFile,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let file = LockFile::open(&path).unwrap();
        Self { _folder: folder, path, file }
    }

    fn look(&self) -> Seen {
        Seen { status: inspect::snapshot(&self.path).unwrap(), at: Instant::now() }
    }

    /// Looks until this is so.
    fn until(&self, is_so: impl Fn(&FileStatus) -> bool) -> Seen {
        let began = Instant::now();
        loop {
            let seen = self.look();
            if is_so(&seen.status) {
                return seen;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", seen.status);
            thread::yield_now();
        }
    }
}

fn events(changes: &[Change]) -> Vec<Event> {
    changes.iter().map(|change| change.event).collect()
}

#[test]
fn who_asks_acquires_and_releases_is_seen() {
    let fixture = Fixture::new();
    let lock = fixture.file.mutex_options().patience(Duration::ZERO).open("build").unwrap();
    let (ada, bob) = (fixture.file.participant().unwrap(), fixture.file.participant().unwrap());
    let free = fixture.look();
    let guard = lock.lock_as(&ada).unwrap();
    let held = fixture.look();
    let acquired = between(&free, &held);
    assert!(events(&acquired).contains(&Event::Acquired), "{acquired:?}");
    assert_eq!(acquired[0].lock.as_deref(), Some("build"));
    let token = guard.fencing_token().to_string();
    assert_eq!(acquired[0].fencing_token.as_deref(), Some(&token[..]));
    assert!(at_first(&held.status).iter().any(|change| change.event == Event::Holds));
    thread::scope(|threads| {
        let waits = threads.spawn(|| drop(lock.lock_for_as(&bob, Duration::from_millis(300))));
        let asked = fixture.until(|status| !status.locks[0].queue.is_empty());
        assert!(events(&between(&held, &asked)).contains(&Event::Asked));
        waits.join().unwrap();
        let left = between(&asked, &fixture.look());
        assert_eq!(events(&left), [Event::Left], "{left:?}");
        assert_eq!(left[0].participant.as_ref().map(|bob| bob.slot), Some(bob.slot()));
    });
    let before = fixture.look();
    drop(guard);
    let released = between(&before, &fixture.look());
    assert_eq!(events(&released)[0], Event::Released, "{released:?}");
    assert!(released[0].held_seconds.is_some_and(|held| held >= 0.3), "{released:?}");
}

#[test]
fn what_came_and_went_between_two_looks_is_counted() {
    let fixture = Fixture::new();
    let lock = fixture.file.mutex("build").unwrap();
    let ada = fixture.file.participant().unwrap();
    drop(lock.lock_as(&ada).unwrap());
    let before = fixture.look();
    for _ in 0..41 {
        drop(lock.lock_as(&ada).unwrap());
    }
    let guard = lock.lock_as(&ada).unwrap();
    let changes = between(&before, &fixture.look());
    let unseen = changes.iter().find(|change| change.event == Event::Unseen);
    assert_eq!(unseen.and_then(|unseen| unseen.acquisitions), Some(41), "{changes:?}");
    drop(guard);
}

#[test]
fn an_upgrade_is_one_acquisition_that_goes_on() {
    let fixture = Fixture::new();
    let lock = fixture.file.rwlock("cache").unwrap();
    let reader = lock.upgradable().unwrap();
    let before = fixture.look();
    let writer = reader.upgrade().unwrap();
    let between_them = fixture.look();
    let changes = between(&before, &between_them);
    assert!(events(&changes).contains(&Event::Changed), "{changes:?}");
    assert!(!events(&changes).contains(&Event::Released), "{changes:?}");
    let reader = writer.downgrade().unwrap();
    assert!(events(&between(&between_them, &fixture.look())).contains(&Event::Changed));
    drop(reader);
}

#[test]
fn a_holder_that_died_is_told_with_the_lock_that_it_held() {
    let fixture = Fixture::new();
    let lock = fixture.file.mutex("build").unwrap();
    let doomed = fixture.file.participant().unwrap();
    let slot = doomed.slot();
    std::mem::forget(lock.lock_as(&doomed).unwrap());
    let held = fixture.look();
    // As a death: its byte lock goes, and what it held stays.
    drop(doomed);
    let ada = fixture.file.participant().unwrap();
    let guard = lock.lock_as(&ada).unwrap();
    let changes = between(&held, &fixture.look());
    let died = changes.iter().find(|change| change.event == Event::Died).expect("a death");
    assert_eq!(
        (died.lock.as_deref(), died.participant.as_ref().map(|one| one.slot)),
        (Some("build"), Some(slot))
    );
    assert!(changes.iter().any(|change| change.state == Some("inconsistent")), "{changes:?}");
    assert!(!events(&changes).contains(&Event::Released), "{changes:?}");
    drop(guard);
}

#[test]
fn locks_and_participants_come_and_go() {
    let fixture = Fixture::new();
    let before = fixture.look();
    let ada = fixture.file.participant().unwrap();
    drop(fixture.file.mutex("build").unwrap());
    let made = fixture.look();
    let changes = between(&before, &made);
    let came = |slot| {
        changes.iter().any(|change| {
            change.event == Event::Attached && change.participant.as_ref().is_some_and(|one| one.slot == slot)
        })
    };
    assert!(came(ada.slot()), "{changes:?}");
    assert_eq!(events(&changes).last(), Some(&Event::LockCreated));
    fixture.file.remove_lock("build").unwrap();
    drop(ada);
    let gone = events(&between(&made, &fixture.look()));
    assert!(gone.contains(&Event::LockRemoved) && gone.contains(&Event::Detached), "{gone:?}");
}
