//! Victims that give their slot back.

use super::usual;
use crate::{
    arena::Debt,
    oracle::{Stage, the_living_go_on},
    tracee::{begin, end},
    trial::Trial,
};
use std::{mem::forget, sync::atomic::Ordering::Relaxed, thread};

pub fn closes_a_participant(trial: &Trial) {
    usual(trial, Stage::new(trial), (), |stage| {
        let me = stage.file.participant().unwrap();
        begin();
        drop(me);
        end(trial.arena)
    });
}

/// Which is a death to the next holder.
pub fn closes_a_participant_that_holds(trial: &Trial) {
    usual(trial, Stage::new(trial), (), |stage| {
        let me = stage.file.participant().unwrap();
        let guard = stage.lock.lock_as(&me).unwrap();
        trial.arena.token.fetch_max(guard.fencing_token(), Relaxed);
        trial.arena.a.fetch_add(1, Relaxed);
        forget(guard);
        trial.arena.owes(Debt::Owed);
        begin();
        drop(me);
        end(trial.arena)
    });
}

/// And with it the slot of the thread that does so, and the mapping.
pub fn closes_the_file(trial: &Trial) {
    trial.bystander(|| drop(Stage::new(trial))).join();
    let mut victim = trial.victim(|| {
        let stage = Stage::new(trial);
        begin();
        drop(stage);
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();
    the_living_go_on(trial, Stage::new(trial));
}

/// Up to the very end of the thread, which is when `join` returns.
pub fn ends_a_thread(trial: &Trial) {
    usual(trial, Stage::new(trial), (), |stage| {
        thread::scope(|threads| {
            let thread = threads.spawn(|| {
                stage.lock.lock().unwrap().unlock().unwrap();
                begin();
            });
            thread.join().unwrap();
        });
        end(trial.arena)
    });
}
