//! `include/turnlock.h` is what the Rust sources say, and compiles in every dialect of C and C++ that people use.
//!
//! `TURNLOCK_BLESS=1 cargo test --test header` writes it anew.

use std::{fs, path::Path, process::Command};
use support::limit;

support::watched_for_seconds!(support::watchdog::USUAL);

const HEADER: &str = "include/turnlock.h";

/// The sections of the header in their order, what is in each, and how the names in each begin. The longest beginning decides.
const SECTIONS: [(&str, &str, &[&str]); 17] = [
    (
        "Versions",
        "which library is loaded",
        &["TURNLOCK_VERSION", "TURNLOCK_ABI_VERSION", "turnlock_version", "turnlock_abi_version"],
    ),
    (
        "Statuses",
        "what functions return, and what was wrong",
        &[
            "TURNLOCK_OK",
            "TURNLOCK_OWNER_DEAD",
            "TURNLOCK_CONTENDED",
            "TURNLOCK_DONE",
            "TURNLOCK_ERROR_",
            "turnlock_status_text",
            "turnlock_last_error_message",
        ],
    ),
    (
        "Lock files",
        "open, close, remove a lock, what was transferred to a descriptor",
        &["TURNLOCK_FILE_", "turnlock_file"],
    ),
    (
        "What locks of every kind have",
        "holders, waiters, settings, reset",
        &[
            "TURNLOCK_LOCK_",
            "turnlock_lock",
            "turnlock_acquired",
            "turnlock_previous_owner",
            "turnlock_participant_info",
            "TURNLOCK_LIFE_",
            "TURNLOCK_ACTIVITY_",
            "TURNLOCK_STATE_",
            "TURNLOCK_MODE_",
            "TURNLOCK_DEATH_POLICY_",
            "TURNLOCK_INFO_",
        ],
    ),
    (
        "Mutexes",
        "one at a time, first come first served",
        &[
            "TURNLOCK_ALGORITHM_BAKERY",
            "TURNLOCK_ALGORITHM_LAMPORT_QUEUE",
            "TURNLOCK_ALGORITHM_RICART_AGRAWALA",
            "TURNLOCK_ALGORITHM_TOKEN_RING",
            "TURNLOCK_ALGORITHM_MESSAGE_BAKERY",
            "TURNLOCK_MUTEX_",
            "turnlock_mutex",
        ],
    ),
    (
        "Reader/writer locks",
        "several that read, or one that writes",
        &["TURNLOCK_RWLOCK_", "turnlock_rwlock"],
    ),
    ("Semaphores", "so many at a time", &["TURNLOCK_SEMAPHORE_", "turnlock_semaphore"]),
    (
        "Range locks",
        "one at a time in each part of a range of numbers",
        &["TURNLOCK_RANGELOCK_", "TURNLOCK_RANGE_END", "turnlock_rangelock"],
    ),
    ("Keyed locks", "one at a time for each key", &["TURNLOCK_KEYEDLOCK_", "turnlock_keyedlock"]),
    ("Group locks", "all of one group, none of another", &["TURNLOCK_GROUPLOCK_", "turnlock_grouplock"]),
    ("Turn rings", "each in turn", &["TURNLOCK_ALGORITHM_", "TURNLOCK_RING_", "turnlock_ring"]),
    ("Conditions", "wait with a lock until notified", &["TURNLOCK_CONDITION_", "turnlock_condition"]),
    ("Events", "wait until it is set", &["TURNLOCK_EVENT_", "turnlock_event"]),
    ("Barriers", "wait for one another", &["TURNLOCK_BARRIER_", "turnlock_barrier"]),
    ("Onces", "one does it, once", &["TURNLOCK_ONCE_", "turnlock_once"]),
    (
        "Requests",
        "what a hold is to acquire",
        &["TURNLOCK_WAIT_", "turnlock_range", "turnlock_key", "turnlock_request"],
    ),
    ("Holds", "what any thread may release", &["TURNLOCK_HOLD_", "turnlock_hold"]),
];

