//! Real processes: they exclude each other, and whatever happens to one of them (`kill -9` at any moment, fork, exec,
//! the end of a thread) the others go on, and the next holder is told.
#![cfg(not(any(loom, shuttle)))]

mod support;

use nix::{
    sys::{
        signal::kill,
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, fork},
};
use std::{
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    elsewhere, join,
    puppet::{Puppet, Said, puppet},
    shared::{Barrier, Plain, Shareable, Shared},
    torture::{torture, tortured},
    until_waiting,
};
use turnlock::{
    Error, LockFile,
    inspect::{self, Life},
    status::*,
};

crate::roles! {
    counts, ends_holding, execs_while_holding, forks_and_is_killed, forks_while_holding, hoards, lends_its_slot, puppet,
    tortured,
}

// --- exclusion ---

#[repr(C)]
struct Counting {
    together: Barrier,
    counter: Plain,
}

// SAFETY: as its parts.
unsafe impl Shareable for Counting {}

/// Words: the lock file, the counter's file, how many do it, how often each.
fn counts(words: &[String]) {
    let shared = Shared::<Counting>::open(Path::new(&words[1]));
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    shared.together.wait(words[2].parse().unwrap());
    for _ in 0..words[3].parse().unwrap() {
        let guard = mutex.lock().unwrap();
        shared.counter.set(shared.counter.get() + 1);
        guard.unlock().unwrap();
    }
}

#[test]
fn a_plain_counter_of_many_processes_loses_nothing() {
    let _no_hang = NoHang::for_seconds(60);
    for (processes, each) in [(2, 50_000), (6, 5_000)] {
        let place = Place::new();
        let counter = place.at("counter");
        let words = [
            place.lock_file().to_str().unwrap().to_owned(),
            counter.to_str().unwrap().to_owned(),
            processes.to_string(),
            each.to_string(),
        ];
        let words = words.each_ref().map(String::as_str);
        let all: Vec<_> = (0..processes).map(|_| Actor::start("counts", &words)).collect();
        for actor in all {
            actor.end_well();
        }
        assert_eq!(Shared::<Counting>::open(&counter).counter.get(), processes * each);
    }
}

// --- kill -9 ---

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
#[cfg(feature = "seeded-bugs")]
#[test]
fn the_torture_catches_bugs() {
    let _no_hang = NoHang::for_seconds(300);
    let in_any_build = ["NoChoosing", "NoTieBreak", "NoHeld"].as_slice();
    let optimised = ["NoFenceAfterChoosing", "NoFenceBeforeWait"].as_slice();
    for bug in [in_any_build, if cfg!(debug_assertions) { &[] } else { optimised }].concat() {
        let caught =
            (1..=20).map(|seed| torture(2, 500, seed, bug)).find(|report| !report.violations.is_empty());
        println!("{bug}: {}", caught.unwrap_or_else(|| panic!("{bug} was not caught")));
    }
}

#[test]
fn one_killed_in_the_line_does_not_block_those_behind() {
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
    // The one in the middle, and the one who is next.
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
    assert!(support::line_at(&path, "a").is_empty());
}

#[test]
fn a_waiter_has_the_news_soon_after_the_holder_was_killed() {
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
    println!("kill -9 to news: median {median:?}, worst {worst:?}");
    assert!(worst < Duration::from_secs(2), "{worst:?}");
}

