//! Entering and leaving by messages: what the holder's words say, around what the machines do.

use super::{
    attempt::Attempt,
    local::Holding,
    site::{Limit, Lock, Overwritten, Site},
};
use crate::error::Result;
use crate::trace::{self, Step};

/// Waits for the turn as long as `limit` says, and writes the participant down as the holder.
///
/// The fencing token is the one that travels in the algorithm's token, or else counted on in the lock's word: that outlives
/// its participants, and their clocks do not.
pub fn acquire<S: Site>(attempt: &Attempt<S>, limit: Limit) -> Result<Holding> {
    let site = &attempt.site;
    let (lock, me) = (site.lock(), site.me());
    let travelled = site.acquire_by_messages(limit)?;
    trace::at(Step::Won);
    // The lock is not removed while a participant is inside: after this look it is ours as long as we are.
    let token = site.check_intact().and_then(|()| site.check_exists()).and_then(|()| {
        lock.set_since(me, site.now());
        let (held, ownership) = (lock.held(me), lock.ownership());
        let token = match travelled {
            Some(token) => ownership.adopt_token(held, token),
            None => ownership.claim_token(held),
        };
        token.ok_or_else(|| site.overwritten(Overwritten::Token))
    });
    match token {
        Ok(token) => {
            trace::at(Step::Section);
            Ok(Holding { token, unbiased: true, among_readers: false })
        }
        Err(error) => {
            lock.set_since(me, 0);
            site.release_by_messages();
            Err(error)
        }
    }
}

/// Lets the next participant have it, after the section.
pub fn leave<S: Site>(attempt: &Attempt<S>) {
    let (site, lock) = (&attempt.site, attempt.site.lock());
    lock.ownership().exit(lock.held(site.me()));
    trace::at(Step::Leave);
    lock.set_since(site.me(), 0);
    site.release_by_messages();
    // Last: a signal handler that comes before finds it under way.
    site.local().record(None);
}
