//! What must be true while a victim at a condition, an event, a barrier or a once is stopped: the others go on, but for those that
//! need the lock or the work that it has, or wait for it as a party, and for the notification of a dead one that it reaps. When it
//! goes on too, it comes to its end.

use super::{
    beside::{
        NAMED, REGION, WAITING, a_notification_reaches_the_living, entries, party, the_living_meet, waiter,
    },
    oracle::{PATIENCE, Stage, the_living_go_on},
    order::Stood,
    stopped::{A_WHILE, is_a_dead_ones_lock_held, look_at, the_others_go_on},
    trial::{Bystander, Trial, Victim},
};
use support::until;
use turnlock::{Error, OnceRun, inspect};

/// The victim goes on to its end, and is gone.
fn goes_on(mut victim: Victim) {
    victim.go_to_its_end();
    victim.kill();
}

/// Notifies those that wait by now, one by one.
fn notify_all_that_wait(trial: &Trial, stage: &Stage) {
    let condition = stage.file.condition(NAMED).unwrap();
    for _ in 0..entries(trial, WAITING) {
        assert_eq!(condition.notify_one().unwrap(), 1, "a stopped participant keeps another from notifying");
    }
}

/// The victim is a waiter, stopped in its wait or beside it. A stopped waiter has its notification, and keeps no other from the next.
pub fn a_waiter(trial: &Trial, stage: Stage, mut victim: Victim, other: Option<Bystander>) {
    victim.stop();
    let has_other = other.is_some();
    if has_other {
        notify_all_that_wait(trial, &stage);
    }
    let mut still_wait = the_others_go_on(trial, &stage, &mut victim, other.into_iter().collect());
    let (stood, _) = look_at(trial, &stage, stage.region, &victim);
    if !has_other && matches!(stood, Stood::Outside | Stood::PassedOver) {
        let before = entries(trial, WAITING);
        let living = waiter(trial, &stage);
        until("another one waits", || entries(trial, WAITING) > before);
        notify_all_that_wait(trial, &stage);
        still_wait.push(living);
        still_wait = the_others_go_on(trial, &stage, &mut victim, still_wait);
        assert!(still_wait.is_empty());
    }
    victim.go_to_its_end_by(|call| {
        if call.is_futex_wait() {
            notify_all_that_wait(trial, &stage);
        }
    });
    victim.kill();
    still_wait.into_iter().for_each(Bystander::join);
    a_notification_reaches_the_living(trial, &stage);
    the_living_go_on(trial, stage);
}

/// The victim is a waiter whose nap passes the notification of a dead one on. Another that waits gets it meanwhile.
pub fn a_waiter_in_its_nap(trial: &Trial, stage: Stage, mut victim: Victim, other: Bystander) {
    victim.stop();
    other.resume();
    let still_wait = the_others_go_on(trial, &stage, &mut victim, vec![other]);
    goes_on(victim);
    still_wait.into_iter().for_each(Bystander::join);
    a_notification_reaches_the_living(trial, &stage);
    the_living_go_on(trial, stage);
}

/// The victim is a notifier. Those that it got to go on, and the rest by us.
pub fn a_notifier<const N: usize>(trial: &Trial, stage: Stage, mut victim: Victim, others: [Bystander; N]) {
    victim.stop();
    notify_all_that_wait(trial, &stage);
    others.into_iter().for_each(Bystander::join);
    a_notification_reaches_the_living(trial, &stage);
    goes_on(victim);
    the_living_go_on(trial, stage);
}

/// The victim has notified one that is dead, or is about to: the other one gets the notification, whatever the victim has done of that.
pub fn a_notifier_where_one_died(trial: &Trial, stage: Stage, mut victim: Victim, other: Bystander) {
    victim.stop();
    let participants = inspect::snapshot(trial.lock_file()).unwrap().participants;
    // While it reaps the dead one, that one's notification waits for it, and the next one does not.
    let reaps = is_a_dead_ones_lock_held(&participants);
    trial.arena.result.stands(if reaps { Stood::Reaping } else { Stood::Outside });
    other.resume();
    if entries(trial, WAITING) == 2 || reaps {
        let notified = stage.file.condition(NAMED).unwrap().notify_one().unwrap();
        // It may have found what the dead one left already.
        assert!(notified == 1 || reaps, "a stopped participant keeps another from notifying");
    }
    other.join();
    goes_on(victim);
    a_notification_reaches_the_living(trial, &stage);
    the_living_go_on(trial, stage);
}

