//! What an entry costs by messages, in time and in messages, beside the bakery and a turn ring in the same kind of file.
//!
//! `cargo bench --bench mailbox` prints the table. Each row is one lock: first one process enters over and over, alone and then
//! beside others that are members and want nothing; then all processes enter as fast as they can. Absolute numbers belong to the
//! machine, and mean little on one that does other work.

#![allow(missing_docs)]

use harness::align::align;
use std::{
    error::Error,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};
use turnlock::{LockFile, Mutex, MutexAlgorithm, TurnRing, inspect};

const SPAN: Duration = Duration::from_millis(300);
const LOCK: &str = "bench";

/// The rows: how a lock is called here, and what it runs.
const ROWS: [(&str, What); 7] = [
    ("bakery", What::Mutex(MutexAlgorithm::Bakery, None)),
    ("bakery, patience 0", What::Mutex(MutexAlgorithm::Bakery, Some(Duration::ZERO))),
    ("Raynal's ring, on demand", What::Ring),
    ("Lamport's queue, by messages", What::Mutex(MutexAlgorithm::LamportQueue, None)),
    ("token on a mesh, by messages", What::Mutex(MutexAlgorithm::RicartAgrawala, None)),
    ("tokens on a ring, by messages", What::Mutex(MutexAlgorithm::TokenRing, None)),
    ("bakery, by messages", What::Mutex(MutexAlgorithm::MessageBakery, None)),
];

#[derive(Clone, Copy)]
enum What {
    Mutex(MutexAlgorithm, Option<Duration>),
    Ring,
}

enum Lock {
    Mutex(Mutex),
    Ring(TurnRing),
}

impl What {
    fn open(self, path: &Path) -> turnlock::Result<Lock> {
        let file = LockFile::options().participants(16).mailboxes(16).open(path)?;
        match self {
            What::Ring => file.turn_ring(LOCK).map(Lock::Ring),
            What::Mutex(algorithm, patience) => {
                let mut options = file.mutex_options();
                if let Some(patience) = patience {
                    options.patience(patience);
                }
                options.algorithm(algorithm).open(LOCK).map(Lock::Mutex)
            }
        }
    }
}

impl Lock {
    fn enter_and_leave(&self) -> turnlock::Result<()> {
        match self {
            Lock::Mutex(mutex) => mutex.lock()?.unlock(),
            Lock::Ring(ring) => ring.lock()?.unlock(),
        }
    }

    /// How many entries in a span.
    fn entries(&self) -> turnlock::Result<u64> {
        let (began, mut entries) = (Instant::now(), 0);
        while began.elapsed() < SPAN {
            self.enter_and_leave()?;
            entries += 1;
        }
        Ok(entries)
    }
}

/// Another process: enters once, and then for a span each time that it is told to. Says how often it did.
fn other(path: &Path, row: usize) -> Result<(), Box<dyn Error>> {
    let lock = ROWS[row].1.open(path)?;
    lock.enter_and_leave()?;
    println!("0");
    for line in std::io::stdin().lines() {
        line?;
        println!("{}", lock.entries()?);
    }
    Ok(())
}

struct Other(Child, ChildStdin, BufReader<ChildStdout>);

impl Other {
    fn start(path: &Path, row: usize) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["other", path.to_str().ok_or("a path that is not UTF-8")?, &row.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take().ok_or("no pipe")?, child.stdout.take().ok_or("no pipe")?);
        let mut other = Self(child, stdin, BufReader::new(stdout));
        other.hear()?;
        Ok(other)
    }

    fn hear(&mut self) -> Result<u64, Box<dyn Error>> {
        let mut line = String::new();
        self.2.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It is a bench's child, and only that one.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn messages(path: &Path) -> Result<Option<u64>, Box<dyn Error>> {
    let status = inspect::snapshot(path)?;
    Ok(status.locks.iter().find_map(|lock| lock.by_messages.as_ref()).map(|by_messages| by_messages.messages))
}

/// Time and messages of an entry while `others` have entered, and enter too if they `compete`.
fn cell(row: usize, others: usize, compete: bool) -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let path = folder.path().join("bench.lock");
    let lock = ROWS[row].1.open(&path)?;
    lock.enter_and_leave()?;
    let mut others = (0..others).map(|_| Other::start(&path, row)).collect::<Result<Vec<_>, _>>()?;
    lock.enter_and_leave()?;
    let before = messages(&path)?;
    let began = Instant::now();
    if compete {
        others.iter_mut().try_for_each(|other| writeln!(other.1))?;
    }
    let mut entries = lock.entries()?;
    if compete {
        for other in &mut others {
            entries += other.hear()?;
        }
    }
    let nanoseconds = began.elapsed().as_nanos() as f64 / entries as f64;
    let sent = messages(&path)?.zip(before).map(|(after, before)| (after - before) as f64 / entries as f64);
    let time = match nanoseconds {
        some if some < 10_000.0 => format!("{some:.0} ns"),
        some => format!("{:.0} us", some / 1e3),
    };
    Ok(sent.map_or(time.clone(), |sent| format!("{time}, {sent:.1}")))
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    if let [_, role, path, row] = &words[..]
        && role == "other"
    {
        return other(Path::new(path), row.parse()?);
    }
    let cells = [(0, false), (1, false), (7, false), (1, true), (3, true)];
    let heading = ["an entry", "alone", "one idle beside", "seven idle beside", "two at it", "four at it"];
    let mut lines = vec![heading.map(str::to_owned).to_vec()];
    for (row, (name, _)) in ROWS.iter().enumerate() {
        let mut line = vec![(*name).to_owned()];
        for (others, compete) in cells {
            line.push(cell(row, others, compete)?);
        }
        lines.push(line);
    }
    let mut text = String::new();
    align(&mut text, &lines)?;
    println!("Time of an entry, and messages of an entry where there are any.\n\n{text}");
    Ok(())
}
