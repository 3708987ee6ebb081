//! Calls on a lock by messages: waiting for the turn, giving up.

use super::{
    message_service::{Membership, OVERWRITTEN},
    open_file::OpenFile,
};
use crate::layout::SlotState;
use std::time::{Duration, Instant};
use turnlock_core::acquire::site::{Limit, Lock, Outcome, Site, Waiter};
use turnlock_core::algorithm::{Blocker, ownership::token_in};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::Ordering::Relaxed;

/// A free lock by messages is had once the others have answered, and a call that has little time or none may wait for that;
/// but not for one that is inside.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Waits for the turn as long as `limit` says. Returns the fencing token that came with it, if one travels with it.
///
/// Errors as [`Site::acquire_by_messages`].
pub fn acquire<S: Site>(
    site: &S,
    file: &OpenFile,
    membership: &Membership,
    limit: Limit,
) -> Result<Option<u64>> {
    membership.attend(true);
    let mut call = Call { site, file, membership, limit, began: Instant::now(), looked_at: 0 };
    let entered = call.wait_for_the_turn();
    // In a child that was forked in the wait, the participant is its parent's.
    if !site.is_ours() {
        return Err(Error::Interrupted);
    }
    let travelled = membership.with_endpoint(|endpoint| {
        if entered.is_err() {
            endpoint.give_up();
        }
        endpoint.travelled_token()
    });
    if entered.is_err() {
        site.lock().set_since(site.me(), 0);
    }
    hand_over(membership);
    entered.map(|()| travelled.flatten())
}

/// Hands the mailboxes over to the service thread, and takes what came before that.
fn hand_over(membership: &Membership) {
    membership.attend(false);
    membership.with_endpoint(|endpoint| endpoint.pump());
}

/// One call.
struct Call<'a, S: Site> {
    site: &'a S,
    file: &'a OpenFile,
    membership: &'a Membership,
    limit: Limit,
    began: Instant,
    /// The slot whose life was checked last.
    looked_at: usize,
}

impl<S: Site> Call<'_, S> {
    fn wait_for_the_turn(&mut self) -> Result<()> {
        let span = match self.limit {
            Limit::Never => Limit::For(ANSWER_TIMEOUT),
            Limit::For(limit) => Limit::For(limit.max(ANSWER_TIMEOUT)),
            Limit::Forever => Limit::Forever,
        };
        let mut waiter = self.site.waiter(span, 0, self.limit != Limit::Never);
        loop {
            if self.go_on()? {
                return Ok(());
            }
            if self.is_time_up() && self.is_a_living_one_inside(&mut waiter)? {
                return Err(self.limit.passed());
            }
            let seen = Blocker { slot: self.site.me(), seen: 0, ahead: 1 };
            match waiter.wait(&seen, || self.has_no_news()) {
                Outcome::LookAgain | Outcome::BackOff => {}
                Outcome::CheckAlive => {
                    self.check_peers(&mut waiter)?;
                    waiter.check_circle()?;
                    self.membership.with_endpoint(|endpoint| endpoint.ask_again());
                }
                // It may have come at the last moment.
                Outcome::TimedOut if self.go_on()? => return Ok(()),
                Outcome::TimedOut => return Err(self.limit.passed()),
                Outcome::Cancelled => return Err(Error::Cancelled),
                Outcome::Interrupted | Outcome::Forked => return Err(Error::Interrupted),
            }
        }
    }

    /// Returns whether the participant is inside.
    fn go_on(&self) -> Result<bool> {
        self.site.check_exists()?;
        let went = self.membership.with_endpoint(|endpoint| match endpoint.go_on() {
            Ok(()) if !endpoint.is_overwritten() => Ok(endpoint.is_inside()),
            _ => Err(self.file.damaged(OVERWRITTEN.into())),
        });
        went.unwrap_or_else(|| Err(self.file.removed()))
    }

    fn has_no_news(&self) -> bool {
        !self.membership.with_endpoint(|endpoint| endpoint.has_news()).unwrap_or(true)
    }

    fn is_time_up(&self) -> bool {
        match self.limit {
            Limit::Never => true,
            Limit::For(limit) => self.began.elapsed() >= limit,
            Limit::Forever => false,
        }
    }

    /// Returns whether a living participant is inside. A dead one is reaped: it must not outlive every caller's limit.
    fn is_a_living_one_inside(&self, waiter: &mut impl Waiter) -> Result<bool> {
        let (lock, me) = (self.site.lock(), self.site.me());
        let is_inside = |slot: usize| token_in(lock.held(slot).load(Relaxed)).is_some();
        for slot in (0..lock.slots()).filter(|slot| *slot != me) {
            if is_inside(slot) && !waiter.check_alive(slot)? && is_inside(slot) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Checks one that is inside, and one of all the others in turn: a dead one is reaped, and its peers are told.
    fn check_peers(&mut self, waiter: &mut impl Waiter) -> Result<()> {
        let (lock, me) = (self.site.lock(), self.site.me());
        let view = self.file.view();
        let members = view.slots_bound().min(view.geometry().mail_participants() as usize);
        let is_taken =
            |slot: &usize| *slot != me && view.slots()[*slot].state.load(Relaxed) != SlotState::Free as u32;
        let inside = (0..members).find(|slot| *slot != me && lock.held(*slot).load(Relaxed) != 0);
        let next = (1..=members).map(|step| (self.looked_at + step) % members).find(is_taken);
        self.looked_at = next.unwrap_or(0);
        for slot in inside.into_iter().chain(next.filter(|next| Some(*next) != inside)) {
            waiter.check_alive(slot)?;
        }
        Ok(())
    }
}
