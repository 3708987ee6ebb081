//! The mail area of one lock: what the participants of an algorithm by messages write, and the mailboxes between them.
//!
//! ```text
//! mail area: words 128 | peer records: participants x 128 | mailboxes: participants x participants x mailbox
//! mailbox (from a to b, at a x participants + b): end of the producer 128 | end of the consumer 128 | 16 entries x 192
//! ```

use std::mem::{offset_of, size_of};
use turnlock_core::sync::{AtomicU32, AtomicU64};

/// The most participants that locks by messages can have in one file: the slots below it.
pub const MAX_MAIL_PARTICIPANTS: u32 = 16;
/// How many messages one mailbox has room for.
pub const MAILBOX_ENTRIES: usize = 16;
/// How many words one entry of a mailbox has.
pub const ENTRY_WORDS: usize = 24;

/// The words that belong to the lock rather than to a participant.
#[repr(C, align(128))]
pub struct MailWords {
    /// Of a mesh or a ring: whose the token is, see [`crate::transport::record`]; 0: lost, it is to be made anew.
    pub token_at: AtomicU64,
    /// Of a ring: whose the second token is, which is no privilege, likewise.
    pub second_token_at: AtomicU64,
    reserved: [AtomicU64; 14],
}

/// What one participant says of itself. Written by the slot's owner, or after its death by the reaper that holds the slot's
/// byte lock.
#[repr(C, align(128))]
pub struct PeerRecord {
    /// The number of its life, times 2; plus 1 while it takes part.
    pub life: AtomicU64,
    /// Not 0 while a call of it waits, and looks after its mailboxes by itself.
    pub attended: AtomicU32,
    /// Where it stands, for observers, and on a ring for the participant that has a token: 0 = absent, 1 = joining, 2 =
    /// idle, 3 = waiting, 4 = inside.
    pub standing: AtomicU32,
    /// The slot to which this participant sends a token, before the record says so, and from bit 48 on which token; 0:
    /// it sends none.
    pub sends_to: AtomicU64,
    /// The tail of the mailbox before that token.
    pub sends_at: AtomicU64,
    /// How often others have said that it should ask again, in an algorithm whose waiters do. Written by those others.
    pub hints: AtomicU64,
    /// How many messages it has sent, in all its lives.
    pub sent: AtomicU64,
    reserved: [AtomicU64; 10],
}

/// The producer's end of a mailbox.
#[repr(C, align(128))]
pub struct MailboxEnd {
    /// How many messages the producer has put in, or the consumer has taken out, since the lock was named.
    pub count: AtomicU64,
    reserved: [AtomicU64; 15],
}

/// One message in a mailbox: its sender's life in the low half of the first word, in the upper half the life of the
/// receiver that it is sent to; in the second word its length in bytes; then the bytes, in the order of little-endian
/// words.
pub type Entry = [AtomicU64; ENTRY_WORDS];

/// A mailbox from one participant to another.
#[repr(C, align(128))]
pub struct Mailbox {
    /// Written by the producer alone.
    pub tail: MailboxEnd,
    /// Written by the consumer alone.
    pub head: MailboxEnd,
    /// Message number k is in entry k modulo their number.
    pub entries: [Entry; MAILBOX_ENTRIES],
}

/// Where the mail area of one lock lies, as references.
#[derive(Clone, Copy)]
pub struct MailView<'map> {
    /// The lock's own words.
    pub words: &'map MailWords,
    /// One for each participant.
    pub peer_records: &'map [PeerRecord],
    /// All of them, those from participant 0 first.
    pub mailboxes: &'map [Mailbox],
}

impl<'map> MailView<'map> {
    /// Returns the mailbox from one participant to another.
    pub fn mailbox(&self, from: usize, to: usize) -> &'map Mailbox {
        &self.mailboxes[from * self.peer_records.len() + to]
    }
}

/// Returns how many bytes one lock's mail area has.
pub(super) const fn mail_bytes(participants: usize) -> usize {
    match participants {
        0 => 0,
        _ => bytes_before_mailboxes(participants) + participants * participants * size_of::<Mailbox>(),
    }
}

/// Returns how many of them come before the mailboxes.
pub(super) const fn bytes_before_mailboxes(participants: usize) -> usize {
    size_of::<MailWords>() + participants * size_of::<PeerRecord>()
}

/// The sizes and offsets, for the fingerprint.
pub(super) const FACTS: [usize; 16] = [
    size_of::<MailWords>(),
    offset_of!(MailWords, token_at),
    offset_of!(MailWords, second_token_at),
    size_of::<PeerRecord>(),
    offset_of!(PeerRecord, life),
    offset_of!(PeerRecord, attended),
    offset_of!(PeerRecord, standing),
    offset_of!(PeerRecord, sends_to),
    offset_of!(PeerRecord, sends_at),
    offset_of!(PeerRecord, hints),
    offset_of!(PeerRecord, sent),
    size_of::<Mailbox>(),
    offset_of!(Mailbox, head),
    offset_of!(Mailbox, entries),
    size_of::<Entry>(),
    MAX_MAIL_PARTICIPANTS as usize,
];

const _: () = {
    assert!(size_of::<MailWords>() == 128);
    assert!(size_of::<PeerRecord>() == 128);
    assert!(size_of::<Entry>() == 192);
    assert!(size_of::<Mailbox>() == 256 + MAILBOX_ENTRIES * 192);
};
