//! Fencing tokens come from blocks that are reserved for the host.

use crate::agents::{BLOCK, NAME, agent_of, linked, next_tokens};
use std::time::Duration;
use support::{NoHang, Place, join, until_waiting};
use turnlock::{Error, LinkedData, inspect};

const SHORT: Duration = Duration::from_millis(20);

#[test]
fn no_entry_gets_a_token_beyond_the_block() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let (agent, linked) = agent_of(&file, &mutex);
    let block = next_tokens(&linked, 3);
    linked.bring_home(block.clone(), LinkedData::Consistent).unwrap();
    let tokens: Vec<u64> = (0..3).map(|_| mutex.lock().unwrap().fencing_token()).collect();
    assert_eq!(tokens, block.clone().collect::<Vec<_>>());
    let error = mutex.lock_for(SHORT).unwrap_err();
    assert!(
        error.to_string().ends_with("it is linked, and its reserved fencing tokens are used up"),
        "{error}"
    );
    assert!(agent.wait(Duration::ZERO).unwrap() && linked.take_wanted(), "the agent is told");
    let end = *block.end();
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| mutex.lock().unwrap().fencing_token());
        until_waiting(&path, NAME, 1);
        linked.extend(end + 2).unwrap();
        assert_eq!(join(waits), end + 1);
    });
    // A block that is not renewed does not keep the agent from moving the lock away, though a program waits for it.
    assert_eq!(mutex.lock().unwrap().fencing_token(), end + 2);
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| mutex.lock().unwrap().fencing_token());
        until_waiting(&path, NAME, 1);
        linked.move_away().unwrap();
        assert!(!linked.is_home());
        linked.bring_home(end + 1000..=end + 1001, LinkedData::Consistent).unwrap();
        assert_eq!(join(waits), end + 1000);
    });
    // What the jump skipped are no acquisitions.
    assert_eq!(inspect::snapshot(&path).unwrap().locks[0].counters.acquisitions, 6);
}

#[test]
fn no_bias_begins_with_few_tokens_left() {
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let (_agent, linked) = agent_of(&file, &mutex);
    let is_biased = || {
        (0..100).for_each(|_| drop(mutex.lock().unwrap()));
        inspect::snapshot(&path).unwrap().locks[0].biased_to.is_some()
    };
    linked.bring_home(next_tokens(&linked, BLOCK / 4), LinkedData::Consistent).unwrap();
    assert!(!is_biased());
    linked.extend(linked.last_token() + BLOCK).unwrap();
    assert!(is_biased());
}

#[test]
fn a_block_is_refused_that_would_let_tokens_fall() {
    let place = Place::new();
    let (file, mutex) = linked(&place.lock_file());
    let (_agent, linked) = agent_of(&file, &mutex);
    let last = linked.last_token();
    let refused = |first: u64, last: u64, why: &str| {
        let error = linked.bring_home(first..=last, LinkedData::Consistent).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)) && error.to_string().contains(why), "{error}");
        assert!(!linked.is_home());
    };
    refused(last, last + 10, &format!("{last} was given out already"));
    refused(last + 2, last + 1, "it has one at least");
    refused(last + 1, 1 << 63, "from 1 to 2^63 - 1");
    assert!(matches!(linked.extend(last + 10), Err(Error::InvalidArgument(_))), "it is away");
    linked.bring_home(last + 1..=last + 10, LinkedData::Consistent).unwrap();
    let error = linked.bring_home(last + 20..=last + 30, LinkedData::Consistent).unwrap_err();
    assert!(error.to_string().contains("the lock is home"), "{error}");
    assert!(linked.extend(1 << 63).is_err());
    linked.extend(last + 5).unwrap();
    assert_eq!(linked.token_end(), last + 10, "a block does not become shorter");
}
