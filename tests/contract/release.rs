//! What happens after a holder died inside, where its death needs no repair.

use crate::{
    owner_dead::a_holder_dies,
    stage::{Stage, take_and_give_back},
    way::{Held, Party, Wait, Way},
};
use support::elsewhere;

pub fn the_next_holder_is_told_and_need_not_repair<W: Way>() {
    let stage = Stage::<W>::new();
    // It keeps what its creator said, and those that open it later ask for none.
    let party = stage.way.party_where_death_releases("a").unwrap();
    for _ in 0..2 {
        let dead = a_holder_dies(&stage, "a");
        let held = party.lock(Wait::Never).unwrap();
        assert!(held.previous_owner_died());
        assert!(held.fencing_token() > dead.fencing_token);
        assert_eq!(party.previous_owner().map(|(token, ..)| token), Some(dead.fencing_token));
        held.unlock().unwrap();
        // It is told once.
        stage.another_thread_can_take("a");
        take_and_give_back(&party);
    }
}

pub fn a_death_that_needs_no_repair_may_be_marked_all_the_same<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.way.party_where_death_releases("a").unwrap();
    a_holder_dies(&stage, "a");
    for died in [true, false] {
        let mut held = party.lock(Wait::Never).unwrap();
        assert_eq!(held.previous_owner_died(), died);
        held.mark_consistent().unwrap();
        held.mark_consistent().unwrap();
        held.unlock().unwrap();
    }
    stage.another_thread_can_take("a");
}

pub fn a_holder_that_was_told_and_dies_is_the_next_one_s_news<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.way.party_where_death_releases("a").unwrap();
    a_holder_dies(&stage, "a");
    let told = elsewhere(|| {
        let other = stage.by_thread("a");
        let held = other.lock(Wait::Never).unwrap();
        let told = (held.previous_owner_died(), held.fencing_token());
        std::mem::forget(held);
        told
    });
    assert!(told.0);
    let held = party.lock(Wait::Never).unwrap();
    assert!(held.previous_owner_died());
    assert_eq!(party.previous_owner().map(|(token, ..)| token), Some(told.1));
    held.unlock().unwrap();
    stage.another_thread_can_take("a");
}
