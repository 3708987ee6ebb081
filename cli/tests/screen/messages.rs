//! `turnlock explain messages`: what it tells is what the machines did.

use super::{
    TURNLOCK,
    explain::{in_order, printed},
    new_fixture,
    terminal::{self, Terminal},
};
use std::{
    collections::{BTreeMap, VecDeque},
    process::Command,
};
use support::limit;

/// The algorithms, and who enters in which order.
const ENTRIES: [(&str, &[&str]); 4] = [
    ("lamport-queue", &["ada", "ben", "cleo"]),
    ("ricart-agrawala", &["ada", "ben", "cleo", "cleo"]),
    ("token-ring", &["ada", "ada", "ben", "cleo", "ada", "ben", "cleo"]),
    ("message-bakery", &["ada", "ben", "cleo"]),
];

/// One step: its sentences, and the table after it.
struct Step {
    sentences: Vec<String>,
    table: Vec<String>,
}

fn steps(text: &str) -> Vec<Step> {
    let (mut steps, mut sentences, mut table) = (Vec::new(), Vec::<String>::new(), Vec::new());
    for line in text.lines() {
        match line.strip_prefix("- ") {
            Some(begun) => sentences.push(begun.into()),
            None if line.starts_with("  participant") || !table.is_empty() && !line.is_empty() => {
                table.push(line.replace('*', ""));
            }
            None if line.starts_with("  ") => *sentences.last_mut().unwrap() += &line[1..],
            None => {}
        }
        if line.is_empty() && !table.is_empty() {
            steps.push(Step { sentences: std::mem::take(&mut sentences), table: std::mem::take(&mut table) });
        }
    }
    steps.push(Step { sentences, table });
    steps
}

/// The two names around a word, and what stands between the first and the second word.
fn between<'s>(sentence: &'s str, first: &str, second: &str) -> Option<(&'s str, &'s str, &'s str)> {
    let (who, rest) = sentence.strip_suffix('.')?.split_once(first)?;
    let (what, others) = rest.split_once(second)?;
    (!who.contains(' ')).then_some((who, what, others))
}

/// Who is inside after a step, by what was told before; and that the tables say the same.
fn entries(text: &str) -> Vec<(String, u64)> {
    let (mut entries, mut inside) = (Vec::new(), None);
    for step in steps(text) {
        for sentence in &step.sentences {
            if let Some((who, token, _)) = between(sentence, " is INSIDE. Its fencing token is ", ":") {
                assert_eq!(inside.replace(who.to_owned()), None, "two are inside: {sentence}");
                entries.push((who.to_owned(), token.parse().unwrap()));
            } else if inside.as_ref().is_some_and(|who| {
                *sentence == format!("{who} calls unlock().")
                    || sentence.starts_with(&format!("{who} is killed."))
            }) {
                inside = None;
            }
        }
        let rows = step.table.iter().filter(|row| row.ends_with("INSIDE"));
        let shown: Vec<&str> = rows.map(|row| row.split_whitespace().next().unwrap()).collect();
        assert_eq!(shown, Vec::from_iter(inside.as_deref()), "{:?}\n{:#?}", step.sentences, step.table);
    }
    entries
}

#[test]
fn entries_come_in_the_order_of_each_algorithm_one_at_a_time_with_rising_tokens() {
    for (algorithm, order) in ENTRIES {
        let entries = entries(&printed(&["messages", "--algorithm", algorithm]));
        let who: Vec<&str> = entries.iter().map(|(who, _)| &who[..]).collect();
        assert_eq!(who, order, "{algorithm}");
        assert!(entries.is_sorted_by(|one, next| one.1 < next.1), "{algorithm}: {entries:?}");
    }
}

