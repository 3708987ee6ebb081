//! `turnlock lock` and `turnlock unlock`, as scripts use them: by a descriptor of their own.

use super::*;

const DIED: &str = "turnlock run -w 20 \"$F\" sh -c 'echo died $TURNLOCK_PREVIOUS_OWNER_DIED'";

#[test]
fn a_shell_holds_it_until_it_unlocks() {
    let fixture = Fixture::new();
    let held = fixture.script(
        "exec 9<>\"$F\"; turnlock lock --fd 9 && echo held by $$ && turnlock status --json \"$F\"; turnlock run -n -E 9 \"$F\" true; \
         echo $? >&2; turnlock unlock --fd 9; echo $? >&2; turnlock run -n \"$F\" true; echo $? >&2; turnlock unlock --fd 9; \
         echo $? >&2",
    );
    let (said, errors) = (text(&held), errors(&held));
    let (pid, json) = said.split_once('\n').unwrap();
    let status: serde_json::Value = serde_json::from_str(json).unwrap();
    let holder = &status["locks"][0]["holders"][0];
    assert_eq!(pid, format!("held by {}", holder["pid"]));
    assert_eq!((&holder["label"], &holder["program"]), (&"bash".into(), &"bash".into()));
    assert_eq!((&holder["life"], &holder["kept_by"]), (&"alive".into(), &"descriptor".into()));
    assert_eq!(status["locks"][0]["death_policy"], "release");
    assert_eq!(errors, "9\n0\n0\nturnlock: nothing is held by descriptor 9\n1\n");
    assert!(fixture.status()["participants"].as_array().unwrap().is_empty());
}

#[test]
fn closing_is_an_ordinary_end_unless_the_lock_wants_to_be_told() {
    let fixture = Fixture::new();
    for take in [
        "exec 9<>\"$F\"; turnlock lock --fd 9 || exit; exec 9>&-;",
        "(turnlock lock --fd 9 || exit 1; true) 9<>\"$F\";",
        "(turnlock lock --fd 9 || exit 1; kill -9 $BASHPID) 9<>\"$F\" & wait $! 2>/dev/null;",
        // Open for reading is enough.
        "exec 9<\"$F\"; turnlock lock --fd 9 || exit; exec 9<&-;",
    ] {
        let output = fixture.script(&[take, DIED].concat());
        assert_eq!((text(&output).as_str(), errors(&output).as_str()), ("died 0\n", ""), "{take}");
    }
    let fixture = Fixture::new();
    let take = "exec 9<>\"$F\"; turnlock lock --fd 9 --on-death inform --label import || exit;";
    let output = fixture.script(&[take, "turnlock unlock --fd 9;", DIED].concat());
    assert_eq!((text(&output).as_str(), errors(&output).as_str()), ("died 0\n", ""));
    let output = fixture.script(&[take, "exec 9>&-;"].concat());
    assert!(output.status.success(), "{}", errors(&output));
    // The next one is told, and what it unlocks counts as repaired; what it closes does not.
    let next = "exec 9<>\"$F\"; turnlock lock --fd 9 || exit;";
    let closed = fixture.script(&[next, "exec 9>&-"].concat());
    assert!(errors(&closed).contains("import (pid "), "{}", errors(&closed));
    let repaired = fixture.script(&[next, "turnlock unlock --fd 9;", DIED].concat());
    assert!(errors(&repaired).contains("did not end well while it had the lock"), "{}", errors(&repaired));
    assert_eq!(text(&repaired), "died 0\n");
}

