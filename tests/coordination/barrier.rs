use crate::party::{a_file, a_party, until_asleep};
use std::{
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
    time::Duration,
};
use support::{Place, actor::Actor};
use turnlock::Error;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn all_go_on_when_the_last_one_comes_again_and_again() {
    const PARTIES: u32 = 4;
    let place = Place::new();
    let (_, file) = a_file(&place);
    let barrier = file.barrier("stage", PARTIES).unwrap();
    let (arrived, last) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|threads| {
        for _ in 0..PARTIES {
            threads.spawn(|| {
                for round in 1..=500 {
                    arrived.fetch_add(1, SeqCst);
                    last.fetch_add(u32::from(barrier.wait().unwrap()), SeqCst);
                    assert!(arrived.load(SeqCst) >= round * PARTIES);
                    barrier.wait().unwrap();
                    assert!(arrived.load(SeqCst) <= (round + 1) * PARTIES);
                }
            });
        }
    });
    assert_eq!(last.into_inner(), 500);
    assert_eq!(barrier.waiting().unwrap(), 0);
}

fn parties(path: &std::path::Path, count: usize) -> Vec<Actor> {
    (0..count).map(|_| a_party(path)).collect()
}

#[test]
fn the_death_of_one_that_waits_breaks_it_for_all_and_is_named() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let barrier = file.barrier("stage", 4).unwrap();
    let mut parties = parties(&path, 3);
    parties.iter_mut().for_each(|party| party.tell("meet stage 60000"));
    until_asleep(&path, "stage", 3);
    let pid = parties[1].pid();
    parties[1].kill();
    for at in [0, 2] {
        let said = parties[at].hear();
        assert!(said.starts_with("broken") && said.contains(&format!("process {pid}")), "{said}");
    }
    // And for those that come later, until a reset.
    assert!(matches!(barrier.wait(), Err(Error::BrokenBarrier(_))));
    assert!(matches!(barrier.check(), Err(Error::BrokenBarrier(_))));
    barrier.reset().unwrap();
    barrier.check().unwrap();
    parties[1] = a_party(&path);
    parties.iter_mut().for_each(|party| party.tell("meet stage 60000"));
    barrier.wait().unwrap();
    parties.iter_mut().for_each(|party| party.expect("done"));
}

#[test]
fn the_last_one_does_not_go_on_without_one_that_died_waiting() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let barrier = file.barrier("stage", 3).unwrap();
    let mut parties = parties(&path, 2);
    parties.iter_mut().for_each(|party| party.tell("meet stage 60000"));
    until_asleep(&path, "stage", 2);
    parties.pop().unwrap().kill();
    assert!(parties[0].hear().starts_with("broken"));
    barrier.reset().unwrap();
    // And where no participant that waits is left to notice it: it was reaped by others.
    let mut alone = a_party(&path);
    let second = file.barrier("second", 2).unwrap();
    alone.tell("meet second 60000");
    until_asleep(&path, "second", 1);
    alone.kill();
    file.reap().unwrap();
    assert!(matches!(second.wait_for(LONG), Err(Error::BrokenBarrier(_))));
}

#[test]
fn the_death_of_a_party_that_is_elsewhere_breaks_it_too() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let _barrier = file.barrier("stage", 2).unwrap();
    let mut parties = parties(&path, 2);
    parties.iter_mut().for_each(|party| party.tell("meet stage 60000"));
    parties.iter_mut().for_each(|party| party.expect("done"));
    let pid = parties[1].pid();
    parties.pop().unwrap().kill();
    // Also one that comes into its slot is told who that was.
    parties.push(a_party(&path));
    parties[1].tell("meet stage 60000");
    let said = parties[1].hear();
    assert!(said.contains(&format!("process {pid}")), "{said}");
    parties[0].tell("meet stage 60000");
    let said = parties[0].hear();
    assert!(said.contains(&format!("process {pid}")), "{said}");
}

#[test]
fn one_that_has_left_in_good_order_is_no_party_any_more() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let barrier = file.barrier("stage", 2).unwrap();
    let mut parties = parties(&path, 2);
    parties.iter_mut().for_each(|party| party.tell("meet stage 60000"));
    parties.iter_mut().for_each(|party| party.expect("done"));
    parties.pop().unwrap().dismiss();
    parties[0].tell("meet stage 60000");
    until_asleep(&path, "stage", 1);
    thread::sleep(Duration::from_millis(150));
    barrier.wait().unwrap();
    parties[0].expect("done");
}

#[test]
fn one_whose_time_is_over_breaks_it_for_the_others() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let barrier = file.barrier("stage", 3).unwrap();
    let mut other = a_party(&path);
    other.tell("meet stage 60000");
    until_asleep(&path, "stage", 1);
    let error = barrier.wait_for(Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, Error::TimedOut(_)), "{error}");
    assert_eq!(error.to_string(), "the time limit passed before all parties had arrived");
    let said = other.hear();
    assert!(said.contains("gave up") && said.contains(&std::process::id().to_string()), "{said}");
}

#[test]
fn an_abort_and_a_reset_end_the_waits() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let barrier = file.barrier("stage", 2).unwrap();
    let mut other = a_party(&path);
    for reset in [false, true] {
        other.tell("meet stage 60000");
        until_asleep(&path, "stage", 1);
        if reset { barrier.reset() } else { barrier.abort() }.unwrap();
        assert!(other.hear().starts_with("broken"));
        barrier.reset().unwrap();
    }
    barrier.check().unwrap();
}

#[test]
fn parties_that_disagree_on_their_number_are_told_so() {
    let place = Place::new();
    let (_, file) = a_file(&place);
    file.barrier("stage", 2).unwrap();
    assert!(matches!(file.barrier("stage", 3), Err(Error::Kind { .. })));
    assert!(matches!(file.barrier("stage", 0), Err(Error::InvalidArgument(_))));
    assert!(matches!(file.barrier("stage", 5_000), Err(Error::InvalidArgument(_))));
    assert_eq!(file.barrier_options().open("stage").unwrap().parties(), 2);
    assert!(matches!(file.barrier_options().open("none"), Err(Error::NotFound { .. })));
}

/// A party that comes right back after a reset has told it so meets the others in the next generation.
#[test]
fn one_that_comes_back_from_a_reset_finds_the_barrier_open() {
    let place = Place::new();
    let (_, file) = a_file(&place);
    let barrier = file.barrier("stage", 2).unwrap();
    for _ in 0..200 {
        thread::scope(|threads| {
            let other = threads.spawn(|| match barrier.wait_for(LONG) {
                Err(Error::BrokenBarrier(_)) => barrier.wait_for(LONG).map(drop),
                met => panic!("{met:?}"),
            });
            while barrier.waiting().unwrap() == 0 {
                thread::yield_now();
            }
            barrier.reset().unwrap();
            barrier.wait_for(LONG).unwrap();
            other.join().unwrap().unwrap();
        });
    }
}
