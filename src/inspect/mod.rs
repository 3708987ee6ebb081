//! Who holds, who waits, since when: a snapshot of a lock file by one who only looks on. Never writes.
//!
//! The file is mapped for reading only, so looking cannot disturb; and what is seen may be out of date by the time it
//! is printed.

use crate::acquire::site::Lock;
use crate::algorithm::{
    Place, Protocol,
    ownership::{Health, token_in},
    ring::{Machines, Membership, Ring, Rule},
};
use crate::attach::open_file::header_of;
use crate::error::Result;
use crate::kind::{Named, names_of};
use crate::layout::{FORMAT_MAJOR, FORMAT_MINOR, Fences, LivenessLockKind, SlotRecord, SlotState, View};
use crate::os::{
    clock,
    file::{self, Access},
    liveness_lock,
    map::Mapping,
    process::{self, ProcessState},
};
use crate::recovery;
use crate::registers::FileLock;
use crate::sync::Ordering::{Acquire, Relaxed};
use std::{
    fs::File,
    path::{Path, PathBuf},
};

/// A lock file, as it was at one moment.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cli", derive(serde::Serialize))]
pub struct FileStatus {
    /// The path, with its folder resolved. In JSON, what is not UTF-8 in it becomes U+FFFD.
    #[cfg_attr(feature = "cli", serde(serialize_with = "as_lossy_text"))]
    pub path: PathBuf,
    /// The format version, "major.minor".
    pub format: String,
    /// Room for so many participants.
    pub participant_capacity: u32,
    /// Room for so many named locks.
    pub lock_capacity: u32,
    /// When it was created, in seconds since 1970.
    pub created_unix_seconds: u64,
    /// `false`: nobody opened it since this computer booted; the next one to open it clears what stands in it.
    pub of_this_boot: bool,
    /// How a retained privilege is taken back: by "membarrier", or by "full" fences on both sides.
    pub fences: &'static str,
    /// Everyone who takes part.
    pub participants: Vec<ParticipantStatus>,
    /// Every named lock.
    pub locks: Vec<LockStatus>,
}

/// Is a participant alive?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum Life {
    /// Its byte lock is held.
    Alive,
    /// Alive, and stopped by SIGSTOP or a debugger: it holds what it holds until it is continued.
    Stopped,
    /// Its byte lock is gone; the next one who has to wait for it cleans up.
    Dead,
}

/// One who takes part.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cli", derive(serde::Serialize))]
pub struct ParticipantStatus {
    /// Its slot.
    pub slot: usize,
    /// What it calls itself.
    pub label: String,
    /// Its program.
    pub program: String,
    /// Its process, as its own PID namespace numbers it.
    pub pid: u32,
    /// Its thread, likewise.
    pub thread: u32,
    /// Is that the PID namespace of the one who asks?
    pub same_pid_namespace: bool,
    /// Is it alive?
    pub life: Life,
    /// When it took the slot, in seconds since 1970.
    pub attached_unix_seconds: u64,
    /// What keeps its slot: "mapping" or "descriptor".
    pub kept_by: &'static str,
    /// It waits and cannot see whether those it waits for are alive, since it can open no descriptor of the file (none
    /// is free, or it gave up the right to): it waits for a dead one too, until somebody else finds out.
    pub blind: bool,
}

/// One named lock.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cli", derive(serde::Serialize))]
pub struct LockStatus {
    /// Its name.
    pub name: String,
    /// "mutex" or "ring".
    pub kind: &'static str,
    /// "bakery"; "k-state", "raynal" or "sum".
    pub algorithm: &'static str,
    /// "consistent", "inconsistent" (a holder died; the next one is told) or "not_recoverable" (closed until a reset).
    pub state: &'static str,
    /// The last fencing token given out. A decimal string in JSON, since it is larger than 2^53.
    #[cfg_attr(feature = "cli", serde(serialize_with = "as_text"))]
    pub fencing_token: u64,
    /// What a holder's death means: "inform" or "release".
    pub death_policy: &'static str,
    /// For how long a waiter lets others pass before it is queued for good, in seconds; 0 is strict first come first
    /// served.
    pub patience_seconds: f64,
    /// Of a sum ring: from one slot to the next in the order of turns.
    pub ring_step: Option<usize>,
    /// Of a ring: the slot whose turn it is; the turn is taken if that is also the holder.
    pub turn_of: Option<usize>,
    /// The slot that the lock is biased to, if there is one: it may acquire the lock again without asking anyone.
    pub biased_to: Option<usize>,
    /// Who has it.
    pub holder: Option<Entry>,
    /// Who waits for it, first the one who is next. Of a ring: everyone who is on it, in the order of their turns.
    pub queue: Vec<Entry>,
    /// Who died holding it, last.
    pub previous_owner: Option<DeadOwner>,
}

