//! What is known of a lock, as the named tuples of `turnlock._facts`.

use pyo3::{
    prelude::*,
    types::{PyBytes, PyList},
};
use turnlock::{
    PreviousOwner,
    inspect::{Claim, ClaimMode, Holder, KeyBeginning, Life, LockStatus, Part, Waiter, WaiterState},
};

fn made<'py>(
    py: Python<'py>,
    class: &str,
    values: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("turnlock._facts")?.getattr(class)?.call1(values)
}

/// A participant that died.
pub fn previous_owner(py: Python<'_>, owner: PreviousOwner) -> PyResult<Bound<'_, PyAny>> {
    made(py, "PreviousOwner", (owner.label, owner.pid, owner.thread, owner.fencing_token))
}

/// A holder of the lock.
pub fn holders<'py>(py: Python<'py>, status: &LockStatus) -> PyResult<Bound<'py, PyList>> {
    let one = |holder: &Holder| {
        let who = &holder.participant;
        let facts = (
            &who.label,
            who.pid,
            who.thread,
            holder.fencing_token,
            life(who.life),
            holder.for_seconds,
            claim(py, holder.claim)?,
        );
        made(py, "Holder", facts)
    };
    PyList::new(py, status.holders.iter().map(one).collect::<PyResult<Vec<_>>>()?)
}

/// A waiter.
pub fn waiters<'py>(py: Python<'py>, status: &LockStatus) -> PyResult<Bound<'py, PyList>> {
    let one = |waiter: &Waiter| {
        let who = &waiter.participant;
        let state = match waiter.state {
            WaiterState::Queued => "queued",
            WaiterState::BackedOff => "backed off",
            WaiterState::RingMember => "ring member",
            _ => "unknown",
        };
        let facts = (
            &who.label,
            who.pid,
            who.thread,
            state,
            life(who.life),
            waiter.for_seconds,
            waiter.claim.map(|wanted| claim(py, wanted)).transpose()?,
        );
        made(py, "Waiter", facts)
    };
    PyList::new(py, status.queue.iter().map(one).collect::<PyResult<Vec<_>>>()?)
}

/// What a participant has of the lock, or wants.
fn claim(py: Python<'_>, claim: Claim) -> PyResult<Bound<'_, PyAny>> {
    let mode = match claim.mode {
        ClaimMode::Exclusive => "exclusive",
        ClaimMode::Shared => "shared",
        ClaimMode::Upgradable => "upgradable",
        ClaimMode::Upgrading => "upgrading",
        _ => "unknown",
    };
    let (mut range, mut key_hash, mut group) = (None, None, None);
    match claim.part {
        // The last number belongs to it.
        Some(Part::Range { first, last }) => range = Some((first, last.checked_add(1))),
        Some(Part::Key(hash)) => key_hash = Some(format!("{hash:032x}")),
        Some(Part::Group(number)) => group = Some(number),
        _ => (),
    }
    let key = claim.key_beginning.as_ref().map(|key| PyBytes::new(py, key.bytes()));
    let is_whole_key = claim.key_beginning.as_ref().is_some_and(KeyBeginning::is_whole);
    made(py, "Claim", (mode, claim.permits, range, key, is_whole_key, key_hash, group))
}

/// Returns whether a live holder has the lock.
pub fn is_held(status: &LockStatus) -> bool {
    status.holders.iter().any(|holder| holder.participant.life != Life::Dead)
}

fn life(life: Life) -> &'static str {
    match life {
        Life::Alive => "alive",
        Life::Stopped => "stopped",
        Life::Dead => "dead",
        _ => "unknown",
    }
}
