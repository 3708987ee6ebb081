//! The house stays as it is drawn: rooms import themselves and the rooms above them, never below; the atomics have one
//! door; the kernel is asked in one room. Tests and benches are plain modules, and no suite can hang for ever.
#![cfg(not(any(loom, shuttle)))]

use std::{
    fs,
    path::{Path, PathBuf},
};

support::watched_for_seconds!(support::watchdog::USUAL);

/// The rooms of `src/`, from the ground up. `lib.rs`, `main.rs` and `cli` see only what the library shows everyone.
const ROOMS: [&str; 13] = [
    "sync",
    "error",
    "mutants",
    "trace",
    "layout",
    "algorithm",
    "os",
    "wait",
    "participant",
    "recovery",
    "lock",
    "inspect",
    "capi",
];

/// Every Rust file below a folder, with its path from there.
fn rust_files(below: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(below);
    let (mut files, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let inside = path.strip_prefix(&root).unwrap().to_owned();
                files.push((inside, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(files.len() > 30, "the search found only {} files in {below}", files.len());
    files
}

/// Every source file with its room: `src/os/file.rs` is in `os`, `src/wait/mod.rs` in `wait`.
fn sources() -> Vec<(String, PathBuf, String)> {
    let room =
        |inside: &Path| inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
    rust_files("src").into_iter().map(|(inside, text)| (room(&inside), inside, text)).collect()
}

/// The code of a file: no comments, and nothing after the first test module.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap();
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// Does the code say `word`, and not only something that ends in it?
fn says(code: &str, word: &str) -> bool {
    let letter = |before: &str| before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    code.match_indices(word).any(|(at, _)| !letter(&code[..at]))
}

#[test]
fn rooms_import_upwards_only() {
    let place = |room: &str| ROOMS.iter().position(|known| *known == room);
    for (room, file, text) in sources() {
        if matches!(room.as_str(), "lib" | "main" | "cli") {
            continue;
        }
        let own = place(&room)
            .unwrap_or_else(|| panic!("{}: a room that tests/house does not know", file.display()));
        for used in code(&text).split("crate::").skip(1) {
            let used: String =
                used.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
            // What is not a room is one of the crate's own re-exports.
            if let Some(theirs) = place(&used) {
                assert!(theirs <= own, "{}: {room} must not know {used}", file.display());
            }
        }
    }
}

#[test]
fn the_atomics_have_one_door() {
    for (room, file, text) in sources() {
        for forbidden in ["sync::atomic", "loom::", "shuttle::"] {
            // The mutants bugs' own switch must not be a step of a model.
            let allowed = room == "sync" || (room == "mutants" && forbidden == "sync::atomic");
            assert!(allowed || !says(&code(&text), forbidden), "{} names {forbidden}", file.display());
        }
    }
}

#[test]
fn the_kernel_is_asked_in_one_room() {
    for (room, file, text) in sources() {
        for forbidden in ["libc::", "nix::", "memmap2::"] {
            assert!(room == "os" || !says(&code(&text), forbidden), "{} names {forbidden}", file.display());
        }
    }
}

#[test]
fn the_command_uses_the_public_surface_only() {
    for (room, file, text) in sources() {
        if matches!(room.as_str(), "main" | "cli") {
            assert!(!code(&text).contains("unsafe"), "{} is unsafe", file.display());
            assert!(!code(&text).contains("capi::"), "{} goes through the C ABI", file.display());
        }
    }
}

#[test]
fn every_room_can_be_read_in_one_go() {
    for (_, file, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= 450, "{} has {lines} lines: is it one room?", file.display());
    }
}

#[test]
fn tests_and_benches_are_plain_modules() {
    for below in ["tests", "benches"] {
        for (file, text) in rust_files(below) {
            let web = text.lines().any(|line| line.trim_start().starts_with("#[path"));
            assert!(
                !web,
                "{below}/{}: what two share is in tests/support or benches/harness",
                file.display()
            );
        }
    }
}

#[test]
fn no_suite_hangs_for_ever() {
    let suites = |file: &Path| file.components().count() == 1 || file.ends_with("main.rs");
    for (file, text) in rust_files("tests").into_iter().filter(|(file, _)| suites(file)) {
        assert!(text.contains("support::watched_for_seconds!("), "tests/{} has no watchdog", file.display());
    }
}
