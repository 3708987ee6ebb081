//! `turnlock wait`, `notify`, `barrier` and `once`, and what the other commands say of events, conditions, barriers and onces.

use super::*;
use std::thread;

impl Fixture {
    /// `turnlock WORD OPTIONS FILE WORDS`.
    fn at(&self, word: &str, options: &[&str], words: &[&str]) -> Command {
        let mut turnlock = self.command(word, options, &[]);
        turnlock.args(words);
        turnlock
    }

    fn done(&self, word: &str, options: &[&str], words: &[&str]) -> Output {
        limit::output(&mut self.at(word, options, words)).unwrap()
    }

    fn start(&self, word: &str, options: &[&str], words: &[&str]) -> Child {
        self.at(word, options, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Waits until so many wait at what has this name.
    fn until_waiting(&self, name: &str, count: usize) -> serde_json::Value {
        // The one that waits creates it.
        until("there is a lock file", || turnlock::inspect::snapshot(&self.file).is_ok());
        let status = self.until(|status| self.queue(status, name) == count);
        lock(&status, name).clone()
    }

    fn queue(&self, status: &serde_json::Value, name: &str) -> usize {
        let locks = status["locks"].as_array().unwrap();
        let named = locks.iter().find(|lock| lock["name"] == name);
        named.map_or(0, |lock| lock["queue"].as_array().unwrap().len())
    }
}

fn lock<'a>(status: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    status["locks"].as_array().unwrap().iter().find(|lock| lock["name"] == name).unwrap()
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn end(mut child: Child, what: &str) -> Output {
    limit::end_of(&mut child, what);
    child.wait_with_output().unwrap()
}

#[test]
fn who_waits_for_an_event_goes_on_when_it_is_set() {
    let fixture = Fixture::new();
    // The one that waits creates the file and the event.
    let waiters = [(); 2].map(|()| fixture.start("wait", &[], &["ready"]));
    let seen = fixture.until_waiting("ready", 2);
    assert_eq!(
        (&seen["kind"], &seen["state"], &seen["queue"][0]["state"]),
        (&"event".into(), &"not_set".into(), &"queued".into())
    );
    assert_eq!(seen["queue"][0]["label"], "turnlock wait");
    let said = fixture.status_text();
    assert!(said.contains("\nready (event): never set so far\n  1. turnlock wait (pid "), "{said}");
    assert_eq!(code(&fixture.done("wait", &["--try", "-E", "7"], &["ready"])), Some(7));
    let over = fixture.done("wait", &["-v", "--for", "0.1"], &["ready"]);
    assert_eq!(code(&over), Some(1));
    assert!(errors(&over).contains("the time is over: \"ready\" in "), "{}", errors(&over));

    let set = fixture.done("notify", &["--json", "-v"], &["ready"]);
    let set_json: serde_json::Value = serde_json::from_slice(&set.stdout).unwrap();
    assert_eq!(
        (&set_json["set"], &set_json["changed"], &set_json["notified"]),
        (&true.into(), &true.into(), &serde_json::Value::Null)
    );
    assert!(errors(&set).ends_with("\"ready\" is set\n"), "{}", errors(&set));
    for waiter in waiters {
        let ended = end(waiter, "a waiter");
        assert_eq!((code(&ended), errors(&ended)), (Some(0), String::new()));
    }
    assert_eq!(code(&fixture.done("wait", &["--try"], &["ready"])), Some(0));
    assert_eq!(errors(&fixture.done("notify", &[], &["ready"])), "", "silence, where nothing is asked");
    assert!(
        fixture.status_text().contains("\nready (event): set, once so far\n"),
        "{}",
        fixture.status_text()
    );
    assert_eq!(code(&fixture.done("notify", &["--clear"], &["ready"])), Some(0));
    assert_eq!(code(&fixture.done("wait", &["--try"], &["ready"])), Some(1));
    assert!(fixture.status()["participants"].as_array().unwrap().is_empty(), "none is left behind");

    // What cannot be is said, and creates nothing.
    for (word, options, name, why) in [
        ("notify", &["--all"][..], "ready", "is an event"),
        ("notify", &["--clear"], "missing", "called \"missing\""),
        ("notify", &["--all"], "missing", "called \"missing\""),
    ] {
        let refused = fixture.done(word, options, &[name]);
        assert_eq!(code(&refused), Some(66), "{}", errors(&refused));
        assert!(errors(&refused).contains(why), "{}", errors(&refused));
    }
    assert!(fixture.run(&["--lock", "mutex"], &["true"]).status.success());
    let refused = fixture.done("notify", &[], &["mutex"]);
    assert_eq!(code(&refused), Some(66));
    assert!(
        errors(&refused).contains("is a mutex: only events and conditions are notified"),
        "{}",
        errors(&refused)
    );
    assert_eq!(code(&fixture.done("wait", &[], &["mutex"])), Some(66));
    assert_eq!(fixture.status()["locks"].as_array().unwrap().len(), 2);
}

#[test]
fn a_signal_ends_a_wait_and_leaves_nothing() {
    let fixture = Fixture::new();
    for (word, words) in [("wait", &["ready"][..]), ("barrier", &["stage", "2"])] {
        let waiter = fixture.start(word, &[], words);
        fixture.until_waiting(words[0], 1);
        signal("TERM", waiter.id());
        assert_eq!(end(waiter, word).status.signal(), Some(15), "{word}");
        let status = fixture.status();
        assert_eq!(fixture.queue(&status, words[0]), 0);
        assert!(status["participants"].as_array().unwrap().is_empty(), "{status}");
    }
    // For the others the barrier is broken.
    let broken = fixture.done("barrier", &[], &["stage"]);
    assert_eq!(code(&broken), Some(65));
    assert!(errors(&broken).contains("gave up waiting"), "{}", errors(&broken));
}

#[test]
fn a_waiter_for_an_event_goes_over_to_the_file_that_replaced_its_own() {
    let fixture = Fixture::new();
    let waiter = fixture.start("wait", &["-v"], &["ready"]);
    fixture.until_waiting("ready", 1);
    std::fs::remove_file(&fixture.file).unwrap();
    assert!(fixture.done("notify", &[], &["ready"]).status.success());
    let ended = end(waiter, "the waiter");
    assert_eq!(code(&ended), Some(0));
    assert!(
        errors(&ended).contains("was deleted or replaced: waiting in the new file"),
        "{}",
        errors(&ended)
    );
}

#[test]
fn as_many_waiters_of_a_condition_are_notified_as_is_said() {
    let fixture = Fixture::new();
    let file = turnlock::LockFile::open(&fixture.file).unwrap();
    let (mutex, changed) = (file.mutex("data").unwrap(), file.condition("changed").unwrap());
    let none = fixture.done("notify", &[], &["changed"]);
    assert_eq!(
        (code(&none), errors(&none)),
        (Some(0), "turnlock: no participant waits for \"changed\"\n".into())
    );
    thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| changed.wait(&mut mutex.lock().unwrap()).unwrap());
        }
        fixture.until_waiting("changed", 3);
        let said = fixture.status_text();
        assert!(said.contains("\nchanged (condition, used with data): 3 waiting\n  1. "), "{said}");
        // One that is notified cannot come while the lock is held.
        let guard = mutex.lock().unwrap();
        let one = fixture.done("notify", &["--json"], &["changed"]);
        let one: serde_json::Value = serde_json::from_slice(&one.stdout).unwrap();
        assert_eq!((&one["kind"], &one["notified"]), (&"condition".into(), &1.into()));
        let said = fixture.status_text();
        assert!(said.contains(": 2 waiting, 1 notified, without the lock yet\n  1. "), "{said}");
        assert!(said.lines().any(|line| line.starts_with("  1. ") && line.contains(", notified")), "{said}");
        drop(guard);
        let all = fixture.done("notify", &["--all"], &["changed"]);
        assert_eq!(errors(&all), "turnlock: 2 that wait for \"changed\" are notified\n");
    });
    let refused = fixture.done("notify", &["--clear"], &["changed"]);
    assert_eq!(code(&refused), Some(66));
    assert!(errors(&refused).contains("there is nothing to clear"), "{}", errors(&refused));
}

