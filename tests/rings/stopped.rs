//! Participants that are stopped: one that takes part on demand is passed over, a member is waited for, and
//! nothing is taken from the one that has its turn.

use super::algorithms;
use nix::sys::signal::Signal;
use std::path::Path;
use support::{
    NoHang, Place,
    puppet::{Puppet, Said},
    queue_at, until, until_waiting,
};
use turnlock::{
    LockFile, RingAlgorithm,
    inspect::{Activity, Life, Waiter},
    status::TURNLOCK_ERROR_TIMED_OUT,
};

const PARTICIPANTS: u32 = 4;

/// A file with a ring, and a process that has its turn.
fn with_a_holder(place: &Place, algorithm: RingAlgorithm) -> Puppet {
    let file = LockFile::options().participants(PARTICIPANTS).open(place.lock_file()).unwrap();
    file.ring_options().algorithm(algorithm).open("a").unwrap();
    let mut holder = Puppet::at_ring(&place.lock_file(), "a", false);
    assert!(matches!(holder.ask("lock"), Said::Taken(_, false)));
    holder
}

/// Waits for its turn, and sleeps.
fn one_waits(path: &Path, member: bool, waiting: usize) -> Puppet {
    let mut puppet = Puppet::at_ring(path, "a", member);
    puppet.0.tell("lock");
    until_waiting(path, "a", waiting);
    until("it sleeps", || activities(path).iter().all(|activity| *activity != Activity::Running));
    puppet
}

fn activities(path: &Path) -> Vec<Activity> {
    queue_at(path, "a").iter().map(|waiter| waiter.activity).collect()
}

fn stop(path: &Path, puppet: &Puppet) {
    puppet.0.signal(Signal::SIGSTOP);
    until("it is seen to be stopped", || {
        let is_it = |waiter: &Waiter| waiter.participant.pid == puppet.0.pid();
        queue_at(path, "a").iter().any(|waiter| is_it(waiter) && waiter.participant.life == Life::Stopped)
    });
}

#[test]
fn one_that_takes_part_on_demand_is_passed_over_and_asks_again() {
    let _no_hang = NoHang::for_seconds(60);
    for algorithm in algorithms(PARTICIPANTS) {
        let place = Place::new();
        let path = place.lock_file();
        let mut holder = with_a_holder(&place, algorithm);
        let mut others: Vec<_> = (1..=3).map(|waiting| one_waits(&path, false, waiting)).collect();
        // Whose turn is next.
        let next = queue_at(&path, "a")[0].participant.pid;
        let at = others.iter().position(|other| other.0.pid() == next).unwrap();
        let mut first = others.remove(at);
        stop(&path, &first);
        assert_eq!(holder.ask("unlock"), Said::Done);
        // Two of the others have a turn each, in whichever order.
        let mut last = 0;
        for _ in 0..2 {
            let then = whose_turn(&mut others, &path);
            let Said::Taken(token, false) = others[then].hear() else {
                panic!("the one before it is stopped")
            };
            assert!(token > last);
            last = token;
            assert!(
                activities(&path).contains(&Activity::PassedOver),
                "{algorithm:?}: {:?}",
                activities(&path)
            );
            assert_eq!(others[then].ask("unlock"), Said::Done);
            others.remove(then);
        }
        first.0.signal(Signal::SIGCONT);
        assert_eq!(first.hear(), Said::Taken(last + 1, false), "{algorithm:?}: it asks again");
        assert_eq!(first.ask("unlock"), Said::Done);
        assert!(activities(&path).is_empty());
    }
}

/// Waits until a participant has its turn, and says which of `others` that is.
fn whose_turn(others: &mut [Puppet], path: &Path) -> usize {
    let mut found = None;
    until("a participant has its turn", || {
        let locks = turnlock::inspect::snapshot(path).unwrap().locks;
        let holder = locks[0].holders.first().map(|holder| holder.participant.pid);
        found = others.iter().position(|other| Some(other.0.pid()) == holder);
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_member_is_waited_for() {
    let _no_hang = NoHang::for_seconds(60);
    for algorithm in algorithms(PARTICIPANTS) {
        let place = Place::new();
        let path = place.lock_file();
        let mut holder = with_a_holder(&place, algorithm);
        let mut member = one_waits(&path, true, 1);
        stop(&path, &member);
        assert_eq!(holder.ask("unlock"), Said::Done);
        // A good deal longer than it takes to pass a participant over.
        assert_eq!(holder.ask("for 300"), Said::Error(TURNLOCK_ERROR_TIMED_OUT));
        member.0.signal(Signal::SIGCONT);
        assert!(matches!(member.hear(), Said::Taken(_, false)));
        assert_eq!(member.ask("unlock"), Said::Done);
    }
}

#[test]
fn from_one_that_has_its_turn_nothing_is_taken() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let mut holder = with_a_holder(&place, RingAlgorithm::Raynal);
    holder.0.signal(Signal::SIGSTOP);
    let mut other = Puppet::at_ring(&path, "a", false);
    assert_eq!(other.ask("for 300"), Said::Error(TURNLOCK_ERROR_TIMED_OUT));
    // Nor does one that is stopped on its way to the ring keep others from it.
    other.0.tell("lock");
    until_waiting(&path, "a", 1);
    stop(&path, &other);
    let mut third = Puppet::at_ring(&path, "a", false);
    third.0.tell("lock");
    until_waiting(&path, "a", 2);
    holder.0.signal(Signal::SIGCONT);
    assert_eq!(holder.ask("unlock"), Said::Done);
    let Said::Taken(token, false) = third.hear() else { panic!("the other one is stopped") };
    assert_eq!(third.ask("unlock"), Said::Done);
    other.0.signal(Signal::SIGCONT);
    assert_eq!(other.hear(), Said::Taken(token + 1, false));
}
