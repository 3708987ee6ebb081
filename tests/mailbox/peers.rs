//! Peers that want nothing, are stopped, or die.

use crate::{ALL, lock, seen};
use nix::sys::signal::Signal;
use std::{fs, time::Duration};
use support::{
    NoHang, Place,
    puppet::{Puppet, Said},
    until, until_waiting,
};
use turnlock::{Error, MutexAlgorithm, status::*};

pub fn token_of(said: Said) -> u64 {
    let Said::Taken(token, false) = said else { panic!("{said:?}") };
    token
}

/// Stops it, and waits until all of its threads stand.
pub fn stop(puppet: &Puppet) {
    puppet.0.signal(Signal::SIGSTOP);
    until("all of its threads stand", || {
        let tasks = fs::read_dir(format!("/proc/{}/task", puppet.0.pid())).unwrap();
        tasks.into_iter().all(|task| {
            let stat = fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default();
            stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
        })
    });
}

#[test]
fn processes_take_turns_and_their_fencing_tokens_rise() {
    for algorithm in ALL {
        let _no_hang = NoHang::for_seconds(60);
        let place = Place::new();
        let (_file, mutex) = lock(&place, algorithm);
        let mut puppets = [(); 3].map(|()| Puppet::at(&place.lock_file(), "a"));
        let mut last = mutex.lock().unwrap().fencing_token();
        for _ in 0..5 {
            for puppet in &mut puppets {
                let token = token_of(puppet.ask("lock"));
                assert!(token > last, "{algorithm:?}: {token} after {last}");
                assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))), "{algorithm:?}");
                assert_eq!(puppet.ask("unlock"), Said::Done);
                last = token;
            }
            let token = mutex.lock().unwrap().fencing_token();
            assert!(token > last, "{algorithm:?}: {token} after {last}");
            last = token;
        }
        assert_eq!(seen(&mutex).members.len(), 4, "{algorithm:?}");
        puppets.into_iter().for_each(|puppet| puppet.0.dismiss());
        until("those that have ended have left", || seen(&mutex).members.len() == 1);
        drop(mutex.lock().unwrap());
    }
}

/// A program that only tries, or has no time, finds a dead holder as well as one that waits.
#[test]
fn a_try_removes_a_dead_holder() {
    for algorithm in ALL {
        for limit in [None, Some(Duration::ZERO)] {
            let _no_hang = NoHang::for_seconds(60);
            let place = Place::new();
            let (_file, mutex) = lock(&place, algorithm);
            drop(mutex.lock().unwrap());
            let mut puppet = Puppet::at(&place.lock_file(), "a");
            token_of(puppet.ask("lock"));
            let tries = || limit.map_or_else(|| mutex.try_lock(), |limit| mutex.lock_for(limit));
            assert!(tries().is_err(), "{algorithm:?}: it is alive");
            puppet.0.kill();
            let guard = tries().unwrap_or_else(|error| panic!("{algorithm:?}, {limit:?}: {error}"));
            assert!(guard.acquired().previous_owner_died, "{algorithm:?}, {limit:?}");
        }
    }
}

#[test]
fn an_entry_at_home_takes_no_message_and_another_one_as_many_as_there_are_members() {
    let place = Place::new();
    let (_file, mutex) = lock(&place, MutexAlgorithm::RicartAgrawala);
    let mut puppets = [(); 3].map(|()| Puppet::at(&place.lock_file(), "a"));
    for puppet in &mut puppets {
        token_of(puppet.ask("lock"));
        assert_eq!(puppet.ask("unlock"), Said::Done);
    }
    drop(mutex.lock().unwrap());
    let before = seen(&mutex).messages;
    for _ in 0..100 {
        drop(mutex.lock().unwrap());
    }
    assert_eq!(seen(&mutex).messages, before, "at home");
    token_of(puppets[0].ask("lock"));
    // Three requests, and the token.
    assert_eq!(seen(&mutex).messages, before + 4);
    assert_eq!(puppets[0].ask("unlock"), Said::Done);
}

#[test]
fn a_holder_that_dies_is_told_of_and_the_lock_passes_on() {
    for algorithm in ALL {
        let _no_hang = NoHang::for_seconds(60);
        let place = Place::new();
        let (_file, mutex) = lock(&place, algorithm);
        drop(mutex.lock().unwrap());
        let mut doomed = Puppet::at(&place.lock_file(), "a");
        let token = token_of(doomed.ask("lock"));
        doomed.0.kill();
        let mut guard = mutex.lock().unwrap();
        assert!(guard.acquired().previous_owner_died, "{algorithm:?}");
        assert!(guard.fencing_token() > token, "{algorithm:?}");
        assert_eq!(guard.previous_owner().unwrap().fencing_token, token);
        guard.mark_consistent().unwrap();
        drop(guard);
        assert!(!mutex.lock().unwrap().acquired().previous_owner_died);
    }
}

