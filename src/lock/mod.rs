//! What a Rust user sees: the file, its locks, guards, participants.

mod attachment;
mod directory;
mod engine;
mod file;
mod follow;
mod guard;
mod liveness;
mod mutex;
mod open_file;
mod participant;
mod retained;
mod ring;
mod rotation;
mod thread;
mod turn;

pub use file::{LockFile, LockFileOptions};
pub use guard::{MutexGuard, ParticipantGuard};
pub use mutex::{Acquired, DEFAULT_PATIENCE, Mutex, MutexOptions, PreviousOwner};
pub use participant::{Participant, ParticipantOptions};
pub use ring::{RingAlgorithm, RingOptions, TurnGuard, TurnParticipantGuard, TurnRing};

pub(crate) use directory::{Named, names_of};
pub(crate) use open_file::header_of;
pub(crate) use retained::Left;
