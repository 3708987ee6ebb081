//! What should be, against what is. A pure function: what it is shown is all that it knows.

use super::{
    evidence::{End, Evidence, Expected, SIGKILL},
    journal::{self, Turn},
    programs::LeftOut,
};

/// What came of it. The JSON of `turnlock demo --json`.
#[derive(Debug, serde::Serialize)]
pub struct Verdict {
    /// Nothing was off.
    pub in_order: bool,
    /// What was off, in sentences.
    pub problems: Vec<String>,
    /// What the counter should be.
    pub expected: u64,
    /// What it is; `null` if it is no number.
    pub found: Option<u64>,
    /// How many turns the journal has.
    pub journal_lines: usize,
    /// Every program that took part.
    pub programs: Vec<Part>,
    /// Every program that did not.
    pub left_out: Vec<Absent>,
    /// The death, and the holder that was told.
    pub owner_dead: Option<OwnerDead>,
    /// The order of the turns.
    pub order: Order,
    /// How long the programs ran.
    pub seconds: f64,
}

/// A program's part in it.
#[derive(Debug, serde::Serialize)]
pub struct Part {
    /// Its name.
    pub program: &'static str,
    /// What stands for it in the order of service.
    pub letter: char,
    /// How often it had the lock.
    pub acquisitions: u64,
    /// How often it should have had it.
    pub expected: u64,
    /// It was killed inside.
    pub killed: bool,
}

/// A program that did not take part.
#[derive(Debug, serde::Serialize)]
pub struct Absent {
    /// Its name.
    pub program: &'static str,
    /// What is missing.
    pub why: String,
}

/// A holder's death, and the holder that was told.
#[derive(Debug, serde::Serialize)]
pub struct OwnerDead {
    /// The name of the dead.
    pub label: String,
    /// Its process.
    pub pid: u32,
    /// The fencing token that it died with.
    pub fencing_token: Option<String>,
    /// The program that was told.
    pub told: &'static str,
    /// The fencing token with which it got in.
    pub told_fencing_token: Option<String>,
    /// How long after the kill it was in.
    pub after_milliseconds: Option<f64>,
}

/// The order of the turns: a letter for each.
#[derive(Debug, Default, serde::Serialize)]
pub struct Order {
    /// Each fencing token is larger than the one before.
    pub increasing: bool,
    /// The first turns.
    pub first: String,
    /// The turns up to the death; the last is the victim's.
    pub before_death: String,
    /// The turns after it.
    pub after_death: String,
    /// The last turns.
    pub last: String,
    /// The fencing token of the first turn.
    pub first_fencing_token: Option<String>,
    /// The fencing token of the last turn.
    pub last_fencing_token: Option<String>,
}

const SHOWN: usize = 60;

/// Compares what was seen with what should be.
pub fn verify(expected: &[Expected], left_out: &[LeftOut], seen: &Evidence) -> Verdict {
    let mut problems = Vec::new();
    if let Some(who) = &seen.hang {
        problems.push(format!("it stood still, and everyone was killed; the lock was {who}"));
    }
    let turns = journal::parse(&seen.journal).unwrap_or_else(|why| {
        problems.push(why);
        Vec::new()
    });
    let total = expected.iter().map(|part| part.turns).sum();
    let found = seen.counter.trim().parse().ok();
    check_counts(&mut problems, total, found, &seen.counter, turns.len() as u64);
    check_tokens(&mut problems, &turns);
    let programs: Vec<Part> = expected.iter().map(|part| part_of(part, &turns)).collect();
    check_programs(&mut problems, &programs, expected, seen);
    let death = seen.stop.as_ref().and_then(|stop| {
        turns
            .iter()
            .position(|turn| turn.language == stop.language && turn.fencing_token == stop.fencing_token)
    });
    check_death(&mut problems, expected, seen, &turns, death);

    Verdict {
        in_order: problems.is_empty(),
        problems,
        expected: total,
        found,
        journal_lines: turns.len(),
        programs,
        left_out: left_out
            .iter()
            .map(|out| Absent { program: out.language.file(), why: out.why.clone() })
            .collect(),
        owner_dead: seen.notices.first().map(|notice| OwnerDead {
            label: notice.dead.clone(),
            pid: notice.pid,
            fencing_token: seen.stop.as_ref().map(|stop| stop.fencing_token.to_string()),
            told: notice.told.file(),
            told_fencing_token: death
                .and_then(|at| turns.get(at + 1))
                .map(|turn| turn.fencing_token.to_string()),
            after_milliseconds: seen.next_after().map(|after| thousandths(after.as_secs_f64() * 1e3)),
        }),
        order: order(&turns, death),
        seconds: thousandths(seen.seconds),
    }
}