/// Words: the lock file.
fn ends_holding(words: &[String]) {
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
fn a_process_that_exits_or_aborts_while_holding_is_news() {
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

// --- fork and exec ---

/// Forks: in the parent the child, in the child nothing.
fn child() -> Option<Pid> {
    // SAFETY: a role is played by the only thread of its process, so the child may do whatever the parent may.
    match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => Some(child),
        ForkResult::Child => None,
    }
}

/// Words: the lock file.
fn forks_while_holding(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    let (a, b, c) = (file.mutex("a").unwrap(), file.mutex("b").unwrap(), file.mutex("c").unwrap());
    let participant = file.participant().unwrap();
    let (guard_a, guard_b) = (a.lock().unwrap(), b.lock().unwrap());
    let guard_c = c.lock_as(&participant).unwrap();
    let parents_slot = file.current_participant().unwrap().slot();
    let Some(child) = child() else {
        // Neither the guards that it remembers nor the participant are its own.
        assert!(matches!(a.try_lock(), Err(Error::WouldBlock)));
        assert!(matches!(guard_a.unlock(), Err(Error::NotOwner)));
        drop(guard_b);
        drop(guard_c);
        assert!(matches!(c.try_lock_as(&participant), Err(Error::Closed)));
        drop(participant);
        for held in [&a, &b, &c] {
            assert!(matches!(held.try_lock(), Err(Error::WouldBlock)));
            assert!(matches!(held.lock_for(Duration::from_millis(5)), Err(Error::TimedOut)));
        }
        assert_ne!(file.current_participant().unwrap().slot(), parents_slot);
        assert!(!file.mutex("free").unwrap().lock().unwrap().acquired().previous_owner_died);
        let participant = file.participant().unwrap();
        say("child waits");
        let guard = a.lock_as(&participant).unwrap();
        assert!(!guard.acquired().previous_owner_died);
        say("child is in");
        drop(guard);
        return;
    };
    assert_eq!(hear(), "unlock");
    guard_a.unlock().unwrap();
    guard_c.unlock().unwrap();
    assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
    // Still ours, after the child ended with all its destructors.
    assert!(matches!(b.try_lock(), Err(Error::Deadlock)));
    say("child ended");
    assert_eq!(hear(), "unlock");
    guard_b.unlock().unwrap();
    say("done");
    hear();
}

#[test]
fn a_forked_child_has_a_slot_of_its_own_and_not_its_parents_locks() {
    let _no_hang = NoHang::for_seconds(30);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let mut actor = Actor::start("forks_while_holding", &[path.to_str().unwrap()]);
    actor.expect("child waits");
    until_waiting(&path, "a", 1);
    for name in ["a", "b", "c"] {
        assert!(matches!(file.mutex(name).unwrap().try_lock(), Err(Error::WouldBlock)), "{name}");
    }
    actor.tell("unlock");
    actor.expect("child is in");
    actor.expect("child ended");
    assert!(matches!(file.mutex("b").unwrap().try_lock(), Err(Error::WouldBlock)));
    assert!(!file.mutex("a").unwrap().lock().unwrap().acquired().previous_owner_died);
    actor.tell("unlock");
    actor.expect("done");
    assert!(!file.mutex("b").unwrap().try_lock().unwrap().acquired().previous_owner_died);
}

/// Words: the lock file, how the slot is kept.
fn forks_and_is_killed(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    let mutex = file.mutex("a").unwrap();
    let participant = match words[1].as_str() {
        "mapping" => file.participant().unwrap(),
        "descriptor" => file.participant_options().kept_by_descriptor().open().unwrap(),
        "thread" => file.current_participant().unwrap(),
        other => panic!("{other}"),
    };
    // A child from before, and one from after the lock was taken.
    if child().is_some() {
        std::mem::forget(mutex.lock_as(&participant).unwrap());
        if child().is_some() {
            say("holding");
            // Until it is killed.
            loop {
                std::thread::park();
            }
        }
    }
    say(&format!("child {}", std::process::id()));
    // Until the test is gone, or has seen enough.
    hear();
}

#[test]
fn a_parent_killed_while_its_children_live_on_is_dead() {
    let _no_hang = NoHang::for_seconds(30);
    for kept_by in ["thread", "mapping", "descriptor"] {
        let place = Place::new();
        let path = place.lock_file();
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let mut actor = Actor::start("forks_and_is_killed", &[path.to_str().unwrap(), kept_by]);
        let (mut children, mut holding) = (Vec::new(), false);
        while children.len() < 2 || !holding {
            let said = actor.hear();
            match said.strip_prefix("child ") {
                Some(child) => children.push(Pid::from_raw(child.parse().unwrap())),
                None => holding = true,
            }
        }
        assert!(matches!(mutex.lock_for(Duration::from_millis(30)), Err(Error::TimedOut)), "{kept_by}");
        let parent = actor.pid();
        actor.kill();
        let mut guard = mutex.lock_for(Duration::from_secs(5)).unwrap();
        assert_eq!(guard.previous_owner().unwrap().pid, parent, "{kept_by}");
        guard.mark_consistent().unwrap();
        for child in children {
            assert_eq!(kill(child, None), Ok(()), "the children live");
        }
    }
}

/// Words: the lock file.
fn execs_while_holding(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    std::mem::forget(mutex.lock().unwrap());
    say("holding");
    hear();
    // It reads what the test tells it, and so ends with the test.
    panic!("{}", Command::new("cat").exec());
}

#[test]
fn a_process_that_becomes_another_program_while_holding_is_news() {
    let _no_hang = NoHang::for_seconds(30);
    let place = Place::new();
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    let mut actor = Actor::start("execs_while_holding", &[path.to_str().unwrap()]);
    actor.expect("holding");
    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock)));
    actor.tell("exec");
    let mut guard = mutex.lock().unwrap();
    assert_eq!(guard.previous_owner().unwrap().pid, actor.pid());
    guard.mark_consistent().unwrap();
    // The process is still there, as the other program: it answers.
    actor.tell("still there");
    actor.expect("still there");
}

