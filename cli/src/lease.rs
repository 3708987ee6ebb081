//! The lease of a linked lock, which a command that runs under it does not outlive.

use super::{escape, lock::Lock, print};
use shared_child::{SharedChild, unix::SharedChildExt};
use signal_hook::consts::{SIGKILL, SIGTERM};
use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

/// So long before its lease ends a command is asked to end, and so long before it is killed.
const ASKED: Duration = Duration::from_secs(2);
const KILLED: Duration = Duration::from_millis(500);
/// How often the lease is looked at, whatever it said: its agent may change it, and the host be suspended.
const LOOK: Duration = Duration::from_millis(250);

/// Returns whether the lock is linked.
pub fn is_linked(lock: &Lock) -> bool {
    match lock {
        Lock::Mutex(mutex) => mutex.is_linked(),
        Lock::RwLock(rwlock) => rwlock.is_linked(),
        Lock::Semaphore(semaphore) => semaphore.is_linked(),
        _ => false,
    }
}

fn left_of(lock: &Lock) -> Option<Duration> {
    match lock {
        Lock::Mutex(mutex) => mutex.lease_left(),
        Lock::RwLock(rwlock) => rwlock.lease_left(),
        Lock::Semaphore(semaphore) => semaphore.lease_left(),
        _ => None,
    }
}

/// Ends `child` before the lease of the lock called `name` does, with SIGTERM and then SIGKILL, if that is not renewed in time; until it
/// `has_ended`.
pub fn end_in_time(child: &SharedChild, lock: &Lock, name: &str, has_ended: &Receiver<()>) {
    let mut is_asked = false;
    loop {
        let pause = match left_of(lock) {
            Some(left) if left <= KILLED => {
                print::message(&format_args!(
                    "the lease of {} ends in {} ms and was not renewed: killed the command, so that none runs beside another host",
                    escape::text(name),
                    left.as_millis()
                ));
                // One that has just ended needs no signal.
                let _ = child.send_signal(SIGKILL);
                return;
            }
            Some(left) if left <= ASKED => {
                if !is_asked {
                    print::message(&format_args!(
                        "the lease of {} ends in {} ms and was not renewed: asked the command to end",
                        escape::text(name),
                        left.as_millis()
                    ));
                    let _ = child.send_signal(SIGTERM);
                }
                is_asked = true;
                (left - KILLED).min(LOOK)
            }
            Some(left) => (left - ASKED).min(LOOK),
            None => LOOK,
        };
        if has_ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}
