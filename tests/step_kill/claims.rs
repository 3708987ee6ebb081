//! What must be true for the survivors of a lock that several hold at once, or parts of it: [`super::oracle`] for rwlocks,
//! semaphores, range locks, keyed locks and group locks.

use super::{
    arena::Debt,
    oracle::{LOCK, PATIENCE, nothing_else_lies_here, options},
    order::{Fate, Stood},
    stopped::{A_WHILE, TRYING, is_a_dead_ones_lock_held},
    trial::{Bystander, Trial, Victim},
};
use std::{
    sync::atomic::Ordering::SeqCst,
    time::{Duration, Instant},
};
use support::format::{Format, peek_u64};
use turnlock::{
    Acquired, Error, GroupLock, KeyedLock, LockFile, Participant, RangeLock, Result, RwLock, Semaphore,
    inspect::{self, ClaimMode, Life, ParticipantStatus},
};

/// Room for so many: the first survivor, its thread, the victim with two holds, and one more.
pub const PARTICIPANTS: u32 = 5;
/// How many permits a semaphore has.
pub const PERMITS: u32 = 3;
/// What the victim holds of a range lock.
pub const RANGE: std::ops::Range<u64> = 10..20;
/// The same of a keyed lock.
pub const KEY: &str = "ada";
/// The group of the victim.
pub const GROUP: u64 = 1;
/// Another one.
pub const OTHER_GROUP: u64 = 2;

/// A kind of lock, as survivors use it.
pub trait Shared: Sized {
    fn open(file: &LockFile) -> Result<Self>;

    /// Takes all that there is to take, beside no other holder, and checks what comes with it. Returns whether an owner-dead
    /// notice came.
    fn takes_all(&self, trial: &Trial, me: &Participant, limit: Duration) -> Result<bool>;

    /// Takes less than all, beside a living victim that holds in this mode, if there is anything to take.
    fn takes_some(&self, trial: &Trial, me: &Participant, beside: ClaimMode) -> Result<()>;
}

/// A lock file as a trial's own process has it open.
pub struct Stage<L> {
    pub file: LockFile,
    pub lock: L,
    /// The first survivor.
    pub own: Participant,
}

impl<L: Shared> Stage<L> {
    /// In a new file, or in the one that is there.
    pub fn new(trial: &Trial) -> Self {
        let file = options().participants(PARTICIPANTS).open(trial.lock_file()).unwrap();
        let own = file.participant().unwrap();
        Self { lock: L::open(&file).unwrap(), file, own }
    }

    /// A bystander takes everything, in a process of its own.
    pub fn another_takes_all(&self, trial: &Trial) -> Bystander {
        trial.bystander(|| {
            self.lock.takes_all(trial, &self.file.participant().unwrap(), PATIENCE).unwrap();
        })
    }
}

/// What comes with an acquisition, against what the victim says of itself in the arena.
fn is_told_rightly(trial: &Trial, acquired: Acquired) -> bool {
    let arena = trial.arena;
    let told = acquired.previous_owner_died;
    let may_die = trial.fate == Fate::Killed;
    let [inside, busy, owed] = [&arena.inside, &arena.busy, &arena.owed].map(|word| word.load(SeqCst));
    assert!(told || inside == 0, "the victim was inside, and the next one was not told");
    assert!(told || owed != Debt::Owed as u32, "an earlier death inside was never told");
    assert!(
        !told || (may_die && busy != 0) || owed != Debt::None as u32,
        "an owner-dead notice, and nobody died who had changed anything"
    );
    let (a, b) = (arena.a.load(SeqCst), arena.b.load(SeqCst));
    assert!(told || a == b, "the data are torn ({a}, {b}), and there was no owner-dead notice");
    told
}

/// Inside, alone: the data are repaired, and written once more.
fn is_repaired(trial: &Trial, told: bool) {
    let arena = trial.arena;
    if told {
        arena.result.told.store(1, SeqCst);
        for word in [&arena.inside, &arena.busy, &arena.owed] {
            word.store(0, SeqCst);
        }
    }
    let entries = arena.a.load(SeqCst) + 1;
    arena.a.store(entries, SeqCst);
    arena.b.store(entries, SeqCst);
}

