//! Transports for the machines of [`crate::message`]: mailboxes in the lock file.
//!
//! `ring` is one mailbox: a ring of words with one producer and one consumer. `record` says who has the token of a mesh, or
//! the tokens of a ring, so that a death does not lose them. `mailbox` is the [`Transport`](crate::message::Transport) made of both.

#[cfg(not(any(loom, shuttle)))]
mod mailbox;
#[cfg(not(any(loom, shuttle)))]
mod record;
mod ring;

#[cfg(not(any(loom, shuttle)))]
pub use mailbox::{Carried, Mailboxes, Place, WAITING, end_life};
#[cfg(not(any(loom, shuttle)))]
pub use record::Record;
#[cfg(any(loom, shuttle))]
pub use ring::{Overwritten, Ring};
