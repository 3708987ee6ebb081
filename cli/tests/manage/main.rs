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
    let file = turnlock::LockFile::options().deadlock_errors(false).open(&fixture.file).unwrap();
    let [a, b] = ["a", "b"].map(|name| file.mutex(name).unwrap());
    let both = std::sync::Barrier::new(2);
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|threads| {
        for (first, second) in [(&a, &b), (&b, &a)] {
            let sender = sender.clone();
            let (file, both) = (&file, &both);
            threads.spawn(move || {
                let own = file.current_participant().unwrap();
                let _first = first.lock().unwrap();
                both.wait();
                sender.send(own).unwrap();
                let waited = second.lock();
                // Or the other one was cancelled first.
                assert!(matches!(waited, Ok(_) | Err(turnlock::Error::Cancelled)), "{waited:?}");
            });
        }
        let _end = CancelsAtEnd([(); 2].map(|()| receiver.recv().unwrap()));
        let deadlocks = || json_of(fixture, "status")["deadlocks"].as_array().unwrap().len();
        until("they wait for one another", || deadlocks() == 1);
        act();
    });
}

/// Cancels the waits of these, also where a test has failed.
struct CancelsAtEnd([turnlock::Participant; 2]);

impl Drop for CancelsAtEnd {
    fn drop(&mut self) {
        self.0.iter().for_each(turnlock::Participant::cancel);
    }
}
