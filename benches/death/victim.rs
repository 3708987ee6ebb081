//! The killed process among many: this program again, as a process of its own, at one lock of any kind.

use crate::robust_futex::RobustFutex;
use std::{
    any::Any,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child as Process, Command, Stdio},
    str::FromStr,
    time::Duration,
};
use turnlock::{DEFAULT_PATIENCE, DeathPolicy, LockFile, MutexAlgorithm, Result};

const ROLE: &str = "TURNLOCK_BENCH_DEATH_VICTIM";

/// Names that [`Ask`] is written and read by.
macro_rules! asks {
    ($($ask:ident $name:literal),* $(,)?) => {
        /// What is asked of a lock, and of which kind of lock.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Ask {
            $(#[doc = $name] $ask),*
        }

        impl Ask {
            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$ask => $name),* }
            }
        }

        impl FromStr for Ask {
            type Err = String;

            fn from_str(name: &str) -> std::result::Result<Self, String> {
                match name {
                    $($name => Ok(Self::$ask),)*
                    _ => Err(format!("{name}: nothing that is asked of a lock")),
                }
            }
        }
    };
}

asks! {
    Mutex "mutex",
    Strict "strict mutex",
    Read "rwlock, read",
    Write "rwlock, write",
    Permit "semaphore, one permit",
    AllPermits "semaphore, all permits",
    Range "range lock",
    Key "keyed lock",
    Turn "ring on demand",
    LamportQueue "lamport-queue",
    RicartAgrawala "ricart-agrawala",
    TokenRing "token-ring",
    MessageBakery "message-bakery",
    Robust "robust mutex",
}

/// So many permits has the semaphore.
pub const PERMITS: u32 = 400;

/// What keeps a lock, until it is dropped.
pub type Held = Box<dyn Any>;

impl Ask {
    /// Returns whether the participants send messages: then there are 16 at most.
    pub fn is_by_messages(self) -> bool {
        matches!(self, Self::LamportQueue | Self::RicartAgrawala | Self::TokenRing | Self::MessageBakery)
    }

    /// Opens the lock "a" of the file, so that [`Ask::enter`] has only to enter. It stays open for ever.
    pub fn open(self, file: &LockFile) -> Result<Box<dyn Fn() -> Result<Held>>> {
        let mutex = |patience, algorithm| {
            let mut options = file.mutex_options();
            options.patience(patience).algorithm(algorithm).death_policy(DeathPolicy::Release);
            let mutex = Box::leak(Box::new(options.open("a")?));
            Ok(Box::new(|| Ok(Box::new(mutex.lock()?) as Held)) as Box<dyn Fn() -> Result<Held>>)
        };
        let release = DeathPolicy::Release;
        match self {
            Self::Mutex => mutex(DEFAULT_PATIENCE, MutexAlgorithm::Bakery),
            Self::Strict => mutex(Duration::ZERO, MutexAlgorithm::Bakery),
            Self::LamportQueue => mutex(Duration::ZERO, MutexAlgorithm::LamportQueue),
            Self::RicartAgrawala => mutex(Duration::ZERO, MutexAlgorithm::RicartAgrawala),
            Self::TokenRing => mutex(Duration::ZERO, MutexAlgorithm::TokenRing),
            Self::MessageBakery => mutex(Duration::ZERO, MutexAlgorithm::MessageBakery),
            Self::Read | Self::Write => {
                let lock = Box::leak(Box::new(file.rwlock_options().death_policy(release).open("a")?));
                Ok(if self == Self::Read {
                    Box::new(|| Ok(Box::new(lock.read()?) as Held))
                } else {
                    Box::new(|| Ok(Box::new(lock.write()?) as Held))
                })
            }
            Self::Permit | Self::AllPermits => {
                let lock: &_ = Box::leak(Box::new(file.semaphore_options().permits(PERMITS).open("a")?));
                let permits = if self == Self::Permit { 1 } else { PERMITS };
                Ok(Box::new(move || Ok(Box::new(lock.acquire(permits)?) as Held)))
            }
            Self::Range => {
                let lock = Box::leak(Box::new(file.range_lock_options().death_policy(release).open("a")?));
                Ok(Box::new(|| Ok(Box::new(lock.write(10..20)?) as Held)))
            }
            Self::Key => {
                let lock = Box::leak(Box::new(file.keyed_lock_options().death_policy(release).open("a")?));
                Ok(Box::new(|| Ok(Box::new(lock.write("key")?) as Held)))
            }
            Self::Turn => {
                let ring = Box::leak(Box::new(file.ring_options().death_policy(release).open("a")?));
                Ok(Box::new(|| Ok(Box::new(ring.lock()?) as Held)))
            }
            Self::Robust => unreachable!("it is in no lock file"),
        }
    }
}

/// What a victim does at its lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Enters, and stays until it is killed.
    Stays,
    /// Enters and leaves, and says in the file of [`crate::many`] when, over and over.
    Works,
}

/// Starts a victim. It stands where it is to stand a moment after it `has_begun`.
pub fn start(ask: Ask, does: Does, file: &Path) -> std::result::Result<Process, String> {
    let does = if does == Does::Stays { "stays" } else { "works" };
    let words = [ask.name(), does, file.to_str().expect("a path of our own")];
    Command::new(std::env::current_exe().map_err(|error| error.to_string())?)
        .env(ROLE, words.join("\n"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("starting a victim: {error}"))
}

/// Waits until the victim has opened its lock, or, if it is to hold it, has it.
pub fn wait_until(process: &mut Process, word: &str) -> std::result::Result<(), String> {
    let mut lines = BufReader::new(process.stdout.as_mut().ok_or("it has no pipe")?).lines();
    match lines.next() {
        Some(Ok(line)) if line == word => Ok(()),
        line => Err(format!("a victim said {line:?}, not {word}")),
    }
}

/// Plays a victim, until it is killed or its parent is gone, if this process was started for that.
pub fn play_if_asked() {
    let Ok(words) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = words.split('\n').collect();
    let &[ask, does, path] = &words[..] else { panic!("other words: {words:?}") };
    let ask: Ask = ask.parse().expect("a name");
    let say = |word: &str| {
        let mut out = std::io::stdout();
        writeln!(out, "{word}").and_then(|()| out.flush()).expect("the parent listens");
    };
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_line(&mut String::new());
        std::process::exit(0);
    });
    if ask == Ask::Robust {
        let futex = RobustFutex::open(Path::new(path)).expect("the futex's file");
        say("begins");
        futex.lock();
        loop {
            std::thread::park();
        }
    }
    let file = LockFile::open(path).expect("the lock file");
    let enter = ask.open(&file).expect("the lock");
    if does == "works" {
        let clock = crate::many::Clock::open(&Path::new(path).with_extension("clock")).expect("the clock");
        loop {
            let held = enter().expect("a turn");
            clock.tick();
            drop(held);
        }
    }
    say("begins");
    std::mem::forget(enter().expect("a turn"));
    loop {
        std::thread::park();
    }
}
