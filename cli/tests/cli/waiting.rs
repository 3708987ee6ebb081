//! Waiting: for which holder, when it could never end, and when the file is replaced meanwhile.

use super::*;

#[test]
fn a_run_inside_a_run_of_the_same_lock_is_an_error_and_not_a_hang() {
    let fixture = Fixture::new();
    let (turnlock, file) = (env!("CARGO_BIN_EXE_turnlock"), fixture.file.to_str().unwrap());
    let nested = |between: &[&str], options: &[&str]| {
        let inner = [&[turnlock, "run"], options, &[file, "echo", "inner"]].concat();
        fixture.run(&[], &[between, &inner].concat())
    };
    let direct = nested(&[], &[]);
    assert_eq!(direct.status.code(), Some(71), "{}", errors(&direct));
    assert!(errors(&direct).contains("waiting would never end"), "{}", errors(&direct));
    assert!(errors(&direct).contains("\"default\" in ") && !text(&direct).contains("inner"));
    let further = nested(&["sh", "-c", "\"$@\"; exit $?", "sh"], &[]);
    assert_eq!(further.status.code(), Some(71), "{}", errors(&further));
    let around_another = nested(&[turnlock, "run", "--lock", "another", file], &[]);
    assert_eq!(around_another.status.code(), Some(71), "{}", errors(&around_another));

    let script =
        format!("kill -KILL $PPID; sleep 0.1; exec timeout -s KILL 20 \"$0\" run {file} echo inner 2>\"$1\"");
    let said = fixture.file.with_extension("said");
    let of_one_that_was_killed = fixture.run(&[], &["sh", "-c", &script, turnlock, said.to_str().unwrap()]);
    assert_eq!(of_one_that_was_killed.status.signal(), Some(9));
    let never_ends =
        || std::fs::read_to_string(&said).is_ok_and(|said| said.contains("waiting would never end"));
    until("the one inside says so", never_ends);
    // With the command its slot ends, and nothing is in the way of the rest.
    assert!(limit::status(&mut fixture.command("reset", &[], &[])).unwrap().success());

    // Where it can end, it is no error.
    assert_eq!(text(&nested(&[], &["--lock", "another"])), "inner\n");
    assert_eq!(nested(&[], &["--try", "-E", "9"]).status.code(), Some(9));
    assert_eq!(nested(&[], &["--timeout", "0.5", "-E", "9"]).status.code(), Some(9));
    let other_file = fixture.file.with_extension("other");
    let other = fixture.run(&[], &[turnlock, "run", other_file.to_str().unwrap(), "echo", "inner"]);
    assert_eq!(text(&other), "inner\n");
    // The holder is not an ancestor of one that was given away.
    let script = format!("(setsid \"$0\" run {file} echo inner > \"$1\" &) ; sleep 0.8");
    if limit::output(Command::new("setsid").arg("--version")).is_ok() {
        let said = fixture.file.with_extension("given-away");
        assert!(fixture.run(&[], &["sh", "-c", &script, turnlock, said.to_str().unwrap()]).status.success());
        // After the run around it has ended.
        until("it has run", || std::fs::read_to_string(&said).is_ok_and(|said| said == "inner\n"));
    }
}

#[test]
fn a_holder_that_only_started_this_process_may_unlock() {
    let fixture = Fixture::new();
    // An ancestor; but it holds the lock for itself (as `turnlock demo` does), and will unlock.
    let file = turnlock::LockFile::open(&fixture.file).unwrap();
    let mutex = file.mutex("default").unwrap();
    let guard = mutex.lock().unwrap();
    let inner = fixture.command("run", &[], &["echo", "inner"]).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    drop(guard);
    let ended = inner.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), text(&ended)), (Some(0), "inner\n".into()));
}

#[test]
fn the_environment_says_which_lock_it_is() {
    let fixture = Fixture::new();
    let script = "echo \"$TURNLOCK_FILE\" \"$TURNLOCK_LOCK\"";
    let output = fixture.run(&["--lock", "accounts"], &["sh", "-c", script]);
    let file = fixture.file.parent().unwrap().canonicalize().unwrap().join("test.lock");
    assert_eq!(text(&output), format!("{} accounts\n", file.display()));
}

#[test]
fn of_a_lock_in_parts_only_the_holder_in_the_way_is_named() {
    let fixture = Fixture::new();
    let hold = |range| fixture.hold(&["--lock", "rows", "--range", range], "echo inside; exec sleep 60");
    let mut holders = ["0-9", "10-19"].map(hold);
    let [first, second] = holders.each_ref().map(|(holder, _)| format!("(pid {})", holder.id()));
    let refused = fixture.run(&["--lock", "rows", "--range", "15-30", "--try", "-v"], &["true"]);
    let said = errors(&refused);
    for (holder, _) in &mut holders {
        signal("TERM", holder.id());
        limit::end_of(holder, "a holder");
    }
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        said.contains("is taken: held (10-19) for ") && said.contains(&second) && !said.contains(&first),
        "{said}"
    );
}