impl Shared for RwLock {
    fn open(file: &LockFile) -> Result<Self> {
        file.rwlock_options().patience(Duration::ZERO).open(LOCK)
    }

    fn takes_all(&self, trial: &Trial, me: &Participant, limit: Duration) -> Result<bool> {
        let reader = self.read_for_as(me, limit)?;
        let told = is_told_rightly(trial, reader.acquired());
        let token = reader.fencing_token();
        assert!(token >= trial.arena.token.load(SeqCst), "a reader's fencing token is an old one");
        reader.unlock()?;
        let mut writer = self.write_for_as(me, limit)?;
        assert_eq!(is_told_rightly(trial, writer.acquired()), told, "not told as the reader before it was");
        let last_token = trial.arena.token.swap(writer.fencing_token(), SeqCst);
        assert!(writer.fencing_token() > last_token, "the fencing token did not rise");
        if told {
            writer.mark_consistent()?;
        }
        is_repaired(trial, told);
        writer.unlock()?;
        let upgradable = self.upgradable_for_as(me, limit)?;
        let writer = upgradable.upgrade_for(limit)?;
        assert!(!writer.acquired().previous_owner_died, "a death that was told before is told again");
        trial.arena.token.store(writer.fencing_token(), SeqCst);
        writer.downgrade()?.unlock()?;
        Ok(told)
    }

    fn takes_some(&self, _: &Trial, me: &Participant, beside: ClaimMode) -> Result<()> {
        match beside {
            ClaimMode::Shared | ClaimMode::Upgradable => self.read_for_as(me, PATIENCE)?.unlock(),
            _ => Ok(()),
        }
    }
}

impl Shared for Semaphore {
    fn open(file: &LockFile) -> Result<Self> {
        file.semaphore_options().permits(PERMITS).patience(Duration::ZERO).open(LOCK)
    }

    fn takes_all(&self, _: &Trial, me: &Participant, limit: Duration) -> Result<bool> {
        let all = self.acquire_for_as(me, self.permits()?.max(PERMITS), limit)?;
        assert!(!all.acquired().previous_owner_died, "an owner-dead notice from a semaphore");
        all.unlock()?;
        Ok(false)
    }

    /// No victim has all of them.
    fn takes_some(&self, _: &Trial, me: &Participant, _: ClaimMode) -> Result<()> {
        self.acquire_for_as(me, 1, PATIENCE)?.unlock()
    }
}

impl Shared for RangeLock {
    fn open(file: &LockFile) -> Result<Self> {
        file.range_lock(LOCK)
    }

    fn takes_all(&self, trial: &Trial, me: &Participant, limit: Duration) -> Result<bool> {
        let one = self.read_for_as(me, RANGE.start..RANGE.start + 1, limit)?;
        let told_of_one = one.acquired().previous_owner_died;
        assert!(
            told_of_one || trial.arena.inside.load(SeqCst) == 0,
            "of a range that the victim was inside of, a reader of a part of it was not told"
        );
        one.unlock()?;
        let mut all = self.write_for_as(me, .., limit)?;
        let told = is_told_rightly(trial, all.acquired());
        assert!(told || !told_of_one, "told of a part, and not of everything");
        if told {
            all.mark_consistent()?;
        }
        is_repaired(trial, told);
        all.unlock()?;
        let again = self.read_for_as(me, .., limit)?;
        assert!(!again.acquired().previous_owner_died, "a death that was told before is told again");
        again.unlock()?;
        Ok(told)
    }

    fn takes_some(&self, _: &Trial, me: &Participant, _: ClaimMode) -> Result<()> {
        self.write_for_as(me, 1000.., PATIENCE)?.unlock()
    }
}

impl Shared for KeyedLock {
    fn open(file: &LockFile) -> Result<Self> {
        file.keyed_lock(LOCK)
    }

