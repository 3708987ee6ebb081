//! Step kill: a victim is killed after every machine instruction in turn, of everything that a participant does, and
//! the survivors must lack nothing.
//!
//! Step stop: a victim that takes a lock, waits for it or gives it back is stopped there instead ([`stopped`]). Unless it is
//! inside, the others must go on while it stands; then it goes on too, and must come to its end. On a ring it takes part on
//! demand: a member is waited for.
//!
//! A death right after an instruction that changed nothing that others can see leaves behind what a death right before it
//! does, to the last byte. So only one of the two is played: after each instruction that changed something ([`seen`]),
//! before and after each system call, and in each sleep. `TURNLOCK_STEP_KILL_EVERY=1` plays all of them.
//!
//! In optimised code only (`cargo test --release --test step_kill`), which is what people run: without optimisation
//! the way is some ten times as long. Every trial is a child process ([`trial`]) with the victim as its own child
//! ([`tracee`]); the [`crew`] has one for each point of the way ([`mod@way`]); what must be true afterwards is in
//! [`oracle`], and what victims do in [`scenarios`].
//!
//! Where it is, it says on standard error: the points done, and those of the way as far as it is learnt.
//!
//! With `TURNLOCK_ONE_IN=N` only one in N of the scenarios is played, chosen by chance.
//!
//! `TURNLOCK_STEP_KILL` (of both) names the scenarios to play (those whose name has it as a part); all if not said, but those whose
//! name has `TURNLOCK_STEP_KILL_LEAVE_OUT` as a part, if that is said.
#![cfg(all(target_arch = "x86_64", target_os = "linux", not(debug_assertions)))]

mod arena;
mod beside;
mod claims;
mod crew;
mod oracle;
mod order;
mod progress;
mod report;
mod scenarios;
mod seen;
mod stopped;
mod stopped_beside;
mod threads;
mod tracee;
mod trial;
mod way;
mod worker;

use crew::{Outcome, Scenario, is_long_run, kill_everywhere, stop_everywhere};
use progress::Progress;
use std::{
    fs::File,
    hash::{BuildHasher, RandomState},
    os::fd::IntoRawFd,
    panic::catch_unwind,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError, atomic::Ordering::SeqCst},
    time::Instant,
};
use support::{limit, watchdog};

// Each trial that ends is a sign of life, and none takes longer than two minutes.
support::watched_for_seconds!(600);

/// One test at a time: they would take each other's processors.
static ONE: Mutex<()> = Mutex::new(());

/// `None`: the kernel does not let us.
fn alone() -> Option<MutexGuard<'static, ()>> {
    let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    watchdog::a_test_begins();
    have_descriptors_of_two_digits();
    match trial::stepping_is_forbidden() {
        None => Some(alone),
        Some(why) => {
            println!("SKIPPED, NOTHING WAS TESTED: this process may not step its children: {why}");
            None
        }
    }
}

/// From here on descriptors have two digits: a victim writes the number of one into a path, and is to go the same way in each
/// worker, which have not equally many.
fn have_descriptors_of_two_digits() {
    while File::open("/dev/null").unwrap().into_raw_fd() < 10 {}
}