#[test]
fn all_parties_of_a_barrier_go_on_and_one_of_them_was_the_last() {
    let fixture = Fixture::new();
    for _ in 0..3 {
        let parties = [(); 3].map(|()| fixture.start("barrier", &["--json"], &["stage", "3"]));
        let ended = parties.map(|party| end(party, "a party"));
        assert!(ended.iter().all(|party| code(party) == Some(0)), "{ended:?}");
        let last = |party: &Output| {
            serde_json::from_slice::<serde_json::Value>(&party.stdout).unwrap()["last"] == true
        };
        assert_eq!(ended.iter().filter(|party| last(party)).count(), 1);
    }
    let status = fixture.status();
    let stage = &lock(&status, "stage")["barrier"];
    assert_eq!((&stage["generation"], &stage["arrived"]), (&3.into(), &0.into()));
    for (words, code_of, why) in [
        (&["stage", "2"][..], 66, "has 3 parties"),
        (&["other"], 66, "called \"other\""),
        (&["other", "200"], 66, "room for 128 participants"),
        (&["stage", "0"], 64, "0 is not in 1..=4096"),
    ] {
        let refused = fixture.done("barrier", &[], words);
        assert_eq!(code(&refused), Some(code_of), "{words:?}: {}", errors(&refused));
        assert!(errors(&refused).contains(why), "{words:?}: {}", errors(&refused));
    }
}

