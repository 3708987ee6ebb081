//! `turnlock create`, and `run` where it creates the file.

use super::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn a_file_of_the_size_that_was_asked_for() {
    let fixture = Fixture::new();
    let create = |options: &[&str]| fixture.command("create", options, &[]).output().unwrap();
    let created = create(&["--participants", "300", "--locks", "7", "--mode", "640", "--json"]);
    assert_eq!(created.status.code(), Some(0), "{}", errors(&created));
    let json: serde_json::Value = serde_json::from_slice(&created.stdout).unwrap();
    let meta = fixture.file.metadata().unwrap();
    assert_eq!((&json["participant_capacity"], &json["lock_capacity"]), (&300.into(), &7.into()));
    assert_eq!((&json["mode"], &json["bytes"]), (&"640".into(), &meta.len().into()));
    assert_eq!((&json["owner"], &json["group"]), (&meta.uid().into(), &meta.gid().into()));
    assert_eq!(meta.permissions().mode() & 0o777, 0o640);
    let status = fixture.status();
    assert_eq!((&status["participant_capacity"], &status["lock_capacity"]), (&300.into(), &7.into()));
    assert!(fixture.run(&[], &["true"]).status.success());
    // No other name was left behind.
    assert_eq!(fixture.file.parent().unwrap().read_dir().unwrap().count(), 1);
}

