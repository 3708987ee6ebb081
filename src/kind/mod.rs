//! The kinds of locks, and the lock file they come from: what a Rust program uses.

mod acquired;
mod directory;
mod file;
mod follow;
mod guard;
mod handle;
mod mutex;
mod participant;
mod removal;
mod ring;

pub use acquired::{Acquired, PreviousOwner};
pub use file::{LockFile, LockFileOptions};
pub use guard::{Guard, GuardAs};
pub use mutex::{DEFAULT_PATIENCE, Mutex, MutexGuard, MutexKind, MutexOptions, ParticipantGuard};
pub use participant::{Participant, ParticipantOptions};
pub use ring::{RingAlgorithm, RingKind, RingOptions, TurnGuard, TurnParticipantGuard, TurnRing};

pub use crate::layout::DeathPolicy;

pub(crate) use directory::{Named, names_of};
pub(crate) use handle::{Handle, LockKind};
