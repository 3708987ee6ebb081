//! The status of locks and participants.

use super::no_lock::{BarrierStatus, ConditionStatus, EventStatus, OnceStatus};
use crate::layout::KeyBeginning;

/// Whether a participant is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum Life {
    /// Its byte lock is held.
    Alive,
    /// Alive, and stopped by SIGSTOP or a debugger: it holds what it holds until it is continued.
    Stopped,
    /// Its byte lock is gone; the next participant that waits for it reaps it.
    Dead,
    /// Not known: the process that asks can open no descriptor of the file at present.
    Unknown,
}

/// A participant.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ParticipantStatus {
    /// The number of its slot.
    pub slot: usize,
    /// The label that it gave itself.
    pub label: String,
    /// The name of its program.
    pub program: String,
    /// Its process, as its own PID namespace numbers it.
    pub pid: u32,
    /// Its thread, likewise.
    pub thread: u32,
    /// Whether that is the PID namespace of the observer.
    pub same_pid_namespace: bool,
    /// Whether it is alive.
    pub life: Life,
    /// When it took the slot, in seconds since 1970.
    pub attached_unix_seconds: u64,
    /// What keeps its slot: "mapping" or "descriptor".
    pub kept_by: &'static str,
    /// Whether it waits and cannot see whether those ahead are alive, since it can open no descriptor of the file (none is
    /// free, or it gave up the right to): it waits for a dead one too, until another participant finds out.
    pub cannot_probe: bool,
    /// The processes that keep its slot though its own has ended: they inherited the descriptor, as the command does that a killed
    /// `turnlock run` leaves behind. Told by [`super::snapshot`]; empty as long as its own process lives, and where they cannot be
    /// seen.
    pub keepers: Vec<Keeper>,
}

/// A process that keeps the slot of a participant whose own process has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Keeper {
    /// The process.
    pub pid: u32,
    /// The name of its program, as the kernel cut it.
    pub program: String,
}

/// One named lock.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LockStatus {
    /// The name of the lock.
    pub name: String,
    /// Its kind: "mutex", "ring", "rwlock", "semaphore", "range lock", "keyed lock" or "group lock"; or what is no lock, or none that is held for
    /// its own sake: "condition", "event", "barrier" or "once". Those have `None` where only a lock has something.
    pub kind: &'static str,
    /// Its algorithm: "k-state", "raynal" or "sum" of a ring; else "bakery", or of a mutex by messages "lamport-queue",
    /// "ricart-agrawala", "token-ring" or "message-bakery".
    pub algorithm: Option<&'static str>,
    /// Its state: "consistent", "inconsistent" (a holder died; the next one is told) or "not_recoverable" (closed until a
    /// reset). A range lock or a keyed lock is inconsistent while one of its parts is; a group lock, until a member that was told
    /// of the death marks it consistent.
    ///
    /// Of a condition: "idle" or "waited_for"; of an event: "set" or "not_set"; of a barrier: "open" or "broken"; of a once: "done",
    /// "not_done" or "inconsistent" (the one that was at it died; the next one is told). "unknown": its words are impossible, since the
    /// file was overwritten.
    pub state: &'static str,
    /// The last fencing token given out. A decimal string in JSON, since it is larger than 2^53.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text_if_any"))]
    pub fencing_token: Option<u64>,
    /// What a holder's death means: "inform" or "release".
    pub death_policy: Option<&'static str>,
    /// Whether a thread that has the lock may take it again.
    pub recursive: bool,
    /// Its patience: for how long a waiter lets others pass before it is queued for good, in seconds; 0 is strict first come
    /// first served.
    pub patience_seconds: Option<f64>,
    /// The step of a sum ring, from one slot to the next in the order of turns.
    pub ring_step: Option<usize>,
    /// The slot whose turn it is on a ring; the turn is taken if that is also the holder.
    pub turn_of: Option<usize>,
    /// The slot that the lock is biased to, or that has a reservation in it: it may re-enter without the queue.
    pub biased_to: Option<usize>,
    /// Whether it is biased to its readers, which may re-enter without the queue.
    pub biased_to_readers: bool,
    /// How many permits a semaphore has, taken or not; of a linked one, over all hosts.
    pub permits: Option<u32>,
    /// What dead participants held of a range lock or a keyed lock that is not marked consistent yet.
    pub dead_parts: Vec<Part>,
    /// What the members of a mutex by messages write down.
    pub by_messages: Option<ByMessages>,
    /// What only a linked lock has.
    pub link: Option<LinkStatus>,
    /// What only a condition has.
    pub condition: Option<ConditionStatus>,
    /// What only an event has.
    pub event: Option<EventStatus>,
    /// What only a barrier has.
    pub barrier: Option<BarrierStatus>,
    /// What only a once has.
    pub once: Option<OnceStatus>,
    /// How often it was acquired, waited for, and so on.
    pub counters: Counters,
    /// Its holders: one at most, of a mutex and of a ring. Of a once: the one that is at it.
    pub holders: Vec<Holder>,
    /// Its waiters: those in the queue, first the one that is next, and after them those in the standby queue. Of a ring: all
    /// on it, in the order of their turns. Of a condition: first those that were notified, then the others in the order in which
    /// they are notified; of an event and a barrier: in the order in which they came.
    pub queue: Vec<Waiter>,
    /// The last participant that died holding it.
    pub previous_owner: Option<DeadOwner>,
}

