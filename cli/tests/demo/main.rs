//! `turnlock demo`, from outside: its verdict, and that it can give a bad one.

mod hosts;

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};
use support::limit;

support::watched_for_seconds!(support::watchdog::USUAL);

fn demo(arguments: &[&str]) -> Output {
    limit::output(Command::new(env!("CARGO_BIN_EXE_turnlock")).arg("demo").args(arguments)).unwrap()
}

fn verdict(output: &Output) -> Value {
    let story = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("no verdict ({error}):\n{story}"))
}

#[test]
fn all_is_in_order() {
    let output = demo(&["--json", "--turns", "1000"]);
    let verdict = verdict(&output);
    assert!(output.status.success(), "{verdict:#}");
    assert_eq!(verdict["in_order"], true);
    assert_eq!(verdict["problems"], Value::Array(vec![]));
    assert_eq!(verdict["found"], verdict["expected"]);
    assert_eq!(verdict["journal_lines"], verdict["expected"]);

    let programs = verdict["programs"].as_array().unwrap();
    let left_out = verdict["left_out"].as_array().unwrap();
    assert_eq!(programs.len() + left_out.len(), 8);
    assert!(programs.iter().any(|part| part["program"] == "counter.rs"));
    let sum: u64 = programs.iter().map(|part| part["acquisitions"].as_u64().unwrap()).sum();
    assert_eq!(verdict["found"], sum);

    let killed: Vec<&Value> = programs.iter().filter(|part| part["killed"] == true).collect();
    let dead = &verdict["owner_dead"];
    assert_eq!(killed.len(), 1);
    assert_eq!(dead["label"], killed[0]["program"]);
    let token = |value: &Value| value.as_str().unwrap().parse::<u64>().unwrap();
    assert!(token(&dead["told_fencing_token"]) > token(&dead["fencing_token"]));
}

#[test]
fn without_a_common_lock_it_is_off() {
    let output = demo(&["--json", "--turns", "1000", "--separate-locks"]);
    let verdict = verdict(&output);
    assert_eq!(output.status.code(), Some(1), "{verdict:#}");
    assert_eq!(verdict["in_order"], false);
    let problems = verdict["problems"].to_string();
    assert!(problems.contains("the fencing tokens do not increase"), "{problems}");
    assert!(problems.contains("no holder was told"), "{problems}");
}

#[test]
fn every_language_can_be_the_one_that_dies() {
    for program in ["c++", "python", "rust", "node", "go", "java"] {
        let output = demo(&["--json", "--turns", "400", "--kill", program]);
        let story = String::from_utf8_lossy(&output.stderr);
        if story.contains("since it is left out") {
            eprintln!("{story}");
            continue;
        }
        assert_eq!(verdict(&output)["problems"], Value::Array(vec![]), "{program}:\n{story}");
        assert!(output.status.success());
    }
}

#[test]
fn a_program_whose_compiler_is_missing_is_left_out() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnlock"));
    command.args(["demo", "--json", "--turns", "400"]);
    command.envs([("CC", "no-such-compiler"), ("CXX", "no-such-compiler")]);
    let output = limit::output(&mut command).unwrap();
    let verdict = verdict(&output);
    assert_eq!(verdict["problems"], Value::Array(vec![]));
    let left_out: Vec<&Value> =
        verdict["left_out"].as_array().unwrap().iter().map(|out| &out["program"]).collect();
    assert!(
        left_out.contains(&&"counter.c".into()) && left_out.contains(&&"counter.cpp".into()),
        "{left_out:?}"
    );
    assert!(verdict["left_out"][0]["why"].as_str().unwrap().contains("no-such-compiler"));
}

/// A copy in `bin` within a folder, made by another process: what this one has open for writing, a child that another test starts
/// would have too, and a program that is open for writing cannot be run.
fn copy_of_the_command(away: &Path) -> PathBuf {
    let folder = away.join("bin");
    std::fs::create_dir(&folder).unwrap();
    let copy = folder.join("turnlock");
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_turnlock")).arg(&copy).status().unwrap().success());
    copy
}

#[test]
fn a_binding_that_does_not_stand_ready_is_left_out_with_what_to_do() {
    // Away from cargo's folders, where the bindings' checks leave what they build.
    let away = tempfile::tempdir().unwrap();
    let this = copy_of_the_command(away.path());
    let library = Path::new(env!("CARGO_BIN_EXE_turnlock")).with_file_name("deps");
    let mut command = Command::new(&this);
    command.args(["demo", "--json", "--turns", "400", "--library"]).arg(library);
    command.current_dir(away.path()).env("HOME", away.path()).env_remove("NODE_PATH");
    let output = limit::output(&mut command).unwrap();
    let verdict = verdict(&output);
    assert_eq!(verdict["problems"], Value::Array(vec![]));
    let why = |program: &str| {
        let left_out = verdict["left_out"].as_array().unwrap().iter().find(|out| out["program"] == program);
        left_out.unwrap_or_else(|| panic!("{program} is not left out"))["why"].as_str().unwrap()
    };
    assert_eq!(why("counter.go"), "it is not built; in turnlock's sources, bindings/go/check builds it");
    assert_eq!(why("Counter.java"), "it is not built; in turnlock's sources, bindings/java/check builds it");
    assert!(why("counter.js").contains("npm"), "{}", why("counter.js"));
}

/// As `cargo install` leaves the command.
#[test]
fn a_command_that_came_alone_shows_what_is_inside_it() {
    let away = tempfile::tempdir().unwrap();
    let this = copy_of_the_command(away.path());
    let output = limit::output(Command::new(&this).args(["demo", "--json", "--turns", "400"])).unwrap();
    let verdict = verdict(&output);
    assert!(output.status.success(), "{verdict:#}");
    let names = |of: &str| -> Vec<String> {
        let all = verdict[of].as_array().unwrap().iter();
        all.map(|one| one["program"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("programs"), ["counter.sh", "counter.rs"]);
    assert_eq!(names("left_out").len(), 6);
    assert!(verdict["left_out"][0]["why"].as_str().unwrap().contains("--library"), "{verdict:#}");
    assert_eq!(verdict["owner_dead"]["label"], "counter.rs");
}

#[test]
fn no_library_no_demo_and_what_to_do() {
    let output = demo(&["--library", "/no/such/folder"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/no/such/folder: no such file"));
}
