//! The file, byte by byte: header, directory, slots, locks. `docs/format.md` is the same map for people.
//!
//! Everything in the mapped part that can change is an atomic. [`View`] hands out references and never a pointer;
//! what it indexes by was checked when the file was opened and is kept in private memory ([`Geometry`]).

mod directory;
mod geometry;
mod header;
mod lock;
mod slot;
mod text;
mod view;

pub use directory::{DirectoryEntry, EntryState, MAX_NAME_BYTES};
pub use geometry::{Geometry, MAX_LOCKS, MAX_PARTICIPANTS};
pub use header::{HeaderFault, HeaderPrefix, LiveHeader, PREFIX_BYTES};
pub use lock::{Cell, LockWords, PreviousOwner};
pub use slot::{DeathNoticeKind, SlotRecord, SlotState};
pub use text::Text;
pub use view::{LockView, View};

/// Format version: another major number cannot be read; a larger minor number adds only what may be ignored.
pub const FORMAT_MAJOR: u16 = 1;
/// See [`FORMAT_MAJOR`].
pub const FORMAT_MINOR: u16 = 0;

/// Slot i's byte lock is on byte `SLOT_BYTES_START + i`, far behind the end of the file.
pub const SLOT_BYTES_START: u64 = 1 << 40;
/// Bytes from here on are used for an instant to try out what this file system's byte locks do.
pub const CANARY_BYTES_START: u64 = 1 << 41;
