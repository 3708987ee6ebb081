//! The table of a run.

use super::crew::Outcome;

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
    let mut faults: Vec<String> = outcomes.iter().flat_map(|outcome| outcome.faults.clone()).collect();
    for outcome in outcomes.iter().filter(|outcome| !outcome.is_complete) {
        faults.push(format!("{}: the victim's way was not gone to its end", outcome.name));
    }
    let faulty = sum(|outcome| outcome.faulty);
    (!faults.is_empty()).then(|| format!("{faulty} kills went wrong, for example:\n{}", faults.join("\n")))
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
