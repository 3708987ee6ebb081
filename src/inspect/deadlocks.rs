//! Deadlocks, as an observer finds them: what is one is said in [`turnlock_core::deadlock`].

use super::{
    deadlock_status::{Deadlock, DeadlockedClaim, DeadlockedParticipant},
    observer::Observer,
    sees_slots::SeesSlots,
    shown,
    status::Claim,
};
use crate::layout::Kind;
use crate::os::{clock, liveness_lock::Seen};
use crate::registers::Claimed;
use turnlock_core::algorithm::claim::{self as core_claim, Relation};
use turnlock_core::deadlock::{self, Blocks, Cycle, Edge};
use turnlock_core::error::Result;
use turnlock_core::sync::Ordering::Relaxed;

impl Observer<'_> {
    /// Returns all deadlocks, one for each wait that closed one.
    pub fn deadlocks(&self) -> Result<Vec<Deadlock>> {
        let is_alive = |slot: usize| self.seen(slot).is_ok_and(|seen| seen == Seen::Alive);
        deadlock::all(&self.view(), &is_alive).iter().map(|cycle| self.deadlock(cycle)).collect()
    }

    fn deadlock(&self, cycle: &Cycle) -> Result<Deadlock> {
        let (edges, now) = (cycle.edges(), clock::monotonic_ns());
        // What it has of the edge that leads to it.
        let before = edges.iter().cycle().skip(edges.len() - 1);
        let participant = |(into, edge): (&Edge, &Edge)| {
            Ok(DeadlockedParticipant {
                participant: self.participant(edge.waiter)?,
                holds: match into.blocks {
                    Blocks::ByHolding(token) => {
                        Some(self.claimed(into.region, into.blocker, into.has, Some(token)))
                    }
                    Blocks::ByQueueing(..) => None,
                },
                waits_for: self.claimed(edge.region, edge.waiter, edge.wants, None),
                for_seconds: now.saturating_sub(edge.since) as f64 / 1e9,
            })
        };
        Ok(Deadlock { participants: before.zip(edges).map(participant).collect::<Result<_>>()? })
    }

    fn claimed(
        &self,
        region: usize,
        slot: usize,
        claim: core_claim::Claim,
        fencing_token: Option<u64>,
    ) -> DeadlockedClaim {
        let view = self.view();
        let relation = Claimed::in_region(view, region).relation;
        let key_beginning = match relation {
            Relation::Keys => view.slots()[slot].key.get(claim.extent),
            _ => None,
        };
        let entry = &view.directory()[region - 1];
        DeadlockedClaim {
            lock: entry.name.get(),
            kind: Kind::of(entry.kind.load(Relaxed)).map_or("unknown", Kind::name),
            claim: Claim { key_beginning, ..shown::claim(relation, claim) },
            fencing_token,
        }
    }
}
