//! Recovery of a whole file: reaping a dead participant, and clearing the file after a boot.
//!
//! [`turnlock_core::acquire::liveness`] clears the slot in each lock; then the slot's record is freed, and last its byte lock
//! released. In this order a reaper may die at any store: until the record is free, the next reaper finds the slot taken and
//! dead, and does all of it again; until the byte lock is released, no newcomer has the slot, so nothing here clears what a
//! newcomer wrote.

use crate::layout::{Algorithm, Fences, Kind, LockView, MailView, SlotState, View};
use crate::os::{
    liveness_lock::{Probe, Seen},
    process,
};
use crate::registers::{
    FileLock, call_participant, clear_coordination, forget_agent, is_linked, leave_entry, link, reap_entry,
};
use crate::slots;
use crate::transport::end_life;
use turnlock_core::acquire::{liveness, site::Lock};
use turnlock_core::algorithm::ownership::TOKEN_LIMIT;
use turnlock_core::error::Result;
use turnlock_core::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Clears what `slot` left in every lock: it blocks no waiter any more, and the next holder of what it held gets the owner-dead
/// notice. With the slot's byte lock in hand.
pub fn recover(view: View, slot: usize) {
    for region in view.regions_in_use() {
        reap_entry(view, region, slot);
        forget_agent(view, region, slot);
        liveness::clear(&FileLock::of_any_kind(view, region), slot);
        // After it: a peer that sees that the life is over, and enters, sees the owner-dead notice.
        end_membership(view, region, slot);
    }
}

/// Has the participant of `slot`, which leaves it in good order, be no party of any barrier.
pub fn leave_barriers(view: View, slot: usize) {
    for region in view.regions_in_use() {
        leave_entry(view, region, slot);
    }
}

/// Ends the part of `slot` in the lock in `region`, if that is one by messages. With the slot's byte lock in hand.
pub fn end_membership(view: View, region: usize, slot: usize) {
    if let Some(mail) = mail_of(view, region).filter(|mail| slot < mail.peer_records.len()) {
        end_life(&mail, slot, |peer| call_participant(view, region, peer));
    }
}

