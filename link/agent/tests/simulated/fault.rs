//! Faults of an agent, made of what it wants done and what it is told: each must be found.

use crate::host::OneHost;
use turnlock_link_agent::{Action, Compare, Event, Key, Nanoseconds, Operation, Reply, Request, Wish};

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
    /// It counts the lease from when the answer came.
    CountsFromAnswer,
    /// It counts the lease from the last call that was to keep it, though the answer was to an earlier one.
    CountsFromLastCall,
    /// It has programs admitted up to the end of the lease.
    HasNoMargin,
    /// Its margin is what clocks may drift, and no time for those inside to get out.
    GivesNoTimeToLeave,
    /// It takes a lease that is over for one that was kept.
    KeepsWhatIsOver,
    /// It brings the lock home before it sets the deadline.
    BringsHomeFirst,
    /// It takes the privilege of a leased lock without a lease.
    HoldsWithoutLease,
    /// It takes the privilege as if it had been given up, when the lease ended before.
    TakesAsGivenUp,
    /// It takes the privilege after another host's lease ended as if it were its own that ended.
    ReclaimsFromOthers,
    /// It does not compare the modes.
    MixesModes,
    /// The lock file does not compare the clock with the deadline.
    AdmitsAfterDeadline,
    /// It takes the privilege though other hosts have it to read. Not to compare that is not enough: who takes either writes the state.
    WritesBesideReaders,
    /// It takes the privilege to read though another host has it.
    ReadsBesideAWriter,
    /// The lock file that is home to read admits writers.
    AdmitsWritersToRead,
    /// Readers have the token that this host gave out last.
    ReadsWithOldTokens,
    /// It does not call the hosts that read.
    CallsNoReader,
    /// Who is to forget a host leaves what that has to read.
    ForgetsNoReader,
    /// It takes the privilege to read of a leased lock without a lease.
    ReadsWithoutLease,
    /// Likewise, where that was the privilege to read.
    TrustsTheReaders,
    /// It takes the privilege at once whose lease ended, though the engine may have ended it before its time.
    TrustsTheEngine,
}

impl Fault {
    /// Those of any lock.
    pub const ALL: [Self; 14] = [
        Self::UnlocksByKey,
        Self::TakesUnasked,
        Self::TakesWithoutPlace,
        Self::WritesOldState,
        Self::GivesBackTooMuch,
        Self::StaysHome,
        Self::GivesUpBeforeAway,
        Self::ForgetsDeaths,
        Self::NeverWatches,
        Self::WritesBesideReaders,
        Self::ReadsBesideAWriter,
        Self::AdmitsWritersToRead,
        Self::ReadsWithOldTokens,
        Self::CallsNoReader,
    ];

    /// Those of a leased one.
    pub const OF_LEASES: [Self; 11] = [
        Self::CountsFromAnswer,
        Self::CountsFromLastCall,
        Self::HasNoMargin,
        Self::KeepsWhatIsOver,
        Self::BringsHomeFirst,
        Self::HoldsWithoutLease,
        Self::TakesAsGivenUp,
        Self::ReclaimsFromOthers,
        Self::MixesModes,
        Self::AdmitsAfterDeadline,
        Self::ReadsWithoutLease,
    ];

    /// What the agent of this host, with this fault, takes an event for.
    pub fn hear(fault: Option<Self>, host: &OneHost, event: Event) -> Event {
        let Event::Answered { call, reply: Ok(reply) } = event else { return event };
        let reply = match (fault, reply) {
            (Some(Self::KeepsWhatIsOver), Reply::Alive(_)) => Reply::Alive(true),
            (Some(fault), Reply::Listed(mut keys)) => {
                match fault {
                    Self::TrustsTheReaders => keys.read_by.clear(),
                    Self::WritesBesideReaders => keys.readers.retain(|reader| reader.host == host.name),
                    Self::ReadsBesideAWriter => {
                        let wants_to_read = host.file.wanted == Some(Wish::Read);
                        keys.held.take_if(|held| wants_to_read && held.host != host.name);
                    }
                    _ => {}
                }
                if let Some(state) = &mut keys.state {
                    match fault {
                        Self::TakesAsGivenUp => state.taken_by = None,
                        Self::ReclaimsFromOthers if state.taken_by.is_some() => {
                            state.taken_by = Some(host.name.clone());
                        }
                        Self::MixesModes => state.mode = host.config.mode,
                        _ => {}
                    }
                }
                Reply::Listed(keys)
            }
            (_, reply) => reply,
        };
        Event::Answered { call, reply: Ok(reply) }
    }

    /// What an agent with this fault wants done.
    pub fn apply(
        fault: Option<Self>,
        host: &OneHost,
        clock: Nanoseconds,
        mut actions: Vec<Action>,
    ) -> Vec<Action> {
        let Some(fault) = fault else { return actions };
        actions.retain(|action| match action {
            Action::MoveAway => fault != Self::StaysHome,
            Action::Call { request: Request::Watch { .. }, .. } | Action::WakeAt(_) => {
                fault != Self::NeverWatches
            }
            _ => true,
        });
        if fault == Self::BringsHomeFirst
            && let Some(at) = actions.iter().position(|action| matches!(action, Action::BringHome { .. }))
        {
            actions[..=at].rotate_right(1);
        }
        for action in &mut actions {
            if let Action::Lease { until } = action
                && *until > clock
            {
                let length = host.config.lease - host.config.margin;
                *until = match fault {
                    Self::CountsFromAnswer => clock + length,
                    Self::CountsFromLastCall => *until.max(&mut (host.kept_at + length)),
                    Self::HasNoMargin => *until + host.config.margin,
                    Self::GivesNoTimeToLeave => *until + host.told_before(),
                    _ => *until,
                };
            }
            if let Action::BringHomeToRead { token, .. } = action
                && fault == Self::ReadsWithOldTokens
            {
                *token = host.file.last_token;
            }
            if let Action::Call { request: Request::Transaction { compares, then }, .. } = action {
                let reads = then.iter().any(|operation| matches!(operation, Operation::Read { .. }));
                let (takes, gives) = (
                    reads || then.iter().any(|operation| matches!(operation, Operation::Hold { .. })),
                    then.contains(&Operation::Delete(Key::Held))
                        || then.contains(&Operation::Delete(Key::Reading)),
                );
                if fault == Self::CallsNoReader {
                    then.retain(|operation| !matches!(operation, Operation::CallReaders { .. }));
                }
                compares.retain(|compare| match (fault, compare) {
                    (Self::UnlocksByKey, _) => !gives,
                    (Self::TakesUnasked, _) => !takes,
                    (Self::TakesWithoutPlace, Compare::Created(Key::Place, _)) => !takes,
                    (Self::WritesOldState, Compare::Modified(..)) => false,
                    (Self::WritesBesideReaders, Compare::NoReaders) => false,
                    (Self::ReadsBesideAWriter, Compare::Created(Key::Held, _)) => !reads,
                    _ => true,
                });
                for operation in then {
                    match (fault, &mut *operation) {
                        (Self::HoldsWithoutLease, Operation::Hold { lease })
                        | (Self::ReadsWithoutLease, Operation::Read { lease }) => *lease = None,
                        _ => {}
                    }
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
