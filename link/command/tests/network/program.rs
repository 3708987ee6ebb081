//! A program of a host: it enters again and again, reads the register and writes it, and writes down all that, line by line, so that what it
//! did is known however it ends.

use crate::{
    cables::enter_time,
    register::{Done, Register},
};
use nix::time::{ClockId, clock_gettime};
use std::{fs::File, io::Write, path::Path, thread, time::Duration};
use support::{Dice, actor::say, limit};
use turnlock::{Acquired, AnyLock, Error, LockFile, MutexGuard, Permits, RwLockReadGuard, RwLockWriteGuard};

/// What the lock is called.
pub const LOCK: &str = "accounts";
/// A program that comes to nothing for so long, in seconds, is ended.
const HANGS: u64 = 300;
/// How long it waits for the lock before it looks whether it is to end.
const WAITS: Duration = Duration::from_secs(2);

/// Of the entries at a rwlock one of so many writes.
const WRITES_ONE_IN: u64 = 12;
/// How many permits a semaphore has, and how many an entry takes at most.
pub const PERMITS: u64 = 5;
const TAKES: u64 = 3;

/// What a program has that may write.
trait Writer {
    fn known(&self) -> Acquired;
    fn has_it_still(&self) -> bool;
    fn repairs(&mut self);
    fn leaves(self, is_whole: bool) -> Result<(), Error>;
}

macro_rules! writer {
    ($guard:ty) => {
        impl Writer for $guard {
            fn known(&self) -> Acquired {
                self.acquired()
            }
            fn has_it_still(&self) -> bool {
                self.still_owner()
            }
            fn repairs(&mut self) {
                self.mark_consistent().unwrap();
            }
            fn leaves(self, is_whole: bool) -> Result<(), Error> {
                if is_whole { self.unlock() } else { self.abandon() }
            }
        }
    };
}
writer!(MutexGuard<'_>);
writer!(RwLockWriteGuard<'_>);

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
    let lock = file.open_any(LOCK).unwrap();
    say("ready");
    while !limit::is_readable(&std::io::stdin(), Duration::ZERO) {
        limit::end_this_process_after(limit::seconds(HANGS));
        let entered = match &lock {
            AnyLock::Mutex(mutex) => mutex.lock_for(WAITS).map(|guard| program.is_inside(guard)),
            AnyLock::RwLock(rwlock) if program.dice.roll(WRITES_ONE_IN) == 0 => {
                rwlock.write_for(WAITS).map(|guard| program.is_inside(guard))
            }
            AnyLock::RwLock(rwlock) => rwlock.read_for(WAITS).map(|guard| program.reads(guard)),
            AnyLock::Semaphore(semaphore) => {
                let permits = 1 + program.dice.roll(TAKES) as u32;
                semaphore.acquire_for(permits, WAITS).map(|guard| program.takes(guard, permits))
            }
            _ => panic!("the agent made a lock of another kind"),
        };
        match entered {
            Ok(()) => {}
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
    fn is_inside(&mut self, mut guard: impl Writer) {
        let (acquired, begin) = (guard.known(), now());
        let (token, is_told) = (acquired.fencing_token, acquired.previous_owner_died);
        // It had the lock at the time that was taken before it asked.
        let mut is_whole = !is_told;
        if !guard.has_it_still() {
            self.note(&format!("void {token}"));
        } else {
            self.note(&format!("in {token} {begin} {is_told}"));
            if self.reads_and_writes(&guard, token) == Done::Yes(()) {
                if is_told {
                    guard.repairs();
                    is_whole = true;
                }
                self.stays(|| guard.has_it_still());
            }
        }
        // What was torn and not written anew is the next one's to repair.
        self.note(if is_whole { "out" } else { "abandons" });
        self.note_end(guard.leaves(is_whole));
    }

    /// Beside others that do, also where a death is not repaired.
    fn reads(&mut self, guard: RwLockReadGuard) {
        let (acquired, begin) = (guard.acquired(), now());
        let token = acquired.fencing_token;
        if !guard.still_owner() {
            self.note(&format!("void {token}"));
        } else {
            self.note(&format!("reads {token} {begin} {}", acquired.previous_owner_died));
            match self.register.read_beside(token) {
                Done::Yes(Some(value)) => self.note(&format!("read {value}")),
                Done::Yes(None) => self.note("torn"),
                Done::Refused => self.note("refused"),
            }
            // Long enough for others to come in meanwhile.
            self.pauses(3_000);
            self.stays(|| guard.still_owner());
        }
        self.note("out");
        self.note_end(guard.unlock());
    }

    /// Beside others, as long as there are permits.
    fn takes(&mut self, guard: Permits, permits: u32) {
        let (token, begin) = (guard.fencing_token(), now());
        if !guard.still_owner() {
            self.note(&format!("void {token}"));
        } else {
            self.note(&format!("takes {token} {begin} {permits}"));
            self.pauses(3_000);
            self.stays(|| guard.still_owner());
        }
        self.note("out");
        self.note_end(guard.unlock());
    }

    fn note_end(&mut self, left: Result<(), Error>) {
        match left {
            Ok(()) => self.note("free"),
            Err(Error::LeaseEnded) => self.note("ended"),
            Err(error) => self.note(&format!("error {error}")),
        }
    }

    fn reads_and_writes(&mut self, guard: &impl Writer, token: u64) -> Done<()> {
        let Done::Yes(value) = self.register.read(token) else {
            self.note("refused");
            return Done::Refused;
        };
        match value {
            Some(value) => self.note(&format!("read {value}")),
            None => self.note("torn"),
        }
        self.pauses(1_000);
        if !self.has_it(|| guard.has_it_still()) {
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
    fn stays(&mut self, still_owner: impl Fn() -> bool) {
        let milliseconds = if self.dice.roll(400) == 0 { self.dice.roll(self.longest) } else { 0 };
        let until = now() + milliseconds * 1_000_000;
        while self.has_it(&still_owner) && now() < until {
            self.pauses(5_000);
        }
    }

    /// Whether it was told that it has the lock still: then it had it at a time that it writes down.
    fn has_it(&mut self, still_owner: impl Fn() -> bool) -> bool {
        let at = now();
        let has = still_owner();
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
