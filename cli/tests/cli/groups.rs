//! Group locks, as a shell script takes them.

use super::kinds::{STAY, TOLD, kill_both};
use super::*;

const ONE: &[&str] = &["--lock", "store", "--in-group", "1"];
const TWO: &[&str] = &["--lock", "store", "--in-group", "2"];

#[test]
fn a_group_is_inside_together_and_no_other_beside_it() {
    let fixture = Fixture::new();
    let (mut one, _output) = fixture.hold(ONE, STAY);
    let (mut other, _other_output) = fixture.hold(ONE, STAY);
    assert_eq!(fixture.try_run(TWO), Some(75));
    let greatest = u64::MAX.to_string();
    assert_eq!(fixture.try_run(&["--lock", "store", "--in-group", &greatest]), Some(75));
    let status = fixture.status();
    assert_eq!(status["locks"][0]["kind"], "group lock");
    let parts: Vec<_> = status["locks"][0]["holders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|holder| &holder["claim"]["part"]["group"])
        .collect();
    assert_eq!(parts, ["1", "1"]);

    let mut waiter = fixture.wait(&[TWO, &["--label", "newer"]].concat(), &TOLD, 1);
    // First come first served: its own group is inside, and it stays behind the one that waits.
    assert_eq!(fixture.try_run(ONE), Some(75));
    let text = fixture.status_text_with(&["--glossary"]);
    assert!(text.contains("store (group lock, strict order, "), "{text}");
    assert!(text.contains("): 2 inside\n  - held (group 1) for "), "{text}");
    assert!(
        text.contains("\n  1. newer, run by turnlock (pid ") && text.contains("group 2, behind sh"),
        "{text}"
    );
    assert!(text.contains("\n  group: those of one group"), "{text}");
    assert!(!text.contains("\n  shared: "), "{text}");
    let refused = fixture.run(&[TWO, &["--try", "-v"]].concat(), &["true"]);
    assert!(errors(&refused).contains("held (group 1) for"), "{}", errors(&refused));
    assert!(errors(&refused).contains(", and by 1 more"), "{}", errors(&refused));

    end_group(&mut one);
    assert!(waiter.try_wait().unwrap().is_none(), "the other one is inside");
    end_group(&mut other);
    assert!(limit::end_of(&mut waiter, "the waiter").success());
}

#[test]
fn a_death_is_told_in_each_group_until_one_that_was_told_succeeds() {
    let fixture = Fixture::new();
    let inform = |options: &[&'static str]| [options, &["--on-death", "inform"]].concat();
    let (mut dies, _output) = fixture.hold(&inform(ONE), STAY);
    kill_both(&mut dies);
    let told = |options: &[&str], script: &str| {
        text(&fixture.run(options, &["sh", "-c", &format!("echo $TURNLOCK_PREVIOUS_OWNER_DIED; {script}")]))
    };
    assert_eq!(told(TWO, "exit 1"), "1\n");
    assert!(fixture.status_text().contains("not yet marked consistent"), "{}", fixture.status_text());
    assert_eq!(told(ONE, "kill -9 $$"), "1\n", "the one before failed");
    assert_eq!(told(TWO, "true"), "1\n", "the one before died too");
    assert_eq!((told(ONE, "true"), told(TWO, "true")), ("0\n".into(), "0\n".into()));
    let (mut again, _output) = fixture.hold(ONE, STAY);
    kill_both(&mut again);
    let reset = limit::output(&mut fixture.command("reset", &["--lock", "store"], &[])).unwrap();
    assert!(reset.status.success(), "{}", errors(&reset));
    assert_eq!(told(ONE, "true"), "0\n");
}

/// Both were told, and the second to end finds that the first has marked it.
#[test]
fn two_that_were_told_succeed_both() {
    let fixture = Fixture::new();
    let (mut dies, _output) = fixture.hold(&[ONE, &["--on-death", "inform"]].concat(), STAY);
    kill_both(&mut dies);
    let script = "echo inside; read -r line; [ \"$TURNLOCK_PREVIOUS_OWNER_DIED\" = 1 ]";
    let mut both: Vec<_> = (0..2)
        .map(|_| {
            let mut child = fixture
                .command("run", TWO, &["sh", "-c", script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut output = BufReader::new(child.stdout.take().unwrap());
            assert_eq!(limit::line(&mut output, &mut child).as_deref(), Ok("inside"));
            child
        })
        .collect();
    for child in &mut both {
        drop(child.stdin.take());
        assert!(limit::end_of(child, "one that was told").success());
    }
    assert_eq!(text(&fixture.run(ONE, &TOLD)), "0\n");
}

#[test]
fn a_run_inside_a_run_enters_with_its_group_and_does_not_wait_for_ever_with_another() {
    let fixture = Fixture::new();
    let file = fixture.file.to_str().unwrap();
    let inside = |inner: &[&str]| {
        let command = [&[env!("CARGO_BIN_EXE_turnlock"), "run"], inner, &[file, "true"]].concat();
        fixture.run(ONE, &command)
    };
    let beside = inside(ONE);
    assert_eq!(beside.status.code(), Some(0), "{}", errors(&beside));
    let endless = inside(TWO);
    assert_eq!(endless.status.code(), Some(71), "{}", errors(&endless));
    assert!(errors(&endless).contains("waiting would never end"), "{}", errors(&endless));
}

#[test]
fn a_shell_holds_it_by_a_descriptor() {
    let fixture = Fixture::new();
    let script = "exec 9<>\"$F\"
        turnlock lock --fd 9 --lock store --in-group 1 || exit
        try() { turnlock run -n -E 9 --lock store \"$@\" \"$F\" true; echo $?; }
        try --in-group 1; try --in-group 2
        turnlock unlock --fd 9 --lock store; try --in-group 2";
    let output = fixture.script(script);
    assert_eq!(text(&output), "0\n9\n0\n", "{}", errors(&output));
}

#[test]
fn wrong_words_about_groups_are_usage_errors_and_other_kinds_are_refused() {
    let fixture = Fixture::new();
    for more in [
        &["-s"][..],
        &["-x"],
        &["--permits", "2"],
        &["--range", "1-2"],
        &["--key", "a"],
        &["--turn"],
        &["--algorithm", "bakery"],
        &["--patience", "0"],
        &["--member"],
    ] {
        let output = fixture.run(&[ONE, more].concat(), &["true"]);
        assert_eq!(output.status.code(), Some(64), "{more:?}: {}", errors(&output));
    }
    for number in ["", "-1", "x", "1.5", "18446744073709551616"] {
        let output = fixture.run(&[&format!("--in-group={number}")], &["true"]);
        assert_eq!(output.status.code(), Some(64), "{number:?}: {}", errors(&output));
        assert!(errors(&output).contains("--in-group"), "{number:?}: {}", errors(&output));
    }
    assert!(!fixture.file.exists());
    assert_eq!(fixture.try_run(ONE), Some(0));
    for of_all in [&["--lock", "store"][..], &["--lock", "store", "-x"]] {
        let output = fixture.run(of_all, &["true"]);
        assert_eq!(output.status.code(), Some(66), "{of_all:?}");
        assert!(errors(&output).contains("say which one, with --in-group"), "{}", errors(&output));
    }
    for other in
        [&["-s"][..], &["--key", "a"], &["--permits", "2"], &["--on-death", "inform", "--in-group", "1"]]
    {
        let output = fixture.run(&[&["--lock", "store"], other].concat(), &["true"]);
        assert_eq!(output.status.code(), Some(66), "{other:?}: {}", errors(&output));
    }
    let patient = fixture.run(&["--lock", "store", "--patience", "0"], &["true"]);
    assert_eq!(patient.status.code(), Some(66));
    assert!(
        errors(&patient).contains("group lock, whose order is strict: leave --patience out"),
        "{}",
        errors(&patient)
    );
    // Of the file, not of the lock.
    let no_such = fixture.run(&["--group", "no such group"], &["true"]);
    assert!(errors(&no_such).contains("there is no group of this name"), "{}", errors(&no_such));
}
