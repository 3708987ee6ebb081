//! Acquisitions that block no thread of the program: futures, and descriptors to poll.
//!
//! What waits for a lock in a file blocks its thread. So a thread of ours, the *server*, waits for the requests of this process: one
//! for each *line*, which is a lock, or a part of one, that is waited for here. It is begun with the first request that has to wait,
//! serves them in the order of their arrival ([`turnlock_core::requests`]), and ends when there has been none for [`IDLE`]. A request
//! that finds its line empty first tries by itself, and needs no server if the lock is free.
//!
//! There are as many lines as the ordering needs, and no more. A request waits behind those of its own line alone, so each of these
//! must be one that it would wait for in the file too: all of a mutex, a semaphore or a group lock is a line, and a rwlock's readers and writers
//! are; its upgradable holders are another one, since readers go beside them; each range, and each key, is one. A limit on the number of
//! servers would have one line wait for another, which may wait for it: there is none.
//!
//! A server takes one slot while it waits, and what it acquired keeps that slot. Where there is none, the request fails with
//! [`Error::ParticipantsFull`](turnlock_core::error::Error::ParticipantsFull) and the next one is served.
//!
//! A forked child has neither the servers nor the requests. It looks at none of them: another thread may have been in the midst of
//! one when its parent forked.

mod acquisition;
mod deadlines;
mod descriptor;
mod future;
mod lines;
mod methods;
mod pending;

pub use descriptor::AcquireFd;
pub use future::{AcquireFuture, AcquireUpgradableFuture};
#[cfg(feature = "capi")]
pub use {
    lines::{LineKey, is_empty},
    pending::Pending,
};
