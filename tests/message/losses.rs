//! Misra's tokens, lost at any moment: the other one finds it out within n + 1 hops of its own. Both lost: nothing does.

use support::simulator::{Habits, Simulation};
use turnlock::message::TokenRing;

fn ring(n: usize, tokens: usize, seed: u64, section: u64) -> Simulation<TokenRing> {
    let machines = (0..n).map(|me| TokenRing::founding(n, me, tokens).unwrap()).collect();
    // Links of any speed, so that the tokens catch up with each other; entries without an end.
    let habits = Habits { delay: 10..3000, think: 0..20_000, section, entries: u32::MAX, ..Habits::quiet() };
    Simulation::new(machines, seed, habits)
}

/// Runs until the token is lost, and returns how many hops of tokens it takes until it is there again.
fn hops_until_made_anew(ring: &mut Simulation<TokenRing>, lost: usize) -> u64 {
    while ring.has_token(lost) {
        ring.step();
    }
    let (begun, mut hops) = (ring.hops(), ring.hops());
    while !ring.has_token(lost) {
        // Without the hops to which the very last arrival leads.
        hops = ring.hops();
        ring.step();
        assert!(hops < begun + 1000, "token {lost} is not made anew");
    }
    hops - begun
}

#[test]
fn either_token_lost_at_any_moment_is_made_anew_within_n_and_one_hops() {
    for n in [2, 3, 5, 8, 64] {
        let mut most = 0;
        for lost in [0, 1] {
            // Of a large ring not each.
            for moment in (1..=3 * n as u64).step_by(1 + n / 16) {
                for section in [10, 5000] {
                    let mut ring = ring(n, 2, moment, section);
                    ring.lose_token(lost, moment);
                    most = most.max(hops_until_made_anew(&mut ring, lost));
                }
            }
        }
        println!("Misra's ring of {n}: a lost token is made anew after at most {most} hops of the other");
        assert!(most <= n as u64 + 1, "a ring of {n} took {most} hops");
        assert!(most >= n as u64, "a ring of {n} took {most} hops at most: the worst case was not met");
    }
}

#[test]
fn with_both_tokens_lost_nothing_is_made_anew_but_by_a_ruling() {
    for moment in 1..20 {
        let mut ring = ring(3, 2, moment, 10);
        ring.lose_token(0, moment);
        ring.lose_token(1, moment + 1);
        while ring.has_token(0) || ring.has_token(1) {
            ring.step();
            // Made anew in between: the second loss was too late for both to be lost at once.
            if ring.counts.rulings > 0 || ring.hops() > 1000 {
                break;
            }
        }
        if ring.has_token(0) || ring.has_token(1) {
            continue;
        }
        let (hops, entries) = (ring.hops(), ring.counts.entries);
        while ring.counts.rulings == 0 {
            assert_eq!(
                (ring.hops(), ring.counts.entries),
                (hops, entries),
                "something moved without a ruling"
            );
            ring.step();
        }
        while ring.counts.entries < entries + 10 {
            ring.step();
        }
    }
}

#[test]
fn of_more_tokens_all_but_one_are_made_anew() {
    for (n, tokens) in [(2, 3), (3, 3), (5, 4), (8, 8)] {
        let mut most = 0;
        for left in 0..tokens {
            for moment in 1..=3 * n as u64 {
                let mut ring = ring(n, tokens, moment, 10);
                while ring.hops() < moment {
                    ring.step();
                }
                (0..tokens).filter(|token| *token != left).for_each(|lost| ring.lose_token(lost, 1));
                while ring.losses_to_come() > 0 {
                    ring.step();
                }
                let before = ring.hops();
                while !(0..tokens).all(|token| ring.has_token(token)) {
                    ring.step();
                    assert!(ring.hops() < before + 10_000, "not all of {tokens} tokens are made anew");
                }
                assert_eq!(ring.counts.rulings, 0);
                most = most.max(ring.hops() - before);
            }
        }
        println!(
            "a ring of {n} with {tokens} tokens, all but one lost: whole again within {most} hops of all tokens"
        );
    }
}
