//! How `turnlock run` runs its command: as flock(1) does, stopped and continued with it, and what background processes
//! keep.

use super::{
    terminal::{SHELL, Terminal},
    *,
};

fn turnlock(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_turnlock")).args(arguments).output().unwrap()
}

#[test]
fn the_command_needs_no_dashes_before_it() {
    let fixture = Fixture::new();
    let file = fixture.file.to_str().unwrap();
    for (arguments, printed) in [
        (&["run", file, "echo", "hi"][..], "hi\n"),
        (&["run", file, "echo", "--lock", "x", "-n", "--help"], "--lock x -n --help\n"),
        (&["run", "--lock", "a", file, "sh", "-c", "echo $0", "--", "-E"], "--\n"),
        (&["run", file, "--", "echo", "hi"], "hi\n"),
        (&["run", file, "--", "echo", "--", "-v"], "-- -v\n"),
        (&["run", file, "echo", "--", "-v"], "-- -v\n"),
        (&["run", file, "--lock", "b", "echo", "options after the file"], "options after the file\n"),
        (&["run", file, "--try", "--", "echo", "too"], "too\n"),
    ] {
        let output = turnlock(arguments);
        assert_eq!((text(&output).as_str(), errors(&output).as_str()), (printed, ""), "{arguments:?}");
    }
    assert_eq!(turnlock(&["run", file]).status.code(), Some(64), "no command");
    assert_eq!(turnlock(&["run", file, "--no-such-option", "true"]).status.code(), Some(64));
}

/// The letter for a process's state in /proc.
fn state(pid: u32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
}

