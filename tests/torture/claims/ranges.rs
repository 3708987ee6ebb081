//! Ranges of records, which writers paint.

use super::{
    Done, Phase, Post, Way,
    ledger::{Hold, Ledger, Mode, RECORDS},
};
use crate::arena::Fault;
use std::{ops::Range, time::Duration};
use support::Dice;
use turnlock::{Acquired, Error, RangeLock, Result};

/// A few records in a row.
fn some(dice: &mut Dice) -> Range<usize> {
    let first = dice.roll(RECORDS as u64) as usize;
    let end = first + 1 + dice.roll(5) as usize;
    first..end.min(RECORDS)
}

fn hold(mode: Mode, range: &Range<usize>) -> Hold {
    Hold { mode, first: range.start, last: range.end - 1 }
}

fn numbers(range: &Range<usize>) -> Range<u64> {
    range.start as u64..range.end as u64
}

pub fn turn(post: &Post, lock: &RangeLock, dice: &mut Dice) -> Done {
    use Phase::*;
    if post.goes(dice, 3, &[LockAll, InsideAll, MarkConsistent]) {
        return everything(post, lock, dice);
    }
    let (range, way) = (some(dice), post.way(dice));
    if post.goes(dice, 40, &[LockShared, InsideShared, UnlockShared]) {
        post.is_at(LockShared);
        macro_rules! read {
            ($guard:expr) => {{
                let guard = $guard;
                post.is_at(InsideShared);
                reads(post, 0, &range, guard.acquired(), dice);
                post.ledger.leaves(post.me, 0);
                post.is_at(UnlockShared);
                guard.unlock()
            }};
        }
        let numbers = numbers(&range);
        return match way {
            Way::Try => read!(lock.try_read(numbers)?),
            Way::For(limit) => read!(lock.read_for(numbers, limit)?),
            Way::Wait => read!(lock.read(numbers)?),
            Way::AsParticipant => {
                let participant = post.file.participant()?;
                read!(lock.read_as(&participant, numbers)?)
            }
        };
    }
    post.ledger.risks(post.me, true);
    post.is_at(LockExclusive);
    macro_rules! write {
        ($guard:expr) => {{
            let mut guard = $guard;
            post.is_at(InsideExclusive);
            paints(post, 0, &range, guard.acquired(), || guard.mark_consistent(), dice)?;
            guard
        }};
    }
    let guard = match way {
        Way::Try => write!(lock.try_write(numbers(&range))?),
        Way::For(limit) => write!(lock.write_for(numbers(&range), limit)?),
        Way::Wait => write!(lock.write(numbers(&range))?),
        Way::AsParticipant => {
            let participant = post.file.participant()?;
            let guard = write!(lock.write_as(&participant, numbers(&range))?);
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

/// Another range beside the one that this worker has: it takes a slot of its own.
fn second(post: &Post, lock: &RangeLock, dice: &mut Dice) -> Done {
    let range = some(dice);
    post.is_at(Phase::LockSecond);
    // Two that wait for each other's would wait for ever.
    let mut guard = match lock.write_for(numbers(&range), Duration::from_micros(dice.roll(20))) {
        // It overlaps with what this worker has, or with what another one has.
        Err(Error::Deadlock | Error::TimedOut(_)) => return Ok(()),
        taken => taken?,
    };
    post.is_at(Phase::InsideBoth);
    paints(post, 1, &range, guard.acquired(), || guard.mark_consistent(), dice)?;
    post.ledger.leaves(post.me, 1);
    post.is_at(Phase::UnlockBoth);
    guard.unlock()
}

/// Takes all records: after that, nothing is torn, and no holder is told of any earlier death.
fn everything(post: &Post, lock: &RangeLock, dice: &mut Dice) -> Done {
    post.ledger.risks(post.me, true);
    post.is_at(Phase::LockAll);
    let mut guard = lock.write(..)?;
    let deaths = post.ledger.risky_deaths();
    let told = guard.acquired().previous_owner_died;
    paints(post, 0, &(0..RECORDS), guard.acquired(), || Ok(()), dice)?;
    post.is_at(Phase::MarkConsistent);
    if told {
        guard.mark_consistent()?;
        post.ledger.accounts_for(deaths);
    } else if !matches!(guard.mark_consistent(), Err(Error::NotInconsistent)) {
        post.fault(Fault::FalseNotice);
    }
    post.is_at(Phase::InsideAll);
    post.stays(dice);
    post.ledger.leaves(post.me, 0);
    post.is_at(Phase::UnlockExclusive);
    guard.unlock()
}

fn reads(post: &Post, at: usize, range: &Range<usize>, acquired: Acquired, dice: &mut Dice) {
    enters(post, at, hold(Mode::Shared, range), acquired);
    let read = || post.ledger.records[range.clone()].iter().map(|record| record.read());
    let mut before = [(0, 0); RECORDS];
    before.iter_mut().zip(read()).for_each(|(before, now)| *before = now);
    if !acquired.previous_owner_died && before.iter().any(|(a, b)| a != b) {
        post.fault(Fault::Torn);
    }
    post.stays(dice);
    if read().zip(before).any(|(now, before)| now != before) {
        post.fault(Fault::DoubleEntry);
    }
    post.goes_on();
}

fn enters(post: &Post, at: usize, hold: Hold, acquired: Acquired) {
    if post.ledger.enters(post.arena, post.me, at, hold) {
        post.fault(Fault::DoubleEntry);
    }
    post.is_told(acquired.previous_owner_died);
}

/// Repairs, if that is needed, and writes. What died before it may have held more than this range: then the next one is told
/// too.
pub fn paints(
    post: &Post,
    at: usize,
    range: &Range<usize>,
    acquired: Acquired,
    mark_consistent: impl FnOnce() -> Result<()>,
    dice: &mut Dice,
) -> Done {
    enters(post, at, hold(Mode::Exclusive, range), acquired);
    let records = &post.ledger.records[range.clone()];
    if acquired.previous_owner_died {
        records.iter().for_each(|record| record.repair());
        match mark_consistent() {
            Ok(()) | Err(Error::NotInconsistent) => {}
            Err(error) => return Err(error),
        }
    } else if records.iter().any(|record| record.is_torn()) && !is_forgiven(post.ledger) {
        post.fault(Fault::Torn);
    }
    records.iter().for_each(|record| record.begin_to_write());
    post.stays(dice);
    records.iter().for_each(|record| record.end_writing());
    post.goes_on();
    Ok(())
}

/// Returns whether records may be torn without a notice.
pub fn is_forgiven(ledger: &Ledger) -> bool {
    ledger.amnesty.load(std::sync::atomic::Ordering::SeqCst) != 0
}

/// When all workers are dead.
pub fn survives(post: &Post, lock: &RangeLock, patience: Duration) -> Done {
    for record in 0..RECORDS as u64 {
        let torn = post.ledger.records[record as usize].is_torn();
        let told = lock.read_for(record..record + 1, patience)?.acquired().previous_owner_died;
        if torn && !told {
            post.fault(Fault::Torn);
        }
    }
    let mut all = lock.write_for(.., patience)?;
    let told = all.acquired().previous_owner_died;
    post.is_told(told);
    if told {
        all.mark_consistent()?;
    }
    all.unlock()?;
    if lock.read_for(.., patience)?.acquired().previous_owner_died {
        post.fault(Fault::FalseNotice);
    }
    Ok(())
}
