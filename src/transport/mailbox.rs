//! The mailboxes of one participant: what carries the messages of a lock in a file.
//!
//! The contract of [`Transport`] is kept so:
//!
//! - *Whole, order, loss, repetition.* One [`Ring`] for each pair: a message is there with one store, and is taken once.
//! - *Failure notice, reconnection.* A participant's life has a number, written down under the byte lock of its slot and ended
//!   under that lock, by itself or by its reaper. Each message carries the lives of both ends. One to or from another life than
//!   the two ends know of each other is dropped, or (from a later life) preceded by the notice that the earlier one is over.
//!   That it is over is also said when its mailbox is empty and its number is not the same.
//! - *Full.* The message stays with its sender, whose machine is told nothing new ([`Node`](turnlock_message::Node)). The
//!   receiver calls the sender when it takes from a full mailbox.
//! - *Slow or stopped* has no notice: the mailboxes fill up. *Dead* is what the byte lock says, and nothing else.

use super::{
    life::{call_all, is_present, present, record_of, records, ring},
    record::{At, Record, sends_to},
};
use crate::layout::{ENTRY_WORDS, MailView};
use turnlock_core::spsc::Ring;
use turnlock_core::sync::{
    Ordering::{Acquire, Relaxed, Release},
    full_fence,
};
use turnlock_core::trace::{self, Step};
use turnlock_message::{
    BakeryMessage, Channels, LamportQueueMessage, Notice, Refusal, RicartAgrawalaMessage, RingHost,
    TokenRingMessage, Transport, Wire,
};

/// The bytes of a message that an entry has room for.
const MESSAGE_BYTES: usize = (ENTRY_WORDS - 2) * 8;

/// The value of [`PeerRecord::standing`](crate::layout::MailView::peer_records) for a waiter.
pub const WAITING: u32 = 3;

/// A message that mailboxes carry.
pub trait Carried: Wire {
    /// Returns the number of a token that is the privilege, which is larger with each entry.
    fn token_number(&self) -> Option<u64>;
}

impl Carried for TokenRingMessage {
    fn token_number(&self) -> Option<u64> {
        match self {
            TokenRingMessage::Token(token) if token.name == 0 => Some(token.number),
            _ => None,
        }
    }
}

impl Carried for RicartAgrawalaMessage {
    fn token_number(&self) -> Option<u64> {
        match self {
            RicartAgrawalaMessage::Token(token) => Some(token.number),
            _ => None,
        }
    }
}

impl Carried for LamportQueueMessage {
    fn token_number(&self) -> Option<u64> {
        None
    }
}

impl Carried for BakeryMessage {
    fn token_number(&self) -> Option<u64> {
        None
    }
}

/// The place of the mailboxes.
pub trait Place {
    /// Returns the mail area of the lock.
    fn mail(&self) -> MailView<'_>;

    /// Has a participant look into its mailboxes: its waiting call, or its service thread. After a store that it is to see.
    fn call(&self, participant: usize);

    /// Writes down a number of the token, before another participant can have it: no number was larger.
    fn write_number(&self, number: u64);

    /// Returns the number written down last, or the last fencing token.
    fn number(&self) -> u64;
}

/// One participant's end of all mailboxes, in one life of it.
#[derive(Debug)]
pub struct Mailboxes<P> {
    place: P,
    at: At,
    peers: Box<[Peer]>,
    /// Whose mailbox is looked into next.
    next: usize,
    is_overwritten: bool,
}

/// What this end knows of another participant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Peer {
    /// The life of it that messages are exchanged with; 0: none.
    life: u32,
    /// The machine is still to be told that it is not there.
    is_to_be_told: bool,
}

impl<P: Place> Mailboxes<P> {
    /// Begins the next life of `me`. The caller has the byte lock of its slot. `None`: its lives are used up, or were
    /// overwritten.
    pub fn begin_life(place: P, me: usize) -> Option<Self> {
        let mail = place.mail();
        let peer_record = &mail.peer_records[me];
        // Relaxed: ours to write.
        let life = u32::try_from((peer_record.life.load(Relaxed) >> 1) + 1).ok()?;
        peer_record.attended.store(0, Relaxed);
        peer_record.sends_to.store(0, Relaxed);
        // Release. Partner: the acquire below, of another participant that begins: if it sees this life, it sees
        // nothing of our former one.
        peer_record.life.store(present(life), Release);
        // Partner: this fence, of another participant that begins. If ours comes first, it sees our life; if theirs does, we
        // see its life. So of two that begin at once one at least sees the other, and tells it.
        full_fence();
        let peer = |peer: usize| {
            // Acquire, as above.
            let life = mail.peer_records[peer].life.load(Acquire);
            match is_present(life) && peer != me {
                true => Peer { life: (life >> 1) as u32, is_to_be_told: false },
                false => Peer { life: 0, is_to_be_told: peer != me },
            }
        };
        let peers = (0..mail.peer_records.len()).map(peer).collect();
        Some(Self { at: At { participant: me, life }, peers, next: 0, is_overwritten: false, place })
    }

