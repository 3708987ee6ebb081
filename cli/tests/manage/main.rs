//! The commands that look after a lock file, as an administrator meets them.

mod bench;
mod commands;
mod completions;
mod doctor;
mod growing;
mod killed;
mod read_only;
mod schema;
mod status;

use std::{
    io::BufReader,
    path::Path,
    process::{Child, Command, Output, Stdio},
};
use support::{
    command::{Fixture, Running, errors, text},
    limit, until,
};

support::watched_for_seconds!(support::watchdog::USUAL);

const TURNLOCK: &str = env!("CARGO_BIN_EXE_turnlock");

fn new_fixture() -> Fixture {
    Fixture::new(TURNLOCK)
}

/// What a command says of the fixture's file as JSON, whatever its exit code.
fn json_of(fixture: &Fixture, word: &str) -> serde_json::Value {
    json(&fixture.turnlock(word, &["--json"]))
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(output), errors(output)))
}

/// Does `act` while two threads of this process wait for one another, at the mutexes "a" and "b" of the fixture's file. Neither is told.
fn with_deadlock(fixture: &Fixture, act: impl FnOnce()) {
    let is_seen = || json_of(fixture, "status")["deadlocks"].as_array().unwrap().len() == 1;
    support::deadlock::with_deadlock(&fixture.file, is_seen, act);
}
