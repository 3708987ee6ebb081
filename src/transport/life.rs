//! The lives of those that take part in a lock by messages, and how one ends. Whoever acts for a dead participant does that, also
//! a program that is built without the machines.

use super::record::{At, Record, token_sent};
use crate::layout::{ENTRY_WORDS, MailView};
use turnlock_core::spsc::Ring;
use turnlock_core::sync::{
    Ordering::{Acquire, Relaxed, Release},
    full_fence,
};
use turnlock_core::trace::{self, Step};

/// Ends the life of a participant, by whoever has the byte lock of its slot: itself, or one that acts for it after its death.
/// May be repeated. `call` has whoever looks after a participant's mailboxes look.
pub fn end_life(mail: &MailView, participant: usize, call: impl Fn(usize)) {
    let peer_record = &mail.peer_records[participant];
    // Relaxed: ours to write.
    let life = peer_record.life.load(Relaxed);
    let was_present = is_present(life);
    let at = At { participant, life: (life >> 1) as u32 };
    // Partner: the fence in whoever ends the life that the token is sent to: as that in `put_token`.
    full_fence();
    // Acquire. Partner: the release in `put_token`.
    let sends_to = peer_record.sends_to.load(Acquire);
    if let Some(them) = At::of(sends_to) {
        // Before our life is over: until then nobody else takes from us what we have, so the record says that they have it
        // only if we have sent it.
        let other = them.participant;
        let is_sent = other < mail.peer_records.len()
            && ring(mail, participant, other).count() != peer_record.sends_at.load(Relaxed)
            && mail.peer_records[other].life.load(Acquire) == present(them.life);
        if let Some(record) = record_of(mail, token_sent(sends_to)).filter(|_| !is_sent) {
            // Back to us, and lost with us below: whoever dies here after it, and whoever repeats it, changes nothing more.
            record.moves(them, at);
        }
        // Release: the record is as it should be. Partner: the acquire above, of whoever repeats this.
        peer_record.sends_to.store(0, Release);
    }
    peer_record.attended.store(0, Relaxed);
    // Release. Partner: the acquires of `life`: who sees that the life is over has all that was sent in it, and the
    // owner-dead notice.
    peer_record.life.store(life & !1, Release);
    trace::at(Step::LifeEnds);
    // Partner: the fence in `put_token`.
    full_fence();
    let had_tokens = records(mail).map(|record| record.is_lost(at));
    // Or whoever ended it before us died before it had told them.
    let is_untold = peer_record.standing.load(Relaxed) != 0;
    if was_present || is_untold || had_tokens.contains(&true) {
        call_all(mail, participant, call);
    }
    // Release: all the above is done.
    peer_record.standing.store(0, Release);
}

/// Calls all that are present but `me`.
pub fn call_all(mail: &MailView, me: usize, call: impl Fn(usize)) {
    let is_there = |peer: &usize| *peer != me && is_present(mail.peer_records[*peer].life.load(Relaxed));
    (0..mail.peer_records.len()).filter(is_there).for_each(call);
}

/// The records of both tokens, that of the privilege first. A mesh has one token, and the second one is nobody's.
pub fn records<'a>(mail: &MailView<'a>) -> [Record<'a>; 2] {
    [Record(&mail.words.token_at), Record(&mail.words.second_token_at)]
}

/// `None`: there is no such token.
pub fn record_of<'a>(mail: &MailView<'a>, token: usize) -> Option<Record<'a>> {
    records(mail).get(token).copied()
}

/// The mailbox from one participant to another.
pub fn ring<'a>(mail: &MailView<'a>, from: usize, to: usize) -> Ring<'a, ENTRY_WORDS> {
    let mailbox = mail.mailbox(from, to);
    Ring { tail: &mailbox.tail.count, head: &mailbox.head.count, entries: &mailbox.entries }
}

/// How the word of a life reads while it goes on.
pub fn present(life: u32) -> u64 {
    u64::from(life) << 1 | 1
}

/// Returns whether the word of a life says that it goes on.
pub fn is_present(word: u64) -> bool {
    word % 2 == 1
}
