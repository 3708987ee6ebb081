//! What a trial is told to do, and what it tells.

use std::{
    sync::atomic::{
        AtomicU8, AtomicU32, AtomicU64,
        Ordering::{Relaxed, SeqCst},
    },
    time::Duration,
};

/// A point of the victim's way: after so many system calls, and so many more instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub calls: u32,
    /// First, the way to the neighbourhood, if there is a shorter one than step by step.
    pub short_cut: Option<ShortCut>,
    pub steps: u32,
    /// Then into the next system call, which sleeps, and killed in its sleep.
    pub asleep: bool,
    /// It lies beyond a sleep.
    pub after_sleep: bool,
}

/// Run on to the instruction at `address`, for the `visits`th time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortCut {
    pub address: u64,
    pub visits: u32,
}

impl Point {
    /// Right after so many system calls, one of which slept or none.
    pub fn after_calls(calls: u32, after_sleep: bool) -> Self {
        Self { calls, short_cut: None, steps: 0, asleep: false, after_sleep }
    }
}

/// What becomes of the victim at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Fate {
    /// It dies.
    Killed = 0,
    /// It is stopped for a while, and goes on.
    Stopped = 1,
}

/// Where a victim stood that was stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Stood {
    /// Neither in the doorway nor in the queue, and not inside, or others may be inside beside it; or it was killed, and
    /// the trial did not look.
    #[default]
    Outside = 0,
    /// In the doorway or in the queue, or on a ring: a survivor passed over it.
    PassedOver = 1,
    /// On its way in, from its entry step on or as the bias owner, or on a ring on its way out: it is waited for.
    Entering = 2,
    /// Inside: it holds the lock.
    Inside = 3,
    /// Acting for a dead one, whose byte lock it has, and waited for.
    Reaping = 4,
    /// With a ring's reconfiguration lock: it holds up participants that join.
    Reconfiguring = 5,
}

impl Stood {
    pub const ALL: [Self; 6] =
        [Self::Outside, Self::PassedOver, Self::Entering, Self::Inside, Self::Reaping, Self::Reconfiguring];
}

/// A [`Point`] and a [`Fate`], in memory that processes share.
#[repr(C)]
pub struct Order {
    address: AtomicU64,
    visits: AtomicU32,
    calls: AtomicU32,
    steps: AtomicU32,
    asleep: AtomicU32,
    after_sleep: AtomicU32,
    instructions_to_note: AtomicU32,
    fate: AtomicU32,
}

impl Order {
    /// Have the victim meet its fate at `point`; or go on from there by so many instructions, note them, and kill it.
    pub fn write(&self, point: Point, instructions_to_note: u32, fate: Fate) {
        let short_cut = point.short_cut.unwrap_or(ShortCut { address: 0, visits: 0 });
        self.address.store(short_cut.address, SeqCst);
        self.visits.store(short_cut.visits, SeqCst);
        self.calls.store(point.calls, SeqCst);
        self.steps.store(point.steps, SeqCst);
        self.asleep.store(point.asleep.into(), SeqCst);
        self.after_sleep.store(point.after_sleep.into(), SeqCst);
        self.instructions_to_note.store(instructions_to_note, SeqCst);
        let fate = if instructions_to_note > 0 { Fate::Killed } else { fate };
        self.fate.store(fate as u32, SeqCst);
    }

    pub fn read(&self) -> (Point, u32, Fate) {
        let short_cut = ShortCut { address: self.address.load(SeqCst), visits: self.visits.load(SeqCst) };
        let point = Point {
            calls: self.calls.load(SeqCst),
            short_cut: Some(short_cut).filter(|short_cut| short_cut.visits > 0),
            steps: self.steps.load(SeqCst),
            asleep: self.asleep.load(SeqCst) != 0,
            after_sleep: self.after_sleep.load(SeqCst) != 0,
        };
        let stopped = self.fate.load(SeqCst) == Fate::Stopped as u32;
        let fate = if stopped { Fate::Stopped } else { Fate::Killed };
        (point, self.instructions_to_note.load(SeqCst), fate)
    }
}

