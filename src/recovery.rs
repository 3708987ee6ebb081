//! Acting for a dead participant: whoever holds its slot's byte lock is that slot.
//!
//! ```text
//! recover(q), for each lock, every step repeatable by the next reaper should this one die:
//!   1 if held[q] != 0: write down who died; if state == consistent: state = inconsistent
//!   2 held[q] = 0 (also where q was only trying to enter: that is no news)
//!   3 number[q] = 0, choosing[q] = 0; on a ring: no wish, so that whoever waits may act for q's machine
//!   4 wake who waited for q
//! ```
//! `control` is left alone: only the candidate writes it, and it may go on naming a slot that nobody has.
//! Only then is the slot's record freed, and only then its byte lock given back.

use crate::algorithm::{
    Protocol,
    bakery::{Bakery, Line},
    bias::Bias,
    ownership::{Ownership, TOKEN_LIMIT},
    ring::{InWords, MachineWords, Machines, Ring, Rule, Wish},
};
use crate::error::Result;
use crate::layout::{Fences, LockView, LockWords, SlotState, View};
use crate::mutants::{Mutant, planted};
use crate::os::{
    liveness_lock::{Probe, Seen},
    process,
};
use crate::participant;
use crate::sync::Ordering::{Relaxed, Release};
use crate::trace::{self, Step};
use crate::wait::{Next, ParkingSpot, Standby};

/// The bakery over one lock's registers in the file.
#[inline]
pub fn bakery<'a>(lock: &LockView<'a>) -> Bakery<Line<'a>> {
    Bakery(Line { words: lock.numbers, bound: &lock.header.slots_in_use })
}

/// One lock's owner words in the file.
#[inline]
pub fn ownership(words: &LockWords) -> Ownership<'_> {
    Ownership { token: &words.token, state: &words.state }
}

/// One lock's words about the retained privilege in the file.
#[inline]
pub fn privilege(words: &LockWords) -> Bias<'_> {
    Bias {
        control: &words.control,
        began_at: &words.retained_at,
        back_off: &words.back_off,
        plain_entries: &words.plain_entries,
        last: &words.last_plain,
    }
}

/// One lock's ring in the file: a machine for each slot.
#[inline]
pub fn ring<'a>(lock: &LockView<'a>, rule: Rule) -> Ring<impl Machines + Copy + use<'a>> {
    let cells = lock.cells;
    let words = move |machine: usize| {
        let cell = &cells[machine];
        MachineWords { state: &cell.ring_state, link: &cell.ring_link, wish: &cell.ring_wish }
    };
    let (slots_in_use, ring_bound) = (&lock.header.slots_in_use, &lock.words.ring_bound);
    Ring { rule, machines: InWords { count: cells.len(), slots_in_use, ring_bound, words } }
}

/// Where those who stepped out of the line of one lock sleep.
#[inline]
pub fn standby<'a>(lock: &LockView<'a>) -> Standby<'a> {
    Standby { event: &lock.words.event, polite: &lock.words.polite }
}

/// Where those who wait for `slot` in lock region `region` sleep.
#[inline]
pub fn spot<'a>(lock: &LockView<'a>, region: usize, slot: usize) -> ParkingSpot<'a> {
    let cell = &lock.cells[slot];
    let name = ((region as u64) << 32) | (slot as u64 + 1);
    ParkingSpot { wake: &cell.wake, parked: &cell.parked, successor: &cell.successor, name }
}

/// Who waits for `slot` in lock region `region` should look again, after the store that it waits for; and whoever is
/// behind it should be awake when its turn comes. Gives who waits, as far as can be seen.
#[inline]
pub fn wake_next(lock: &LockView, region: usize, slot: usize) -> Next {
    let next = spot(lock, region, slot).unpark();
    if let Next::Awake(successor) = next
        && successor < lock.cells.len()
    {
        spot(lock, region, successor).unpark_early();
    }
    next
}

/// The spot of this name, if the file has it.
pub fn spot_named<'a>(view: View<'a>, name: u64) -> Option<ParkingSpot<'a>> {
    let (region, slot) = ((name >> 32) as usize, (name as u32 as usize).checked_sub(1)?);
    let known = region <= view.geometry().locks() as usize && slot < view.slots().len();
    known.then(|| spot(&view.lock(region), region, slot))
}

/// Clears what `slot` left in every lock, so that it blocks nobody and the next holder of what it held has the news.
/// With the slot's byte lock in hand.
pub fn recover(view: View, slot: usize) {
    for region in 0..=view.geometry().locks() as usize {
        recover_in_lock(view, region, slot);
    }
}

