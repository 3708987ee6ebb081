//! How a waiting or running command is ended, and what the next holder hears of it.

use super::{
    terminal::{SHELL, Terminal},
    *,
};
use support::until;

/// Whether the next holder is told of a death, as `turnlock run` says it to its command.
fn told(fixture: &Fixture) -> String {
    text(&fixture.run(&["--timeout", "20"], &["sh", "-c", "echo $TURNLOCK_PREVIOUS_OWNER_DIED"]))
        .trim()
        .into()
}

/// Whether no other process than this one takes part.
fn are_all_of(status: &serde_json::Value, pid: u32) -> bool {
    status["participants"].as_array().unwrap().iter().all(|one| one["pid"] == pid)
}

#[test]
fn a_wait_that_a_signal_ends_leaves_nothing_in_the_queue() {
    let fixture = Fixture::new();
    let (mut holder, _output) = fixture.hold(&[], "echo inside; sleep 60");
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3), ("USR1", 10), ("ALRM", 14)] {
        let mut waiter =
            fixture.command("run", &[], &["echo", "got in"]).stdout(Stdio::piped()).spawn().unwrap();
        fixture.until_queued(1);
        signal(name, waiter.id());
        assert_eq!(limit::end_of(&mut waiter, name).signal(), Some(number), "{name}");
        let status = fixture.status();
        assert_eq!(status["locks"][0]["queue"], serde_json::json!([]), "{name}");
        assert!(are_all_of(&status, holder.id()), "it gave its slot back: {name}, {status}");
        assert_eq!(text(&waiter.wait_with_output().unwrap()), "");
    }
    signal("TERM", holder.id());
    limit::end_of(&mut holder, "the holder");
    assert_eq!(told(&fixture), "0");
}

/// An alarm that was set before turnlock was started is for turnlock alone.
#[test]
fn an_alarm_ends_the_command() {
    let fixture = Fixture::new();
    let script = "python3 -c 'import os, signal, sys; signal.alarm(1); os.execvp(sys.argv[1], sys.argv[1:])' \
                  turnlock run \"$F\" sleep 60; echo $?";
    assert_eq!(text(&fixture.script(script)).trim(), "142");
}

#[test]
fn a_command_that_is_asked_to_end_is_no_dead_owner_unless_the_lock_wants_to_be_told() {
    for (policy, tells) in [("release", "0"), ("inform", "1")] {
        let fixture = Fixture::new();
        assert!(fixture.run(&["--on-death", policy], &["true"]).status.success());
        for (name, number) in [("TERM", 15), ("HUP", 1), ("INT", 2), ("QUIT", 3)] {
            let (mut holder, _output) = fixture.hold(&[], "echo inside; exec sleep 60");
            signal(name, holder.id());
            let status = limit::end_of(&mut holder, name);
            // By Ctrl-C it ends as its command does, so that a shell's script ends too.
            let expected = if name == "INT" { (None, Some(2)) } else { (Some(128 + number), None) };
            assert_eq!((status.code(), status.signal()), expected, "{name}");
            assert_eq!(told(&fixture), tells, "{policy}, {name}");
        }
        for (name, number) in [("KILL", 9), ("SEGV", 11), ("ABRT", 6)] {
            let killed = fixture.run(&[], &["sh", "-c", &format!("kill -{name} $$")]);
            assert_eq!(killed.status.code(), Some(128 + number), "{name}");
            assert_eq!(told(&fixture), "1", "{policy}, {name}");
        }
    }
}

#[test]
fn one_that_was_told_of_a_death_and_is_asked_to_end_passes_it_on() {
    let fixture = Fixture::new();
    assert_eq!(fixture.run(&[], &["sh", "-c", "kill -9 $$"]).status.code(), Some(137));
    assert_eq!(fixture.run(&[], &["sh", "-c", "kill $$"]).status.code(), Some(143));
    assert_eq!(told(&fixture), "1");
    assert_eq!(told(&fixture), "0");
}

#[test]
fn what_was_ignored_stays_so_for_turnlock_and_its_command() {
    let fixture = Fixture::new();
    // As nohup, and as a shell does for what it starts in the background.
    let script = "trap '' HUP INT; turnlock run \"$F\" sh -c 'kill -HUP $PPID $$; kill -INT $$; echo alive'";
    let output = fixture.script(script);
    assert_eq!((text(&output).as_str(), output.status.code()), ("alive\n", Some(0)));
    let (mut holder, _output) = fixture.hold(&[], "echo inside; sleep 60");
    let mut waiter = fixture.shell("trap '' HUP; exec turnlock run \"$F\" echo got in");
    let waiter = waiter.stdout(Stdio::piped()).spawn().unwrap();
    fixture.until_queued(1);
    signal("HUP", waiter.id());
    end_group(&mut holder);
    assert_eq!(text(&waiter.wait_with_output().unwrap()), "got in\n");
    // A process that ignores the ends of its children (as some daemons do) starts commands that ignore them too.
    let output = fixture.script("trap '' CHLD; exec turnlock run \"$F\" sh -c 'exit 7'");
    assert_eq!(output.status.code(), Some(7), "{}", errors(&output));
    // One that blocks them is not told of the end by a signal.
    let output = fixture.script("exec env --block-signal=CHLD turnlock run \"$F\" sh -c 'sleep 0.1; exit 7'");
    assert_eq!(output.status.code(), Some(7), "{}", errors(&output));
}

