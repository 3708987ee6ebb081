//! What hangs is ended and named: a rung of `./check`, and a test of ours.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs::File,
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};
use support::{Place, limit, until};

support::watched_for_seconds!(support::watchdog::USUAL);

/// Set for [`a_test_that_hangs_where_it_is_told_to`].
const HANGS: &str = "TURNLOCK_TEST_HANGS";

/// `./check`, with these rungs instead of its own.
fn check_with(rungs: &str) -> Command {
    let mut bash = Command::new("bash");
    let script = format!("set -eu\n. ci/rungs.sh\nrungs_are_counted=1\n{rungs}\n");
    bash.args(["-c", &script]).current_dir(env!("CARGO_MANIFEST_DIR"));
    bash.env_remove("TURNLOCK_CHECK_PATIENCE");
    bash
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

fn last_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned()
}

/// Returns whether a process runs with this as one of its words.
fn is_running(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut commands = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    commands.any(|command| command.split(|byte| *byte == 0).any(|other| other == word.as_bytes()))
}

#[test]
fn a_rung_that_hangs_is_ended_and_named_with_where_it_stood() {
    let began = Instant::now();
    // One that heeds no request to end, and one in a process group of its own, which keeps the output open. Another `./check` may
    // run on this machine.
    let [longer, shorter] = [75, 25].map(|end| format!("1000.{}{end}", std::process::id()));
    let hangs = format!(
        r#"
        rung "the first" 60 echo fine
        rung "one that hangs" 5 bash -c 'echo so far; trap "" TERM; set -m; sleep {shorter} & sleep {longer}'
        rung "the last" 60 echo never"#
    );
    let output = limit::output(&mut check_with(&hangs)).unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("== the first: passed, "), "{said}");
    assert!(said.contains("== one that hangs hangs. It stood here:\n    so far\n"), "{said}");
    assert!(said.contains(&format!(" sleep {longer} : sleep;")), "the process that it stood in: {said}");
    assert!(said.contains("== one that hangs: FAILED, ended after "), "{said}");
    assert!(said.contains(": its limit is 5 s, with TURNLOCK_CHECK_PATIENCE=1"), "{said}");
    assert!(said.contains("not run, or not to the end: the last\n") && !said.contains("never"), "{said}");
    assert_eq!(last_line(&output), "1 passed, 1 failed", "{said}");
    assert!(began.elapsed() < limit::seconds(60), "{:?}", began.elapsed());
    assert!(!is_running(&shorter) && !is_running(&longer), "both are ended");
}

/// A rung that its sources decide is not run a second time with the same ones, and is after any of them has changed.
#[test]
fn a_rung_that_passed_is_not_run_again_before_its_sources_change() {
    let place = Place::new();
    let [passed, source] = ["passed", "source"].map(|name| place.at(name));
    std::fs::write(&source, "as it was").unwrap();
    std::fs::write(&passed, "0123  another rung\n0123  of mutants\n").unwrap();
    let run = |before: &str| {
        let rungs = format!(
            r#"{before} begin_if_changed "of mutants" 60 "{}" sh -c 'echo "tried now"'; finish_rung "of mutants""#,
            source.display()
        );
        let mut check = check_with(&rungs);
        check.env("TURNLOCK_PASSED", &passed).env_remove("TURNLOCK_EVERY_RUNG");
        let output = limit::output(&mut check).unwrap();
        assert!(output.status.success(), "{}", said(&output));
        said(&output).contains("tried now\n")
    };
    assert!(run("size=usual;"), "passed with other sources");
    let noted = std::fs::read_to_string(&passed).unwrap();
    assert!(noted.starts_with("0123  another rung\n") && noted.lines().count() == 2, "{noted}");
    assert!(!run("size=usual;"), "passed");
    assert!(run("size=long;"));
    assert!(run("size=usual; TURNLOCK_EVERY_RUNG=1;"));
    std::fs::write(&source, "as it is now").unwrap();
    assert!(run("size=usual;"));
    assert!(!run("size=usual;"));
    // One that fails is not noted.
    std::fs::write(&source, "once more").unwrap();
    let rungs = format!(
        r#"size=usual; begin_if_changed "of mutants" 60 "{}" false; finish_rung "of mutants""#,
        source.display()
    );
    let failed = limit::output(check_with(&rungs).env("TURNLOCK_PASSED", &passed)).unwrap();
    assert_eq!(failed.status.code(), Some(1));
    assert!(run("size=usual;"));
}