#[track_caller]
fn until(what: &str, wanted: impl Fn() -> bool) {
    let deadline = Instant::now() + limit::of_processes();
    while !wanted() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_stop_from_outside_stops_both_and_a_continue_continues_both() {
    use std::os::unix::process::CommandExt;
    let fixture = Fixture::new();
    let script = "trap 'echo continued' CONT; echo inside; while :; do sleep 0.02; done";
    // A group of its own in this session, as a shell makes for a job: SIGTSTP stops no process in an orphaned
    // group.
    let mut holder = fixture.command("run", &[], &["sh", "-c", script]);
    let mut holder = holder.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert_eq!(output.next().unwrap().unwrap(), "inside");
    let command = holder_command(holder.id())[0];
    for _ in 0..3 {
        signal("TSTP", holder.id());
        until("both stop", || state(holder.id()) == 'T' && state(command) == 'T');
        assert_eq!(fixture.status()["locks"][0]["holders"][0]["life"], "stopped");
        signal("CONT", holder.id());
        assert_eq!(output.next().unwrap().unwrap(), "continued");
        until("both go on", || state(holder.id()) != 'T' && state(command) != 'T');
    }
    signal("TERM", holder.id());
    assert_eq!(holder.wait().unwrap().code(), Some(128 + 15));
}

#[test]
fn where_no_shell_could_continue_it_a_stop_stops_no_process() {
    let fixture = Fixture::new();
    if Command::new("setsid").arg("--version").output().is_err() {
        println!("left out: setsid(1) is not installed");
        return;
    }
    let run = fixture.command("run", &[], &["sh", "-c", "echo inside; exec sleep 60"]);
    let mut holder = Command::new("setsid")
        .arg("--wait")
        .arg(run.get_program())
        .args(run.get_args())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(holder.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    let turnlock = fixture.status()["locks"][0]["holders"][0]["pid"].as_u64().unwrap() as u32;
    signal("TSTP", turnlock);
    std::thread::sleep(Duration::from_millis(200));
    assert_ne!(state(turnlock), 'T');
    signal("TERM", turnlock);
    assert_eq!(holder.wait().unwrap().code(), Some(128 + 15));
}

/// Ctrl-C and Ctrl-Z go to the processes in the foreground at that moment: turnlock alone, or its command too.
#[test]
fn a_key_that_is_pressed_while_run_starts_its_command_reaches_that_too() {
    let fixture = Fixture::new();
    for round in 0..60 {
        let _ = std::fs::remove_file(&fixture.file);
        let command = "exec turnlock run \"$F\" sleep 1000";
        let Some(mut terminal) = Terminal::of(&fixture, command) else { return };
        while !fixture.file.exists() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(100 * round));
        terminal.press("\u{3}");
        limit::end_of(&mut terminal.0, &format!("round {round}: what Ctrl-C was pressed at"));
    }
}

#[test]
fn ctrl_z_and_fg_work_in_a_shell_on_a_terminal() {
    let fixture = Fixture::new();
    let folder = fixture.file.parent().unwrap();
    let Some(mut terminal) = Terminal::of(&fixture, SHELL) else { return };
    terminal.press("turnlock run \"$F\" cat > typed\n");
    until("it runs", || fixture.file.exists() && fixture.status()["locks"][0]["holders"][0].is_object());
    let holder = fixture.status()["locks"][0]["holders"][0]["pid"].as_u64().unwrap() as u32;
    until("cat runs", || !holder_command(holder).is_empty());
    let cat = holder_command(holder)[0];
    terminal.press("one\n");
    let typed = || std::fs::read_to_string(folder.join("typed")).unwrap_or_default();
    until("cat reads", || typed() == "one\n");
    for round in 1..=2 {
        terminal.press("\u{1a}");
        until("Ctrl-Z stops both", || state(holder) == 'T' && state(cat) == 'T');
        terminal.press(&format!("touch shell{round}\n"));
        until("the shell is back", || folder.join(format!("shell{round}")).exists());
        terminal.press("fg\n");
        until("fg continues both", || state(holder) != 'T' && state(cat) != 'T');
    }
    terminal.press("two\n");
    until("cat reads on", || typed() == "one\ntwo\n");
    terminal.press("\u{4}");
    until("it ends", || fixture.status()["locks"][0]["holders"][0].is_null());
    terminal.press("exit\n");
    assert!(limit::end_of(&mut terminal.0, "the terminal").success());
}

/// A `turnlock run OPTIONS` whose command leaves a process in the background; killed, with its command. Gives the
/// background process.
fn killed_with_a_background_process(fixture: &Fixture, options: &[&str]) -> u32 {
    let (mut holder, mut output) = fixture.hold(options, "echo inside; sleep 60 & echo $!; wait");
    let mut background = String::new();
    output.read_line(&mut background).unwrap();
    let command = holder_command(holder.id())[0];
    holder.kill().unwrap();
    holder.wait().unwrap();
    signal("KILL", command);
    background.trim().parse().unwrap()
}

#[test]
fn only_if_turnlock_is_killed_do_background_processes_keep_the_lock() {
    for (options, unlocked) in [(&[][..], false), (&["--close"], true)] {
        let fixture = Fixture::new();
        // Not killed: unlocked with the end of the command, either way.
        let script = "sleep 60 >/dev/null 2>&1 & echo $!";
        let background: u32 = text(&fixture.run(options, &["sh", "-c", script])).trim().parse().unwrap();
        assert_eq!(fixture.run(&["--try"], &["true"]).status.code(), Some(0), "{options:?}");
        signal("KILL", background);

        let background = killed_with_a_background_process(&fixture, options);
        let next = fixture.run(&["--timeout", "1"], &["true"]);
        assert_eq!(next.status.success(), unlocked, "{options:?}: {}", errors(&next));
        signal("KILL", background);
        let next = fixture.run(&["--timeout", "20"], &["true"]);
        assert_eq!(next.status.code(), Some(0), "{}", errors(&next));
        assert_eq!(errors(&next).contains("did not end well while it had the lock"), !unlocked, "told once");
    }
}

/// Between two commands that run a third one is killed, with all of it.
#[test]
fn a_killed_command_releases_the_lock_or_closes_it_as_its_creator_said() {
    for (policy, options) in
        [("release", &[][..]), ("release", &["--on-death", "release"]), ("inform", &["--on-death", "inform"])]
    {
        let fixture = Fixture::new();
        let died = |output: &std::process::Output| text(output).trim().to_owned();
        let tell = ["sh", "-c", "echo \"$TURNLOCK_PREVIOUS_OWNER_DIED\"; exit $1", "sh"];
        let run = |code: &str| fixture.run(options, &[&tell[..], &[code]].concat());
        assert_eq!(died(&run("0")), "0");
        assert_eq!(fixture.status()["locks"][0]["death_policy"], policy);
        let (mut holder, _output) = fixture.hold(&["--label", "victim"], "echo inside; exec sleep 60");
        let command = holder_command(holder.id())[0];
        holder.kill().unwrap();
        holder.wait().unwrap();
        signal("KILL", command);
        fixture.until(|status| status["locks"][0]["holders"][0]["life"] == "dead");
        assert_eq!(fixture.status_text().contains("a death releases it"), policy == "release");
        // The next one is told; and what comes of its own end, however it ends, is told to the one after it.
        let told = fixture.run(&["--timeout", "20"], &tell);
        assert_eq!((died(&told), told.status.code()), ("1".into(), Some(0)), "{policy}: {}", errors(&told));
        let after = run("0");
        assert_eq!(
            (died(&after), after.status.code()),
            ("0".into(), Some(0)),
            "{policy}: {}",
            errors(&after)
        );
        assert_eq!(fixture.status()["locks"][0]["state"], "consistent");
    }
}

#[test]
fn a_waiter_that_lets_others_pass_is_shown_as_backed_off() {
    let fixture = Fixture::new();
    let (mut holder, _output) = fixture.hold(&["--patience", "3600"], "echo inside; exec sleep 60");
    let mut waiter = fixture.command("run", &["--label", "patient"], &["true"]).spawn().unwrap();
    let status = fixture.until(|status| status["locks"][0]["queue"][0]["state"] == "backed_off");
    assert_eq!(status["locks"][0]["queue"][0]["label"], "patient");
    fixture.until(|_| fixture.status_text().contains("  1. patient, run by turnlock (pid "));
    assert!(fixture.status_text().contains("), backed off for "), "{}", fixture.status_text());
    signal("TERM", holder.id());
    holder.wait().unwrap();
    assert!(waiter.wait().unwrap().success());
}

#[test]
fn a_line_is_run_by_the_shell() {
    let fixture = Fixture::new();
    for (script, printed, code) in [
        ("turnlock run \"$F\" -c 'echo \"$TURNLOCK_LOCK\" a; exit 3'", "default a\n", 3),
        ("turnlock run --lock b -c 'echo $0' \"$F\"", "/bin/sh\n", 0),
        ("SHELL=/bin/bash turnlock run \"$F\" --command 'echo ${BASH_VERSION:+bash}'", "bash\n", 0),
        ("SHELL= turnlock run \"$F\" -c 'echo $0'", "/bin/sh\n", 0),
        (
            "turnlock run \"$F\" -c 'turnlock status --json \"$F\"' | grep -o '\"label\": \"[a-z]*\"' | head -1",
            "\"label\": \"turnlock\"\n",
            0,
        ),
        ("turnlock run \"$F\" -c 'echo a' extra", "", 64),
        ("turnlock run -e -n --nb \"$F\" -c true", "", 64),
        ("turnlock run --nonblocking \"$F\" -c true && turnlock run --nb -w 0 \"$F\" true", "", 64),
        ("turnlock run -w 0 \"$F\" turnlock run -E 9 -w 0 \"$F\" true", "", 9),
    ] {
        let output = fixture.script(script);
        assert_eq!(
            (text(&output).as_str(), output.status.code()),
            (printed, Some(code)),
            "{script}: {}",
            errors(&output)
        );
    }
}

#[test]
fn without_a_fork_turnlock_becomes_the_command_which_keeps_the_lock() {
    for (policy, told) in [("release", "0\n"), ("inform", "1\n")] {
        let fixture = Fixture::new();
        let (mut holder, _output) = fixture.hold(&["-F", "--on-death", policy], "echo inside; exec sleep 60");
        assert!(holder_command(holder.id()).is_empty(), "it is one process");
        let status = fixture.status();
        let shown = &status["locks"][0]["holders"][0];
        assert_eq!((&shown["pid"], &shown["life"]), (&holder.id().into(), &"alive".into()));
        assert_eq!(fixture.run(&["--try", "-E", "9"], &["true"]).status.code(), Some(9));
        signal("TERM", holder.id());
        assert_eq!(limit::end_of(&mut holder, "the command").signal(), Some(15), "no process is around it");
        // No process saw how it ended: an ordinary end, unless the lock wants to be told.
        let next = fixture.run(&["--timeout", "20"], &["sh", "-c", "echo $TURNLOCK_PREVIOUS_OWNER_DIED"]);
        assert_eq!(text(&next), told, "{policy}");
    }
    let fixture = Fixture::new();
    // What it left in the background keeps it, as with flock(1).
    let background = fixture.run(&["-F"], &["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"]);
    assert_eq!(fixture.run(&["--try", "-E", "9"], &["true"]).status.code(), Some(9));
    signal("KILL", text(&background).trim().parse().unwrap());
    assert_eq!(fixture.run(&["--timeout", "20"], &["true"]).status.code(), Some(0));
    let unstartable = fixture.run(&["-F", "--lock", "b", "--on-death", "inform"], &["/nonexistent-command"]);
    assert_eq!(unstartable.status.code(), Some(69), "{}", errors(&unstartable));
    let next = fixture.run(&["--try", "--lock", "b"], &["sh", "-c", "echo $TURNLOCK_PREVIOUS_OWNER_DIED"]);
    assert_eq!(text(&next), "0\n");
    assert_eq!(fixture.run(&["-F", "--close"], &["true"]).status.code(), Some(64));
}

#[test]
fn a_ring_is_a_ring_whichever_it_is() {
    let fixture = Fixture::new();
    assert!(fixture.run(&["--lock", "new", "--turn"], &["true"]).status.success());
    assert!(fixture.run(&["--lock", "old", "--algorithm", "k-state"], &["true"]).status.success());
    assert!(fixture.run(&["--lock", "old", "--turn", "--member"], &["true"]).status.success());
    let shown = fixture.status_text();
    assert!(shown.contains("new (ring, raynal, ") && shown.contains("old (ring, k-state, "), "{shown}");
    // As a member, a waiter is in the ring as long as it waits, and is out of it when it has had its turn.
    let (mut holder, _output) = fixture.hold(&["--lock", "old"], "echo inside; sleep 60");
    let mut waiter =
        fixture.command("run", &["--lock", "old", "--turn", "--member"], &["true"]).spawn().unwrap();
    let lock_of = |status: &serde_json::Value| -> serde_json::Value {
        status["locks"].as_array().unwrap().iter().find(|lock| lock["name"] == "old").unwrap().clone()
    };
    fixture.until(|status| lock_of(status)["queue"][0]["takes_part"] == "member");
    signal("TERM", holder.id());
    limit::end_of(&mut holder, "the holder");
    assert!(limit::end_of(&mut waiter, "the waiter").success());
    assert_eq!(lock_of(&fixture.status())["queue"], serde_json::json!([]));
    assert!(fixture.run(&["--lock", "mutex"], &["true"]).status.success());
    let no_ring = fixture.run(&["--lock", "mutex", "--turn"], &["true"]);
    assert_eq!(no_ring.status.code(), Some(66), "{}", errors(&no_ring));
    for options in [
        &["--turn", "--algorithm", "sum"][..],
        &["--turn", "-s"],
        &["--member"],
        &["--slot", "1"],
        &["--turn", "--patience", "1"],
    ] {
        assert_eq!(fixture.run(options, &["true"]).status.code(), Some(64), "{options:?}");
    }
}

/// The order of turns is that of the places, not that in which the programs have started.
#[test]
fn a_place_on_a_ring_is_chosen() {
    let fixture = Fixture::new();
    let at = |slot: &'static str| ["--turn", "--slot", slot];
    let (mut holder, _output) = fixture.hold(&at("1"), "echo inside; sleep 60");
    let waiters = ["6", "4", "2"].map(|slot| {
        let waiter = fixture
            .command("run", &at(slot), &["sh", "-c", &format!("echo {slot} >>$TURNLOCK_FILE.order")])
            .spawn();
        let slot: u64 = slot.parse().unwrap();
        fixture.until(|status| {
            let queue = status["locks"][0]["queue"].as_array().unwrap().clone();
            queue.iter().any(|waiter| waiter["slot"] == slot)
        });
        waiter.unwrap()
    });
    let taken = fixture.run(&at("6"), &["true"]);
    assert!(errors(&taken).contains("slot 6 is taken by process"), "{}", errors(&taken));
    assert_eq!(taken.status.code(), Some(66), "{}", errors(&taken));
    signal("TERM", holder.id());
    limit::end_of(&mut holder, "the holder");
    for mut waiter in waiters {
        assert!(limit::end_of(&mut waiter, "a waiter").success());
    }
    assert_eq!(text(&fixture.script("cat $F.order")), "2\n4\n6\n");
}

/// What a cron job wants if nothing is said: silence, its own exit code, one after the other, and no lock left behind.
#[test]
fn a_job_of_cron_is_silent_and_one_at_a_time() {
    let fixture = Fixture::new();
    let job = "turnlock run \"$F\" sh -c 'echo begin; sleep 0.02; echo end'";
    let output = fixture.script(&format!("unset TERM; for i in 1 2 3 4; do {job} & done; wait"));
    assert_eq!((text(&output).as_str(), errors(&output).as_str()), ("begin\nend\n".repeat(4).as_str(), ""));
    let skipped = fixture.script("turnlock run \"$F\" turnlock run -n \"$F\" echo again; echo $?");
    assert_eq!((text(&skipped).as_str(), errors(&skipped).as_str()), ("1\n", ""));
}