#[test]
fn each_message_is_taken_once_in_order_by_the_one_that_it_was_sent_to() {
    for (algorithm, _) in ENTRIES {
        let text = printed(&["messages", "--algorithm", algorithm]);
        let (mut links, mut taken) = (BTreeMap::<(String, String), VecDeque<String>>::new(), 0);
        for step in steps(&text) {
            for sentence in &step.sentences {
                if let Some((from, message, to)) = between(sentence, " sends ", " to ") {
                    for to in to.split(" and ") {
                        links.entry((from.into(), to.into())).or_default().push_back(message.into());
                    }
                } else if let Some((to, message, from)) = between(sentence, " takes ", " from ") {
                    let link = links.get_mut(&(from.into(), to.into())).expect(sentence);
                    assert_eq!(link.pop_front().as_deref(), Some(message), "{algorithm}: {sentence}");
                    taken += 1;
                } else if sentence.contains(" is told that ben is down") {
                    links.retain(|(_, to), _| to != "ben");
                }
            }
            let table = step.table.join("\n");
            let count: usize = links.values().map(VecDeque::len).sum();
            assert!(table.contains(&format!("under way: {count}")), "{:?}\n{table}", step.sentences);
            for ((from, to), link) in &links {
                for message in link {
                    assert!(table.contains(&format!("{from} → {to} {message}")), "{message}: {table}");
                }
            }
        }
        assert!(taken > 3, "{algorithm}: {taken} messages were taken");
    }
}

#[test]
fn a_holder_is_killed_and_the_next_one_enters_once_that_is_certain() {
    let lost: [(&str, &[&str]); 4] = [
        ("lamport-queue", &["cleo leaves ben out of its queue"]),
        ("ricart-agrawala", &["token: nowhere", "cleo writes its own name", "token: cleo"]),
        (
            "token-ring",
            &["ping: nowhere", "By Misra's rule ping is lost", "cleo writes its own name", "ping: cleo"],
        ),
        ("message-bakery", &["cleo counts ben as one that has no number"]),
    ];
    for (algorithm, said) in lost {
        let text = printed(&["messages", "--algorithm", algorithm]).replace('*', "");
        in_order(
            &text,
            &["ben is INSIDE", "ben is killed", "cleo is told that ben is down", "cleo is INSIDE"],
        );
        let (_, after) = text.split_once("ben is killed.").unwrap();
        in_order(after, said);
        let (before, _) = after.split_once("cleo is told that").unwrap();
        assert!(!before.contains("cleo is INSIDE"), "{algorithm}: {before}");
    }
}

#[test]
fn all_are_shown_one_after_the_other_and_the_same_each_time() {
    let all = printed(&["messages", "--plain"]);
    let titles = ENTRIES.map(|(algorithm, _)| format!("({algorithm})"));
    in_order(&all, &titles.each_ref().map(|title| &title[..]));
    let entered: Vec<&str> = ENTRIES.iter().flat_map(|(_, order)| order.iter().copied()).collect();
    let of_all: Vec<String> = entries(&all).into_iter().map(|(who, _)| who).collect();
    assert_eq!(of_all, entered);
    assert!(all == printed(&["messages"]), "the second time it was told otherwise");
}

#[test]
fn by_calls_it_comes_to_the_same() {
    for (algorithm, _) in ENTRIES {
        let arguments = ["messages", "--algorithm", algorithm];
        let (whole, calls) = (printed(&arguments), printed(&[&arguments[..], &["--by-calls"]].concat()));
        assert!(steps(&calls).len() < steps(&whole).len(), "{algorithm}");
        let who_entered = |text: &str| {
            let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
            told.matches("is INSIDE. Its").count()
        };
        assert_eq!(who_entered(&calls), who_entered(&whole), "{algorithm}");
    }
}

#[test]
fn an_algorithm_by_messages_is_not_for_another_explanation() {
    let output = limit::output(Command::new(TURNLOCK).args(["explain", "ring", "--algorithm", "token-ring"]));
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(64));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("explain messages"), "{errors}");
}

#[test]
fn on_a_small_terminal_the_participants_and_what_is_under_way_are_seen() {
    if !terminal::can_be_had() {
        println!("left out: tmux is not installed");
        return;
    }
    let fixture = new_fixture();
    let command = format!("{TURNLOCK} explain messages --algorithm lamport-queue; echo ended $?; exec cat");
    let folder = fixture.folder().to_str().unwrap();
    let terminal = Terminal::run(&command, (60, 20), &[("TMPDIR", folder)]);
    let first = terminal.until_shown("step 1 of 1");
    assert!(first.contains("Locks by messages") && first.contains("q quit"), "{first}");
    terminal.press(&["Space"]);
    terminal.until_shown("step 2 of 2");
    terminal.press(&["Space"]);
    let third = terminal.until_shown("step 3 of 3");
    for seen in ["ada → ben REQUEST(1)", "waits in lock()", "ada sends REQUEST(1) to ben and cleo."] {
        assert!(third.contains(seen), "{seen}: {third}");
    }
    terminal.press(&["q"]);
    terminal.until_shown("ended 0");
}