fn thousandths(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

fn check_counts(problems: &mut Vec<String>, total: u64, found: Option<u64>, counter: &str, lines: u64) {
    match found {
        None => problems.push(format!("the counter is not a number: {:?}", counter.trim())),
        Some(found) if found < lines => problems.push(format!(
            "the counter is {found} and the journal has {lines} turns: {} updates were lost",
            lines - found
        )),
        Some(found) if found > lines => {
            problems.push(format!("the counter is {found} and the journal has only {lines} turns"));
        }
        Some(_) => {}
    }
    if lines != total {
        problems.push(format!("there should be {total} turns, and there are {lines}"));
    }
}

/// No turn may be so: that each fencing token is larger than the one before is mutual exclusion, and the order of
/// service, seen from the data.
fn backwards(pair: &&[Turn]) -> bool {
    pair[1].fencing_token <= pair[0].fencing_token
}

fn check_tokens(problems: &mut Vec<String>, turns: &[Turn]) {
    let count = turns.windows(2).filter(backwards).count();
    if let Some([before, after]) = turns.windows(2).find(backwards) {
        problems.push(format!(
            "the fencing tokens do not increase, {count} times; first: {} with {} after {} with {}",
            after.language.file(),
            after.fencing_token,
            before.language.file(),
            before.fencing_token
        ));
    }
}

fn part_of(expected: &Expected, turns: &[Turn]) -> Part {
    Part {
        program: expected.language.file(),
        letter: expected.language.letter(),
        acquisitions: turns.iter().filter(|turn| turn.language == expected.language).count() as u64,
        expected: expected.turns,
        killed: expected.die_at.is_some(),
    }
}

fn check_programs(problems: &mut Vec<String>, parts: &[Part], expected: &[Expected], seen: &Evidence) {
    for (part, expected) in parts.iter().zip(expected) {
        if part.acquisitions != part.expected {
            problems.push(format!(
                "{} had {} turns and should have {}",
                part.program, part.acquisitions, part.expected
            ));
        }
        let end =
            seen.endings.iter().find(|ending| ending.language == expected.language).map(|ending| ending.end);
        let wrong = match (end, part.killed) {
            (Some(End::Signal(SIGKILL)), true) | (Some(End::Code(0)), false) => continue,
            (None, _) => "did not end".into(),
            (Some(End::Code(code)), _) => format!("ended with exit code {code}"),
            (Some(End::Signal(signal)), _) => format!("was killed by signal {signal}"),
        };
        let said = seen.complaints.iter().filter(|(whose, _)| *whose == expected.language);
        let said: String = said.map(|(_, line)| format!("\n      {line}")).collect();
        problems.push(format!("{} {wrong}{said}", part.program));
    }
}

fn check_death(
    problems: &mut Vec<String>,
    expected: &[Expected],
    seen: &Evidence,
    turns: &[Turn],
    death: Option<usize>,
) {
    let Some(victim) = expected.iter().find(|part| part.die_at.is_some()) else { return };
    let name = victim.language.file();
    let Some(stop) = &seen.stop else {
        problems.push(format!("{name} did not stop inside, so it was not killed there"));
        return;
    };
    if stop.entered_meanwhile != 0 {
        problems.push(format!("while {name} was inside, others had {} turns", stop.entered_meanwhile));
    }
    match death {
        None => problems
            .push(format!("{name} died with fencing token {}, not in the journal", stop.fencing_token)),
        Some(at) if turns[at + 1..].iter().any(|turn| turn.language == victim.language) => {
            problems.push(format!("{name} had turns after its death"));
        }
        Some(_) => {}
    }
    match &seen.notices[..] {
        [] => problems.push(format!("no holder was told that {name} died inside")),
        [notice] => {
            if notice.dead != name || notice.pid != stop.pid {
                problems.push(format!(
                    "{} was told that {} (process {}) died, and it was {name} (process {})",
                    notice.told.file(),
                    notice.dead,
                    notice.pid,
                    stop.pid
                ));
            }
            if let Some(next) = death.and_then(|at| turns.get(at + 1))
                && next.language != notice.told
            {
                problems.push(format!(
                    "{} came next after the death, but {} was told",
                    next.language.file(),
                    notice.told.file()
                ));
            }
        }
        many => problems.push(format!("{} programs were told of a death, and one died", many.len())),
    }
}

fn order(turns: &[Turn], death: Option<usize>) -> Order {
    let letters = |turns: &[Turn]| turns.iter().map(|turn| turn.language.letter()).collect();
    let token = |turn: Option<&Turn>| turn.map(|turn| turn.fencing_token.to_string());
    let half = SHOWN / 2;
    let (before, after) = turns.split_at(death.map_or(0, |at| at + 1));
    Order {
        increasing: !turns.windows(2).any(|pair| backwards(&pair)),
        first: letters(&turns[..turns.len().min(SHOWN)]),
        before_death: letters(&before[before.len().saturating_sub(half)..]),
        after_death: if death.is_some() { letters(&after[..after.len().min(half)]) } else { String::new() },
        last: letters(&turns[turns.len().saturating_sub(SHOWN)..]),
        first_fencing_token: token(turns.first()),
        last_fencing_token: token(turns.last()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        evidence::{Ending, Notice, Stop},
        programs::Language,
    };
    use super::*;
    use std::time::Duration;

    const EXPECTED: [Expected; 3] = [
        Expected { language: Language::C, turns: 2, asked: 4, die_at: Some(2) },
        Expected { language: Language::Python, turns: 3, asked: 3, die_at: None },
        Expected { language: Language::Rust, turns: 1, asked: 1, die_at: None },
    ];

    /// Returns what is seen when all is well: counter.c dies in its second turn, with token 14.
    fn good() -> Evidence {
        let ending = |language, end| Ending { language, end };
        Evidence {
            counter: "6\n".into(),
            journal:
                "counter.c 10\ncounter.py 11\ncounter.rs 12\ncounter.c 14\ncounter.py 15\ncounter.py 16\n"
                    .into(),
            stop: Some(Stop {
                language: Language::C,
                pid: 4711,
                fencing_token: 14,
                entered_meanwhile: 0,
                waiting: vec!["counter.py".into()],
                next_after: Some(Duration::from_millis(1)),
            }),
            notices: vec![Notice { told: Language::Python, dead: "counter.c".into(), pid: 4711 }],
            endings: vec![
                ending(Language::C, End::Signal(SIGKILL)),
                ending(Language::Python, End::Code(0)),
                ending(Language::Rust, End::Code(0)),
            ],
            complaints: Vec::new(),
            hang: None,
            seconds: 1.0,
        }
    }

    /// Returns what is found when this much of the good evidence is spoiled.
    fn problems(spoil: impl FnOnce(&mut Evidence)) -> Vec<String> {
        let mut seen = good();
        spoil(&mut seen);
        let verdict = verify(&EXPECTED, &[], &seen);
        assert_eq!(verdict.in_order, verdict.problems.is_empty());
        verdict.problems
    }

    #[track_caller]
    fn finds(sentence: &str, spoil: impl FnOnce(&mut Evidence)) {
        let problems = problems(spoil);
        assert!(
            problems.iter().any(|problem| problem.contains(sentence)),
            "{sentence:?} is not in {problems:?}"
        );
    }

    #[test]
    fn all_in_order() {
        assert_eq!(problems(|_| ()), [""; 0]);
        let verdict = verify(&EXPECTED, &[], &good());
        assert_eq!((verdict.expected, verdict.found, verdict.journal_lines), (6, Some(6), 6));
        assert_eq!(verdict.order.first, "cprcpp");
        assert_eq!((&verdict.order.before_death[..], &verdict.order.after_death[..]), ("cprc", "pp"));
        let dead = verdict.owner_dead.unwrap();
        assert_eq!((&dead.label[..], dead.pid, dead.told), ("counter.c", 4711, "counter.py"));
        assert_eq!(dead.fencing_token.as_deref(), Some("14"));
        assert_eq!(dead.told_fencing_token.as_deref(), Some("15"));
    }

    #[test]
    fn counts() {
        finds("1 updates were lost", |seen| seen.counter = "5".into());
        finds("has only 6 turns", |seen| seen.counter = "7".into());
        finds("not a number", |seen| seen.counter = String::new());
        finds("should be 6 turns, and there are 5", |seen| {
            seen.journal = seen.journal.replacen("counter.rs 12\n", "", 1)
        });
        finds("counter.rs had 0 turns and should have 1", |seen| {
            seen.journal = seen.journal.replacen("counter.rs 12\n", "", 1);
        });
        // The sum is right, and two programs are not.
        finds("counter.rs had 0 turns", |seen| seen.journal = seen.journal.replace("rs 12", "py 12"));
        finds("line 3 of the journal is no turn", |seen| seen.journal = seen.journal.replace("rs 12", "rs"));
    }

    #[test]
    fn two_inside_at_once() {
        finds("do not increase, 1 times; first: counter.rs with 11 after counter.py with 11", |seen| {
            seen.journal = seen.journal.replace("rs 12", "rs 11");
        });
        finds("do not increase", |seen| seen.journal = seen.journal.replace("rs 12", "rs 9"));
        finds("while counter.c was inside, others had 2 turns", |seen| {
            seen.stop.as_mut().unwrap().entered_meanwhile = 2;
        });
    }

    #[test]
    fn the_death_and_its_news() {
        finds("no holder was told", |seen| seen.notices.clear());
        finds("2 programs were told", |seen| seen.notices.push(seen.notices[0].clone()));
        finds("was told that counter.rs (process 4711) died", |seen| {
            seen.notices[0].dead = "counter.rs".into()
        });
        finds("was told that counter.c (process 4712) died", |seen| seen.notices[0].pid = 4712);
        finds("counter.py came next after the death, but counter.rs was told", |seen| {
            seen.notices[0].told = Language::Rust;
        });
        finds("did not stop inside", |seen| seen.stop = None);
        finds("died with fencing token 13, not in the journal", |seen| {
            seen.stop.as_mut().unwrap().fencing_token = 13;
        });
        finds("counter.c had turns after its death", |seen| seen.stop.as_mut().unwrap().fencing_token = 10);
        finds("counter.c ended with exit code 0", |seen| seen.endings[0].end = End::Code(0));
        finds("counter.c was killed by signal 6", |seen| seen.endings[0].end = End::Signal(6));
    }

    #[test]
    fn a_program_that_fails_or_hangs() {
        finds("counter.py ended with exit code 1\n      out of ink", |seen| {
            seen.endings[1].end = End::Code(1);
            seen.complaint(Language::Python, "out of ink".into());
        });
        finds("counter.rs did not end", |seen| seen.endings.truncate(2));
        finds("it stood still", |seen| seen.hang = Some("held by no program".into()));
    }
}
