//! What is known of a lock, as the named tuples of `turnlock._facts`.

use pyo3::{prelude::*, types::PyList};
use turnlock::{
    PreviousOwner,
    inspect::{Holder, Life, LockStatus, Waiter, WaiterState},
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
        let facts =
            (&who.label, who.pid, who.thread, holder.fencing_token, life(who.life), holder.for_seconds);
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
        made(py, "Waiter", (&who.label, who.pid, who.thread, state, life(who.life), waiter.for_seconds))
    };
    PyList::new(py, status.queue.iter().map(one).collect::<PyResult<Vec<_>>>()?)
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
