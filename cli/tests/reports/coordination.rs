//! What is said of conditions, events, barriers and onces, of groups and of circular waits.

use super::{
    report::words,
    trace::{moments, parse, slices_of, well_formed},
    *,
};
use turnlock::inspect::{self, Event};

/// A lock file in which each of them was used.
fn scene(path: &std::path::Path) {
    let file = LockFile::options().recorded_events(1024).label("worker").open(path).unwrap();
    let (mutex, changed) = (file.mutex("data").unwrap(), file.condition("changed").unwrap());
    let (ready, stage) = (file.event("ready").unwrap(), file.barrier("stage", 2).unwrap());
    let (schema, group) = (file.once("schema").unwrap(), file.group_lock("rooms").unwrap());
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| {
            let mut guard = mutex.lock().unwrap();
            changed.wait(&mut guard).unwrap();
            guard.unlock().unwrap();
            ready.wait().unwrap();
            stage.wait().unwrap();
        });
        until_waiting(path, "changed", 1);
        let guard = mutex.lock().unwrap();
        changed.notify_one().unwrap();
        guard.unlock().unwrap();
        until_waiting(path, "ready", 1);
        ready.set().unwrap();
        until_waiting(path, "stage", 1);
        assert!(stage.wait().unwrap());
        support::join(waiter);
    });
    assert!(stage.wait_for(Duration::from_millis(5)).is_err());
    drop(schema.begin().unwrap().unwrap());
    schema.begin().unwrap().unwrap().complete().unwrap();
    drop(group.lock(4711).unwrap());
}

fn with<R>(then: impl FnOnce(&str) -> R) -> R {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("a.lock");
    scene(&path);
    then(path.to_str().unwrap())
}

#[test]
fn the_trace_has_their_waits_as_slices_and_the_rest_as_moments() {
    with(|path| {
        let text = printed(turnlock(&["trace", path]));
        well_formed(&text);
        let events = parse(&text);
        for (name, outcomes) in [
            ("changed", &["woken"][..]),
            ("ready", &["woken"]),
            ("stage", &["woken", "woken", "timed out"]),
            ("rooms", &["acquired"]),
        ] {
            let waits: Vec<_> = slices_of(&events, "wait", name);
            let mut told: Vec<&str> =
                waits.iter().map(|begin| begin["args"]["outcome"].as_str().unwrap()).collect();
            told.sort_by_key(|outcome| *outcome == "timed out");
            assert_eq!(told, outcomes, "{name}");
        }
        assert_eq!(slices_of(&events, "wait", "rooms")[0]["args"]["group"], "4711");
        // The hold before the wait at the condition ends where that begins, so that both have room on one track.
        let (data, changed) = (slices_of(&events, "hold", "data"), slices_of(&events, "wait", "changed"));
        assert!(data.iter().any(|hold| hold["tid"] == changed[0]["tid"]), "{data:?} {changed:?}");
        let count = |what: &str| moments(&events, what).len();
        let seen = inspect::recording(path).unwrap().unwrap();
        for event in Event::ALL {
            use Event::{Acquired, Asked, AskedInGroup, Attached, Detached, Released, WaitBegan, Woken};
            let is_slice = [Acquired, Asked, AskedInGroup, Attached, Detached, Released, WaitBegan, Woken];
            let recorded = seen.events.iter().filter(|one| one.event == event).count();
            let expected = if is_slice.contains(&event) { 0 } else { recorded };
            assert_eq!(count(event.name()), expected, "{event:?}");
        }
        let completed = moments(&events, "completed");
        assert_eq!(
            (&completed[0]["args"]["generation"], &completed[0]["args"]["count"]),
            (&0.into(), &2.into())
        );
        assert!(moments(&events, "notified")[0]["args"]["by"].as_str().unwrap().starts_with("worker"));
    });
}

#[test]
fn the_report_counts_what_happened_there() {
    with(|path| {
        let page = printed(turnlock(&["report", path]));
        let words = words(&page);
        let squeezed = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed.contains("At conditions, events, barriers and onces"), "{squeezed}");
        for part in [
            "notify one (1 notified)",
            "wait began (unlocks data)",
            "arrived (generation 0, 2 arrived)",
            "broken by giving up (generation 1, 1 arrived)",
            "asked in group (shared, group 4711)",
            "run began",
            "not done",
        ] {
            assert!(squeezed.contains(part), "{part}: {squeezed}");
        }
        let row = |name: &str| {
            let table = page.split("At conditions, events, barriers and onces").nth(3).unwrap();
            let row = table.split("<tr>").find(|row| row.contains(&format!("{name} ("))).unwrap();
            let cells = row
                .split("<td")
                .skip(1)
                .map(|cell| cell.split_once('>').unwrap().1.split('<').next().unwrap().to_owned());
            cells.collect::<Vec<String>>()
        };
        // Waits that ended well; timed out, gave up, waiting now, notified, passed on, set, generations, broken, done, not done, died.
        for (name, waits, counts) in [
            ("changed", "1", ["0", "0", "0", "1", "0", "0", "0", "0", "0", "0", "0"]),
            ("ready", "1", ["0", "0", "0", "0", "0", "1", "0", "0", "0", "0", "0"]),
            ("stage", "2", ["1", "0", "0", "0", "0", "0", "1", "1", "0", "0", "0"]),
            ("schema", "0", ["0", "0", "0", "0", "0", "0", "0", "0", "1", "1", "0"]),
        ] {
            let row = row(name);
            let (last, first) = (&row[row.len() - 11..], &row[row.len() - 15]);
            assert_eq!((last, first.as_str()), (&counts.map(String::from)[..], waits), "{name}: {row:?}");
        }
    });
}

/// Of a file in which locks alone are used, nothing is said of the others.
#[test]
fn a_report_of_locks_alone_has_no_such_table() {
    Scene::with(|scene| {
        let page = scene.printed(&["report"]);
        assert!(!page.contains("At conditions, events, barriers and onces"));
    });
}
