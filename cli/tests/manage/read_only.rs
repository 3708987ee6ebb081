//! No command writes to a lock file unless its name says so, and a user who may only read it may look.

use super::*;
use std::{
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    time::SystemTime,
};

/// Everything that only looks.
const LOOKS: [&[&str]; 12] = [
    &["status"],
    &["status", "--all"],
    &["status", "--json"],
    &["status", "--lock", "default"],
    &["list"],
    &["list", "--json"],
    &["doctor"],
    &["doctor", "--json"],
    &["trace"],
    &["report"],
    &["metrics"],
    &["metrics", "--recent"],
];
/// Everything that writes, and takes no more than a file.
const WRITES: [&[&str]; 5] =
    [&["reset"], &["reap"], &["grow", "--locks", "70"], &["create"], &["run", "--try"]];
const NOBODY: u32 = 65534;

/// When it was last changed, in any way that the kernel notes, and what is in it.
fn state(path: &Path) -> (SystemTime, i64, i64, Vec<u8>) {
    let meta = path.metadata().unwrap();
    (meta.modified().unwrap(), meta.ctime(), meta.ctime_nsec(), std::fs::read(path).unwrap())
}

#[test]
fn looking_leaves_no_trace() {
    let fixture = new_fixture();
    assert_eq!(fixture.turnlock("create", &["--record", "1000"]).status.code(), Some(0));
    let dies = ["sh", "-c", "kill -9 $$"];
    assert_eq!(fixture.run(&["--lock", "sad", "--on-death", "inform"], &dies), Some(137));
    fixture.leave_dead(&[]);
    let before = state(&fixture.file);
    for look in LOOKS {
        let output = fixture.turnlock(look[0], &look[1..]);
        assert_eq!(output.status.code(), Some(0), "{look:?}: {}{}", text(&output), errors(&output));
        assert!(state(&fixture.file) == before, "{look:?} has changed the file");
    }
    assert_eq!(fixture.turnlock("reap", &[]).status.code(), Some(0));
    assert!(state(&fixture.file) != before, "a change is noticed");
}

/// A file with mode 0444, seen by an unprivileged user.
#[test]
fn a_user_who_may_only_read_may_look_and_is_told_that_the_rest_is_not_allowed() {
    let fixture = new_fixture();
    assert_eq!(fixture.turnlock("create", &["--record", "1000"]).status.code(), Some(0));
    let _holder = fixture.hold(&["--label", "importer"]);
    // Where that user may come by the command and the file.
    let folder =
        tempfile::Builder::new().permissions(std::fs::Permissions::from_mode(0o755)).tempdir().unwrap();
    let command = folder.path().join("turnlock");
    // By another process: what this one has open for writing, a child that another test starts would have too.
    assert!(limit::status(Command::new("cp").arg(TURNLOCK).arg(&command)).unwrap().success());
    std::fs::set_permissions(fixture.folder(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&fixture.file, std::fs::Permissions::from_mode(0o1444)).unwrap();
    let is_root = fixture.file.metadata().unwrap().uid() == 0;
    let as_nobody = |arguments: &[&str]| {
        let mut turnlock = Command::new(&command);
        turnlock.arg(arguments[0]).args(&arguments[1..]).arg(&fixture.file).current_dir("/");
        if arguments[0] == "run" {
            turnlock.arg("true");
        }
        // Its owner, who is not root, may not write to such a file either.
        if is_root {
            turnlock.uid(NOBODY).gid(NOBODY);
        }
        limit::output(&mut turnlock).unwrap()
    };
    let before = state(&fixture.file);
    for look in LOOKS {
        let output = as_nobody(look);
        // That others may open it is a problem to the doctor.
        let code = if look[0] == "doctor" { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{look:?}: {}{}", text(&output), errors(&output));
    }
    assert!(text(&as_nobody(&["status"])).contains("held for "), "{}", text(&as_nobody(&["status"])));
    let status = json(&as_nobody(&["status", "--json"]));
    assert_eq!(status["locks"][0]["holders"][0]["label"], "importer");
    assert_eq!(status["locks"][0]["holders"][0]["life"], "alive", "life is seen without the right to write");
    for write in WRITES {
        let refused = as_nobody(write);
        assert_eq!(refused.status.code(), Some(66), "{write:?}: {}", errors(&refused));
    }
    let refused = as_nobody(&["rm"]);
    assert_eq!(refused.status.code(), Some(66), "{}", errors(&refused));
    let mut remove = Command::new(&command);
    remove.arg("remove-lock").arg(&fixture.file).arg("default").current_dir("/");
    if is_root {
        remove.uid(NOBODY).gid(NOBODY);
    }
    assert_eq!(limit::output(&mut remove).unwrap().status.code(), Some(66));
    assert!(state(&fixture.file) == before);
}