/// As many functions as a reader can take in. To go beyond is to be thought over.
const MOST_FUNCTIONS: usize = 140;

/// The functions of a kind, and of holds, stand in this order: what comes after the beginning that all of the section have. One that
/// is not among these comes after them.
const ORDER: [&[&str]; 7] = [
    &["open", "of_thread"],
    &["close"],
    // With `try_` before it, `_for`, `_shared` and so on behind it.
    &["lock", "acquire"],
    &["unlock", "release", "release_permits"],
    &["upgrade", "downgrade"],
    &["abandon"],
    &["mark_consistent"],
];

fn generate() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut builder =
        cbindgen::Builder::new().with_config(config).with_src(root.join("core/src/error/status.rs"));
    for file in [
        "version",
        "boundary",
        "file",
        "transferred",
        "acquired",
        "info",
        "lock",
        "linked",
        "mutex",
        "rwlock",
        "rwlock_held",
        "semaphore",
        "rangelock",
        "keyedlock",
        "grouplock",
        "condition",
        "event",
        "barrier",
        "once",
        "ring",
        "limits",
        "request",
        "hold",
        "hold_held",
        "hold_begun",
        "condition_wait",
    ] {
        builder = builder.with_src(root.join(format!("src/capi/{file}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().expect("cbindgen reads src/capi").write(&mut text);
    // Rust's word for what the caller promises means nothing to a C programmer; a negative macro wants parentheses.
    let text = String::from_utf8(text).unwrap().replace("# Safety\n", "The caller promises:\n");
    let in_parentheses = |line: &str| match line.split_once(" -") {
        Some((define, number)) if define.starts_with("#define ") => format!("{define} (-{number})\n"),
        _ => format!("{line}\n"),
    };
    by_noun(&text.lines().map(in_parentheses).collect::<String>())
}

/// The same header with everything about one noun in one place: cbindgen writes all macros, then all types, then all
/// functions.
fn by_noun(text: &str) -> String {
    const OPEN: &str = "#ifdef __cplusplus\nextern \"C\" {\n#endif // __cplusplus\n";
    const CLOSE: &str = "#ifdef __cplusplus\n}  // extern \"C\"\n#endif  // __cplusplus\n";
    let (start, rest) = text.split_once("#include <stdint.h>\n").unwrap();
    let (declared, functions) = rest.split_once(OPEN).expect("cbindgen opens extern \"C\"");
    let (functions, end) = functions.split_once(CLOSE).expect("cbindgen closes extern \"C\"");
    let versions = versions();
    let items = [versions.as_str(), declared, functions].map(|part| part.split("\n\n")).into_iter().flatten();
    let items: Vec<_> = items.map(str::trim).filter(|item| !item.is_empty()).collect();
    let start = start.replacen(" * CONTENTS\n", &contents(&items), 1);
    let mut header = format!("{start}#include <stdint.h>\n\n{OPEN}");
    for (at, (title, _, _)) in SECTIONS.iter().enumerate() {
        header += &format!("\n/* {title} {} */\n", "-".repeat(102 - title.len()));
        for item in items.iter().filter(|item| section_of(item) == at) {
            header += &format!("\n{item}\n");
        }
    }
    header + "\n" + CLOSE + end
}

/// The table of contents: the sections, and how many functions each has.
fn contents(items: &[&str]) -> String {
    let of_section =
        |at: usize| items.iter().filter(|item| section_of(item) == at && is_function(item)).count();
    let all: usize = (0..SECTIONS.len()).map(of_section).sum();
    let mut contents = format!(" * Contents, with the number of functions ({all} in all):\n");
    for (at, (title, about, _)) in SECTIONS.iter().enumerate() {
        contents += &format!(" * - {title} ({}): {about}\n", of_section(at));
    }
    contents
}

/// Whether this declares a function, and not a macro or a type.
fn is_function(item: &str) -> bool {
    declaration(item).contains('(') && !declaration(item).starts_with("#define")
}

/// The line of an item on which it says its name.
fn declaration(item: &str) -> &str {
    item.lines().find(|line| !line.starts_with(['/', ' '])).unwrap_or_else(|| panic!("{item}"))
}

/// The section in which a macro, a type or a function belongs, by the name that it declares.
fn section_of(item: &str) -> usize {
    let declared = declaration(item);
    let name = match declared.strip_prefix("#define ") {
        Some(rest) => rest.split(' ').next(),
        // Of a function the word before its arguments, of a type the last one.
        None => declared
            .split('(')
            .next()
            .and_then(|text| text.trim_end_matches([' ', '{', ';']).rsplit([' ', '*']).next()),
    };
    let name = name.unwrap_or_else(|| panic!("no name in {item}"));
    let beginnings =
        SECTIONS.iter().enumerate().flat_map(|(at, (_, _, all))| all.iter().map(move |one| (one, at)));
    let fitting = beginnings.filter(|(beginning, _)| name.starts_with(**beginning));
    let longest = fitting.max_by_key(|(beginning, _)| beginning.len());
    longest.unwrap_or_else(|| panic!("in which section of the header does {name} belong? See SECTIONS")).1
}

/// The version of Cargo.toml, as macros.
fn versions() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let [major, minor, patch] =
        [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH")];
    let define = |meaning: &str, name: &str, value: &str| {
        format!("/**\n * {meaning}\n */\n#define TURNLOCK_VERSION{name} {value}\n\n")
    };
    let number =
        "(TURNLOCK_VERSION_MAJOR * 1000000 + TURNLOCK_VERSION_MINOR * 1000 + TURNLOCK_VERSION_PATCH)";
    define("The version of turnlock that this header is of.", "", &format!("\"{version}\""))
        + &define("The first number of that version.", "_MAJOR", major)
        + &define("The second.", "_MINOR", minor)
        + &define("The third.", "_PATCH", patch)
        + &define("All three as one number, larger for a later version.", "_NUMBER", number)
}

#[test]
fn the_header_is_what_the_sources_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(HEADER);
    let generated = generate();
    if std::env::var_os("TURNLOCK_BLESS").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "{HEADER} differs from src/capi: look at the difference after `TURNLOCK_BLESS=1 cargo test --test header`"
    );
}

#[test]
fn every_exported_function_is_in_the_header() {
    let header = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(HEADER)).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/capi");
    let mut exported = 0;
    for file in fs::read_dir(sources).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let exported_lines = text.lines().filter(|line| line.starts_with("pub "));
        let functions =
            exported_lines.filter_map(|line| line.split_once("extern \"C\" fn ")?.1.split('(').next());
        for function in functions {
            assert!(header.contains(&format!("{function}(")), "{function} is missing");
            exported += 1;
        }
    }
    assert!(exported > 20, "the search found only {exported} functions");
}

