//! Bugs that a test may plant, each of which some rung of the verification waiter must catch.
//!
//! Without the feature `mutants` the question `planted` is the constant `false` and costs nothing. With it,
//! a test names one bug by `plant`, or a child process by the environment variable `TURNLOCK_MUTANT`.

/// A bug that can be planted. The name says what is left out or done wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mutant {
    /// The doorway does not say that it is choosing (the seeds' own example of what goes wrong without `choosing`).
    NoChoosing = 1,
    /// No full fence between "I am choosing" and the reading of the others' numbers.
    NoFenceAfterChoosing,
    /// No full fence between my number and the reading of the others' numbers in the wait.
    NoFenceBeforeWait,
    /// Equal numbers both pass: the slot does not break the tie.
    NoTieBreak,
    /// The number is given up (on a ring: the privilege passed on) without release order, so the section's writes may
    /// come after it.
    RelaxedLeave,
    /// A dead owner's number is cleared before the death is written down, so the next holder gets no news.
    ForgetBeforeNews,
    /// `held` is not looked at after a death, so one in the critical section passes for a clean one.
    NoHeld,
    /// A dead participant is cleaned up without holding its slot's byte lock.
    ReapWithoutByteLock,
    /// The candidate does not wait for the barrier in the retainer's process after asking.
    NoMembarrier,
    /// The retainer looks whether it is asked, and only then says that it tries.
    FlagAfterCheck,
    /// The candidate gives its number up before `control` says that it retains the privilege.
    LeaveBeforeControl,
    /// A retainer that is asked takes its own mark out of `control`, though it is not the candidate.
    ControlByNonCandidate,
    /// A process that is not registered for membarrier retains the privilege without fences.
    UnregisteredRetainer,
    /// No full fence in a retained entry where membarrier is missing.
    NoFenceInFencedMode,
    /// One who died trying to enter passes for a dead owner.
    OwnerDeadByTrying,
    /// Who takes the privilege over retains it while somebody behind it insists on its place in the line.
    RetainsOverHeads,
    /// Who gives up asking takes its request back while somebody behind it insists on its place in the line.
    TakesBackOverHeads,
    /// A retained entry is written down in the file before the thread's own word says that it is under way, so that a
    /// signal handler enters a second time.
    HeldBeforeOwn,
    /// The descriptor by which a slot was taken stays open, so that a forked child keeps a dead participant alive.
    ClaimStaysOpen,
    /// On a ring: a newcomer's link does not count the absent machines between it and its left neighbour (Raynal's k).
    AbsentNotCounted,
    /// On a ring: who comes back goes on with the state it left with.
    StateNotRenewed,
    /// On a ring: who wants a turn says so without the reconfiguration lock.
    AskWithoutLock,
}

impl Mutant {
    /// Every bug, in the order of the table in `docs/reliability.md`.
    pub const ALL: [Mutant; 22] = [
        Mutant::NoChoosing,
        Mutant::NoFenceAfterChoosing,
        Mutant::NoFenceBeforeWait,
        Mutant::NoTieBreak,
        Mutant::RelaxedLeave,
        Mutant::ForgetBeforeNews,
        Mutant::NoHeld,
        Mutant::ReapWithoutByteLock,
        Mutant::NoMembarrier,
        Mutant::FlagAfterCheck,
        Mutant::LeaveBeforeControl,
        Mutant::ControlByNonCandidate,
        Mutant::UnregisteredRetainer,
        Mutant::NoFenceInFencedMode,
        Mutant::OwnerDeadByTrying,
        Mutant::RetainsOverHeads,
        Mutant::TakesBackOverHeads,
        Mutant::HeldBeforeOwn,
        Mutant::ClaimStaysOpen,
        Mutant::AbsentNotCounted,
        Mutant::StateNotRenewed,
        Mutant::AskWithoutLock,
    ];
}

impl Mutant {
    /// Does it show only where the privilege is retained?
    pub fn is_of_bias(self) -> bool {
        (Mutant::NoMembarrier as u8..=Mutant::TakesBackOverHeads as u8).contains(&(self as u8))
    }
}

/// Is this bug planted? Constantly `false` in every build that is shipped.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub(crate) const fn planted(_: Mutant) -> bool {
    false
}

#[cfg(feature = "mutants")]
pub use planting::plant;
#[cfg(feature = "mutants")]
pub(crate) use planting::planted;

#[cfg(feature = "mutants")]
mod planting {
    use super::Mutant;
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

    const UNREAD: u8 = 255;
    // Not through `sync`: this switch is the test's own and must not be a step of the model.
    static PLANTED: AtomicU8 = AtomicU8::new(UNREAD);

    /// Plants one bug (or none) in this process from now on.
    pub fn plant(bug: Option<Mutant>) {
        PLANTED.store(bug.map_or(0, |bug| bug as u8), Relaxed);
    }

    pub(crate) fn planted(bug: Mutant) -> bool {
        let mut now = PLANTED.load(Relaxed);
        if now == UNREAD {
            let name = std::env::var("TURNLOCK_MUTANT").unwrap_or_default();
            now = Mutant::ALL.iter().find(|bug| format!("{bug:?}") == name).map_or(0, |bug| *bug as u8);
            PLANTED.store(now, Relaxed);
        }
        now == bug as u8
    }
}
