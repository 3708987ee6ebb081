//! The lives of participants in a lock by messages, and how one ends. A reaper ends a dead participant's life, also in a
//! program that is built without the machines.

use super::record::{At, Record, token_sent};
use crate::layout::{ENTRY_WORDS, MailView};
use turnlock_core::spsc::Ring;
use turnlock_core::sync::{
    Ordering::{Acquire, Relaxed, Release},
    full_fence,
};
use turnlock_core::trace::{self, Step};

/// Ends the life of a participant. The caller has the byte lock of its slot: the participant itself, or its reaper. May be
/// repeated after a death at any store. `call` has a participant look into its mailboxes.
pub fn end_life(mail: &MailView, participant: usize, call: impl Fn(usize)) {
    let peer_record = &mail.peer_records[participant];
    // Relaxed: ours to write.
    let life = peer_record.life.load(Relaxed);
    let was_present = is_present(life);
    let at = At { participant, life: (life >> 1) as u32 };
    // Partner: the second fence here, of the participant that ends the life the token is sent to. If ours comes first, that
    // one's look finds the record that names the receiver's life, and clears it; if theirs does, we see that this life is over.
    full_fence();
    // Acquire. Partner: the release in `put_token`.
    let sends_to = peer_record.sends_to.load(Acquire);
    if let Some(them) = At::of(sends_to) {
        // Before our life is over: until then no other takes from us what we have, so the record says that they have it only if
        // we have sent it.
        let other = them.participant;
        let is_sent = other < mail.peer_records.len()
            && ring(mail, participant, other).count() != peer_record.sends_at.load(Relaxed)
            && mail.peer_records[other].life.load(Acquire) == present(them.life);
        if let Some(record) = record_of(mail, token_sent(sends_to)).filter(|_| !is_sent) {
            // Back to us, and lost with us below. If we die after this exchange, the one that repeats it finds the record
            // changed, and changes nothing more.
            record.move_token(them, at);
        }
        // Release: the record is as it should be. Partner: the acquire above, of the one that repeats this after our death.
        peer_record.sends_to.store(0, Release);
    }
    peer_record.attended.store(0, Relaxed);
    // Release. Partner: the acquires of `life`. If a peer sees that the life is over, it sees all that was sent in it, and the
    // owner-dead notice.
    peer_record.life.store(life & !1, Release);
    trace::at(Step::LifeEnds);
    // Partner: the fence in `put_token`. If ours comes first, the sender sees that the life is over, and clears the record; if
    // theirs does, we see below that the record names this life.
    full_fence();
    let had_tokens = records(mail).map(|record| record.mark_lost(at));
    // Or the one that ended it before us died before it had told them.
    let is_untold = peer_record.standing.load(Relaxed) != 0;
    if was_present || is_untold || had_tokens.contains(&true) {
        call_all(mail, participant, call);
    }
    // Release: all the above is done.
    peer_record.standing.store(0, Release);
}

/// Calls all present participants but `me`.
pub fn call_all(mail: &MailView, me: usize, call: impl Fn(usize)) {
    let is_there = |peer: &usize| *peer != me && is_present(mail.peer_records[*peer].life.load(Relaxed));
    (0..mail.peer_records.len()).filter(is_there).for_each(call);
}

/// Returns the records of both tokens, that of the privilege first. A mesh has one token, and its second record is empty.
pub fn records<'a>(mail: &MailView<'a>) -> [Record<'a>; 2] {
    [Record(&mail.words.token_at), Record(&mail.words.second_token_at)]
}

/// Returns the record of a token; `None`: there is no such token.
pub fn record_of<'a>(mail: &MailView<'a>, token: usize) -> Option<Record<'a>> {
    records(mail).get(token).copied()
}

/// Returns the mailbox from one participant to another.
pub fn ring<'a>(mail: &MailView<'a>, from: usize, to: usize) -> Ring<'a, ENTRY_WORDS> {
    let mailbox = mail.mailbox(from, to);
    Ring { tail: &mailbox.tail.count, head: &mailbox.head.count, entries: &mailbox.entries }
}

/// Returns the word of a life that goes on.
pub fn present(life: u32) -> u64 {
    u64::from(life) << 1 | 1
}

/// Returns whether the word of a life says that it goes on.
pub fn is_present(word: u64) -> bool {
    word % 2 == 1
}
