//! A lock that comes home and goes away.

use crate::agents::{BLOCK, NAME, agent_of, bring_home, linked, next_tokens, passed_over};
use std::time::Duration;
use support::{
    NoHang, Place, join, limit,
    puppet::{Puppet, Said},
    queue_at, until, until_waiting,
};
use turnlock::{Error, LinkedData, LockFile, inspect};

/// The first moments of a wait are no wait yet, for observers.
const SHORT: Duration = Duration::from_millis(20);

#[test]
fn a_program_finds_it_linked_and_waits_until_it_is_home() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, mutex) = linked(&place.lock_file());
    let program = LockFile::open(place.lock_file()).unwrap().mutex(NAME).unwrap();
    assert!(program.is_linked() && mutex.is_linked());
    let (_agent, linked) = agent_of(&file, &mutex);
    assert!(!linked.is_home());
    for refused in [program.try_lock().map(drop), program.lock_for(SHORT).map(drop)] {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::WouldBlock(_) | Error::TimedOut(_)), "{error}");
        assert!(error.to_string().ends_with("it is linked, and away"), "{error}");
    }
    let block = next_tokens(&linked, BLOCK);
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| program.lock().unwrap().fencing_token());
        until_waiting(&place.lock_file(), NAME, 1);
        linked.bring_home(block.clone(), LinkedData::Consistent).unwrap();
        assert_eq!(join(waits), *block.start());
    });
    assert!(linked.is_home());
    assert_eq!((linked.last_token(), linked.token_end()), (*block.start(), *block.end()));
}

#[test]
fn the_agent_is_served_in_its_turn_and_those_behind_it_wait_for_the_next_homecoming() {
    let _no_hang = NoHang::for_seconds(60);
    // A busy machine may not run the agent for so long that it is passed over.
    let served = (0..10).any(|_| is_the_agent_served_before_the_one_behind_it());
    assert!(served, "passed over every time");
}

/// `false`: the agent was passed over.
fn is_the_agent_served_before_the_one_behind_it() -> bool {
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let (_agent, linked) = agent_of(&file, &mutex);
    bring_home(&linked);
    let mut first = Puppet::that_holds(&path, NAME);
    let mut behind = Puppet::at(&path, NAME);
    std::thread::scope(|threads| {
        let moves = threads.spawn(|| linked.move_away());
        until_waiting(&path, NAME, 1);
        behind.0.tell("lock");
        until_waiting(&path, NAME, 2);
        assert!(!moves.is_finished() && linked.is_home(), "a program is inside");
        // Told now: if it passes the agent, it must leave.
        behind.0.tell("unlock");
        assert_eq!(first.ask("unlock"), Said::Done);
        join(moves).unwrap();
    });
    assert!(!linked.is_home());
    if passed_over(&path) > 0 {
        return false;
    }
    // The one behind is at the head of the queue, and not inside.
    let status = inspect::snapshot(&path).unwrap();
    let lock = &status.locks[0];
    assert_eq!((lock.holders.len(), lock.queue.len(), lock.state), (0, 1, "consistent"));
    let link = lock.link.unwrap();
    assert_eq!((link.home, link.token_end), (false, linked.token_end()));
    let token = linked.last_token();
    bring_home(&linked);
    assert_eq!(behind.hear(), Said::Taken(token + 1, false));
    assert_eq!(behind.hear(), Said::Done);
    true
}

#[test]
fn an_agent_that_gives_up_its_wait_leaves_the_lock_home() {
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let (_agent, linked) = agent_of(&file, &mutex);
    bring_home(&linked);
    let mut holder = Puppet::that_holds(&path, NAME);
    let error = linked.move_away_for(SHORT).unwrap_err();
    assert!(
        matches!(error, Error::TimedOut(_)) && error.to_string().contains("(puppet) has had it for"),
        "{error}"
    );
    assert!(linked.is_home());
    assert_eq!(holder.ask("unlock"), Said::Done);
    assert!(matches!(holder.ask("lock"), Said::Taken(..)));
    // A thread that holds the lock would wait for itself.
    assert_eq!(holder.ask("unlock"), Said::Done);
    let guard = mutex.lock().unwrap();
    assert!(matches!(linked.move_away(), Err(Error::Deadlock)));
    drop(guard);
    linked.move_away().unwrap();
    linked.move_away().unwrap();
}

#[test]
fn a_bias_ends_before_the_lock_is_away() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let (_agent, linked) = agent_of(&file, &mutex);
    for _ in 0..3 {
        bring_home(&linked);
        std::thread::scope(|threads| {
            let locks = threads.spawn(|| {
                until("the lock is biased", || {
                    drop(mutex.lock().unwrap());
                    inspect::snapshot(&path).unwrap().locks[0].biased_to.is_some()
                });
                linked.move_away().unwrap();
                assert_eq!(inspect::snapshot(&path).unwrap().locks[0].biased_to, None);
                mutex.lock_for(SHORT).map(drop)
            });
            assert!(matches!(join(locks), Err(Error::TimedOut(_))));
        });
    }
}