/// A search plays all where its sources changed since it passed whole, and a part where they did not.
#[test]
fn a_search_that_passed_whole_plays_a_part_before_its_sources_change() {
    let place = Place::new();
    let [passed, source] = ["passed", "source"].map(|name| place.at(name));
    std::fs::write(&source, "as it was").unwrap();
    let share = |before: &str| {
        let rungs = format!(
            r#"{before} begin_search "a search" 60 "{}" sh -c 'echo "one in $TURNLOCK_ONE_IN"'; finish_rung "a search""#,
            source.display()
        );
        let mut check = check_with(&rungs);
        check.env("TURNLOCK_PASSED", &passed).env_remove("TURNLOCK_EVERY_RUNG").env_remove("TURNLOCK_ONE_IN");
        let output = limit::output(&mut check).unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let said = said(&output);
        said.lines().find_map(|line| line.strip_prefix("one in ")?.parse::<u32>().ok()).expect(&said)
    };
    assert_eq!(share("size=usual;"), 1);
    assert_eq!(share("size=usual;"), 8);
    // That it passed in part says no more than that it passed whole.
    assert_eq!(share("size=usual;"), 8);
    assert_eq!(share("size=long;"), 1);
    assert_eq!(share("size=usual; TURNLOCK_EVERY_RUNG=1;"), 1);
    std::fs::write(&source, "as it is now").unwrap();
    assert_eq!(share("size=usual;"), 1);
}

#[test]
fn one_in_some_tests_is_chosen_by_chance_and_each_in_its_time() {
    // In place of cargo: lists eight tests, two of them of mutants, and says which ones it is to run.
    let tests = r#"tests() {
        case " $* " in
            *" --list "*) printf '%s: test\n' a b c with_mutants::d e f g::with_mutants::h i; echo; echo "8 tests, 0 benchmarks" ;;
            *) echo "ran: $*" ;;
        esac
    }
    export -f tests"#;
    let ran = |share: &str| {
        let mut check = check_with(&format!(r#"{tests}; ci/one-in bash -c 'tests "$@"' -"#));
        let output = limit::output(check.env("TURNLOCK_ONE_IN", share)).unwrap();
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        said.lines().find_map(|line| line.strip_prefix("ran: ")).expect(&said).to_owned()
    };
    assert_eq!(ran("1"), "-- --nocapture --skip with_mutants");
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let ran = ran("3");
        let chosen: Vec<&str> = ran.strip_prefix("-- --nocapture --exact ").expect(&ran).split(' ').collect();
        assert_eq!(chosen.len(), 2, "of six: {ran}");
        seen.extend(chosen.iter().map(|name| (*name).to_owned()));
        if seen.len() == 6 {
            break;
        }
    }
    assert!(seen.iter().map(String::as_str).eq(["a", "b", "c", "e", "f", "i"]), "{seen:?}");
    let nothing = limit::output(check_with("ci/one-in true").env("TURNLOCK_ONE_IN", "4")).unwrap();
    assert!(!nothing.status.success() && said(&nothing).contains("no test was found"), "{}", said(&nothing));
}

#[test]
fn rungs_are_counted() {
    let output = limit::output(&mut check_with(
        "rung one 60 true; begin_rung two 60 true; rung three 60 true; finish_rung two",
    ));
    let output = output.unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(last_line(&output), "3 passed, 0 failed");

    let output =
        limit::output(&mut check_with("rung one 60 true; rung two 60 sh -c 'exit 7'; rung three 60 true"));
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains(", with status 7"), "{}", said(&output));
    assert_eq!(last_line(&output), "1 passed, 1 failed");
}

