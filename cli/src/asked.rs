//! What a command line asks of a lock, for `run` and `lock`.

use super::{
    create::Creation,
    exit,
    failed::Failure,
    lock::{Algorithm, DEFAULT, OnDeath, OpenOptions},
    wanted::{Parts, Wanted},
};
use std::{ffi::OsStr, time::Duration};

/// Which lock, how much of it, for how long it is waited for, and what it is to be if it is created now.
#[derive(Debug, clap::Args)]
pub struct Asked {
    /// The name of the lock in the file, 1 to 63 bytes
    #[arg(long, short = 'l', value_name = "NAME", default_value = DEFAULT)]
    pub lock: String,
    /// Do not wait: end at once if the lock is taken
    #[arg(
        long = "try",
        short = 'n',
        visible_alias = "nonblock",
        aliases = ["nonblocking", "nb"],
        conflicts_with = "timeout"
    )]
    try_once: bool,
    /// Wait at most so long, in seconds; fractions allowed, and 0 is --try
    #[arg(long, short = 'w', visible_alias = "wait", value_name = "SECONDS", value_parser = super::seconds::seconds,
        allow_negative_numbers = true)]
    timeout: Option<Duration>,
    /// The exit code when the lock was taken or the time limit passed
    #[arg(long, short = 'E', value_name = "CODE", default_value_t = 1)]
    pub conflict_exit_code: u8,
    #[command(flatten)]
    parts: Parts,
    /// A ring, whose turn goes round: a holder gets it again only after every other participant that wants it.
    /// Whichever ring it is, for a caller that does not care which algorithm; Raynal's if it is created now
    #[arg(long, conflicts_with_all = ["algorithm", "shared", "exclusive", "permits", "range", "key", "in_group"])]
    turn: bool,
    /// What the lock must be, and is to be if it is created now: a mutex (bakery), a ring, whose turn goes round, or a mutex by
    /// messages, in a file with --mailboxes. If not said, whatever it is, and bakery if it is created now
    #[arg(long, value_enum, value_name = "NAME")]
    algorithm: Option<Algorithm>,
    /// With --algorithm sum: from one slot to the next in the order of turns; coprime to the file's participant slots
    #[arg(long, value_name = "N", requires = "algorithm")]
    step: Option<u32>,
    /// In a ring: be a member of it, so that the ring waits for this one's turn even where it is stopped or slow, and the order
    /// is exact; else it is passed over then, and asks again when it goes on
    #[arg(long)]
    member: bool,
    /// In a ring: which place to take, one of the file's participant slots, from 0. With a place for each program, the order of
    /// turns does not depend on which of them starts first. If the slot is taken, that is an error, whatever the time limit
    #[arg(long, value_name = "N")]
    pub slot: Option<usize>,
    /// Of a mutex, a rwlock or a semaphore: how long waiters let others pass before they queue for good, in
    /// seconds; 0 is strict first come first served. A lock keeps what it was created with, and one that exists with another
    /// patience is refused. If not said, whatever it has, and one millisecond if it is created now
    #[arg(long, value_name = "SECONDS", value_parser = super::seconds::seconds, allow_negative_numbers = true)]
    patience: Option<Duration>,
    /// What the death of a holder means. A lock keeps what it was created with, and one that exists with the other is
    /// refused. If not said, whatever it has, and `release` if it is created now, since no command repairs another one's
    /// data: the next one is told (TURNLOCK_PREVIOUS_OWNER_DIED=1), and that is all
    #[arg(long, value_enum, value_name = "POLICY")]
    on_death: Option<OnDeath>,
    /// What the holder is called in `turnlock status`; the command's name, or the shell's, if not said
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
    /// Say what is waited for and how long it took, on a terminal or not
    #[arg(long, short = 'v')]
    pub verbose: bool,
    #[command(flatten, next_help_heading = "If the lock file is created now")]
    pub creation: Creation,
    /// What else is said.
    #[arg(skip)]
    pub messages: Messages,
}

/// What is said besides: nothing, unless a flock(1) is to say it.
#[derive(Clone, Copy, Debug)]
pub struct Messages {
    /// That the lock was not to be had, with or without a wait.
    pub taken: fn(bool),
    /// How long it took.
    pub got: fn(Duration),
    /// Which program is run.
    pub executing: fn(&OsStr),
    /// Whether it was waited for.
    pub waits: bool,
}

impl Default for Messages {
    fn default() -> Self {
        Self { taken: |_| (), got: |_| (), executing: |_| (), waits: true }
    }
}

impl Asked {
    /// Returns what of a rwlock called "default" a flock(1) wants.
    pub fn as_flock(shared: bool, limit: Option<Duration>, conflict_exit_code: u8) -> Self {
        Self {
            lock: DEFAULT.into(),
            try_once: false,
            timeout: limit,
            conflict_exit_code,
            parts: Parts::as_flock(shared),
            turn: false,
            algorithm: None,
            step: None,
            member: false,
            slot: None,
            patience: None,
            on_death: None,
            label: None,
            verbose: false,
            creation: Creation::default(),
            messages: Messages::default(),
        }
    }

    /// Whether what was said goes together. If not, what does not.
    pub fn check(&self) -> Result<(), String> {
        self.parts.wanted()?;
        let by_messages = self.is_by_messages();
        if by_messages && self.patience.is_some() {
            return Err("--patience is not for locks by messages: leave it out".into());
        }
        let is_ring = self.turn || !(by_messages || matches!(self.algorithm, None | Some(Algorithm::Bakery)));
        if is_ring && self.patience.is_some() {
            return Err("--patience is not for rings; on a ring no waiter overtakes, so leave it out".into());
        }
        if self.member && !is_ring {
            return Err("--member is for rings: say --turn too, or which ring by --algorithm".into());
        }
        if self.slot.is_some() && !is_ring {
            return Err("--slot is for rings: say --turn too, or which ring by --algorithm".into());
        }
        Ok(())
    }

    /// Returns whether the lock is to be one by messages.
    pub fn is_by_messages(&self) -> bool {
        self.algorithm.is_some_and(Algorithm::is_by_messages)
    }

    /// For how long it is waited for at most; nothing: until the lock is free.
    pub fn limit(&self) -> Option<Duration> {
        if self.try_once { Some(Duration::ZERO) } else { self.timeout }
    }

    /// Returns what is wanted of the lock.
    ///
    /// # Errors
    /// As [`Asked::check`].
    pub fn wanted(&self) -> Result<Wanted, Failure> {
        self.parts.wanted().map_err(|why| Failure { code: exit::USAGE, why })
    }

    /// Returns how the lock is to be opened.
    pub fn open_options(&self, wanted: &Wanted) -> OpenOptions {
        OpenOptions {
            algorithm: self.algorithm,
            turn: self.turn,
            member: self.member,
            step: self.step,
            patience: self.patience,
            on_death: self.on_death,
            wanted: wanted.clone(),
            must_exist: false,
        }
    }
}
