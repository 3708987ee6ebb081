//! Overlay file systems, a container's own root for example: there a mapping does not keep a byte lock, and slots are
//! kept by descriptors instead. Everything else is as anywhere.
//!
//! Each test mounts an overlay in a mount namespace of its own, which takes root; where that cannot be, it says so and
//! ends.

use nix::{
    sys::statfs::{OVERLAYFS_SUPER_MAGIC, statfs},
    unistd::{ForkResult, fork},
};
use std::{fs, path::Path, thread, time::Instant};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    join, limit,
    namespace::{in_private_mounts, mount_memory, mount_overlay},
    puppet::{Puppet, Said, puppet},
    torture::{torture, tortured},
    until_waiting,
};
use turnlock::{LockFile, inspect, status::*};

support::watched_for_seconds!(support::watchdog::USUAL);

support::roles! { holds_and_forks, puppet, tortured }

/// Runs `act` in a folder on an overlay, once over memory and once over the file system of temporary files. In the
/// lower layer there is a folder `lower` with what `prepare` made there.
fn on_an_overlay(prepare: impl Fn(&Path) + Sync, act: impl Fn(&Path) + Sync) {
    let _no_hang = NoHang::for_seconds(100);
    for in_memory in [true, false] {
        let place = Place::new();
        in_private_mounts(|| {
            if in_memory {
                mount_memory(place.folder(), 64 << 20)?;
            }
            let [lower, upper, work, merged] =
                ["lower", "upper", "work", "merged"].map(|name| place.at(name));
            for folder in [&lower, &upper, &work, &merged] {
                fs::create_dir(folder).unwrap();
            }
            prepare(&lower);
            mount_overlay(&merged, &lower, &upper, &work)?;
            assert_eq!(statfs(&merged).unwrap().filesystem_type(), OVERLAYFS_SUPER_MAGIC);
            act(&merged);
            Ok(())
        });
    }
}

fn nothing(_: &Path) {}

fn kept_by(path: &Path) -> Vec<&'static str> {
    inspect::snapshot(path).unwrap().participants.iter().map(|participant| participant.kept_by).collect()
}

#[test]
fn slots_are_kept_by_descriptors_there_and_by_mappings_beside_it() {
    on_an_overlay(nothing, |folder| {
        let path = folder.join("test.lock");
        let _holder = Puppet::that_holds(&path, "a");
        let _other = Puppet::at(&path, "a");
        let file = LockFile::open(&path).unwrap();
        let _participant = file.participant().unwrap();
        assert_eq!(kept_by(&path), ["descriptor"; 2]);
        let beside = folder.parent().unwrap().join("beside.lock");
        let _beside = Puppet::that_holds(&beside, "a");
        assert_eq!(kept_by(&beside), ["mapping"]);
    });
}

#[test]
fn the_next_holder_is_told_when_the_holder_is_killed() {
    on_an_overlay(nothing, |folder| {
        let path = folder.join("test.lock");
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        for _ in 0..5 {
            let mut holder = Puppet::that_holds(&path, "a");
            thread::scope(|threads| {
                let waiter = threads.spawn(|| {
                    let mut guard = mutex.lock().unwrap();
                    let told = Instant::now();
                    guard.mark_consistent().unwrap();
                    (told, guard.previous_owner().unwrap().pid)
                });
                until_waiting(&path, "a", 1);
                let killed = Instant::now();
                holder.0.kill_without_waiting();
                let (told, pid) = join(waiter);
                assert_eq!(pid, holder.0.pid());
                assert!(told - killed < limit::seconds(20), "{:?}", told - killed);
            });
        }
    });
}

#[test]
fn a_living_holder_is_not_robbed_while_others_ask_for_2_seconds_whether_it_lives() {
    on_an_overlay(nothing, |folder| {
        let path = folder.join("test.lock");
        let mut holder = Puppet::at(&path, "a");
        let Said::Taken(token, false) = holder.ask("lock") else { panic!("it is free") };
        let mut others = [Puppet::at(&path, "a"), Puppet::at(&path, "a")];
        for other in &mut others {
            other.0.tell("for 2000");
        }
        // And newcomers, each of which looks for a slot and tries the lock at once.
        for _ in 0..5 {
            assert_eq!(Puppet::at(&path, "a").ask("try"), Said::Error(TURNLOCK_ERROR_WOULD_BLOCK));
        }
        for other in &mut others {
            assert_eq!(other.hear(), Said::Error(TURNLOCK_ERROR_TIMED_OUT));
        }
        assert_eq!(holder.ask("unlock"), Said::Done);
        assert_eq!(others[0].ask("lock"), Said::Taken(token + 1, false));
    });
}

#[test]
fn a_file_that_lies_in_the_lower_layer_is_one_file_for_all() {
    let prepare = |lower: &Path| {
        LockFile::open(lower.join("test.lock")).unwrap().mutex("a").unwrap();
    };
    on_an_overlay(prepare, |folder| {
        let path = folder.join("test.lock");
        // Looking on, before a participant comes, does not copy it up.
        assert_eq!(inspect::snapshot(&path).unwrap().locks.len(), 1);
        let mut holder = Puppet::that_holds(&path, "a");
        let mut other = Puppet::at(&path, "a");
        assert_eq!(other.ask("try"), Said::Error(TURNLOCK_ERROR_WOULD_BLOCK));
        assert_eq!(holder.ask("unlock"), Said::Done);
        assert!(matches!(other.ask("try"), Said::Taken(_, false)));
    });
}

/// Words: the lock file.
fn holds_and_forks(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let _guard = mutex.lock().unwrap();
    // SAFETY: a role is played by the only thread of its process, so the child may do whatever the parent may.
    if let ForkResult::Child = unsafe { fork() }.unwrap() {
        say("the child is there");
    }
    hear();
}

#[test]
fn a_child_of_the_dead_does_not_keep_it_alive() {
    on_an_overlay(nothing, |folder| {
        let path = folder.join("test.lock");
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let mut actor = Actor::start("holds_and_forks", &[path.to_str().unwrap()]);
        actor.expect("the child is there");
        assert!(mutex.try_lock().is_err_and(|error| error.code() == TURNLOCK_ERROR_WOULD_BLOCK));
        let pid = actor.pid();
        actor.kill();
        let mut guard = mutex.lock().unwrap();
        assert_eq!(guard.previous_owner().unwrap().pid, pid);
        guard.mark_consistent().unwrap();
    });
}

#[test]
fn killed_at_random_moments_they_neither_hang_nor_double_enter() {
    on_an_overlay(nothing, |folder| {
        let report = torture(&Place::inside(folder), 3, 150, 3, "");
        println!("3 workers on an overlay: {report}");
        assert!(report.violations.is_empty(), "{report}");
        assert_eq!(report.died_inside_untold, 0, "{report}");
        assert!(report.died_inside > 20, "{report}");
    });
}