#[test]
fn a_process_with_a_copy_of_the_descriptor_keeps_it_and_may_unlock() {
    let fixture = Fixture::new();
    let locked = "exec 9<>\"$F\"; turnlock lock --fd 9 || exit;";
    let free = "turnlock run -n -E 9 \"$F\" true; echo $?;";
    // A process in the background has one, and the shell is gone.
    let shell = fixture.script(&[locked, "sleep 60 >/dev/null 2>&1 & echo $!"].concat());
    assert_eq!(text(&fixture.script(free)), "9\n");
    signal("KILL", text(&shell).trim().parse().unwrap());
    assert_eq!(text(&fixture.script(&free.replace("-n", "-w 20"))), "0\n");
    // One that was started without it does not keep it.
    let shell = fixture.script(&[locked, "sleep 60 >/dev/null 2>&1 9>&- & echo $!"].concat());
    assert_eq!(text(&fixture.script(&free.replace("-n", "-w 20"))), "0\n");
    signal("KILL", text(&shell).trim().parse().unwrap());
    // A subshell unlocks for all.
    assert_eq!(text(&fixture.script(&[locked, "(turnlock unlock --fd 9);", free].concat())), "0\n");
    // Another open file of the same lock file has nothing of it.
    let other = fixture.script(&[locked, "turnlock unlock --fd 8 8<>\"$F\"; echo $?;", free].concat());
    assert_eq!(text(&other), "1\n9\n");
}

#[test]
fn scripts_take_turns_with_scripts_and_commands() {
    let fixture = Fixture::new();
    let (counter, rounds) = (fixture.file.with_extension("count"), 15);
    std::fs::write(&counter, "0\n").unwrap();
    let add = "read n <\"$F.count\"; echo $((n + 1)) >\"$F.count\"";
    let add = add.replace("$F.count", counter.to_str().unwrap());
    let by_descriptor = [
        format!(
            "exec 9<>\"$F\"; for i in $(seq {rounds}); do turnlock lock --fd 9 || exit; {add}; turnlock unlock --fd 9; done"
        ),
        format!("for i in $(seq {rounds}); do (turnlock lock --fd 7 || exit; {add}) 7<>\"$F\"; done"),
        format!("export A='{add}'; for i in $(seq {rounds}); do turnlock run \"$F\" bash -c \"$A\"; done"),
        format!("export A='{add}'; for i in $(seq {rounds}); do turnlock flock \"$F\" -c \"$A\"; done"),
        format!("for i in $(seq {rounds}); do (turnlock flock -x 9 || exit; {add}) 9<>\"$F\"; done"),
    ];
    assert!(fixture.script("turnlock run --exclusive \"$F\" true").status.success());
    std::thread::scope(|threads| {
        for script in &by_descriptor {
            let fixture = &fixture;
            threads.spawn(move || {
                let output = fixture.script(script);
                assert!(
                    output.status.success() && errors(&output).is_empty(),
                    "{script}: {}",
                    errors(&output)
                );
            });
        }
    });
    let count: usize = std::fs::read_to_string(counter).unwrap().trim().parse().unwrap();
    assert_eq!(count, rounds * by_descriptor.len());
    assert!(fixture.status()["locks"][0]["previous_owner"].is_null(), "no holder died: {}", fixture.status());
}

#[test]
fn a_wait_ends_by_a_signal_and_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let (mut holder, _output) = fixture.hold(&[], "echo inside; sleep 60");
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129), ("KILL", 137)] {
        let mut shell = fixture.shell("exec 9<>\"$F\"; turnlock lock --fd 9; echo $?; read stay");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = shell.spawn().unwrap();
        let status = fixture.until_queued(1);
        signal(name, status["locks"][0]["queue"][0]["pid"].as_u64().unwrap() as u32);
        let mut output = BufReader::new(shell.stdout.take().unwrap());
        assert_eq!(limit::line(&mut output, &mut shell), Ok(code.to_string()), "{name}");
        // The shell has its descriptor still, and nothing by it. (The next one to look removes the killed one.)
        let status =
            fixture.until(|status| status["locks"][0]["queue"] == serde_json::json!([]) || name == "KILL");
        if name != "KILL" {
            let own = |one: &serde_json::Value| one["pid"] == holder.id();
            assert!(status["participants"].as_array().unwrap().iter().all(own), "{name}: {status}");
        }
        drop(shell.stdin.take());
        limit::end_of(&mut shell, "the shell");
    }
    end_group(&mut holder);
    assert!(fixture.run(&["--timeout", "20"], &["true"]).status.success());
}

