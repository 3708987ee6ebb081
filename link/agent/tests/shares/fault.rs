//! Faults of an agent, made of what it wants done and what it is told: each must be found.

use crate::host::OneHost;
use turnlock_link_agent::shares::{Action, Compare, Event, Key, Operation, Reply, Request, Share, Total};
use turnlock_link_agent::{NO_DEADLINE, Nanoseconds};

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
    /// It takes permits by a lease, and sets no deadline before they are in the file.
    SetsNoDeadline,
    /// It takes permits that are leased without a lease.
    SharesWithoutLease,
    /// It goes on with what it had when its lease ended, though others took some of it.
    ReclaimsWhatWasTaken,
    /// It takes what another host had whose lease ended, and leaves that host the record of it.
    LeavesRecords,
    /// It compares what hosts have when it takes permits, and not what they took and have not given back.
    ComparesSharesOnly,
    /// It does not compare the modes.
    MixesModes,
    /// The lock file does not compare the clock with the deadline.
    AdmitsAfterDeadline,
    /// It takes permits again though programs are inside that lost theirs, and tells those that theirs are their own.
    GrowsOverLost,
    /// It takes at once what another host had whose lease ended, though the engine may have ended it before its time.
    TrustsTheEngine,
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

    /// Those of permits that are leased.
    pub const OF_LEASES: [Fault; 11] = [
        Fault::CountsFromAnswer,
        Fault::CountsFromLastCall,
        Fault::HasNoMargin,
        Fault::KeepsWhatIsOver,
        Fault::SetsNoDeadline,
        Fault::SharesWithoutLease,
        Fault::ReclaimsWhatWasTaken,
        Fault::LeavesRecords,
        Fault::MixesModes,
        Fault::AdmitsAfterDeadline,
        Fault::GrowsOverLost,
    ];

    /// What the agent of this host, with this fault, takes an event for.
    pub fn hear(fault: Option<Self>, host: &OneHost, event: Event) -> Event {
        let Event::Answered { call, reply: Ok(reply) } = event else { return event };
        let reply = match (fault, reply) {
            (Some(Self::KeepsWhatIsOver), Reply::Alive(_)) => Reply::Alive(true),
            (Some(Self::MixesModes), Reply::Listed(mut known)) => {
                let mode = host.config.mode;
                known.total = known.total.map(|total| Total { mode, ..total });
                Reply::Listed(known)
            }
            (Some(Self::ReclaimsWhatWasTaken), Reply::Listed(mut known)) => {
                // A key that is not there compares as one of no revision.
                if known.taken_by(&host.name).is_none() && host.share > 0 && host.used() > 0 {
                    let (host, permits) = (host.name.clone(), host.share);
                    known.taken.push(Share { host, permits, modified: 0 });
                }
                Reply::Listed(known)
            }
            (_, reply) => reply,
        };
        Event::Answered { call, reply: Ok(reply) }
    }

    /// What it makes of what an agent wants done.
    pub fn apply(
        fault: Option<Self>,
        host: &OneHost,
        clock: Nanoseconds,
        mut actions: Vec<Action>,
    ) -> Vec<Action> {
        let Some(fault) = fault else { return actions };
        if fault == Fault::SetsNoDeadline {
            actions.retain(|action| host.until != NO_DEADLINE || !matches!(action, Action::Lease { .. }));
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
        }
        for action in &mut actions {
            let Action::Call { request: Request::Transaction { compares, then }, .. } = action else {
                continue;
            };
            let is_free =
                |compare: &Compare| matches!(compare, Compare::NoShareSince(_) | Compare::NoneTakenSince(_));
            let takes = compares.iter().any(is_free);
            match fault {
                Fault::TakesWithoutCompare => {
                    compares.retain(|compare| !is_free(compare));
                }
                Fault::ComparesSharesOnly => {
                    for compare in compares {
                        if let Compare::NoneTakenSince(at) = *compare {
                            *compare = Compare::NoShareSince(at);
                        }
                    }
                }
                Fault::LeavesRecords => {
                    then.retain(|operation| !matches!(operation, Operation::Forget(_)));
                }
                Fault::SharesWithoutLease => {
                    for operation in then {
                        if let Operation::PutShare { lease, .. } = operation {
                            *lease = None;
                        }
                    }
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
                            Operation::PutShare { permits, .. } if *permits == host.share && *permits > 1 => {
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
