//! What a Rust user sees: the file, its locks, guards, participants.

mod directory;
mod engine;
mod file;
mod mutex;
mod open_file;
mod participant;
mod seat;

pub use file::{LockFile, LockFileOptions};
pub use mutex::{Acquired, Mutex, MutexGuard, ParticipantGuard, PreviousOwner};
pub use participant::{Participant, ParticipantOptions};

pub(crate) use directory::names_of;
pub(crate) use open_file::header_of;