    /// Returns the participant and its life.
    pub fn at(&self) -> At {
        self.at
    }

    /// Returns the place of the mailboxes.
    pub fn place(&self) -> &P {
        &self.place
    }

    /// Returns whether something else than turnlock wrote into a mailbox.
    pub fn is_overwritten(&self) -> bool {
        self.is_overwritten
    }

    /// Returns whether [`Transport::receive`] would return anything.
    pub fn has_news(&self) -> bool {
        let mail = self.place.mail();
        self.others().any(|peer| {
            let known = self.peers[peer];
            known.is_to_be_told
                || !self.ring(&mail, peer, self.at.participant).is_empty()
                || known.life != 0 && mail.peer_records[peer].life.load(Acquire) != present(known.life)
        })
    }

    /// Takes a token, if it is lost or was never made: 0 is the privilege. Returns the floor for the new one.
    pub fn take_lost_token(&self, token: usize) -> Option<u64> {
        let taken = record_of(&self.place.mail(), token)?.take(self.at);
        taken.then(|| {
            trace::at(Step::TokenMade);
            self.place.number()
        })
    }

    /// Calls the participant that has the token of a ring, or the second token if the first is lost. After the store that it is
    /// to see.
    pub fn call_for_token(&self) {
        // Partner: the fence in `attach::endpoint`, between what makes a token that participant's and its look which
        // participants wait. If ours comes first, it sees that we wait; if theirs does, we see which participant has
        // the token. Else a token would rest while we wait.
        full_fence();
        let mail = self.place.mail();
        let at = records(&mail).into_iter().find_map(Record::at);
        if let Some(peer) = at.and_then(|at| self.others().find(|peer| *peer == at.participant)) {
            self.place.call(peer);
        }
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<P> {
        let (me, count) = (self.at.participant, self.peers.len());
        (0..count).filter(move |peer| *peer != me)
    }

    fn ring<'a>(&self, mail: &MailView<'a>, from: usize, to: usize) -> Ring<'a, ENTRY_WORDS> {
        ring(mail, from, to)
    }

    /// Takes what came from one peer.
    fn receive_from<M: Carried>(&mut self, from: usize) -> Option<Notice<M>> {
        let participants = self.peers.len();
        if std::mem::take(&mut self.peers[from].is_to_be_told) {
            return Some(Notice::Down { peer: from });
        }
        loop {
            let mail = self.place.mail();
            let ring = ring(&mail, from, self.at.participant);
            let known = self.peers[from].life;
            let mut words = [0; ENTRY_WORDS];
            match ring.first(&mut words) {
                Err(_) => {
                    self.is_overwritten = true;
                    return None;
                }
                Ok(false) => {
                    // Acquire. Partner: the release in `end_life`. If we see that the life is over, all that the peer sent in
                    // it is in the mailbox, which the look below finds.
                    if known == 0 || mail.peer_records[from].life.load(Acquire) == present(known) {
                        return None;
                    }
                    if ring.is_empty() {
                        self.peers[from].life = 0;
                        return Some(Notice::Down { peer: from });
                    }
                    continue;
                }
                Ok(true) => {}
            }
            let (its_life, our_life) = (words[0] as u32, (words[0] >> 32) as u32);
            let is_ours = our_life == self.at.life && its_life >= known;
            if is_ours && its_life > known && known != 0 {
                // Its former life is over, and all that came of that was taken.
                self.peers[from].life = 0;
                return Some(Notice::Down { peer: from });
            }
            let message = is_ours.then(|| decode(&words, participants));
            if ring.take() {
                self.place.call(from);
            }
            match message {
                Some(Some(message)) => {
                    self.peers[from].life = its_life;
                    return Some(Notice::Message { from, message });
                }
                Some(None) => self.is_overwritten = true,
                None => {}
            }
        }
    }

    fn put(&mut self, to: usize, bytes: (&[u8; MESSAGE_BYTES], usize)) -> bool {
        let mut words = [0; ENTRY_WORDS];
        words[0] = u64::from(self.peers[to].life) << 32 | u64::from(self.at.life);
        words[1] = bytes.1 as u64;
        for (word, bytes) in words[2..].iter_mut().zip(bytes.0.chunks_exact(8)) {
            *word = u64::from_le_bytes(std::array::from_fn(|at| bytes[at]));
        }
        let mail = self.place.mail();
        let put = ring(&mail, self.at.participant, to).put(&words);
        self.is_overwritten |= put.is_err();
        if put == Ok(true) {
            let sent = &mail.peer_records[self.at.participant].sent;
            sent.store(sent.load(Relaxed) + 1, Relaxed);
        }
        // A message for an overwritten mailbox is dropped.
        put != Ok(false)
    }

    /// Sends a token, in the order of stores that [`super::record`] draws.
    fn put_token(&mut self, to: usize, token: usize, bytes: (&[u8; MESSAGE_BYTES], usize)) {
        let us = self.at;
        let them = At { participant: to, life: self.peers[to].life };
        let mail = self.place.mail();
        let peer_record = &mail.peer_records[us.participant];
        let Some(record) = record_of(&mail, token) else { return };
        peer_record.sends_at.store(ring(&mail, us.participant, to).count(), Relaxed);
        // Release. Partner: the acquire in `end_life`, which then sees `sends_at`.
        peer_record.sends_to.store(sends_to(them, token), Release);
        if record.move_token(us, them) {
            trace::at(Step::TokenMoves);
            self.put(to, bytes);
            trace::at(Step::TokenSent);
            let mail = self.place.mail();
            let peer_record = &mail.peer_records[us.participant];
            let Some(record) = record_of(&mail, token) else { return };
            // Partner: the fence in `end_life`. If ours comes first, it sees that they have the token, and clears the record;
            // if theirs does, we see that their life is over, and clear it. Both may: the second exchange changes nothing.
            full_fence();
            if mail.peer_records[to].life.load(Acquire) != present(them.life) && record.mark_lost(them) {
                call_all(&mail, us.participant, |peer| self.place.call(peer));
            }
            // Release: all the above is done. Partner: the acquire of `sends_to` in `end_life`.
            peer_record.sends_to.store(0, Release);
        } else {
            // By the record it was not ours: something else than turnlock wrote over that. Release, as above.
            peer_record.sends_to.store(0, Release);
            self.is_overwritten = true;
        }
    }
}

