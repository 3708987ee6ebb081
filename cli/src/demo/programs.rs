//! The programs: those of `examples/` with their sources, those of `bindings/` where they stand ready; how each is built
//! and started, or why it is left out.

use super::{
    bindings::{Bindings, Start},
    library, limit,
};
use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A program, named by its language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Cpp,
    Python,
    Shell,
    Rust,
    Node,
    Go,
    Java,
}

impl Language {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 8] =
        [Self::C, Self::Cpp, Self::Python, Self::Shell, Self::Rust, Self::Node, Self::Go, Self::Java];

    /// Returns what it is called: the name of its source, and its label in the lock file.
    pub fn file(self) -> &'static str {
        match self {
            Self::C => "counter.c",
            Self::Cpp => "counter.cpp",
            Self::Python => "counter.py",
            Self::Shell => "counter.sh",
            Self::Rust => "counter.rs",
            Self::Node => "counter.js",
            Self::Go => "counter.go",
            Self::Java => "Counter.java",
        }
    }

    /// Returns what stands for it where the order of service is shown.
    pub fn letter(self) -> char {
        match self {
            Self::C => 'c',
            Self::Cpp => '+',
            Self::Python => 'p',
            Self::Shell => 's',
            Self::Rust => 'r',
            Self::Node => 'n',
            Self::Go => 'g',
            Self::Java => 'j',
        }
    }

    /// By the name that it signs with.
    pub fn of(file: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.file() == file)
    }
}

/// A program that is ready to be started.
pub struct Built {
    /// Which.
    pub language: Language,
    /// How it was made, for people.
    pub how: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

impl Built {
    /// Returns the command that takes so many turns in `folder`.
    pub fn command(&self, folder: &Path, turns: u64, die_at: Option<u64>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(folder).arg(turns.to_string()).envs(self.environment.clone());
        if let Some(die_at) = die_at {
            command.args(["--die-at", &die_at.to_string()]);
        }
        command
    }
}

/// A program that does not take part, since something that it needs is not on this computer.
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// Which.
    pub language: Language,
    /// What is missing.
    pub why: String,
}

enum Failure {
    /// Something that it needs is not on this computer.
    Missing(String),
    /// It should have worked.
    Broken(String),
}

/// Writes the sources into `folder` and makes every program ready, all at the same time.
pub fn build_all(folder: &Path, library: Option<&Path>) -> Result<(Vec<Built>, Vec<LeftOut>), String> {
    for (name, text) in [
        ("turnlock.h", include_str!("../../../include/turnlock.h")),
        (Language::C.file(), include_str!("../../../examples/counter.c")),
        (Language::Cpp.file(), include_str!("../../../examples/counter.cpp")),
        (Language::Python.file(), include_str!("../../../examples/counter.py")),
        ("turnlock_ctypes.py", include_str!("../../../examples/turnlock_ctypes.py")),
        (Language::Shell.file(), include_str!("../../../examples/counter.sh")),
        (Language::Rust.file(), include_str!("../../../examples/counter.rs")),
    ] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let this = env::current_exe().map_err(|error| format!("cannot tell where this command is: {error}"))?;
    let workshop = Workshop { folder, library, this: &this };
    let results: Vec<(Language, Result<Built, Failure>)> = std::thread::scope(|threads| {
        let jobs = Language::ALL.map(|language| (language, threads.spawn(move || workshop.build(language))));
        jobs.into_iter()
            .map(|(language, job)| {
                (language, job.join().unwrap_or_else(|_| Err(Failure::Broken("it panicked".into()))))
            })
            .collect()
    });

    let (mut built, mut left_out) = (Vec::new(), Vec::new());
    for (language, result) in results {
        match result {
            Ok(program) => built.push(program),
            Err(Failure::Missing(why)) => left_out.push(LeftOut { language, why }),
            Err(Failure::Broken(why)) => return Err(format!("{} cannot be built: {why}", language.file())),
        }
    }
    Ok((built, left_out))
}

#[derive(Clone, Copy)]
struct Workshop<'a> {
    folder: &'a Path,
    library: Option<&'a Path>,
    this: &'a Path,
}