#[test]
fn patience_makes_limits_longer() {
    let mut patient = check_with("rung slow 1 sleep 1.5");
    let output = limit::output(patient.env("TURNLOCK_CHECK_PATIENCE", "60")).unwrap();
    assert_eq!(last_line(&output), "1 passed, 0 failed", "{}", said(&output));
    let mut nonsense = check_with("rung slow 1 true");
    let output = limit::output(nonsense.env("TURNLOCK_CHECK_PATIENCE", "much")).unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[test]
fn what_a_rung_left_behind_does_not_make_it_hang() {
    let began = Instant::now();
    // It keeps the output open, in a session of its own.
    let output =
        limit::output(&mut check_with("rung leaves 600 sh -c 'setsid sleep 150 & echo left: $!'")).unwrap();
    let said = said(&output);
    let left = said.split("left: ").nth(1).and_then(|rest| rest.lines().next()).unwrap().parse().unwrap();
    kill(Pid::from_raw(left), Signal::SIGKILL).unwrap();
    assert_eq!(last_line(&output), "1 passed, 0 failed", "{said}");
    assert!(began.elapsed() < limit::seconds(60), "{:?}", began.elapsed());
}

#[test]
fn an_interrupted_check_ends_its_rung() {
    let long = format!("1000.5{}", std::process::id());
    let (place, mut check) = (Place::new(), check_with(&format!("rung slow 600 sleep {long}")));
    let printed = File::create(place.at("printed")).unwrap();
    let mut check = check.stdin(Stdio::null()).stdout(printed).spawn().unwrap();
    until("the rung runs", || is_running(&long));
    kill(Pid::from_raw(check.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(limit::end_of(&mut check, "check").code(), Some(130));
    assert!(!is_running(&long));
    let printed = std::fs::read_to_string(place.at("printed")).unwrap();
    assert!(printed.ends_with("\n0 passed, 1 failed\n"), "{printed}");
}

/// It is found by its session, which `setsid` is about to begin.
#[test]
fn an_interrupted_check_ends_a_rung_that_has_hardly_begun() {
    let long = format!("1000.6{}", std::process::id());
    let (place, mut check) = (Place::new(), check_with(&format!("rung slow 600 sleep {long}")));
    let slow = place.at("setsid");
    // By another process: what this one has open for writing, a child that another test starts would have too, and such a program
    // cannot be run.
    let written = ["-c", "printf '%s' \"$1\" >\"$0\" && chmod 755 \"$0\""];
    let script = "#!/bin/sh\ntrap 'kill $!; exit' TERM\nsleep 300 & wait\n";
    assert!(Command::new("sh").args(written).arg(&slow).arg(script).status().unwrap().success());
    let path = format!("{}:{}", slow.parent().unwrap().display(), std::env::var("PATH").unwrap());
    check.env("PATH", path).stdin(Stdio::null()).stdout(Stdio::null());
    let mut check = check.spawn().unwrap();
    until("the rung begins", || is_running(&long));
    kill(Pid::from_raw(check.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(limit::end_of(&mut check, "check").code(), Some(130));
    assert!(!is_running(&long));
}

#[test]
fn how_long_each_rung_took_is_said() {
    // The first is over long before it is asked for.
    let output = limit::output(&mut check_with(
        r#"begin_rung one 60 true
        rung two 60 sleep 3
        finish_rung one
        rung three 60 python3 -c 'import time; all(iter(lambda: time.process_time() < 1.6, False))'"#,
    ));
    let output = output.unwrap();
    let said = said(&output);
    let seconds = |of: &str| -> u64 {
        let times = said.lines().rev().nth(1).unwrap();
        times.split(of).nth(1).and_then(|rest| rest.split(" s").next()?.trim().parse().ok()).expect(&said)
    };
    assert!(seconds("one ") < 3 && seconds("two ") >= 3 && seconds("in ") >= 3, "{said}");
    let of_processor = |of: &str| {
        let line = said.lines().find(|line| line.starts_with(of)).expect(&said);
        line.split('(').nth(1).and_then(|rest| rest.split(" s").next()?.parse::<u64>().ok()).expect(&said)
    };
    assert_eq!(of_processor("== two: passed, "), 0, "{said}");
    assert!(of_processor("== three: passed, ") >= 2 && of_processor("in ") >= 2, "{said}");
    assert_eq!(last_line(&output), "3 passed, 0 failed", "{said}");
}

#[test]
fn each_part_says_what_it_is_and_refuses_what_it_does_not_know() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for part in ["check", "ci/lint", "ci/test", "ci/models", "ci/kill", "ci/bindings"] {
        // From elsewhere.
        let run = |argument: &str| {
            limit::output(Command::new(root.join(part)).arg(argument).current_dir("/")).unwrap()
        };
        let help = run("--help");
        assert!(help.status.success() && said(&help).contains(&format!("{part} [--")), "{}", said(&help));
        let unknown = run("--no-such-size");
        assert_eq!(unknown.status.code(), Some(2), "{}", said(&unknown));
        assert!(unknown.stdout.is_empty(), "{}", said(&unknown));
    }
}

/// What is run outside of a rung could hang.
#[test]
fn everything_long_is_under_a_rung() {
    let parts = [
        include_str!("../../check"),
        include_str!("../../ci/lint"),
        include_str!("../../ci/test"),
        include_str!("../../ci/models"),
        include_str!("../../ci/kill"),
        include_str!("../../ci/bindings"),
    ];
    let lines = parts.join("\n").replace("\\\n", " ");
    let long = |line: &&str| line.contains("cargo ") || line.contains("spec/run");
    let quick = |line: &&str| {
        line.starts_with(['#', '.'])
            || line.starts_with("need ")
            // What a rung runs, by another name.
            || line.split_once("=(").is_some_and(|(name, _)| name.chars().all(|letter| letter.is_alphabetic() || letter == '_'))
            || line.ends_with(" --version >/dev/null 2>&1; then")
    };
    for line in lines.lines().map(str::trim).filter(long).filter(|line| !quick(line)) {
        let limit = match line.split_once(' ') {
            Some(("rung" | "begin_rung" | "begin_if_changed" | "begin_search", rest)) => {
                rest.rsplit_once("\" ").map_or("", |(_, rest)| rest)
            }
            _ => panic!("outside of a rung: {line}"),
        };
        assert!(!limit.is_empty(), "{line}");
    }
    assert!(lines.matches("rung \"").count() > 10, "{lines}");
}

/// For the test below.
#[test]
fn a_test_that_hangs_where_it_is_told_to() {
    let _place = Place::new();
    if std::env::var_os(HANGS).is_some() {
        std::thread::sleep(Duration::from_secs(1000));
    }
}

#[test]
fn a_test_program_that_hangs_is_ended_and_names_the_test() {
    let began = Instant::now();
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["a_test_that_hangs", "patience_makes"]).env(HANGS, "1");
    // Of its usual limit.
    let output = limit::output(program.env("TURNLOCK_CHECK_PATIENCE", "0.005")).unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), None, "it ends by abort: {said}");
    let names = "still running: a_test_that_hangs_where_it_is_told_to\n";
    assert!(said.contains("\nHANG: 3s without a sign of life; ") && said.contains(names), "{said}");
    assert!(began.elapsed() < limit::seconds(60), "{:?}", began.elapsed());
}
