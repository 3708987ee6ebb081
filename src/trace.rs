//! The steps of taking and giving back, by name: where the verification waiter looks on, stops or kills.
//!
//! Without the feature `trace`, `at` is nothing and costs nothing. With it, a test process can have a function
//! called at each step, which may well never return. The models in `spec/` and the tables in `docs/` use these names.

/// A step. What a participant does from this point to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Step {
    /// The slot's byte lock is ours: finishing what a dead one left in it, writing down who we are.
    Attach = 1,
    /// Said that we are choosing; no number yet.
    Doorway,
    /// In the line with a number; looking who is before us.
    Wait,
    /// Nobody is before us; not yet written down as the holder.
    Won,
    /// Written down as the holder: the critical section.
    Section,
    /// Giving back: still the holder.
    Exit,
    /// No longer the holder; the number not yet given up.
    Leave,
    /// The number is given up; the next one not yet woken.
    Wake,
    /// Giving up while waiting.
    Withdraw,
    /// Acting for a dead one: its byte lock is ours, nothing done yet.
    Reap,
    /// Acting for a dead holder: its death is written down, its number still stands.
    ReapNews,
    /// Acting for a dead one: its number is cleared, its record not yet.
    ReapForgotten,
    /// Giving the slot back: every register cleared, the byte lock still ours.
    Detach,
    /// As the one who retains the privilege: said that we go in; not yet sure that we may.
    Try,
    /// At the head of the line: asked the retainer for the privilege; not yet behind the barrier.
    Ask,
    /// Behind the barrier: waiting for the retainer to be outside.
    AskWait,
    /// The privilege is ours and we are not yet written down as the holder.
    Settle,
    /// `control` says that we retain the privilege; our number still stands.
    Retain,
    /// Stepped out of the line to let others pass; not yet asleep.
    Polite,
    /// On a ring: the reconfiguration lock is ours, nothing done with it yet.
    Reconfigure,
    /// Waiting for the turn to come round.
    Rotate,
    /// Passing the privilege on: the links are renewed, it is still here.
    Pass,
    /// The privilege is passed on, our wish not yet taken back.
    Passed,
    /// Having scans leave out the highest slot, which is free: its byte lock is ours.
    Lower,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Step; 24] = [
        Step::Attach,
        Step::Doorway,
        Step::Wait,
        Step::Won,
        Step::Section,
        Step::Exit,
        Step::Leave,
        Step::Wake,
        Step::Withdraw,
        Step::Reap,
        Step::ReapNews,
        Step::ReapForgotten,
        Step::Detach,
        Step::Try,
        Step::Ask,
        Step::AskWait,
        Step::Settle,
        Step::Retain,
        Step::Polite,
        Step::Reconfigure,
        Step::Rotate,
        Step::Pass,
        Step::Passed,
        Step::Lower,
    ];
}

/// This is step `step`.
#[cfg(not(feature = "trace"))]
#[inline(always)]
pub(crate) const fn at(_: Step) {}

#[cfg(feature = "trace")]
pub(crate) use watching::at;
#[cfg(feature = "trace")]
pub use watching::watch;

#[cfg(feature = "trace")]
mod watching {
    use super::Step;
    use std::sync::OnceLock;

    static WATCHER: OnceLock<fn(Step)> = OnceLock::new();

    /// Has `watcher` called at every step of this process from now on. Once.
    pub fn watch(watcher: fn(Step)) {
        let _ = WATCHER.set(watcher);
    }

    pub(crate) fn at(step: Step) {
        if let Some(watcher) = WATCHER.get() {
            watcher(step);
        }
    }
}
