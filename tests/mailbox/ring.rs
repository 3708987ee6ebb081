//! The two tokens of a ring in a file: they rest, and what is lost of them is made anew.

use crate::{lock, peers::stop, peers::token_of, seen};
use nix::sys::signal::Signal;
use std::time::Duration;
use support::{
    NoHang, Place,
    puppet::{Puppet, Said},
    until,
};
use turnlock::{LockFile, Mutex, MutexAlgorithm, status::*};

/// This process is in slot 0, and the puppets are in the slots from 1 on, each having entered once, in that order.
fn members<const N: usize>(place: &Place) -> (LockFile, Mutex, [Puppet; N]) {
    let (file, mutex) = lock(place, MutexAlgorithm::TokenRing);
    drop(mutex.lock().unwrap());
    let puppets = [(); N].map(|()| {
        let mut puppet = Puppet::at(&place.lock_file(), "a");
        enters(&mut puppet);
        puppet
    });
    assert_eq!(seen(&mutex).members, (0..=N).collect::<Vec<_>>());
    (file, mutex, puppets)
}

fn enters(puppet: &mut Puppet) -> u64 {
    let token = token_of(puppet.ask("lock"));
    assert_eq!(puppet.ask("unlock"), Said::Done);
    token
}

#[test]
fn an_entry_at_home_takes_no_message_and_another_one_a_hop_for_each_on_the_way() {
    let place = Place::new();
    let (_file, mutex, mut puppets) = members::<3>(&place);
    let mut before = seen(&mutex).messages;
    // From slot 3 to 0; there; to 3, past 1 and 2; to 1, past 0.
    let mut hops = |mutex: &Mutex, hops: u64| {
        let now = seen(mutex);
        assert_eq!(now.messages, before + hops);
        before = now.messages;
        now.token_of
    };
    drop(mutex.lock().unwrap());
    assert_eq!(hops(&mutex, 1), Some(0));
    for _ in 0..100 {
        drop(mutex.lock().unwrap());
    }
    assert_eq!(hops(&mutex, 0), Some(0));
    enters(&mut puppets[2]);
    assert_eq!(hops(&mutex, 3), Some(3));
    enters(&mut puppets[0]);
    assert_eq!(hops(&mutex, 2), Some(1));
    // The second token has been where it was made all the time.
    assert_eq!(seen(&mutex).second_token_of, Some(0));
}

#[test]
fn the_privilege_that_died_is_made_anew_by_the_token_that_is_left() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (_file, mutex, mut puppets) = members::<3>(&place);
    let token = token_of(puppets[1].ask("lock"));
    assert_eq!((seen(&mutex).token_of, seen(&mutex).second_token_of), (Some(2), Some(0)));
    let before = seen(&mutex).messages;
    puppets[1].0.kill();
    let Said::Taken(next, true) = puppets[2].ask("lock") else { panic!("the next one is told of the death") };
    assert!(next > token, "{next} after {token}");
    // Once round and on to where it was found out, at least: 0, 1, 3, 0; and the privilege from there to 3.
    let now = seen(&mutex);
    assert!(now.token_of == Some(3) && now.second_token_of.is_some(), "{now:?}");
    assert!(now.messages >= before + 3, "{now:?} after {before}");
}

#[test]
fn both_tokens_that_died_are_made_anew_by_one_that_waits() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (_file, mutex) = lock(&place, MutexAlgorithm::TokenRing);
    let mut doomed = Puppet::at(&place.lock_file(), "a");
    let token = enters(&mut doomed);
    let both = seen(&mutex);
    assert!(both.token_of.is_some() && both.second_token_of == both.token_of, "{both:?}");
    doomed.0.kill();
    let guard = mutex.lock().unwrap();
    assert!(guard.fencing_token() > token && !guard.acquired().previous_owner_died);
    let both = seen(&mutex);
    assert!(both.members.len() == 1 && both.second_token_of == both.token_of, "{both:?}");
}

/// A token stays with a stopped member, also where that one wants nothing.
#[test]
fn a_stopped_member_on_the_way_is_waited_for_and_never_passed_over() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (_file, mutex, mut puppets) = members::<2>(&place);
    drop(mutex.lock().unwrap());
    // From slot 0 to 2 the way is past 1.
    stop(&puppets[0]);
    puppets[1].0.tell("lock");
    until("the token is on its way to the stopped one", || seen(&mutex).token_of == Some(1));
    let told = mutex.lock_for(Duration::from_millis(1)).err().map(|error| error.code());
    assert_eq!(told, Some(TURNLOCK_ERROR_TIMED_OUT));
    assert_eq!((seen(&mutex).token_of, seen(&mutex).members.len()), (Some(1), 3));
    puppets[0].0.signal(Signal::SIGCONT);
    token_of(puppets[1].hear());
}

/// A member that leaves takes what it has of tokens with it, and no other has anything to repair.
#[test]
fn one_that_is_detached_with_the_privilege_leaves_the_ring_to_the_others() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (_file, mutex, mut puppets) = members::<1>(&place);
    let mut last = 0;
    for _ in 0..3 {
        let mut leaves = Puppet::at(&place.lock_file(), "a");
        let token = enters(&mut leaves);
        assert!(token > last, "{token} after {last}");
        leaves.0.dismiss();
        until("it has left", || seen(&mutex).members.len() == 2);
        last = enters(&mut puppets[0]);
        assert!(last > token, "{last} after {token}");
    }
}