#[test]
fn a_party_that_is_killed_breaks_the_barrier_for_all_and_is_named() {
    let fixture = Fixture::new();
    let mut victim = fixture.start("barrier", &["--label", "victim"], &["stage", "3"]);
    fixture.until_waiting("stage", 1);
    let other = fixture.start("barrier", &[], &["stage", "3"]);
    let seen = fixture.until_waiting("stage", 2);
    assert_eq!((&seen["state"], &seen["barrier"]["arrived"]), (&"open".into(), &2.into()));
    assert!(
        fixture.status_text().contains("\nstage (barrier, 3 parties): 2 of 3 have come\n"),
        "{}",
        fixture.status_text()
    );
    victim.kill().unwrap();
    let dead = victim.id();
    limit::end_of(&mut victim, "the victim");
    let told = end(other, "the other");
    assert_eq!(code(&told), Some(65), "{}", errors(&told));
    let who = format!("process {dead}");
    assert!(errors(&told).contains(&who) && errors(&told).contains("has died"), "{}", errors(&told));
    let status = fixture.status();
    let broken = &lock(&status, "stage")["barrier"]["broken"];
    assert_eq!((&broken["why"], &broken["pid"]), (&"died".into(), &dead.into()));
    let said = fixture.status_text();
    let line = format!("\nstage (barrier, 3 parties): broken: {who}, one of its parties, died (slot ");
    assert!(said.contains(&line) && said.contains("    turnlock reset --lock stage "), "{said}");
    let doctor = limit::output(&mut fixture.command("doctor", &[], &[])).unwrap();
    assert!(text(&doctor).contains("barrier: \"stage\" is broken: "), "{}", text(&doctor));
    let list = text(&limit::output(&mut fixture.command("list", &[], &[])).unwrap());
    assert!(list.contains("  broken      barrier     stage"), "{list}");

    let later = fixture.done("barrier", &["--json"], &["stage", "3"]);
    assert_eq!(code(&later), Some(65));
    let error: serde_json::Value = serde_json::from_slice(&later.stdout).unwrap();
    assert!(error["exit_code"] == 65 && error["error"].as_str().unwrap().contains("has died"), "{error}");

    assert_eq!(code(&fixture.done("barrier", &["--reset"], &["stage"])), Some(0));
    // One whose time is over breaks it too, and `turnlock reset` opens it as well.
    assert_eq!(code(&fixture.done("barrier", &["-w", "0.1", "-E", "9"], &["stage"])), Some(9));
    assert_eq!(code(&fixture.done("barrier", &[], &["stage"])), Some(65));
    assert!(limit::status(&mut fixture.command("reset", &["--lock", "stage"], &[])).unwrap().success());
    assert_eq!(lock(&fixture.status(), "stage")["state"], "open");
}

