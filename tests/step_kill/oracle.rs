//! What must be true for the survivors, whichever instruction the victim died at, or was stopped at.

use super::{
    arena::{Closed, Debt},
    order::Fate,
    trial::Trial,
};
use std::{sync::atomic::Ordering::SeqCst, time::Duration};
use support::{
    either::{Kind, Lock},
    format::{Format, peek_u64},
};
use turnlock::{
    Error, LockFile, LockFileOptions, Participant,
    inspect::{self, Holder, Life, LockStatus},
};

/// Far longer than any participant ever waits here.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Room for so many in the file of a trial, if not said otherwise: the first survivor, the victim, and one more.
pub const PARTICIPANTS: u32 = 3;
/// The lock that everything is about.
pub const LOCK: &str = "m";

/// A mutex whose waiters let no participant pass.
pub const STRICT: Kind = Kind::Mutex { patience: Duration::ZERO };

/// A lock file as a trial's own process has it open.
pub struct Stage {
    pub file: LockFile,
    /// On a ring, to take part on demand.
    pub lock: Lock,
    pub kind: Kind,
    /// The first survivor.
    pub own: Participant,
    /// How many locks the file has room for, and the region that the lock is in.
    pub locks: u64,
    pub region: u64,
}

impl Stage {
    /// In a new file, or in the one that is there.
    pub fn new(trial: &Trial) -> Self {
        Self::with(trial, PARTICIPANTS, STRICT)
    }

    /// With one lock of this kind.
    pub fn with(trial: &Trial, participants: u32, kind: Kind) -> Self {
        let mut options = options();
        if let Kind::Messages(_) = kind {
            options.mailboxes(participants);
        }
        Self::in_file(options.participants(participants).open(trial.lock_file()).unwrap(), kind)
    }

    /// A mutex, in a file that records so few events that the ring comes round.
    pub fn recorded(trial: &Trial) -> Self {
        Self::in_file(options().recorded_events(64).open(trial.lock_file()).unwrap(), STRICT)
    }

    fn in_file(file: LockFile, kind: Kind) -> Self {
        let own = file.current_participant().unwrap();
        let lock = kind.open(&file, LOCK).unwrap();
        Self { file, lock, kind, own, locks: 1, region: 1 }
    }

    /// The ring, to take part as a member.
    pub fn member(&self) -> Lock {
        self.kind.open_as_member(&self.file, LOCK).unwrap()
    }
}

/// As small as can be, since a dead one's traces are looked for in every lock and at every slot.
pub fn options() -> LockFileOptions {
    let mut options = LockFile::options();
    options.participants(PARTICIPANTS).locks(1);
    options
}

/// While the victim stands still, alive: no other participant gets into its section, and a ring's privilege is somewhere.
pub fn the_victim_stands_still(trial: &Trial, stage: &Stage) {
    // A ring that has lost it begins anew as soon as a participant looks, so this comes first. Others may move it
    // meanwhile: it is lost if it stays so.
    assert!(!(0..3).all(|_| the_ring_is_lost(trial, stage)), "the ring has lost its privilege");
    if trial.arena.inside.load(SeqCst) != 0 {
        let robbed = stage.lock.try_lock().err();
        assert!(matches!(robbed, Some(Error::WouldBlock(_))), "a living holder was robbed: {robbed:?}");
    }
}

/// Returns whether there are machines on the ring, and none of them has the privilege.
fn the_ring_is_lost(trial: &Trial, stage: &Stage) -> bool {
    let Kind::Ring(_) = stage.kind else { return false };
    let path = trial.lock_file();
    let participants = stage.file.participants();
    let format = Format { participants: participants.into(), locks: 1 };
    let is_on_it = |slot: usize| peek_u64(&path, format.ring_link(1, slot as u64)) as u16 != 0;
    let turn_of = || inspect::snapshot(&path).unwrap().locks[0].turn_of;
    (0..participants as usize).any(is_on_it) && turn_of().is_none_or(|slot| !is_on_it(slot))
}

/// The victim is dead, and so is any other participant that was to die: the survivors lack nothing, and the file is as good
/// as new.
pub fn the_living_go_on(trial: &Trial, stage: Stage) {
    let arena = trial.arena;
    let path = trial.lock_file();
    let status = inspect::snapshot(&path).unwrap();
    let lock = status.locks.iter().find(|lock| lock.name == LOCK).unwrap();
    arena.token.fetch_max(lock.fencing_token.unwrap(), SeqCst);
    let alive = status.participants.iter().filter(|participant| participant.life != Life::Dead).count();
    assert_eq!(alive, 1, "the living and the dead are mixed up: {status:?}");

    let dead_holder = lock.holders.first().filter(|holder| holder.participant.life == Life::Dead);
    let told = enter(trial, &stage.lock, None);
    let expected = lock.state == "inconsistent" || (lock.state == "consistent" && dead_holder.is_some());
    assert_eq!(told, expected, "told of a death, against what the file said: {status:?}");
    let (told, found) = (stage.lock.previous_owner(), lock.previous_owner.as_ref());
    let dead = dead_holder.map(Holder::pid).or(found.map(|owner| owner.pid));
    assert_eq!(told.map(|owner| owner.pid), dead, "told who died, against what the file said: {status:?}");

    // The dead one's slot comes back: there is room for as many newcomers as if no participant had died.
    let newcomers: Vec<_> = (1..stage.file.participants())
        .map(|newcomer| {
            let newcomer =
                stage.file.participant().unwrap_or_else(|error| panic!("newcomer {newcomer}: {error}"));
            assert!(
                !enter(trial, &stage.lock, Some(&newcomer)),
                "a death that was told before is told again"
            );
            newcomer
        })
        .collect();
    let full = stage.file.participant().err();
    assert!(matches!(full, Some(Error::ParticipantsFull { .. })), "room for one too many: {full:?}");
    drop(newcomers);
    let status = inspect::snapshot(&path).unwrap();
    assert_eq!(status.participants.len(), 1, "a dead one's slot is still taken: {status:?}");

    let Stage { file, lock, kind, own, .. } = stage;
    let participants = file.participants();
    drop((own, lock, file));
    the_file_is_whole(trial, participants, kind);
}

