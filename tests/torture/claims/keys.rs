//! Keys, each of which protects a record.

use super::{
    Done, Phase, Post, Way,
    ledger::{Hold, Mode, RECORDS},
    ranges::{is_forgiven, paints},
};
use crate::arena::Fault;
use std::{sync::atomic::Ordering::SeqCst, time::Duration};
use support::Dice;
use turnlock::{Error, KeyedLock};

/// How many keys there are.
const KEYS: usize = 6;
/// Which worker resets the lock.
const RESETTER: usize = 0;

const _: () = assert!(KEYS <= RECORDS);

fn name(key: usize) -> [u8; 3] {
    [b'k', b'0' + key as u8, 0xff]
}

pub fn turn(post: &Post, lock: &KeyedLock, dice: &mut Dice) -> Done {
    use Phase::*;
    if post.me == RESETTER && (is_forgiven(post.ledger) || post.goes(dice, 4, &[Reset])) {
        return reset(post, lock);
    }
    if post.goes(dice, 3, &[LockAll, InsideAll]) {
        return everything(post, lock, dice);
    }
    let (key, way) = (dice.roll(KEYS as u64) as usize, post.way(dice));
    if post.goes(dice, 35, &[LockShared, InsideShared, UnlockShared]) {
        post.is_at(LockShared);
        macro_rules! read {
            ($guard:expr) => {{
                let guard = $guard;
                post.is_at(InsideShared);
                reads(post, key, guard.acquired().previous_owner_died, dice);
                post.ledger.leaves(post.me, 0);
                post.is_at(UnlockShared);
                guard.unlock()
            }};
        }
        return match way {
            Way::Try => read!(lock.try_read(name(key))?),
            Way::For(limit) => read!(lock.read_for(name(key), limit)?),
            Way::Wait => read!(lock.read(name(key))?),
            Way::AsParticipant => {
                let participant = post.file.participant()?;
                read!(lock.read_as(&participant, name(key))?)
            }
        };
    }
    post.ledger.risks(post.me, true);
    post.is_at(LockExclusive);
    macro_rules! write {
        ($guard:expr) => {{
            let mut guard = $guard;
            let acquired = guard.acquired();
            if acquired.previous_owner_died {
                post.is_at(MarkConsistent);
            }
            post.is_at(InsideExclusive);
            paints(post, 0, &(key..key + 1), acquired, || guard.mark_consistent(), dice)?;
            if !acquired.previous_owner_died && post.abandons(dice) {
                post.ledger.leaves(post.me, 0);
                return guard.abandon();
            }
            guard
        }};
    }
    let guard = match way {
        Way::Try => write!(lock.try_write(name(key))?),
        Way::For(limit) => write!(lock.write_for(name(key), limit)?),
        Way::Wait => write!(lock.write(name(key))?),
        Way::AsParticipant => {
            let participant = post.file.participant()?;
            let guard = write!(lock.write_as(&participant, name(key))?);
            post.ledger.leaves(post.me, 0);
            post.is_at(UnlockExclusive);
            return guard.unlock();
        }
    };
    if post.goes(dice, 25, &[LockSecond, InsideBoth, UnlockBoth]) {
        second(post, lock, dice)?;
    }
    post.ledger.leaves(post.me, 0);
    post.is_at(UnlockExclusive);
    guard.unlock()
}

/// Another key beside the one that this worker has.
fn second(post: &Post, lock: &KeyedLock, dice: &mut Dice) -> Done {
    let key = dice.roll(KEYS as u64) as usize;
    post.is_at(Phase::LockSecond);
    // Two that wait for each other's would wait for ever.
    let mut guard = match lock.write_for(name(key), Duration::from_micros(dice.roll(20))) {
        Err(Error::Deadlock | Error::TimedOut(_)) => return Ok(()),
        taken => taken?,
    };
    post.is_at(Phase::InsideBoth);
    paints(post, 1, &(key..key + 1), guard.acquired(), || guard.mark_consistent(), dice)?;
    post.ledger.leaves(post.me, 1);
    post.is_at(Phase::UnlockBoth);
    guard.unlock()
}

fn reads(post: &Post, key: usize, told: bool, dice: &mut Dice) {
    let hold = Hold { mode: Mode::Shared, first: key, last: key };
    if post.ledger.enters(post.arena, post.me, 0, hold) {
        post.fault(Fault::DoubleEntry);
    }
    post.is_told(told);
    let record = &post.ledger.records[key];
    let before = record.read();
    if before.0 != before.1 && !told && !is_forgiven(post.ledger) {
        post.fault(Fault::Torn);
    }
    post.stays(dice);
    if record.read() != before {
        post.fault(Fault::DoubleEntry);
    }
    post.goes_on();
}

/// Takes all keys, one after the other, in the order of every worker that takes several at once.
fn everything(post: &Post, lock: &KeyedLock, dice: &mut Dice) -> Done {
    post.ledger.risks(post.me, true);
    post.is_at(Phase::LockAll);
    let guards = lock.write_all((0..KEYS).map(name))?;
    post.is_at(Phase::InsideAll);
    let all = Hold { mode: Mode::Exclusive, first: 0, last: KEYS - 1 };
    if post.ledger.enters(post.arena, post.me, 0, all) {
        post.fault(Fault::DoubleEntry);
    }
    let told = guards.iter().any(|guard| guard.acquired().previous_owner_died);
    post.is_told(told);
    let records = &post.ledger.records[..KEYS];
    if records.iter().any(|record| record.is_torn()) && !told && !is_forgiven(post.ledger) {
        post.fault(Fault::Torn);
    }
    post.stays(dice);
    post.goes_on();
    post.ledger.leaves(post.me, 0);
    post.is_at(Phase::UnlockExclusive);
    guards.into_iter().try_for_each(|guard| guard.unlock())
}

/// What may be wrong in every key is marked consistent, by one that has nothing; then it looks after them all. Meanwhile a key
/// may be torn without a notice.
fn reset(post: &Post, lock: &KeyedLock) -> Done {
    post.ledger.amnesty.store(1, SeqCst);
    let deaths = post.ledger.risky_deaths();
    // It may be killed while it has every key, to reset them.
    post.ledger.risks(post.me, true);
    post.is_at(Phase::Reset);
    lock.reset()?;
    post.ledger.accounts_for(deaths);
    let guards = lock.write_all((0..KEYS).map(name))?;
    let all = Hold { mode: Mode::Exclusive, first: 0, last: KEYS - 1 };
    if post.ledger.enters(post.arena, post.me, 0, all) {
        post.fault(Fault::DoubleEntry);
    }
    post.ledger.records[..KEYS].iter().for_each(|record| record.repair());
    post.ledger.amnesty.store(0, SeqCst);
    post.goes_on();
    post.ledger.leaves(post.me, 0);
    guards.into_iter().try_for_each(|guard| guard.unlock())
}

/// When all workers are dead.
pub fn survives(post: &Post, lock: &KeyedLock, patience: Duration) -> Done {
    for key in 0..KEYS {
        let torn = post.ledger.records[key].is_torn();
        let told = lock.read_for(name(key), patience)?.acquired().previous_owner_died;
        if torn && !told && !is_forgiven(post.ledger) {
            post.fault(Fault::Torn);
        }
    }
    lock.reset_for(patience)?;
    for key in 0..KEYS {
        if lock.write_for(name(key), patience)?.acquired().previous_owner_died {
            post.fault(Fault::FalseNotice);
        }
    }
    Ok(())
}