#[test]
fn what_a_death_left_goes_along_with_the_lock() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let (_agent, linked) = agent_of(&file, &mutex);
    bring_home(&linked);
    Puppet::that_holds(&path, NAME).0.kill();
    linked.move_away().unwrap();
    assert_eq!(linked.data(), LinkedData::Inconsistent);
    assert_eq!(inspect::snapshot(&path).unwrap().locks[0].state, "inconsistent");
    // The next holder, of whichever host, is told; here it repairs.
    bring_home(&linked);
    let mut guard = mutex.lock().unwrap();
    assert!(guard.acquired().previous_owner_died && mutex.previous_owner().is_some());
    guard.mark_consistent().unwrap();
    drop(guard);
    linked.move_away().unwrap();
    assert_eq!(linked.data(), LinkedData::Consistent);
    // A death at another host.
    linked.bring_home(next_tokens(&linked, BLOCK), LinkedData::Inconsistent).unwrap();
    let guard = mutex.lock().unwrap();
    assert!(guard.acquired().previous_owner_died);
    assert_eq!(mutex.previous_owner(), None, "it died at another host, and the last one here is not it");
    // It does not repair.
    drop(guard);
    linked.move_away().unwrap();
    assert_eq!(linked.data(), LinkedData::NotRecoverable);
    bring_home(&linked);
    assert!(matches!(mutex.lock(), Err(Error::NotRecoverable)));
    mutex.reset().unwrap();
    assert!(!mutex.lock().unwrap().acquired().previous_owner_died);
    // A reset waits for the lock to be home, as any entry.
    linked.move_away().unwrap();
    assert!(matches!(mutex.reset_for(SHORT), Err(Error::TimedOut(_))));
}

#[test]
fn an_agent_sleeps_until_a_program_wants_the_lock() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, mutex) = linked(&place.lock_file());
    let (agent, linked) = agent_of(&file, &mutex);
    assert!(!linked.take_wanted() && !agent.wait(SHORT).unwrap());
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| mutex.lock().unwrap().fencing_token());
        assert!(agent.wait(limit::seconds(30)).unwrap(), "nothing came");
        assert!(linked.take_wanted() && !linked.take_wanted());
        bring_home(&linked);
        join(waits);
    });
    // Also one that does not wait.
    linked.move_away().unwrap();
    linked.take_wanted();
    assert!(mutex.try_lock().is_err());
    assert!(agent.wait(Duration::ZERO).unwrap() && linked.take_wanted());
    // Also one that fails behind a waiter, which has said so before.
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| mutex.lock().unwrap().fencing_token());
        assert!(agent.wait(limit::seconds(30)).unwrap() && linked.take_wanted());
        assert!(mutex.try_lock().is_err());
        assert!(agent.wait(Duration::ZERO).unwrap() && linked.take_wanted());
        bring_home(&linked);
        join(waits);
    });
}

#[test]
fn a_place_in_the_queue_is_kept_while_the_lock_is_away() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let (file, mutex) = linked(&path);
    let (_agent, linked) = agent_of(&file, &mutex);
    let mut line: Vec<Puppet> = (0..3)
        .map(|before| {
            let mut puppet = Puppet::at(&path, NAME);
            puppet.0.tell("lock");
            until_waiting(&path, NAME, before + 1);
            puppet
        })
        .collect();
    let queued = || queue_at(&path, NAME).iter().map(inspect::Waiter::pid).collect::<Vec<_>>();
    let in_order: Vec<_> = line.iter().map(|puppet| puppet.0.pid()).collect();
    // Longer than one that does not come is waited for.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(queued(), in_order);
    assert_eq!(passed_over(&path), 0);
    let first = linked.last_token() + 1;
    // From here on a process that does not run for long enough, on a busy machine, is passed over: each leaves by itself, in
    // whichever order they come.
    line.iter_mut().for_each(|puppet| puppet.0.tell("unlock"));
    bring_home(&linked);
    let mut tokens: Vec<_> = line
        .iter_mut()
        .map(|puppet| {
            let Said::Taken(token, false) = puppet.hear() else { panic!("no holder died") };
            assert_eq!(puppet.hear(), Said::Done);
            token
        })
        .collect();
    if passed_over(&path) > 0 {
        tokens.sort_unstable();
    }
    assert_eq!(tokens, [first, first + 1, first + 2]);
}
