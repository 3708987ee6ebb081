//! Step kill: a victim is killed after every machine instruction in turn, of everything that a participant does, and
//! the survivors must lack nothing. All kill points, none left out.
//!
//! In optimised code only (`cargo test --release --test step_kill`), which is what people run: without optimisation
//! the way is some ten times as long. Every trial is a child process ([`trial`]) with the victim as its own child
//! ([`tracee`]); the [`crew`] has one for each point of the way ([`mod@way`]); what must be true afterwards is in
//! [`oracle`], and what victims do in [`scenarios`].
//!
//! Where it is, it says on standard error: the points done, and those of the way as far as it is learnt.
//!
//! `TURNLOCK_STEP_KILL` names the scenarios to play (those whose name has it as a part); all if not said, but those whose
//! name has `TURNLOCK_STEP_KILL_LEAVE_OUT` as a part, if that is said.
#![cfg(all(target_arch = "x86_64", target_os = "linux", not(debug_assertions), not(any(loom, shuttle))))]

mod arena;
mod crew;
mod oracle;
mod order;
mod progress;
mod report;
mod scenarios;
mod tracee;
mod trial;
mod way;
mod worker;

use crew::{Outcome, kill_everywhere};
use progress::Progress;
use std::{
    panic::catch_unwind,
    sync::{Mutex, MutexGuard, PoisonError, atomic::Ordering::SeqCst},
    time::Instant,
};
use support::{limit, watchdog};

// Each trial that ends is a sign of life, and none takes longer than half a minute.
support::watched_for_seconds!(300);

/// One test at a time: they would take each other's processors.
static ONE: Mutex<()> = Mutex::new(());

/// `None`: the kernel does not let us.
fn alone() -> Option<MutexGuard<'static, ()>> {
    let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    watchdog::a_test_begins();
    match trial::stepping_is_forbidden() {
        None => Some(alone),
        Some(why) => {
            println!("SKIPPED, NOTHING WAS TESTED: this process may not step its children: {why}");
            None
        }
    }
}

#[test]
fn killed_at_any_instruction_the_others_go_on_and_are_told() {
    let Some(_alone) = alone() else { return };
    let only = std::env::var("TURNLOCK_STEP_KILL").unwrap_or_default();
    let left_out = std::env::var("TURNLOCK_STEP_KILL_LEAVE_OUT").ok();
    let chosen = scenarios::ALL.iter().filter(|scenario| {
        scenario.name.contains(&only) && left_out.as_ref().is_none_or(|part| !scenario.name.contains(part))
    });
    let chosen: Vec<_> = chosen.collect();
    let play = |(at, scenario): (usize, &&crew::Scenario)| {
        kill_everywhere(scenario, false, Progress::of(scenario.name, at + 1, chosen.len()))
    };
    let outcomes: Vec<Outcome> = chosen.iter().enumerate().map(play).collect();
    let fault = report::print(&outcomes);
    assert!(fault.is_none(), "{}", fault.unwrap());
}

/// Also while the others live on, who have inherited what it was to report by.
#[test]
fn a_worker_that_cannot_fork_fails_the_test_at_once() {
    let Some(_alone) = alone() else { return };
    let began = Instant::now();
    // The last worker is the first one to whom none is left.
    trial::FORKS_LEFT.store(crew::processors().len() as u32, SeqCst);
    let play = || kill_everywhere(&scenarios::LOCK_FREE, false, Progress::of("a fork fails", 1, 1));
    let failure = catch_unwind(play).err();
    trial::FORKS_LEFT.store(u32::MAX, SeqCst);
    let failure = failure.expect("a worker without trials").downcast::<String>().unwrap();
    assert!(failure.contains("fork: Resource temporarily unavailable"), "{failure}");
    assert!(began.elapsed() < limit::seconds(10), "it took {:?}: {failure}", began.elapsed());
}

/// That the oracle can see bugs is what makes its silence worth something.
#[cfg(feature = "mutants")]
mod seeded_bugs {
    use super::{Progress, alone, crew::Scenario, kill_everywhere, scenarios};
    use turnlock::mutants::{self, Mutant};

    /// By a fault that says `what`.
    fn is_caught(bug: Mutant, scenario: &Scenario, what: &str) {
        let Some(_alone) = alone() else { return };
        mutants::switch_on(Some(bug));
        let outcome = kill_everywhere(scenario, true, Progress::of(scenario.name, 1, 1));
        mutants::switch_on(None);
        let fault =
            outcome.faults.first().unwrap_or_else(|| panic!("{bug:?} was planted and nothing was seen"));
        println!("{bug:?}: seen after {} points. {fault}", outcome.points);
        assert!(fault.contains(what), "another fault than the one that was planted: {fault}");
    }

    #[test]
    fn an_owner_that_is_not_looked_for_after_its_death_is_caught() {
        is_caught(Mutant::NoHeld, &scenarios::LOCK_FREE, "told");
    }

    #[test]
    fn a_death_that_is_forgotten_before_it_is_written_down_is_caught() {
        is_caught(Mutant::ClearBeforeNotice, &scenarios::TAKE_A_DEAD_ONES_PLACE, "told");
    }

    #[test]
    fn one_who_died_trying_to_enter_and_passes_for_an_owner_is_caught() {
        is_caught(Mutant::OwnerDeadByTrying, &scenarios::RETAINED_ENTRY, "told");
    }

    #[test]
    fn a_newcomer_to_a_ring_that_does_not_count_the_absent_is_caught() {
        is_caught(Mutant::AbsentNotCounted, &scenarios::LINKS_RENEWED, "lost its privilege");
    }
}