#[test]
fn a_file_that_exists_is_left_as_it_is() {
    let fixture = Fixture::new();
    std::fs::write(&fixture.file, "precious").unwrap();
    let refused = fixture.command("create", &[], &[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(66));
    assert!(errors(&refused).contains("exists already"), "{}", errors(&refused));
    assert_eq!(std::fs::read_to_string(&fixture.file).unwrap(), "precious");
    std::fs::remove_file(&fixture.file).unwrap();
    std::os::unix::fs::symlink("nowhere", &fixture.file).unwrap();
    assert_eq!(fixture.command("create", &[], &[]).status().unwrap().code(), Some(66), "a dangling link");
    assert_eq!(fixture.file.parent().unwrap().read_dir().unwrap().count(), 1);
}

/// An error that says what to do, and no signal.
#[test]
fn a_file_that_may_not_be_so_long_is_an_error() {
    let fixture = Fixture::new();
    let limited = Command::new("sh")
        .args(["-c", r#"ulimit -f 8 && exec "$0" create "$1""#, env!("CARGO_BIN_EXE_turnlock")])
        .arg(&fixture.file)
        .output()
        .unwrap();
    let said = errors(&limited);
    assert_eq!(limited.status.code(), Some(66), "{said}");
    assert!(said.contains("ulimit -f") && !said.contains(".turnlock-"), "{said}");
    assert!(!fixture.file.exists());
}

#[test]
fn only_one_of_many_creates_it() {
    let fixture = Fixture::new();
    let at_once = [16, 32, 48, 64].map(|participants| {
        let asked = participants.to_string();
        let mut create = fixture.command("create", &["--participants", &asked], &[]);
        (participants, create.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    });
    let ended = at_once.map(|(participants, mut child)| (participants, child.wait().unwrap().code()));
    let made: Vec<_> = ended.iter().filter(|(_, code)| *code == Some(0)).collect();
    assert_eq!(made.len(), 1, "{ended:?}");
    assert_eq!(fixture.status()["participant_capacity"], made[0].0);
    assert!(ended.iter().all(|(_, code)| matches!(code, Some(0 | 66))), "{ended:?}");
}

#[test]
fn a_group_goes_by_name_or_number() {
    let fixture = Fixture::new();
    let own = std::fs::metadata("/proc/self").unwrap().gid();
    let groups = std::fs::read_to_string("/etc/group").unwrap();
    let name = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(own)).then_some(name)
    });
    for group in name.map(String::from).into_iter().chain([own.to_string()]) {
        let created = fixture.command("create", &["--group", &group], &[]).output().unwrap();
        assert_eq!(created.status.code(), Some(0), "{}", errors(&created));
        let meta = fixture.file.metadata().unwrap();
        assert_eq!((meta.gid(), meta.permissions().mode() & 0o777), (own, 0o660), "{group}");
        std::fs::remove_file(&fixture.file).unwrap();
    }
    let unknown = fixture.command("create", &["--group", "no-such-group"], &[]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(64));
    assert!(errors(&unknown).contains("no group of this name"), "{}", errors(&unknown));
}

#[test]
fn what_cannot_be_is_an_error() {
    let fixture = Fixture::new();
    for (options, code) in [
        (&["--mode", "666"][..], 64),
        (&["--mode", "60"], 64),
        (&["--mode", "rw"], 64),
        (&["--participants", "0"], 64),
        (&["--participants", "4097"], 64),
        (&["--locks", "4097"], 64),
    ] {
        assert_eq!(
            fixture.command("create", options, &[]).output().unwrap().status.code(),
            Some(code),
            "{options:?}"
        );
    }
    let nowhere = Command::new(env!("CARGO_BIN_EXE_turnlock")).args(["create", "/no/such/a.lock"]).output();
    let nowhere = nowhere.unwrap();
    assert_eq!(nowhere.status.code(), Some(66));
    assert!(errors(&nowhere).contains("/no/such"), "{}", errors(&nowhere));
    assert!(!fixture.file.exists());
}

#[test]
fn full_fences_are_of_the_file() {
    let fixture = Fixture::new();
    assert!(fixture.command("create", &["--full-fences"], &[]).output().unwrap().status.success());
    assert_eq!(fixture.status()["fences"], "full");
    assert!(fixture.run(&[], &["true"]).status.success());
    assert_eq!(fixture.status()["fences"], "full");
}

#[test]
fn run_creates_it_as_asked_for() {
    let fixture = Fixture::new();
    let options = ["--participants", "5", "--locks", "2", "--mode", "660"];
    assert!(fixture.run(&options, &["true"]).status.success());
    let status = fixture.status();
    assert_eq!((&status["participant_capacity"], &status["lock_capacity"]), (&5.into(), &2.into()));
    assert_eq!(fixture.file.metadata().unwrap().permissions().mode() & 0o777, 0o660);
    assert!(fixture.run(&["--participants", "4"], &["true"]).status.success(), "there is room for four");
    let more = fixture.run(&["--participants", "6"], &["true"]);
    assert_eq!(more.status.code(), Some(66));
    assert!(errors(&more).contains("room for 5 participants and 6"), "{}", errors(&more));
}

#[test]
fn a_full_file_says_how_to_make_a_larger_one() {
    let fixture = Fixture::new();
    assert!(fixture.run(&["--locks", "1", "--participants", "2"], &["true"]).status.success());
    let full = fixture.run(&["--lock", "another"], &["true"]);
    assert_eq!(full.status.code(), Some(66));
    assert!(errors(&full).contains("(`turnlock create --locks N` does)"), "{}", errors(&full));
    let file = turnlock::LockFile::open(&fixture.file).unwrap();
    let _participants = [file.participant().unwrap(), file.participant().unwrap()];
    let full = fixture.run(&[], &["true"]);
    assert_eq!(full.status.code(), Some(66));
    assert!(errors(&full).contains("(`turnlock create --participants N` does)"), "{}", errors(&full));
}

/// `/dev/fd/N`: the file that a descriptor is open on, as a shell hands it on.
#[test]
fn a_file_is_named_by_a_descriptor() {
    let fixture = Fixture::new();
    let script = |text: &str| {
        let mut shell = Command::new("bash");
        let text = text.replace("turnlock", env!("CARGO_BIN_EXE_turnlock"));
        shell.arg("-c").arg(text).arg("bash").arg(&fixture.file);
        limit::output(&mut shell).unwrap()
    };
    let create = script("turnlock create --participants 5 /dev/fd/7 7<>\"$1\"");
    assert!(create.status.success(), "{}", errors(&create));
    assert_eq!(fixture.status()["participant_capacity"], 5);
    let again = script("turnlock create /dev/fd/7 7<>\"$1\"");
    assert_eq!(again.status.code(), Some(66));
    assert!(errors(&again).contains("exists already"), "{}", errors(&again));
    // Deleted, it is still the same file to a process that has it by a descriptor: no other can come in its place.
    let run = script(
        "exec 7<>\"$1\"; rm \"$1\"; turnlock run --verbose /dev/fd/7 turnlock status --json \"/proc/self/fd/7\"",
    );
    assert!(run.status.success(), "{}", errors(&run));
    let status: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(status["locks"][0]["holders"][0]["fencing_token"], status["locks"][0]["fencing_token"]);
    assert!(!errors(&run).contains("replaced"), "{}", errors(&run));
    assert!(
        script("exec 7<>\"$1\"; turnlock run /dev/fd/7 true && turnlock reset /dev/fd/7").status.success()
    );
    let none = script("turnlock status /dev/fd/9");
    assert_eq!(none.status.code(), Some(66));
    assert!(errors(&none).contains("no such descriptor is open"), "{}", errors(&none));
}

#[test]
fn a_lock_that_no_process_uses_is_removed() {
    let fixture = Fixture::new();
    assert!(fixture.run(&["--lock", "job"], &["true"]).status.success());
    let remove = |name: &str| {
        let mut turnlock = fixture.command("remove-lock", &[], &[]);
        limit::output(turnlock.arg(name)).unwrap()
    };
    let (mut held, _output) = fixture.hold(&["--lock", "job"], "echo inside; sleep 0.5");
    let refused = remove("job");
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors(&refused).contains("is in use"), "{}", errors(&refused));
    held.wait().unwrap();
    fixture.run(&["--lock", "job"], &["sh", "-c", "kill -9 $$"]);
    let untold = remove("job");
    assert_eq!(untold.status.code(), Some(1));
    assert!(errors(&untold).contains("no holder has been told yet"), "{}", errors(&untold));
    assert!(limit::output(&mut fixture.command("reset", &["--lock", "job"], &[])).unwrap().status.success());
    let removed = remove("job");
    assert!(removed.status.success(), "{}", errors(&removed));
    assert_eq!(fixture.status()["locks"].as_array().unwrap().len(), 0);
    let again = remove("job");
    assert_eq!(again.status.code(), Some(66));
    assert!(errors(&again).contains("nothing called"), "{}", errors(&again));
    assert_eq!(remove("").status.code(), Some(66));
    assert!(fixture.run(&["--lock", "job"], &["true"]).status.success());
}