impl<P: Place> RingHost for Mailboxes<P> {
    fn is_there(&self, peer: usize) -> bool {
        // Acquire. Partners: the release stores of `life` in `begin_life` and `end_life`.
        let seen = self.place.mail().peer_records[peer].life.load(Acquire);
        self.peers[peer].life != 0 && seen == present(self.peers[peer].life)
    }

    fn waits(&self, peer: usize) -> bool {
        self.is_there(peer) && self.place.mail().peer_records[peer].standing.load(Relaxed) == WAITING
    }

    fn is_lost(&self, token: usize) -> bool {
        record_of(&self.place.mail(), token).is_some_and(Record::is_nobodys)
    }

    fn take(&mut self, token: usize) -> Option<u64> {
        self.take_lost_token(token)
    }
}

impl<M: Carried, P: Place> Transport<M> for Mailboxes<P> {
    const CHANNELS: Channels = Channels { in_order: true, loses: false, repeats: false, loses_tokens: false };

    fn send(&mut self, to: usize, message: M) -> Result<(), (Refusal, M)> {
        let token = message.token();
        if self.peers[to].life == 0 {
            // It is down. A token that was to go there is still ours by the record: no other would ever have it.
            if let Some(token) = token {
                let mail = self.place.mail();
                record_of(&mail, token).map(|record| record.mark_lost(self.at));
                call_all(&mail, self.at.participant, |peer| self.place.call(peer));
            }
            return Ok(());
        }
        let mut bytes = [0; MESSAGE_BYTES];
        let Ok(length) = message.encode(self.peers.len(), &mut bytes) else {
            // Its numbers are used up: the file was overwritten.
            self.is_overwritten = true;
            return Ok(());
        };
        if ring(&self.place.mail(), self.at.participant, to).is_full() {
            return Err((Refusal::Full, message));
        }
        if let Some(number) = message.token_number() {
            self.place.write_number(number);
        }
        match token {
            Some(token) => self.put_token(to, token, (&bytes, length)),
            None if self.put(to, (&bytes, length)) => {}
            None => return Err((Refusal::Full, message)),
        }
        self.place.call(to);
        Ok(())
    }

    fn receive(&mut self) -> Option<Notice<M>> {
        let count = self.peers.len();
        for _ in 0..count {
            let from = self.next;
            if from != self.at.participant
                && let Some(notice) = self.receive_from(from)
            {
                return Some(notice);
            }
            self.next = (from + 1) % count;
        }
        None
    }
}

/// Returns the message in an entry, if it is one.
fn decode<M: Carried>(words: &[u64; ENTRY_WORDS], participants: usize) -> Option<M> {
    let mut bytes = [0; MESSAGE_BYTES];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(&words[2..]) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    let length = usize::try_from(words[1]).ok().filter(|length| *length <= MESSAGE_BYTES)?;
    M::decode(&bytes[..length], participants).ok()
}
