//! The table of a run.

use super::{crew::Outcome, order::Stood};

/// Prints it; gives what went wrong, if anything did.
pub fn print(outcomes: &[Outcome]) -> Option<String> {
    println!(
        "\n| victim | instructions | kill points | system calls | in a sleep | inside | told | strayed | seconds |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    for outcome in outcomes {
        row(outcome);
    }
    let sum = |what: fn(&Outcome) -> usize| outcomes.iter().map(what).sum::<usize>();
    row(&Outcome {
        name: "all",
        instructions: sum(|outcome| outcome.instructions),
        points: sum(|outcome| outcome.points),
        calls: sum(|outcome| outcome.calls),
        sleeps: sum(|outcome| outcome.sleeps),
        inside: sum(|outcome| outcome.inside),
        told: sum(|outcome| outcome.told),
        strayed: sum(|outcome| outcome.strayed),
        seconds: outcomes.iter().map(|outcome| outcome.seconds).sum(),
        ..Outcome::default()
    });
    faults(outcomes)
}

/// Likewise, of victims that were stopped.
pub fn print_stops(outcomes: &[Outcome]) -> Option<String> {
    println!(
        "\n| victim | instructions | stop points | in a sleep | outside | passed over | in its entry step | inside \
         | as a reaper | reconfiguring | longest, ms | strayed | seconds |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    outcomes.iter().for_each(row_of_stops);
    let sum = |what: fn(&Outcome) -> usize| outcomes.iter().map(what).sum::<usize>();
    row_of_stops(&Outcome {
        name: "all",
        instructions: sum(|outcome| outcome.instructions),
        points: sum(|outcome| outcome.points),
        sleeps: sum(|outcome| outcome.sleeps),
        longest: outcomes.iter().map(|outcome| outcome.longest).max().unwrap_or_default(),
        stood: Stood::ALL.map(|stood| outcomes.iter().map(|outcome| outcome.stood[stood as usize]).sum()),
        strayed: sum(|outcome| outcome.strayed),
        seconds: outcomes.iter().map(|outcome| outcome.seconds).sum(),
        ..Outcome::default()
    });
    faults(outcomes)
}

fn faults(outcomes: &[Outcome]) -> Option<String> {
    let mut faults: Vec<String> = outcomes.iter().flat_map(|outcome| outcome.faults.clone()).collect();
    for outcome in outcomes.iter().filter(|outcome| !outcome.is_complete) {
        faults.push(format!("{}: the victim's way was not gone to its end", outcome.name));
    }
    let faulty: usize = outcomes.iter().map(|outcome| outcome.faulty).sum();
    (!faults.is_empty()).then(|| format!("{faulty} trials went wrong, for example:\n{}", faults.join("\n")))
}

fn row(outcome: &Outcome) {
    println!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {:.1} |",
        outcome.name,
        outcome.instructions,
        outcome.points,
        outcome.calls,
        outcome.sleeps,
        outcome.inside,
        outcome.told,
        outcome.strayed,
        outcome.seconds
    );
}

fn row_of_stops(outcome: &Outcome) {
    let stood = |stood: Stood| outcome.stood[stood as usize];
    println!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} | {} | {:.1} |",
        outcome.name,
        outcome.instructions,
        outcome.points,
        outcome.sleeps,
        stood(Stood::Outside),
        stood(Stood::PassedOver),
        stood(Stood::Entering),
        stood(Stood::Inside),
        stood(Stood::Reaping),
        stood(Stood::Reconfiguring),
        outcome.longest.as_secs_f64() * 1e3,
        outcome.strayed,
        outcome.seconds
    );
}
