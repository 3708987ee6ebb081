//! `kill -9` at any moment, and other ends: the others go on, and the next holder is told.

use std::{
    thread,
    time::{Duration, Instant},
};
use support::{
    self, NoHang, Place,
    actor::{Actor, hear, say},
    format::{Format, peek_u64},
    join, limit,
    puppet::{Puppet, Said},
    torture::torture,
    until, until_waiting,
};
use turnlock::{LockFile, inspect::WaiterState};

#[test]
fn kill_9_at_a_random_moment_1000_times_neither_hangs_nor_double_enters_the_others() {
    let _no_hang = NoHang::for_seconds(120);
    // With more workers than processors, and with as many, which tests other races.
    for (workers, kills, seed) in [(5, 500, 1), (2, 500, 2)] {
        let report = torture(&Place::new(), workers, kills, seed, "");
        println!("{workers} workers: {report}");
        assert!(report.violations.is_empty(), "{report}");
        assert_eq!(report.died_inside_untold, 0, "{report}");
        // Or the torture was none.
        assert!(report.died_inside > kills / 20 && report.kills.len() >= 3, "{report}");
        assert!(report.entries > kills as u64, "{report}");
    }
}

/// A torture that catches nothing shows nothing. What the processor does to missing fences it does in optimised code.
#[cfg(feature = "mutants")]
#[test]
fn the_torture_catches_bugs() {
    let in_any_build = ["NoChoosing", "NoTieBreak", "NoHeld"].as_slice();
    let optimised = ["NoFenceAfterChoosing", "NoFenceBeforeWait"].as_slice();
    for mutant in [in_any_build, if cfg!(debug_assertions) { &[] } else { optimised }].concat() {
        let _no_hang = NoHang::for_seconds(500);
        // Far longer than it takes as a rule.
        let (began, limit) = (Instant::now(), limit::seconds(300));
        let seeds = (1..).take_while(|seed| *seed <= 20 || began.elapsed() < limit);
        let mut reports = seeds.map(|seed| torture(&Place::new(), 2, 500, seed, mutant));
        let caught = reports.find(|report| !report.violations.is_empty());
        println!("{mutant}: {}", caught.unwrap_or_else(|| panic!("{mutant} was not caught")));
    }
}

#[test]
fn one_killed_in_the_queue_does_not_block_those_behind() {
    let _no_hang = NoHang::for_seconds(30);
    let place = Place::new();
    let path = place.lock_file();
    let mut holder = Puppet::that_holds(&path, "a");
    let mut line: Vec<_> = (0..4)
        .map(|waiting| {
            let mut puppet = Puppet::at(&path, "a");
            puppet.0.tell("lock");
            until_waiting(&path, "a", waiting + 1);
            puppet
        })
        .collect();
    // The one in the middle, and the one that is next.
    line.remove(2).0.kill();
    line.remove(0).0.kill();
    assert_eq!(holder.ask("unlock"), Said::Done);
    let mut tokens = Vec::new();
    for mut puppet in line {
        match puppet.hear() {
            Said::Taken(token, false) => tokens.push(token),
            said => panic!("{said:?}"),
        }
        assert_eq!(puppet.ask("unlock"), Said::Done);
    }
    assert!(tokens.is_sorted());
    assert!(support::queue_at(&path, "a").is_empty());
}

/// It is in no other's way and is shown no more, and the next participant in its slot finds no trace of its wait.
#[test]
fn one_killed_while_it_stands_by_leaves_nothing() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().participants(4).locks(1).open(&path).unwrap();
    let mutex = file.mutex_options().patience(Duration::from_secs(3600)).open("a").unwrap();
    let guard = mutex.lock().unwrap();
    let mut puppet = Puppet::at(&path, "a");
    puppet.0.tell("lock");
    let backed_off = || {
        let line = support::queue_at(&path, "a");
        line.first().filter(|one| one.state == WaiterState::BackedOff).map(|one| one.participant.slot)
    };
    until("it backs off", || backed_off().is_some());
    let slot = backed_off().unwrap();
    let shape = Format { participants: 4, locks: 1 };
    // Now and then it stands in the queue for a moment, to look.
    until("it is stopped outside of the queue", || {
        puppet.0.signal(nix::sys::signal::Signal::SIGSTOP);
        until("it is stopped", || {
            support::queue_at(&path, "a")[0].participant.life == turnlock::inspect::Life::Stopped
        });
        let is_outside = peek_u64(&path, shape.number(1, slot as u64)) == 0;
        if !is_outside {
            puppet.0.signal(nix::sys::signal::Signal::SIGCONT);
        }
        is_outside
    });
    puppet.0.kill();
    assert_ne!(peek_u64(&path, shape.waiting_since(1, slot as u64)), 0);
    assert!(support::queue_at(&path, "a").is_empty());
    let newcomers: Vec<_> = (0..3).map(|_| file.participant().unwrap()).collect();
    assert!(newcomers.iter().any(|newcomer| newcomer.slot() == slot));
    assert_eq!(peek_u64(&path, shape.waiting_since(1, slot as u64)), 0);
    assert!(!guard.is_contended());
    drop(guard);
}

#[test]
fn a_waiter_is_told_soon_after_the_holder_was_killed() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    let mut latencies = Vec::new();
    for round in 0..30 {
        let mut holder = Puppet::that_holds(&path, "a");
        thread::scope(|threads| {
            let waiter = threads.spawn(|| {
                let mut guard = mutex.lock().unwrap();
                let told = Instant::now();
                assert!(guard.acquired().previous_owner_died);
                guard.mark_consistent().unwrap();
                (told, guard.previous_owner().unwrap())
            });
            until_waiting(&path, "a", 1);
            // A wait that is younger and older: the waiter asks less often the longer it waits.
            thread::sleep(Duration::from_millis(round * 5));
            let killed = Instant::now();
            holder.0.kill_without_waiting();
            let (told, dead) = join(waiter);
            assert_eq!(dead.pid, holder.0.pid());
            latencies.push(told.duration_since(killed));
        });
    }
    latencies.sort();
    let (median, worst) = (latencies[latencies.len() / 2], latencies[latencies.len() - 1]);
    println!("kill -9 to notice: median {median:?}, worst {worst:?}");
    assert!(worst < limit::seconds(20), "{worst:?}");
}

/// Words: the lock file.
pub fn ends_holding(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    say(&format!("holding {}", guard.fencing_token()));
    let how = hear();
    if how == "exit" {
        std::process::exit(0);
    }
    std::process::abort();
}

#[test]
fn a_process_that_exits_or_aborts_while_holding_is_told_of() {
    let _no_hang = NoHang::for_seconds(30);
    let place = Place::new();
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    for how in ["exit", "abort"] {
        let mut actor = Actor::start("ends_holding", &[path.to_str().unwrap()]);
        let token = actor.expect_number("holding");
        actor.tell(how);
        let mut guard = mutex.lock().unwrap();
        assert!(guard.acquired().previous_owner_died, "{how}");
        let dead = guard.previous_owner().unwrap();
        assert_eq!((dead.pid, dead.fencing_token), (actor.pid(), token));
        guard.mark_consistent().unwrap();
    }
}