#[test]
fn the_header_compiles_in_every_dialect() {
    let folder = tempfile::tempdir().unwrap();
    // Twice on purpose: the include guard must hold.
    let source = "#include <turnlock.h>\n#include <turnlock.h>\nint main(void) { return turnlock_abi_version() != \
                  TURNLOCK_ABI_VERSION; }\n";
    for (compiler, dialect, ending) in [
        ("cc", "c99", "c"),
        ("cc", "c11", "c"),
        ("cc", "c2x", "c"),
        ("c++", "c++17", "cpp"),
        ("c++", "c++20", "cpp"),
    ] {
        let file = folder.path().join(format!("use.{ending}"));
        fs::write(&file, source).unwrap();
        let mut command = Command::new(compiler);
        command
            .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", &format!("-std={dialect}")])
            .arg("-I")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
            .arg(&file);
        let output = limit::output(&mut command).unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert!(output.status.success(), "{dialect}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_header_can_be_taken_in() {
    let header = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(HEADER)).unwrap();
    let (head, sections) = header.split_once("extern \"C\" {").unwrap();
    let mut all = Vec::new();
    for section in sections.split("\n/* ").skip(1) {
        let title = section.split(" --").next().unwrap();
        let functions = functions(section);
        let line = format!("\n * - {title} ({}): ", functions.len());
        assert!(head.contains(&line), "the table of contents lacks {line:?}");
        all.extend(functions);
    }
    assert!(head.contains(&format!("({} in all)", all.len())));
    assert!(all.len() > 80 && all.len() <= MOST_FUNCTIONS, "{} functions", all.len());
    assert!(all.iter().all(|function| !function.ends_with("_as")), "that is what holds are for");
}

#[test]
fn every_kind_has_its_functions_in_the_same_order() {
    let header = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(HEADER)).unwrap();
    let functions = functions(&header);
    for kind in ["mutex", "rwlock", "semaphore", "rangelock", "keyedlock", "grouplock", "ring", "hold"] {
        let of_kind = functions.iter().filter_map(|name| name.strip_prefix(&format!("turnlock_{kind}_")));
        let ranks: Vec<_> = of_kind.map(|name| (rank(name), name)).collect();
        assert!(ranks.len() > 4, "{kind}: {ranks:?}");
        assert!(ranks.is_sorted_by_key(|(rank, _)| *rank), "{kind}: {ranks:?}");
    }
}

