//! `turnlock trace`, read as Perfetto's importer does.

use super::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use turnlock::inspect::{self, Event};

/// A wait or a hold.
#[derive(Clone, Debug)]
struct Slice {
    track: (u64, u64),
    name: String,
    cat: String,
    from: f64,
    to: f64,
    begin: Value,
}

/// The events of a trace.
pub fn parse(text: &str) -> Vec<Value> {
    let trace: Value = serde_json::from_str(text).unwrap();
    assert_eq!(trace["displayTimeUnit"], "ns");
    let events = trace["traceEvents"].as_array().unwrap();
    for event in events {
        assert!(event["name"].is_string() && event["cat"].is_string(), "{event}");
        assert!(event["ts"].is_number() && event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
        assert!(event["pid"].as_u64().unwrap() <= u32::MAX.into(), "{event}");
        let phase = event["ph"].as_str().unwrap();
        assert!(["B", "E", "i", "C", "M"].contains(&phase), "{event}");
        assert_eq!(event["s"].is_string(), phase == "i", "{event}");
    }
    events.clone()
}

/// The slices, by the rules of the format: sorted by their times (those of one time stay in their order), an E ends the last B
/// of its track that is open, and none is left.
fn slices(events: &[Value]) -> Result<Vec<Slice>, String> {
    let mut sorted: Vec<&Value> =
        events.iter().filter(|event| ["B", "E"].contains(&event["ph"].as_str().unwrap())).collect();
    sorted.sort_by(|one, other| one["ts"].as_f64().unwrap().total_cmp(&other["ts"].as_f64().unwrap()));
    let mut open: BTreeMap<(u64, u64), Vec<Slice>> = BTreeMap::new();
    let mut found = Vec::new();
    for event in sorted {
        let track = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let [name, cat] = ["name", "cat"].map(|field| event[field].as_str().unwrap().to_owned());
        let at = event["ts"].as_f64().unwrap();
        let open = open.entry(track).or_default();
        if event["ph"] == "B" {
            open.push(Slice { track, name, cat, from: at, to: at, begin: event.clone() });
        } else {
            let slice = open.pop().ok_or(format!("ends what did not begin: {event}"))?;
            if (&slice.name, &slice.cat) != (&name, &cat) {
                return Err(format!("{} ends in {}: {event}", name, slice.name));
            }
            found.push(Slice { to: at, ..slice });
        }
    }
    let left: Vec<Slice> = open.into_values().flatten().collect();
    if left.is_empty() { Ok(found) } else { Err(format!("they never end: {left:?}")) }
}

/// Whether a trace is one that the format allows.
pub fn well_formed(text: &str) {
    slices(&parse(text)).unwrap();
}

/// What a participant is called that has these numbers.
fn names(events: &[Value], what: &str) -> BTreeMap<(u64, u64), String> {
    let named = events.iter().filter(|event| event["ph"] == "M" && event["name"] == what);
    named
        .map(|event| {
            let place = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            (place, event["args"]["name"].as_str().unwrap().to_owned())
        })
        .collect()
}

fn of<'a>(slices: &'a [Slice], cat: &str, lock: &str) -> Vec<&'a Slice> {
    let mut found: Vec<&Slice> =
        slices.iter().filter(|slice| slice.cat == cat && slice.begin["args"]["lock"] == lock).collect();
    found.sort_by(|one, other| one.from.total_cmp(&other.from));
    found
}

/// The beginnings of the slices of this kind at a lock.
pub fn slices_of(events: &[Value], cat: &str, lock: &str) -> Vec<Value> {
    let slices = slices(events).unwrap();
    of(&slices, cat, lock).into_iter().map(|slice| slice.begin.clone()).collect()
}

/// The moments of this kind.
pub fn moments<'a>(events: &'a [Value], cat: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == "i" && event["cat"] == cat).collect()
}

