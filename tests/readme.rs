//! The README's programs do what they say: each is taken out of the text and run, in its language.
#![cfg(all(feature = "cli", not(any(loom, shuttle))))]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const README: &str = include_str!("../README.md");

/// The first block of this language under "Ten lines of each".
fn block(language: &str) -> &'static str {
    let section = README.split("## Ten lines of each").nth(1).unwrap().split("\n## ").next().unwrap();
    let block = section.split(&format!("```{language}\n")).nth(1).unwrap_or_else(|| panic!("no {language}"));
    block.split("```").next().unwrap()
}

/// The folder of the command under test, and that of the libraries built with it (`deps`, under `cargo test`).
fn built() -> (PathBuf, PathBuf) {
    let folder = Path::new(env!("CARGO_BIN_EXE_turnlock")).parent().unwrap().to_owned();
    let libraries = folder.join("deps");
    assert!(libraries.join("libturnlock.so").exists(), "no libturnlock.so in {}", libraries.display());
    (folder, libraries)
}

/// Runs `program` in an empty folder, able to find the command and the library; gives what it printed.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let (commands, libraries) = built();
    let path = format!("{}:{}", commands.display(), std::env::var("PATH").unwrap());
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("PATH", path)
        .env("LD_LIBRARY_PATH", libraries)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_shell_lines_work() {
    let folder = tempfile::tempdir().unwrap();
    let printed = run(folder.path(), "sh", &["-ec", block("sh")]);
    assert!(printed.contains("alone, with fencing token ") && printed.contains("my turn"), "{printed}");
    assert!(printed.contains("accounts (mutex, bakery, patience 1 ms): free"), "{printed}");
}

#[test]
fn the_c_program_works() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("program.c"), block("c")).unwrap();
    let include = format!("-I{}/include", env!("CARGO_MANIFEST_DIR"));
    let library = format!("-L{}", built().1.display());
    let flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "program.c", "-o", "program"];
    run(folder.path(), "cc", &[&flags[..], &[&include, &library, "-lturnlock"]].concat());
    assert!(run(folder.path(), "./program", &[]).starts_with("alone, with fencing token "));
}

#[test]
fn the_python_program_works() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), "python3", &["-c", block("python")]), "alone\n");
}

#[test]
fn the_rust_program_works() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("program.rs"), block("rust")).unwrap();
    let libraries = built().1;
    let library = format!("turnlock={}/libturnlock.rlib", libraries.display());
    let dependencies = format!("dependency={}", libraries.display());
    let arguments = ["--edition=2024", "program.rs", "--extern", &library, "-L", &dependencies];
    run(folder.path(), "rustc", &arguments);
    assert!(run(folder.path(), "./program", &[]).starts_with("alone, with fencing token "));
}
