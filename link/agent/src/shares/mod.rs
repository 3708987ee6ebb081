//! One semaphore whose permits are shared out among several hosts: what the agent of a host decides.
//!
//! A [`ShareAgent`] is one host's part, as [`crate::Agent`] is of a lock that one host has at a time: events in, actions out, over the same
//! kind of engine. The engine knows the *share* of each host, [`Key::Share`]. In [`crate::Mode::Kept`] it has no lease: a host that cannot be
//! reached keeps its share, until a person has the host forgotten. In [`crate::Mode::Leased`] it has one, and programs are admitted up to a deadline
//! before its end alone. The lock file has a share, too, by which programs are admitted.
//!
//! - *Neither the file's share nor what is inside is ever more than the engine's share.* A share grows in the engine first, and in the file when that is known to be done. It
//!   shrinks in the file first, and in the engine as fewer permits are inside ([`Event::Drained`]). So an agent may die between any two of
//!   its steps.
//! - *The shares are no more than the total together.* The transaction that makes one larger compares that no share was written since
//!   the snapshot by which it was decided. One that was deleted since is not seen by that, and has only left more.
//! - *What was given back is not taken for one's own.* A call that gives permits back, and was given up on, may be carried out late. So the file's share
//!   grows only after a transaction that has written [`Key::Share`], which such a call compares.
//! - *First come first served among hosts*: a host stands once in the queue, and the first place alone takes. It takes what is free, again and
//!   again, until it has what its first waiter needs.
//! - A host that sees another's place gives back what is idle at once, and what is in use after [`crate::Config::hold`]: its programs
//!   go on, and those that come later wait as those of the other host do. First the hosts give that have more than an equal part; where that is not enough, or
//!   does not come, all do.

mod agent;
mod decision;
mod engine;
mod lease;

pub use agent::{Action, Demand, Event, Found, ShareAgent};
pub use engine::{Compare, Key, Operation, Place, Reply, Request, Share, Snapshot, Total, Watched};
