//! Transports for the machines of [`crate::message`]: mailboxes in the lock file.
//!
//! One mailbox is a [ring of words](turnlock_core::spsc) with one producer and one consumer. `record` says who has the token of a mesh, or
//! the tokens of a ring, so that a death does not lose them. `mailbox` is the [`Transport`](crate::message::Transport) made of both.

mod mailbox;
mod record;

pub use mailbox::{Carried, Mailboxes, Place, WAITING, end_life};
pub use record::Record;
