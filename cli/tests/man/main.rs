//! The manual pages in `man/` are what the header and the command's help say, and every exported function is in one.
//!
//! `TURNLOCK_BLESS=1 cargo test --features turnlock-cli/full --test man` writes them anew.

mod header;
mod roff;

use header::{Header, Item};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use support::limit;

support::watched_for_seconds!(support::watchdog::USUAL);

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// What the command prints with these arguments, 76 columns wide.
fn printed(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnlock"));
    let output = limit::output(command.args(arguments).env("COLUMNS", "76").env_remove("LINES")).unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// turnlock(1), and a page for each command: what their help says.
fn command_pages() -> BTreeMap<String, String> {
    let help = printed(&["--help"]);
    let (about, rest) = help.split_once('\n').unwrap();
    let mut general = roff::Page::new("turnlock", 1, about);
    general.section("Synopsis").code("turnlock COMMAND ...\nturnlock COMMAND --help");
    general.section("Description").code(rest.trim());
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    // A description that goes on in another line is further in than a name.
    let lines = commands.lines().filter(|line| !line.starts_with("   "));
    let names = lines.map(|line| line.split_whitespace().next().unwrap()).filter(|name| *name != "help");
    let names: Vec<&str> = names.collect();
    let mut pages: BTreeMap<String, String> =
        names.iter().map(|name| (format!("turnlock-{name}.1"), command_page(name))).collect();
    let see: Vec<String> = names.iter().map(|name| format!("turnlock-{name}(1)")).collect();
    general.section("See also").paragraph(&format!("{}, turnlock(3), flock(1)", see.join(", ")));
    pages.insert("turnlock.1".into(), general.text());
    pages
}

/// A page of what the help of a command says: a sentence, a text, how it is called, and lists below titles.
fn command_page(name: &str) -> String {
    let help = printed(&[name, "--help"]);
    let (about, rest) = help.split_once("\n\n").unwrap();
    let mut page = roff::Page::new(&format!("turnlock-{name}"), 1, &about.replace('\n', " "));
    let mut sections = vec![("Description".to_owned(), String::new())];
    for line in rest.lines() {
        let is_title = line.ends_with(':') && line.starts_with(|letter: char| letter.is_ascii_uppercase());
        let is_capital =
            !line.is_empty() && line.chars().all(|letter| letter.is_ascii_uppercase() || letter == ' ');
        match line.strip_prefix("Usage: ") {
            Some(usage) => sections.push(("Synopsis".into(), format!("{usage}\n"))),
            None if is_title || is_capital => {
                sections.push((line.trim_end_matches(':').into(), String::new()));
            }
            None => {
                let text = &mut sections.last_mut().unwrap().1;
                // What stood below "Usage: " begins further left here.
                let line = if text.starts_with("turnlock ") { line.trim_start() } else { line };
                *text += &format!("{line}\n");
            }
        }
    }
    // In the order of manual pages.
    let synopsis = sections.iter().position(|(title, _)| title == "Synopsis").unwrap();
    sections[..=synopsis].rotate_right(1);
    for (title, text) in sections.iter().filter(|(_, text)| !text.trim().is_empty()) {
        page.section(title).code(text.trim_matches('\n'));
    }
    page.section("See also").paragraph("turnlock(1), turnlock(3)");
    page.text()
}

/// turnlock(3), and a page for each noun.
fn library_pages(header: &Header) -> BTreeMap<String, String> {
    let mut general = roff::Page::new("turnlock", 3, "locks between processes, in a memory-mapped file");
    general.section("Synopsis").code("#include <turnlock.h>\n\ncc program.c -lturnlock");
    general.section("Description").prose(&header.introduction);
    let nouns: Vec<String> = header.sections.iter().filter_map(|section| section.noun()).collect();
    let mut pages = BTreeMap::new();
    for section in &header.sections {
        match section.noun() {
            Some(noun) => {
                let mut page = roff::Page::new(&noun, 3, &section.title.to_lowercase());
                let prototypes: Vec<&str> =
                    section.functions().map(|item| item.declaration.as_str()).collect();
                page.links(section.functions().map(|item| item.name.as_str()));
                page.section("Synopsis").code(&format!("#include <turnlock.h>\n\n{}", prototypes.join("\n")));
                items(&mut page, &section.items);
                page.section("See also").paragraph(&see_also(nouns.iter().filter(|other| **other != noun)));
                pages.insert(format!("{noun}.3"), page.text());
            }
            None => {
                general.links(section.functions().map(|item| item.name.as_str()));
                general.section(&section.title);
                items(&mut general, &section.items);
            }
        }
    }
    general.section("See also").paragraph(&format!("turnlock(1), {}", see_also(nouns.iter())));
    pages.insert("turnlock.3".into(), general.text());
    pages
}

fn see_also<'a>(nouns: impl Iterator<Item = &'a String>) -> String {
    nouns.map(|noun| format!("{noun}(3)")).collect::<Vec<_>>().join(", ")
}

/// The functions first, then what they take and give.
fn items(page: &mut roff::Page, all: &[Item]) {
    let (functions, others): (Vec<_>, Vec<_>) = all.iter().partition(|item| item.is_function());
    for (title, chosen) in [("Functions", functions), ("Types and constants", others)] {
        if chosen.is_empty() {
            continue;
        }
        page.section(title);
        for item in chosen {
            page.heading(&item.name).code(&item.declaration).prose(&item.comment);
        }
    }
}

fn pages() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join("include/turnlock.h")).unwrap();
    let mut pages = library_pages(&Header::read(&text));
    pages.extend(command_pages());
    pages
}

#[test]
fn the_pages_are_what_header_and_command_say() {
    let (folder, pages) = (root().join("man"), pages());
    if std::env::var_os("TURNLOCK_BLESS").is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        for (name, text) in &pages {
            fs::write(folder.join(name), text).unwrap();
        }
    }
    let there = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut there: Vec<String> = there.collect();
    there.sort();
    assert_eq!(
        there,
        pages.keys().cloned().collect::<Vec<_>>(),
        "`TURNLOCK_BLESS=1 cargo test --features turnlock-cli/full --test man`"
    );
    for (name, text) in pages {
        let written = fs::read_to_string(folder.join(&name)).unwrap();
        assert!(
            written == text,
            "man/{name} is not what the header and the command say: look at the difference after \
             `TURNLOCK_BLESS=1 cargo test --features turnlock-cli/full --test man`"
        );
    }
}

#[test]
fn every_exported_function_is_in_a_page() {
    let pages = pages();
    let exported = exported_functions(&support::built::libraries().join("libturnlock.so"));
    assert!(exported.len() > 20, "the search found only {exported:?}");
    for function in exported {
        let heading = format!(".SS {function}\n");
        assert!(pages.values().any(|page| page.contains(&heading)), "{function} is in no page of man/");
    }
}

/// The names that begin as ours do in the dynamic symbols of the library.
fn exported_functions(library: &Path) -> Vec<String> {
    let output = limit::output(Command::new("nm").args(["-D", "--defined-only"]).arg(library)).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let symbols = String::from_utf8(output.stdout).unwrap();
    let names = symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
    names.filter(|name| name.starts_with("turnlock_")).map(String::from).collect()
}