fn chosen_among(all: impl Iterator<Item = &'static Scenario>) -> Vec<&'static Scenario> {
    let only = std::env::var("TURNLOCK_STEP_KILL").unwrap_or_default();
    let left_out = std::env::var("TURNLOCK_STEP_KILL_LEAVE_OUT").ok();
    let chosen = all.filter(|scenario| {
        scenario.name.contains(&only) && left_out.as_ref().is_none_or(|part| !scenario.name.contains(part))
    });
    chosen.filter(is_drawn).collect()
}

/// Whether a scenario is among those that chance leaves where `TURNLOCK_ONE_IN` is set. One that is stopped is one that was killed, so
/// that its way need be learnt only once.
fn is_drawn(scenario: &&'static Scenario) -> bool {
    static CHANCE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let one_in = std::env::var("TURNLOCK_ONE_IN")
        .map_or(1, |number| number.parse().expect("TURNLOCK_ONE_IN is a number"));
    CHANCE.hash_one(scenario.name).is_multiple_of(one_in)
}

#[test]
fn killed_at_any_instruction_the_others_go_on_and_are_told() {
    let Some(_alone) = alone() else { return };
    let in_all_runs = scenarios::ALL.iter().chain(scenarios::BY_MESSAGES.iter().copied().flatten());
    let by_messages = scenarios::BY_MESSAGES_IN_LONG_RUNS.iter().copied().flatten();
    let in_long_runs = scenarios::IN_LONG_RUNS.iter().chain(by_messages);
    let chosen = chosen_among(in_all_runs.chain(in_long_runs.filter(|_| is_long_run())));
    let play = |(at, scenario): (usize, &&Scenario)| {
        kill_everywhere(scenario, false, Progress::of(scenario.name, at + 1, chosen.len()))
    };
    let outcomes: Vec<Outcome> = chosen.iter().enumerate().map(play).collect();
    let fault = report::print(&outcomes);
    assert!(fault.is_none(), "{}", fault.unwrap());
}

#[test]
fn stopped_at_any_instruction_it_is_passed_over_unless_it_is_inside_and_goes_on() {
    let Some(_alone) = alone() else { return };
    let in_long_runs = scenarios::STOPPED_IN_LONG_RUNS.iter().chain(scenarios::IN_LONG_RUNS);
    let in_long_runs = in_long_runs.filter(|scenario| scenario.stops && is_long_run());
    let chosen = chosen_among(scenarios::ALL.iter().filter(|scenario| scenario.stops).chain(in_long_runs));
    let play = |(at, scenario): (usize, &&Scenario)| {
        stop_everywhere(scenario, false, Progress::of_stops(scenario.name, at + 1, chosen.len()))
    };
    let outcomes: Vec<Outcome> = chosen.iter().enumerate().map(play).collect();
    let fault = report::print_stops(&outcomes);
    assert!(fault.is_none(), "{}", fault.unwrap());
}

/// What the first test leaves out leads to nothing else: shown where it takes a second.
#[test]
fn a_death_after_an_instruction_that_changed_nothing_leads_to_nothing_else() {
    let Some(_alone) = alone() else { return };
    let scenarios = if is_long_run() {
        &[&scenarios::LOCK_FREE, &scenarios::BIASED_ACQUISITION][..]
    } else {
        &[&scenarios::BIASED_ACQUISITION]
    };
    let play = |(at, scenario): (usize, &&Scenario)| {
        let progress = Progress::of(scenario.name, at + 1, scenarios.len());
        crew::kill_after_every_instruction(scenario, progress)
    };
    let outcomes: Vec<Outcome> = scenarios.iter().enumerate().map(play).collect();
    assert!(outcomes.iter().all(|outcome| outcome.points == outcome.instructions && outcome.points > 100));
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

/// That the oracle sees mutants is what makes its silence worth something.
#[cfg(feature = "mutants")]
mod with_mutants {
    use super::{Outcome, Progress, Scenario, alone, kill_everywhere, scenarios, stop_everywhere};
    use turnlock::mutants::{self, Mutant};

    /// By a fault that says `what`.
    fn is_caught(mutant: Mutant, scenario: &Scenario, what: &str) {
        is_caught_by(kill_everywhere, mutant, scenario, &[what]);
    }

    /// Likewise, where the victim is stopped.
    fn is_caught_by_stops(mutant: Mutant, scenario: &Scenario, what: &str) {
        is_caught_by(stop_everywhere, mutant, scenario, &[what]);
    }

    type Play = fn(&Scenario, bool, Progress) -> Outcome;

    /// So often is it played until the mutant's fault is the one that is seen: where the victim is stopped, the clock decides
    /// too which one comes first, and on a busy machine a limit may pass before.
    const PLAYS: u32 = 10;

    fn is_caught_by(play: Play, mutant: Mutant, scenario: &Scenario, any: &[&str]) {
        let Some(_alone) = alone() else { return };
        mutants::switch_on(Some(mutant));
        let mut faults = Vec::new();
        let caught = (0..PLAYS).any(|_| {
            let outcome = play(scenario, true, Progress::of(scenario.name, 1, 1));
            let Some(fault) = outcome.faults.first() else { return false };
            println!("{mutant:?}: seen after {} points. {fault}", outcome.points);
            let is_its = any.iter().any(|what| fault.contains(what));
            faults.push(fault.clone());
            is_its
        });
        mutants::switch_on(None);
        assert!(caught, "{mutant:?} was on, and no fault says {any:?}: {faults:?}");
    }

    #[test]
    fn an_owner_that_is_not_looked_for_after_its_death_is_caught() {
        is_caught(Mutant::NoHeld, &scenarios::LOCK_FREE, "told");
    }

    #[test]
    fn a_number_that_is_cleared_before_the_owner_dead_notice_is_caught() {
        // By a reaper in no waiter's way: a waiter that finds a reaper dead in the queue removes the dead holder too, before
        // it enters.
        is_caught(Mutant::ClearBeforeNotice, &scenarios::ATTACH_IN_A_DEAD_HOLDERS_SLOT, "told");
    }

    #[test]
    fn one_who_died_trying_to_enter_and_passes_for_an_owner_is_caught() {
        is_caught(Mutant::OwnerDeadByTrying, &scenarios::BIASED_ACQUISITION, "told");
    }

    #[test]
    fn a_newcomer_to_a_ring_that_does_not_count_the_absent_is_caught() {
        is_caught(Mutant::AbsentNotCounted, &scenarios::LINKS_RENEWED, "lost its privilege");
    }

    #[test]
    fn a_waiter_that_never_evicts_is_caught() {
        is_caught_by_stops(Mutant::NeverEvicts, &scenarios::LOCK_FREE, "does not get in");
    }

    #[test]
    fn a_waiter_that_passes_over_a_holder_is_caught() {
        is_caught_by_stops(Mutant::EvictsHolder, &scenarios::LOCK_FREE, "robbed");
    }

    #[test]
    fn a_waiter_on_a_ring_that_never_evicts_is_caught() {
        is_caught_by_stops(Mutant::NeverEvicts, &scenarios::RING_FREE, "does not get in");
    }

    #[test]
    fn a_waiter_on_a_ring_that_passes_over_a_holder_is_caught() {
        is_caught_by_stops(Mutant::EvictsHolder, &scenarios::RING_FREE, "robbed");
    }

    #[test]
    fn one_who_takes_its_turn_without_an_entry_step_is_caught() {
        // Beside a survivor; or with a fencing token that it has read before.
        let any = ["robbed by the victim", "fencing token did not rise"];
        is_caught_by(stop_everywhere, Mutant::EntersUnasked, &scenarios::RING_FREE, &any);
    }

    #[test]
    fn one_who_steps_back_before_it_passes_the_privilege_on_is_caught() {
        // It is passed over before it passes the privilege on: a survivor enters beside it, or the privilege is gone.
        let any = ["robbed", "lost its privilege"];
        let scenario = &scenarios::LINKS_RENEWED_IN_SUM_RING;
        is_caught_by(stop_everywhere, Mutant::OutsideBeforePass, scenario, &any);
    }

    #[test]
    fn a_dead_reader_that_passes_for_an_owner_is_caught() {
        is_caught(Mutant::DeadReaderIsOwnerDead, &scenarios::READ_BIASED, "nobody died who had changed");
    }

    #[test]
    fn permits_of_a_dead_one_that_do_not_come_back_are_caught() {
        is_caught(Mutant::PermitNeverReturned, &scenarios::PERMITS, "Permits {");
    }

    #[test]
    fn a_dead_ones_range_that_is_not_written_down_is_caught() {
        is_caught(Mutant::DeadGranuleNotRecorded, &scenarios::RANGE_OF_A_DEAD_ONE, "told");
    }

    #[test]
    fn a_dead_members_death_that_is_not_counted_is_caught() {
        is_caught(Mutant::DeadMemberNotCounted, &scenarios::GROUP_OF_A_DEAD_ONE, "told");
    }

    #[test]
    fn a_notification_that_dies_with_its_waiter_is_caught() {
        is_caught(Mutant::NotificationDies, &scenarios::NOTIFIED_WHERE_ONE_DIED, "a notification is lost");
    }

    #[test]
    fn a_slot_that_is_left_to_who_does_not_lock_its_byte_is_caught() {
        let any = ["robbed", "is lost"];
        let scenario = &scenarios::LEFT_TO_AN_OPEN_FILE;
        is_caught_by(kill_everywhere, Mutant::LeftWithoutByteLock, scenario, &any);
    }

    #[test]
    fn a_moment_in_which_nobody_has_a_slot_that_is_left_is_caught() {
        is_caught(Mutant::LeftWithGap, &scenarios::LEFT_TO_AN_OPEN_FILE, "robbed");
    }

    #[test]
    fn one_who_leaves_its_slot_and_detaches_is_caught() {
        let any = ["robbed", "is lost"];
        is_caught_by(kill_everywhere, Mutant::LeaverDetaches, &scenarios::LEFT_TO_AN_OPEN_FILE, &any);
    }
}