/// Where each wait is another one.
#[test]
fn a_signal_ends_a_wait_for_a_lock_of_any_kind() {
    let kinds: [&[&str]; 6] = [
        &["--lock", "mutex"],
        &["--lock", "rwlock", "-x"],
        &["--lock", "semaphore", "--permits", "1"],
        &["--lock", "ranges", "--range", "0-9"],
        &["--lock", "ring", "--turn"],
        &["--lock", "by messages", "--algorithm", "lamport-queue", "--mailboxes", "4"],
    ];
    for options in kinds {
        let fixture = Fixture::new();
        let (mut holder, _output) = fixture.hold(options, "echo inside; sleep 60");
        let mut waiter = fixture.command("run", options, &["true"]).spawn().unwrap();
        fixture.until(|status| {
            let queue = status["locks"][0]["queue"].as_array();
            queue.is_some_and(|queue| queue.iter().any(|waiter| waiter["for_seconds"].is_number()))
        });
        let threads = std::fs::read_dir(format!("/proc/{}/task", waiter.id())).unwrap().count();
        // By messages another one answers.
        assert!(threads == 1 || options.contains(&"lamport-queue"), "{threads} threads, {options:?}");
        signal("TERM", waiter.id());
        assert_eq!(waiter.wait().unwrap().signal(), Some(15), "{options:?}");
        end_group(&mut holder);
    }
}

#[test]
fn ctrl_c_ends_a_running_and_a_waiting_command_and_the_script_around_it() {
    let fixture = Fixture::new();
    let Some(mut terminal) = Terminal::of(&fixture, SHELL) else { return };
    let folder = fixture.file.parent().unwrap().to_owned();
    let is_held = || fixture.file.exists() && fixture.status()["locks"][0]["holders"][0].is_object();
    terminal.press("turnlock run \"$F\" sleep 60; echo $? >running\n");
    until("it runs", is_held);
    until("its command runs", || {
        let holder = fixture.status()["locks"][0]["holders"][0]["pid"].as_u64().unwrap() as u32;
        !holder_command(holder).is_empty()
    });
    terminal.press("\u{3}");
    until("it has ended", || !is_held());
    assert_eq!(told(&fixture), "0");

    // A shell runs a script until a command of it ends by Ctrl-C.
    terminal.press("bash -c 'turnlock run \"$F\" sleep 60; touch went-on'; touch ended\n");
    until("it runs again", is_held);
    until("its command runs", || {
        let holder = fixture.status()["locks"][0]["holders"][0]["pid"].as_u64().unwrap_or(0) as u32;
        !holder_command(holder).is_empty()
    });
    terminal.press("\u{3}\ntouch after\n");
    until("the shell is back", || folder.join("after").exists());
    assert!(!folder.join("went-on").exists());
    assert_eq!(told(&fixture), "0");

    let (mut holder, _output) = fixture.hold(&[], "echo inside; sleep 60");
    terminal.press("turnlock run \"$F\" touch got-in\n");
    fixture.until_queued(1);
    terminal.press("\u{3}\necho back >back\n");
    until("the shell is back", || folder.join("back").exists());
    assert!(are_all_of(&fixture.status(), holder.id()));
    assert!(!folder.join("got-in").exists());
    signal("TERM", holder.id());
    limit::end_of(&mut holder, "the holder");
    assert_eq!(told(&fixture), "0");
    terminal.press("exit\n");
}

#[test]
fn a_command_that_outlives_its_killed_run_is_named_as_what_keeps_the_lock() {
    let fixture = Fixture::new();
    let output = fixture.script(
        "turnlock run \"$F\" sh -c 'echo $$; exec sleep 60' >out & run=$!; until [ -s out ] && grep -q sleep /proc/$(cat out)/comm; do sleep 0.01; done; kill -9 $run; \
         wait $run 2>/dev/null; echo $run; cat out; turnlock status --json \"$F\" >json; turnlock status \"$F\" >words; \
         turnlock doctor \"$F\" >doctor; turnlock run -v -w 60 \"$F\" true 2>waits & until grep -q kept waits; do sleep 0.1; done; kill $(cat out); wait",
    );
    let folder = fixture.file.parent().unwrap();
    let said = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (pids, json) = (text(&output), said("json"));
    let (run, sleep) = pids.trim().split_once('\n').unwrap();
    let status: serde_json::Value = serde_json::from_str(&json).unwrap();
    let holder = &status["locks"][0]["holders"][0];
    assert_eq!((holder["pid"].to_string().as_str(), &holder["life"]), (run, &"alive".into()));
    let keeper = serde_json::json!([{"pid": sleep.parse::<u32>().unwrap(), "program": "sleep"}]);
    assert_eq!(holder["keepers"], keeper);
    let words = said("words").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("which has ended: sleep (pid {sleep}) keeps its slot")), "{words}");
    let doctor = said("doctor");
    assert!(
        doctor.contains("inherited the lock and keeps it") && doctor.contains(&format!("kill {sleep};")),
        "{doctor}"
    );
    let waits = said("waits");
    assert!(waits.contains(&format!("ended; kept by sleep (pid {sleep})")), "{waits}");
}
