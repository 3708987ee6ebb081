//! What the command prints: where writing it may fail, and what others' names can do to it.

use super::*;
use std::fs::{File, OpenOptions};

/// Runs `turnlock ARGUMENTS` with a reader that is gone before anything is printed.
fn with_a_closed_pipe(arguments: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    turnlock(arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap()
}

fn with_a_full_disk(arguments: &[&str]) -> Output {
    let full: File = OpenOptions::new().write(true).open("/dev/full").unwrap();
    turnlock(arguments).stdout(full).output().unwrap()
}

fn turnlock(arguments: &[&str]) -> Command {
    let mut turnlock = Command::new(env!("CARGO_BIN_EXE_turnlock"));
    turnlock.args(arguments);
    turnlock
}

/// Every command that prints something, on a file that exists.
fn printing(file: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["status", file],
        vec!["status", "--json", file],
        vec!["status", "--all", file],
        vec!["reset", file],
        vec!["--help"],
        vec!["run", "--help"],
        vec!["--version"],
    ]
}

#[test]
fn a_reader_that_closes_the_pipe_has_read_enough() {
    let fixture = Fixture::new();
    assert!(fixture.run(&[], &["true"]).status.success());
    let new = fixture.file.with_extension("new");
    let mut all = printing(fixture.file.to_str().unwrap());
    all.push(vec!["create", "--json", new.to_str().unwrap()]);
    for arguments in all {
        let output = with_a_closed_pipe(&arguments);
        assert_eq!((output.status.code(), errors(&output)), (Some(0), String::new()), "{arguments:?}");
    }
    assert!(new.exists());
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let fixture = Fixture::new();
    assert!(fixture.run(&[], &["true"]).status.success());
    let new = fixture.file.with_extension("new");
    let mut all = printing(fixture.file.to_str().unwrap());
    all.push(vec!["create", new.to_str().unwrap()]);
    for arguments in all {
        let output = with_a_full_disk(&arguments);
        assert_eq!(output.status.code(), Some(71), "{arguments:?}: {}", errors(&output));
        let said = errors(&output);
        assert!(said.starts_with("turnlock: cannot write to standard output: No space left"), "{said}");
    }
}

#[test]
fn the_demos_verdict_may_be_unread_but_not_lost() {
    let closed = with_a_closed_pipe(&["demo", "--turns", "100"]);
    assert_eq!((closed.status.code(), errors(&closed)), (Some(0), String::new()));
    let full = with_a_full_disk(&["demo", "--turns", "100", "--json"]);
    assert_eq!(full.status.code(), Some(71));
    assert!(errors(&full).contains("turnlock: cannot write to standard output"), "{}", errors(&full));
}

#[test]
fn messages_that_cannot_be_written_do_not_stop_the_work() {
    let fixture = Fixture::new();
    for full in [false, true] {
        let mut run = fixture.command("run", &["--verbose"], &["sh", "-c", "exit 7"]);
        if full {
            run.stderr(OpenOptions::new().write(true).open("/dev/full").unwrap());
        } else {
            run.stderr(std::io::pipe().unwrap().1);
        }
        assert_eq!(run.status().unwrap().code(), Some(7));
    }
}

const HOSTILE: &str = "a\u{1b}[2Jb\u{7}\nc\u{202e}d\u{200b}e\u{9b}";
const ESCAPED: &str = r"a\u{1b}[2Jb\u{7}\nc\u{202e}d\u{200b}e\u{9b}";

/// No line is forged, and nothing is left that a terminal would obey.
fn harmless(text: &str) -> bool {
    !text.chars().any(|letter| letter != '\n' && letter.is_control())
        && !text.contains(['\u{202e}', '\u{200b}'])
        && !text.lines().any(|line| line.starts_with('c'))
}

#[test]
fn names_and_labels_cannot_write_to_the_terminal() {
    let fixture = Fixture::new();
    let hostile = ["--lock", HOSTILE, "--label", HOSTILE];
    let (mut holder, _output) = fixture.hold(&hostile, "echo inside; sleep 60");
    let status = fixture.status_text_with(&["--all"]);
    assert!(harmless(&status), "{status:?}");
    assert!(status.contains(&format!("\n{ESCAPED} (mutex, bakery")), "{status}");
    assert!(status.contains(&format!(" by {ESCAPED}, run by turnlock (pid {})", holder.id())), "{status}");
    // Machines get it as it is.
    assert_eq!(fixture.status()["locks"][0]["name"], HOSTILE);
    assert_eq!(fixture.status()["locks"][0]["holders"][0]["label"], HOSTILE);

    let taken = errors(&fixture.run(&["--try", "--verbose", "--lock", HOSTILE], &["true"]));
    assert!(harmless(&taken) && taken.contains("is taken: held for "), "{taken:?}");
    end_group(&mut holder);
    let told = fixture.run(&["--lock", HOSTILE], &["sh", "-c", "printf %s \"$TURNLOCK_PREVIOUS_OWNER\""]);
    assert_eq!(text(&told), HOSTILE, "the command gets it as it is");
    assert!(harmless(&errors(&told)) && errors(&told).contains(ESCAPED), "{:?}", errors(&told));
}

