//! Victims at locks by messages.
//!
//! What the victim's thread does is stepped: in a call all of the participant's part, messages put and taken included. Its
//! service thread is there, and so is a peer; they are let come to rest after each of its system calls, so that it goes the same
//! way each time.

use super::{alone, has_its_turn, meets_its_fate, one_dies_inside};
use crate::{
    crew::Scenario,
    oracle::{PARTICIPANTS, Stage, enter, the_living_go_on, the_victim_stands_still},
    tracee::{begin, end},
    trial::{Bystander, Trial, Victim},
};
use std::{
    io::{PipeReader, PipeWriter, Read, Write, pipe},
    thread::sleep,
    time::Duration,
};
use support::either::Kind;
use turnlock::{
    MutexAlgorithm,
    inspect::{self, ByMessages},
};

fn stage(trial: &Trial, algorithm: MutexAlgorithm) -> Stage {
    Stage::with(trial, PARTICIPANTS, Kind::Messages(algorithm))
}

/// Alone, or as the only member: with the token of a mesh at home.
pub fn locks(trial: &Trial, algorithm: MutexAlgorithm) {
    usual(trial, stage(trial, algorithm), |stage| {
        enters_once(stage);
        begin();
        takes_its_turn(trial, stage);
    });
}

/// Opens an endpoint at the lock, and begins its service thread.
pub fn joins(trial: &Trial, algorithm: MutexAlgorithm) {
    usual(trial, stage(trial, algorithm), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        takes_its_turn(trial, stage);
    });
}

/// Ends its service thread and its life among the members; it has the token of a mesh.
pub fn leaves(trial: &Trial, algorithm: MutexAlgorithm) {
    usual(trial, stage(trial, algorithm), |stage| {
        let me = stage.file.participant().unwrap();
        stage.lock.lock_as(&me).unwrap().unlock().unwrap();
        begin();
        drop(me);
        end(trial.arena)
    });
}

/// Puts a request into the mailbox of a peer, and takes its answer: of a mesh the token.
pub fn asks_a_peer(trial: &Trial, algorithm: MutexAlgorithm) {
    asks(trial, algorithm, |victim, peer| {
        victim.lets_others_rest(&[&peer.process]);
        victim.go(|_| {});
    });
}

/// Likewise; the answer comes once the victim has fallen asleep.
pub fn waits_for_a_peer(trial: &Trial, algorithm: MutexAlgorithm) {
    asks(trial, algorithm, |victim, peer| {
        peer.process.stop();
        victim.lets_others_rest(&[]);
        let mut has_answered = false;
        victim.go(|call| {
            if call.is_futex_wait() && !has_answered {
                has_answered = true;
                let before = seen(trial).messages;
                peer.process.resume();
                until(|| seen(trial).messages > before);
                peer.process.stop();
            }
        });
    });
}

fn asks(trial: &Trial, algorithm: MutexAlgorithm, go: impl FnOnce(&mut Victim, &Peer)) {
    let stage = stage(trial, algorithm);
    let mut victim = trial.victim(|| {
        enters_once(&stage);
        begin();
        takes_its_turn(trial, &stage);
    });
    // After the victim, so that it has the token.
    let mut peer = Peer::start(trial, &stage);
    peer.comes();
    go(&mut victim, &peer);
    goes_on_with_a_peer(trial, stage, victim, peer);
}

/// It is inside, and a peer waits: the answer, or the token, goes there.
pub fn answers_a_peer(trial: &Trial, algorithm: MutexAlgorithm) {
    let stage = stage(trial, algorithm);
    let mut victim = trial.victim(|| {
        enters_once(&stage);
        trial.arena.is_busy(true);
        let guard = stage.lock.lock().unwrap();
        begin();
        has_its_turn(trial.arena, guard);
        end(trial.arena)
    });
    let peer = Peer::start(trial, &stage);
    until(|| is_waiting(trial));
    peer.process.stop();
    victim.lets_others_rest(&[]);
    victim.go(|_| {});
    goes_on_with_a_peer(trial, stage, victim, peer);
}

/// One has died inside, with the token of a mesh: the victim ends its life, and makes the token anew.
pub fn takes_a_dead_ones_place(trial: &Trial, algorithm: MutexAlgorithm) {
    let stage = stage(trial, algorithm);
    let mut victim = trial.victim(|| {
        enters_once(&stage);
        begin();
        takes_its_turn(trial, &stage);
    });
    one_dies_inside(trial, &stage);
    victim.lets_others_rest(&[]);
    victim.go(|_| {});
    meets_its_fate(trial, &stage, victim, vec![], || ());
    goes_on(trial, stage);
}

