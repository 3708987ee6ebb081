//! The words of a linked lock.

use crate::layout::{LockView, LockWords, View};
use turnlock_core::algorithm::link::Link;
use turnlock_core::sync::Ordering::Relaxed;

/// Returns the words of the lock, by which it is linked if its directory entry says so.
pub fn link<'a>(lock: &LockView<'a>) -> Link<'a> {
    let words = lock.words;
    let LockWords { state, token, token_end, agent, wanted, lease_end, total, .. } = words;
    Link { state, token, token_end, agent, wanted, lease_end, total }
}

/// Returns whether the lock in `region`, or that was there last, is linked.
pub fn is_linked(view: View, region: usize) -> bool {
    let entry = region.checked_sub(1).and_then(|at| view.directory().get(at));
    entry.is_some_and(|entry| entry.linked.load(Relaxed) == 1)
}

/// Has the lock in `region` no agent, if that is the participant in `slot`. With the slot's byte lock in hand.
pub fn forget_agent(view: View, region: usize, slot: usize) {
    link(&view.lock(region)).forget_agent(slot);
}
