//! Readers and writers of one record.

use super::{
    Done, Phase, Post, Way,
    ledger::{Hold, Ledger, Mode, Record},
};
use crate::arena::Fault;
use std::{
    sync::atomic::Ordering::{Relaxed, SeqCst},
    time::Duration,
};
use support::Dice;
use turnlock::{
    Acquired, ChangesMode, Guard, GuardAs, Reading, Result, RwLock, RwLockKind, Upgradable, Writing,
};

/// What is read and written.
fn record(ledger: &Ledger) -> &Record {
    &ledger.records[0]
}

/// `reads`: so many times it only reads, so that the lock becomes biased to its readers.
pub fn turn(post: &Post, lock: &RwLock, dice: &mut Dice, reads: &mut u64) -> Done {
    use Phase::*;
    if *reads > 0 {
        *reads -= 1;
        return read(post, lock, dice, Way::Wait);
    }
    if dice.in_hundred(5) {
        *reads = dice.roll(200);
    }
    let way = post.way(dice);
    if post.goes(
        dice,
        20,
        &[LockUpgradable, InsideUpgradable, UnlockUpgradable, Upgrade, UpgradeWithLimit, Downgrade],
    ) {
        post.is_at(LockUpgradable);
        return match way {
            Way::Try => upgradable(post, lock.try_upgradable()?, dice),
            Way::For(limit) => upgradable(post, lock.upgradable_for(limit)?, dice),
            Way::Wait => upgradable(post, lock.upgradable()?, dice),
            Way::AsParticipant => upgradable(post, lock.upgradable_as(&post.file.participant()?)?, dice),
        };
    }
    if !post.goes(dice, 30, &[LockExclusive, InsideExclusive, UnlockExclusive, MarkConsistent]) {
        return read(post, lock, dice, way);
    }
    post.ledger.risks(post.me, true);
    post.is_at(LockExclusive);
    match way {
        Way::Try => write(post, lock.try_write()?, None, dice),
        Way::For(limit) => write(post, lock.write_for(limit)?, None, dice),
        Way::Wait => write(post, lock.write()?, None, dice),
        Way::AsParticipant => write(post, lock.write_as(&post.file.participant()?)?, None, dice),
    }
}

fn read(post: &Post, lock: &RwLock, dice: &mut Dice, way: Way) -> Done {
    post.is_at(Phase::LockShared);
    macro_rules! read {
        ($guard:expr) => {{
            let guard = $guard;
            let acquired = guard.acquired();
            enters(post, Mode::Shared, acquired);
            post.is_at(Phase::InsideShared);
            looks(post, acquired.previous_owner_died, dice);
            post.ledger.leaves(post.me, 0);
            post.is_at(Phase::UnlockShared);
            guard.unlock()
        }};
    }
    match way {
        Way::Try => read!(lock.try_read()?),
        Way::For(limit) => read!(lock.read_for(limit)?),
        Way::Wait => read!(lock.read()?),
        Way::AsParticipant => {
            let participant = post.file.participant()?;
            read!(lock.read_as(&participant)?)
        }
    }
}

/// Checks what comes with an acquisition that is no writer's.
fn enters(post: &Post, mode: Mode, acquired: Acquired) {
    if post.ledger.enters(post.arena, post.me, 0, Hold::all(mode)) {
        post.fault(Fault::DoubleEntry);
    }
    // The last writer's, or of one that took it and died before it wrote that down.
    if acquired.fencing_token < post.ledger.last_token.load(SeqCst) {
        post.fault(Fault::Token);
    }
    post.is_told(acquired.previous_owner_died);
}

/// Reads for a while: nothing changes meanwhile, and nothing is torn without a notice. Returns what it read.
fn looks(post: &Post, told: bool, dice: &mut Dice) -> (u64, u64) {
    let record = record(post.ledger);
    let before = record.read();
    if before.0 != before.1 && !told {
        post.fault(Fault::Torn);
    }
    post.stays(dice);
    if record.read() != before {
        post.fault(Fault::DoubleEntry);
    }
    post.goes_on();
    before
}

/// A guard that can tell what came with it.
trait Told {
    fn told(&self) -> Acquired;
    fn marks(&mut self) -> Result<()>;
}

impl Told for Guard<'_, RwLockKind> {
    fn told(&self) -> Acquired {
        self.acquired()
    }

    fn marks(&mut self) -> Result<()> {
        self.mark_consistent()
    }
}

impl Told for GuardAs<'_, RwLockKind> {
    fn told(&self) -> Acquired {
        self.acquired()
    }

    fn marks(&mut self) -> Result<()> {
        self.mark_consistent()
    }
}