/// The victim sets an event, for which another one waits.
pub fn a_setter(trial: &Trial, stage: Stage, mut victim: Victim, other: Bystander) {
    victim.stop();
    let event = stage.file.event(NAMED).unwrap();
    if !event.is_set().unwrap() {
        assert!(event.set().unwrap());
    }
    other.join();
    assert!(event.clear().unwrap() && event.set().unwrap());
    event.wait_for(PATIENCE).unwrap();
    drop(event);
    goes_on(victim);
    the_living_go_on(trial, stage);
}

/// The victim waits at an event, which another one sets.
pub fn one_that_awaits_an_event(trial: &Trial, stage: Stage, mut victim: Victim) {
    victim.stop();
    let event = stage.file.event(NAMED).unwrap();
    let other = trial.bystander(|| stage.file.event(NAMED).unwrap().wait_for(PATIENCE).unwrap());
    _ = event.set().unwrap();
    other.join();
    drop(event);
    goes_on(victim);
    the_living_go_on(trial, stage);
}

/// The victim is to be the last at a barrier of two. If it was counted, the other one goes on without its help; if not, that one waits
/// for it until it breaks the barrier.
pub fn the_last_at_a_barrier(trial: &Trial, stage: Stage, mut victim: Victim, other: Bystander) {
    victim.stop();
    let barrier = stage.file.barrier(NAMED, 2).unwrap();
    if barrier.waiting().unwrap() == 1 {
        trial.arena.result.stands(Stood::Entering);
        barrier.abort().unwrap();
    }
    other.join();
    the_living_meet(trial, &stage);
    drop(barrier);
    goes_on(victim);
    the_living_go_on(trial, stage);
}

/// The victim waits at a barrier of two. If it was counted, the other one comes and goes on.
pub fn one_that_waits_at_a_barrier(
    trial: &Trial,
    stage: Stage,
    mut victim: Victim,
    other: Option<Bystander>,
) {
    victim.stop();
    let barrier = stage.file.barrier(NAMED, 2).unwrap();
    let was_counted = other.is_some() || barrier.waiting().unwrap() == 1;
    let other = other.unwrap_or_else(|| party(trial, &stage));
    drop(barrier);
    if was_counted {
        other.join();
        goes_on(victim);
    } else {
        trial.arena.result.stands(Stood::Entering);
        goes_on(victim);
        other.join();
    }
    the_living_meet(trial, &stage);
    the_living_go_on(trial, stage);
}

/// The victim resets a barrier at which another one waits: that one is told so, and others meet.
pub fn one_that_resets_a_barrier(trial: &Trial, stage: Stage, mut victim: Victim, other: Bystander) {
    victim.stop();
    stage.file.barrier(NAMED, 2).unwrap().reset().unwrap();
    other.join();
    the_living_meet(trial, &stage);
    goes_on(victim);
    the_living_meet(trial, &stage);
    the_living_go_on(trial, stage);
}

/// The victim runs a once: the others wait for it from its entry step on, and for nothing else.
pub fn one_that_runs_a_once(trial: &Trial, stage: Stage, mut victim: Victim) {
    victim.stop();
    let once = stage.file.once(NAMED).unwrap();
    let was_done = once.is_done().unwrap();
    let (stood, may_be_entered) = look_at(trial, &stage, REGION, &victim);
    trial.arena.result.stands(stood);
    let is_outside = matches!(stood, Stood::Outside | Stood::PassedOver);
    match once.begin_for(if is_outside || was_done { PATIENCE } else { A_WHILE }) {
        Ok(None) => assert!(was_done, "it is not done, and need not be done"),
        Ok(Some(run)) if may_be_entered && !was_done => OnceRun::complete(run).unwrap(),
        Err(Error::TimedOut(_)) if !is_outside && !was_done => {}
        begun => panic!("the victim was {stood:?}, done: {was_done}; another one: {begun:?}"),
    }
    goes_on(victim);
    assert!(once.is_done().unwrap());
    trial.arena.is_repaired();
    drop(once);
    the_living_go_on(trial, stage);
}
