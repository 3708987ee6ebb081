//! Readers and writers, permits, ranges, keys and groups, as a shell script takes them.

use super::*;

/// As the kernel ends a process that it has no memory for: `turnlock run`, and then its command.
pub fn kill_both(holder: &mut Child) {
    let commands = holder_command(holder.id());
    holder.kill().unwrap();
    assert_eq!(limit::end_of(holder, "the holder").signal(), Some(9));
    commands.into_iter().for_each(|pid| signal("KILL", pid));
}

pub const STAY: &str = "echo inside; exec sleep 60";
/// Whether it was told of a death.
pub const TOLD: [&str; 3] = ["sh", "-c", "echo $TURNLOCK_PREVIOUS_OWNER_DIED"];

impl Fixture {
    pub fn try_run(&self, options: &[&str]) -> Option<i32> {
        self.run(&[&["--try", "-E", "75"], options].concat(), &["true"]).status.code()
    }

    /// A `turnlock run` that waits, so that `waiters` do.
    pub fn wait(&self, options: &[&str], command: &[&str], waiters: usize) -> Child {
        let child = self.command("run", options, command).stdout(Stdio::piped()).spawn().unwrap();
        self.until_queued(waiters);
        child
    }
}

#[test]
fn readers_are_inside_together_and_a_killed_one_holds_up_no_writer() {
    let fixture = Fixture::new();
    let (mut one, _output) = fixture.hold(&["-s"], STAY);
    let (mut other, _other_output) = fixture.hold(&["--shared"], STAY);
    let status = fixture.status();
    assert_eq!(status["locks"][0]["kind"], "rwlock");
    let modes: Vec<_> = status["locks"][0]["holders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|holder| &holder["claim"]["mode"])
        .collect();
    assert_eq!(modes, ["shared", "shared"]);
    assert_eq!(fixture.try_run(&["-x"]), Some(75));
    assert_eq!(fixture.try_run(&[]), Some(75), "it takes what is there, exclusively");

    let mut writer = fixture.wait(&["-x", "--label", "writer"], &TOLD, 1);
    let text = fixture.status_text();
    assert!(text.contains("): 2 inside\n  - held (shared) for "), "{text}");
    assert!(
        text.contains("\n  1. writer, run by turnlock (pid ") && text.contains("\n     behind sh, run by "),
        "{text}"
    );
    kill_both(&mut one);
    // Its slot is dead, and the other one still reads.
    assert!(writer.try_wait().unwrap().is_none());
    kill_both(&mut other);
    assert_eq!(text_of(writer), "0\n", "a reader leaves nothing to repair");
    assert_eq!(fixture.try_run(&["-s"]), Some(0));
}

fn text_of(child: Child) -> String {
    let mut child = child;
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let line = limit::line(&mut output, &mut child).unwrap();
    assert!(limit::end_of(&mut child, "the command").success());
    line + "\n"
}

#[test]
fn readers_are_told_of_a_dead_writer_until_a_writer_repaired() {
    let fixture = Fixture::new();
    let (mut writer, _output) = fixture.hold(&["-x", "--on-death", "inform"], STAY);
    assert_eq!(fixture.try_run(&["-s"]), Some(75));
    kill_both(&mut writer);
    assert_eq!(text(&fixture.run(&["-s"], &TOLD)), "1\n");
    assert_eq!(text(&fixture.run(&["-s"], &TOLD)), "1\n", "it could repair nothing");
    assert!(fixture.status_text().contains("not yet marked consistent"), "{}", fixture.status_text());
    assert_eq!(text(&fixture.run(&["-x"], &TOLD)), "1\n");
    assert_eq!(text(&fixture.run(&["-s"], &TOLD)), "0\n", "the writer succeeded");
}

#[test]
fn so_many_permits_at_a_time_and_those_of_the_dead_come_back() {
    let fixture = Fixture::new();
    let (mut two, _output) = fixture.hold(&["--permits", "3", "--weight", "2"], STAY);
    let (mut one, _other_output) = fixture.hold(&["--permits", "3"], STAY);
    assert_eq!(fixture.try_run(&["--permits", "3"]), Some(75));
    let text = fixture.status_text();
    assert!(text.contains("default (semaphore, patience 1 ms): 3 of 3 permits taken\n"), "{text}");
    assert!(
        text.contains("\n  - held (2 permits) for ") && text.contains("\n  - held (1 permit) for "),
        "{text}"
    );
    kill_both(&mut two);
    assert_eq!(fixture.run(&["--permits", "3", "--weight", "2"], &TOLD).stdout, b"0\n");
    assert_eq!(fixture.try_run(&["--permits", "3", "--weight", "3"]), Some(75));
    assert_eq!(fixture.try_run(&[]), Some(75), "all of them");
    kill_both(&mut one);
    assert_eq!(fixture.run(&[], &TOLD).stdout, b"0\n");
    assert_eq!(fixture.status()["locks"][0]["permits"], 3);
    // It keeps what it has, and cannot give more.
    let more = fixture.run(&["--permits", "9", "--weight", "4"], &["true"]);
    assert_eq!(more.status.code(), Some(71));
    assert!(errors(&more).contains("1 to 3 can be had"), "{}", errors(&more));
}

#[test]
fn ranges_that_do_not_overlap_are_held_together() {
    let fixture = Fixture::new();
    let (mut first, _output) = fixture.hold(&["--range", "10-19", "--on-death", "inform"], STAY);
    let (mut second, _other_output) = fixture.hold(&["--range", "20-", "-s"], STAY);
    for (range, expected) in [("0-9", 0), ("9-10", 75), ("19", 75), ("20", 75), ("0-", 75)] {
        assert_eq!(fixture.try_run(&["--range", range]), Some(expected), "{range}");
    }
    assert_eq!(fixture.try_run(&["--range", "20-29", "--shared"]), Some(0));
    assert_eq!(fixture.try_run(&[]), Some(75), "the whole range");
    let text = fixture.status_text();
    assert!(text.contains("default (range lock, strict order): 2 inside\n  - held (10-19) for "), "{text}");
    assert!(text.contains("\n  - held (20-, shared) for "), "{text}");
    kill_both(&mut first);
    kill_both(&mut second);
    let told = |range: &str| super::text(&fixture.run(&["--range", range], &TOLD));
    assert_eq!(told("20-"), "0\n", "the reader left nothing");
    assert_eq!(told("19-20"), "1\n");
    let text = fixture.status_text();
    assert!(text.contains("not yet marked consistent\n    in 10-19\n"), "{text}");
    assert_eq!(told("0-19"), "1\n", "the one before had only a part of it");
    assert_eq!(told("0-19"), "0\n");
}

#[test]
fn keys_are_locked_apart() {
    let fixture = Fixture::new();
    let (mut ada, _output) = fixture.hold(&["--key", "ada"], STAY);
    assert_eq!(fixture.try_run(&["--key", "ada"]), Some(75));
    assert_eq!(fixture.try_run(&["--key", "ada", "-s"]), Some(75));
    assert_eq!(fixture.try_run(&["--key", "grace"]), Some(0));
    assert_eq!(fixture.try_run(&["--key", ""]), Some(0));
    let hash =
        fixture.status()["locks"][0]["holders"][0]["claim"]["part"]["key"].as_str().unwrap().to_owned();
    assert_eq!(hash, "a68d621eea8b5822836dbc7977a7585b", "FNV-1a of 128 bits");
    assert_eq!(fixture.status()["locks"][0]["holders"][0]["claim"]["key_beginning"], "ada");
    assert!(
        fixture.status_text().contains("): 1 inside\n  - held (key \"ada\", a68d621e…) for "),
        "{}",
        fixture.status_text()
    );
    let long = "x".repeat(60);
    let (mut other, _output) = fixture.hold(&["--key", &format!("\u{1b}[31m{long}")], STAY);
    let shown = fixture.status_text();
    assert!(shown.contains(r#"(key "\u{1b}[31mxxxxxxxxxxxxxxx…", "#), "{shown}");
    kill_both(&mut other);
    kill_both(&mut ada);
    let told = |key: &str| text(&fixture.run(&["--key", key], &TOLD));
    assert_eq!((told("grace"), told("ada"), told("ada")), ("0\n".into(), "1\n".into(), "0\n".into()));
    let all = fixture.run(&[], &["true"]);
    assert_eq!(all.status.code(), Some(66));
    assert!(errors(&all).contains("--key"), "{}", errors(&all));
}

#[test]
fn members_of_a_group_are_inside_together_and_keep_others_out() {
    let fixture = Fixture::new();
    let (mut one, _output) = fixture.hold(&["--in-group", "7"], STAY);
    assert_eq!(fixture.try_run(&["--in-group", "7"]), Some(0));
    assert_eq!(fixture.try_run(&["--in-group", "8"]), Some(75));
    let status = fixture.status();
    assert_eq!(status["locks"][0]["kind"], "group lock");
    assert_eq!(status["locks"][0]["holders"][0]["claim"]["part"]["group"], "7");
    assert!(fixture.status_text().contains("group 7"), "{}", fixture.status_text());
    // One of another group waits, and one that comes after it waits behind it.
    let other = fixture.wait(&["--in-group", "8"], &TOLD, 1);
    assert_eq!(fixture.try_run(&["--in-group", "7"]), Some(75));
    kill_both(&mut one);
    assert_eq!(text_of(other), "1\n", "whichever group the dead one was in");
    let told = |group: &str| text(&fixture.run(&["--in-group", group], &TOLD));
    assert_eq!(
        (told("7"), told("8")),
        ("0\n".into(), "0\n".into()),
        "it was repaired by a command that succeeded"
    );
    let all = fixture.run(&[], &["true"]);
    assert_eq!(all.status.code(), Some(66));
    assert!(errors(&all).contains("--in-group"), "{}", errors(&all));
}

#[test]
fn what_does_not_go_together_is_a_usage_error() {
    let fixture = Fixture::new();
    for options in [
        &["-s", "-x"][..],
        &["-s", "--permits", "2"],
        &["-x", "--permits", "2"],
        &["--permits", "0"],
        &["--permits", "4294967295"],
        &["--permits", "2", "--weight", "3"],
        &["--permits", "2", "--weight", "0"],
        &["--weight", "1"],
        &["--permits", "2", "--range", "1-2"],
        &["--permits", "2", "--key", "a"],
        &["--permits", "2", "--on-death", "inform"],
        &["--range", "1-2", "--key", "a"],
        &["--range", "2-1"],
        &["--range", "all"],
        &["--range", ""],
        &["--range", "1-2", "--patience", "0"],
        &["--key", "a", "--patience", "0"],
        &["--algorithm", "bakery", "-s"],
        &["--algorithm", "raynal", "-x"],
        &["--algorithm", "raynal", "--permits", "2"],
        &["--algorithm", "bakery", "--range", "1-2"],
        &["--algorithm", "bakery", "--key", "a"],
        &["--in-group", "1", "-s"],
        &["--in-group", "1", "--key", "a"],
        &["--in-group", "1", "--patience", "0"],
        &["--in-group", "first"],
    ] {
        let output = fixture.run(options, &["true"]);
        assert_eq!(output.status.code(), Some(64), "{options:?}: {}", errors(&output));
        assert!(errors(&output).starts_with("error: "), "{options:?}: {}", errors(&output));
    }
    assert!(!fixture.file.exists());
}

#[test]
fn a_lock_keeps_its_kind() {
    let fixture = Fixture::new();
    let kinds: [(&str, &[&str], &str); 7] = [
        ("m", &[], "mutex"),
        ("t", &["--algorithm", "raynal"], "ring"),
        ("x", &["-x"], "rwlock"),
        ("p", &["--permits", "2", "--patience", "0"], "semaphore"),
        ("r", &["--range", "0-9"], "range lock"),
        ("k", &["--key", "a"], "keyed lock"),
        ("g", &["--in-group", "1"], "group lock"),
    ];
    for (name, options, _) in kinds {
        assert_eq!(fixture.try_run(&[&["--lock", name], options].concat()), Some(0), "{name}");
    }
    let status = fixture.status();
    let named: Vec<_> = status["locks"].as_array().unwrap().iter().map(|lock| &lock["kind"]).collect();
    assert_eq!(named, kinds.map(|(_, _, kind)| kind));
    // With a plain run and -x each is taken exclusively; the others are for one kind, and -s for two.
    for (name, all, shared) in
        [("m", 0, 66), ("t", 0, 66), ("x", 0, 0), ("p", 0, 66), ("r", 0, 0), ("k", 66, 66), ("g", 66, 66)]
    {
        assert_eq!(fixture.try_run(&["--lock", name]), Some(all), "{name}");
        assert_eq!(fixture.try_run(&["--lock", name, "-x"]), Some(all), "{name}");
        assert_eq!(fixture.try_run(&["--lock", name, "-s"]), Some(shared), "{name}");
        for (other, options, _) in kinds.into_iter().filter(|(other, ..)| *other > "m" || *other == "k") {
            let expected = if other == name || other == "x" { Some(all) } else { Some(66) };
            let expected = if other == name { Some(0) } else { expected };
            assert_eq!(
                fixture.try_run(&[&["--lock", name], options].concat()),
                expected,
                "{name} {options:?}"
            );
        }
    }
    for (name, ..) in kinds {
        let remove = limit::output(fixture.command("remove-lock", &[], &[]).arg(name)).unwrap();
        assert!(remove.status.success(), "{name}: {}", errors(&remove));
        let reset = limit::output(&mut fixture.command("reset", &["--lock", name], &[])).unwrap();
        assert_eq!(reset.status.code(), Some(66), "{name}: it is gone");
    }
}

#[test]
fn each_kind_is_reset() {
    let fixture = Fixture::new();
    let reset = || limit::output(&mut fixture.command("reset", &["--lock", "a"], &[])).unwrap();
    for options in [&["-x"][..], &["--range", "5-6"], &["--key", "ada"], &["--in-group", "7"]] {
        let inform = [&["--lock", "a", "--on-death", "inform"], options].concat();
        assert_eq!(fixture.run(&inform, &["sh", "-c", "kill -9 $$"]).status.code(), Some(137));
        assert_eq!(fixture.status()["locks"][0]["state"], "inconsistent", "{options:?}");
        assert!(reset().status.success(), "{options:?}: {}", errors(&reset()));
        assert_eq!(fixture.status()["locks"][0]["state"], "consistent", "{options:?}");
        assert_eq!(text(&fixture.run(&inform, &TOLD)), "0\n", "{options:?}");
        assert!(limit::output(fixture.command("remove-lock", &[], &[]).arg("a")).unwrap().status.success());
    }
    assert_eq!(
        fixture.run(&["--lock", "a", "--permits", "1"], &["sh", "-c", "kill -9 $$"]).status.code(),
        Some(137)
    );
    assert!(reset().status.success(), "nothing is ever wrong with a semaphore");
    assert_eq!(fixture.try_run(&["--lock", "a", "--permits", "1"]), Some(0));
}

#[test]
fn a_run_inside_another_one_waits_only_for_what_it_can_get() {
    let fixture = Fixture::new();
    let inside = |outer: &[&str], inner: &[&str]| {
        let turnlock = env!("CARGO_BIN_EXE_turnlock");
        let file = fixture.file.to_str().unwrap();
        let command = [&[turnlock, "run"], inner, &[file, "true"]].concat();
        fixture.run(outer, &command)
    };
    let (ranges, keys, jobs) =
        (["--lock", "r", "--range"], ["--lock", "k", "--key"], ["--lock", "p", "--permits", "2"]);
    let with = |of: &[&'static str], what: &'static str| [of, &[what]].concat();
    // Another process holds what the inner one wants, and lets go of it by and by.
    let (mut other, _output) = fixture.hold(&with(&ranges, "20-29"), "echo inside; exec sleep 1");
    let apart = inside(&with(&ranges, "10-19"), &with(&ranges, "20-29"));
    assert_eq!(apart.status.code(), Some(0), "{}", errors(&apart));
    limit::end_of(&mut other, "the other one");
    assert_eq!(inside(&with(&keys, "a"), &with(&keys, "b")).status.code(), Some(0));
    assert_eq!(inside(&jobs, &jobs).status.code(), Some(0));
    assert_eq!(inside(&["-s"], &["-s"]).status.code(), Some(0));
    for (outer, inner) in [
        (with(&ranges, "10-19"), with(&ranges, "19-20")),
        (with(&keys, "a"), with(&keys, "a")),
        (jobs.to_vec(), [&jobs[..], &["--weight", "2"]].concat()),
        (vec!["-s"], vec!["-x"]),
    ] {
        let endless = inside(&outer, &inner);
        assert_eq!(endless.status.code(), Some(71), "{outer:?}: {}", errors(&endless));
        assert!(errors(&endless).contains("waiting would never end"), "{outer:?}: {}", errors(&endless));
    }
}

#[test]
fn lines_about_holders_and_waiters_fit_on_a_terminal() {
    let fixture = Fixture::new();
    let held: [&[&str]; 5] = [
        &["--lock", "cache", "-s"],
        &["--lock", "store", "--in-group", "1"],
        &["--lock", "jobs", "--permits", "16", "--weight", "12"],
        &["--lock", "rows", "--range", "1000-1999"],
        &["--lock", "users", "--key", "ada"],
    ];
    let mut all: Vec<_> = held.into_iter().map(|options| fixture.hold(options, STAY)).collect();
    let waiting: [&[&str]; 5] = [
        &["--lock", "cache", "-x"],
        &["--lock", "store", "--in-group", "18446744073709551615"],
        &["--lock", "jobs", "--permits", "16", "--weight", "12"],
        &["--lock", "rows", "--range", "1500-2500"],
        &["--lock", "users", "--key", "ada"],
    ];
    let mut waiters: Vec<_> = waiting
        .into_iter()
        .map(|options| fixture.command("run", options, &["true"]).spawn().unwrap())
        .collect();
    fixture.until(|status| {
        let locks = status["locks"].as_array().unwrap();
        locks.iter().filter(|lock| lock["queue"][0]["state"] == "queued").count() == 5
    });
    let status = fixture.status_text();
    assert!(status.contains("\n     12 permits, behind sh, run by turnlock (pid "), "{status}");
    assert!(status.contains("\n     1500-2500, behind sh, run by turnlock (pid "), "{status}");
    for line in status.lines().skip(1) {
        assert!(line.chars().count() <= 80, "{line}\nof\n{status}");
    }
    for (holder, _output) in &mut all {
        kill_both(holder);
    }
    for waiter in &mut waiters {
        assert!(limit::end_of(waiter, "a waiter").success());
    }
}

/// Every name of a field in it.
fn fields(json: &serde_json::Value, into: &mut std::collections::BTreeSet<String>) {
    match json {
        serde_json::Value::Object(fields_of_it) => {
            for (name, value) in fields_of_it {
                into.insert(name.clone());
                fields(value, into);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| fields(value, into)),
        _ => {}
    }
}

#[test]
fn the_page_about_status_has_every_field_of_its_json() {
    let fixture = Fixture::new();
    // The first, so that the file has mailboxes.
    for (lock, algorithm) in [("mesh", "ricart-agrawala"), ("misra", "token-ring")] {
        let by_messages = ["--lock", lock, "--algorithm", algorithm];
        assert!(fixture.run(&by_messages, &["true"]).status.success());
    }
    let dies = ["sh", "-c", "kill -9 $$"];
    for options in [&["--range", "5-6"][..], &["--key", "ada"]] {
        let name = options[0].trim_start_matches('-');
        let inform = [&["--lock", name, "--on-death", "inform"], options].concat();
        assert_eq!(fixture.run(&inform, &dies).status.code(), Some(137));
    }
    let all: [&[&str]; 5] = [
        &["--lock", "jobs", "--permits", "1"],
        &["--lock", "range", "--range", "7-8"],
        &["--lock", "key", "--key", "grace"],
        &["--lock", "cache", "-x"],
        &["--lock", "store", "--in-group", "7"],
    ];
    let mut held: Vec<_> = all.into_iter().map(|options| fixture.hold(options, STAY)).collect();
    let mut waiter = fixture.command("run", all[0], &["true"]).spawn().unwrap();
    let file = turnlock::LockFile::open(&fixture.file).unwrap();
    drop((file.condition("changed").unwrap(), file.event("ready").unwrap(), file.once("schema").unwrap()));
    file.barrier("stage", 2).unwrap().abort().unwrap();
    file.mutex_options().linked(true).open("accounts").unwrap();
    let mut status = serde_json::Value::Null;
    let is_deadlock_seen = || fixture.status()["deadlocks"][0].is_object();
    support::deadlock::with_deadlock(&fixture.file, is_deadlock_seen, || {
        status = fixture.until(|status| {
            let is_waited_for =
                |lock: &serde_json::Value| lock["name"] == "jobs" && lock["queue"][0].is_object();
            status["locks"].as_array().unwrap().iter().any(is_waited_for)
        });
    });
    for (holder, _output) in &mut held {
        kill_both(holder);
    }
    assert!(limit::end_of(&mut waiter, "the waiter").success());

    let mut printed = std::collections::BTreeSet::new();
    fields(&status, &mut printed);
    let table = include_str!("../../../docs/status.md").split("## JSON").nth(1).unwrap();
    let documented: std::collections::BTreeSet<String> =
        table.split('`').skip(1).step_by(2).map(String::from).filter(|word| word != "false").collect();
    assert_eq!(printed, documented);
}

#[test]
fn the_default_lock_is_taken_shared_and_exclusively_in_any_order() {
    for first in [&[][..], &["-s"], &["-x"]] {
        let fixture = Fixture::new();
        for options in [first, &["-s"], &["-x"], &[], &["-s"]] {
            let output = fixture.run(options, &["true"]);
            assert!(output.status.success(), "first {first:?}, now {options:?}: {}", errors(&output));
        }
    }
    // A reader has repaired nothing, and leaves nothing to repair.
    for (policy, code) in [("release", "0"), ("inform", "0"), ("release", "1"), ("inform", "1")] {
        let fixture = Fixture::new();
        let tell = "echo \"$TURNLOCK_PREVIOUS_OWNER_DIED\"; exit ";
        let run = |options: &[&str], script: &str| text(&fixture.run(options, &["sh", "-c", script]));
        run(&["--on-death", policy], "kill -9 $$");
        for _ in 0..2 {
            assert_eq!(run(&["-s"], &format!("{tell}{code}")), "1\n", "{policy}: readers");
        }
        assert_eq!(run(&["-s"], &format!("{tell}0; kill -9 $$")), "1\n", "{policy}: and another");
        assert_eq!(run(&["-x"], &format!("{tell}0")), "1\n", "{policy}: one that may repair");
        run(&["-s"], "kill -9 $$");
        assert_eq!(run(&["-x"], &format!("{tell}0")), "0\n", "{policy}: it only read");
    }
    // One that was named is what its creator made it.
    let fixture = Fixture::new();
    assert!(fixture.run(&["--lock", "cache"], &["true"]).status.success());
    assert_eq!(fixture.run(&["--lock", "cache", "-s"], &["true"]).status.code(), Some(66));
}
