//! A program at a host: this command, started again by the demo, which tells it what to do line by line.
//!
//! | it is told | it does | it says |
//! |---|---|---|
//! | `turn` | takes one turn | `turn TOKEN TOLD` |
//! | `turns` | takes turns until it is told something else | `turns COUNT` |
//! | `half` | stops half-way through a turn, to be killed there | `half TOKEN` |
//!
//! `TOLD` is `told` if the holder before died inside, else `-`. What fails is `failed WHY`.

use super::{
    ears::Ears,
    host::{Host, LOCK},
    process::{Guard, Process},
};
use crate::demo::no_verdict::NoVerdict;
use std::{
    error::Error,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{ChildStdin, Command, ExitCode, Stdio},
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
    time::Duration,
};
use turnlock::{LockFile, Mutex, MutexGuard};

/// No turn is waited for longer, so that no program is left that waits.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A program does something else between its turns.
const ELSEWHERE: Duration = Duration::from_millis(1);

/// A program that runs.
pub struct Program {
    number: usize,
    process: Process,
    stdin: ChildStdin,
}

/// One turn of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// Its fencing token.
    pub fencing_token: u64,
    /// The program was told that the holder before it died inside.
    pub told: bool,
}

impl Program {
    /// Starts one at this host, which `ears` hear by this number.
    pub fn start(number: usize, host: &Host, ears: &Ears, guard: &mut Guard) -> Result<Self, String> {
        let this =
            std::env::current_exe().map_err(|error| format!("cannot tell where this command is: {error}"))?;
        let mut command = Command::new(this);
        command.args(["demo", "--at-host"]).arg(&host.path).arg(host.name);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let process = Process::start(&mut command, guard)?;
        let (stdin, stdout) = (process.child().take_stdin(), process.child().take_stdout());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err("a program has no pipes".into());
        };
        ears.hear(number, stdout);
        Ok(Self { number, process, stdin })
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Tells it what to do.
    pub fn tell(&mut self, what: &str) {
        // One that has ended is noticed where its answer does not come.
        let _ = writeln!(self.stdin, "{what}").and_then(|()| self.stdin.flush());
    }

    /// `kill -9`.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Waits for `word` and a number, and what comes after it; `None`: not within so long.
    pub fn says(
        &self,
        ears: &mut Ears,
        word: &str,
        limit: Duration,
    ) -> Result<Option<(u64, String)>, NoVerdict> {
        let Some(line) = ears.line(self.number, limit)? else { return Ok(None) };
        let mut words = line.splitn(3, ' ');
        let number = words.next().filter(|said| *said == word).and(words.next());
        match number.and_then(|number| number.parse().ok()) {
            Some(number) => Ok(Some((number, words.next().unwrap_or_default().to_owned()))),
            None => Err(format!("a program said {line:?} where {word:?} was expected").into()),
        }
    }
}

/// What the program does. `words`: the lock file, and the name of the host.
pub fn take_part(words: &[String]) -> ExitCode {
    let [file, host] = words else { return ExitCode::FAILURE };
    match obey(Path::new(file), host) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("failed {error}"));
            ExitCode::FAILURE
        }
    }
}

fn say(line: &str) {
    let mut output = io::stdout().lock();
    // The demo is gone: its end of standard input says so, too.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

fn obey(path: &Path, host: &str) -> Result<(), Box<dyn Error>> {
    let part = Part {
        mutex: LockFile::options().label(&format!("program at {host}")).open(path)?.mutex(LOCK)?,
        folder: path.parent().unwrap_or(Path::new("/")),
        host,
    };
    let (tell, told) = channel();
    thread::spawn(move || io::stdin().lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
    // The demo is gone when nothing more can come.
    while let Ok(what) = told.recv() {
        match what.as_str() {
            "turn" => {
                let Entered { fencing_token, told } = part.turn()?;
                say(&format!("turn {fencing_token} {}", if told { "told" } else { "-" }));
            }
            "turns" => say(&format!("turns {}", part.turns_until_told(&told)?)),
            "half" => part.half(&told)?,
            _ => {}
        }
    }
    Ok(())
}

/// Its part: a lock, and the counter and the journal that lie beside it.
struct Part<'a> {
    mutex: Mutex,
    folder: &'a Path,
    host: &'a str,
}

impl Part<'_> {
    /// One turn: the journal has a line more, and the counter is one more.
    fn turn(&self) -> Result<Entered, Box<dyn Error>> {
        let mut guard = self.mutex.lock_for(LONGEST_WAIT)?;
        match self.work(&mut guard) {
            Ok(entered) => {
                guard.unlock()?;
                Ok(entered)
            }
            Err(error) => {
                // Half a turn may stand in the files: the program ends with the lock, and the next holder is told.
                std::mem::forget(guard);
                Err(error)
            }
        }
    }

    fn work(&self, guard: &mut MutexGuard) -> Result<Entered, Box<dyn Error>> {
        let entered =
            Entered { fencing_token: guard.fencing_token(), told: guard.acquired().previous_owner_died };
        if entered.told {
            // Whoever died may have written one of the two, and the journal is written first.
            let turns = fs::read_to_string(self.journal())?.lines().count();
            self.set_counter(turns as u64)?;
            guard.mark_consistent()?;
        }
        let count: u64 = fs::read_to_string(self.counter())?.trim().parse()?;
        self.note(entered.fencing_token)?;
        self.set_counter(count + 1)?;
        Ok(entered)
    }

    /// At least one.
    fn turns_until_told(&self, told: &Receiver<String>) -> Result<u64, Box<dyn Error>> {
        let mut count = 0;
        loop {
            self.turn()?;
            count += 1;
            thread::sleep(ELSEWHERE);
            if told.try_recv() != Err(TryRecvError::Empty) {
                return Ok(count);
            }
        }
    }

    /// Half a turn: the journal has its line, and the counter is as it was.
    fn half(&self, told: &Receiver<String>) -> Result<(), Box<dyn Error>> {
        let guard = self.mutex.lock_for(LONGEST_WAIT)?;
        self.note(guard.fencing_token())?;
        say(&format!("half {}", guard.fencing_token()));
        // Until it is killed, or the demo is gone.
        while told.recv().is_ok() {}
        std::mem::forget(guard);
        Ok(())
    }

    /// In place, so that it is a number at every moment.
    fn set_counter(&self, count: u64) -> io::Result<()> {
        let mut counter = fs::OpenOptions::new().write(true).open(self.counter())?;
        counter.write_all(format!("{count}\n").as_bytes())
    }

    fn note(&self, fencing_token: u64) -> io::Result<()> {
        let mut journal = fs::OpenOptions::new().append(true).open(self.journal())?;
        journal.write_all(format!("{} {fencing_token}\n", self.host).as_bytes())
    }

    fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    fn counter(&self) -> PathBuf {
        self.folder.join("counter")
    }
}
