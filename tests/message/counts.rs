//! How many messages an entry costs: as docs/algorithms.md says, with nothing going wrong.

use support::simulator::{Counts, Habits, Simulated, Simulation};
use turnlock::message::{Bakery, LamportQueue, RicartAgrawala, TokenRing};

fn counted<A: Simulated>(n: usize, habits: Habits, make: impl Fn(usize, usize) -> A) -> Counts {
    let mut simulation = Simulation::new((0..n).map(|me| make(n, me)).collect(), 1, habits);
    simulation.run(1_000_000_000);
    simulation.counts
}

#[test]
fn lamports_queue_sends_three_times_n_less_one() {
    for n in [2, 3, 8, 64] {
        let counts = counted(n, Habits::quiet(), |n, me| LamportQueue::founding(n, me).unwrap());
        let others = n as u64 - 1;
        for kind in ["request", "acknowledge"] {
            assert_eq!(counts.messages[kind], others * counts.entries, "{n}: {counts:?}");
        }
        // Releases of the last entry included; acknowledgements come after the requests that they answer.
        assert_eq!(counts.sum(), 3 * others * counts.entries, "{n}: {counts:?}");
    }
}

#[test]
fn the_mesh_sends_nothing_at_home_and_n_otherwise() {
    for n in [2, 3, 8, 64] {
        // Without an end: no participant asks again while its request is under way.
        let patient = Habits { retry: 1_000_000_000, ..Habits::quiet() };
        let counts = counted(n, patient.clone(), |n, me| RicartAgrawala::founding(n, me).unwrap());
        // Entries at home, while no request has come, cost nothing; each other one has the token sent once.
        let elsewhere = counts.messages["token"];
        assert!(elsewhere > 0 && elsewhere < counts.entries, "{n}: {counts:?}");
        assert_eq!(counts.sum(), n as u64 * elsewhere, "{n}: {counts:?}");

        let mut alone = patient;
        alone.entries = 0;
        let mut simulation =
            Simulation::new((0..n).map(|me| RicartAgrawala::founding(n, me).unwrap()).collect(), 1, alone);
        simulation.want(0, 100);
        simulation.run(1_000_000_000);
        assert_eq!((simulation.counts.entries, simulation.counts.sum()), (100, 0));
    }
}

#[test]
fn a_ring_sends_n_a_round_for_each_token_entered_or_not() {
    for n in [2, 3, 8, 64] {
        for tokens in [1, 2] {
            let counts = counted(n, Habits::quiet(), |n, me| TokenRing::founding(n, me, tokens).unwrap());
            // Every participant always wants to enter: each round of the privilege has n entries. The other token goes
            // round with it, or faster while a participant is inside.
            assert!(counts.sum() >= counts.entries - 1, "{n}: {counts:?}");
            assert!(counts.sum() <= 2 * tokens as u64 * (counts.entries + n as u64), "{n}: {counts:?}");
            let idle = Habits { think: 100_000..100_001, entries: 1, ..Habits::quiet() };
            let counts = counted(n, idle, |n, me| TokenRing::founding(n, me, tokens).unwrap());
            // 100 hops of each token before any participant wants to enter.
            assert!(counts.sum() >= 99 * tokens as u64, "{n}: {counts:?}");
        }
    }
}

#[test]
fn the_bakery_sends_four_times_n_less_one_alone_and_more_the_longer_it_waits() {
    for n in [2, 3, 8, 16] {
        let others = n as u64 - 1;
        let mut simulation = Simulation::new(
            (0..n).map(|me| Bakery::founding(n, me).unwrap()).collect(),
            1,
            Habits { entries: 0, retry: 1_000_000, ..Habits::quiet() },
        );
        simulation.want(0, 10);
        simulation.run(1_000_000_000);
        assert_eq!(simulation.counts.sum(), 10 * 4 * others);
        let of = |section| {
            let habits = Habits { section, entries: 1, ..Habits::quiet() };
            let counts = counted(n, habits, |n, me| Bakery::founding(n, me).unwrap());
            counts.sum() as f64 / counts.entries as f64
        };
        let (short, long) = (of(10), of(60_000));
        assert!(long > 2.0 * short, "{n}: {short} and {long} messages an entry");
    }
}

/// Half a poll until one asks, and then a delay for the answer; up to two more where who leaves is back in its doorway at
/// once, and is asked again afterwards.
#[test]
fn the_bakery_hands_over_within_half_a_poll_and_one() {
    for n in [2, 3] {
        for poll in [2000, 6000] {
            let delays = |habits: Habits| {
                let counts = counted(n, habits, |n, me| Bakery::founding(n, me).unwrap());
                counts.hand_over.0 as f64 / counts.hand_over.1 as f64 / 1000.0
            };
            let habits =
                Habits { delay: 900..1100, retry: poll, entries: 100, section: 777, ..Habits::quiet() };
            let half = poll as f64 / 2000.0;
            let now_and_then = delays(Habits { section: 12_345, think: 20_000..40_000, ..habits.clone() });
            let always = delays(habits);
            assert!((now_and_then - half - 1.0).abs() < 1.0, "{n}, a poll each {poll}: {now_and_then}");
            assert!(always > now_and_then && always < half + 4.0, "{n}, a poll each {poll}: {always}");
        }
    }
}
