//! The command, as a shell script meets it: exit codes, signals, what the command inherits, what status says.

mod coordination;
mod create;
mod ends;
mod flock;
mod groups;
mod hold;
mod kinds;
mod lease;
mod link;
mod namespaces;
mod output;
mod running;
mod terminal;
mod waiting;

use std::{
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};
use support::{limit, until};

support::watched_for_seconds!(support::watchdog::USUAL);

struct Fixture {
    _folder: tempfile::TempDir,
    file: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.lock");
        Self { _folder: folder, file }
    }

    /// `turnlock WORD OPTIONS FILE [-- COMMAND]`.
    fn command(&self, word: &str, options: &[&str], command: &[&str]) -> Command {
        let mut turnlock = Command::new(env!("CARGO_BIN_EXE_turnlock"));
        turnlock.arg(word).args(options).arg(&self.file);
        if !command.is_empty() {
            turnlock.arg("--").args(command);
        }
        turnlock
    }

    fn run(&self, options: &[&str], command: &[&str]) -> Output {
        limit::output(&mut self.command("run", options, command)).unwrap()
    }

    /// A bash that runs `script`, in which `turnlock` is the command and `$F` the lock file.
    fn shell(&self, script: &str) -> Command {
        let mut folders = vec![Path::new(env!("CARGO_BIN_EXE_turnlock")).parent().unwrap().to_owned()];
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(script).arg("bash").current_dir(self.file.parent().unwrap());
        shell
            .env("PATH", std::env::join_paths(folders).unwrap())
            .env("F", &self.file)
            .env("SHELL", "/bin/sh");
        shell
    }

    /// What it says, and how it ends.
    fn script(&self, script: &str) -> Output {
        limit::output(&mut self.shell(script)).unwrap()
    }

    /// A `turnlock run` that is inside: its shell has printed a line.
    fn hold(&self, options: &[&str], script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
        let mut child =
            self.command("run", options, &["sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        assert_eq!(limit::line(&mut output, &mut child).as_deref(), Ok("inside"));
        (child, output)
    }

    fn status(&self) -> serde_json::Value {
        let output = limit::output(&mut self.command("status", &["--json"], &[])).unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Waits until `status` shows so many queued for good at the first lock.
    fn until_queued(&self, waiting: usize) -> serde_json::Value {
        let queued = |waiter: &&serde_json::Value| waiter["state"] == "queued";
        self.until(|status| {
            let queue = status["locks"][0]["queue"].as_array();
            queue.is_some_and(|queue| queue.iter().filter(queued).count() == waiting)
        })
    }

    /// Waits until `status` shows what is wanted.
    fn until(&self, wanted: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let deadline = Instant::now() + limit::of_processes();
        loop {
            let status = self.status();
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "{status}");
        }
    }

    /// What `status` prints for people.
    fn status_text(&self) -> String {
        self.status_text_with(&[])
    }

    /// Likewise, with options; each line as it would be on a screen without end.
    fn status_text_with(&self, options: &[&str]) -> String {
        let printed = text(&limit::output(&mut self.command("status", options, &[])).unwrap());
        printed.replace("\n        ", " ")
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_commands_exit_code_is_passed_on() {
    let fixture = Fixture::new();
    for code in [0, 1, 7, 255] {
        let output = fixture.run(&[], &["sh", "-c", &format!("exit {code}")]);
        assert_eq!(output.status.code(), Some(code), "{}", errors(&output));
    }
    assert_eq!(fixture.run(&[], &["sh", "-c", "kill -TERM $$"]).status.code(), Some(128 + 15));
}

#[test]
fn not_acquired_has_a_code_of_its_own() {
    let fixture = Fixture::new();
    let (mut holder, _output) = fixture.hold(&[], "echo inside; sleep 60");
    assert_eq!(fixture.run(&["--try"], &["true"]).status.code(), Some(1));
    assert_eq!(fixture.run(&["--try", "-E", "75"], &["true"]).status.code(), Some(75));
    let began = Instant::now();
    assert_eq!(fixture.run(&["--timeout", "0.2", "-E", "9"], &["true"]).status.code(), Some(9));
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert_eq!(fixture.run(&["--try", "--lock", "another"], &["true"]).status.code(), Some(0));
    end_group(&mut holder);
}

/// Kills a holder and the command that it runs.
fn end_group(holder: &mut Child) {
    holder_command(holder.id()).into_iter().for_each(|pid| signal("KILL", pid));
    limit::end_of(holder, "the holder");
}

fn signal(name: &str, pid: u32) {
    assert!(limit::status(Command::new("kill").args(["-s", name, &pid.to_string()])).unwrap().success());
}

/// The children of a process.
fn holder_command(pid: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

#[test]
fn messages_name_the_file_as_it_was_typed() {
    let fixture = Fixture::new();
    let folder = fixture.file.parent().unwrap();
    std::fs::write(folder.join("other"), "something else").unwrap();
    std::fs::create_dir(folder.join("below")).unwrap();
    let said = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnlock"));
        errors(&limit::output(command.args(words).current_dir(folder)).unwrap())
    };
    for (words, begin) in [
        (&["status", "other"][..], "turnlock: other: it is only"),
        (&["run", "./other", "true"], "turnlock: ./other: it is only"),
        (&["reap", "below/../other"], "turnlock: below/../other: it is only"),
        (&["rm", "none"], "turnlock: none: it does not exist"),
        (&["run", "none/here", "true"], "turnlock: none/here: the folder none does not exist"),
    ] {
        assert!(said(words).starts_with(begin), "{words:?}: {}", said(words));
    }
}

#[test]
fn errors_name_the_path_and_have_flocks_codes() {
    let fixture = Fixture::new();
    let turnlock = |arguments: &[&str]| {
        limit::output(Command::new(env!("CARGO_BIN_EXE_turnlock")).args(arguments)).unwrap()
    };
    let missing = turnlock(&["run", "/nonexistent-folder/a.lock", "--", "true"]);
    assert_eq!(missing.status.code(), Some(66));
    assert!(errors(&missing).contains("/nonexistent-folder/a.lock"), "{}", errors(&missing));
    assert_eq!(turnlock(&["run", "/tmp", "--", "true"]).status.code(), Some(66));
    assert_eq!(turnlock(&["run"]).status.code(), Some(64));
    assert_eq!(turnlock(&["run", "--timeout", "soon", "f", "--", "true"]).status.code(), Some(64));
    assert_eq!(turnlock(&["status", "/etc/hostname"]).status.code(), Some(66));
    assert_eq!(turnlock(&["--help"]).status.code(), Some(0));
    let unstartable = fixture.run(&[], &["/nonexistent-command"]);
    assert_eq!(unstartable.status.code(), Some(69));
    assert_eq!(fixture.run(&["--try"], &["true"]).status.code(), Some(0), "and the lock was given back");
    assert_eq!(
        limit::output(&mut fixture.command("reset", &["--lock", "nobody"], &[])).unwrap().status.code(),
        Some(66)
    );
}

#[test]
fn exit_codes_are_those_of_flock() {
    let Ok(folder) = tempfile::tempdir() else { return };
    let flock_file = folder.path().join("flock");
    let fixture = Fixture::new();
    if limit::output(Command::new("flock").arg("--version")).is_err() {
        println!("left out: flock(1) is not installed");
        return;
    }
    let flock = |options: &[&str], command: &[&str]| {
        limit::output(Command::new("flock").args(options).arg(&flock_file).args(command)).unwrap().status
    };
    for command in
        [&["true"][..], &["sh", "-c", "exit 3"], &["/nonexistent-command"], &["sh", "-c", "kill -9 $$"]]
    {
        assert_eq!(flock(&[], command).code(), fixture.run(&[], command).status.code(), "{command:?}");
    }
}

#[test]
fn a_signal_is_passed_on_to_the_command() {
    let fixture = Fixture::new();
    for name in ["TERM", "HUP", "USR1"] {
        let script = format!("trap 'echo got it; exit 5' {name}; echo inside; while :; do sleep 0.05; done");
        let (mut holder, mut output) = fixture.hold(&[], &script);
        signal(name, holder.id());
        assert_eq!(limit::line(&mut output, &mut holder).as_deref(), Ok("got it"), "{name}");
        assert_eq!(limit::end_of(&mut holder, name).code(), Some(5), "{name}");
    }
}

#[test]
fn the_command_stays_protected_when_turnlock_is_killed() {
    let fixture = Fixture::new();
    let (mut holder, _output) = fixture.hold(&["--label", "nightly"], "echo inside; exec sleep 60");
    let command = holder_command(holder.id())[0];
    holder.kill().unwrap();
    assert_eq!(limit::end_of(&mut holder, "the holder").signal(), Some(9));
    // Killed, and yet the lock is held: by the command.
    for _ in 0..3 {
        assert_eq!(fixture.run(&["--timeout", "0.2"], &["true"]).status.code(), Some(1));
    }
    let status = fixture.status();
    assert_eq!(status["locks"][0]["holders"][0]["label"], "nightly");
    assert_eq!(status["locks"][0]["holders"][0]["life"], "alive");
    signal("KILL", command);
    let next = fixture.run(&[], &["sh", "-c", "echo $TURNLOCK_PREVIOUS_OWNER_DIED $TURNLOCK_PREVIOUS_OWNER"]);
    assert_eq!(text(&next), "1 nightly\n", "the next one is told: {}", errors(&next));
    assert!(errors(&next).contains("nightly"));
}

#[test]
fn with_close_the_command_is_not_waited_for() {
    let fixture = Fixture::new();
    let (mut holder, _output) = fixture.hold(&["--close"], "echo inside; sleep 60");
    let command = holder_command(holder.id())[0];
    holder.kill().unwrap();
    limit::end_of(&mut holder, "the holder");
    assert_eq!(fixture.run(&["--timeout", "10"], &["true"]).status.code(), Some(0));
    signal("KILL", command);
}

#[test]
fn a_background_process_of_the_command_does_not_keep_the_lock() {
    let fixture = Fixture::new();
    let output = fixture.run(&[], &["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"]);
    let background: u32 = text(&output).trim().parse().unwrap();
    assert_eq!(fixture.run(&["--try"], &["true"]).status.code(), Some(0));
    assert!(fixture.status()["participants"].as_array().unwrap().is_empty());
    signal("KILL", background);
}

#[test]
fn the_environment_says_what_came_with_the_lock() {
    let fixture = Fixture::new();
    let token = |output: &Output| text(output).trim().parse::<u64>().unwrap();
    let first = fixture.run(&[], &["sh", "-c", "echo $TURNLOCK_FENCING_TOKEN"]);
    let second = fixture.run(&[], &["sh", "-c", "echo $TURNLOCK_FENCING_TOKEN"]);
    assert!(token(&second) > token(&first));
    let died = ["sh", "-c", "echo $TURNLOCK_PREVIOUS_OWNER_DIED"];
    assert_eq!(text(&fixture.run(&[], &died)), "0\n");
    assert_eq!(fixture.run(&[], &["sh", "-c", "kill -9 $$"]).status.code(), Some(137));
    // Told, but it fails: it has not repaired anything, so the one after it is told again.
    assert_eq!(fixture.run(&[], &["false"]).status.code(), Some(1));
    assert_eq!(text(&fixture.run(&[], &died)), "1\n");
    assert_eq!(text(&fixture.run(&[], &died)), "0\n");
}

#[test]
fn status_shows_the_holder_and_the_queue_in_order() {
    let fixture = Fixture::new();
    let (mut holder, _output) = fixture.hold(&["--label", "holder"], "echo inside; sleep 60");
    let mut waiters = Vec::new();
    for at in 1..=3 {
        let label = format!("waiter {at}");
        waiters.push(fixture.command("run", &["--label", &label], &["true"]).spawn().unwrap());
        fixture.until_queued(at);
    }
    let status = fixture.status();
    let lock = &status["locks"][0];
    assert_eq!((&lock["name"], &lock["state"]), (&"default".into(), &"consistent".into()));
    assert_eq!(lock["holders"][0]["label"], "holder");
    assert_eq!(lock["holders"][0]["pid"], holder.id());
    assert_eq!(lock["holders"][0]["program"], "turnlock");
    assert_eq!(lock["holders"][0]["fencing_token"], lock["fencing_token"]);
    assert_eq!(lock["holders"][0]["claim"], serde_json::json!({"mode": "exclusive"}));
    assert_eq!(lock["queue"][0]["claim"], lock["holders"][0]["claim"]);
    assert!(lock["holders"][0]["for_seconds"].as_f64().unwrap() < 60.0);
    let queue: Vec<_> =
        lock["queue"].as_array().unwrap().iter().map(|entry| entry["label"].as_str()).collect();
    assert_eq!(queue, [Some("waiter 1"), Some("waiter 2"), Some("waiter 3")]);
    signal("STOP", holder.id());
    let plain = || fixture.status_text_with(&["--all"]);
    // A signal is sent before it has come.
    until("it is stopped", || plain().contains("stopped"));
    let plain = plain();
    assert!(plain.contains(" by holder, run by turnlock (pid ") && plain.contains("stopped"), "{plain}");
    assert!(plain.contains("  1. waiter 1") && !plain.contains('\u{1b}'), "no colours in a file: {plain}");
    signal("CONT", holder.id());
    end_group(&mut holder);
    for mut waiter in waiters {
        assert!(limit::end_of(&mut waiter, "the waiter").success());
    }
}

#[test]
fn reset_opens_a_lock_that_is_not_recoverable() {
    let fixture = Fixture::new();
    let file = turnlock::LockFile::open(&fixture.file).unwrap();
    let mutex = file.mutex("default").unwrap();
    assert_eq!(fixture.run(&[], &["sh", "-c", "kill -9 $$"]).status.code(), Some(137));
    let guard = mutex.lock().unwrap();
    assert!(guard.acquired().previous_owner_died);
    drop(guard); // without mark_consistent
    let closed = fixture.run(&[], &["true"]);
    assert_eq!(closed.status.code(), Some(65), "{}", errors(&closed));
    assert!(errors(&closed).contains("turnlock reset"), "{}", errors(&closed));
    assert_eq!(fixture.status()["locks"][0]["state"], "not_recoverable");
    let plain = fixture.status_text();
    assert!(plain.contains("): closed, last fencing token ") && !plain.contains("free"), "{plain}");
    assert!(plain.contains("\n    turnlock reset --lock default "), "{plain}");
    assert!(limit::status(&mut fixture.command("reset", &[], &[])).unwrap().success());
    assert_eq!(fixture.run(&[], &["true"]).status.code(), Some(0));
}

#[test]
fn the_creator_of_a_lock_says_how_patient_its_waiters_are() {
    let fixture = Fixture::new();
    let said = [("strict", "0"), ("patient", "0.25"), ("strict", "0")];
    for (lock, patience) in said {
        assert!(fixture.run(&["--lock", lock, "--patience", patience], &["true"]).status.success());
    }
    assert!(fixture.run(&["--lock", "usual"], &["true"]).status.success());
    let status = fixture.status_text();
    for line in ["strict (mutex, bakery, strict order, ", "patient (mutex, bakery, patience 250 ms, "] {
        assert!(status.contains(line), "{status}");
    }
    assert!(status.contains("usual (mutex, bakery, patience 1 ms, a death releases it): "), "{status}");
    assert_eq!(fixture.status()["locks"][0]["patience_seconds"], 0.0);
    let on_a_ring = fixture.run(&["--lock", "ring", "--algorithm", "sum", "--patience", "1"], &["true"]);
    assert_eq!(on_a_ring.status.code(), Some(64));
    let told = String::from_utf8(on_a_ring.stderr).unwrap();
    assert!(told.contains("--patience is not for rings"), "{told}");
    assert_eq!(fixture.status()["locks"].as_array().unwrap().len(), said.len());
}

/// What is asked for and differs from what a lock has is refused, in whichever kind of lock it is found; what is not asked for
/// is whatever the lock has.
#[test]
fn a_patience_or_a_death_policy_that_a_lock_does_not_have_is_refused() {
    let fixture = Fixture::new();
    type Options = &'static [&'static str];
    let created: [(&str, Options, &[Options]); 6] = [
        ("mutex", &["--patience", "0.25"], &[&["--patience", "0"], &["--on-death", "inform"]]),
        ("informs", &["--on-death", "inform"], &[&["--on-death", "release"], &["--patience", "0"]]),
        ("rwlock", &["-x", "--patience", "0"], &[&["--patience", "1"], &["--on-death", "inform"]]),
        ("semaphore", &["--permits", "2"], &[&["--patience", "0"], &["--on-death", "inform"]]),
        ("ring", &["--turn", "--on-death", "inform"], &[&["--on-death", "release"], &["--patience", "1"]]),
        ("range", &["--range", "0-"], &[&["--on-death", "inform"], &["--patience", "1"]]),
    ];
    for (name, options, others) in created {
        let run = |more: &[&str]| fixture.run(&[&["--lock", name], more].concat(), &["true"]);
        let state = || fixture.status()["locks"].clone();
        for options in [options, options, &[]] {
            assert!(run(options).status.success(), "{name} {options:?}: {}", errors(&run(options)));
        }
        for other in others {
            // As whatever it is, and, where that goes together, as what it was created as.
            let as_created = [options.iter().filter(|option| ["-x", "--turn"].contains(option)).copied()];
            for more in
                [other.to_vec(), as_created.into_iter().flatten().chain(other.iter().copied()).collect()]
            {
                let is_usage = more.contains(&"--turn") && more.contains(&"--patience");
                let refused = run(&more);
                assert_eq!(refused.status.code(), Some(if is_usage { 64 } else { 66 }), "{name} {more:?}");
                let told = errors(&refused);
                let says_what = told.contains("was asked for") || told.contains("leave ");
                assert!(
                    says_what && (is_usage || told.contains("use another name")),
                    "{name} {more:?}: {told}"
                );
            }
        }
        assert!(run(&[]).status.success(), "{name} {}", state());
    }
}

#[test]
fn a_ring_is_created_by_its_algorithm_and_used_by_its_name() {
    let fixture = Fixture::new();
    for (lock, algorithm, shown) in [
        ("a", &["--algorithm", "k-state"][..], "a (ring, k-state, in turn, a death releases it)"),
        ("b", &["--algorithm", "raynal"], "b (ring, raynal, in turn, a death releases it)"),
        (
            "c",
            &["--algorithm", "sum", "--step", "127"],
            "c (ring, sum, in turn, step 127, a death releases it)",
        ),
    ] {
        let named = ["--lock", lock];
        assert!(fixture.run(&[&named[..], algorithm].concat(), &["true"]).status.success());
        assert!(fixture.run(&named, &["true"]).status.success(), "whichever it is");
        let status = fixture.status_text();
        assert!(status.contains(shown), "{status}");
        // A holder died inside, and no other repaired: the lock is closed, and a reset opens it as any other.
        assert_eq!(fixture.run(&named, &["sh", "-c", "kill -9 $$"]).status.code(), Some(137));
        assert_eq!(fixture.run(&named, &["false"]).status.code(), Some(1));
        assert!(limit::status(&mut fixture.command("reset", &named, &[])).unwrap().success());
        let healed = fixture.run(&named, &["sh", "-c", "exit $TURNLOCK_PREVIOUS_OWNER_DIED"]);
        assert_eq!(healed.status.code(), Some(0));
    }
    let other = fixture.run(&["--lock", "a", "--algorithm", "bakery"], &["true"]);
    assert_eq!(other.status.code(), Some(66));
    assert!(
        errors(&other).contains("is a ring (k-state), and a mutex (bakery) was asked for"),
        "{}",
        errors(&other)
    );
    let unsound = fixture.run(&["--lock", "d", "--algorithm", "sum", "--step", "2"], &["true"]);
    assert_eq!(unsound.status.code(), Some(66));
    assert!(errors(&unsound).contains("cannot have step 2"), "{}", errors(&unsound));
}

#[test]
fn waiters_for_a_ring_are_shown_in_the_order_of_their_turns() {
    let fixture = Fixture::new();
    let go = fixture.file.with_extension("go");
    let until_go = format!("echo inside; until [ -e {} ]; do sleep 0.01; done", go.display());
    let (mut holder, _output) = fixture.hold(&["--algorithm", "raynal", "--label", "first"], &until_go);
    let waiters = ["second", "third"].map(|label| {
        let waiter = fixture.command("run", &["--label", label], &["true"]).spawn().unwrap();
        let _ = fixture.until_queued(if label == "second" { 1 } else { 2 });
        waiter
    });
    let status = fixture.until_queued(2);
    let lock = &status["locks"][0];
    assert_eq!((&lock["kind"], &lock["turn_of"]), (&"ring".into(), &lock["holders"][0]["slot"]));
    let labels = [0, 1].map(|at| lock["queue"][at]["label"].clone());
    assert_eq!(labels, ["second", "third"]);
    assert_eq!(lock["queue"][0]["takes_part"], "on demand");
    std::fs::write(go, "").unwrap();
    assert!(limit::end_of(&mut holder, "the holder").success());
    for mut waiter in waiters {
        assert!(limit::end_of(&mut waiter, "the waiter").success());
    }
}