    fn takes_all(&self, trial: &Trial, me: &Participant, limit: Duration) -> Result<bool> {
        let mut key = self.write_for_as(me, KEY, limit)?;
        let told = is_told_rightly(trial, key.acquired());
        let marked = key.mark_consistent();
        is_repaired(trial, told);
        key.unlock()?;
        match marked {
            Ok(()) => assert!(told, "marked, and the holder was not told"),
            Err(error) => assert!(matches!(error, Error::NotInconsistent) && !told, "{error}"),
        }
        // Of other keys of dead ones.
        self.reset_for(limit)?;
        let again = self.read_for_as(me, KEY, limit)?;
        assert!(!again.acquired().previous_owner_died, "a death that was told before is told again");
        again.unlock()?;
        Ok(told)
    }

    fn takes_some(&self, _: &Trial, me: &Participant, _: ClaimMode) -> Result<()> {
        self.write_for_as(me, "grace", PATIENCE)?.unlock()
    }
}

impl Shared for GroupLock {
    fn open(file: &LockFile) -> Result<Self> {
        file.group_lock(LOCK)
    }

    /// Of another group than the victim's, so beside no holder.
    fn takes_all(&self, trial: &Trial, me: &Participant, limit: Duration) -> Result<bool> {
        let mut other = self.lock_for_as(me, OTHER_GROUP, limit)?;
        let told = is_told_rightly(trial, other.acquired());
        let marked = other.mark_consistent();
        is_repaired(trial, told);
        other.unlock()?;
        match marked {
            Ok(()) => assert!(told, "marked, and the holder was not told"),
            Err(error) => assert!(matches!(error, Error::NotInconsistent) && !told, "{error}"),
        }
        let again = self.lock_for_as(me, GROUP, limit)?;
        assert!(!again.acquired().previous_owner_died, "a death that was told before is told again");
        again.unlock()?;
        Ok(told)
    }

    fn takes_some(&self, _: &Trial, me: &Participant, _: ClaimMode) -> Result<()> {
        self.lock_for_as(me, GROUP, PATIENCE)?.unlock()
    }
}

/// The victim is killed; or it is stopped, the others go on, and then it comes to its own end. Then the survivors lack nothing.
/// `release`: whatever keeps the others out is no more.
pub fn meets_its_fate<L: Shared>(
    trial: &Trial,
    stage: Stage<L>,
    mut victim: Victim,
    mut others: Vec<Bystander>,
    release: impl FnOnce(),
) {
    match trial.fate {
        Fate::Killed => {
            victim.kill();
            release();
        }
        Fate::Stopped => {
            victim.stop();
            release();
            others = the_others_go_on(trial, &stage, &victim, others);
            victim.go_to_its_end();
            victim.kill();
        }
    }
    others.into_iter().for_each(Bystander::join);
    the_living_go_on(trial, stage);
}

/// Where the victim stands by what the file says, and how it holds the lock if it does.
fn look_at<L>(trial: &Trial, stage: &Stage<L>, victim: &Victim) -> (Stood, Option<ClaimMode>) {
    let path = trial.lock_file();
    let format = Format { participants: stage.file.participants().into(), locks: 1 };
    let status = inspect::snapshot(&path).unwrap();
    if is_a_dead_ones_lock_held(&status.participants) {
        return (Stood::Reaping, None);
    }
    let own = status.participants.iter().filter(|other| other.pid == victim.pid as u32);
    let words = |slot: usize| {
        [format.cell(1, slot as u64), format.number(1, slot as u64)].map(|at| peek_u64(&path, at))
    };
    let words: Vec<_> = own.map(|own| words(own.slot)).collect();
    let holder = status.locks[0].holders.iter().find(|holder| holder.participant.pid == victim.pid as u32);
    let stood = match &words[..] {
        words if words.iter().any(|[held, _]| *held != 0 && *held != TRYING) => Stood::Inside,
        words if words.iter().any(|[held, _]| *held == TRYING) => Stood::Entering,
        words if words.iter().any(|[_, number]| *number != 0) => Stood::PassedOver,
        _ => Stood::Outside,
    };
    (stood, holder.map(|holder| holder.claim.mode))
}

