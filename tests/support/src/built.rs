//! What cargo built beside the tests, for those that run other programs with it.

use std::path::PathBuf;

/// The folder of the libraries built with this test: `deps`, under `cargo test`, where the test lies too.
pub fn libraries() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    assert!(folder.join("libturnlock.so").exists(), "no libturnlock.so in {}", folder.display());
    folder
}

/// The folder of the command under test, and that of the libraries built with it.
pub fn folders() -> (PathBuf, PathBuf) {
    let libraries = libraries();
    let folder = libraries.parent().unwrap().to_owned();
    assert!(folder.join("turnlock").exists(), "no turnlock in {}", folder.display());
    (folder, libraries)
}

/// What rustc needs to compile a program that uses the crate.
pub fn rustc_arguments() -> Vec<String> {
    let libraries = libraries();
    let library = format!("turnlock={}/libturnlock.rlib", libraries.display());
    let dependencies = format!("dependency={}", libraries.display());
    ["--edition=2024", "--extern", &library, "-L", &dependencies].map(String::from).to_vec()
}
