//! The words of a linked lock.

use super::{FileLock, claims::FileClaims, ring_bell};
use crate::layout::{LockView, View};
use turnlock_core::algorithm::link::Link;
use turnlock_core::sync::{
    AtomicU64,
    Ordering::{AcqRel, Relaxed, Release},
    full_fence,
};

/// Returns the words of the lock, by which it is linked if its directory entry says so.
pub fn link<'a>(lock: &LockView<'a>) -> Link<'a> {
    let words = lock.words;
    let (state, token, token_end) = (&words.state, &words.token, &words.token_end);
    Link { state, token, token_end, agent: &words.agent, wanted: &words.wanted }
}

/// Returns whether the lock in `region`, or that was there last, is linked.
pub fn is_linked(view: View, region: usize) -> bool {
    let entry = region.checked_sub(1).and_then(|at| view.directory().get(at));
    entry.is_some_and(|entry| entry.linked.load(Relaxed) == 1)
}

/// Writes `slot` down as the agent, if there is none. Returns whether that was done.
pub fn name_agent(agent: &AtomicU64, slot: usize) -> bool {
    // Release. Partner: the acquire load in `Link::agent`.
    agent.compare_exchange(0, slot as u64 + 1, AcqRel, Relaxed).is_ok()
}

/// Has the lock in `region` no agent, if that is the participant in `slot`. With the slot's byte lock in hand. The lock stays home or away,
/// as it is.
pub fn forget_agent(view: View, region: usize, slot: usize) {
    let agent = &view.lock(region).words.agent;
    // A page that is only read stays clean.
    if agent.load(Relaxed) == slot as u64 + 1 {
        // By exchange: where the word was written over, another agent may come meanwhile.
        let _ = agent.compare_exchange(slot as u64 + 1, 0, Release, Relaxed);
    }
}

impl<F: FileClaims> FileLock<'_, F> {
    /// Says that a program wants the lock, and wakes the agent if it sleeps.
    pub(super) fn note_wanted(&self) {
        let link = link(&self.lock);
        link.wanted.store(1, Release);
        // Partner: the fence in `LinkAgent::wait`, after it says that the agent sleeps. If ours comes first, its look sees that the lock
        // is wanted; if theirs does, we see whom to wake.
        full_fence();
        if let Some(agent) = link.agent() {
            ring_bell(self.view, agent);
        }
    }
}