/// [`recover`], in one lock.
pub fn recover_in_lock(view: View, region: usize, slot: usize) {
    let lock = view.lock(region);
    let cell = &lock.cells[slot];
    if planted(Mutant::ForgetBeforeNews) {
        bakery(&lock).forget(slot);
    }
    trace::at(Step::Reap);
    ownership(lock.words).forget(&cell.held, |token| {
        let (news, record) = (&lock.words.previous_owner, &view.slots()[slot]);
        news.token.store(token, Relaxed);
        news.pid.store(record.pid.load(Relaxed), Relaxed);
        news.tid.store(record.tid.load(Relaxed), Relaxed);
        news.label.copy_from(&record.label);
    });
    cell.since.store(0, Relaxed);
    trace::at(Step::ReapNews);
    bakery(&lock).forget(slot);
    // Release. Partner: the acquire load of a wish: who acts for the machine from here on has the news before it.
    cell.ring_wish.store(Wish::None as u32, Release);
    trace::at(Step::ReapForgotten);
    wake_next(&lock, region, slot);
}

/// Removes `slot` from the file if it is dead. `false`: it is alive, or somebody else is removing it.
pub fn reap(view: View, probe: &Probe, slot: usize) -> Result<bool> {
    let remove = || {
        recover(view, slot);
        participant::vacate(view, slot);
    };
    if planted(Mutant::ReapWithoutByteLock) && probe.look(slot).0 == Seen::Dead {
        remove();
        return Ok(true);
    }
    Ok(probe.act_for(slot..slot + 1, remove)?.is_some())
}

/// The lowest fencing token that a lock may have at this wall-clock time, in nanoseconds since 1970.
///
/// One for every 4 ns: no lock gives out more than 250 million a second, so a file that is deleted and created again
/// begins above every token of the old one (as long as the wall clock does not go back).
pub fn token_floor(realtime_ns: u64) -> u64 {
    (realtime_ns >> 2).min(TOKEN_LIMIT >> 1)
}

/// After a boot nobody of before is alive: clears every slot, and has every fencing token jump, since the last ones
/// given out may never have reached the disk. With every slot's byte lock in hand; the boot id is written last.
pub fn renew_after_boot(view: View, fences: Fences, boot_id: [u64; 2], realtime_ns: u64) {
    for slot in 0..view.slots().len() {
        recover(view, slot);
        if view.slots()[slot].state.load(Relaxed) != SlotState::Free as u32 {
            participant::vacate(view, slot);
        }
    }
    for region in 0..=view.geometry().locks() as usize {
        let token = &view.lock(region).words.token;
        token.store(token_after_boot(token.load(Relaxed), token_floor(realtime_ns)), Relaxed);
    }
    clear_retentions(view);
    clear_rings(view);
    view.header().slots_in_use.store(0, Relaxed);
    view.header().fences.store(fences as u32, Relaxed);
    write_boot_id(view, boot_id);
}

/// Where a lock's fencing tokens go on after a boot: higher than `last`, whatever the boot ids and the clock say, by
/// 2^40 or, where they get near the end, by half of what is left.
fn token_after_boot(last: u64, floor: u64) -> u64 {
    const BOOT_JUMP: u64 = 1 << 40;
    match TOKEN_LIMIT.checked_sub(last) {
        Some(left) => (last + BOOT_JUMP.min(left / 2)).max(floor),
        // A value that no holder reaches is rubbish from an unclean shutdown.
        None => floor,
    }
}

/// Nobody retains any lock's privilege. With every slot's byte lock in hand.
pub fn clear_retentions(view: View) {
    for region in 0..=view.geometry().locks() as usize {
        privilege(view.lock(region).words).clear();
    }
}

/// Nobody is on any ring: what a disk kept of one may not be of one moment. With every slot's byte lock in hand.
fn clear_rings(view: View) {
    for region in 0..=view.geometry().locks() as usize {
        let lock = view.lock(region);
        for cell in lock.cells {
            cell.ring_state.store(0, Relaxed);
            cell.ring_link.store(0, Relaxed);
        }
        lock.words.ring_bound.store(0, Relaxed);
    }
}

/// Writes down during which boot the registers are valid.
pub fn write_boot_id(view: View, boot_id: [u64; 2]) {
    // Release. Partner: the acquire loads in `is_of_this_boot`.
    view.header().boot_id[0].store(boot_id[0], Relaxed);
    view.header().boot_id[1].store(boot_id[1], Release);
}

/// Are the registers of this boot, by its id? `false` too where the kernel does not tell it. Whoever has a byte lock
/// proves it all the same.
pub fn is_of_this_boot(view: View) -> bool {
    let now = process::boot_id();
    let then = [0, 1].map(|half: usize| view.header().boot_id[half].load(crate::sync::Ordering::Acquire));
    now != [0, 0] && now == then
}

#[cfg(all(test, not(any(loom, shuttle))))]
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
