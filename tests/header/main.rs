//! `include/turnlock.h` is what the Rust sources say, and compiles in every dialect of C and C++ that people use.
//!
//! `TURNLOCK_BLESS=1 cargo test --test header` writes it anew.

use std::{fs, path::Path, process::Command};
use support::limit;

support::watched_for_seconds!(support::watchdog::USUAL);

const HEADER: &str = "include/turnlock.h";

/// The sections of the header in their order, and how the names in each begin. The longest beginning decides.
const SECTIONS: [(&str, &[&str]); 11] = [
    ("Versions", &["TURNLOCK_VERSION", "TURNLOCK_ABI_VERSION", "turnlock_version", "turnlock_abi_version"]),
    (
        "Statuses",
        &[
            "TURNLOCK_OK",
            "TURNLOCK_OWNER_DEAD",
            "TURNLOCK_CONTENDED",
            "TURNLOCK_ERROR_",
            "turnlock_status_text",
            "turnlock_last_error_message",
        ],
    ),
    ("Lock files", &["TURNLOCK_FILE_", "turnlock_file"]),
    ("Participants", &["TURNLOCK_PARTICIPANT_", "turnlock_participant"]),
    (
        "What locks of every kind tell",
        &[
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
    ("Reader/writer locks", &["TURNLOCK_RWLOCK_", "turnlock_rwlock"]),
    ("Semaphores", &["TURNLOCK_SEMAPHORE_", "turnlock_semaphore"]),
    ("Range locks", &["TURNLOCK_RANGELOCK_", "TURNLOCK_RANGE_END", "turnlock_rangelock"]),
    ("Keyed locks", &["TURNLOCK_KEYEDLOCK_", "turnlock_keyedlock"]),
    ("Turn rings", &["TURNLOCK_ALGORITHM_", "TURNLOCK_RING_", "turnlock_ring"]),
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
        "participant",
        "left",
        "acquired",
        "info",
        "mutex",
        "rwlock",
        "rwlock_held",
        "rwlock_as",
        "semaphore",
        "rangelock",
        "rangelock_as",
        "keyedlock",
        "keyedlock_as",
        "ring",
        "query",
        "follow",
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
    let mut header = format!("{start}#include <stdint.h>\n\n{OPEN}");
    for (at, (title, _)) in SECTIONS.iter().enumerate() {
        header += &format!("\n/* {title} {} */\n", "-".repeat(102 - title.len()));
        for item in items.iter().filter(|item| section_of(item) == at) {
            header += &format!("\n{item}\n");
        }
    }
    header + "\n" + CLOSE + end
}

/// The section in which a macro, a type or a function belongs, by the name that it declares.
fn section_of(item: &str) -> usize {
    let declared =
        item.lines().find(|line| !line.starts_with(['/', ' '])).unwrap_or_else(|| panic!("{item}"));
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
        SECTIONS.iter().enumerate().flat_map(|(at, (_, all))| all.iter().map(move |one| (one, at)));
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