/// Somebody at a lock.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cli", derive(serde::Serialize))]
pub struct Entry {
    /// Who.
    #[cfg_attr(feature = "cli", serde(flatten))]
    pub participant: ParticipantStatus,
    /// Its fencing token, if it is the holder.
    #[cfg_attr(feature = "cli", serde(serialize_with = "as_text_if_any"))]
    pub fencing_token: Option<u64>,
    /// Of a ring: how it takes part, "standing" or "on demand". Of a standing one that is no holder it is not known
    /// whether it waits for its turn.
    pub takes_part: Option<&'static str>,
    /// For how long it has held or waited, in seconds, to a few milliseconds; nothing if it came just now. Of a dead
    /// one: how long ago it entered or came. When it died is not known.
    pub for_seconds: Option<f64>,
    /// It entered without asking anyone, so nobody knows when: `for_seconds` counts from when somebody began to wait for
    /// it (and is nothing before), and it has held at least that long.
    pub at_least: bool,
}

/// Who died holding a lock.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cli", derive(serde::Serialize))]
pub struct DeadOwner {
    /// What it called itself.
    pub label: String,
    /// Its process, as its own PID namespace numbered it.
    pub pid: u32,
    /// Its thread, likewise.
    pub thread: u32,
    /// The fencing token it held.
    #[cfg_attr(feature = "cli", serde(serialize_with = "as_text"))]
    pub fencing_token: u64,
}

#[cfg(feature = "cli")]
fn as_text<S: serde::Serializer>(number: &u64, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(number)
}

#[cfg(feature = "cli")]
fn as_text_if_any<S: serde::Serializer>(number: &Option<u64>, to: S) -> std::result::Result<S::Ok, S::Error> {
    match number {
        Some(number) => to.collect_str(number),
        None => to.serialize_none(),
    }
}

#[cfg(feature = "cli")]
fn as_lossy_text<S: serde::Serializer>(path: &Path, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// Looks at the lock file at `path`. Needs permission to read it, and no slot.
///
/// # Errors
/// As opening it: [`crate::Error::NotFound`], [`crate::Error::NotALockFile`], [`crate::Error::Version`],
/// [`crate::Error::Damaged`], [`crate::Error::Permission`], [`crate::Error::FileSystem`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.lock");
/// let file = turnlock::LockFile::open(&path)?;
/// let mutex = file.mutex("accounts")?;
/// let guard = mutex.lock()?;
/// let status = turnlock::inspect::snapshot(&path)?;
/// assert_eq!(status.locks[0].name, "accounts");
/// assert_eq!(status.locks[0].holder.as_ref().unwrap().pid(), std::process::id());
/// # drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn snapshot(path: impl AsRef<Path>) -> Result<FileStatus> {
    let path = file::absolute(path.as_ref())?;
    let opened = file::open_existing(&path, Access::Read)?;
    let prefix = header_of(&opened, &path)?;
    let mapping = Mapping::read_only(&opened, prefix.geometry.file_size(), &path)?;
    // SAFETY: mapped as long as the geometry says, at a page boundary, until the end of this function; nothing below
    // stores through the view.
    let view = unsafe { View::new(mapping.base(), prefix.geometry) };
    let observer = Observer { view, opened: &opened, namespace: process::pid_namespace() };
    let participants = observer.participants()?;
    Ok(FileStatus {
        format: format!("{FORMAT_MAJOR}.{FORMAT_MINOR}"),
        participant_capacity: prefix.geometry.participants(),
        lock_capacity: prefix.geometry.locks(),
        created_unix_seconds: prefix.created_realtime_ns / 1_000_000_000,
        of_this_boot: recovery::is_of_this_boot(view)
            || process::boot_id() == [0, 0]
            // Whoever lives has cleared it since the boot, whatever id a container goes by.
            || participants.iter().any(|participant| participant.life != Life::Dead),
        fences: match Fences::of(view.header().fences.load(Relaxed)) {
            Fences::Membarrier => "membarrier",
            Fences::Full => "full",
        },
        participants,
        locks: observer.locks()?,
        path,
    })
}

impl Entry {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.participant.pid
    }
}

struct Observer<'a> {
    view: View<'a>,
    opened: &'a File,
    namespace: u64,
}

/// The registers of one slot that takes part in a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    slot: usize,
    place: Place,
    /// Its fencing token, if it is the holder.
    held: Option<u64>,
}

