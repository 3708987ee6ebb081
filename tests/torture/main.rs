//! Torture: workers share one lock, of whichever kind, and are killed, at random moments and at each named step,
//! and stopped, some for long; an oracle in plain shared memory watches. No hang, no double entry, no torn data without an owner-dead
//! notice, tokens that only rise. Likewise where they wait for one another: at conditions, barriers and events.
//!
//! Needs `--features trace,mutants`. `TURNLOCK_TORTURE_KILLS` says how many kills in the rounds with a mutex
//! (5,000 if not said); each round with a ring has as many as each of those. `TURNLOCK_TORTURE_SEED` repeats a run's
//! choices (not its schedule), and `TURNLOCK_TORTURE_ROUNDS` names the rounds (those whose name has it as a part). The
//! long run and its table are in `docs/reliability.md`.
#![cfg(all(feature = "trace", feature = "mutants"))]

mod arena;
mod claims;
mod coordination;
mod killer;
mod report;
mod worker;

use arena::Fault;
use killer::{Members, Outcome, Round, Stops, Subject};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use support::{either::Kind, watchdog};
use turnlock::{DEFAULT_PATIENCE, MutexAlgorithm, RingAlgorithm, trace::Step};
#[cfg(feature = "mutants")]
use {std::time::Instant, support::limit};

// Each death is a sign of life.
support::watched_for_seconds!(120);

/// One torture at a time: they would starve each other.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    watchdog::a_test_begins();
    alone
}