/// A participant that opens the file now finds nothing amiss, and nothing else lies in its folder. No participant has it
/// open before or after.
fn the_file_is_whole(trial: &Trial, participants: u32, kind: Kind) {
    let path = trial.lock_file();
    let stage = Stage::with(trial, participants, kind);
    assert!(!enter(trial, &stage.lock, None), "a death that was told before is told again");
    drop(stage);
    let status = inspect::snapshot(&path).unwrap();
    assert!(status.participants.is_empty(), "{status:?}");
    let lock = status.locks.iter().find(|lock| lock.name == LOCK).unwrap();
    assert!(lock.state == "consistent", "{status:?}");
    let is_unused = |lock: &LockStatus| lock.holders.is_empty() && lock.queue.is_empty();
    assert!(status.locks.iter().all(is_unused), "{status:?}");
    nothing_else_lies_here(trial);
    std::fs::remove_file(path).unwrap();
}

/// In the folder there is the lock file, or nothing.
pub fn nothing_else_lies_here(trial: &Trial) {
    for entry in std::fs::read_dir(&trial.folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path, trial.lock_file(), "left behind");
    }
}

/// What [`enter`] does with a guard of either kind.
macro_rules! has_its_turn {
    ($trial:expr, $was_closed:expr, $guard:expr) => {{
        let (arena, mut guard) = ($trial.arena, $guard);
        // One that is only stopped does not die trying.
        let may_die = $trial.fate == Fate::Killed;
        assert!($was_closed != Closed::Yes as u32, "a closed lock let a participant in");
        let told = guard.acquired().previous_owner_died;
        let [inside, busy, owed] = [&arena.inside, &arena.busy, &arena.owed].map(|word| word.load(SeqCst));
        assert!(told || inside == 0, "the victim was inside, and the next one was not told");
        assert!(told || owed != Debt::Owed as u32, "an earlier death inside was never told");
        assert!(
            !told || (may_die && busy != 0) || owed != Debt::None as u32,
            "an owner-dead notice, and no holder died inside"
        );
        let last_token = arena.token.swap(guard.fencing_token(), SeqCst);
        assert!(guard.fencing_token() > last_token, "the fencing token did not rise");
        let (a, b) = (arena.a.load(SeqCst), arena.b.load(SeqCst));
        assert!(told || a == b, "the data are torn ({a}, {b}), and there was no owner-dead notice");
        let consistent = guard.mark_consistent();
        if told {
            arena.result.told.store(1, SeqCst);
            consistent.unwrap();
            for word in [&arena.inside, &arena.busy, &arena.owed, &arena.closed] {
                word.store(0, SeqCst);
            }
        } else {
            assert!(matches!(consistent, Err(Error::NotInconsistent)), "{consistent:?}");
        }
        arena.a.store(a + 1, SeqCst);
        arena.b.store(a + 1, SeqCst);
        guard.unlock().unwrap();
        told
    }};
}

/// Takes the lock as `me` (or as this thread), checks all that an acquisition promises, repairs, and unlocks.
/// Returns whether an owner-dead notice came.
///
/// Also while the victim is alive: then it is outside.
pub fn enter(trial: &Trial, lock: &Lock, me: Option<&Participant>) -> bool {
    let was_closed = trial.arena.closed.load(SeqCst);
    match enter_within(trial, lock, me, PATIENCE) {
        Ok(told) => told,
        Err(Error::NotRecoverable) if was_closed != Closed::No as u32 => {
            reset(trial, lock);
            enter(trial, lock, me)
        }
        Err(error) => panic!("a survivor does not get in: {error}"),
    }
}

/// Likewise, in this time.
pub fn enter_within(
    trial: &Trial,
    lock: &Lock,
    me: Option<&Participant>,
    limit: Duration,
) -> turnlock::Result<bool> {
    let was_closed = trial.arena.closed.load(SeqCst);
    match me {
        Some(me) => lock.lock_for_as(me, limit).map(|guard| has_its_turn!(trial, was_closed, guard)),
        None => lock.lock_for(limit).map(|guard| has_its_turn!(trial, was_closed, guard)),
    }
}

/// Likewise, by a wait that has no limit.
pub fn enter_without_limit(trial: &Trial, lock: &Lock) -> bool {
    has_its_turn!(trial, trial.arena.closed.load(SeqCst), lock.lock().unwrap())
}

/// Another process, `turnlock reset` for example, repairs the data and opens the lock again.
fn reset(trial: &Trial, lock: &Lock) {
    let arena = trial.arena;
    trial.bystander(|| lock.reset_for(PATIENCE).unwrap()).join();
    arena.b.store(arena.a.load(SeqCst), SeqCst);
    for word in [&arena.inside, &arena.busy, &arena.owed, &arena.closed] {
        word.store(0, SeqCst);
    }
}