impl Observer<'_> {
    fn participants(&self) -> Result<Vec<ParticipantStatus>> {
        let records = self.view.slots().iter().enumerate();
        let taken = records.filter(|(_, record)| record.state.load(Acquire) != SlotState::Free as u32);
        taken.map(|(slot, record)| self.participant(slot, record)).collect()
    }

    fn participant(&self, slot: usize, record: &SlotRecord) -> Result<ParticipantStatus> {
        let (pid, thread) = (record.pid.load(Relaxed), record.tid.load(Relaxed));
        let same_pid_namespace = record.pid_namespace.load(Relaxed) == self.namespace;
        let life = if !liveness_lock::is_alive_seen_from_outside(self.opened, slot)? {
            Life::Dead
        } else if same_pid_namespace && process::state_of(pid, thread) == ProcessState::Stopped {
            Life::Stopped
        } else {
            Life::Alive
        };
        Ok(ParticipantStatus {
            slot,
            label: record.label.get(),
            program: record.program.get(),
            pid,
            thread,
            same_pid_namespace,
            life,
            attached_unix_seconds: record.attached_realtime_ns.load(Relaxed) / 1_000_000_000,
            blind: record.blind.load(Relaxed) != 0,
            kept_by: if record.liveness_lock.load(Relaxed) == LivenessLockKind::Descriptor as u32 {
                "descriptor"
            } else {
                "mapping"
            },
        })
    }

    fn locks(&self) -> Result<Vec<LockStatus>> {
        names_of(self.view).map(|named| self.lock(named)).collect()
    }

    fn bias_owner_of(&self, lock: &FileLock) -> Option<usize> {
        let slot = lock.bias().owner().filter(|_| !lock.bias().is_being_revoked())?;
        let record = self.view.slots().get(slot)?;
        (record.state.load(Acquire) != SlotState::Free as u32).then_some(slot)
    }

    fn lock(&self, named: Named) -> Result<LockStatus> {
        let lock = FileLock::new(self.view, named.region);
        let rule = named.rule();
        let ring = |rule| Ring { rule, machines: lock.machines() };
        let seen = steady_look(&lock, rule);
        let now = clock::monotonic_ns();
        let entry = |seen: &Seen| -> Result<Entry> {
            let (since, at_least) = match lock.since(seen.slot) {
                // Of a biased acquisition nobody wrote down since when; but since when the bias has been under revocation.
                0 if seen.held.is_some() => (lock.revoking_since(), true),
                since => (since, false),
            };
            Ok(Entry {
                participant: self.participant(seen.slot, &self.view.slots()[seen.slot])?,
                fencing_token: seen.held,
                takes_part: rule.map(|rule| match ring(rule).machines.membership(seen.slot) {
                    Membership::Standing => "standing",
                    _ => "on demand",
                }),
                for_seconds: (since != 0).then(|| now.saturating_sub(since) as f64 / 1e9),
                at_least,
            })
        };
        let holder = seen.iter().find(|seen| seen.held.is_some()).map(entry).transpose()?;
        let mut queue: Vec<Seen> = seen.into_iter().filter(|seen| seen.held.is_none()).collect();
        // Those in the doorway have no number yet and come last.
        queue.sort_by_key(|seen| (seen.place == Place::Choosing, seen.place, seen.slot));
        let (dead_token, dead_pid, dead_thread, dead_label) = lock.death();
        Ok(LockStatus {
            kind: named.kind_name(),
            algorithm: named.algorithm_name(),
            name: named.name,
            state: match lock.ownership().health() {
                Health::Consistent => "consistent",
                Health::Inconsistent => "inconsistent",
                Health::NotRecoverable => "not_recoverable",
            },
            fencing_token: lock.lock.words.token.load(Relaxed),
            death_policy: named.death_policy.name(),
            patience_seconds: named.patience as f64 / 1e9,
            ring_step: match rule {
                Some(Rule::Sum { step }) => Some(step),
                _ => None,
            },
            turn_of: rule.and_then(|rule| ring(rule).who()),
            biased_to: self.bias_owner_of(&lock),
            holder,
            queue: queue.iter().map(entry).collect::<Result<_>>()?,
            previous_owner: (dead_token != 0).then(|| DeadOwner {
                label: dead_label,
                pid: dead_pid,
                thread: dead_thread,
                fencing_token: dead_token,
            }),
        })
    }
}

/// Everyone in one lock's line. Looks again until two looks agree, so that nobody appears twice or in a place that was
/// never theirs; where the line moves too fast for that, the last look stands.
fn steady_look(lock: &FileLock, rule: Option<Rule>) -> Vec<Seen> {
    let look = || -> Vec<Seen> {
        let in_turn = rule.map(|rule| in_order_of_turns(lock, rule));
        let place = |slot: usize| match &in_turn {
            None => lock.queue().place(slot),
            Some(slots) => slots
                .iter()
                .position(|other| *other == slot)
                .map_or(Place::Idle, |before| Place::Numbered(before as u64)),
        };
        let all = (0..lock.slots()).map(|slot| Seen {
            slot,
            place: place(slot),
            held: token_in(lock.held(slot).load(Acquire)),
        });
        all.filter(|seen| seen.place != Place::Idle || seen.held.is_some()).collect()
    };
    let mut before = look();
    for _ in 0..20 {
        let now = look();
        if now == before {
            break;
        }
        before = now;
    }
    before
}

/// The slots that want turns of a ring, first the one whose turn it is.
fn in_order_of_turns(lock: &FileLock, rule: Rule) -> Vec<usize> {
    let ring = Ring { rule, machines: lock.machines() };
    let first = ring.who().filter(|slot| ring.machines.membership(*slot) != Membership::None);
    let from = first.or_else(|| ring.who()).unwrap_or(0);
    first.into_iter().chain(ring.from_the_right_of(from).filter(|slot| Some(*slot) != first)).collect()
}