impl Workshop<'_> {
    fn build(self, language: Language) -> Result<Built, Failure> {
        let source = self.folder.join(language.file());
        match language {
            Language::Shell => match limit::output(Command::new("sh").args(["-c", ":"])) {
                Ok(done) if done.status.success() => {
                    Ok(self.built(language, "sh and turnlock run".into(), "sh".into(), vec![source.into()]))
                }
                Ok(done) => Err(Failure::Missing(format!("sh does not work here: {}", last_words(&done)))),
                Err(error) => Err(Failure::Missing(format!("sh: {error}"))),
            },
            Language::Rust => {
                let arguments = ["demo", "--take-part"].map(OsString::from).to_vec();
                Ok(self.built(language, "inside this command".into(), self.this.into(), arguments))
            }
            _ => {
                let library = self.library.ok_or_else(|| Failure::Missing(library::missing()))?;
                self.build_with(library, language, source)
            }
        }
    }

    /// One that loads the library.
    fn build_with(self, library: &Path, language: Language, source: PathBuf) -> Result<Built, Failure> {
        let bindings = Bindings { folder: self.folder, library, this: self.this };
        match language {
            Language::C => self.compile(language, library, "CC", &["cc", "gcc", "clang"]),
            Language::Cpp => self.compile(language, library, "CXX", &["c++", "g++", "clang++"]),
            Language::Python => {
                let (python, version) = find_python()?;
                Ok(self.built(language, format!("Python {version}"), python, vec![source.into()]))
            }
            Language::Node => self.ready(language, bindings.node()),
            Language::Go => self.ready(language, bindings.go()),
            Language::Java => self.ready(language, bindings.java()),
            Language::Shell | Language::Rust => self.build(language),
        }
    }

    fn built(self, language: Language, how: String, program: PathBuf, arguments: Vec<OsString>) -> Built {
        let library = self.library.map(|library| ("TURNLOCK_LIBRARY", library.into()));
        let environment = library.into_iter().chain([("TURNLOCK", self.this.into())]).collect();
        Built { language, how, program, arguments, environment }
    }

    /// Returns a program of a binding; where it does not stand ready it is left out, whatever the reason.
    fn ready(self, language: Language, found: Result<Start, String>) -> Result<Built, Failure> {
        let start = found.map_err(Failure::Missing)?;
        let mut built = self.built(language, start.how, start.program, start.arguments);
        built.environment.extend(start.environment);
        Ok(built)
    }

    fn compile(
        self,
        language: Language,
        library: &Path,
        variable: &str,
        usual: &[&str],
    ) -> Result<Built, Failure> {
        let (dialect, standard) = match language {
            Language::C => ("c", "-std=c99"),
            _ => ("c++", "-std=c++17"),
        };
        let program = self.folder.join(language.file().replace('.', "-"));
        let compile = |compiler: &mut Command| {
            // The library by its full path, and its folder as the place to load it from.
            compiler.args([standard, "-O2", "-Wall", "-Wextra", "-Wpedantic", "-I"]).arg(self.folder);
            compiler.arg(self.folder.join(language.file())).arg("-o").arg(&program).arg(library);
            compiler.args(["-Xlinker", "-rpath", "-Xlinker"]);
            compiler.arg(library.parent().unwrap_or(Path::new("/")));
            limit::output(compiler)
        };
        let (name, done) = first_that_starts(variable, usual, compile).map_err(Failure::Missing)?;
        if done.status.success() {
            return Ok(self.built(language, format!("compiled by {name}"), program, Vec::new()));
        }
        // Is it the program, or does this compiler compile nothing at all (no headers, no linker)?
        let trial = self.folder.join(format!("trial-{}", language.file()));
        let text = if dialect == "c" { "#include <stdio.h>" } else { "#include <iostream>" };
        let try_out = |compiler: &mut Command| {
            fs::write(&trial, format!("{text}\nint main(void) {{ return 0; }}\n"))?;
            limit::output(compiler.args(["-x", dialect]).arg(&trial).arg("-o").arg(&program))
        };
        match first_that_starts(variable, usual, try_out) {
            Ok((_, works)) if works.status.success() => Err(Failure::Broken(format!(
                "{name} says:\n{}",
                String::from_utf8_lossy(&done.stderr).trim()
            ))),
            _ => Err(Failure::Missing(format!("{name} does not work here: {}", first_words(&done)))),
        }
    }
}

/// Runs the compiler that the environment variable names, or else the first of the usual ones that exists; with its
/// name and what it said.
fn first_that_starts(
    variable: &str,
    usual: &[&str],
    run: impl Fn(&mut Command) -> io::Result<Output>,
) -> Result<(String, Output), String> {
    let named = env::var(variable).ok().filter(|named| !named.trim().is_empty());
    let candidates: Vec<&str> = named.as_deref().map_or(usual.to_vec(), |named| vec![named]);
    for candidate in &candidates {
        // The variable may hold arguments too: "ccache gcc".
        let mut words = candidate.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        match run(command.args(words)) {
            Ok(done) => return Ok(((*candidate).into(), done)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{candidate}: {error}")),
        }
    }
    Err(format!("no {} here ({variable} can name a compiler)", candidates.join(", ")))
}

/// Returns the interpreter itself (not a wrapper, whose process may be another one), and its version.
fn find_python() -> Result<(PathBuf, String), Failure> {
    const PROBE: &str = "import sys
if sys.version_info < (3, 8): sys.exit('Python 3.8 or newer is needed')
import ctypes, platform
print(platform.python_version()); print(sys.executable)";
    let mut why = "no python3 or python here".to_string();
    for candidate in ["python3", "python"] {
        match limit::output(Command::new(candidate).args(["-c", PROBE])) {
            Ok(done) if done.status.success() => {
                let said = String::from_utf8_lossy(&done.stdout);
                if let [version, path] = said.lines().collect::<Vec<_>>()[..] {
                    return Ok((path.into(), version.into()));
                }
                why = format!("{candidate} does not say where it is");
            }
            Ok(done) => why = format!("{candidate}: {}", last_words(&done)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => why = format!("{candidate}: {error}"),
        }
    }
    Err(Failure::Missing(why))
}

fn first_words(done: &Output) -> String {
    words(done, |mut lines| lines.next())
}

fn last_words(done: &Output) -> String {
    words(done, |lines| lines.last())
}

fn words(done: &Output, pick: fn(std::str::Lines) -> Option<&str>) -> String {
    let said = String::from_utf8_lossy(&done.stderr);
    pick(said.trim().lines()).map_or_else(|| done.status.to_string(), str::to_string)
}
