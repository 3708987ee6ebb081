//! Groups, whose members write each a record of its own, beside one another.

use super::{
    Done, Phase, Post, Way,
    ledger::{Hold, Mode},
    ranges::is_forgiven,
};
use crate::arena::{Fault, MAX_WORKERS};
use std::{sync::atomic::Ordering::SeqCst, time::Duration};
use support::Dice;
use turnlock::{Acquired, Error, GroupLock, Result};

/// How many groups there are; one more is that of the survivor.
const GROUPS: u64 = 3;
/// Which worker resets the lock.
const RESETTER: usize = 0;

pub fn turn(post: &Post, lock: &GroupLock, dice: &mut Dice) -> Done {
    use Phase::*;
    if post.me == RESETTER && (is_forgiven(post.ledger) || post.goes(dice, 4, &[Reset])) {
        return reset(post, lock);
    }
    let (group, way) = (dice.roll(GROUPS), post.way(dice));
    post.ledger.risks(post.me, true);
    post.is_at(EnterGroup);
    macro_rules! enter {
        ($guard:expr) => {{
            let mut guard = $guard;
            let acquired = guard.acquired();
            let half_done = inside(post, group, acquired, || guard.mark_consistent(), dice)?;
            post.ledger.leaves(post.me, 0);
            post.is_at(LeaveGroup);
            if half_done { guard.abandon() } else { guard.unlock() }
        }};
    }
    match way {
        Way::Try => enter!(lock.try_lock(group)?),
        Way::For(limit) => enter!(lock.lock_for(group, limit)?),
        Way::Wait => enter!(lock.lock(group)?),
        Way::AsParticipant => {
            let participant = post.file.participant()?;
            enter!(lock.lock_as(&participant, group)?)
        }
    }
}

/// Is inside with its group. Returns whether to leave as a dying member does.
fn inside(
    post: &Post,
    group: u64,
    acquired: Acquired,
    mark: impl FnOnce() -> Result<()>,
    dice: &mut Dice,
) -> Result<bool> {
    let (ledger, me) = (post.ledger, post.me);
    let Acquired { fencing_token, previous_owner_died: told, .. } = acquired;
    enters(post, group);
    post.is_told(told);
    for worker in 0..MAX_WORKERS {
        let (of_theirs, token) = ledger.section_of(worker);
        if of_theirs != group && token >= fencing_token {
            post.fault(Fault::Token);
        }
    }
    if told {
        post.is_at(Phase::MarkConsistent);
        repairs(post, mark)?;
    } else if is_torn_by_another_group(post, group) {
        post.fault(Fault::Torn);
    }
    post.is_at(Phase::InsideGroup);
    let record = &ledger.records[me];
    // Of a member of this group that died in this worker's place, which no participant has had to wait for yet.
    if record.is_torn() {
        post.stays(dice);
        return Ok(false);
    }
    ledger.begins_section(me, group, fencing_token);
    record.begin_to_write();
    if !told && post.abandons(dice) {
        return Ok(true);
    }
    post.stays(dice);
    // Not as one more: another member may have repaired it, for one that died.
    record.repair();
    post.goes_on();
    Ok(false)
}

fn enters(post: &Post, group: u64) {
    let hold = Hold { mode: Mode::Group, first: group as usize, last: group as usize };
    if post.ledger.enters(post.arena, post.me, 0, hold) {
        post.fault(Fault::DoubleEntry);
    }
}

/// Another member that was told too may have marked it, or do so meanwhile.
fn repairs(post: &Post, mark: impl FnOnce() -> Result<()>) -> Done {
    post.ledger.records.iter().filter(|record| record.is_torn()).for_each(|record| record.repair());
    match mark() {
        Err(Error::NotInconsistent) => Ok(()),
        marked => marked,
    }
}

/// Returns whether a member of another group, which is outside by now or dead, has left its record half-done.
fn is_torn_by_another_group(post: &Post, group: u64) -> bool {
    let is_torn = |worker: usize| {
        let section = post.ledger.section_of(worker);
        let torn = post.ledger.records[worker].is_torn() && section.0 != group;
        // If it was not torn by the same section, it is of a member of this group that has come meanwhile.
        torn && post.ledger.section_of(worker) == section && post.ledger.records[worker].is_torn()
    };
    !is_forgiven(post.ledger) && (0..MAX_WORKERS).any(is_torn) && !is_forgiven(post.ledger)
}

/// What may be wrong is marked consistent, by one that is not inside; then it looks after all records. Meanwhile one may be torn
/// without a notice.
fn reset(post: &Post, lock: &GroupLock) -> Done {
    post.ledger.amnesty.store(1, SeqCst);
    let deaths = post.ledger.risky_deaths();
    // It may be killed while it has the lock, to reset it.
    post.ledger.risks(post.me, true);
    post.is_at(Phase::Reset);
    lock.reset()?;
    post.ledger.accounts_for(deaths);
    let guard = lock.lock(GROUPS)?;
    enters(post, GROUPS);
    post.ledger.records.iter().for_each(|record| record.repair());
    post.ledger.amnesty.store(0, SeqCst);
    post.goes_on();
    post.ledger.leaves(post.me, 0);
    guard.unlock()
}

/// When all workers are dead.
pub fn survives(post: &Post, lock: &GroupLock, patience: Duration) -> Done {
    let guard = lock.lock_for(GROUPS + 1, patience)?;
    let told = guard.acquired().previous_owner_died;
    if !told && is_torn_by_another_group(post, GROUPS + 1) {
        post.fault(Fault::Torn);
    }
    guard.unlock()?;
    lock.reset_for(patience)?;
    for group in 0..GROUPS {
        if lock.lock_for(group, patience)?.acquired().previous_owner_died {
            post.fault(Fault::FalseNotice);
        }
    }
    Ok(())
}