#[test]
fn paths_and_arguments_cannot_write_to_the_terminal() {
    let missing = turnlock(&["status", &format!("/nonexistent/{HOSTILE}")]).output().unwrap();
    assert!(harmless(&errors(&missing)) && errors(&missing).contains(ESCAPED), "{:?}", errors(&missing));
    let option = turnlock(&["run", "--timeout", "\u{1b}[31mred", "f", "true"]).output().unwrap();
    assert!(harmless(&errors(&option)) && errors(&option).contains("red"), "{:?}", errors(&option));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(HOSTILE);
    let create = turnlock(&["create"]).arg(&file).output().unwrap();
    assert!(create.status.success() && harmless(&text(&create)), "{:?}", text(&create));
    let status = turnlock(&["status"]).arg(&file).output().unwrap();
    assert!(harmless(&text(&status)) && text(&status).contains(ESCAPED), "{:?}", text(&status));
    let json = turnlock(&["status", "--json"]).arg(&file).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["path"], file.canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn a_path_that_is_not_utf8_is_shown_in_json_too() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(OsStr::from_bytes(b"a\xffb"));
    assert!(turnlock(&["create"]).arg(&file).output().unwrap().status.success());
    let json = turnlock(&["status", "--json"]).arg(&file).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(json["path"].as_str().unwrap().ends_with("/a\u{fffd}b"), "{json}");
}

#[test]
fn a_dead_holder_is_said_to_have_entered_and_not_to_have_died_then() {
    let fixture = Fixture::new();
    let (mut holder, _output) = fixture.hold(&["--label", "victim"], "echo inside; exec sleep 60");
    let command = holder_command(holder.id())[0];
    std::thread::sleep(Duration::from_millis(300));
    holder.kill().unwrap();
    holder.wait().unwrap();
    signal("KILL", command);
    fixture.until(|status| status["locks"][0]["holders"][0]["life"] == "dead");
    let status = fixture.status_text();
    let who = format!("held by victim, run by turnlock (pid {}), dead: it entered ", holder.id());
    assert!(status.contains(&who) && status.contains(" s ago, fencing token "), "{status}");
    assert!(!status.contains("dead for"), "{status}");
    // A command that creates a lock takes a second slot.
    assert!(
        status.contains(": 0 of 128 participant slots, and 2 of the dead, which newcomers may take; "),
        "{status}"
    );
    let status = fixture.status();
    assert_eq!(status["locks"][0]["holders"][0]["at_least"], false);
    assert!(status["locks"][0]["holders"][0]["for_seconds"].as_f64().unwrap() >= 0.3, "{status}");
    assert!(fixture.run(&["--timeout", "20"], &["true"]).status.success());
}

#[test]
fn of_a_holder_that_entered_unasked_it_is_said_how_long_it_has_held_at_least() {
    let fixture = Fixture::new();
    let file = turnlock::LockFile::options().label("holder").open(&fixture.file).unwrap();
    let mutex = file.mutex("default").unwrap();
    drop(mutex.lock().unwrap());
    let guard = mutex.lock().unwrap();
    let unasked = fixture.status()["locks"][0]["holders"][0].clone();
    assert_eq!((&unasked["at_least"], &unasked["for_seconds"]), (&true.into(), &serde_json::Value::Null));
    assert!(fixture.status_text().contains(": held by holder ("), "{}", fixture.status_text());
    let mut waiter = fixture.command("run", &[], &["true"]).spawn().unwrap();
    fixture.until(|status| status["locks"][0]["holders"][0]["for_seconds"].is_number());
    fixture.until_queued(1);
    let status = fixture.status_text();
    assert!(status.contains(": held for at least ") && status.contains(" s by holder ("), "{status}");
    assert!(status.contains("  1. true, run by turnlock (pid "), "{status}");
    drop(guard);
    assert!(waiter.wait().unwrap().success());
}

#[test]
fn a_label_of_another_program_is_shown_beside_the_program() {
    let fixture = Fixture::new();
    let file = turnlock::LockFile::options().label("accounting").open(&fixture.file).unwrap();
    let mutex = file.mutex("default").unwrap();
    let _guard = mutex.lock().unwrap();
    let status = fixture.status_text();
    let program = fixture.status()["locks"][0]["holders"][0]["program"].as_str().unwrap().to_owned();
    assert!(status.contains(&format!(" by accounting ({program}, pid ")), "{status}");
}
