//! Mailboxes in the lock file, which carry the messages of locks by messages.
//!
//! One mailbox is a [ring of words](turnlock_core::spsc) with one producer and one consumer. `record` says which
//! participant has the token of a mesh, or the tokens of a ring, so that a death does not lose them. `life` ends a
//! participant's part. `mailbox` is the `Transport` of the machines in `turnlock-message`, made of all three.

mod life;
#[cfg(feature = "messages")]
mod mailbox;
mod record;

pub use life::end_life;
#[cfg(feature = "messages")]
pub use mailbox::{Carried, Mailboxes, Place, WAITING};
pub use record::Record;