#[test]
fn of_many_one_does_it_and_the_others_wait() {
    let fixture = Fixture::new();
    let log = fixture.file.with_extension("log");
    let script = format!("sleep 0.2; echo done >>{}", log.display());
    let all = [(); 6].map(|()| fixture.start("once", &[], &["schema", "--", "sh", "-c", &script]));
    for one in all {
        let ended = end(one, "one of them");
        assert_eq!(code(&ended), Some(0));
        assert!(errors(&ended).contains("\"schema\" is done"), "{}", errors(&ended));
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "done\n");
    }
    let again = fixture.done("once", &["-q"], &["schema", "false"]);
    assert_eq!((code(&again), errors(&again)), (Some(0), String::new()));
    assert!(fixture.status_text().contains("\nschema (once): done\n"), "{}", fixture.status_text());
    let reset = fixture.done("once", &["--reset"], &["schema"]);
    assert!(text(&reset).contains("\"schema\" in ") && text(&reset).ends_with(" is to be done again\n"));
    // What fails is not done, and has the command's own code.
    assert_eq!(code(&fixture.done("once", &[], &["schema", "sh", "-c", "exit 7"])), Some(7));
    assert_eq!(code(&fixture.done("once", &[], &["schema", "sh", "-c", "kill -TERM $$"])), Some(128 + 15));
    assert_eq!(code(&fixture.done("once", &[], &["schema", "/nonexistent/command"])), Some(69));
    assert_eq!(lock(&fixture.status(), "schema")["state"], "not_done");
    let inner = format!("{} once {} schema true", env!("CARGO_BIN_EXE_turnlock"), fixture.file.display());
    let inside = fixture.done("once", &[], &["schema", "sh", "-c", &inner]);
    assert_eq!(code(&inside), Some(71), "{}", errors(&inside));
    assert!(errors(&inside).contains("waiting would never end"), "{}", errors(&inside));
}

#[test]
fn the_next_one_is_told_when_the_one_that_was_at_it_was_killed() {
    let fixture = Fixture::new();
    let mut runner = fixture.start("once", &[], &["schema", "sh", "-c", "echo inside; exec sleep 60"]);
    let mut output = BufReader::new(runner.stdout.take().unwrap());
    assert_eq!(limit::line(&mut output, &mut runner).as_deref(), Ok("inside"));
    let said = fixture.status_text();
    let who = format!(" s, by sh, run by turnlock (pid {})", runner.id());
    assert!(said.contains("\nschema (once): under way for ") && said.contains(&who), "{said}");
    assert_eq!(code(&fixture.done("once", &["--try", "-E", "9"], &["schema", "true"])), Some(9));
    assert_eq!(code(&fixture.done("once", &["-w", "0.1"], &["schema", "true"])), Some(1));
    let waiter = fixture.start(
        "once",
        &[],
        &["schema", "sh", "-c", "echo $TURNLOCK_PREVIOUS_OWNER_DIED $TURNLOCK_PREVIOUS_OWNER_PID"],
    );
    fixture.until_waiting("schema", 1);
    let commands = holder_command(runner.id());
    runner.kill().unwrap();
    let dead = runner.id();
    limit::end_of(&mut runner, "the runner");
    commands.into_iter().for_each(|pid| signal("KILL", pid));
    let told = end(waiter, "the waiter");
    assert_eq!((code(&told), text(&told)), (Some(0), format!("1 {dead}\n")));
    let who = format!("sh (pid {dead}), died: what it did may be half-done");
    assert!(errors(&told).contains(&who), "{}", errors(&told));
    assert_eq!(lock(&fixture.status(), "schema")["state"], "done");
}