/// The victim is stopped: it holds up no participant that its hold, if it has one, leaves room for. Returns those `others`
/// that still wait for it.
fn the_others_go_on<L: Shared>(
    trial: &Trial,
    stage: &Stage<L>,
    victim: &Victim,
    others: Vec<Bystander>,
) -> Vec<Bystander> {
    let (stood, mode) = look_at(trial, stage, victim);
    let result = &trial.arena.result;
    result.stands(stood);
    let is_in_its_section = trial.arena.inside.load(SeqCst) != 0;
    assert!(!is_in_its_section || stood == Stood::Inside, "in its section, and the file says {stood:?}");
    let takes_all = |limit| stage.lock.takes_all(trial, &stage.own, limit);
    match stood {
        Stood::Outside | Stood::PassedOver => {
            let began = Instant::now();
            others.into_iter().for_each(Bystander::join);
            let entered = takes_all(PATIENCE);
            let looks = || inspect::snapshot(trial.lock_file()).map(|status| status.locks);
            assert!(entered.is_ok(), "a survivor does not get in: {entered:?}; {:?}", looks());
            result.survivors_took(began.elapsed());
            return vec![];
        }
        Stood::Inside => {
            let entered = takes_all(A_WHILE);
            assert!(matches!(entered, Err(Error::TimedOut(_))), "a living holder was robbed: {entered:?}");
            // If those that wait are not to be let in first.
            if let (Some(mode), true) = (mode, others.is_empty()) {
                let beside = stage.lock.takes_some(trial, &stage.own, mode);
                assert!(beside.is_ok(), "a survivor does not get in beside the victim: {beside:?}");
            }
        }
        // In its entry step, which it may have to take back; or it acts for a dead one that is in the way, or for another.
        _ => {
            let entered = takes_all(A_WHILE);
            assert!(matches!(entered, Ok(_) | Err(Error::TimedOut(_))), "{entered:?}");
        }
    }
    others
}

/// The victim is dead, and so is any other participant that was to die: the survivors lack nothing, and the file is as good
/// as new.
pub fn the_living_go_on<L: Shared>(trial: &Trial, stage: Stage<L>) {
    let path = trial.lock_file();
    let status = inspect::snapshot(&path).unwrap();
    let token = status.locks.iter().filter_map(|lock| lock.fencing_token).max().unwrap_or(0);
    trial.arena.token.fetch_max(token, SeqCst);
    let own = |participant: &&ParticipantStatus| participant.pid == std::process::id();
    let owns = status.participants.iter().filter(own).count();
    let alive = status.participants.iter().filter(|participant| participant.life != Life::Dead).count();
    assert_eq!(alive, owns, "the living and the dead are mixed up: {status:?}");
    let entered = stage.lock.takes_all(trial, &stage.own, PATIENCE);
    assert!(entered.is_ok(), "a survivor does not get in: {entered:?}; before that: {status:?}");
    let newcomers: Vec<_> = (owns..PARTICIPANTS as usize)
        .map(|number| {
            let newcomer =
                stage.file.participant().unwrap_or_else(|error| panic!("newcomer {number}: {error}"));
            let entered = stage.lock.takes_all(trial, &newcomer, PATIENCE);
            assert!(matches!(entered, Ok(false)), "newcomer {number}: {entered:?}");
            newcomer
        })
        .collect();
    let full = stage.file.participant().err();
    assert!(matches!(full, Some(Error::ParticipantsFull { .. })), "room for one too many: {full:?}");
    drop(newcomers);
    let status = inspect::snapshot(&path).unwrap();
    assert_eq!(status.participants.len(), owns, "a dead one's slot is still taken: {status:?}");
    let [lock] = &status.locks[..] else { panic!("{status:?}") };
    assert!(lock.holders.is_empty() && lock.queue.is_empty() && lock.dead_parts.is_empty(), "{status:?}");
    assert_eq!(lock.state, "consistent", "{status:?}");
    drop(stage);
    nothing_else_lies_here(trial);
    std::fs::remove_file(path).unwrap();
}