#[test]
fn waits_and_holds_are_slices_of_their_threads() {
    Scene::with(|scene| {
        let text = scene.printed(&["trace"]);
        let recording = inspect::recording(&scene.path).unwrap().unwrap();
        let events = parse(&text);
        let slices = slices(&events).unwrap();
        let count = |wanted: Event| recording.events.iter().filter(|event| event.event == wanted).count();
        let all = |cat: &str| slices.iter().filter(|slice| slice.cat == cat).count();
        assert_eq!((all("hold"), all("wait")), (count(Event::Acquired), count(Event::Asked)));

        // The lock went from one to the other, which had waited for it, with the tokens that they were given.
        let holds = of(&slices, "hold", NASTY);
        let tokens: Vec<&Value> = holds.iter().map(|slice| &slice.begin["args"]["fencing_token"]).collect();
        assert_eq!(
            tokens,
            scene.handed_on.map(|token| Value::from(token.to_string())).iter().collect::<Vec<_>>()
        );
        assert!(
            holds.iter().all(|slice| slice.name == NASTY && slice.begin["args"]["outcome"] == "released")
        );
        let waits = of(&slices, "wait", NASTY);
        let outcomes: Vec<&str> =
            waits.iter().map(|slice| slice.begin["args"]["outcome"].as_str().unwrap()).collect();
        assert_eq!(outcomes, ["acquired", "would block", "timed out", "acquired"]);
        assert!(waits[2].to - waits[2].from >= 5000.0, "in microseconds: {:?}", waits[2]);
        assert!(waits[3].from < holds[0].to && waits[3].to == holds[1].from && holds[0].to <= holds[1].from);
        assert_eq!(waits[3].track, holds[1].track);

        // By an arrow, and only there.
        let [from, to] = [holds[0], holds[1]].map(|slice| &slice.begin);
        assert!(from["bind_id"].is_string() && from["bind_id"] == to["bind_id"], "{from} {to}");
        assert_eq!((&from["flow_out"], &to["flow_in"]), (&Value::Bool(true), &Value::Bool(true)));
        assert_eq!((&from["flow_in"], &to["flow_out"]), (&Value::Null, &Value::Null));
        assert_eq!(events.iter().filter(|event| event["bind_id"].is_string()).count(), 2);

        // What goes on is there until now.
        let last = slices.iter().map(|slice| slice.to).fold(0.0, f64::max);
        for (cat, thread) in [("hold", "one"), ("wait", "patient")] {
            let open = of(&slices, cat, "open");
            let open = open.last().unwrap();
            assert_eq!((&open.begin["args"]["outcome"], open.to), (&"under way".into(), last), "{open:?}");
            assert_eq!(names(&events, "thread_name")[&open.track], thread);
        }
        let waiter = u64::from(scene.waiter.id());
        assert_eq!(of(&slices, "wait", "open").last().unwrap().track, (waiter, waiter));
        assert_eq!(names(&events, "process_name")[&(waiter, waiter)], "patient");

        assert!(of(&slices, "hold", "readers").iter().all(|slice| slice.begin["args"]["shared"] == true));
        assert_eq!(of(&slices, "hold", "deadly")[0].begin["args"]["outcome"], "died");
    });
}

#[test]
fn what_is_no_slice_is_a_moment_or_a_counter() {
    Scene::with(|scene| {
        let events = parse(&scene.printed(&["trace"]));
        let moments = |cat: &str| moments(&events, cat);
        let locks = |cat: &str| -> BTreeSet<&str> {
            moments(cat).iter().map(|event| event["args"]["lock"].as_str().unwrap()).collect()
        };
        assert_eq!(locks("created"), BTreeSet::from(["first", "second", NASTY, "readers", "deadly", "open"]));
        assert_eq!((locks("died"), locks("recovered")), (["deadly"].into(), ["deadly"].into()));
        assert_eq!((locks("timed_out"), locks("would_block")), ([NASTY].into(), [NASTY].into()));
        assert_eq!(moments("died")[0]["args"]["fencing_token"], {
            let slices = slices(&events).unwrap();
            of(&slices, "hold", "deadly")[0].begin["args"]["fencing_token"].clone()
        });

        let mut counters: BTreeMap<&str, Vec<[i64; 2]>> = BTreeMap::new();
        let mut last = BTreeMap::new();
        for event in events.iter().filter(|event| event["ph"] == "C") {
            let name = event["name"].as_str().unwrap();
            let at = event["ts"].as_f64().unwrap();
            assert!(last.insert(name, at).is_none_or(|before| before < at), "{event}");
            let values = ["waiting", "holding"].map(|which| event["args"][which].as_i64().unwrap());
            counters.entry(name).or_default().push(values);
        }
        assert!(counters.values().flatten().flatten().all(|value| *value >= 0), "{counters:?}");
        // None wait and none hold at the end, but at the one that is in use.
        for (lock, values) in &counters {
            let end = if *lock == "open" { [1, 1] } else { [0, 0] };
            assert_eq!(*values.last().unwrap(), end, "{lock}");
        }
        assert!(counters["readers"].contains(&[0, 2]), "{counters:?}");
    });
}

