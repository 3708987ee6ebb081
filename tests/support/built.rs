//! What cargo built beside the tests, for those that run other programs with it.

use std::path::{Path, PathBuf};

/// The folder of the command under test, and that of the libraries built with it (`deps`, under `cargo test`).
pub fn folders() -> (PathBuf, PathBuf) {
    let folder = Path::new(env!("CARGO_BIN_EXE_turnlock")).parent().unwrap().to_owned();
    let libraries = folder.join("deps");
    assert!(libraries.join("libturnlock.so").exists(), "no libturnlock.so in {}", libraries.display());
    (folder, libraries)
}

/// What rustc needs to compile a program that uses the crate.
pub fn rustc_arguments() -> Vec<String> {
    let libraries = folders().1;
    let library = format!("turnlock={}/libturnlock.rlib", libraries.display());
    let dependencies = format!("dependency={}", libraries.display());
    ["--edition=2024", "--extern", &library, "-L", &dependencies].map(String::from).to_vec()
}
