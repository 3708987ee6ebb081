//! What the kernel tells differently to different processes: pids, clocks.

use super::{assert_held, holds};
use nix::{
    sched::{CloneFlags, unshare},
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, fork},
};
use std::fs;
use support::{
    NoHang, Place,
    actor::{Actor, say},
};
use turnlock::inspect::{self, Life};

/// Words: the lock file. Its monotonic clock is a day ahead of all others'.
pub fn lives_in_another_time(words: &[String]) {
    let changed = unshare(CloneFlags::from_bits_retain(0x80)) // CLONE_NEWTIME
        .map_err(|errno| errno.to_string())
        .and_then(|()| {
            fs::write("/proc/self/timens_offsets", "monotonic 86400 0").map_err(|error| error.to_string())
        });
    if let Err(reason) = changed {
        say(&format!("not allowed: {reason}"));
        return;
    }
    // SAFETY: this process has one thread; the child is in the new time from the start.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            holds(words);
            std::process::exit(0);
        }
        ForkResult::Parent { child } => assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0))),
    }
}

#[test]
fn clocks_that_disagree_by_a_day_change_nothing() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut holder = Actor::start("lives_in_another_time", &[place.lock_file().to_str().unwrap()]);
    let said = holder.hear();
    if said != "inside" {
        println!("LEFT OUT, since this machine does not allow it: {said}");
        return;
    }
    assert_held(&place.lock_file());
    // Entered "tomorrow", by our clock: not a nonsensical age, and not a death.
    let status = inspect::snapshot(place.lock_file()).unwrap();
    let holds = &status.locks[0].holders[0];
    assert_eq!(
        (holds.participant.life, holds.for_seconds.map(|seconds| seconds < 60.0)),
        (Life::Alive, Some(true))
    );
    holder.tell("go on");
    holder.expect("outside");
    holder.dismiss();
}