fn kills() -> u64 {
    std::env::var("TURNLOCK_TORTURE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5_000)
}

/// In all rounds together.
fn kills_by_messages() -> u64 {
    let given = std::env::var("TURNLOCK_TORTURE_KILLS").ok().and_then(|kills| kills.parse().ok());
    given.unwrap_or(1_200)
}

/// Three times as many where it is said how many: so there are a thousand in the rarest phase of 100,000.
fn kills_of_claims() -> u64 {
    let given = std::env::var("TURNLOCK_TORTURE_KILLS").ok().and_then(|kills| kills.parse::<u64>().ok());
    given.map_or(4_000, |kills| 3 * kills)
}

/// In all rounds together.
fn kills_of_coordination() -> u64 {
    let given = std::env::var("TURNLOCK_TORTURE_KILLS").ok().and_then(|kills| kills.parse().ok());
    given.unwrap_or(2_000)
}

fn seed() -> u64 {
    let given = std::env::var("TURNLOCK_TORTURE_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).max(2)
}

/// The sum ring that turns from each slot to the one below.
fn in_reverse(workers: usize) -> RingAlgorithm {
    RingAlgorithm::Sum { step: killer::participants(workers) - 1 }
}

/// So many slots has a file unless told otherwise.
const USUAL_SLOTS: u32 = 128;
/// Of a large one.
const MANY_SLOTS: u32 = 500;

/// A round with long stops has so many times fewer kills.
const LESS_WITH_LONG_STOPS: u64 = 6;
/// In so many long stops some worker is passed over.
const ENOUGH_STOPS: u64 = 30;

#[test]
fn nobody_hangs_or_enters_twice_whoever_is_killed_wherever() {
    let _alone = alone();
    let (kills, seed) = (kills(), seed());
    let cores = cores();
    println!("seed {seed}, {cores} cores");
    let only = std::env::var("TURNLOCK_TORTURE_ROUNDS").unwrap_or_default();
    let round = |name, workers, stops, patience, biased| Round {
        name,
        workers,
        stops,
        lock: Subject::Exclusive(Kind::Mutex { patience }),
        members: Members::Nobody,
        biased,
        mutant: None,
        mostly_at: None,
        slots: USUAL_SLOTS,
    };
    let strict = Duration::ZERO;
    let of_mutexes = [
        round("workers = cores, strict", cores, Stops::Never, strict, false),
        round("workers = cores, strict, biased, stops", cores, Stops::Short, strict, true),
        round("workers = cores + 1, patient, biased", cores + 1, Stops::Never, DEFAULT_PATIENCE, true),
        round("workers = 3 x cores, patient, stops", 3 * cores, Stops::Short, DEFAULT_PATIENCE, false),
        Round {
            slots: MANY_SLOTS,
            ..round(
                "workers = 2 x cores, patient, 500 slots",
                2 * cores,
                Stops::Never,
                DEFAULT_PATIENCE,
                false,
            )
        },
    ];
    let with_long_stops = [
        round("workers = cores + 2, strict, biased, long stops", cores + 2, Stops::Long, strict, true),
        round("workers = 3 x cores, patient, long stops", 3 * cores, Stops::Long, DEFAULT_PATIENCE, false),
    ];
    let round = |name, workers, stops, algorithm, members| Round {
        lock: Subject::Exclusive(Kind::Ring(algorithm)),
        members,
        ..round(name, workers, stops, strict, false)
    };
    let (raynal, k_state, reverse) = (RingAlgorithm::Raynal, RingAlgorithm::KState, in_reverse(cores + 1));
    let of_rings = [
        round(
            "Raynal's ring, on demand, workers = cores + 1",
            cores + 1,
            Stops::Never,
            raynal,
            Members::Nobody,
        ),
        round(
            "Raynal's ring, members, workers = cores + 1",
            cores + 1,
            Stops::Never,
            raynal,
            Members::Everybody,
        ),
        round(
            "K-state ring, on demand, workers = cores, stops",
            cores,
            Stops::Short,
            k_state,
            Members::Nobody,
        ),
        round(
            "sum ring in reverse, members and not, stops",
            cores + 1,
            Stops::Short,
            reverse,
            Members::EveryOther,
        ),
        round(
            "Raynal's ring, on demand, workers = cores + 2, long stops",
            cores + 2,
            Stops::Long,
            raynal,
            Members::Nobody,
        ),
        Round {
            slots: MANY_SLOTS,
            ..round(
                "Raynal's ring, on demand, workers = 2 x cores, 500 slots",
                2 * cores,
                Stops::Never,
                raynal,
                Members::Nobody,
            )
        },
    ];
    let share = kills.div_ceil(of_mutexes.len() as u64);
    let rounds = of_mutexes.iter().chain(&with_long_stops).chain(&of_rings);
    let rounds = rounds.filter(|round| round.name.contains(&only));
    let play = |round: &Round| {
        let long = round.stops == Stops::Long;
        let outcome = killer::torture(round, if long { share / LESS_WITH_LONG_STOPS } else { share }, seed);
        // Those that have patience are hardly ever in the queue when they are stopped.
        let is_patient =
            matches!(round.lock, Subject::Exclusive(Kind::Mutex { patience }) if patience > strict);
        let many = long && !is_patient && outcome.stops > ENOUGH_STOPS;
        let none_passed_over = many && outcome.evicted == 0;
        assert!(!none_passed_over, "{}: no worker was passed over in {} stops", round.name, outcome.stops);
        outcome
    };
    let outcomes: Vec<Outcome> = rounds.map(play).collect();
    let fault = report::print(&outcomes);
    assert!(fault.is_none(), "{}", fault.unwrap());
}

/// Locks by messages: a worker dies at any step of a message or of the token, in a call or in the service thread.
#[test]
fn nobody_hangs_or_enters_twice_by_messages_whoever_is_killed_wherever() {
    let _alone = alone();
    let (kills, seed) = (kills_by_messages(), seed());
    let cores = cores();
    println!("seed {seed}, {cores} cores");
    let only = std::env::var("TURNLOCK_TORTURE_ROUNDS").unwrap_or_default();
    let round = |name, more: usize, stops, algorithm| Round {
        name,
        workers: (cores + more).min(7),
        stops,
        lock: Subject::Exclusive(Kind::Messages(algorithm)),
        members: Members::Nobody,
        biased: false,
        mutant: None,
        mostly_at: None,
        // All have mailboxes, of which there are 16 at most.
        slots: 0,
    };
    let rounds = [
        round("mesh, workers = cores", 0, Stops::Never, MutexAlgorithm::RicartAgrawala),
        round("mesh, workers = cores + 2, stops", 2, Stops::Short, MutexAlgorithm::RicartAgrawala),
        round("token ring, workers = cores + 1", 1, Stops::Never, MutexAlgorithm::TokenRing),
        round("token ring, workers = cores + 2, stops", 2, Stops::Short, MutexAlgorithm::TokenRing),
        round("queue by messages, workers = cores + 1", 1, Stops::Never, MutexAlgorithm::LamportQueue),
        round("queue by messages, workers = cores + 2, stops", 2, Stops::Short, MutexAlgorithm::LamportQueue),
        round("bakery by messages, workers = cores + 1", 1, Stops::Never, MutexAlgorithm::MessageBakery),
        round(
            "bakery by messages, workers = cores + 2, stops",
            2,
            Stops::Short,
            MutexAlgorithm::MessageBakery,
        ),
    ];
    let rounds: Vec<&Round> = rounds.iter().filter(|round| round.name.contains(&only)).collect();
    let share = kills.div_ceil(rounds.len().max(1) as u64);
    let outcomes: Vec<Outcome> = rounds.iter().map(|round| killer::torture(round, share, seed)).collect();
    let fault = report::print(&outcomes);
    assert!(fault.is_none(), "{}", fault.unwrap());
}

/// Locks that several have at once, or parts of them: each kind without stops, with short ones and with long ones.
#[test]
fn nobody_of_those_who_share_hangs_or_enters_beside_whom_it_must_not() {
    let _alone = alone();
    let (kills, seed) = (kills_of_claims(), seed());
    let cores = cores();
    println!("seed {seed}, {cores} cores");
    let only = std::env::var("TURNLOCK_TORTURE_ROUNDS").unwrap_or_default();
    let round = |name, workers, stops, kind| Round {
        name,
        workers,
        lock: Subject::Claims(kind),
        members: Members::Nobody,
        stops,
        biased: false,
        mutant: None,
        mostly_at: None,
        slots: USUAL_SLOTS,
    };
    let many_slots = |name, kind| Round { slots: MANY_SLOTS, ..round(name, 2 * cores, Stops::Never, kind) };
    let rounds = [
        round("rwlock, workers = cores + 1", cores + 1, Stops::Never, claims::Kind::RwLock),
        round("rwlock, workers = 2 x cores, stops", 2 * cores, Stops::Short, claims::Kind::RwLock),
        round("rwlock, workers = cores + 2, long stops", cores + 2, Stops::Long, claims::Kind::RwLock),
        round("semaphore, workers = cores + 1", cores + 1, Stops::Never, claims::Kind::Semaphore),
        round("semaphore, workers = 2 x cores, stops", 2 * cores, Stops::Short, claims::Kind::Semaphore),
        round("semaphore, workers = cores + 2, long stops", cores + 2, Stops::Long, claims::Kind::Semaphore),
        round("ranges, workers = cores + 1", cores + 1, Stops::Never, claims::Kind::RangeLock),
        round("ranges, workers = 2 x cores, stops", 2 * cores, Stops::Short, claims::Kind::RangeLock),
        round("ranges, workers = cores + 2, long stops", cores + 2, Stops::Long, claims::Kind::RangeLock),
        round("keys, workers = cores + 1", cores + 1, Stops::Never, claims::Kind::KeyedLock),
        round("keys, workers = 2 x cores, stops", 2 * cores, Stops::Short, claims::Kind::KeyedLock),
        round("keys, workers = cores + 2, long stops", cores + 2, Stops::Long, claims::Kind::KeyedLock),
        round("groups, workers = cores + 1", cores + 1, Stops::Never, claims::Kind::GroupLock),
        round("groups, workers = 2 x cores, stops", 2 * cores, Stops::Short, claims::Kind::GroupLock),
        round("groups, workers = cores + 2, long stops", cores + 2, Stops::Long, claims::Kind::GroupLock),
        many_slots("rwlock, workers = 2 x cores, 500 slots", claims::Kind::RwLock),
        many_slots("semaphore, workers = 2 x cores, 500 slots", claims::Kind::Semaphore),
        many_slots("ranges, workers = 2 x cores, 500 slots", claims::Kind::RangeLock),
        many_slots("keys, workers = 2 x cores, 500 slots", claims::Kind::KeyedLock),
        many_slots("groups, workers = 2 x cores, 500 slots", claims::Kind::GroupLock),
    ];
    let rounds = rounds.iter().filter(|round| round.name.contains(&only));
    // Half of them without stops, in each kind.
    let play = |round: &Round| {
        let share = kills / claims::Kind::ALL.len() as u64;
        let kills = match round.stops {
            Stops::Never => share / 2,
            Stops::Short => share.div_ceil(2),
            Stops::Long => share / 2 / LESS_WITH_LONG_STOPS,
        };
        killer::torture(round, kills, seed)
    };
    let outcomes: Vec<Outcome> = rounds.map(play).collect();
    let fault = report::print(&outcomes);
    report::print_phases(&outcomes);
    assert!(fault.is_none(), "{}", fault.unwrap());
}

/// Conditions, barriers and events: nothing is lost, nothing comes twice, and the others go on.
#[test]
fn nobody_of_those_who_wait_for_one_another_hangs_whoever_is_killed_wherever() {
    let _alone = alone();
    let (kills, seed) = (kills_of_coordination(), seed());
    let cores = cores();
    println!("seed {seed}, {cores} cores");
    let only = std::env::var("TURNLOCK_TORTURE_ROUNDS").unwrap_or_default();
    let round = |name, workers: usize, stops, kind| Round {
        name,
        workers: workers.min(arena::MAX_WORKERS - 1),
        lock: Subject::Coordination(kind),
        members: Members::Nobody,
        stops,
        biased: false,
        mutant: None,
        mostly_at: None,
        slots: USUAL_SLOTS,
    };
    let buffer = |room| coordination::Kind::Buffer { room };
    let few_slots = |round| Round { slots: 0, ..round };
    let rounds = [
        round("buffer of 1, workers = 2 x cores + 2", 2 * cores + 2, Stops::Never, buffer(1)),
        few_slots(round("buffer of 1, few slots, stops", 2 * cores + 2, Stops::Short, buffer(1))),
        round("buffer of 4, workers = 4 x cores, stops", 4 * cores, Stops::Short, buffer(4)),
        round("barrier, workers = cores + 1", cores + 1, Stops::Never, coordination::Kind::Barrier),
        few_slots(round("barrier, few slots, stops", cores + 1, Stops::Short, coordination::Kind::Barrier)),
        round("event, workers = 2 x cores, stops", 2 * cores, Stops::Short, coordination::Kind::Event),
    ];
    let rounds: Vec<&Round> = rounds.iter().filter(|round| round.name.contains(&only)).collect();
    let share = kills.div_ceil(rounds.len().max(1) as u64);
    let outcomes: Vec<Outcome> = rounds.iter().map(|round| killer::torture(round, share, seed)).collect();
    let fault = report::print(&outcomes);
    report::print_phases(&outcomes);
    assert!(fault.is_none(), "{}", fault.unwrap());
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use turnlock::mutants::Mutant;

    /// Bugs that show when participants die, or when they run on several cores at once. That the oracle can see them is
    /// what makes its silence worth something.
    fn is_caught(mutant: Mutant, mostly_at: Option<Step>, may_show_as: &[Fault]) {
        let strict = Kind::Mutex { patience: Duration::ZERO };
        is_caught_among(cores(), Subject::Exclusive(strict), mutant, mostly_at, may_show_as);
    }

    /// On a ring, among so many more workers than cores.
    fn is_caught_on_ring(
        more: usize,
        algorithm: RingAlgorithm,
        mutant: Mutant,
        mostly_at: Option<Step>,
        may_show_as: &[Fault],
    ) {
        let ring = Subject::Exclusive(Kind::Ring(algorithm));
        is_caught_among(cores() + more, ring, mutant, mostly_at, may_show_as);
    }

    fn is_caught_among(
        workers: usize,
        lock: Subject,
        mutant: Mutant,
        mostly_at: Option<Step>,
        may_show_as: &[Fault],
    ) {
        let (_alone, began) = (alone(), Instant::now());
        // A mutant whose harm takes two participants at once at the wrong place shows itself after some thousands of kills, or
        // some ten thousand: a minute or two on a busy machine. That is not to be missed by chance.
        let limit = limit::seconds(LIMIT);
        for attempt in (1..).take_while(|attempt| *attempt <= 40 || began.elapsed() < limit) {
            let round = Round {
                name: "mutant",
                workers,
                lock,
                members: Members::Nobody,
                stops: match mutant {
                    Mutant::NeverEvicts | Mutant::EvictsHolder | Mutant::EntersUnasked => Stops::Long,
                    _ if attempt % 2 == 0 => Stops::Short,
                    _ => Stops::Never,
                },
                biased: false,
                mutant: Some(mutant),
                mostly_at,
                slots: 0,
            };
            let outcome = killer::torture(&round, 2_000, seed());
            if let Some(fault) = may_show_as.iter().find(|fault| outcome.count(**fault) > 0) {
                let kills = outcome.kills();
                println!(
                    "{mutant:?}: {fault:?} in attempt {attempt} ({:?} stops), after {kills} kills",
                    round.stops
                );
                return;
            }
        }
        panic!("{mutant:?} was on and nothing was seen");
    }

    #[test]
    fn a_missing_fence_before_the_wait_is_caught() {
        is_caught(Mutant::NoFenceBeforeWait, None, &[Fault::DoubleEntry, Fault::Torn, Fault::Token]);
    }

    #[test]
    fn a_number_that_is_cleared_before_the_owner_dead_notice_is_caught() {
        is_caught(Mutant::ClearBeforeNotice, Some(Step::Reap), &[Fault::DoubleEntry, Fault::Torn]);
    }

    #[test]
    fn an_owner_that_is_never_written_down_is_caught() {
        is_caught(Mutant::NoHeld, None, &[Fault::DoubleEntry, Fault::Torn]);
    }

    /// Far longer, in seconds, than the rarest of them takes on a busy machine.
    const LIMIT: u64 = 1200;

    const TWO_INSIDE: &[Fault] = &[Fault::DoubleEntry, Fault::Torn, Fault::Token];

    #[test]
    fn a_waiter_that_never_evicts_is_caught() {
        is_caught(Mutant::NeverEvicts, None, &[Fault::Hang]);
    }

    #[test]
    fn a_waiter_that_passes_over_a_holder_is_caught() {
        is_caught(Mutant::EvictsHolder, None, TWO_INSIDE);
    }

    #[test]
    fn a_waiter_on_a_ring_that_never_evicts_is_caught() {
        is_caught_on_ring(2, RingAlgorithm::Raynal, Mutant::NeverEvicts, None, &[Fault::Hang]);
    }

    #[test]
    fn a_waiter_on_a_ring_that_passes_over_a_holder_is_caught() {
        is_caught_on_ring(2, RingAlgorithm::Raynal, Mutant::EvictsHolder, None, TWO_INSIDE);
    }

    #[test]
    fn one_who_takes_its_turn_without_an_entry_step_is_caught() {
        is_caught_on_ring(2, RingAlgorithm::Raynal, Mutant::EntersUnasked, None, TWO_INSIDE);
    }

    #[test]
    fn a_newcomer_with_the_state_that_it_left_with_is_caught() {
        is_caught_on_ring(1, RingAlgorithm::Raynal, Mutant::StateNotRenewed, None, TWO_INSIDE);
    }

    /// By messages.
    fn is_caught_by_messages(
        algorithm: MutexAlgorithm,
        mutant: Mutant,
        mostly_at: Option<Step>,
        may_show_as: &[Fault],
    ) {
        let lock = Subject::Exclusive(Kind::Messages(algorithm));
        is_caught_among(cores() + 2, lock, mutant, mostly_at, may_show_as);
    }

    #[test]
    fn a_token_that_is_made_anew_on_suspicion_is_caught() {
        is_caught_by_messages(MutexAlgorithm::RicartAgrawala, Mutant::TokenOnSuspicion, None, TWO_INSIDE);
    }

    #[test]
    fn a_lost_token_that_two_make_anew_is_caught() {
        is_caught_by_messages(MutexAlgorithm::RicartAgrawala, Mutant::TokenMadeTwice, None, TWO_INSIDE);
    }

    #[test]
    fn a_token_that_is_sent_to_a_dead_one_and_left_there_is_caught() {
        is_caught_by_messages(
            MutexAlgorithm::RicartAgrawala,
            Mutant::TokenSentToTheDead,
            None,
            &[Fault::Hang],
        );
    }

    #[test]
    fn the_answer_of_a_dead_one_that_is_waited_for_is_caught() {
        for algorithm in [MutexAlgorithm::LamportQueue, MutexAlgorithm::MessageBakery] {
            is_caught_by_messages(algorithm, Mutant::DeadAnswerAwaited, None, &[Fault::Hang]);
        }
    }

    #[test]
    fn a_life_that_is_ended_before_the_owner_dead_notice_is_caught() {
        let shows_as = [Fault::DoubleEntry, Fault::Torn];
        is_caught_by_messages(
            MutexAlgorithm::RicartAgrawala,
            Mutant::LifeBeforeNotice,
            Some(Step::LifeEnds),
            &shows_as,
        );
    }

    /// Where participants hold it beside others.
    fn is_caught_among_claims(kind: claims::Kind, mutant: Mutant, may_show_as: &[Fault]) {
        is_caught_among(cores() + 1, Subject::Claims(kind), mutant, None, may_show_as);
    }

    #[test]
    fn a_dead_reader_that_passes_for_an_owner_is_caught() {
        is_caught_among_claims(claims::Kind::RwLock, Mutant::DeadReaderIsOwnerDead, &[Fault::FalseNotice]);
    }

    #[test]
    fn a_bias_left_to_readers_over_a_notice_is_caught() {
        is_caught_among_claims(claims::Kind::RwLock, Mutant::CancelsOverNotice, &[Fault::Torn]);
    }

    #[test]
    fn permits_that_do_not_come_back_are_caught() {
        let any = [Fault::Lost, Fault::Error, Fault::DoubleEntry];
        is_caught_among_claims(claims::Kind::Semaphore, Mutant::PermitNeverReturned, &any);
    }

    #[test]
    fn a_dead_ones_range_that_is_not_written_down_is_caught() {
        is_caught_among_claims(claims::Kind::RangeLock, Mutant::DeadGranuleNotRecorded, &[Fault::Torn]);
    }

    #[test]
    fn a_notification_that_dies_with_its_waiter_is_caught() {
        let buffer = Subject::Coordination(coordination::Kind::Buffer { room: 1 });
        is_caught_among(2 * cores() + 2, buffer, Mutant::NotificationDies, None, &[Fault::Hang]);
    }

    #[test]
    fn a_barrier_that_breaks_and_tells_no_party_is_caught() {
        let barrier = Subject::Coordination(coordination::Kind::Barrier);
        is_caught_among(cores() + 1, barrier, Mutant::BreaksUnmarked, None, &[Fault::Spurious]);
    }

    /// The half-done step of a dead one is not repaired then.
    #[test]
    fn an_owner_at_a_buffer_that_is_never_written_down_is_caught() {
        let buffer = Subject::Coordination(coordination::Kind::Buffer { room: 4 });
        let shows_as = [Fault::Torn, Fault::Lost, Fault::Twice];
        is_caught_among(2 * cores() + 2, buffer, Mutant::NoHeld, None, &shows_as);
    }

    #[test]
    fn a_dead_ones_key_that_is_not_written_down_is_caught() {
        is_caught_among_claims(claims::Kind::KeyedLock, Mutant::DeadGranuleNotRecorded, &[Fault::Torn]);
    }

    #[test]
    fn a_dead_member_that_is_not_counted_is_caught() {
        is_caught_among_claims(claims::Kind::GroupLock, Mutant::DeadMemberNotCounted, &[Fault::Torn]);
    }

    #[test]
    fn groups_that_do_not_conflict_are_caught() {
        is_caught_among_claims(claims::Kind::GroupLock, Mutant::GroupsTogether, &[Fault::DoubleEntry]);
    }
}