#[test]
fn holds_that_overlap_are_on_tracks_of_their_own() {
    Scene::with(|scene| {
        let events = parse(&scene.printed(&["trace"]));
        let slices = slices(&events).unwrap();
        let [first, second] = ["first", "second"].map(|lock| of(&slices, "hold", lock)[0].clone());
        assert!(first.from < second.from && second.from < first.to && first.to < second.to);
        assert!(first.track.0 == second.track.0 && first.track.1 != second.track.1);
        let threads = names(&events, "thread_name");
        assert!(threads[&second.track].starts_with(&threads[&first.track]), "{threads:?}");
        assert_ne!(threads[&second.track], threads[&first.track]);
    });
}

/// Each by a process of its own, one after the other; those of another label beside them.
#[test]
fn commands_of_one_label_that_follow_each_other_share_a_track() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("commands.lock");
    LockFile::options().recorded_events(4096).open(&path).unwrap();
    let run = |label: &str| {
        let words = ["run", "--lock", "jobs", "--label", label, path.to_str().unwrap(), "true"];
        printed(turnlock(&words));
    };
    for _ in 0..3 {
        run("import");
        run("export");
    }
    let events = parse(&printed(turnlock(&["trace", path.to_str().unwrap()])));
    let slices = slices(&events).unwrap();
    let holds = of(&slices, "hold", "jobs");
    assert_eq!(holds.len(), 6);
    let tracks: BTreeSet<(u64, u64)> = holds.iter().map(|slice| slice.track).collect();
    assert_eq!(tracks.len(), 2, "{holds:?}");
    let whose: BTreeSet<&str> =
        holds.iter().map(|slice| slice.begin["args"]["by"].as_str().unwrap()).collect();
    assert_eq!(whose.len(), 6, "each process is named: {whose:?}");
    let threads = names(&events, "thread_name");
    assert!(
        holds
            .iter()
            .all(|slice| slice.begin["args"]["by"].as_str().unwrap().starts_with(&threads[&slice.track]))
    );
}

/// The reader above would notice.
#[test]
fn slices_that_are_not_inside_each_other_are_noticed() {
    Scene::with(|scene| {
        let events = parse(&scene.printed(&["trace"]));
        let mut one_track = events.clone();
        one_track.iter_mut().for_each(|event| event["tid"] = event["pid"].clone());
        assert!(slices(&one_track).is_err());
        let without_ends: Vec<Value> = events.into_iter().filter(|event| event["ph"] != "E").collect();
        assert!(slices(&without_ends).is_err());
    });
}

#[test]
fn what_began_before_the_first_event_is_drawn_from_there() {
    let (_folder, path) = overwritten();
    let text = printed(turnlock(&["trace", path.to_str().unwrap()]));
    let (events, trace) = (parse(&text), serde_json::from_str::<Value>(&text).unwrap());
    let slices = slices(&events).unwrap();
    let outer = of(&slices, "hold", "outer");
    assert_eq!((outer.len(), of(&slices, "wait", "outer").len()), (1, 0));
    assert!(outer[0].begin["args"]["began"].is_string(), "{:?}", outer[0]);
    let first = events.iter().filter(|event| event["ph"] != "M").map(|event| event["ts"].as_f64().unwrap());
    assert_eq!(outer[0].from, first.fold(f64::MAX, f64::min));
    let about = &trace["otherData"]["files"][0];
    let recorded = about["events_recorded"].as_u64().unwrap();
    assert_eq!(about["events_forgotten"], recorded - 64);
    assert!(recorded > 600 && about["file"] == path.to_str().unwrap(), "{about}");
}

