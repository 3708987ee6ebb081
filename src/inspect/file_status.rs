//! The status of a lock file.

use super::{
    deadlock_status::Deadlock,
    status::{LockStatus, ParticipantStatus},
};
#[cfg(feature = "serde")]
use std::path::Path;
use std::path::PathBuf;

/// A lock file at one moment.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FileStatus {
    /// The path, with its folder resolved. In JSON, what is not UTF-8 in it becomes U+FFFD.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_lossy_text"))]
    pub path: PathBuf,
    /// The format version, "major.minor".
    pub format: String,
    /// How many participants it has room for.
    pub participant_capacity: u32,
    /// How many named locks it has room for.
    pub lock_capacity: u32,
    /// How many participants can take locks by messages: those in the lowest slots.
    pub mailbox_capacity: u32,
    /// How many of the latest events the file keeps ([`super::recording()`]); 0: it has no recording.
    pub recorded_events: u32,
    /// When it was created, in seconds since 1970.
    pub created_unix_seconds: u64,
    /// Whether it was opened since this computer booted; if not, the next one to open it clears it.
    pub of_this_boot: bool,
    /// How biases are revoked: by "membarrier", as long as one process at a time takes part; else by "full" fences on both
    /// sides.
    pub fences: &'static str,
    /// All participants.
    pub participants: Vec<ParticipantStatus>,
    /// Every named lock.
    pub locks: Vec<LockStatus>,
    /// The deadlocks among its participants: circles of waits that are proved.
    pub deadlocks: Vec<Deadlock>,
}

#[cfg(feature = "serde")]
fn as_lossy_text<S: serde::Serializer>(path: &Path, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}
