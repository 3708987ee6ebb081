//! `turnlock status` on a screen: 80 columns, one lock, again and again, and what its words mean.

use super::{growing::with_everything, *};
use std::io::{BufRead, Read};

#[test]
fn every_line_fits_80_columns_whatever_people_call_themselves() {
    let fixture = new_fixture();
    with_everything(&fixture);
    let label = "a label of sixty-three bytes, which is as many as there may be.";
    assert_eq!(label.len(), 63);
    let _holder = fixture.hold(&["--lock", "cache", "-s", "--label", label]);
    let mut waiter =
        fixture.command("run", &["--lock", "cache", "-x", "--label", label]).arg("true").spawn().unwrap();
    until("it waits", || json_of(&fixture, "status").to_string().contains("\"queued\""));
    for options in [&["--all"][..], &["--glossary"], &["--lock", "cache"]] {
        let shown = text(&fixture.turnlock("status", options));
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }
    waiter.kill().unwrap();
    waiter.wait().unwrap();
}

#[test]
fn words_are_explained_where_they_are_used() {
    let fixture = new_fixture();
    assert_eq!(fixture.run(&["--lock", "plain", "--on-death", "inform"], &["true"]), Some(0));
    let explained = |options: &[&str]| -> Vec<String> {
        let shown = text(&fixture.turnlock("status", options)).replace("\n    ", " ");
        let last = shown.rsplit("\n\n").next().unwrap().to_owned();
        last.lines()
            .filter_map(|line| Some(line.strip_prefix("  ")?.split_once(": ")?.0.to_owned()))
            .collect()
    };
    assert_eq!(explained(&["--glossary"]), ["slot", "fencing token", "patience"]);
    assert_eq!(explained(&[]), [] as [&str; 0]);
    with_everything(&new_fixture());
    assert_eq!(fixture.run(&["--lock", "sad"], &["sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(fixture.run(&["--lock", "turns", "--algorithm", "raynal"], &["true"]), Some(0));
    let all = explained(&["--glossary"]);
    assert_eq!(all, ["slot", "fencing token", "patience", "in turn", "a death releases it", "owner dead"]);
    assert_eq!(explained(&["--glossary", "--lock", "plain"]), ["slot", "fencing token", "patience"]);
}

#[test]
fn one_lock_alone() {
    let fixture = new_fixture();
    for lock in ["a", "b"] {
        assert_eq!(fixture.run(&["--lock", lock], &["true"]), Some(0));
    }
    let one = text(&fixture.turnlock("status", &["--lock", "b"]));
    assert!(
        one.contains(" 2 of 64 locks\n") && one.contains("\nb (mutex") && !one.contains("\na (mutex"),
        "{one}"
    );
    let one = json(&fixture.turnlock("status", &["-l", "a", "--json"]));
    assert_eq!(one["locks"].as_array().unwrap().len(), 1);
    let none = fixture.turnlock("status", &["--lock", "c"]);
    assert_eq!(none.status.code(), Some(66));
    assert!(errors(&none).contains("nothing called \"c\""), "{}", errors(&none));
}

#[test]
fn watching_shows_it_again_and_again_until_the_reader_goes() {
    let fixture = new_fixture();
    assert_eq!(fixture.run(&[], &["true"]), Some(0));
    let mut watch = fixture.command("status", &["--watch=0.05", "--json"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap());
    let mut look = || {
        let line = limit::line(&mut lines, &mut watch).unwrap();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()
    };
    assert_eq!(look()["locks"][0]["holders"], serde_json::json!([]));
    let holder = fixture.hold(&["--label", "seen"]);
    until("it is seen", || look()["locks"][0]["holders"][0]["label"] == "seen");
    drop(holder);
    drop(lines);
    assert_eq!(
        limit::end_of(&mut watch, "status --watch").code(),
        Some(0),
        "a reader that has read enough is no error"
    );

    let mut watch = fixture.command("status", &["--watch=0.05"]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.contains("test.lock: "), "no screen is cleared in a pipe: {line:?}");
    std::fs::remove_file(&fixture.file).unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(limit::end_of(&mut watch, "status --watch").code(), Some(66));
}

#[test]
fn a_deadlock_is_shown_with_what_each_holds_and_waits_for() {
    let fixture = new_fixture();
    assert_eq!(fixture.run(&["--lock", "beside"], &["true"]), Some(0));
    let shown = |options: &[&str]| {
        let said = text(&fixture.turnlock("status", options));
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(shown(&["--deadlocks"]).contains(": no deadlock"), "{}", shown(&["--deadlocks"]));
    with_deadlock(&fixture, || {
        let said = shown(&["--deadlocks"]);
        assert!(said.contains("deadlock: each waits for what the next one has"), "{said}");
        assert!(said.contains("holds \"a\" and has waited for \"b\" for"), "{said}");
        assert!(said.contains("holds \"b\" and has waited for \"a\" for"), "{said}");
        assert!(!said.contains("beside"), "{said}");
        assert!(
            shown(&[]).contains("holds \"a\" and has waited for \"b\" for") && shown(&[]).contains("beside")
        );
        let seen = json(&fixture.turnlock("status", &["--deadlocks", "--json"]));
        let names: Vec<&str> =
            seen["locks"].as_array().unwrap().iter().map(|lock| lock["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "b"]);
        let circle = seen["deadlocks"][0]["participants"].as_array().unwrap();
        assert_eq!(circle.len(), 2);
        for one in circle {
            assert_eq!(one["pid"], std::process::id());
            assert_ne!(one["holds"]["lock"], one["waits_for"]["lock"]);
            assert!(one["holds"]["fencing_token"].is_string() && one["waits_for"]["fencing_token"].is_null());
        }
        assert_ne!(circle[0]["thread"], circle[1]["thread"]);
        let beside = json(&fixture.turnlock("status", &["--lock", "beside", "--json"]));
        assert_eq!(beside["deadlocks"].as_array().unwrap().len(), 0);
    });
}

#[test]
fn a_linked_lock_says_whether_it_is_home() {
    let fixture = new_fixture();
    let file = turnlock::LockFile::open(&fixture.file).unwrap();
    let mutex = file.mutex_options().linked(true).open("accounts").unwrap();
    let shown = || {
        // A line that is longer than 80 columns goes on in the next one.
        let shown = text(&fixture.turnlock("status", &[])).replace("\n        ", " ");
        shown.lines().find(|line| line.starts_with("accounts")).unwrap().to_owned()
    };
    assert!(shown().contains(", linked): away, no agent is attached, last fencing token"), "{}", shown());
    let agent = file.link_agent("agent").unwrap();
    let linked = agent.attach(&mutex).unwrap();
    assert!(shown().contains(", linked): away, last fencing token"), "{}", shown());
    let first = linked.last_token() + 1;
    linked.bring_home(first..=first, linked.data()).unwrap();
    assert!(shown().contains(", linked): free, last fencing token"), "{}", shown());
    let status = json(&fixture.turnlock("status", &["--json"]));
    schema::check("status", &status);
    let link = &status["locks"][0]["link"];
    assert_eq!(link["home"], true);
    assert_eq!((&link["agent"], &link["token_end"]), (&agent.slot().into(), &first.to_string().into()));
    drop(mutex.lock().unwrap());
    assert!(shown().contains("its reserved fencing tokens are used up"), "{}", shown());
    assert_eq!(fixture.run(&["--lock", "accounts", "--timeout", "0.01"], &["true"]), Some(1));
}
