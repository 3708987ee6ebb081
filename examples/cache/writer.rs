//! writer.rs: renews a cache in shared memory, while readers in C and Python (reader.c, reader.py) read it.
//!
//!     cargo run --example cache -- FOLDER SECONDS
//!
//! The cache is a file, which the readers map: what is written to it they see in their memory. All its numbers become the writer's fencing token, one after the other. A reader that is killed inside holds
//! up the writer for a moment, until it is seen to be dead; a writer that is killed leaves an owner-dead notice, and the
//! next one fills the cache anew.

use std::{
    error::Error,
    fs::OpenOptions,
    os::unix::fs::FileExt,
    process::ExitCode,
    time::{Duration, Instant},
};
use turnlock::LockFile;

const ME: &str = "writer.rs";
const NUMBERS: usize = 4096;
/// Written one after the other, so that who reads beside it sees some of the old and some of the new ones.
const PARTS: usize = 16;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{ME}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, seconds] = &arguments[..] else { return Err("usage: cache FOLDER SECONDS".into()) };
    std::env::set_current_dir(folder)?;
    let cache = OpenOptions::new().write(true).create(true).truncate(false).open("cache")?;
    cache.set_len((NUMBERS * size_of::<u64>()) as u64)?;

    let file = LockFile::options().label(ME).open("cache.lock")?;
    let lock = file.rwlock("cache")?;
    let (mut written, mut longest) = (0, Duration::ZERO);
    let end = Instant::now() + Duration::from_secs_f64(seconds.parse()?);
    while Instant::now() < end {
        let began = Instant::now();
        let mut writer = lock.write()?;
        longest = longest.max(began.elapsed());
        if let Some(dead) = writer.previous_owner() {
            println!(
                "{ME}: told that {} (process {}) died inside; the cache is filled anew",
                dead.label, dead.pid
            );
        }
        let part = writer.fencing_token().to_ne_bytes().repeat(NUMBERS / PARTS);
        for at in 0..PARTS {
            cache.write_all_at(&part, (at * part.len()) as u64)?;
        }
        if writer.acquired().previous_owner_died {
            writer.mark_consistent()?;
        }
        writer.unlock()?;
        written += 1;
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("{ME}: done, {written} generations, the longest wait {longest:.1?}");
    Ok(())
}
