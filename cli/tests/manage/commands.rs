//! `list`, `reap`, `rm`.

use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn list_finds_lock_files_and_shows_the_locks_of_one() {
    let fixture = new_fixture();
    assert_eq!(fixture.run(&["--lock", "a"], &["true"]), Some(0));
    assert_eq!(fixture.run(&["--lock", "b", "--permits", "3"], &["true"]), Some(0));
    std::fs::write(fixture.folder().join("other.txt"), "turn the other way").unwrap();
    std::os::unix::fs::symlink(&fixture.file, fixture.folder().join("link.lock")).unwrap();
    let below = fixture.folder().join("below");
    std::fs::create_dir(&below).unwrap();
    turnlock::LockFile::open(below.join("deep.lock")).unwrap();
    let holder = fixture.hold(&["--lock", "a"]);
    let list = |arguments: &[&str]| {
        let mut list = Command::new(TURNLOCK);
        limit::output(list.arg("list").args(arguments).current_dir(fixture.folder())).unwrap()
    };
    let here = json(&list(&["--json"]));
    let files = here["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{here:#}");
    assert_eq!(files[0]["path"], fixture.file.to_str().unwrap());
    assert_eq!(files[0]["locks"][0]["holders"], 1);
    assert_eq!(files[0]["locks"][1]["kind"], "semaphore");
    let deep = text(&list(&["--recursive"]));
    assert!(
        deep.contains("  0/64     0     0      0/128     0  ") && deep.contains("below/deep.lock\n"),
        "{deep}"
    );
    assert!(deep.contains("  2/64     1     0  "), "{deep}");
    let locks = text(&list(&["test.lock"]));
    assert!(locks.contains("\n    1     0  well        mutex       a\n"), "{locks}");
    assert!(locks.contains("\n    0     0  well        semaphore   b\n"), "{locks}");
    drop(holder);

    // What was named and is not there, or is something else, is an error; the rest is shown.
    let some = list(&["no-such.lock", "test.lock"]);
    assert_eq!(some.status.code(), Some(66));
    assert!(errors(&some).contains("no-such.lock") && text(&some).contains("semaphore"), "{}", errors(&some));
    assert_eq!(list(&["other.txt"]).status.code(), Some(66));
    let empty = tempfile::tempdir().unwrap();
    let nothing = list(&[empty.path().to_str().unwrap()]);
    assert_eq!((nothing.status.code(), text(&nothing).as_str()), (Some(0), "no lock file\n"));
}

#[test]
fn reap_removes_the_dead_and_the_next_holder_is_told_all_the_same() {
    let fixture = new_fixture();
    let alive = fixture.hold(&["--lock", "alive"]);
    fixture.leave_dead(&["--label", "victim", "--on-death", "inform"]);
    let reap = fixture.turnlock("reap", &["--json"]);
    assert_eq!(reap.status.code(), Some(0), "{}", errors(&reap));
    let reaped = json(&reap)["reaped"].clone();
    let labels: Vec<_> = reaped.as_array().unwrap().iter().map(|one| one["label"].clone()).collect();
    assert!(!labels.is_empty() && labels.iter().all(|label| label == "victim"), "{reaped}");
    let left = json_of(&fixture, "status");
    let lives: Vec<_> =
        left["participants"].as_array().unwrap().iter().map(|one| one["life"].clone()).collect();
    assert!(!lives.is_empty() && lives.iter().all(|life| life == "alive"), "{left:#}");
    let lock = |status: &serde_json::Value| {
        status["locks"].as_array().unwrap().iter().find(|lock| lock["name"] == "default").unwrap().clone()
    };
    assert_eq!(lock(&left)["state"], "inconsistent");
    assert_eq!(lock(&left)["previous_owner"]["label"], "victim");
    let told = limit::output(fixture.command("run", &[]).args([
        "sh",
        "-c",
        "echo $TURNLOCK_PREVIOUS_OWNER_DIED $TURNLOCK_PREVIOUS_OWNER",
    ]));
    assert_eq!(text(&told.unwrap()), "1 victim\n");
    let again = fixture.turnlock("reap", &[]);
    assert!(text(&again).ends_with(": no participant in it is dead\n"), "{}", text(&again));
    drop(alive);
    let missing = new_fixture().turnlock("reap", &[]);
    assert_eq!(missing.status.code(), Some(66));
}

