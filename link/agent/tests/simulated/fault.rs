//! Faults of an agent, made of what it wants done: each must be found.

use turnlock_link_agent::{Action, Compare, Key, Operation, Request};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It gives the privilege up by the key, whichever time it is that a host has it (etcd#22082).
    UnlocksByKey,
    /// It takes the privilege by a transaction that compares nothing, which may come late.
    TakesUnasked,
    /// It takes the privilege though its place is gone (etcd#19597).
    TakesWithoutPlace,
    /// It does not compare the state, so that a call that comes late writes an older one.
    WritesOldState,
    /// It gives back a token more than was left.
    GivesBackTooMuch,
    /// It keeps the lock home, however long others want it.
    StaysHome,
    /// It gives the privilege up while a program is inside.
    GivesUpBeforeAway,
    /// It says of the data that they can be trusted, whatever it was told.
    ForgetsDeaths,
    /// It never watches, nor looks again.
    NeverWatches,
}

impl Fault {
    pub const ALL: [Self; 9] = [
        Self::UnlocksByKey,
        Self::TakesUnasked,
        Self::TakesWithoutPlace,
        Self::WritesOldState,
        Self::GivesBackTooMuch,
        Self::StaysHome,
        Self::GivesUpBeforeAway,
        Self::ForgetsDeaths,
        Self::NeverWatches,
    ];

    /// What an agent with this fault wants done.
    pub fn apply(fault: Option<Self>, mut actions: Vec<Action>) -> Vec<Action> {
        let Some(fault) = fault else { return actions };
        actions.retain(|action| match action {
            Action::MoveAway => fault != Self::StaysHome,
            Action::Call { request: Request::Watch { .. }, .. } | Action::WakeAt(_) => {
                fault != Self::NeverWatches
            }
            _ => true,
        });
        for action in &mut actions {
            if let Action::Call { request: Request::Transaction { compares, then }, .. } = action {
                let (takes, gives) =
                    (then.contains(&Operation::Hold), then.contains(&Operation::Delete(Key::Held)));
                compares.retain(|compare| match (fault, compare) {
                    (Self::UnlocksByKey, _) => !gives,
                    (Self::TakesUnasked, _) => !takes,
                    (Self::TakesWithoutPlace, Compare::Created(Key::Place, _)) => !takes,
                    (Self::WritesOldState, Compare::Modified(..)) => false,
                    _ => true,
                });
                for operation in then {
                    if let (Self::GivesBackTooMuch, true, Operation::Put { reserved, .. }) =
                        (fault, gives, operation)
                    {
                        *reserved -= 1;
                    }
                }
            }
        }
        actions
    }
}