#[test]
fn several_files_come_into_one_trace() {
    let (_folder, path) = overwritten();
    Scene::with(|scene| {
        let both = printed(turnlock(&["trace", scene.path.to_str().unwrap(), path.to_str().unwrap()]));
        let events = parse(&both);
        let slices = slices(&events).unwrap();
        let files: BTreeSet<&str> =
            slices.iter().map(|slice| slice.begin["args"]["file"].as_str().unwrap()).collect();
        assert_eq!(files, BTreeSet::from([scene.path.to_str().unwrap(), path.to_str().unwrap()]));
        assert!(!of(&slices, "hold", "inner").is_empty() && !of(&slices, "hold", "readers").is_empty());
    });
}

/// A holder is killed. No participant has found it yet, and then one has.
#[test]
fn a_killed_holder_is_dead_before_and_after_it_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let file = LockFile::options().recorded_events(1000).open(&path).unwrap();
    let mut run = Command::new(TURNLOCK);
    run.args(["run", "--lock", "a", "--label", "victim", "--close"]).arg(&path);
    let mut run = run.args(["sh", "-c", "exec sleep 60"]).stdin(Stdio::null()).spawn().unwrap();
    let holders = || inspect::snapshot(&path).unwrap().locks.first().map_or(0, |lock| lock.holders.len());
    support::until("it holds", || holders() == 1);
    let children = limit::output(Command::new("pgrep").args(["-P", &run.id().to_string()])).unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
    for child in String::from_utf8(children.stdout).unwrap().split_whitespace() {
        let _ = limit::status(Command::new("kill").args(["-9", child]));
    }
    let outcome = || {
        let events = parse(&printed(turnlock(&["trace", path.to_str().unwrap()])));
        let slices = slices(&events).unwrap();
        let died = events.iter().any(|event| event["cat"] == "died");
        (of(&slices, "hold", "a")[0].begin["args"]["outcome"].as_str().unwrap().to_owned(), died)
    };
    support::until("it is dead", || outcome().0 == "dead, and not found yet");
    drop(file.mutex("a").unwrap().lock().unwrap());
    assert_eq!(outcome(), ("died".into(), true));
}

/// It holds the lock throughout: one slice begins where the other one ends.
#[test]
fn an_upgrade_and_a_downgrade_are_seen_without_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let file = LockFile::options().recorded_events(1000).open(&path).unwrap();
    let rwlock = file.rwlock("a").unwrap();
    let reader = file.participant().unwrap();
    let reads = rwlock.read_as(&reader).unwrap();
    let refused = rwlock.upgradable().unwrap().try_upgrade().err().unwrap();
    drop(reads);
    drop(refused.guard.upgrade().unwrap().downgrade().unwrap());
    let events = parse(&printed(turnlock(&["trace", path.to_str().unwrap()])));
    let slices = slices(&events).unwrap();
    let mut holds = of(&slices, "hold", "a");
    let outcome = |slice: &&Slice| slice.begin["args"]["outcome"].as_str().unwrap().to_owned();
    // Without the other reader's.
    let track = holds.iter().find(|slice| outcome(slice) == "upgraded").unwrap().track;
    holds.retain(|slice| slice.track == track);
    assert_eq!(holds.iter().map(outcome).collect::<Vec<_>>(), ["upgraded", "downgraded", "released"]);
    assert!(holds.windows(2).all(|pair| pair[0].to == pair[1].from), "{holds:?}");
    let shared: Vec<&Value> = holds.iter().map(|slice| &slice.begin["args"]["shared"]).collect();
    assert_eq!(shared, [true, false, true]);
    let mut waits = of(&slices, "wait", "a");
    waits.retain(|slice| slice.track == track);
    assert_eq!(waits.iter().map(outcome).collect::<Vec<_>>(), ["acquired", "would block", "acquired"]);
    assert_eq!(waits[2].to, holds[1].from);
}
