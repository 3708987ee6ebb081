//! `turnlock demo --hosts`: it holds what it claims, and leaves nothing behind. The command is built by `ci/link`; where it was not, each test
//! says so and does nothing.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use support::{limit, until};

/// A folder of the demo's own, within which it makes its own.
struct Demo {
    command: Command,
    folder: tempfile::TempDir,
}

/// Returns one of so many hosts, if it can be run here.
fn demo(hosts: &str) -> Option<Demo> {
    let turnlock = Path::new(env!("CARGO_BIN_EXE_turnlock-link")).with_file_name("turnlock");
    if !turnlock.is_file() {
        let what = "skipped, turnlock is not built (cargo build --bins)";
        let _ = writeln!(std::io::stderr(), "{}: {what}", std::thread::current().name().unwrap_or("a test"));
        return None;
    }
    // It says so itself where etcd is missing.
    drop(crate::engine::etcd()?);
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(turnlock);
    command.args(["demo", "--hosts", hosts, "--json"]).env("TMPDIR", folder.path());
    Some(Demo { command, folder })
}

impl Demo {
    /// Begins, and waits until programs have turns.
    fn begin(&mut self) -> Child {
        let story = File::create(self.folder.path().join("story")).unwrap();
        let child = self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(story).spawn().unwrap();
        until("programs have turns", || {
            self.made()
                .is_some_and(|made| fs::metadata(made.join("journal")).is_ok_and(|file| file.len() > 0))
        });
        child
    }

    /// The folder that it has made.
    fn made(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.into_iter().find(|path| path.is_dir())
    }

    /// Whether the folder is gone, and every process of which a word names it.
    fn is_gone(&self) -> bool {
        let name = self.folder.path().to_str().unwrap();
        let names_it = |process: PathBuf| {
            fs::read(process.join("cmdline"))
                .is_ok_and(|words| String::from_utf8_lossy(&words).contains(name))
        };
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
        self.made().is_none() && !processes.into_iter().any(names_it)
    }
}

#[test]
fn every_claim_holds_with_two_hosts_and_with_four() {
    for hosts in ["2", "4"] {
        let Some(mut demo) = demo(hosts) else { return };
        let output = limit::output(&mut demo.command).unwrap();
        let story = String::from_utf8_lossy(&output.stderr);
        let verdict: serde_json::Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {story}"));
        assert!(output.status.success(), "{verdict:#}\n{story}");
        let claims = verdict["claims"].as_array().unwrap();
        assert!(claims.len() == 7 && claims.iter().all(|claim| claim["holds"] == true), "{verdict:#}");
        assert_eq!(verdict["hosts"].as_array().unwrap().len().to_string(), hosts);
        assert!(demo.is_gone(), "{story}");
    }
}

#[test]
fn hosts_that_nothing_keeps_apart_are_found_out() {
    let Some(mut good) = demo("3") else { return };
    // The agents are run below a prefix of each host's own.
    let script = format!(
        "#!/bin/sh\ncase $1 in run) host=$5 ;; *) host=$2 ;; esac\nexec '{}' \"$@\" --prefix \"$host\"\n",
        env!("CARGO_BIN_EXE_turnlock-link")
    );
    let folder = good.folder.path().join("bin");
    fs::create_dir(&folder).unwrap();
    // Made by another process: what this one has open for writing, a child that another test starts would have, too.
    let (link, turnlock) = (folder.join("turnlock-link"), folder.join("turnlock"));
    let make = "cp \"$1\" \"$2\" && printf %s \"$3\" >\"$4\" && chmod 755 \"$4\"";
    let mut sh = Command::new("sh");
    sh.args(["-c", make, "sh"]).arg(good.command.get_program()).arg(&turnlock).arg(script).arg(link);
    assert!(limit::status(&mut sh).unwrap().success());
    let mut command = Command::new(turnlock);
    command.args(good.command.get_args()).env("TMPDIR", good.folder.path());
    good.command = command;
    let output = limit::output(&mut good.command).unwrap();
    let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{verdict:#}");
    let claims = verdict["claims"].as_array().unwrap();
    let broken = |at: usize| claims[at]["holds"] == false;
    // That all have turns holds.
    assert!(verdict["in_order"] == false && (0..7).all(|at| broken(at) == (at != 1)), "{verdict:#}");
}

#[test]
fn one_that_is_interrupted_or_killed_leaves_nothing_behind() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL] {
        let Some(mut demo) = demo("3") else { return };
        let mut child = demo.begin();
        assert!(!demo.is_gone());
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        let ended = limit::end_of(&mut child, "the demo");
        if signal != Signal::SIGKILL {
            assert_eq!(ended.code(), Some(128 + signal as i32));
            assert!(demo.is_gone(), "{signal}");
        }
        // One that is killed leaves that to a process of its own.
        until("nothing is left", || demo.is_gone());
    }
}
