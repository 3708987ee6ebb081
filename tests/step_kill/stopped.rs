//! What must be true while a victim is stopped: wherever it stands in the doorway or in the queue, the others go on.

use super::{
    oracle::{Stage, enter, enter_within},
    order::Stood,
    trial::{Bystander, Trial, Victim},
};
use std::{
    path::Path,
    sync::atomic::Ordering::SeqCst,
    time::{Duration, Instant},
};
use support::format::{Format, peek_u64};
use turnlock::{
    Error,
    inspect::{self, Life},
};

/// Nobody passes over one that is inside, or on its way in: longer than it takes to pass over one that is not.
const A_WHILE: Duration = Duration::from_millis(15);
/// In the word `held`: on the way in, if it may.
const TRYING: u64 = u64::MAX;
/// In the bias word: the bias owner's slot, plus 1; and whether it is being revoked.
const SLOT: u64 = 0xffff;
const REVOKED: u64 = 1 << 16;
/// So many times in a row a survivor enters meanwhile: the lock becomes biased to it.
const ENTRIES: u32 = 3;

/// Where the victim stands by what the file says, and whether others may be inside all the same.
fn look_at(trial: &Trial, stage: &Stage, victim: &Victim) -> (Stood, bool) {
    let path = trial.lock_file();
    let format = Format { participants: stage.file.participants().into(), locks: 1 };
    let participants = inspect::snapshot(&path).unwrap().participants;
    let exists = |pid: u32| Path::new("/proc").join(pid.to_string()).exists();
    // A dead one's byte lock is held.
    if participants.iter().any(|other| other.life != Life::Dead && !exists(other.pid)) {
        return (Stood::Reaping, true);
    }
    let own = participants.iter().find(|other| other.pid == victim.pid as u32);
    let Some(slot) = own.map(|own| own.slot as u64) else { return (Stood::Outside, true) };
    let [held, number] = [format.cell(1, slot), format.number(1, slot)].map(|at| peek_u64(&path, at));
    let bias = peek_u64(&path, format.region(1));
    // Another one's bias, which it has not revoked; or its own was revoked, and somebody has entered since.
    let only_tries = match bias & SLOT {
        0 => number == 0,
        owner => owner != slot + 1 && bias & REVOKED == 0,
    };
    match held {
        0 if number == 0 => (Stood::Outside, true),
        0 => (Stood::PassedOver, true),
        TRYING => (Stood::Entering, only_tries),
        _ => (Stood::Inside, false),
    }
}

/// The victim is stopped: it holds up nobody unless it is inside, on its way in, or acts for a dead one.
/// Gives back those `others` that still wait for it.
pub fn the_others_go_on(
    trial: &Trial,
    stage: &Stage,
    victim: &Victim,
    others: Vec<Bystander>,
) -> Vec<Bystander> {
    let (stood, may_be_entered) = look_at(trial, stage, victim);
    let result = &trial.arena.result;
    result.stands(stood);
    let is_in_its_section = trial.arena.inside.load(SeqCst) != 0;
    assert!(!is_in_its_section || stood == Stood::Inside, "in its section, and the file says {stood:?}");
    if matches!(stood, Stood::Outside | Stood::PassedOver) {
        let began = Instant::now();
        others.into_iter().for_each(Bystander::join);
        for _ in 0..ENTRIES {
            enter(trial, &stage.lock, None);
        }
        result.survivors_took(began.elapsed() / ENTRIES);
        return vec![];
    }
    match enter_within(trial, &stage.lock, None, A_WHILE) {
        Ok(_) if may_be_entered => result.stands(Stood::Outside),
        Err(Error::TimedOut) => {}
        entered => panic!("the victim was {stood:?}, and was robbed: {entered:?}"),
    }
    others
}
