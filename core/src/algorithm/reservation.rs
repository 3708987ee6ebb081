//! The reservation: who was inside by its number may keep that number when it leaves, and come in by it again without a
//! doorway, until somebody wants it gone.
//!
//! It is the *privilege* of the token algorithms, kept by one process until another one asks for it (Ricart and Agrawala
//! 1983), in the form of a place in the bakery's queue. For everybody else it is a place like any other: whose claim
//! conflicts with it waits behind it, and whose claim does not goes in beside it, and never disturbs it. Taking it away is
//! passing over one who does not come ([`super::eviction`]), only that nobody hesitates to.
//!
//! ```text
//! begin      inside, by its number: mode[i] says so; the first time that it leaves it unparks who waits behind it
//! leave      held[i] = 0; evicted[i] == doorway[i]? then number[i] = 0, and unpark. Else number[i] stands
//! again      mode[i], as reader or writer; held[i] = TRYING; BARRIER; evicted[i] == doorway[i]?
//!            then held[i] = 0; number[i] = 0; unpark, and queue. Else in: held[i] = token
//! end        who waits behind it: evicted[i] = doorway[i]; HEAVY BARRIER; then
//!            held[i] == 0       number[i] = 0, by a compare-exchange with the number that stood there: i is out for good
//!            held[i] == a token i is inside, and finds out when it leaves; where it is inside as a reader, readers pass over it
//!            held[i] == TRYING  i is about to find out
//! ```
//!
//! - The place of a rwlock is an exclusive one. Inside by it, its participant may be a reader all the same; then it looks
//!   at no bias word: biased readers are not inside while the place stands and is not evicted, since a writer ends the bias
//!   towards readers before it is inside, and a reader that begins it again is inside by its number, so it evicted the place
//!   first.
//! - The mode is written before `held`, and read after it: a writer is never taken for a reader. After the barrier its
//!   participant comes in no more, so a reader that is seen inside then stays one.
//! - The number is cleared by who waits behind it, whose own number is larger and stands: if its participant has gone on and
//!   stands in the queue again, then with another number. Were it left alone, each who came would need a heavy barrier of its
//!   own.
//! - The place of a semaphore is given up when the number of permits has changed since its doorway: there may be fewer, and then
//!   nobody gets any before enough have come back. Its participant looks at it after the barrier, and who changes it passes
//!   the heavy one before it says so.
//! - Whose claim was ever less than the place, since its number was drawn, does not retain it: one who saw that may be about
//!   to come in beside. So an upgrade begins no place, and a downgrade or permits that are given back end it for that number.
//! - A waiter takes away every place that stands in its way, and not only that of the one at whose slot it parks.

use super::{
    claim::{Claims, HoldClass},
    eviction::Eviction,
    light_barrier::{LightBarrier, before_leaver_looks},
    ownership::{Health, Ownership},
};
use crate::sync::{AtomicU64, Ordering::Release};
use crate::trace::{self, Step};

/// One slot's words for it.
#[derive(Clone, Copy)]
pub struct Reservation<'a> {
    /// See [`super::ownership`].
    pub held: &'a AtomicU64,
    /// Which doorway it is, and whether it is evicted.
    pub eviction: Eviction<'a>,
}

impl Reservation<'_> {
    /// Enters by it, as `claim` says, which is one that slot `me` may come in with ([`Claims::suits_reservation`]). Returns the
    /// fencing token; `None`: the place is lost, or the data cannot be trusted; nothing was done.
    #[inline(always)]
    pub fn reenter<C: Claims>(
        &self,
        claims: C,
        me: usize,
        claim: C::Claim,
        light: impl LightBarrier,
        ownership: &Ownership,
    ) -> Option<u64> {
        claims.write_reentry(me, claim);
        if !self.eviction.publish_trying(self.held, light) {
            return None;
        }
        trace::at(Step::Enter);
        // Again, for a semaphore: partner of our barrier is that of who made it have fewer permits.
        if claims.suits_reservation(me, claim) && ownership.health() == Health::Consistent {
            let token = match claims.hold_class(claim) {
                HoldClass::Alone => ownership.claim_token(self.held),
                HoldClass::Reader | HoldClass::Upgradable => ownership.share_token(self.held),
                HoldClass::Granule | HoldClass::Permits => ownership.claim_token_among(self.held),
            };
            if token.is_some() {
                return token;
            }
        }
        Eviction::step_back(self.held);
        None
    }

    /// Leaves, and keeps the place. Returns `false` if it is lost.
    #[inline(always)]
    pub fn leave(&self) -> bool {
        // Release. Partner: the acquire load in `Eviction::is_outside`, of who takes the place away.
        self.held.store(0, Release);
        trace::at(Step::Leave);
        // Partner, in a file of one process: the barrier between the two halves of an eviction. If theirs comes first, we see
        // that we lost the place, and unpark them; if ours does, they see that we are out.
        before_leaver_looks();
        !self.eviction.is_evicted()
    }
}

/// A place that was of use less often than this, by fencing tokens, did not pay.
pub const PAYS: u64 = 8;
