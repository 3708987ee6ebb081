//! What agents say to people.

use std::fmt::Display;
use turnlock_link_agent::Mode;

/// The engine has stopped to answer.
pub fn silent(why: &str, mode: Mode) -> String {
    let home = match mode {
        Mode::Kept => "stays home",
        Mode::Leased => "goes away before its lease ends",
    };
    format!("etcd: {why}; until it answers, what is away stays away, and what is home {home}")
}

/// The privilege was taken from this host while the lock was home.
pub fn robbed(name: &str) -> String {
    format!(
        "{name:?} was home, and this host does not have its privilege any more: it was forgotten, or its lease was ended before the time, while its \
         programs went on. It is moved away; look at what they wrote, by their fencing tokens"
    )
}

/// The engine may end leases before their time.
pub fn distrusts(version: &str, lease: u64) -> String {
    format!(
        "etcd {version} may end a lease that is kept (etcd#15247; 3.4.31, 3.5.13 and 3.6 do not): where the lease of another host has ended, this \
         one waits {} s more before it takes the lock, or the permits",
        lease / 1_000_000_000
    )
}

/// The lease is over, and the lock could not be moved away.
pub fn lost(name: &str) -> String {
    format!(
        "{name:?}: the lease is over, and a program of this host is inside yet, which was told; other hosts may have the lock. What it writes \
         from now on is to be refused, by its fencing token. The lock is moved away when it has left"
    )
}

/// This host had permits that are not its own any more.
pub fn robbed_of_permits(name: &str) -> String {
    format!(
        "{name:?}: this host had permits that are not its own any more: it was forgotten, while its programs went on. Those that are inside are \
         not counted at other hosts"
    )
}

/// The lease is over, and programs have permits yet.
pub fn lost_permits(name: &str) -> String {
    format!(
        "{name:?}: the lease is over, and programs of this host have permits yet, which were told; other hosts may have those, too. What these \
         programs do from now on comes on top of the permits that there are"
    )
}

/// The other hosts share another number of permits.
pub fn other_total(name: &str, ours: u32, theirs: u32) -> String {
    format!(
        "{name:?} has {ours} permits here, and {theirs} at the other hosts: this agent takes none of them. Remove it here, and create it with \
         {theirs}; or, to change it for all, give it another name"
    )
}

/// A lock could not be moved away.
pub fn not_moved(name: &str, why: &dyn Display) -> String {
    format!("{name:?} could not be moved away, and will be tried again: {why}")
}

/// An agent could not wait until programs have given permits back.
pub fn not_drained(name: &str, why: &dyn Display) -> String {
    format!("{name:?}: its permits could not be waited for, which will be tried again: {why}")
}

/// The other hosts have the lock in this mode.
pub fn refused(name: &str, mode: Mode) -> String {
    let (theirs, how) = match mode {
        Mode::Kept => ("kept", "end it, and run it without --lease"),
        Mode::Leased => ("leased", "end it, and run it with --lease"),
    };
    format!("{name:?} is {theirs} by the other hosts, and not by this agent, which leaves it alone: {how}")
}