/// Returns the mail area of the lock in `region`, or that was there last, if it is one by messages.
pub fn mail_of(view: View<'_>, region: usize) -> Option<MailView<'_>> {
    let entry = &view.directory()[region.checked_sub(1)?];
    let algorithm = Algorithm::of(entry.algorithm.load(Relaxed));
    let has_mail = view.geometry().mail_participants() > 0;
    (has_mail && algorithm.is_some_and(Algorithm::is_by_messages)).then(|| view.mail(region))
}

/// Returns whether the lock by messages in `region`, or that was there last, has members.
pub fn has_members(view: View, region: usize) -> bool {
    mail_of(view, region).is_some_and(|mail| {
        mail.peer_records.iter().any(|peer_record| peer_record.life.load(Acquire) % 2 == 1)
    })
}

/// Empties the mailboxes of a lock, as if it was new; lives are counted on. The lock has no members.
pub fn clear_mail(mail: &MailView) {
    let clear = |word: &AtomicU64| {
        if word.load(Relaxed) != 0 {
            word.store(0, Relaxed);
        }
    };
    [&mail.words.token_at, &mail.words.second_token_at].into_iter().for_each(clear);
    for peer_record in mail.peer_records {
        peer_record.life.store(peer_record.life.load(Relaxed) & !1, Relaxed);
        [&peer_record.sends_to, &peer_record.sends_at, &peer_record.sent].into_iter().for_each(clear);
        peer_record.attended.store(0, Relaxed);
        peer_record.standing.store(0, Relaxed);
    }
    for mailbox in mail.mailboxes {
        // The entries need no clearing: they mean nothing then.
        [&mailbox.tail.count, &mailbox.head.count].into_iter().for_each(clear);
    }
}

/// Removes `slot` from the file if it is dead. Returns `false` if it is alive, or another reaper is at it.
pub fn reap(view: View, probe: &Probe, slot: usize) -> Result<bool> {
    let remove = || {
        recover(view, slot);
        slots::vacate(view, slot);
    };
    Ok(probe.act_for(slot..slot + 1, remove)?.is_some())
}

/// Does what [`reap`] does, for a participant in the lock in `region`. If something else wrote over the count of locks, the
/// dead one is removed from that lock all the same: else it would be found there again, and reaped for ever.
pub fn reap_from(region: usize, view: View, probe: &Probe, slot: usize) -> Result<bool> {
    view.raise_locks_bound(region);
    reap(view, probe, slot)
}

/// Removes every dead participant from the file. For a caller that has found one of them dead: where one process was killed,
/// others often were with it, and each that is left in a queue would cost the living a time-out of its own.
///
/// Asks the kernel about each slot in use, a microsecond or two each.
pub fn reap_all(view: View, probe: &Probe) -> Result<()> {
    let is_taken = |slot: &usize| view.slots()[*slot].state.load(Acquire) != SlotState::Free as u32;
    for slot in (0..view.slots_bound()).filter(is_taken) {
        if probe.look(slot).0 == Seen::Dead {
            reap(view, probe, slot)?;
        }
    }
    // Scans, and the naps of waiters, grow with the slots below the bound.
    slots::lower_bound(probe, view);
    Ok(())
}

/// Returns the lowest fencing token that a lock may have at this wall-clock time, in nanoseconds since 1970.
///
/// One for every 4 ns: no lock gives out more than 250 million a second, so a file that is deleted and created again
/// begins above every token of the old one (as long as the wall clock does not go back).
pub fn token_floor(realtime_ns: u64) -> u64 {
    (realtime_ns >> 2).min(TOKEN_LIMIT >> 1)
}

/// Returns a lock's last fencing token; 0 for a value that no holder reaches, which is rubbish from an unclean shutdown.
pub fn sound_token(last: u64) -> u64 {
    if last < TOKEN_LIMIT { last } else { 0 }
}

/// Clears every slot after a boot, and raises every fencing token, since the last ones given out may never have reached the
/// disk. With every slot's byte lock in hand. The boot id is written last: after a death before that, the next one clears the
/// file again.
pub fn renew_after_boot(view: View, fences: Fences, boot_id: [u64; 2], realtime_ns: u64) {
    renew(view, fences, boot_id, realtime_ns, false);
}

/// Does the same in a larger file that no process has used yet. Events stay set, and what a once has done stays done.
pub fn renew_after_growth(view: View, fences: Fences, boot_id: [u64; 2], realtime_ns: u64) {
    renew(view, fences, boot_id, realtime_ns, true);
}

fn renew(view: View, fences: Fences, boot_id: [u64; 2], realtime_ns: u64, has_grown: bool) {
    for region in view.regions_in_use() {
        let lock = view.lock(region);
        // In every slot, whatever the slot table says: the disk may have kept the one and not the other.
        for slot in (0..lock.cells().len()).filter(|slot| has_left_something(&lock, *slot)) {
            liveness::clear(&FileLock::of_any_kind(view, region), slot);
        }
        if let Some(mail) = mail_of(view, region) {
            clear_mail(&mail);
        }
        if is_linked(view, region) {
            renew_link(&lock, has_grown);
            if lock.words.total.load(Relaxed) == 0 {
                continue;
            }
            // The tokens of a semaphore are this host's own.
        }
        let token = &lock.words.token;
        let (before, first) = (token.load(Relaxed), &lock.words.first_token);
        let after = token_after_boot(before, token_floor(realtime_ns));
        token.store(after, Relaxed);
        // The number of tokens given out stays as it was.
        first.store(first.load(Relaxed).wrapping_add(after.wrapping_sub(before)), Relaxed);
    }
    for slot in 0..view.slots_bound() {
        if view.slots()[slot].state.load(Relaxed) != SlotState::Free as u32 {
            slots::vacate(view, slot);
        }
    }
    let removed = &view.header().removed_token;
    removed.store(token_after_boot(removed.load(Relaxed), token_floor(realtime_ns)), Relaxed);
    clear_biases(view);
    clear_rings(view);
    clear_all_coordination(view, has_grown);
    view.header().slots_in_use.store(0, Relaxed);
    view.header().sole_process.store(fences.word(), Relaxed);
    write_boot_id(view, boot_id);
}

/// Has a linked lock be away: what the disk kept of it may be older than what its agent told other hosts. Its tokens go on with the next
/// block that is reserved. Of a semaphore, no permit is this host's. In a larger file it is as it was.
fn renew_link(lock: &LockView, has_grown: bool) {
    let link = link(lock);
    if !has_grown {
        if link.is_shared_out() {
            lock.words.permits.store(0, Relaxed);
        } else {
            link.move_away();
            link.token_end.store(0, Relaxed);
        }
        // Its clock has begun anew.
        link.lease_end.store(0, Relaxed);
    }
    link.agent.store(0, Relaxed);
    link.wanted.store(0, Relaxed);
}

/// Returns where a lock's fencing tokens go on after a boot: higher than `last`, whatever the boot ids and the clock say, by
/// 2^40 or, near the end, by half of what is left.
fn token_after_boot(last: u64, floor: u64) -> u64 {
    const BOOT_JUMP: u64 = 1 << 40;
    match TOKEN_LIMIT.checked_sub(last) {
        Some(left) => (last + BOOT_JUMP.min(left / 2)).max(floor),
        // A value that no holder reaches is rubbish from an unclean shutdown.
        None => floor,
    }
}

/// Returns whether there is anything that [`liveness::clear`] would clear. A page that is only read stays clean.
fn has_left_something(lock: &LockView, slot: usize) -> bool {
    let cell = &lock.cells()[slot];
    let words = [&lock.numbers()[slot], &lock.passive()[slot], &cell.held, &cell.since];
    words.into_iter().any(|word| word.load(Relaxed) != 0) || cell.ring.membership.load(Relaxed) != 0
}

/// Clears the bias and the standby queue of every lock. With every slot's byte lock in hand.
fn clear_biases(view: View) {
    for region in view.regions_in_use() {
        let lock = FileLock::new(view, region);
        lock.bias().clear();
        lock.bias_policy().clear();
        lock.standby().clear();
    }
}

/// Has every condition, event, barrier and once begin anew, but for what is to stay. With every slot's byte lock in hand.
fn clear_all_coordination(view: View, has_grown: bool) {
    for region in view.regions_in_use().filter(|region| *region > 0) {
        let entry = &view.directory()[region - 1];
        if let Some(kind) = Kind::of(entry.kind.load(Relaxed)) {
            let keeps_state = match kind {
                Kind::Once => has_grown || entry.permits.load(Relaxed) == 1,
                Kind::Event => has_grown,
                _ => false,
            };
            clear_coordination(view, region, kind, entry.generation.load(Relaxed), keeps_state);
        }
    }
}

/// Empties every ring: what a disk kept of one may not be of one moment. With every slot's byte lock in hand.
fn clear_rings(view: View) {
    for region in view.regions_in_use() {
        clear_ring(&view.lock(region));
    }
}

/// Empties the ring of this lock, which no other participant changes meanwhile.
pub fn clear_ring(lock: &LockView) {
    for word in lock.cells().iter().flat_map(|cell| [&cell.ring.state, &cell.ring.link]) {
        if word.load(Relaxed) != 0 {
            word.store(0, Relaxed);
        }
    }
    lock.words.ring.bound.store(0, Relaxed);
}

/// Forgets what dead participants held of this lock that was not marked consistent. The lock is not in use.
pub fn clear_dead_claims(view: View, region: usize) {
    let lock = FileLock::new(view, region);
    let words = lock.lock.words;
    if words.dead_parts.load(Relaxed) != 0 {
        (0..lock.lock.cells().len()).for_each(|slot| lock.dead_claim(slot).clear());
        words.dead_parts.store(0, Relaxed);
    }
    lock.member_deaths().clear();
}

/// Writes down during which boot the registers are valid.
pub fn write_boot_id(view: View, boot_id: [u64; 2]) {
    // Release. Partner: the acquire loads in `is_of_this_boot`: if a participant sees this boot's id, it sees the cleared
    // registers.
    view.header().boot_id[0].store(boot_id[0], Relaxed);
    view.header().boot_id[1].store(boot_id[1], Release);
}

/// Returns whether the registers are of this boot, by its id; `false` too where the kernel does not tell it. A living
/// participant's byte lock proves it all the same.
pub fn is_of_this_boot(view: View) -> bool {
    let now = process::boot_id();
    let then =
        [0, 1].map(|half: usize| view.header().boot_id[half].load(turnlock_core::sync::Ordering::Acquire));
    now != [0, 0] && now == then
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fencing_tokens_never_fall_however_often_the_file_is_cleared() {
        let (mut last, floor) = (token_floor(1_800_000_000_000_000_000), token_floor(0));
        // Two boot ids by turns, a few million times: here the last of them.
        for _ in 0..3 {
            let next = token_after_boot(last, floor);
            assert_eq!(next, last + (1 << 40));
            last = next;
        }
        let mut last = TOKEN_LIMIT - (1 << 41);
        for _ in 0..40 {
            let next = token_after_boot(last, floor);
            assert!(last < next && next < TOKEN_LIMIT - 1, "{last} {next}");
            last = next;
        }
        assert_eq!(token_after_boot(u64::MAX, floor), floor, "rubbish");
    }
}
