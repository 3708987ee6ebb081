//! relay.rs: relay.c in Rust.
//!
//!     cargo run --example relay -- FOLDER LEGS [--pace MICROSECONDS]
//!
//! Stands in the ring `relay` of FOLDER/relay.lock, and in each of its turns adds a line to FOLDER/text. See relay.c for the
//! whole story.

use std::{
    error::Error,
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    process::ExitCode,
    thread,
    time::Duration,
};
use turnlock::{LockFile, TurnGuard, TurnRing};

const ME: &str = "relay.rs";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{ME}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (folder, legs, pace) = match arguments[..] {
        [folder, legs] => (folder, legs.parse()?, 0),
        [folder, legs, "--pace", pace] => (folder, legs.parse()?, pace.parse()?),
        _ => return Err("usage: relay FOLDER LEGS [--pace MICROSECONDS]".into()),
    };
    std::env::set_current_dir(folder)?;

    // The first process creates the file, and the ring in it. The label is what others read when we die.
    let file = LockFile::options().label(ME).open("relay.lock")?;
    // As a member: from our first turn on the ring waits for us, until we leave it or die.
    let ring = file.ring_options().member(true).open("relay")?;
    for leg in 1..=legs {
        take_turn(&ring, leg, Duration::from_micros(pace))?;
    }
    // Else the others would wait for us until the program has ended.
    ring.leave()?;
    println!("{ME}: done, {legs} legs");
    Ok(())
}

fn take_turn(ring: &TurnRing, leg: u64, pace: Duration) -> Result<(), Box<dyn Error>> {
    // Waits for our turn.
    let mut turn = ring.lock()?;
    match work(&mut turn, leg, pace) {
        Ok(()) => Ok(turn.unlock()?),
        Err(error) => {
            // Half a line may stand in the text. So the turn is not passed on: the program ends with it, and the next one
            // is told. (A panic does that by itself.)
            std::mem::forget(turn);
            Err(error)
        }
    }
}

fn work(turn: &mut TurnGuard, leg: u64, pace: Duration) -> Result<(), Box<dyn Error>> {
    if turn.acquired().previous_owner_died {
        repair(turn)?;
    }
    let mut text = OpenOptions::new().append(true).create(true).open("text")?;
    text.write_all(format!("{} {ME}", turn.fencing_token()).as_bytes())?;
    if !pace.is_zero() {
        thread::sleep(pace);
    }
    text.write_all(format!(" leg {leg}\n").as_bytes())?;
    Ok(())
}

/// The one before us died in its turn, perhaps in the middle of a line. The ring cannot know what that means for our text; we
/// do: a line without an end is cut off.
fn repair(turn: &mut TurnGuard) -> Result<(), Box<dyn Error>> {
    let cut = cut_unfinished_line()?;
    if let Some(dead) = turn.previous_owner() {
        println!("{ME}: told that {} (process {}) died in its turn; cut {cut} bytes", dead.label, dead.pid);
    }
    // Only now: passing the turn on without it would close the ring for everyone.
    turn.mark_consistent()?;
    Ok(())
}

/// How many bytes that was.
fn cut_unfinished_line() -> std::io::Result<u64> {
    let mut text = match File::options().read(true).write(true).open("text") {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        text => text?,
    };
    // No line is longer than this.
    let start = text.metadata()?.len().saturating_sub(200);
    let mut end = Vec::new();
    text.seek(SeekFrom::Start(start))?;
    text.read_to_end(&mut end)?;
    let length = start + end.len() as u64;
    let whole = start + end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
    text.set_len(whole)?;
    Ok(length - whole)
}
