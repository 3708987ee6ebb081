//! The README's programs do what they say: each is taken out of the text and run, in its language.

use std::{fs, path::Path, process::Command};
use support::{built, limit};

support::watched_for_seconds!(support::watchdog::USUAL);

const README: &str = include_str!("../../../README.md");

/// The first block of this language under "Ten lines of each".
fn block(language: &str) -> &'static str {
    nth_block(language, 1)
}

fn nth_block(language: &str, nth: usize) -> &'static str {
    let section = README.split("## Ten lines of each").nth(1).unwrap().split("\n## ").next().unwrap();
    let block =
        section.split(&format!("```{language}\n")).nth(nth).unwrap_or_else(|| panic!("no {language}"));
    block.split("```").next().unwrap()
}

/// Runs `program` in a folder, able to find the command and the library, there too; gives what it printed.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let (commands, libraries) = built::folders();
    let path = format!("{}:{}", commands.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(program);
    let libraries = format!("{}:{}", libraries.display(), folder.display());
    command.args(arguments).current_dir(folder).env("PATH", path).env("LD_LIBRARY_PATH", libraries);
    let output = limit::output(&mut command).unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_shell_lines_work() {
    let folder = tempfile::tempdir().unwrap();
    let printed = run(folder.path(), "sh", &["-ec", block("sh")]);
    assert!(printed.contains("alone, with fencing token ") && printed.contains("my turn"), "{printed}");
    assert!(
        printed.contains("accounts (mutex, bakery, patience 1 ms, a death releases it): free"),
        "{printed}"
    );
}

#[test]
fn the_c_program_works() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("program.c"), block("c")).unwrap();
    let include = format!("-I{}/../include", env!("CARGO_MANIFEST_DIR"));
    let library = format!("-L{}", built::folders().1.display());
    let flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "program.c", "-o", "program"];
    run(folder.path(), "cc", &[&flags[..], &[&include, &library, "-lturnlock"]].concat());
    assert!(run(folder.path(), "./program", &[]).starts_with("alone, with fencing token "));
}

#[test]
fn the_python_program_works() {
    let folder = tempfile::tempdir().unwrap();
    // The name under which it is installed.
    let name = format!("libturnlock.so.{}", turnlock::capi::TURNLOCK_ABI_VERSION);
    std::os::unix::fs::symlink(built::folders().1.join("libturnlock.so"), folder.path().join(name)).unwrap();
    assert_eq!(run(folder.path(), "python3", &["-c", block("python")]), "alone\n");
}

#[test]
fn the_rust_programs_work() {
    for (nth, says) in [(1, "alone, with fencing token "), (2, "what was written with fencing token ")] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("program.rs"), nth_block("rust", nth)).unwrap();
        let program = built::rust_program(&folder.path().join("program.rs"));
        assert!(run(folder.path(), program.to_str().unwrap(), &[]).starts_with(says));
    }
}

/// The figures of "How fast" are the medians that `docs/measured.md` has.
#[test]
fn the_figures_are_those_that_were_measured() {
    let measured = include_str!("../../../docs/measured.md");
    let median = |section: &str, contender: &str| {
        let section =
            measured.split(&format!("\n### {section}\n")).nth(1).unwrap().split("\n### ").next().unwrap();
        let row = section.lines().find(|line| line.starts_with(&format!("| {contender} |"))).unwrap();
        row.split('|').nth(2).unwrap().trim()
    };
    for (says, section) in [
        ("a file that one process uses", "uncontended, 1 process, 1 slot in use"),
        ("a file that others use too", "uncontended, 1 process, 128 slots in use"),
        ("eight processes without a pause", "burst, 8 processes, 8 slots in use"),
        ("eight processes that compute", "think, 8 processes, 8 slots in use"),
    ] {
        let row = README.lines().find(|line| line.starts_with('|') && line.contains(says)).expect(says);
        let cells: Vec<&str> =
            row.split('|').skip(2).map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let contenders = ["turnlock Rust", "turnlock C ABI", "pthread robust", "flock"];
        assert_eq!(cells, contenders.map(|contender| median(section, contender)), "{says}");
    }
}

/// The names by which the headings of a page are linked to, as GitHub makes them.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let letter = |letter: char| match letter {
        ' ' => Some('-'),
        letter if letter.is_alphanumeric() || "-_".contains(letter) => Some(letter.to_ascii_lowercase()),
        _ => None,
    };
    headings.map(|line| line.trim_start_matches('#').trim().chars().filter_map(letter).collect()).collect()
}

#[test]
fn every_link_within_the_repository_leads_somewhere() {
    const BINDINGS: [&str; 6] =
        ["bindings", "bindings/cpp", "bindings/go", "bindings/java", "bindings/node", "bindings/python"];
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut links = 0;
    for folder in BINDINGS.into_iter().chain(["", "docs", "spec", "examples", "examples/relay", "fuzz"]) {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let page = entry.unwrap().path();
            if page.extension().is_none_or(|ending| ending != "md") {
                continue;
            }
            let text = fs::read_to_string(&page).unwrap();
            for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if target.contains("://") {
                    continue;
                }
                let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
                let to = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
                assert!(to.exists(), "{}: {target} does not exist", page.display());
                if !anchor.is_empty() {
                    let known = anchors(&fs::read_to_string(&to).unwrap());
                    let found = known.iter().any(|known| known == anchor);
                    assert!(found, "{}: {target} is no heading", page.display());
                }
                links += 1;
            }
        }
    }
    assert!(links > 20, "the search found only {links} links");
}
