//! What is searched: what each thread does, one step after the other.

/// One step of a thread. A step that cannot be made is the thread's last one.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Takes a lock if it is free.
    Take(usize),
    /// Releases a lock that it has.
    Release(usize),
    /// Takes a lock, and waits for it if it is not free: searches so often meanwhile, and then looks whether it is free by now.
    Wait(usize, usize),
    /// Likewise, but the wait is cancelled if the lock is not free then.
    Cancelled(usize),
}

use Step::{Cancelled, Release, Take, Wait};

/// What each thread does.
pub type Plan = Vec<Vec<Step>>;

/// The locks of a plan.
pub const X: usize = 0;
pub const Y: usize = 1;
pub const Z: usize = 2;
pub const LOCKS: usize = 3;

/// Each holds a lock and waits for the next one's; so many of them, the last ones, search.
pub fn circle(threads: usize, searching: usize) -> Plan {
    let searches = |thread| usize::from(thread + searching >= threads);
    (0..threads).map(|thread| vec![Take(thread), Wait((thread + 1) % threads, searches(thread))]).collect()
}

/// The second thread holds X while it waits for Z, and has released it when it waits for Y. There is no circle.
pub fn released() -> Plan {
    let second = vec![Take(X), Cancelled(Z), Release(X), Wait(Y, 0)];
    vec![vec![Take(Z)], second, vec![Take(Y), Wait(X, 1)]]
}

/// The second thread does so twice: it has X twice, and waits for Y after each.
pub fn retaken() -> Plan {
    let once = [Take(X), Cancelled(Z), Release(X)];
    let second = [&once[..], &[Cancelled(Y)], &once[..], &[Wait(Y, 0)]].concat();
    vec![vec![Take(Z)], second, vec![Take(Y), Wait(X, 1)]]
}

/// The first thread's wait for Y is cancelled. It may close a circle meanwhile.
pub fn cancelled() -> Plan {
    vec![vec![Take(X), Cancelled(Y), Release(X), Wait(Y, 0)], vec![Take(Y), Wait(X, 2)]]
}

/// Three threads, each of which holds a lock and waits for the next one's, and then holds that and waits for the one after it. Most of
/// the waits end. So many of the threads, the last ones, search.
pub fn handed_on(searching: usize) -> Plan {
    let life = |thread: usize| {
        let searches = usize::from(thread + searching >= 3);
        let [next, after] = [1, 2].map(|further| (thread + further) % 3);
        vec![Take(thread), Wait(next, searches), Release(thread), Wait(after, searches)]
    };
    (0..3).map(life).collect()
}