const MOST_NOTED: usize = 1 << 12;
const LONGEST_MESSAGE: usize = 4096;

/// A point that the victim came by.
#[repr(C)]
struct Noted {
    address: AtomicU64,
    /// 1: the instruction before it changed what others can see.
    follows_a_change: AtomicU32,
}

/// What came of a trial.
#[repr(C)]
pub struct Result {
    /// What the trial's process ended with, as `waitpid` says.
    pub status: AtomicU32,
    /// Where the victim was when it was killed or stopped.
    pub address: AtomicU64,
    /// 1: it came to its end (or could go no further) before that.
    pub at_end: AtomicU32,
    /// 1: the instruction that was next is a system call.
    pub at_call: AtomicU32,
    /// 1: one that sleeps.
    pub at_sleep: AtomicU32,
    /// 1: it was in its critical section.
    pub inside: AtomicU32,
    /// 1: a survivor got an owner-dead notice.
    pub told: AtomicU32,
    /// Where it stood while it was stopped: a [`Stood`].
    stood: AtomicU32,
    /// How long an entry of the survivors took meanwhile, in microseconds.
    took: AtomicU32,
    message_bytes: AtomicU32,
    message: [AtomicU8; LONGEST_MESSAGE],
    count_noted: AtomicU32,
    noted: [Noted; MOST_NOTED],
}

impl Result {
    /// As before a trial.
    pub fn clear(&self) {
        self.address.store(0, SeqCst);
        for word in [&self.status, &self.at_end, &self.at_call, &self.at_sleep, &self.inside, &self.told] {
            word.store(0, SeqCst);
        }
        self.stands(Stood::Outside);
        self.took.store(0, SeqCst);
        self.message_bytes.store(0, SeqCst);
        self.count_noted.store(0, SeqCst);
    }

    /// The victim is stopped, and stands here.
    pub fn stands(&self, stood: Stood) {
        self.stood.store(stood as u32, SeqCst);
    }

    /// While it stood, the survivors' entries took so long each.
    pub fn survivors_took(&self, each: Duration) {
        self.took.store(each.as_micros() as u32, SeqCst);
    }

    pub fn took(&self) -> Duration {
        Duration::from_micros(self.took.load(SeqCst).into())
    }

    pub fn stood(&self) -> Stood {
        Stood::ALL[self.stood.load(SeqCst) as usize]
    }

    /// The victim came by this address; the instruction before it changed what others can see, or did not.
    pub fn note(&self, address: u64, follows_a_change: bool) {
        let noted = &self.noted[self.count_noted.fetch_add(1, Relaxed) as usize];
        noted.address.store(address, Relaxed);
        noted.follows_a_change.store(follows_a_change.into(), Relaxed);
    }

    pub fn noted(&self) -> impl Iterator<Item = (u64, bool)> + '_ {
        let count = self.count_noted.load(SeqCst) as usize;
        let read = |noted: &Noted| (noted.address.load(Relaxed), noted.follows_a_change.load(Relaxed) != 0);
        self.noted[..count].iter().map(read)
    }

    /// Says what went wrong. The first to say something is heard.
    pub fn complain(&self, what: &str) {
        if self.message_bytes.load(SeqCst) == 0 {
            for (to, from) in self.message.iter().zip(what.as_bytes()) {
                to.store(*from, Relaxed);
            }
            self.message_bytes.store(what.len().min(LONGEST_MESSAGE) as u32, SeqCst);
        }
    }

    pub fn complaint(&self) -> Option<String> {
        let bytes = self.message_bytes.load(SeqCst) as usize;
        let text: Vec<u8> = self.message[..bytes].iter().map(|byte| byte.load(Relaxed)).collect();
        (bytes > 0).then(|| String::from_utf8_lossy(&text).into_owned())
    }
}
