//! counter.rs: counter.c in Rust.
//!
//!     cargo run --example counter -- FOLDER TURNS [--die-at N]
//!
//! A turn reads the number in `counter`, adds a line to `journal` and writes the number plus one; `demo.lock` is what
//! keeps other programs out meanwhile. See counter.c for the whole story. `turnlock demo` has this same file inside,
//! for its own part in the demo.

use std::{error::Error, fs, io, io::Write, process::ExitCode};
use turnlock::{LockFile, Mutex, MutexGuard};

const ME: &str = "counter.rs";

#[allow(dead_code, reason = "`turnlock demo` calls `take_part` instead")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    take_part(&arguments)
}

/// What this program does with its command line.
pub fn take_part(arguments: &[String]) -> ExitCode {
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{ME}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (folder, turns, die_at) = match arguments[..] {
        [folder, turns] => (folder, turns.parse()?, 0),
        [folder, turns, "--die-at", die_at] => (folder, turns.parse()?, die_at.parse()?),
        _ => return Err("usage: counter FOLDER TURNS [--die-at N]".into()),
    };
    std::env::set_current_dir(folder)?;

    // The first process creates the file, and the lock in it. The label is what others read when we die.
    let file = LockFile::options().label(ME).open("demo.lock")?;
    let mutex = file.mutex("counter")?;
    for turn in 1..=turns {
        take_turn(&mutex, turn, die_at)?;
    }
    println!("{ME}: done, {turns} turns");
    Ok(())
}

fn take_turn(mutex: &Mutex, turn: u64, die_at: u64) -> Result<(), Box<dyn Error>> {
    // Waits for our turn.
    let mut guard = mutex.lock()?;
    match work(&mut guard, turn, die_at) {
        Ok(()) => Ok(guard.unlock()?),
        Err(error) => {
            // Half a turn may stand in the files. So the lock is not given back: the program ends with it, and the
            // next holder is told. (A panic does that by itself.)
            std::mem::forget(guard);
            Err(error)
        }
    }
}

fn work(guard: &mut MutexGuard, turn: u64, die_at: u64) -> Result<(), Box<dyn Error>> {
    if guard.acquired().previous_owner_died {
        repair(guard)?;
    }
    let count = read_counter()?;
    append_to_journal(guard.fencing_token())?;
    if turn == die_at {
        wait_to_be_killed(turn, guard.fencing_token());
    }
    write_counter(count + 1)?;
    Ok(())
}

/// The previous holder died inside, perhaps between the journal and the counter. The lock cannot know what that means
/// for our data; we do. The journal is written first, so it is right; the counter, which may even be half written, is
/// made to agree with it.
fn repair(guard: &mut MutexGuard) -> Result<(), Box<dyn Error>> {
    let count = journal_lines()?;
    write_counter(count)?;
    if let Some(dead) = guard.previous_owner() {
        println!(
            "{ME}: told that {} (process {}) died inside; set the counter to {count}",
            dead.label, dead.pid
        );
    }
    // Only now: a lock whose death policy is inform would be closed by an unlock without it.
    guard.mark_consistent()?;
    Ok(())
}

/// Waits, half-way through a turn and with the lock, until killed (or until standard input ends).
fn wait_to_be_killed(turn: u64, fencing_token: u64) -> ! {
    let pid = std::process::id();
    println!(
        "{ME}: stopped half-way through turn {turn}, with fencing token {fencing_token}; now: kill -9 {pid}"
    );
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    std::process::abort();
}

fn read_counter() -> Result<u64, Box<dyn Error>> {
    Ok(fs::read_to_string("counter")?.trim().parse()?)
}

/// In place, since the number never gets shorter.
fn write_counter(count: u64) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open("counter")?;
    file.write_all(format!("{count}\n").as_bytes())
}

fn append_to_journal(fencing_token: u64) -> io::Result<()> {
    let line = format!("{ME} {fencing_token}\n");
    fs::OpenOptions::new().append(true).open("journal")?.write_all(line.as_bytes())
}

fn journal_lines() -> io::Result<u64> {
    Ok(fs::read_to_string("journal")?.lines().count() as u64)
}
