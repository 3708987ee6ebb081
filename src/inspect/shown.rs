//! What a lock is, and what is claimed of it, as people read it.

use super::status::{ByMessages, Claim, ClaimMode, Counters, LinkStatus, LockStatus, Part};
use crate::kind::Named;
use crate::layout::{LockView, LockWords, View};
use crate::os::clock;
use crate::recovery;
use crate::registers::{FileClaims, FileLock, link};
use crate::transport::Record;
use std::time::Duration;
use turnlock_core::acquire::site::Lock;
use turnlock_core::algorithm::{
    claim::{self as core_claim, Mode, Relation},
    dead_claim::DeadPart,
    ownership::Health,
};
use turnlock_core::sync::Ordering::{Acquire, Relaxed};

/// Returns what is named, as far as its name and its counters say it.
pub(super) fn without_holders(view: View, named: &Named) -> LockStatus {
    LockStatus {
        name: named.name.clone(),
        kind: named.kind_name(),
        algorithm: None,
        state: "unknown",
        fencing_token: None,
        death_policy: None,
        recursive: false,
        patience_seconds: None,
        ring_step: None,
        turn_of: None,
        biased_to: None,
        biased_to_readers: false,
        permits: None,
        dead_parts: Vec::new(),
        by_messages: None,
        link: named.linked.then(|| link_of(&view.lock(named.region))),
        condition: None,
        event: None,
        barrier: None,
        once: None,
        counters: counters(view.lock(named.region).words),
        holders: Vec::new(),
        queue: Vec::new(),
        previous_owner: None,
    }
}

/// Returns whether the data that it protects can be trusted: of a linked lock that is away, as far as this host knows.
pub(super) fn health<F: FileClaims>(named: &Named, lock: &FileLock<'_, F>) -> Health {
    if named.linked { link(&lock.lock).health() } else { lock.ownership().health() }
}

fn link_of(lock: &LockView) -> LinkStatus {
    let link = link(lock);
    let lease_end = link.lease_end.load(Relaxed);
    let share = link.is_shared_out().then(|| lock.words.permits.load(Relaxed));
    let left = || Duration::from_nanos(lease_end.saturating_sub(clock::boot_ns())).as_secs_f64();
    LinkStatus {
        home: !link.is_away() && share != Some(0),
        to_read: link.is_home_to_read(),
        agent: link.agent(),
        token_end: link.token_end.load(Relaxed),
        lease_seconds: (lease_end != 0).then(left),
        share,
    }
}

fn counters(words: &LockWords) -> Counters {
    let [token, first, contended, timed_out, died, passed_over] = [
        &words.token,
        &words.first_token,
        &words.contended,
        &words.timed_out,
        &words.died,
        &words.passed_over,
    ]
    .map(|word| word.load(Relaxed));
    // Less than none only where something else than turnlock wrote there.
    Counters { acquisitions: token.saturating_sub(first), contended, timed_out, died, passed_over }
}

/// Returns what the participants of a lock by messages wrote down.
pub(super) fn by_messages(view: View, region: usize) -> Option<ByMessages> {
    let mail = recovery::mail_of(view, region)?;
    let takes_part = |slot: &usize| mail.peer_records[*slot].life.load(Acquire) % 2 == 1;
    Some(ByMessages {
        members: (0..mail.peer_records.len()).filter(takes_part).collect(),
        token_of: Record(&mail.words.token_at).at().map(|at| at.participant),
        second_token_of: Record(&mail.words.second_token_at).at().map(|at| at.participant),
        messages: mail.peer_records.iter().map(|peer_record| peer_record.sent.load(Relaxed)).sum(),
    })
}

/// Returns a claim, for people.
pub(super) fn claim(relation: Relation, claim: core_claim::Claim) -> Claim {
    let mode = match claim.mode.held() {
        Mode::Shared => ClaimMode::Shared,
        Mode::Upgradable => ClaimMode::Upgradable,
        Mode::Upgrading => ClaimMode::Upgrading,
        _ => ClaimMode::Exclusive,
    };
    let all = claim.mode == Mode::Everything;
    let part = if all { DeadPart::Everything } else { DeadPart::Of(claim.extent) };
    match relation {
        Relation::Always => Claim::EXCLUSIVE,
        Relation::Modes => Claim { mode, permits: None, part: None, key_beginning: None },
        Relation::Permits => {
            Claim { mode: ClaimMode::Shared, permits: Some(claim.weight), part: None, key_beginning: None }
        }
        Relation::Groups if all => Claim { part: Some(Part::Everything), ..Claim::EXCLUSIVE },
        Relation::Ranges | Relation::Keys | Relation::Groups => {
            Claim { mode, permits: None, part: Some(part_of(relation, part)), key_beginning: None }
        }
    }
}

pub(super) fn part_of(relation: Relation, part: DeadPart) -> Part {
    match part {
        DeadPart::Everything => Part::Everything,
        DeadPart::Of(extent) if relation == Relation::Keys => {
            Part::Key(u128::from(extent.first) << 64 | u128::from(extent.last))
        }
        DeadPart::Of(extent) if relation == Relation::Groups => Part::Group(extent.first),
        DeadPart::Of(extent) => Part::Range { first: extent.first, last: extent.last },
    }
}
