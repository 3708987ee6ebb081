//! What cargo built beside the tests, for those that run other programs with it.

use crate::limit;
use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

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

/// Compiles a program in Rust as a user does: a package that depends on turnlock and on nothing else. Returns where it lies.
pub fn rust_program(source: &Path) -> PathBuf {
    let name = source.file_stem().unwrap().to_str().unwrap();
    let package = RustPackage::new(name, &fs::read_to_string(source).unwrap(), false);
    package.build();
    let program = package.folder.join("program");
    fs::rename(package.built().join(name), &program).unwrap();
    program
}

/// A package of a user's, outside of the workspace, that depends on turnlock and on nothing else.
pub struct RustPackage {
    /// Where it lies.
    pub folder: PathBuf,
}

impl RustPackage {
    /// A program, or a shared library. In a folder for each source, which several tests may compile at once.
    pub fn new(name: &str, source: &str, is_library: bool) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let mut hasher = DefaultHasher::new();
        source.hash(&mut hasher);
        let folder = libraries().join(format!("../rust-programs/{name}-{:016x}", hasher.finish()));
        fs::create_dir_all(folder.join("src")).unwrap();
        let library = if is_library { "[lib]\ncrate-type = [\"cdylib\"]\n\n" } else { "" };
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n{library}[dependencies]\n\
             turnlock = {{ path = {root:?} }}\n\n[workspace]\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        fs::write(folder.join(if is_library { "src/lib.rs" } else { "src/main.rs" }), source).unwrap();
        // The versions that the workspace has, which are here.
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        Self { folder }
    }

    /// Runs cargo there, and returns what it prints: the answer, and warnings.
    pub fn cargo(&self, arguments: &[&str]) -> String {
        let mut cargo = Command::new("cargo");
        cargo.args(arguments).args(["--quiet", "--offline"]).current_dir(&self.folder);
        cargo.env("CARGO_TARGET_DIR", self.built().parent().unwrap()).env_remove("RUSTFLAGS");
        // It compiles turnlock, and waits for those that do so beside it.
        let output = limit::output_within(limit::seconds(450), &mut cargo).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    }

    /// Builds it, and returns what the compiler had to say. What is made lies in [`RustPackage::built`].
    pub fn build(&self) -> String {
        self.cargo(&["build"])
    }

    /// Shared by all, so that turnlock is compiled once.
    pub fn built(&self) -> PathBuf {
        self.folder.join("../built/debug")
    }
}
