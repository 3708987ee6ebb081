//! Compiles a C program of this folder and runs it: with a limit, since a test must not hang.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
};
use support::{built::libraries, limit};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// How many seconds a program may take that usually takes a few.
const LIMIT: u64 = 200;

/// How much of what a hanging program said its report has.
const LAST_LINES: usize = 12;

/// A program that was compiled, and a folder for its files, which goes with it.
pub struct Program {
    folder: tempfile::TempDir,
    name: &'static str,
}

impl Program {
    /// Compiles `tests/attacks/NAME.c`.
    pub fn new(name: &'static str) -> Self {
        Self::with(name, &["-lturnlock"])
    }

    /// [`Program::new`], without linking the library: for one that loads it.
    pub fn without_library(name: &'static str) -> Self {
        Self::with(name, &["-ldl"])
    }

    fn with(name: &'static str, libraries_of_it: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new("tests/attacks").join(name).with_extension("c");
        let compiled = Command::new("cc")
            .current_dir(ROOT)
            // Bound when it is loaded, so that a function's first call does not look for it.
            .args([
                "-std=gnu11",
                "-D_GNU_SOURCE",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-O1",
                "-g",
                "-pthread",
                "-Wl,-z,now",
            ])
            .arg("-Iinclude")
            .arg("-o")
            .arg(folder.path().join(name))
            .arg(source)
            .arg(format!("-L{}", libraries().display()))
            .args(libraries_of_it)
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Self { folder, name }
    }

    /// The lock file for it, which does not exist before it is first opened.
    pub fn lock_file(&self) -> PathBuf {
        self.folder.path().join("test.lock")
    }

    /// Runs it with its lock file and `arguments`. Its verdict; panics if that is not that it passed.
    pub fn passes(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        println!("{} {}: {}", self.name, arguments.join(" "), run.said.trim_end());
        assert!(run.status.success() && run.said.starts_with("PASS"), "{run}");
        run.said
    }

    /// Runs it, until it ends or the limit is over. Whatever it started and left behind ends with it.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(&[], arguments)
    }

    /// [`Program::run`], with more in its environment.
    pub fn run_with(&self, environment: &[(&str, &str)], arguments: &[&str]) -> Run {
        // One at a time: what two of them do to each other on few cores is not what they are about.
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // Into files, which have everything as soon as it was written; what reads a pipe may come late on a busy machine, and
        // another process may keep its end away.
        let printed = |name| self.folder.path().join(name);
        let (stdout, stderr) = (printed("stdout"), printed("stderr"));
        let mut process = Command::new(self.folder.path().join(self.name))
            .arg(self.lock_file())
            .args(arguments)
            .env("LD_LIBRARY_PATH", libraries())
            .env("RUST_BACKTRACE", "0")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .process_group(0)
            .spawn()
            .unwrap();
        let ended = limit::within(limit::seconds(LIMIT), || process.try_wait().unwrap());
        let threads = if ended.is_none() { threads_of(&process) } else { String::new() };
        // SAFETY: the group that was made for this process, which its parent (this process) has not started another
        // one in; it may be empty.
        unsafe { libc::kill(-(process.id() as i32), libc::SIGKILL) };
        let status = ended.unwrap_or_else(|| process.wait().unwrap());
        let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).trim_end().to_owned();
        let (said, was_at) = (read(stdout), read(stderr));
        let was_at: Vec<&str> = was_at.lines().collect();
        let was_at = was_at[was_at.len().saturating_sub(LAST_LINES)..].join("\n");
        Run { status, hangs: ended.is_none(), said, was_at, threads }
    }
}

/// How a program ran.
pub struct Run {
    pub status: ExitStatus,
    hangs: bool,
    pub said: String,
    was_at: String,
    threads: String,
}

impl std::fmt::Display for Run {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self { status, said, was_at, threads, .. } = self;
        if self.hangs {
            writeln!(to, "HANG: not over after {:?}; its threads:\n{threads}", limit::seconds(LIMIT))?;
        } else {
            writeln!(to, "{status}")?;
        }
        writeln!(to, "it said: {}", if said.is_empty() { "nothing" } else { said })?;
        write!(to, "it was\n{was_at}")
    }
}

/// Of each thread: its state, where the kernel has it, and the system call that it is in.
fn threads_of(process: &Child) -> String {
    let folder = PathBuf::from(format!("/proc/{}/task", process.id()));
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let mut report = String::new();
    for thread in folder.read_dir().into_iter().flatten().flatten() {
        let state = read(thread.path().join("stat"));
        let state = state.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or('?');
        let (place, call) = (read(thread.path().join("wchan")), read(thread.path().join("syscall")));
        report += &format!("  {:?} {state} {place} {call}\n", thread.file_name());
    }
    report
}
