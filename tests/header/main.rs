//! `include/turnlock.h` is what the Rust sources say, and compiles in every dialect of C and C++ that people use.
//!
//! `TURNLOCK_BLESS=1 cargo test --test header` writes it anew.
#![cfg(not(any(loom, shuttle)))]

use std::{fs, path::Path, process::Command};
use support::limit;

support::watched_for_seconds!(support::watchdog::USUAL);

const HEADER: &str = "include/turnlock.h";

fn generate() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config).with_src(root.join("src/error/status.rs"));
    for file in ["version", "boundary", "file", "acquired", "mutex", "participant", "ring", "follow"] {
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
    text.lines().map(in_parentheses).collect()
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