/// Counters of a lock since it was created, which count on beyond a boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Counters {
    /// How often it was acquired: how many fencing tokens it gave out. Readers of a rwlock take none, and are not counted.
    /// Of a mutex whose token travels by messages it is how far that counted.
    pub acquisitions: u64,
    /// How many acquisitions had to wait, for longer than a waiter spins, and how many tries failed for that.
    pub contended: u64,
    /// How many gave up when their time was over.
    pub timed_out: u64,
    /// How many participants died holding it. If a reaper is killed in the midst of reaping one, that may be counted twice.
    pub died: u64,
    /// How often a waiter skipped another that did not come.
    pub passed_over: u64,
}

/// What is known of a mutex by messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ByMessages {
    /// The slots of its members: an entry may need an answer of each.
    pub members: Vec<usize>,
    /// The slot that has the token of a mesh or a token ring, or that it is on its way to; `None` if it is to be made anew.
    pub token_of: Option<usize>,
    /// The slot of the second token of a token ring, likewise, which is no privilege and watches over the first.
    pub second_token_of: Option<usize>,
    /// How many messages were sent, since the lock was created.
    pub messages: u64,
}

/// What is known of a linked lock.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LinkStatus {
    /// Whether it is home: else it is away, and no program is admitted. Of a semaphore: whether this host has a permit.
    pub home: bool,
    /// Whether it is home to read: only readers are admitted, and other hosts may have it so, too.
    pub to_read: bool,
    /// The slot of its agent; `None`: none is attached.
    pub agent: Option<usize>,
    /// The last fencing token that is reserved for this host; of a semaphore, the last one that there can be. A decimal string in JSON.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))]
    pub token_end: u64,
    /// For how long this host has the privilege yet, in seconds; 0: its lease has ended; `None`: until it gives it up.
    pub lease_seconds: Option<f64>,
    /// Of a semaphore: how many of its permits this host has, taken or not. [`LockStatus::permits`] is how many there are over all hosts.
    pub share: Option<u32>,
}

/// What a participant has of a lock, or wants of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Claim {
    /// The mode.
    pub mode: ClaimMode,
    /// The number of permits of a semaphore.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub permits: Option<u32>,
    /// The part of a range lock or a keyed lock, or the group of a group lock.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub part: Option<Part>,
    /// What a key begins with, if that is known: up to 47 bytes. Text in JSON.
    #[cfg_attr(
        feature = "serde",
        serde(skip_serializing_if = "Option::is_none", serialize_with = "as_key_text")
    )]
    pub key_beginning: Option<KeyBeginning>,
}