/// Its token, or its place among those that answer, is lost without anything to repair.
#[test]
fn a_member_that_dies_outside_is_no_news_and_blocks_no_other() {
    for algorithm in ALL {
        let _no_hang = NoHang::for_seconds(60);
        let place = Place::new();
        let (_file, mutex) = lock(&place, algorithm);
        let mut last = mutex.lock().unwrap().fencing_token();
        for _ in 0..3 {
            let mut doomed = Puppet::at(&place.lock_file(), "a");
            let token = token_of(doomed.ask("lock"));
            assert_eq!(doomed.ask("unlock"), Said::Done);
            assert!(token > last);
            if matches!(algorithm, MutexAlgorithm::RicartAgrawala | MutexAlgorithm::TokenRing) {
                assert_ne!(seen(&mutex).token_of, None);
            }
            doomed.0.kill();
            let guard = mutex.lock().unwrap();
            assert!(!guard.acquired().previous_owner_died && guard.fencing_token() > token, "{algorithm:?}");
            last = guard.fencing_token();
        }
    }
}

#[test]
fn a_waiter_that_dies_blocks_no_other() {
    for algorithm in ALL {
        let _no_hang = NoHang::for_seconds(60);
        let place = Place::new();
        let (_file, mutex) = lock(&place, algorithm);
        let guard = mutex.lock().unwrap();
        let mut doomed = Puppet::at(&place.lock_file(), "a");
        doomed.0.tell("lock");
        until_waiting(&place.lock_file(), "a", 1);
        let mut next = Puppet::at(&place.lock_file(), "a");
        next.0.tell("lock");
        until_waiting(&place.lock_file(), "a", 2);
        doomed.0.kill();
        drop(guard);
        token_of(next.hear());
        assert_eq!(next.ask("unlock"), Said::Done);
        assert!(!mutex.lock().unwrap().acquired().previous_owner_died, "{algorithm:?}");
    }
}

/// A stopped member is waited for if it must answer, and for nothing else: no time makes it dead.
#[test]
fn a_stopped_member_that_must_answer_is_waited_for_and_never_taken_for_dead() {
    for algorithm in [MutexAlgorithm::LamportQueue, MutexAlgorithm::MessageBakery] {
        let _no_hang = NoHang::for_seconds(60);
        let place = Place::new();
        let (_file, mutex) = lock(&place, algorithm);
        drop(mutex.lock().unwrap());
        let mut stopped = Puppet::at(&place.lock_file(), "a");
        token_of(stopped.ask("lock"));
        assert_eq!(stopped.ask("unlock"), Said::Done);
        stop(&stopped);
        // More often than a mailbox has room for.
        for _ in 0..9 {
            let told = mutex.lock_for(std::time::Duration::from_millis(1)).err().map(|error| error.code());
            assert_eq!(told, Some(TURNLOCK_ERROR_TIMED_OUT), "{algorithm:?}");
        }
        assert_eq!(seen(&mutex).members.len(), 2);
        stopped.0.signal(Signal::SIGCONT);
        let guard = mutex.lock().unwrap();
        assert!(!guard.acquired().previous_owner_died);
        drop(guard);
        token_of(stopped.ask("lock"));
    }
}

#[test]
fn on_a_mesh_a_stopped_member_without_the_token_is_not_waited_for() {
    let place = Place::new();
    let (_file, mutex) = lock(&place, MutexAlgorithm::RicartAgrawala);
    let mut other = Puppet::at(&place.lock_file(), "a");
    let mut stopped = Puppet::at(&place.lock_file(), "a");
    for puppet in [&mut stopped, &mut other] {
        token_of(puppet.ask("lock"));
        assert_eq!(puppet.ask("unlock"), Said::Done);
    }
    drop(mutex.lock().unwrap());
    stop(&stopped);
    // Each time with a request to the stopped one too, which has room for 16.
    for _ in 0..7 {
        token_of(other.ask("lock"));
        assert_eq!(other.ask("unlock"), Said::Done);
        drop(mutex.lock().unwrap());
    }
    // Its mailboxes are full now or will be: that blocks no member that has the token.
    for _ in 0..100 {
        drop(mutex.lock().unwrap());
    }
    stopped.0.signal(Signal::SIGCONT);
    token_of(stopped.ask("lock"));
}