#[test]
fn what_is_named_when_the_file_is_created_is_there() {
    let fixture = Fixture::new();
    let named = ["--event", "a", "--event", "b", "--barrier", "x=1=3", "--condition", "c", "--once", "o"];
    assert!(limit::status(fixture.command("create", &named, &[]).stdout(Stdio::null())).unwrap().success());
    let status = fixture.status();
    let kinds: Vec<_> =
        status["locks"].as_array().unwrap().iter().map(|lock| (&lock["name"], &lock["kind"])).collect();
    let expected = [("c", "condition"), ("a", "event"), ("b", "event"), ("x=1", "barrier"), ("o", "once")]
        .map(|(name, kind)| (serde_json::json!(name), serde_json::json!(kind)));
    assert!(
        kinds.iter().map(|(name, kind)| (*name, *kind)).eq(expected.iter().map(|(name, kind)| (name, kind))),
        "{kinds:?}"
    );
    assert_eq!(lock(&status, "x=1")["barrier"]["parties"], 3);
    assert!(status["participants"].as_array().unwrap().is_empty(), "{status}");
    let new = fixture.file.with_extension("new");
    for (barrier, code_of, why) in [
        ("x", 64, "not NAME=N"),
        ("x=0", 64, "1 to 4096"),
        ("x=200", 66, "room for 128 participants"),
        ("=2", 66, "empty"),
    ] {
        let mut create = Command::new(env!("CARGO_BIN_EXE_turnlock"));
        let refused = limit::output(create.args(["create", "--barrier", barrier]).arg(&new)).unwrap();
        assert_eq!(code(&refused), Some(code_of), "{}", errors(&refused));
        assert!(errors(&refused).contains(why) && !new.exists(), "{barrier}: {}", errors(&refused));
    }
    // What is never closed is not opened, and each can be removed.
    for (name, instead) in
        [("a", "turnlock notify --clear"), ("o", "turnlock once --reset"), ("c", "a condition")]
    {
        let refused = limit::output(&mut fixture.command("reset", &["--lock", name], &[])).unwrap();
        assert_eq!(code(&refused), Some(66));
        assert!(errors(&refused).contains(instead), "{}", errors(&refused));
        assert!(fixture.done("remove-lock", &[], &[name]).status.success());
    }
    let waiter = fixture.start("wait", &[], &["b"]);
    fixture.until_waiting("b", 1);
    assert_eq!(code(&fixture.done("remove-lock", &[], &["b"])), Some(1), "one waits for it");
    signal("TERM", waiter.id());
    end(waiter, "the waiter");
}

#[test]
fn a_watcher_is_told_of_events_barriers_and_onces() {
    let fixture = Fixture::new();
    let named = ["--event", "ready", "--barrier", "stage=2", "--once", "schema"];
    assert!(limit::status(fixture.command("create", &named, &[]).stdout(Stdio::null())).unwrap().success());
    let mut watch =
        fixture.command("watch", &["--interval", "0.01"], &[]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap());
    let mut until_said = |what: &str| loop {
        let line = limit::line(&mut lines, &mut watch).unwrap();
        if line.contains(what) {
            return;
        }
    };
    until_said("watching");
    assert!(fixture.done("notify", &[], &["ready"]).status.success());
    until_said("ready  set");
    assert!(fixture.done("notify", &["--clear"], &["ready"]).status.success());
    until_said("ready  cleared");
    let waiter = fixture.start("wait", &[], &["ready"]);
    until_said("ready  asked for by turnlock wait");
    assert!(fixture.done("notify", &[], &["ready"]).status.success());
    end(waiter, "the waiter");
    until_said("ready  no longer waited for by turnlock wait");
    assert_eq!(code(&fixture.done("barrier", &["-w", "0.05"], &["stage"])), Some(1));
    until_said("gave up waiting");
    assert!(fixture.done("barrier", &["--reset"], &["stage"]).status.success());
    until_said("stage  open again");
    assert!(fixture.done("once", &[], &["schema", "true"]).status.success());
    until_said("schema  done");
    watch.kill().unwrap();
    limit::end_of(&mut watch, "watch");
}
