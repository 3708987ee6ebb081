//! `turnlock flock`, as scripts use it that were written for flock(1).
//!
//! The cases of `what_a_file_that_is_held_shared_lets_in`, `a_descriptor_is_locked_and_unlocked_and_messages_are_flocks` and
//! `closed_for_the_command` are those of util-linux's own tests (tests/ts/flock/flock, unlock and close, of 2026), told anew.
//! Each is tried with a file that is not there, which the kernel locks, and with a lock file of turnlock's.

use super::*;
use support::until;

/// A fixture whose file is not there, and one whose file is turnlock's.
fn both() -> [(&'static str, Fixture); 2] {
    let (absent, made) = (Fixture::new(), Fixture::new());
    assert!(limit::output(&mut made.command("create", &[], &[])).unwrap().status.success());
    [("by the kernel", absent), ("by turns", made)]
}

/// A script that is inside, until it is let go.
struct Inside(Child, BufReader<std::process::ChildStdout>);

impl Inside {
    fn new(fixture: &Fixture, script: &str) -> Self {
        let mut child = fixture.shell(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        assert_eq!(limit::line(&mut output, &mut child).as_deref(), Ok("inside"), "{script}");
        Self(child, output)
    }

    fn let_go(mut self) {
        drop(self.0.stdin.take());
        limit::end_of(&mut self.0, "the holder");
    }
}

#[track_caller]
fn ends(fixture: &Fixture, script: &str, printed: &str, code: i32) -> String {
    let output = fixture.script(script);
    let said = errors(&output);
    assert_eq!((text(&output).as_str(), output.status.code()), (printed, Some(code)), "{script}: {said}");
    said
}

#[test]
fn what_a_file_that_is_held_shared_lets_in() {
    for (how, fixture) in both() {
        for api in ["", "--fcntl "] {
            println!("{how} {api}");
            let flock = |rest: &str| format!("turnlock flock {api}{rest}");
            let holder = Inside::new(
                &fixture,
                &flock("--shared \"$F\" bash -c 'echo inside; read stay; echo left >\"$F.left\"'"),
            );
            let never = "\"$F\" echo never";
            ends(&fixture, &flock(&format!("--nonblocking --conflict-exit-code 123 {never}")), "", 123);
            ends(&fixture, &flock(&format!("--no-fork --nonblocking -E 123 {never}")), "", 123);
            ends(&fixture, &flock("--shared \"$F\" echo shared"), "shared\n", 0);
            ends(&fixture, &flock(&format!("--nb --exclusive -E 123 {never}")), "", 123);
            ends(&fixture, &flock(&format!("-e -w 0 -E 123 {never}")), "", 123);
            ends(&fixture, &flock(&format!("-w 0.2 -E 5 {never}")), "", 5);
            let by_descriptor = format!("exec 4<>\"$F\"; {}", flock("-n -x -E 123 4"));
            ends(&fixture, &by_descriptor, "", 123);
            assert!(!fixture.file.with_file_name("4").exists());
            if api == "--fcntl " {
                // The two do not know each other.
                ends(&fixture, "turnlock flock --nonblock --exclusive \"$F\" echo beside", "beside\n", 0);
            }
            let waiter = flock("--timeout 60 --conflict-exit-code 5 \"$F\" cat \"$F.left\"");
            let waiter = fixture.shell(&waiter).stdout(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(200));
            holder.let_go();
            let waited = waiter.wait_with_output().unwrap();
            assert_eq!((text(&waited).as_str(), waited.status.code()), ("left\n", Some(0)), "after it");
            std::fs::remove_file(fixture.file.with_extension("lock.left")).unwrap();
        }
    }
}

#[test]
fn a_descriptor_is_locked_and_unlocked_and_messages_are_flocks() {
    for (how, fixture) in both() {
        let output = fixture.script(
            "exec 10<>\"$F\"; turnlock flock --exclusive --nonblock --verbose 10; turnlock flock --unlock 10
             turnlock flock --exclusive --wait 0 --verbose \"$F\" true; echo $?",
        );
        let said = text(&output);
        let lines: Vec<&str> = said.lines().collect();
        let [took, took_too, "flock: executing true", "0"] = lines[..] else { panic!("{how}: {said}") };
        for line in [took, took_too] {
            let seconds =
                line.strip_prefix("flock: getting lock took ").and_then(|rest| rest.strip_suffix(" seconds"));
            assert!(seconds.is_some_and(|seconds| seconds.parse::<f64>().is_ok()), "{how}: {line}");
        }
        let held = "exec 9<>\"$F\"; turnlock flock 9;";
        for (options, says) in [("-n", "failed to get lock"), ("-w 0.1", "timeout while waiting to get lock")]
        {
            let script = format!("{held} turnlock flock {options} --verbose \"$F\" true");
            assert_eq!(ends(&fixture, &script, "", 1), format!("flock: {says}\n"), "{how}");
        }
        // Again, or otherwise, by the same open file: it is converted. By a subshell, it is the same open file.
        let convert = format!(
            "{held} turnlock flock 9; turnlock flock -s 9; turnlock flock -sn \"$F\" echo shared; (turnlock flock -xn 9); \
             turnlock flock -sn \"$F\" true; echo $?; exec 9>&-; turnlock flock -n \"$F\" echo free"
        );
        ends(&fixture, &convert, "shared\n1\nfree\n", 0);
    }
}

#[test]
fn closed_for_the_command() {
    for (how, fixture) in both() {
        let inner = "\"turnlock flock -x -n --fd 10 true\"";
        let script =
            |options: &str| format!("exec 10<>\"$F\"; turnlock flock -x {options} --fd 10 -c {inner}");
        assert!(!fixture.script(&script("--close")).status.success(), "{how}: it has no such descriptor");
        ends(&fixture, &script(""), "", 0);
        // A command that leaves something in the background: with -o it does not keep the lock.
        ends(
            &fixture,
            "turnlock flock -o \"$F\" sh -c 'sleep 60 >/dev/null 2>&1 &'; turnlock flock -n \"$F\" echo free",
            "free\n",
            0,
        );
    }
}

#[test]
fn idioms_of_scripts() {
    for (how, fixture) in both() {
        println!("{how}");
        ends(
            &fixture,
            "(turnlock flock -n 9 || exit 1; echo alone; turnlock flock -n \"$F\" echo never) 9<>\"$F\"",
            "alone\n",
            1,
        );
        ends(&fixture, "exec 4<>\"$F\"; turnlock flock -n 4 && echo got it", "got it\n", 0);
        ends(&fixture, "turnlock flock \"$F\" -c 'echo a line; exit 3'", "a line\n", 3);
        ends(&fixture, "turnlock flock \"$F\" --command 'echo $0'", "/bin/sh\n", 0);
        ends(&fixture, "SHELL=/bin/bash turnlock flock \"$F\" -c 'echo ${BASH_VERSION:+bash}'", "bash\n", 0);
        ends(&fixture, "turnlock flock -x \"$F\" echo -n --help -c", "--help -c", 0);
        ends(
            &fixture,
            "turnlock flock -F \"$F\" sh -c 'echo $PPID' | grep -qx $$ && echo one process",
            "one process\n",
            0,
        );
        ends(&fixture, "exec 10<>\"$F\"; turnlock flock -n --fd 10 echo 1 2 3", "1 2 3\n", 0);
        ends(&fixture, "turnlock flock -u \"$F\" echo only run", "only run\n", 0);
    }
    // A script that locks itself, and a folder.
    let fixture = Fixture::new();
    let script = fixture.file.with_file_name("itself");
    std::fs::write(&script, "[ \"$FLOCKER\" != \"$0\" ] && exec env FLOCKER=\"$0\" turnlock flock -en -E 9 \"$0\" bash \"$0\" \"$@\" || :\necho inside; read stay\n").unwrap();
    let holder = Inside::new(&fixture, "bash ./itself");
    ends(&fixture, "bash ./itself </dev/null", "", 9);
    holder.let_go();
    ends(&fixture, "bash ./itself </dev/null", "inside\n", 1);
    ends(&fixture, "turnlock flock . turnlock flock -n . true", "", 1);
    // By its own name.
    let link = fixture.file.with_file_name("flock");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_turnlock"), link).unwrap();
    ends(&fixture, "./flock -n . echo by its name", "by its name\n", 0);
}

/// What `>` does to a lock file that is in use is not made worse.
#[test]
fn emptied_by_the_shell_a_file_is_locked_or_refused_but_never_by_two() {
    let fixture = Fixture::new();
    let idiom = "(turnlock flock -n -E 9 9 || exit; echo inside; read stay) 9>\"$F\"";
    let holder = Inside::new(&fixture, idiom);
    ends(&fixture, &format!("{idiom} </dev/null"), "", 9);
    ends(&fixture, "turnlock flock -n -E 9 \"$F\" true", "", 9);
    // Not made a lock file meanwhile.
    let refused = fixture.script("exec 8<>\"$F\"; turnlock lock --fd 8");
    assert_eq!(refused.status.code(), Some(66), "{}", errors(&refused));
    assert!(errors(&refused).contains("locked by flock(1)"), "{}", errors(&refused));
    holder.let_go();
    ends(&fixture, &format!("{idiom} </dev/null"), "inside\n", 1);

    let (_, fixture) = both().into_iter().nth(1).unwrap();
    for inside in ["turnlock flock \"$F\" sh -c", "turnlock run \"$F\" sh -c"] {
        let holder = Inside::new(&fixture, &format!("{inside} 'echo inside; read stay'"));
        for option in ["-s", "-x"] {
            let refused = fixture.script(&format!("turnlock flock {option} -w 0.3 9 9>\"$F\"; echo $?"));
            assert!(
                matches!(text(&refused).as_str(), "66\n" | "1\n"),
                "{}{}",
                text(&refused),
                errors(&refused)
            );
        }
        holder.let_go();
        std::fs::remove_file(&fixture.file).unwrap();
        assert!(limit::output(&mut fixture.command("create", &[], &[])).unwrap().status.success());
    }
}

fn has_flock() -> bool {
    let found = limit::output(Command::new("flock").arg("--version")).is_ok();
    if !found {
        println!("left out: flock(1) is not installed");
    }
    found
}

#[test]
fn it_and_flock_exclude_each_other() {
    if !has_flock() {
        return;
    }
    let fixture = Fixture::new();
    for (one, other) in [("turnlock flock", "flock"), ("flock", "turnlock flock")] {
        let holder = Inside::new(&fixture, &format!("{one} \"$F\" sh -c 'echo inside; read stay'"));
        ends(&fixture, &format!("{other} -n -E 9 \"$F\" true"), "", 9);
        ends(&fixture, &format!("{other} -s -n -E 9 9 9>>\"$F\""), "", 9);
        let waiter =
            fixture.shell(&format!("{other} \"$F\" echo after")).stdout(Stdio::piped()).spawn().unwrap();
        holder.let_go();
        assert_eq!(text(&waiter.wait_with_output().unwrap()), "after\n");
    }
}

#[test]
fn it_ends_as_flock_ends() {
    if !has_flock() {
        return;
    }
    for (how, fixture) in both() {
        for arguments in [
            "",
            "\"$F\"",
            "-n",
            "\"$F\" true",
            "\"$F\" false",
            "\"$F\" /nonexistent",
            "\"$F\" /etc/passwd",
            "\"$F\" sh -c 'kill -9 $$'",
            "\"$F\" sh -c 'kill -TERM $$'",
            "\"$F\" -c 'exit 200'",
            "\"$F\" -c",
            "\"$F\" -c true extra",
            "-w5 -E75 \"$F\" true",
            "-sw.5 -xn \"$F\" false",
            "-- \"$F\" true",
            "-1",
            "-E 256 \"$F\" true",
            "-E x \"$F\" true",
            "-w soon \"$F\" true",
            "--no-such-option \"$F\" true",
            "-o -F \"$F\" true",
            "-F \"$F\" sh -c 'exit 5'",
            "/nonexistent-folder/f true",
            "77",
            "-u 77",
            "nine",
            "-n 9 9<>\"$F\"",
            "-n 9 9<\"$F\"",
            "--help >/dev/null",
            "--version >/dev/null",
        ] {
            // flock(1) opens one of turnlock's too; while no process has it open, all is as with an empty file.
            let code =
                |flock: &str| fixture.script(&format!("touch \"$F\"; {flock} {arguments}")).status.code();
            assert_eq!(code("turnlock flock"), code("flock"), "{how}: flock {arguments}");
        }
    }
}

#[test]
fn a_limit_interrupts_the_kernel_however_signals_are_set() {
    let fixture = Fixture::new();
    let holder = Inside::new(&fixture, "turnlock flock \"$F\" sh -c 'echo inside; read stay'");
    let began = Instant::now();
    ends(&fixture, "trap '' ALRM; turnlock flock -w 0.3 -E 9 \"$F\" true", "", 9);
    assert!(began.elapsed() >= Duration::from_millis(300));
    // Ctrl-C and SIGTERM end a wait, as they do that of flock(1).
    let mut waiter = fixture.shell("exec turnlock flock \"$F\" true").spawn().unwrap();
    until("it waits", || {
        let line = std::fs::read_to_string(format!("/proc/{}/cmdline", waiter.id())).unwrap_or_default();
        line.contains("flock") && !line.starts_with("bash")
    });
    signal("TERM", waiter.id());
    assert_eq!(limit::end_of(&mut waiter, "the waiter").signal(), Some(15));
    // One that has its command passes it on.
    holder.let_go();
    let mut runs = Inside::new(
        &fixture,
        "exec turnlock flock \"$F\" sh -c 'trap \"echo got it; exit 4\" TERM; echo inside; while :; do sleep 0.02; done'",
    );
    signal("TERM", runs.0.id());
    assert_eq!(limit::line(&mut runs.1, &mut runs.0).as_deref(), Ok("got it"));
    assert_eq!(limit::end_of(&mut runs.0, "the command").code(), Some(4));
}