#[test]
fn what_came_with_it_is_said_as_commands_of_the_shell() {
    let fixture = Fixture::new();
    let script = "exec 9<>\"$F\"; said=$(turnlock lock --fd 9 --lock \"it's\" --export) || exit; eval \"$said\"; \
                  sh -c 'echo \"$TURNLOCK_LOCK $TURNLOCK_PREVIOUS_OWNER_DIED $TURNLOCK_FENCING_TOKEN ${TURNLOCK_PREVIOUS_OWNER-none}\"'";
    let said = text(&fixture.script(script));
    let token = fixture.status()["locks"][0]["fencing_token"].as_str().unwrap().to_owned();
    assert_eq!(said, format!("it's 0 {token} none\n"));
}

#[test]
fn parts_and_rings_are_held_too_and_one_lock_of_several_is_unlocked() {
    let fixture = Fixture::new();
    let script = "exec 9<>\"$F\"
        lock() { turnlock lock --fd 9 \"$@\" || exit; }
        lock --lock rows --range 10-19; lock --lock rows --range 30-39 -s; lock --lock users --key ada
        lock --lock jobs --permits 2; lock --lock cache --shared; lock --lock stages --turn
        try() { turnlock run -n -E 9 \"$@\" \"$F\" true; echo $?; }
        try --lock rows --range 19-20; try --lock rows --range 20-29; try --lock rows --range 35 -s
        try --lock users --key ada; try --lock users --key bob; try --lock jobs --permits 2 --weight 2; try --lock jobs --permits 2
        try --lock cache -s; try --lock cache -x; try --lock stages
        turnlock unlock --fd 9 --lock rows; try --lock rows --range 0-; try --lock cache -x
        turnlock unlock --fd 9; try --lock cache -x; try --lock stages --turn; try --lock jobs --permits 2 --weight 2";
    let output = fixture.script(script);
    let codes = "9 0 0 9 0 9 0 0 9 9 0 9 0 0 0";
    assert_eq!(text(&output).split_whitespace().collect::<Vec<_>>().join(" "), codes, "{}", errors(&output));
}

#[test]
fn what_cannot_be_locked_is_an_error_and_not_a_hang() {
    let fixture = Fixture::new();
    assert!(fixture.run(&[], &["true"]).status.success());
    for (script, code, says) in [
        ("turnlock lock --fd 9", 66, "no such descriptor is open"),
        ("turnlock unlock --fd 9", 66, "no such descriptor is open"),
        ("turnlock lock --fd 9 9<>/dev/null", 66, ""),
        ("turnlock lock --fd 9 9</etc/passwd", 66, ""),
        ("turnlock lock --fd 9 9>>\"$F\"", 66, "is not open for reading"),
        ("turnlock unlock --fd 9 --lock other 9<>\"$F\"", 66, "nothing called"),
        ("exec 9<>\"$F\"; turnlock lock --fd 9; turnlock lock --fd 9", 71, "holds \"default\" already"),
        ("exec 9<>\"$F\"; turnlock lock --fd 9; turnlock lock -n -E 7 --fd 8 8<>\"$F\"", 7, ""),
        ("exec 9<>\"$F\"; turnlock lock --fd 9; turnlock lock -w 0.1 --fd 8 8<>\"$F\"", 1, ""),
        ("turnlock lock", 64, "--fd"),
        ("turnlock lock --fd -1", 64, ""),
        ("turnlock lock --member --fd 9 9<>\"$F\"", 64, "--member is for rings"),
    ] {
        let output = fixture.script(script);
        assert_eq!(output.status.code(), Some(code), "{script}: {}", errors(&output));
        assert!(errors(&output).contains(says), "{script}: {}", errors(&output));
    }
    assert!(fixture.run(&["--try"], &["true"]).status.success(), "nothing was left behind");
}