/// Words: the lock file.
fn lends_its_slot(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    let mutex = file.mutex("a").unwrap();
    let participant = file.participant_options().inherited_by_children().open().unwrap();
    std::mem::forget(mutex.lock_as(&participant).unwrap());
    // It ends with the test, which holds the other end of its input.
    let child = Command::new("cat").spawn().unwrap();
    say(&format!("holding {}", child.id()));
    loop {
        std::thread::park();
    }
}

#[test]
fn a_slot_lent_to_a_child_lives_as_long_as_the_child() {
    let _no_hang = NoHang::for_seconds(30);
    let place = Place::new();
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    let mut actor = Actor::start("lends_its_slot", &[path.to_str().unwrap()]);
    let child = Pid::from_raw(actor.expect_number("holding") as i32);
    let parent = actor.pid();
    actor.kill();
    assert!(matches!(mutex.lock_for(Duration::from_millis(100)), Err(Error::TimedOut)));
    kill(child, nix::sys::signal::SIGKILL).unwrap();
    let mut guard = mutex.lock().unwrap();
    assert_eq!(guard.previous_owner().unwrap().pid, parent);
    guard.mark_consistent().unwrap();
}

// --- slots ---

/// Words: the lock file, the label, how many slots.
fn hoards(words: &[String]) {
    let file = LockFile::options().label(&words[1]).open(&words[0]).unwrap();
    let how_many: usize = words[2].parse().unwrap();
    let _slots: Vec<_> = (0..how_many).map(|_| file.participant().unwrap()).collect();
    say("full");
    hear();
}

#[test]
fn where_all_128_slots_are_taken_the_error_names_who_has_them() {
    let _no_hang = NoHang::for_seconds(30);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    assert_eq!(file.participants(), 128);
    let hoarders = [("many", "100"), ("few", "28")].map(|(label, slots)| {
        let mut actor = Actor::start("hoards", &[path.to_str().unwrap(), label, slots]);
        actor.expect("full");
        actor
    });
    let error = file.participant().map(drop).unwrap_err();
    assert_eq!(error.code(), TURNLOCK_ERROR_PARTICIPANTS_FULL);
    let told = error.to_string();
    let [many, few] = &hoarders;
    for part in [
        path.to_str().unwrap(),
        "128",
        &format!("many (pid {}, 100), few (pid {}, 28)", many.pid(), few.pid()),
        "end one of them",
    ] {
        assert!(told.contains(part), "{part:?} is not in {told:?}");
    }
    // A death makes room, at once and for all of them.
    let [_many, mut few] = hoarders;
    few.kill();
    let room: Vec<_> = (0..28).map(|_| file.participant().unwrap()).collect();
    assert!(matches!(file.participant(), Err(Error::ParticipantsFull { .. })));
    drop(room);
}

#[test]
fn every_slot_comes_back_when_its_thread_ends() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().participants(4).open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    for _ in 0..1000 {
        elsewhere(|| mutex.lock().unwrap().unlock().unwrap());
    }
    assert_eq!(inspect::snapshot(&path).unwrap().participants.len(), 1, "ours");
    // And while others come and go: there is always room for three beside us.
    thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                for _ in 0..300 {
                    elsewhere(|| mutex.lock().unwrap().unlock().unwrap());
                }
            });
        }
    });
    assert_eq!(inspect::snapshot(&path).unwrap().participants.len(), 1, "ours");
}

#[test]
fn every_slot_comes_back_when_its_process_ends_or_is_killed() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    // Us, one that ends, one that is killed.
    let mutex = LockFile::options().participants(3).open(&path).unwrap().mutex("a").unwrap();
    for _ in 0..40 {
        let mut puppets = [Puppet::at(&path, "a"), Puppet::at(&path, "a")];
        for puppet in &mut puppets {
            assert!(matches!(puppet.ask("lock"), Said::Taken(_, false)));
            assert_eq!(puppet.ask("unlock"), Said::Done);
        }
        let [ends, mut killed] = puppets;
        killed.0.kill();
        ends.0.dismiss();
        mutex.lock().unwrap().unlock().unwrap();
    }
    // The killed one's slot is a dead one's until somebody needs it.
    let others = inspect::snapshot(&path).unwrap().participants;
    assert!(
        others.iter().filter(|other| other.pid != std::process::id()).all(|other| other.life == Life::Dead)
    );
    let file = LockFile::open(&path).unwrap();
    let _all = [file.participant().unwrap(), file.participant().unwrap()];
    assert!(matches!(file.participant(), Err(Error::ParticipantsFull { .. })));
}
