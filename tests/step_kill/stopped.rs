//! What must be true while a victim is stopped: wherever it stands in the doorway or in the queue, or on a ring on demand,
//! the others go on. When it goes on too, it does not enter beside a holder.

use super::{
    oracle::{PATIENCE, Stage, enter, enter_within},
    order::Stood,
    trial::{Bystander, Trial, Victim},
};
use std::{
    path::Path,
    sync::atomic::Ordering::SeqCst,
    time::{Duration, Instant},
};
use support::{
    either::Kind,
    format::{Format, peek_u64},
};
use turnlock::{
    Error,
    inspect::{self, Life, ParticipantStatus},
};

/// For so long no survivor passes over a participant that is inside or on its way in: longer than it takes to pass over one
/// that is not.
pub const A_WHILE: Duration = Duration::from_millis(15);
/// Long enough for a participant to enter, if it may.
const A_MOMENT: Duration = Duration::from_millis(4);
/// In the word `held`: on the way in, if it may.
pub const TRYING: u64 = u64::MAX;
/// In the bias word: the bias owner's slot, plus 1; and whether it is being revoked.
const SLOT: u64 = 0xffff;
const REVOKED: u64 = 1 << 16;
/// A ring's membership, in the eight bytes that it is the first four of; 0 is none.
const MEMBERSHIP: u64 = 0xffff_ffff;
/// So many times in a row a survivor enters meanwhile: the lock becomes biased to it.
const ENTRIES: u32 = 3;

/// Where the victim stands by what the file says, and whether others may be inside all the same. At the lock in `region`.
pub fn look_at(trial: &Trial, stage: &Stage, region: u64, victim: &Victim) -> (Stood, bool) {
    let path = trial.lock_file();
    let format = Format { participants: stage.file.participants().into(), locks: stage.locks };
    let status = inspect::snapshot(&path).unwrap();
    let participants = status.participants;
    if is_a_dead_ones_lock_held(&participants) {
        return (Stood::Reaping, true);
    }
    let own = participants.iter().find(|other| other.pid == victim.pid as u32);
    let Some(slot) = own.map(|own| own.slot as u64) else { return (Stood::Outside, true) };
    let [held, number] =
        [format.cell(region, slot), format.number(region, slot)].map(|at| peek_u64(&path, at));
    if let Kind::Ring(_) = stage.kind {
        let is_member = peek_u64(&path, format.ring_membership(region, slot)) & MEMBERSHIP != 0;
        let has_privilege = status.locks[0].turn_of == Some(slot as usize);
        return stands_on_ring(held, number, is_member, has_privilege);
    }
    let bias = peek_u64(&path, format.region(region));
    // The bias is another participant's, and the victim has not revoked it; or the victim's own was revoked, and another
    // participant has entered since.
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

/// Returns whether a dead one's byte lock is held.
pub fn is_a_dead_ones_lock_held(participants: &[ParticipantStatus]) -> bool {
    let exists = |pid: u32| Path::new("/proc").join(pid.to_string()).exists();
    participants.iter().any(|other| other.life != Life::Dead && !exists(other.pid))
}

/// [`look_at`], of a participant that takes part in a ring on demand. While it does not step back, no other participant takes
/// the privilege from it.
fn stands_on_ring(held: u64, number: u64, is_member: bool, has_privilege: bool) -> (Stood, bool) {
    let may_be_entered = !(is_member && has_privilege);
    match held {
        0 if number == 0 && !is_member => (Stood::Outside, true),
        0 => (Stood::PassedOver, true),
        TRYING if number != 0 => (Stood::Reconfiguring, may_be_entered),
        TRYING => (Stood::Entering, may_be_entered),
        _ => (Stood::Inside, false),
    }
}

/// The victim is stopped: it holds up no participant unless it is inside, on its way in, or acts for a dead one. Returns
/// those `others` that still wait for it.
pub fn the_others_go_on(
    trial: &Trial,
    stage: &Stage,
    victim: &mut Victim,
    others: Vec<Bystander>,
) -> Vec<Bystander> {
    let (stood, may_be_entered) = look_at(trial, stage, stage.region, victim);
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
        if let Kind::Ring(_) = stage.kind {
            it_does_not_come_in(trial, stage, victim);
        }
        return vec![];
    }
    match enter_within(trial, &stage.lock, None, A_WHILE) {
        Ok(_) if may_be_entered => result.stands(Stood::Outside),
        Err(Error::TimedOut(_)) => {}
        entered => panic!("the victim was {stood:?}, and was robbed: {entered:?}"),
    }
    others
}

/// A survivor is inside, and the victim goes on: it does not enter, and lets no third participant in.
fn it_does_not_come_in(trial: &Trial, stage: &Stage, victim: &mut Victim) {
    let arena = trial.arena;
    let guard = stage.lock.lock_for(PATIENCE).unwrap();
    arena.token.store(guard.fencing_token(), SeqCst);
    let entries = arena.a.load(SeqCst);
    victim.go_to_its_sleep();
    let newcomer = stage.file.participant().unwrap();
    let robbed = stage.lock.lock_for_as(&newcomer, A_MOMENT).err();
    assert!(matches!(robbed, Some(Error::TimedOut(_))), "a survivor was robbed by a third one: {robbed:?}");
    assert_eq!(
        arena.a.load(SeqCst),
        entries,
        "a survivor was robbed by the victim, which it had passed over"
    );
    let turn_of = inspect::snapshot(trial.lock_file()).unwrap().locks[0].turn_of;
    assert_eq!(turn_of, Some(stage.own.slot()), "a survivor was robbed: the privilege is elsewhere");
    guard.unlock().unwrap();
}
