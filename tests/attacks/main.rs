//! Attacks through the C ABI: what a C program can do to the library at moments that no caller should have to think of:
//! fork while others attach, the end of a thread, cancellation, signals, no memory, no descriptor, little stack.
//!
//! Each test compiles a C program of this folder, runs it with a limit, and expects it to end well. A program that
//! hangs is ended, and the report says at what it was.
#![cfg(not(any(loom, shuttle)))]

mod program;

use program::Program;
use turnlock::inspect::{self, FileStatus};

/// The lock file, as one sees it who looks on.
fn status(program: &Program) -> FileStatus {
    inspect::snapshot(program.lock_file()).unwrap()
}

// --- fork ---

#[test]
fn a_fork_while_threads_attach_keeps_nobody_alive() {
    Program::new("fork_while_attaching").passes(&["fork"]);
}

#[test]
fn a_fork_without_handlers_while_threads_attach_keeps_nobody_alive() {
    Program::new("fork_while_attaching").passes(&["_Fork"]);
}

// --- the end of a thread, and of a program ---

#[test]
fn destructors_of_keys_and_handlers_of_exit_can_lock() {
    let program = Program::new("key_destructor");
    program.passes(&[]);
    let status = status(&program);
    assert!(status.participants.is_empty(), "it unlocked, and left {:?}", status.participants);
    assert_eq!(status.locks[0].state, "consistent");
}

#[test]
fn no_call_is_a_cancellation_point() {
    Program::new("cancel").passes(&[]);
}
