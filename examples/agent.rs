//! agent.rs: the smallest agent of a linked lock (docs/hosts.md). Here a person says where the lock is, and not an engine that hosts share.
//!
//!     cargo run --example agent -- FILE LOCK
//!
//! It reads a word from each line, does that, and says so:
//!
//! | word | what |
//! |---|---|
//! | `home` | the lock is home: programs enter |
//! | `away` | it is away: none does |
//! | `lease` | what is home is home until a time, far from now |
//! | `ended` | that time is over |
//!
//! At the end of standard input it ends; the lock stays as it is.

use std::{error::Error, io};
use turnlock::LockFile;

/// As many fencing tokens are reserved at a time.
const BLOCK: u64 = 1 << 36;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, name] = &words[..] else { return Err("usage: agent FILE LOCK".into()) };
    let file = LockFile::open(path)?;
    let mutex = file.mutex_options().linked(true).open(name)?;
    let agent = file.link_agent("agent")?;
    let linked = agent.attach(&mutex)?;
    for line in io::stdin().lines() {
        let word = line?;
        match word.trim() {
            "home" => {
                // A real agent reserves them at the engine, so that no other host has given them out.
                let first = linked.last_token() + 1;
                linked.bring_home(first..=first + BLOCK - 1, linked.data())?;
            }
            "away" => linked.move_away()?,
            // By CLOCK_BOOTTIME: in some 584 years, and in the first nanosecond after the boot.
            "lease" => linked.set_lease_end(u64::MAX)?,
            "ended" => linked.set_lease_end(1)?,
            other => return Err(format!("{other}: not home, away, lease or ended").into()),
        }
        println!("{}", word.trim());
    }
    Ok(())
}
