//! A process that takes locks as it is told, in one of three languages.

use std::{
    any::Any,
    io::{BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::OnceLock,
};
use support::{
    actor::{hear, say},
    built::libraries,
    limit,
    watchdog::ROLE,
};
use turnlock::{LockFile, RwLockUpgradableGuard, inspect};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/deadlock");

/// In which language it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Python,
    Rust,
}

/// The role of the party in Rust. Words: the lock file, the label. What it hears and says: party.c.
pub fn party(words: &[String]) {
    let file: &'static LockFile =
        Box::leak(Box::new(LockFile::options().label(&words[1]).open(&words[0]).unwrap()));
    let mut held: Vec<Box<dyn Any>> = Vec::new();
    say("ready");
    loop {
        let order = hear();
        let words: Vec<&str> = order.split(' ').collect();
        let taken = match words[..] {
            ["leave"] => {
                while held.pop().is_some() {}
                say("left");
                continue;
            }
            ["upgrade", _] => {
                let guard = held.pop().unwrap().downcast::<RwLockUpgradableGuard<'static>>().unwrap();
                guard.upgrade().map(|guard| Box::new(guard) as Box<dyn Any>).map_err(|failed| failed.error)
            }
            _ => take(file, &words),
        };
        match taken {
            Ok(guard) => {
                held.push(guard);
                say("taken");
            }
            Err(error) => say(&format!("error {} {error}", error.code())),
        }
    }
}

fn take(file: &'static LockFile, words: &[&str]) -> turnlock::Result<Box<dyn Any>> {
    let boxed = |guard: Box<dyn Any>| guard;
    Ok(match *words {
        ["take", "mutex", name] => boxed(Box::new(Box::leak(Box::new(file.mutex(name)?)).lock()?)),
        ["take", "range", name, start, end] => {
            let ranges = Box::leak(Box::new(file.range_lock(name)?));
            Box::new(ranges.write(start.parse::<u64>().unwrap()..end.parse().unwrap())?)
        }
        ["take", "key", name, key] => {
            Box::new(Box::leak(Box::new(file.keyed_lock(name)?)).lock_exclusive(key)?)
        }
        ["take", mode, name] => {
            let rwlock = Box::leak(Box::new(file.rwlock(name)?));
            match mode {
                "shared" => Box::new(rwlock.read()?),
                "upgradable" => Box::new(rwlock.upgradable()?),
                _ => Box::new(rwlock.write()?),
            }
        }
        _ => panic!("{words:?}: no order that a party knows"),
    })
}

/// A running one. Killed when dropped.
pub struct Party {
    process: Child,
    said: BufReader<ChildStdout>,
    ears: ChildStdin,
    pub label: String,
    pub language: Language,
}

impl Party {
    pub fn start(language: Language, file: &Path, label: &str) -> Self {
        let mut command = match language {
            Language::C => Command::new(compiled()),
            Language::Python => {
                let mut python = Command::new("python3");
                python.arg(Path::new(FOLDER).join("party.py"));
                python.env("TURNLOCK_LIBRARY", libraries().join("libturnlock.so"));
                python
            }
            Language::Rust => {
                let mut own = Command::new(std::env::current_exe().unwrap());
                own.env(ROLE, "party")
                    .env("TURNLOCK_TEST_ROLE_WORDS", format!("{}\u{1f}{label}", file.to_str().unwrap()));
                own
            }
        };
        let command = command.arg(file).arg(label).env("LD_LIBRARY_PATH", libraries());
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        let ears = process.stdin.take().unwrap();
        let mut party = Self { process, said, ears, label: label.into(), language };
        assert_eq!(party.hear(), "ready");
        party
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn tell(&mut self, order: &str) {
        writeln!(self.ears, "{order}").unwrap();
    }

    pub fn hear(&mut self) -> String {
        match limit::line(&mut self.said, &mut self.process) {
            Ok(line) => line,
            Err(_) => panic!("{} ({:?}) says nothing", self.label, self.language),
        }
    }

    /// Returns whether it stands in a queue and has said since when, by which the one is found that is told.
    pub fn waits(&self, path: &Path) -> bool {
        let status = inspect::snapshot(path).unwrap();
        let mut queued = status.locks.iter().flat_map(|lock| &lock.queue);
        queued.any(|waiter| waiter.participant.pid == self.pid() && waiter.for_seconds.is_some())
    }

    /// Returns whether it sleeps: then it has said since when it waits.
    pub fn sleeps(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).is_ok_and(|stat| stat.contains(") S "))
    }

    /// Takes a lock that is free.
    pub fn takes(&mut self, order: &str) {
        self.tell(order);
        assert_eq!(self.hear(), "taken", "{order}");
    }

    pub fn leaves(&mut self) {
        self.tell("leave");
        assert_eq!(self.hear(), "left");
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// party.c, compiled once.
fn compiled() -> &'static Path {
    static PROGRAM: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = PROGRAM.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("party");
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-o"]).arg(&program);
        compiler.arg(Path::new(FOLDER).join("party.c"));
        compiler.arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include"));
        compiler.arg(format!("-L{}", libraries().display())).arg("-lturnlock");
        let output = limit::output(&mut compiler).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (folder, program)
    });
    program
}