fn upgradable<G: ChangesMode + Told>(post: &Post, guard: Upgradable<G>, dice: &mut Dice) -> Done {
    use Phase::*;
    let acquired = guard.told();
    enters(post, Mode::Upgradable, acquired);
    post.is_at(InsideUpgradable);
    let before = looks(post, acquired.previous_owner_died, dice);
    if post.goes(dice, 15, &[UnlockUpgradable]) {
        post.ledger.leaves(post.me, 0);
        post.is_at(UnlockUpgradable);
        return guard.unlock();
    }
    if dice.in_hundred(10) {
        return reads_on(post, guard, Upgradable::downgrade, before, dice);
    }
    let limit = post.goes(dice, 40, &[UpgradeWithLimit]);
    post.ledger.risks(post.me, true);
    post.is_at(if limit { UpgradeWithLimit } else { Upgrade });
    let upgraded = match dice.roll(2) {
        _ if !limit => guard.upgrade(),
        0 => guard.try_upgrade(),
        _ => guard.upgrade_for(Duration::from_nanos(dice.roll(20_000))),
    };
    match upgraded {
        Ok(writer) => write(post, writer, Some(before), dice),
        Err(not_upgraded) => {
            post.ledger.risks(post.me, false);
            post.is_at(InsideUpgradable);
            if record(post.ledger).read() != before {
                post.fault(Fault::DoubleEntry);
            }
            post.ledger.leaves(post.me, 0);
            post.is_at(UnlockUpgradable);
            not_upgraded.guard.unlock()?;
            Err(not_upgraded.error)
        }
    }
}

/// Makes less of a hold, and goes on reading: what it read or wrote `before` is there still.
fn reads_on<W, G: ChangesMode>(
    post: &Post,
    guard: W,
    downgrade: fn(W) -> Result<Reading<G>>,
    before: (u64, u64),
    dice: &mut Dice,
) -> Done {
    // Before others can come in.
    if post.ledger.enters(post.arena, post.me, 0, Hold::all(Mode::Shared)) {
        post.fault(Fault::DoubleEntry);
    }
    post.is_at(Phase::Downgrade);
    let reader = downgrade(guard)?;
    post.ledger.risks(post.me, false);
    let told = before.0 != before.1;
    if looks(post, told, dice) != before {
        post.fault(Fault::DoubleEntry);
    }
    post.ledger.leaves(post.me, 0);
    post.is_at(Phase::UnlockShared);
    reader.unlock()
}

/// `before`: what this writer read before it upgraded; no other writer wrote in between.
fn write<G: ChangesMode + Told>(
    post: &Post,
    mut guard: Writing<G>,
    before: Option<(u64, u64)>,
    dice: &mut Dice,
) -> Done {
    use Phase::*;
    let Acquired { fencing_token, previous_owner_died: told, .. } = guard.told();
    let (ledger, record) = (post.ledger, record(post.ledger));
    if ledger.enters(post.arena, post.me, 0, Hold::all(Mode::Exclusive)) {
        post.fault(Fault::DoubleEntry);
    }
    if before.is_some_and(|before| before != record.read()) {
        post.fault(Fault::DoubleEntry);
    }
    if ledger.last_token.swap(fencing_token, Relaxed) >= fencing_token {
        post.fault(Fault::Token);
    }
    post.is_told(told);
    if record.is_torn() && !told {
        post.fault(Fault::Torn);
    }
    if told {
        let deaths = ledger.risky_deaths();
        record.repair();
        post.is_at(MarkConsistent);
        guard.marks()?;
        ledger.accounts_for(deaths);
    }
    post.is_at(InsideExclusive);
    record.begin_to_write();
    if !told && post.abandons(dice) {
        ledger.leaves(post.me, 0);
        super::abandon(guard);
        return Ok(());
    }
    post.stays(dice);
    record.end_writing();
    post.goes_on();
    if post.goes(dice, 15, &[Downgrade]) {
        let written = record.read();
        return reads_on(post, guard, Writing::downgrade, written, dice);
    }
    ledger.leaves(post.me, 0);
    post.is_at(UnlockExclusive);
    guard.unlock()
}

/// When all workers are dead.
pub fn survives(post: &Post, lock: &RwLock, patience: Duration) -> Done {
    drop(lock.read_for(patience)?);
    let mut writer = lock.write_for(patience)?;
    let told = writer.acquired().previous_owner_died;
    post.is_told(told);
    if record(post.ledger).is_torn() && !told {
        post.fault(Fault::Torn);
    }
    if told {
        writer.mark_consistent()?;
    }
    writer.unlock()?;
    if lock.read_for(patience)?.acquired().previous_owner_died {
        post.fault(Fault::FalseNotice);
    }
    Ok(())
}