#[test]
fn the_holder_is_named_to_a_waiter_on_a_terminal_only() {
    let fixture = Fixture::new();
    let (mut holder, _output) =
        fixture.hold(&["--lock", "build", "--label", "a-build-of-everything"], "echo inside; sleep 60");
    let mut first = fixture.command("run", &["--lock", "build"], &["true"]).spawn().unwrap();
    fixture.until_queued(1);
    let line = "turnlock: waiting for build, 2nd in the queue: held for ";
    let said = format!(" s by a-build-of-everything (pid {})", holder.id());
    let wait = ["--lock", "build", "--timeout", "2.5"];

    let silent = fixture.run(&wait, &["true"]);
    assert_eq!((silent.status.code(), errors(&silent)), (Some(1), String::new()));
    let verbose = errors(&fixture.run(&[&wait[..], &["--verbose"]].concat(), &["true"]));
    assert!(verbose.contains(line) && verbose.contains(&said), "{verbose}");
    assert_eq!(verbose.matches("2nd in the queue").count(), 1, "once: {verbose}");
    // At the end it says who has it still.
    let (_, end) = verbose.rsplit_once("is taken: held for ").unwrap_or_else(|| panic!("{verbose}"));
    assert!(end.contains(&said), "{verbose}");

    let on_a_terminal = fixture.command("run", &wait, &["true"]);
    let words: Vec<_> = std::iter::once(on_a_terminal.get_program())
        .chain(on_a_terminal.get_args())
        .map(|word| word.to_str().unwrap())
        .collect();
    let pid = format!(" (pid {})", holder.id());
    // In a narrow one the label is shortened, then the sentence; the place and the pid never.
    let narrow = line.len() + "10.5 s by ".len() + 14 + pid.len() + 1;
    for columns in [120, narrow, 80] {
        let mut script = Command::new("script");
        let shell = format!("stty rows 24 cols {columns} && exec {}", words.join(" "));
        script.args(["-qec", &shell, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::null());
        match script.output() {
            Ok(terminal) if terminal.status.code() == Some(1) => {
                let shown = text(&terminal);
                // A line that is kept up to date, and taken away in the end.
                let line =
                    if columns == 80 { "\rturnlock: build, 2nd: held for " } else { &format!("\r{line}") };
                assert!(shown.starts_with(line) && shown.contains(&pid), "{shown:?}");
                assert_eq!(shown.contains(&said), columns != narrow, "{columns}: {shown:?}");
                assert!(shown.matches(line).count() >= 2, "after one second and after two: {shown:?}");
                assert!(shown.ends_with("\r\u{1b}[K") && !shown.contains('\n'), "{shown:?}");
            }
            left_out => println!("the terminal is left out: script(1) does not work: {left_out:?}"),
        }
    }
    end_group(&mut holder);
    assert!(first.wait().unwrap().success());
}

#[test]
fn a_waiter_goes_over_to_the_file_that_replaced_its_own() {
    let fixture = Fixture::new();
    let (mut holder, _output) = fixture.hold(&[], "echo inside; sleep 60");
    let waiter = fixture.command("run", &["--verbose"], &["echo", "got in"]);
    let waiter = { waiter }.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    fixture.until_queued(1);
    std::fs::remove_file(&fixture.file).unwrap();
    // The first that comes creates it anew, and holds the new one for a moment.
    let (mut other, _output) = fixture.hold(&["--label", "other"], "echo inside; sleep 0.5");
    let waited = waiter.wait_with_output().unwrap();
    assert_eq!((waited.status.code(), text(&waited)), (Some(0), "got in\n".into()), "{}", errors(&waited));
    assert!(
        errors(&waited).contains("was deleted or replaced: waiting in the new file"),
        "{}",
        errors(&waited)
    );
    assert!(other.wait().unwrap().success());
    end_group(&mut holder);
}

#[test]
fn a_file_that_was_replaced_while_the_command_ran_is_reported() {
    let fixture = Fixture::new();
    let file = fixture.file.to_str().unwrap();
    let warning = "was deleted or replaced while the command ran";
    for script in ["rm \"$0\"", "rm \"$0\"; : > \"$0\"", "mv \"$0\" \"$0.old\""] {
        let output = fixture.run(&[], &["sh", "-c", &format!("{script}; exit 7"), file]);
        assert_eq!(output.status.code(), Some(7), "{script}");
        assert!(errors(&output).contains(warning), "{script}: {}", errors(&output));
        let _ = std::fs::remove_file(file);
    }
    let left_alone = fixture.run(&[], &["true"]);
    assert_eq!(errors(&left_alone), "");
}

/// The waiter has told all others that the file is gone: that is a warning, and no failure of the command.
#[test]
fn the_commands_exit_code_is_kept_where_its_file_was_replaced_under_a_waiter() {
    let fixture = Fixture::new();
    let go = fixture.file.with_extension("go");
    let script = format!("echo inside; while [ ! -e {} ]; do sleep 0.05; done; exit 7", go.display());
    let (mut holder, _output) = fixture.hold(&[], &script);
    let mut waiter = fixture.command("run", &[], &["true"]).spawn().unwrap();
    until("it waits", || {
        fixture.status()["locks"][0]["queue"].as_array().is_some_and(|queue| !queue.is_empty())
    });
    std::fs::remove_file(&fixture.file).unwrap();
    assert!(limit::end_of(&mut waiter, "the waiter").success(), "in a new file");
    std::fs::write(go, "").unwrap();
    assert_eq!(limit::end_of(&mut holder, "the holder").code(), Some(7));
}