fn usual(trial: &Trial, stage: Stage, life: impl FnOnce(&Stage)) {
    let mut victim = trial.victim(|| life(&stage));
    victim.lets_others_rest(&[]);
    victim.go(|_| {});
    the_victim_stands_still(trial, &stage);
    meets_its_fate(trial, &stage, victim, vec![], || ());
    goes_on(trial, stage);
}

fn goes_on(trial: &Trial, stage: Stage) {
    let slot = stage.own.slot();
    enter(trial, &stage.lock, None);
    the_token_is_there_once(trial, &stage, slot);
    the_living_go_on(trial, stage);
}

/// First a survivor asks the peer and the dead one; then the peer does.
fn goes_on_with_a_peer(trial: &Trial, stage: Stage, victim: Victim, mut peer: Peer) {
    meets_its_fate(trial, &stage, victim, vec![], || peer.process.resume());
    enter(trial, &stage.lock, None);
    peer.is_told_to_enter();
    peer.process.join();
    goes_on(trial, stage);
}

/// No other participant wants it, so it is where it was last.
fn the_token_is_there_once(trial: &Trial, stage: &Stage, slot: usize) {
    if let Kind::Messages(MutexAlgorithm::RicartAgrawala) = stage.kind {
        assert_eq!(seen(trial).token_of, Some(slot), "the token is not where it was used last");
    }
}

/// From then on it is a member.
fn enters_once(stage: &Stage) {
    stage.lock.lock().unwrap().unlock().unwrap();
}

fn takes_its_turn(trial: &Trial, stage: &Stage) -> ! {
    trial.arena.is_busy(true);
    has_its_turn(trial.arena, stage.lock.lock().unwrap());
    end(trial.arena)
}

/// A survivor in a process of its own, a member that answers.
struct Peer {
    process: Bystander,
    has_come: PipeReader,
    is_to_enter: PipeWriter,
}

impl Peer {
    /// It enters once, and once more when it is told to.
    fn start(trial: &Trial, stage: &Stage) -> Self {
        let (has_come, mut to_us) = pipe().unwrap();
        let (mut from_us, is_to_enter) = pipe().unwrap();
        let process = trial.bystander(|| {
            enter(trial, &stage.lock, None);
            to_us.write_all(&[1]).unwrap();
            from_us.read_exact(&mut [0]).unwrap();
            enter(trial, &stage.lock, None);
        });
        Self { process, has_come, is_to_enter }
    }

    /// Waits until it has entered once.
    fn comes(&mut self) {
        self.has_come.read_exact(&mut [0]).unwrap();
    }

    fn is_told_to_enter(&mut self) {
        self.is_to_enter.write_all(&[1]).unwrap();
    }
}

fn seen(trial: &Trial) -> ByMessages {
    let status = inspect::snapshot(trial.lock_file()).unwrap();
    status.locks.into_iter().next().unwrap().by_messages.unwrap()
}

fn is_waiting(trial: &Trial) -> bool {
    !inspect::snapshot(trial.lock_file()).unwrap().locks[0].queue.is_empty()
}

fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        sleep(Duration::from_micros(50));
    }
}

/// Scenarios with one algorithm.
macro_rules! of {
    ($algorithm:ident $called:literal: $($play:ident $name:literal),+) => {
        &[$(alone(concat!($called, ": ", $name), |trial| $play(trial, MutexAlgorithm::$algorithm))),+]
    };
}

macro_rules! usual_of {
    ($algorithm:ident $called:literal) => {
        of!($algorithm $called: locks "lock and unlock", joins "join", leaves "leave",
            asks_a_peer "lock, a peer answers", answers_a_peer "unlock, a peer waits")
    };
}

macro_rules! death_of {
    ($algorithm:ident $called:literal) => {
        of!($algorithm $called: takes_a_dead_ones_place "lock, one died inside")
    };
}

// A participant that asks again as long as no peer answers does not fall asleep for good.
macro_rules! sleep_of {
    ($algorithm:ident $called:literal) => {
        of!($algorithm $called: waits_for_a_peer "lock, a peer answers after a sleep")
    };
}

pub const BY_MESSAGES: &[&[Scenario]] =
    &[usual_of!(RicartAgrawala "mesh"), death_of!(RicartAgrawala "mesh"), usual_of!(TokenRing "token ring")];

pub const BY_MESSAGES_IN_LONG_RUNS: &[&[Scenario]] = &[
    sleep_of!(RicartAgrawala "mesh"),
    sleep_of!(TokenRing "token ring"),
    death_of!(TokenRing "token ring"),
    usual_of!(LamportQueue "queue by messages"),
    sleep_of!(LamportQueue "queue by messages"),
    death_of!(LamportQueue "queue by messages"),
    usual_of!(MessageBakery "bakery by messages"),
    death_of!(MessageBakery "bakery by messages"),
];
