//! Faults of an agent, made of what it wants done and what it is told: each must be found.

use crate::host::OneHost;
use turnlock_link_agent::shares::{Action, Compare, Key, Operation, Request};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It gives permits back while they are inside.
    GivesBackUndrained,
    /// It takes what an agent before it made of the share for drained.
    TrustsPredecessor,
    /// Its file's share grows when it asks the engine, and not when that has answered.
    GrowsBeforeAnswer,
    /// Its file's share grows to what the engine has for it without a transaction: one that gives some of that back may come late.
    GrowsUnasked,
    /// It takes permits though others took some since it looked.
    TakesWithoutCompare,
    /// It takes permits though its place is gone.
    TakesWithoutPlace,
    /// It takes permits before its turn.
    TakesFirst,
    /// It gives permits back whichever time it is that it has them.
    GivesBackByKey,
    /// It gives back one more than it made the share smaller by.
    GivesBackTooMuch,
    /// It keeps what it has, however long others want it.
    KeepsAll,
    /// It does not compare how many permits there are with what other hosts say.
    IgnoresTotal,
    /// It never watches, nor looks again.
    NeverWatches,
}

impl Fault {
    pub const ALL: [Fault; 12] = [
        Fault::GivesBackUndrained,
        Fault::TrustsPredecessor,
        Fault::GrowsBeforeAnswer,
        Fault::GrowsUnasked,
        Fault::TakesWithoutCompare,
        Fault::TakesWithoutPlace,
        Fault::TakesFirst,
        Fault::GivesBackByKey,
        Fault::GivesBackTooMuch,
        Fault::KeepsAll,
        Fault::IgnoresTotal,
        Fault::NeverWatches,
    ];

    /// What it makes of what an agent wants done.
    pub fn apply(fault: Option<Self>, host: &OneHost, mut actions: Vec<Action>) -> Vec<Action> {
        let Some(fault) = fault else { return actions };
        for action in &mut actions {
            let Action::Call { request: Request::Transaction { compares, then }, .. } = action else {
                continue;
            };
            let takes = compares.iter().any(|compare| matches!(compare, Compare::NoShareSince(_)));
            match fault {
                Fault::TakesWithoutCompare => {
                    compares.retain(|compare| !matches!(compare, Compare::NoShareSince(_)));
                }
                Fault::TakesWithoutPlace if takes => {
                    compares.retain(|compare| !matches!(compare, Compare::Created(Key::Place, _)));
                }
                Fault::GivesBackByKey if !takes => {
                    compares.retain(|compare| !matches!(compare, Compare::Modified(Key::Share, _)));
                }
                Fault::GivesBackTooMuch if !takes => {
                    for operation in then {
                        match operation {
                            Operation::PutShare { permits } if *permits == host.share && *permits > 1 => {
                                *permits -= 1
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        if fault == Fault::KeepsAll {
            let smaller =
                |action: &Action| matches!(action, Action::SetShare { permits } if *permits < host.share);
            actions.retain(|action| !smaller(action) && !matches!(action, Action::Drain { .. }));
        }
        if fault == Fault::NeverWatches {
            let watches = |action: &Action| {
                matches!(action, Action::Call { request: Request::Watch { .. }, .. } | Action::WakeAt(_))
            };
            actions.retain(|action| !watches(action));
        }
        actions
    }
}