/// A part of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Part {
    /// A range, from the first number to the last. Decimal strings in JSON.
    Range {
        /// The first.
        #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))]
        first: u64,
        /// The last, which belongs to it.
        #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))]
        last: u64,
    },
    /// A key, by its hash (FNV-1a of 128 bits). A hexadecimal string in JSON.
    Key(#[cfg_attr(feature = "serde", serde(serialize_with = "as_hexadecimal"))] u128),
    /// A group of a group lock. A decimal string in JSON.
    Group(#[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))] u64),
    /// All of it, or more than can be told.
    Everything,
}

impl Claim {
    /// The claim of every holder of a mutex and of a ring.
    pub(crate) const EXCLUSIVE: Self =
        Self { mode: ClaimMode::Exclusive, permits: None, part: None, key_beginning: None };
}

/// The mode in which a participant holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ClaimMode {
    /// Alone.
    Exclusive,
    /// Beside others that have it shared, and one that has it upgradable. Of a semaphore: beside other holders of permits; of a
    /// group lock: beside others of its group.
    Shared,
    /// Shared, with the right to become exclusive.
    Upgradable,
    /// Upgradable, and waiting to be exclusive: later readers wait for it already.
    Upgrading,
}

/// A participant that has a lock.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Holder {
    /// The participant.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub participant: ParticipantStatus,
    /// What it has of the lock.
    pub claim: Claim,
    /// Its fencing token. A decimal string in JSON.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))]
    pub fencing_token: u64,
    /// How it takes part in a ring: "member" or "on demand".
    pub takes_part: Option<&'static str>,
    /// For how long it has held the lock, in seconds, to a few milliseconds; `None` if it came just now. Of a dead one: how
    /// long ago it entered.
    pub for_seconds: Option<f64>,
    /// Whether it has held for at least `for_seconds`: a biased entry does not write down when it began, so that counts from
    /// when another began to wait for it (and is `None` before).
    pub at_least: bool,
}

/// A waiter of a lock, or a member of a ring.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Waiter {
    /// The participant.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub participant: ParticipantStatus,
    /// Where it waits.
    pub state: WaiterState,
    /// What it does just now.
    pub activity: Activity,
    /// What it wants of the lock; `None` at what is no lock.
    pub claim: Option<Claim>,
    /// The slot of the first of those that it waits for, holding or waiting, if it is in the queue.
    pub blocked_by: Option<usize>,
    /// How it takes part in a ring: "member" or "on demand".
    pub takes_part: Option<&'static str>,
    /// For how long it has waited, in seconds, to a few microseconds; `None` if it came just now, or does not wait. Of a dead
    /// one: how long ago it came.
    pub for_seconds: Option<f64>,
}

/// Where a participant waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum WaiterState {
    /// Queued for good, or next in the standby queue to be so: its patience is over. On a ring: waiting for its turn. At what is no
    /// lock: waiting.
    Queued,
    /// It still has patience and lets others pass.
    BackedOff,
    /// A member of the ring that does not wait now: the ring waits for it when its turn comes.
    RingMember,
    /// It was notified at a condition, and has not taken its lock again.
    Notified,
}

/// What a waiter does just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Activity {
    /// Not known: it is of another PID namespace, or there is no `/proc`; or it is dead.
    Unknown,
    /// It runs, or could: it spins or yields, or has just been woken.
    Running,
    /// It sleeps until it is woken.
    Sleeping,
    /// It is stopped (SIGSTOP, a debugger), and is skipped when its turn comes.
    Stopped,
    /// It did not come when its turn came, and was skipped: it queues again when it goes on.
    PassedOver,
}

/// A participant that died holding a lock.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DeadOwner {
    /// The label that it gave itself.
    pub label: String,
    /// Its process, as its own PID namespace numbered it.
    pub pid: u32,
    /// Its thread, likewise.
    pub thread: u32,
    /// The fencing token it held.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))]
    pub fencing_token: u64,
}

#[cfg(feature = "serde")]
fn as_text<S: serde::Serializer>(number: &u64, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(number)
}

#[cfg(feature = "serde")]
pub(super) fn as_text_if_any<S: serde::Serializer>(
    number: &Option<u64>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    match number {
        Some(number) => to.collect_str(number),
        None => to.serialize_none(),
    }
}

#[cfg(feature = "serde")]
fn as_hexadecimal<S: serde::Serializer>(number: &u128, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{number:032x}"))
}

#[cfg(feature = "serde")]
fn as_key_text<S: serde::Serializer>(
    key: &Option<KeyBeginning>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&key.map(|key| key.text()), to)
}

impl Holder {
    /// Returns its process.
    pub fn pid(&self) -> u32 {
        self.participant.pid
    }
}

impl Waiter {
    /// Returns its process.
    pub fn pid(&self) -> u32 {
        self.participant.pid
    }
}