#[test]
fn rm_refuses_what_is_used_and_what_is_no_lock_file() {
    let fixture = new_fixture();
    let mut holder = fixture.hold(&["--label", "importer"]);
    let used = fixture.turnlock("rm", &[]);
    assert_eq!(used.status.code(), Some(1));
    assert!(errors(&used).contains("is in use, by importer (pid "), "{}", errors(&used));
    assert!(fixture.file.exists());
    // A dead participant does not use it.
    holder.kill();
    until("the command is gone", || fixture.turnlock("rm", &["--json"]).status.code() == Some(0));
    assert!(!fixture.file.exists());
    assert_eq!(fixture.turnlock("rm", &[]).status.code(), Some(66));
    let forced = fixture.turnlock("rm", &["--force", "--json"]);
    assert_eq!(
        (forced.status.code(), json(&forced)),
        (Some(0), serde_json::json!({"deleted": [], "errors": []}))
    );

    std::fs::write(&fixture.file, "precious").unwrap();
    let other = fixture.turnlock("rm", &["--force"]);
    assert_eq!(other.status.code(), Some(66));
    assert_eq!(std::fs::read_to_string(&fixture.file).unwrap(), "precious");
}

#[test]
fn rm_takes_several_and_goes_on_after_a_failure() {
    let fixture = new_fixture();
    let [one, other] = ["one.lock", "other.lock"].map(|name| fixture.folder().join(name));
    for path in [&one, &other] {
        drop(turnlock::LockFile::open(path).unwrap());
    }
    let mut rm = Command::new(TURNLOCK);
    let done = limit::output(rm.arg("rm").arg(&one).arg(&fixture.file).arg(&other)).unwrap();
    assert_eq!(done.status.code(), Some(66), "{}", errors(&done));
    assert_eq!(text(&done).lines().count(), 2, "{}", text(&done));
    assert!(!one.exists() && !other.exists());
}

#[test]
fn a_program_that_only_has_the_file_open_is_told_that_it_is_gone() {
    let fixture = new_fixture();
    let file = turnlock::LockFile::open(&fixture.file).unwrap();
    let mutex = std::thread::scope(|threads| threads.spawn(|| file.mutex("a").unwrap()).join().unwrap());
    for grow in [true, false] {
        let done = match grow {
            true => fixture.turnlock("grow", &["--locks", "65"]),
            false => fixture.turnlock("rm", &[]),
        };
        assert_eq!(done.status.code(), Some(0), "{}", errors(&done));
        let told = mutex.lock().map(drop);
        assert!(matches!(told, Err(turnlock::Error::Replaced { .. })), "{told:?}");
    }
}

#[test]
fn every_help_has_its_exit_codes_and_examples() {
    let help = |arguments: &[&str]| text(&limit::output(Command::new(TURNLOCK).args(arguments)).unwrap());
    let all = help(&["--help"]);
    let commands = all.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<&str> = commands
        .lines()
        .filter(|line| !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() > 10, "{all}");
    for name in names {
        let text = help(&[name, "--help"]);
        assert!(text.contains("EXIT CODES\n") && text.contains("EXAMPLES\n"), "{name}: {text}");
    }
}

/// Whether the file is kept from cleaners, by the sticky bit.
#[test]
fn a_grown_file_keeps_its_mode() {
    let fixture = new_fixture();
    drop(turnlock::LockFile::options().mode(0o640).open(&fixture.file).unwrap());
    let mode = || fixture.file.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(), 0o1640);
    let grow = fixture.turnlock("grow", &["--locks", "65"]);
    assert_eq!(grow.status.code(), Some(0), "{}", errors(&grow));
    assert_eq!(mode(), 0o1640);
}
