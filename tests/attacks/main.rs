//! Attacks through the C ABI: what a C program can do to the library at moments that no caller should have to think of:
//! fork while others attach, the end of a thread, cancellation, signals, no memory, no descriptor, little stack.
//!
//! Each test compiles a C program of this folder, runs it with a limit, and expects it to end well. A program that
//! hangs is ended, and the report says at what it was.

mod program;

use program::Program;
use support::built::libraries;
use turnlock::inspect::{self, FileStatus};

support::watched_for_seconds!(support::watchdog::USUAL);

/// The lock file, as one sees it who looks on.
fn status(program: &Program) -> FileStatus {
    inspect::snapshot(program.lock_file()).unwrap()
}

/// How much stack a call may need, in bytes, in a library as `cargo test` builds it and in one that is optimised. Generous:
/// what was seen and half of it again, or more.
const STACK: usize = if cfg!(debug_assertions) { 44 * 1024 } else { 16 * 1024 };

/// The stack on which all of them must run, which is what a careful program gives its threads.
const SMALL_STACK: usize = 64 * 1024;

// --- fork ---

#[test]
fn a_fork_while_threads_attach_keeps_nobody_alive() {
    Program::new("fork_while_attaching").passes(&[]);
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

// --- handles ---

#[test]
fn handles_of_another_kind_and_closed_ones_do_not_pass_by_the_fast_path() {
    Program::new("wrong_handle").passes(&[]);
}

// --- signals, and handlers of fork ---

#[test]
fn a_handler_that_tries_the_lock_that_its_thread_enters_as_bias_owner() {
    Program::new("signal_reentry").passes(&["biased"]);
}

#[test]
fn a_handler_that_tries_the_lock_that_its_thread_takes_from_another() {
    Program::new("signal_reentry").passes(&["plain"]);
}

#[test]
fn a_handler_that_tries_the_lock_that_is_its_threads_first() {
    Program::new("signal_reentry").passes(&["first"]);
}

#[test]
fn a_handler_that_tries_the_turn_of_a_ring_that_its_thread_takes() {
    Program::new("signal_reentry").passes(&["ring"]);
}

#[test]
fn a_handler_that_tries_the_lock_that_its_thread_finds_after_many_other_files() {
    Program::new("signal_reentry").passes(&["files"]);
}

#[test]
fn a_handler_that_tries_the_lock_that_its_thread_takes_by_a_hold_of_both() {
    Program::new("signal_reentry").passes(&["hold"]);
}

#[test]
fn a_handler_that_wants_the_range_that_its_thread_takes_or_gives_back() {
    Program::new("signal_kinds").passes(&["range"]);
}

#[test]
fn a_handler_that_wants_the_range_that_is_its_threads_first() {
    Program::new("signal_kinds").passes(&["first"]);
}

#[test]
fn a_handler_that_reads_the_range_that_its_thread_reads() {
    Program::new("signal_kinds").passes(&["read"]);
}

#[test]
fn a_handler_that_wants_the_key_that_its_thread_takes_or_gives_back() {
    Program::new("signal_kinds").passes(&["key"]);
}

#[test]
fn a_handler_that_wants_the_permits_that_its_thread_takes_or_gives_back() {
    Program::new("signal_kinds").passes(&["permits"]);
}

#[test]
fn a_handler_that_takes_permits_by_which_its_thread_loses_its_place() {
    Program::new("signal_kinds").passes(&["place"]);
}

#[test]
fn a_handler_that_wants_permits_that_its_thread_gives_back_one_by_one() {
    Program::new("signal_kinds").passes(&["portions"]);
}

#[test]
fn a_handler_that_writes_while_its_thread_begins_or_ends_to_read() {
    Program::new("signal_kinds").passes(&["reader"]);
}

#[test]
fn a_handler_that_reads_while_its_thread_begins_or_ends_to_write() {
    Program::new("signal_kinds").passes(&["writer"]);
}

#[test]
fn a_handler_that_reads_while_its_thread_upgrades() {
    Program::new("signal_kinds").passes(&["upgrade"]);
}

#[test]
fn a_handler_that_interrupts_malloc_and_locks_every_kind() {
    for kind in ["mutex", "recursive", "rwlock", "permits", "ranges", "keys", "ring", "dead"] {
        Program::new("signal_malloc").passes(&[kind]);
    }
}

#[test]
fn a_handler_that_closes_files_and_opens_others_while_its_thread_locks() {
    Program::new("many_files").passes(&[]);
}

#[test]
fn a_timers_handler_that_tries_the_lock_of_its_thread() {
    Program::new("signal_reentry").passes(&["timer"]);
}

#[test]
fn a_handler_that_locks_while_its_thread_opens_and_attaches() {
    Program::new("signal_storm").passes(&[]);
}

#[test]
fn handlers_of_fork_that_lock() {
    Program::new("atfork").passes(&[]);
}

// --- no memory, no stack, no descriptor, no library ---

#[test]
fn without_memory_a_call_fails_and_nothing_aborts() {
    Program::new("out_of_memory").passes(&[]);
}

#[test]
fn a_request_for_very_many_parts_is_granted_or_refused() {
    Program::new("many_parts").passes(&[]);
}

#[test]
fn a_file_longer_than_the_process_may_make_one_is_an_error() {
    Program::new("short_files").passes(&[]);
}

#[test]
fn every_call_needs_little_stack() {
    let program = Program::new("small_stack");
    let run = program.run(&[&(4 * SMALL_STACK).to_string(), &STACK.to_string()]);
    println!("{}", run.said);
    assert!(run.status.success(), "{run}");
    let used =
        |line: &str| line.split_once('=').map(|(name, bytes)| (name.to_owned(), bytes.parse().unwrap()));
    let used: Vec<(String, usize)> = run.said.lines().filter_map(used).collect();
    assert!(used.len() > 10, "{run}");
    for (call, bytes) in used {
        assert!(bytes <= STACK, "{call} needs {bytes} bytes of stack, more than {STACK}");
    }
}

#[test]
fn every_call_runs_on_a_small_stack() {
    let program = Program::new("small_stack");
    let run = program.run(&[&SMALL_STACK.to_string(), &STACK.to_string()]);
    assert!(run.status.success() && run.said.contains("PASS"), "{run}");
}

#[test]
fn what_the_library_set_up_is_gone_with_it() {
    let library = libraries().join("libturnlock.so");
    Program::without_library("dlclose").passes(&[library.to_str().unwrap()]);
}

#[test]
fn nobody_is_robbed_while_descriptors_are_closed_and_used_for_other_lock_files() {
    Program::new("stray_close").passes(&[]);
}

#[test]
fn without_a_free_descriptor_threads_attach_and_deaths_are_noticed() {
    without_descriptors("limit");
}

#[test]
fn where_nobody_may_open_the_file_any_more_threads_attach_and_deaths_are_noticed() {
    without_descriptors("mode");
}

#[test]
fn in_another_root_threads_attach_and_deaths_are_noticed() {
    without_descriptors("root");
}

#[test]
fn as_another_user_threads_attach_and_deaths_are_noticed() {
    if !nix::unistd::geteuid().is_root() {
        println!("LEFT OUT, since only root may become another user");
        return;
    }
    without_descriptors("user");
}

/// What happens to the process after it opened the file: by its path, and by a descriptor of a memfd.
fn without_descriptors(what: &str) {
    Program::new("no_descriptor").passes(&[what]);
    Program::new("no_descriptor").passes(&[what, "memfd"]);
}

/// That the attacks see what they are after, with a library that has a mutant in it.
#[cfg(feature = "mutants")]
mod with_mutants {
    use super::Program;
    use turnlock::mutants::Mutant;

    /// By one of these verdicts.
    fn is_caught(mutant: Mutant, name: &'static str, arguments: &[&str], verdicts: &[&str]) {
        let run = Program::new(name).run_with(&[("TURNLOCK_MUTANT", &format!("{mutant:?}"))], arguments);
        println!("{mutant:?}: {}", run.said.trim_end());
        let is_told = verdicts.iter().any(|verdict| run.said.contains(verdict));
        assert!(!run.status.success() && is_told, "{mutant:?} was on: {run}");
    }

    #[test]
    fn an_entry_in_the_file_before_the_threads_own_word_is_caught() {
        is_caught(Mutant::HeldBeforeLocal, "signal_reentry", &["biased"], &["FAIL"]);
    }

    #[test]
    fn a_handle_that_passes_for_one_of_another_kind_is_caught() {
        is_caught(Mutant::FileOfEveryKind, "wrong_handle", &[], &["FAIL"]);
    }

    #[test]
    fn a_closed_handle_that_still_names_its_file_is_caught() {
        is_caught(Mutant::FileOutlivesHandle, "wrong_handle", &[], &["FAIL"]);
    }

    #[test]
    fn a_handler_that_does_not_see_what_is_under_way_is_caught() {
        for kind in ["range", "key", "permits"] {
            is_caught(Mutant::UnderWayUnseen, "signal_kinds", &[kind], &["the handler got -3"]);
        }
    }

    #[test]
    fn a_look_at_the_place_before_the_threads_own_word_is_caught() {
        is_caught(Mutant::ReservationBeforeLocal, "signal_kinds", &["place"], &["FAIL"]);
    }

    #[test]
    fn a_claim_that_leaves_its_descriptor_open_is_caught() {
        // In one victim so many may leak that a later thread finds no slot.
        let verdicts = ["slots leaked", "participant slots are taken"];
        is_caught(Mutant::ClaimStaysOpen, "fork_while_attaching", &[], &verdicts);
    }
}
