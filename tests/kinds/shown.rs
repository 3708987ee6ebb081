//! What `{:?}` shows: names, in every kind.

use support::Place;
use turnlock::LockFile;

#[test]
fn locks_guards_and_participants_show_what_they_are_called() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let path = format!("{:?}", place.lock_file());
    assert_eq!(format!("{file:?}"), format!("LockFile {{ path: {path}, .. }}"));
    macro_rules! lock {
        ($lock:ident $open:ident) => {{
            let lock = file.$open("a lock's name").unwrap();
            let shown = format!("{lock:?}");
            assert_eq!(
                shown,
                format!("{} {{ name: \"a lock's name\", path: {path}, .. }}", stringify!($lock))
            );
            lock
        }};
    }
    let mutex = lock!(Mutex mutex);
    let guard = mutex.lock().unwrap();
    let shown = format!("{guard:?}");
    assert!(shown.starts_with("Guard { mutex: \"a lock's name\", acquired: Acquired { "), "{shown}");
    drop(guard);
    let participant = file.participant().unwrap();
    let shown = format!("{:?}", mutex.lock_as(&participant).unwrap());
    let slot = participant.slot();
    assert!(
        shown.contains(&format!("participant: Participant {{ path: {path}, slot: {slot}, .. }}")),
        "{shown}"
    );
    file.remove_lock("a lock's name").unwrap();
    assert!(format!("{mutex:?}").starts_with("Mutex { name: \"\", "), "{mutex:?}");
    drop(mutex);
    let rwlock = lock!(RwLock rwlock);
    let shown = format!("{:?}", rwlock.read().unwrap());
    assert!(shown.starts_with("Reading(Guard { "), "{shown}");
    drop(rwlock);
    let others = LockFile::open(place.at("other.lock")).unwrap();
    assert!(
        format!("{:?}", others.semaphore_options().permits(2).open("s").unwrap()).starts_with("Semaphore { ")
    );
    assert!(format!("{:?}", others.range_lock("r").unwrap()).starts_with("RangeLock { "));
    assert!(format!("{:?}", others.keyed_lock("k").unwrap()).starts_with("KeyedLock { "));
    assert!(format!("{:?}", others.turn_ring("t").unwrap()).starts_with("TurnRing { "));
    assert!(format!("{:?}", others.mutex_options()).starts_with("MutexOptions { "));
}