/// Which place in [`ORDER`] a function has that is called so.
fn rank(name: &str) -> usize {
    let name = name.strip_prefix("try_").unwrap_or(name);
    let name = name.strip_suffix("_for").unwrap_or(name);
    let ending =
        ["_shared", "_exclusive", "_upgradable"].into_iter().find_map(|mode| name.strip_suffix(mode));
    let name = ending.unwrap_or(name);
    ORDER.iter().position(|names| names.contains(&name)).unwrap_or(ORDER.len())
}

/// The functions that are declared in `text`, in their order.
fn functions(text: &str) -> Vec<&str> {
    let declared = text.lines().filter(|line| line.contains('(') && !line.starts_with([' ', '/', '#', '}']));
    let name = |line: &'_ str| line.find("turnlock_").filter(|at| *at < line.find('(').unwrap_or(0));
    declared.filter_map(|line| Some(line[name(line)?..].split('(').next().unwrap())).collect()
}

#[test]
fn flags_of_one_name_have_one_value() {
    let header = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(HEADER)).unwrap();
    let macros: Vec<(&str, &str)> =
        header.lines().filter_map(|line| line.strip_prefix("#define TURNLOCK_")?.split_once(' ')).collect();
    let mut seen = std::collections::BTreeMap::new();
    let mut shared = 0;
    for noun in [
        "FILE_",
        "MUTEX_",
        "RWLOCK_",
        "SEMAPHORE_",
        "RANGELOCK_",
        "KEYEDLOCK_",
        "GROUPLOCK_",
        "RING_",
        "HOLD_",
    ] {
        let flags = macros.iter().filter_map(|(name, value)| Some((name.strip_prefix(noun)?, *value)));
        for (flag, value) in flags {
            let first = *seen.entry(flag).or_insert(value);
            assert_eq!(first, value, "TURNLOCK_{noun}{flag}");
            shared += 1;
        }
    }
    assert!(seen.len() > 8 && shared > 2 * seen.len(), "{seen:?}");
    // Nor is one name another one and a bit more.
    for (name, _) in &macros {
        let longer = macros.iter().find(|(other, _)| other.len() > name.len() && other.starts_with(name));
        let is_family =
            |longer: &str| ["VERSION", "ERROR_SYSTEM"].iter().any(|known| longer.starts_with(known));
        assert!(longer.is_none_or(|(longer, _)| is_family(longer)), "{name} and {longer:?}");
    }
}
