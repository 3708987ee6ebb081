//! `turnlock demo --hosts`, where it cannot be shown. The demo itself: `demo` of `link/command/tests/etcd`, where etcd is.

use crate::{copy_of_the_command, verdict};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use support::limit;

/// A copy of the command, and a folder that is all of its PATH.
struct Place {
    away: tempfile::TempDir,
    command: PathBuf,
}

impl Place {
    fn new() -> Self {
        let away = tempfile::tempdir().unwrap();
        let command = copy_of_the_command(away.path());
        for folder in ["path", "temporary"] {
            fs::create_dir(away.path().join(folder)).unwrap();
        }
        Self { away, command }
    }

    /// A program of this name, which says its version and then does this.
    fn put(&self, name: &str, version: &str, script: &str) {
        let path = self.away.path().join("path").join(name);
        let script =
            format!("#!/bin/sh\n[ \"$1\" != --version ] || {{ echo \"{version}\"; exit; }}\n{script}\n");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn demo(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.command);
        command.args(["demo", "--hosts"]).args(arguments);
        command.env("PATH", self.away.path().join("path")).env("TMPDIR", self.temporary());
        limit::output(&mut command).unwrap()
    }

    fn temporary(&self) -> PathBuf {
        self.away.path().join("temporary")
    }
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn what_is_missing_is_named_with_how_to_install_it() {
    let place = Place::new();
    let install = [
        "etcd is missing: install it (Debian: apt-get install etcd-server)",
        "turnlock-link is missing: install it from",
    ];
    let output = place.demo(&["3"]);
    let why = said(&output);
    assert_eq!(output.status.code(), Some(69), "{why}");
    assert!(install.iter().all(|part| why.contains(part)), "{why}");
    assert!(why.contains("cargo install --path link/command"), "{why}");
    place.put("turnlock-link", "turnlock-link 0.1.0", "exit 7");
    let output = place.demo(&["3", "--json"]);
    let why = said(&output);
    assert!(why.contains(install[0]) && !why.contains(install[1]), "{why}");
    assert_eq!(verdict(&output)["exit_code"], 69);
    fs::remove_file(place.away.path().join("path/turnlock-link")).unwrap();
    place.put("etcd", "etcd Version: 3.4.23", "exit 7");
    let why = said(&place.demo(&["2"]));
    assert!(!why.contains(install[0]) && why.contains(install[1]), "{why}");
    assert!(is_empty(&place.temporary()));
}

#[test]
fn an_etcd_or_an_agent_that_ends_is_told_of_and_nothing_is_left() {
    let place = Place::new();
    place.put("turnlock-link", "turnlock-link 0.1.0", "exit 7");
    place.put("etcd", "etcd Version: 3.4.23", "echo the disk is full >&2; exit 3");
    let output = place.demo(&["2"]);
    let why = said(&output);
    assert_eq!(output.status.code(), Some(1), "{why}");
    assert!(why.contains("etcd ended (exit status: 3): the disk is full"), "{why}");
    assert!(is_empty(&place.temporary()));
}

#[test]
fn what_does_not_go_with_it_is_refused() {
    let place = Place::new();
    for arguments in [
        &["1"][..],
        &["6"],
        &["x"],
        &["3", "--turns", "100"],
        &["3", "--kill", "c"],
        &["3", "--separate-locks"],
    ] {
        let output = place.demo(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {}", said(&output));
    }
}
