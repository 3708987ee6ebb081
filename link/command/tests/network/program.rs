//! A program of a host: it enters again and again, reads the register and writes it, and writes down all that, line by line, so that what it
//! did is known however it ends.

use crate::{
    cables::enter_time,
    register::{Done, Register},
};
use nix::time::{ClockId, clock_gettime};
use std::{fs::File, io::Write, path::Path, thread, time::Duration};
use support::{Dice, actor::say, limit};
use turnlock::{Error, LockFile, MutexGuard};

/// What the lock is called.
pub const LOCK: &str = "accounts";
/// A program that comes to nothing for so long, in seconds, is ended.
const HANGS: u64 = 300;
/// How long it waits for the lock before it looks whether it is to end.
const WAITS: Duration = Duration::from_secs(2);

/// The time by the clock that all stations share.
pub fn now() -> u64 {
    Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap()).as_nanos() as u64
}

/// The role, until it is dismissed. Words: the lock file, the register, its history, its number, whether the lock is leased, the process that
/// keeps its station, or none: then it has this machine's clock.
pub fn program(words: &[String]) {
    if !words[5].is_empty() {
        enter_time(&words[5]);
    }
    let number: u64 = words[3].parse().unwrap();
    let is_leased = words[4] == "true";
    let mut program = Program {
        register: Register::open(Path::new(&words[1]), is_leased),
        history: File::options().create(true).append(true).open(&words[2]).unwrap(),
        dice: Dice(number),
        next: number << 32,
        longest: if is_leased { 5_000 } else { 300 },
    };
    let file = LockFile::open(&words[0]).unwrap();
    let mutex = file.mutex(LOCK).unwrap();
    say("ready");
    while !limit::is_readable(&std::io::stdin(), Duration::ZERO) {
        limit::end_this_process_after(limit::seconds(HANGS));
        match mutex.lock_for(WAITS) {
            Ok(guard) => program.is_inside(guard),
            Err(Error::TimedOut(_)) => program.note(&format!("late {}", now())),
            Err(error) => {
                program.note(&format!("error {error}"));
                return;
            }
        }
        program.pauses(3_000);
    }
}

struct Program {
    register: Register,
    history: File,
    dice: Dice,
    /// The last number that it wrote. No other program writes it.
    next: u64,
    /// How long it stays inside at most, in milliseconds.
    longest: u64,
}

impl Program {
    fn is_inside(&mut self, mut guard: MutexGuard) {
        let (acquired, begin) = (guard.acquired(), now());
        let (token, is_told) = (acquired.fencing_token, acquired.previous_owner_died);
        // It had the lock at the time that was taken before it asked.
        let mut is_whole = !is_told;
        if !guard.still_owner() {
            self.note(&format!("void {token}"));
        } else {
            self.note(&format!("in {token} {begin} {is_told}"));
            if self.reads_and_writes(&guard, token) == Done::Yes(()) {
                if is_told {
                    guard.mark_consistent().unwrap();
                    is_whole = true;
                }
                self.stays(&guard);
            }
        }
        // What was torn and not written anew is the next one's to repair.
        self.note(if is_whole { "out" } else { "abandons" });
        match if is_whole { guard.unlock() } else { guard.abandon() } {
            Ok(()) => self.note("free"),
            Err(Error::LeaseEnded) => self.note("ended"),
            Err(error) => self.note(&format!("error {error}")),
        }
    }

    fn reads_and_writes(&mut self, guard: &MutexGuard, token: u64) -> Done<()> {
        let Done::Yes(value) = self.register.read(token) else {
            self.note("refused");
            return Done::Refused;
        };
        match value {
            Some(value) => self.note(&format!("read {value}")),
            None => self.note("torn"),
        }
        self.pauses(1_000);
        if !self.has_it(guard) {
            return Done::Refused;
        }
        self.next += 1;
        self.note(&format!("write {}", self.next));
        let pause = Duration::from_micros(self.dice.roll(500));
        let done = self.register.write(token, self.next, pause);
        self.note(if done == Done::Refused { "refused" } else { "written" });
        done
    }

    /// Mostly not at all, now and then for long.
    fn stays(&mut self, guard: &MutexGuard) {
        let milliseconds = if self.dice.roll(400) == 0 { self.dice.roll(self.longest) } else { 0 };
        let until = now() + milliseconds * 1_000_000;
        while self.has_it(guard) && now() < until {
            self.pauses(5_000);
        }
    }

    /// Whether it was told that it has the lock still: then it had it at a time that it writes down.
    fn has_it(&mut self, guard: &MutexGuard) -> bool {
        let at = now();
        let has = guard.still_owner();
        if has {
            self.note(&format!("has {at}"));
        } else {
            self.note("told");
        }
        has
    }

    fn note(&mut self, line: &str) {
        self.history.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn pauses(&mut self, microseconds: u64) {
        thread::sleep(Duration::from_micros(self.dice.roll(microseconds)));
    }
}
