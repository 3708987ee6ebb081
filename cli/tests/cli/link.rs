//! `turnlock link`: a program of its own is started.

use super::*;
use std::{fs, os::unix::fs::PermissionsExt};

/// turnlock in a folder of its own, where nothing lies beside it.
fn alone() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let turnlock = folder.path().join("turnlock");
    fs::copy(env!("CARGO_BIN_EXE_turnlock"), &turnlock).unwrap();
    (folder, turnlock)
}

/// A turnlock-link that says where it lies, and what it was given.
fn put_link(folder: &Path) {
    let path = folder.join("turnlock-link");
    fs::write(&path, "#!/bin/sh\necho \"$0\" \"$@\"\nexit 7\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn it_starts_the_program_beside_it_and_else_the_one_in_the_path() {
    let ((folder, turnlock), elsewhere) = (alone(), tempfile::tempdir().unwrap());
    put_link(elsewhere.path());
    let run = || {
        let path = format!("{}:/usr/bin:/bin", elsewhere.path().display());
        let mut command = Command::new(&turnlock);
        limit::output(command.args(["link", "run", "a.lock", "--host", "x", "--help"]).env("PATH", path))
            .unwrap()
    };
    for folder in [elsewhere.path(), folder.path()] {
        put_link(folder);
        let output = run();
        let expected = format!("{}/turnlock-link run a.lock --host x --help\n", folder.display());
        assert_eq!((text(&output), output.status.code()), (expected, Some(7)));
    }
}

#[test]
fn it_says_how_to_install_the_program() {
    let (_folder, turnlock) = alone();
    let output =
        limit::output(Command::new(&turnlock).args(["link", "status"]).env("PATH", "/nowhere")).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("turnlock-link is not installed") && said.contains("cargo install"), "{said}");
    assert_eq!(output.status.code(), Some(69));
    let output = limit::output(Command::new(&turnlock).arg("link")).unwrap();
    assert_eq!(output.status.code(), Some(64));
}
