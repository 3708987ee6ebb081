//! Backing off: out of the queue, until it is this waiter's turn to come back.

use super::{platform::Platform, standby::CalledWord, waiter::Waiter};
use crate::acquire::{
    eviction,
    site::{Lock, Outcome},
};
use crate::algorithm::{Place, Protocol};
use crate::error::Result;
use crate::sync::Ordering::Relaxed;

/// What a waiter that stands by asks of its surroundings.
pub trait Surroundings {
    /// The lock.
    type Lock: Lock;

    /// Returns the lock's registers.
    fn lock(&self) -> &Self::Lock;
    /// Returns one more than the highest slot in use.
    fn participants(&self) -> u32;
    /// Returns whether the wait is in vain, since what it waits for cannot come any more.
    fn is_in_vain(&self) -> bool;
    /// Reaps slot `slot` if its participant is dead; see [`crate::acquire::site::Waiter::check_alive`].
    fn check_alive(&mut self, slot: usize) -> Result<bool>;
    /// Checks for a circle of waits, see [`crate::acquire::site::Waiter::check_circle`]. The wait has taken `waited` nanoseconds so far.
    fn check_circle(&mut self, _waited: u64) -> Result<()> {
        Ok(())
    }
}

/// Waits outside of the queue, see [`crate::acquire::site::Waiter::back_off`].
pub fn back_off<P: Platform, C: CalledWord>(
    waiter: &mut Waiter<P, C>,
    around: &mut impl Surroundings,
    must_wait: impl Fn() -> bool,
) -> Outcome {
    // Relaxed: a guess.
    let participants = around.participants();
    let mut outcome = waiter.stand_by(participants, &must_wait);
    let mut has_just_come = true;
    // In the passive set: those that have waited longer go first, so it does not come back before it is the designated waker,
    // unless what it came for has gone before it slept.
    while matches!(outcome, Outcome::CheckAlive | Outcome::LookAgain)
        && !(has_just_come && outcome == Outcome::LookAgain && !must_wait())
        && !waiter.claim_designation()
    {
        let looks_round = outcome == Outcome::CheckAlive;
        if around.is_in_vain() || (looks_round && look_round(waiter, around, participants).is_err()) {
            break;
        }
        has_just_come = false;
        // It waits to be designated now. `must_wait` is asked all the same: it may have something to say now that the place is written.
        outcome = waiter.stand_by(participants, || {
            must_wait();
            true
        });
    }
    waiter.leave_passive_set();
    if outcome == Outcome::TimedOut { Outcome::LookAgain } else { outcome }
}

/// What a member of the passive set does now and then: checks whether the holders, the designated waker and the one that would be
/// the next are alive, and replaces a designated waker that is stopped.
fn look_round<P: Platform, C: CalledWord>(
    waiter: &mut Waiter<P, C>,
    around: &mut impl Surroundings,
    participants: u32,
) -> Result<()> {
    around.check_circle(waiter.waited_so_far())?;
    let slots = around.lock().slots();
    for slot in 0..slots.min(participants as usize) {
        if around.lock().held(slot).load(Relaxed) != 0 {
            around.check_alive(slot)?;
        }
    }
    for slot in waiter.designated_and_next().into_iter().flatten().filter(|slot| *slot < slots) {
        around.check_alive(slot)?;
    }
    let lock = around.lock();
    let queue = lock.queue();
    waiter.replace_designated(|slot| {
        slot < slots && queue.place(slot) != Place::Idle && eviction::is_kept_waiting(lock, slot, None)
    });
    Ok(())
}
