//! `turnlock explain`: what it tells is what the file says, and it leaves nothing behind.

use super::{
    TURNLOCK, new_fixture,
    terminal::{self, Terminal},
};
use std::{fs, process::Command};
use support::limit;

/// What it prints; its temporary folder is that of the fixture, and empty afterwards.
pub fn printed(arguments: &[&str]) -> String {
    let fixture = new_fixture();
    let mut command = Command::new(TURNLOCK);
    command.arg("explain").args(arguments).env("TMPDIR", fixture.folder());
    let output = limit::output(&mut command).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{arguments:?}: {errors}{text}");
    assert_eq!(fs::read_dir(fixture.folder()).unwrap().count(), 0, "it left something behind");
    // At no time are two inside.
    for table in ["  slot  process", "  participant  "].iter().flat_map(|head| text.split(head).skip(1)) {
        let inside = table.lines().take(4).filter(|line| line.ends_with("INSIDE")).count();
        assert!(inside <= 1, "{table}");
    }
    text
}

/// Where each of these stands in the text, in this order.
pub fn in_order(text: &str, said: &[&str]) {
    let mut from = 0;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for what in said {
        let found = text[from..].find(what);
        from += found.unwrap_or_else(|| panic!("not said, or not then: {what}\n{text}")) + what.len();
    }
}

fn can_step(text: &str) -> bool {
    !text.contains("lets no process step another one")
}

#[test]
fn the_bakery_is_shown_with_its_tie_and_its_death() {
    let text = printed(&["bakery", "--plain"]);
    in_order(
        &text,
        &[
            "ada (",
            "number[0] = 1",
            "ada writes itself down",
            "ada is inside. Now ben",
            "number[0] = 0",
            "ben writes itself",
        ],
    );
    in_order(
        &text,
        &["ben is dead", "cleo has found ben dead", "cleo clears number[1]", "cleo writes itself down"],
    );
    if can_step(&text) {
        in_order(
            &text,
            &["choosing[0] = 1", "choosing[1] = 1", "choosing[2] = 1", "has 2 too", "ben before cleo"],
        );
    }
}

fn is_a_ring_with_a_death(text: &str) {
    in_order(
        text,
        &[
            "one turn",
            "ada writes itself down",
            "Passing it on",
            "ben writes itself down",
            "Killed",
            "cleo writes itself down",
        ],
    );
}

// One of them alone: to step through a ring takes ten seconds of a program that is not optimised.
#[test]
fn a_ring_is_shown_with_its_states_and_links() {
    let text = printed(&["ring", "--ring", "sum"]);
    is_a_ring_with_a_death(&text);
    if can_step(&text) {
        in_order(&text, &["linked to itself", "as its left neighbour now", "the privilege has gone on"]);
    }
}

#[test]
fn each_ring_is_shown_from_call_to_call() {
    for ring in ["raynal", "k-state", "sum"] {
        is_a_ring_with_a_death(&printed(&["ring", "--ring", ring, "--by-calls"]));
    }
}

#[test]
fn the_bias_is_shown_with_its_revocation() {
    let text = printed(&["bias"]);
    in_order(
        &text,
        &[
            "number[0] = 1",
            "The lock is now biased to ada",
            "ada takes the next",
            "ben is the head of the queue and revokes",
        ],
    );
    if can_step(&text) {
        in_order(
            &text,
            &["ada takes no number: the lock is biased to it", "finds it marked", "ben writes itself down"],
        );
    }
}

#[test]
fn it_goes_from_call_to_call_too() {
    for subject in ["bakery", "ring", "bias"] {
        let text = printed(&[subject, "--by-calls"]);
        in_order(&text, &["ada writes itself down as the holder", "INSIDE", "calls unlock()"]);
    }
}

#[test]
fn on_a_terminal_a_key_goes_on_and_back_and_out() {
    if !terminal::can_be_had() {
        println!("left out: tmux is not installed");
        return;
    }
    let fixture = new_fixture();
    let command = format!("echo before; {TURNLOCK} explain bakery; echo ended $?; stty -a; exec cat");
    let folder = fixture.folder().to_str().unwrap();
    let terminal = Terminal::run(&command, (80, 24), &[("TMPDIR", folder)]);
    let first = terminal.until_shown("step 1 of 1");
    assert!(first.contains("A bakery with a queue of numbers") && first.contains("q quit"), "{first}");
    terminal.press(&["Space"]);
    terminal.until_shown("step 2 of 2");
    terminal.press(&["Left"]);
    terminal.until_shown("step 1 of 2");
    terminal.press(&["Right", "Right"]);
    let third = terminal.until_shown("step 3 of 3");
    assert!(third.contains("calls lock()"), "{third}");
    terminal.press(&["a", "+", "+", "+", "+", "+"]);
    terminal.until_shown("Two come at the same time");
    terminal.press(&["q"]);
    let after = terminal.until_shown("ended 0");
    assert!(after.contains("before") && !terminal.is_taken(), "{after}");
    limit::within(limit::of_processes(), || {
        (fs::read_dir(fixture.folder()).unwrap().count() == 0).then_some(())
    })
    .expect("its folder is removed");
}
