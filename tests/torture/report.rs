//! The table of a torture run.

use super::{
    claims::Phase,
    killer::{Outcome, Subject},
};
use hdrhistogram::Histogram;
use support::either::Kind;
use turnlock::trace::Step;

/// Prints it; gives the faults, if there are any.
pub fn print(outcomes: &[Outcome]) -> Option<String> {
    println!(
        "\n| round | kills | seconds | entries | stops | passed over | owner-dead notices | longest free in calm, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for outcome in outcomes {
        println!(
            "| {} | {} | {:.1} | {} | {} | {} | {} | {} |",
            outcome.name,
            outcome.kills(),
            outcome.seconds,
            outcome.entries,
            outcome.stops,
            outcome.evicted,
            outcome.told,
            match outcome.longest_free {
                0 => "-".into(),
                free => format!("{:.1}", free as f64 / 1e6),
            }
        );
    }
    println!("\n| killed at step | mutexes | rings |\n|---|---|---|");
    let row = |name: &str, step: u32| {
        let killed = |on_ring: bool| {
            let outcomes = outcomes
                .iter()
                .filter(|outcome| matches!(outcome.lock, Subject::Exclusive(Kind::Ring(_))) == on_ring);
            outcomes.filter_map(|outcome| outcome.deaths.get(&step)).sum::<u64>()
        };
        println!("| {name} | {} | {} |", killed(false), killed(true));
    };
    row("outside", 0);
    for step in Step::ALL {
        row(&format!("{step:?}"), step as u32);
    }
    println!(
        "\n| notice after a death, microseconds | count | p50 | p90 | p99 | p99.9 | max |\n|---|---|---|---|---|---|---|"
    );
    for outcome in outcomes {
        let mut histogram = Histogram::<u64>::new(3).expect("3 digits");
        outcome.latencies.iter().for_each(|latency| histogram.record(*latency).expect("it grows"));
        let at = |share| histogram.value_at_quantile(share) as f64 / 1e3;
        println!(
            "| {} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} |",
            outcome.name,
            histogram.len(),
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            histogram.max() as f64 / 1e3
        );
    }
    let mut faults = Vec::new();
    for outcome in outcomes {
        for (fault, count) in outcome.faults.iter().filter(|(_, count)| *count > 0) {
            faults.push(format!("{}: {count} x {fault:?} (last error {})", outcome.name, outcome.last_error));
        }
    }
    (!faults.is_empty()).then(|| faults.join("; "))
}

/// Prints in which phase how many died, for each kind that has phases.
pub fn print_phases(outcomes: &[Outcome]) {
    let mut kinds: Vec<(&str, &[Phase])> = Vec::new();
    for kind in outcomes.iter().filter_map(|outcome| outcome.lock.phases()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
    println!("\n| killed in phase | {} |\n|---|{}", names.join(" | "), "---|".repeat(kinds.len()));
    let killed = |kind: &str, phase: u32| {
        let is_of = |outcome: &&Outcome| outcome.lock.phases().is_some_and(|(name, _)| name == kind);
        let of_kind = outcomes.iter().filter(is_of);
        of_kind.filter_map(|outcome| outcome.deaths_in_phases.get(&phase)).sum::<u64>()
    };
    let row = |name: &str, phase: u32, is_of: &dyn Fn(&[Phase]) -> bool| {
        let cell = |(kind, phases): &(&str, &[Phase])| {
            if is_of(phases) { killed(kind, phase).to_string() } else { "-".into() }
        };
        println!("| {name} | {} |", kinds.iter().map(cell).collect::<Vec<_>>().join(" | "));
    };
    row("outside", 0, &|_| true);
    let mut phases: Vec<_> = kinds.iter().flat_map(|(_, phases)| *phases).collect();
    phases.sort();
    phases.dedup();
    for phase in phases {
        row(&format!("{phase:?}"), *phase as u32, &|phases| phases.contains(phase));
    }
}
