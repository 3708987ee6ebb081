//! `turnlock top`, in a terminal.

use super::{
    Fixture, TURNLOCK, new_fixture,
    terminal::{self, Terminal},
};
use std::{fs, process::Command};
use support::limit;

/// `top` on a terminal of 80 columns, and after it what it left of the terminal.
fn top(fixture: &Fixture) -> Option<Terminal> {
    if !terminal::can_be_had() {
        println!("left out: tmux is not installed");
        return None;
    }
    let command = format!(
        "echo before; {TURNLOCK} top --interval 0.1 {}; echo ended $?; stty -a; exec cat",
        fixture.file.display()
    );
    let terminal = Terminal::run(&command, (80, 24), &[]);
    terminal.until_shown("HELD BY");
    assert!(terminal.is_taken());
    Some(terminal)
}

/// The shell is back, with the terminal as it was.
fn is_restored(terminal: &Terminal, code: &str) {
    let after = terminal.until_shown(&format!("ended {code}"));
    let after = if after.contains(" icanon") { after } else { terminal.until_shown(" icanon") };
    assert!(after.contains("before") && after.contains(" echo ") && !terminal.is_taken(), "{after}");
}

#[test]
fn keys_lead_through_the_screen_and_out() {
    let fixture = new_fixture();
    let mut holder = fixture.hold(&["--lock", "build"]);
    let waiter = fixture.want(&["--lock", "build"]);
    support::until("it waits", || support::queue_at(&fixture.file, "build").len() == 1);
    let Some(terminal) = top(&fixture) else { return };
    let list = terminal.until_shown("● held for");
    assert!(list.contains("1/64 locks") && list.contains("1 cat, run by turnlock"), "{list}");

    terminal.press(&["?"]);
    terminal.until_shown("What is shown");
    terminal.press(&["Escape"]);
    terminal.until_shown("● held for");
    terminal.press(&["r"]);
    terminal.until_shown("CHOOSING");
    // At once: for a terminal, Escape and a key are Alt and that key.
    terminal.press(&["Escape", "Enter"]);
    terminal.until_shown("r registers  ↑ ↓ scroll");
    terminal.resize(200, 50);
    terminal.until("the file's line, on 200 columns", |text| text.lines().next().unwrap_or("").len() > 60);
    terminal.resize(80, 24);
    terminal.press(&["Escape"]);
    terminal.until_shown("HELD BY");
    terminal.press(&["/", "x", "y", "z", "Enter"]);
    terminal.until_shown("no lock fits the filter");
    terminal.press(&["Escape"]);
    terminal.until_shown("● held for");

    // What happens is seen.
    holder.end();
    terminal.press(&["Enter"]);
    terminal.until_shown("acquired by cat");
    terminal.press(&["q"]);
    is_restored(&terminal, "0");
    drop(waiter);
}

#[test]
fn a_key_that_comes_with_a_change_of_the_size_is_heard() {
    let fixture = new_fixture();
    let _holder = fixture.hold(&["--lock", "build"]);
    let Some(terminal) = top(&fixture) else { return };
    terminal.until_shown("● held for");
    let pid = pid_of_top(&fixture).unwrap();
    // It is told of changes all the time, as while the window's corner is dragged.
    let mut changes = Command::new("sh");
    changes.args(["-c", "while kill -WINCH \"$0\" 2>/dev/null; do :; done", &pid]);
    let mut changes = changes.spawn().unwrap();
    for _ in 0..25 {
        terminal.press(&["?"]);
        terminal.until_shown("What is shown");
        terminal.press(&["Escape"]);
        terminal.until_shown("● held for");
    }
    terminal.press(&["q"]);
    is_restored(&terminal, "0");
    assert!(limit::end_of(&mut changes, "what tells it of changes").success());
}

/// The pid of the `turnlock top` that shows this file, while there is one.
fn pid_of_top(fixture: &Fixture) -> Option<String> {
    let pattern = format!("^{TURNLOCK} top .*{}", fixture.file.display());
    let found = limit::output(Command::new("pgrep").args(["-f", &pattern])).unwrap();
    String::from_utf8(found.stdout).unwrap().lines().next().map(str::to_owned)
}

#[test]
fn it_ends_when_the_terminal_goes_away() {
    let fixture = new_fixture();
    let _holder = fixture.hold(&["--lock", "build"]);
    let Some(terminal) = top(&fixture) else { return };
    assert!(pid_of_top(&fixture).is_some());
    drop(terminal);
    support::until("it has ended", || pid_of_top(&fixture).is_none());
}

#[test]
fn signals_and_ctrl_c_give_the_terminal_back() {
    let fixture = new_fixture();
    let _holder = fixture.hold(&["--lock", "build"]);
    // No other process writes to it: a waiter would.
    let before = fs::read(&fixture.file).unwrap();
    let Some(terminal) = top(&fixture) else { return };
    terminal.press(&["r"]);
    terminal.until_shown("CHOOSING");
    terminal.press(&["C-c"]);
    is_restored(&terminal, "0");
    assert!(fs::read(&fixture.file).unwrap() == before, "looking has written to the file");
    for (signal, code) in [("TERM", "143"), ("HUP", "129"), ("INT", "130")] {
        let Some(terminal) = top(&fixture) else { return };
        let pattern = format!("^{TURNLOCK} top .*{}", fixture.file.display());
        let found = limit::output(Command::new("pgrep").args(["-f", &pattern])).unwrap();
        let pid = String::from_utf8(found.stdout).unwrap();
        assert_eq!(pid.lines().count(), 1, "{pid}");
        assert!(
            limit::status(Command::new("kill").args([&format!("-{signal}"), pid.trim()])).unwrap().success()
        );
        is_restored(&terminal, code);
    }
}

#[test]
fn a_file_that_goes_is_replaced_or_truncated_is_said() {
    let fixture = new_fixture();
    let holder = fixture.hold(&["--lock", "build"]);
    let Some(terminal) = top(&fixture) else { return };
    fs::remove_file(&fixture.file).unwrap();
    terminal.until_shown("LOST, shown as it last was");
    let another = fixture.hold(&["--lock", "another"]);
    terminal
        .until("the file that is there now", |text| text.contains("REPLACED") && text.contains("another"));
    let open = fs::OpenOptions::new().write(true).open(&fixture.file).unwrap();
    open.set_len(4096).unwrap();
    terminal.until_shown("LOST");
    terminal.press(&["q"]);
    is_restored(&terminal, "0");
    drop((holder, another));
}

#[test]
fn a_holder_that_was_killed_is_shown_as_dead() {
    let fixture = new_fixture();
    let mut holder = fixture.hold(&["--lock", "build"]);
    let Some(terminal) = top(&fixture) else { return };
    holder.kill();
    terminal.until_shown("DEAD: cat");
    let waiter = fixture.want(&["--lock", "build"]);
    terminal.until("the next holder", |text| text.contains(&format!("cat ({})", waiter.pid())));
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let fixture = new_fixture();
    let _holder = fixture.hold(&["--lock", "build"]);
    let output = limit::output(Command::new(TURNLOCK).arg("top").arg(&fixture.file)).unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains("turnlock watch"));
    let output = limit::output(Command::new(TURNLOCK).args(["top", "/nowhere/a.lock"])).unwrap();
    assert_eq!(output.status.code(), Some(66));
}
