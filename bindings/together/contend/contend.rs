//! `contend KIND FOLDER TURNS [--die-at N]`: contend.c in Rust.

use std::error::Error;
use std::io::{self, Write};
use std::{env, fs, process};
use turnlock::{LockFile, RwLock, Semaphore};

const ME: &str = "contend.rs";

type Done<T = ()> = Result<T, Box<dyn Error>>;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let Err(error) = contend(&arguments) {
        eprintln!("{ME}: {error}");
        process::exit(1);
    }
}

fn contend(arguments: &[String]) -> Done {
    let [kind, folder, turns, more @ ..] = arguments else {
        return Err("usage: contend KIND FOLDER TURNS".into());
    };
    let (turns, die_at): (u64, u64) = (turns.parse()?, more.get(1).map_or(Ok(0), |text| text.parse())?);
    env::set_current_dir(folder)?;
    let file = LockFile::options().label(ME).open("demo.lock")?;
    if kind == "rwlock" {
        let lock = file.rwlock("rwlock")?;
        (1..=turns).try_for_each(|turn| write_and_read(&lock, turn == die_at))
    } else {
        let semaphore = file.semaphore("semaphore")?;
        (1..=turns).try_for_each(|turn| with_permit(&semaphore, turn == die_at))
    }
}

fn write_and_read(lock: &RwLock, dies: bool) -> Done {
    let mut writer = lock.write()?;
    if writer.acquired().previous_owner_died {
        write_counter(journal_lines()?)?;
        let dead = writer.previous_owner().ok_or("no holder died")?;
        println!("{ME}: told that {} (process {}) died inside", dead.label, dead.pid);
        writer.mark_consistent()?;
    }
    let count = read_counter()?;
    append(writer.fencing_token())?;
    if dies {
        wait_to_be_killed();
    }
    write_counter(count + 1)?;
    writer.unlock()?;
    let reader = lock.read()?;
    if !reader.acquired().previous_owner_died && read_counter()? != journal_lines()? {
        return Err("a reader saw half a turn".into());
    }
    Ok(reader.unlock()?)
}

fn with_permit(semaphore: &Semaphore, dies: bool) -> Done {
    let permit = semaphore.acquire(1)?;
    if dies {
        wait_to_be_killed();
    }
    let count = read_counter()?;
    append(0)?;
    write_counter(count + 1)?;
    drop(permit);
    Ok(())
}

fn read_counter() -> Done<u64> {
    Ok(fs::read_to_string("counter")?.trim().parse()?)
}

fn journal_lines() -> Done<u64> {
    Ok(fs::read_to_string("journal")?.lines().count() as u64)
}

fn append(token: u64) -> io::Result<()> {
    writeln!(fs::OpenOptions::new().append(true).open("journal")?, "{ME} {token}")
}

fn write_counter(count: u64) -> io::Result<()> {
    writeln!(fs::OpenOptions::new().write(true).open("counter")?, "{count}")
}

fn wait_to_be_killed() {
    println!("{ME}: stopped inside; now: kill -9 {}", process::id());
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    process::abort();
}
