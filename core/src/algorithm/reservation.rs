//! The reservation: a participant that was inside by its number may keep that number when it leaves. It then enters by
//! it again without a doorway, until a waiter takes the place away.
//!
//! It is the *privilege* of the token algorithms, which a process keeps until another process asks for it (Ricart and
//! Agrawala 1983), in the form of a place in the bakery's queue. To the other participants it is a place like any
//! other: a participant whose claim conflicts with it waits behind it. A participant whose claim does not conflict
//! enters beside it and leaves it alone. A waiter takes the place away as it passes over a waiter that does not come
//! ([`super::eviction`]), but without hesitation.
//!
//! ```text
//! begin      inside, by its number: mode[i] says so; the first unlock after that unparks the waiters behind it
//! leave      held[i] = 0; evicted[i] == doorway[i]? then number[i] = 0, and unpark. Else number[i] stands
//! again      mode[i], as reader or writer; held[i] = TRYING; BARRIER; evicted[i] == doorway[i]?
//!            then held[i] = 0; number[i] = 0; unpark, and queue. Else in: held[i] = token
//! end        a waiter behind it: evicted[i] = doorway[i]; HEAVY BARRIER; then
//!            held[i] == 0       number[i] = 0, by a compare-exchange with the number that stood there: i is out for good
//!            held[i] == a token i is inside, and finds out when it leaves; where it is inside as a reader, readers pass over it
//!            held[i] == TRYING  i is about to find out
//! ```
//!
//! - The participant stores `held[i] = TRYING` and loads `evicted[i]`; the waiter stores `evicted[i]` and loads
//!   `held[i]`, with a barrier between on each side. If the waiter's store comes first, the participant sees that it
//!   lost the place. If the participant's store comes first, the waiter sees that `held[i]` is not 0.
//! - The place of a rwlock is an exclusive one. Its participant may all the same enter by it as a reader, and then
//!   looks at no bias word. It needs none: a writer ends the bias towards readers before it is inside, and a reader
//!   that begins the bias again is inside by its number, so it evicted the place first. So no biased reader is inside
//!   while the place stands and is not evicted.
//! - The participant writes the mode before `held`, and the others read it after `held`: a writer is never taken for a
//!   reader. After the waiter's barrier the participant enters by the place no more. So a reader that the waiter sees
//!   inside stays a reader.
//! - The waiter clears the number. Its own number is larger and stands, so a participant that has gone on and queued
//!   again has another number, and the compare-exchange fails. If the number were left there, each newcomer would need
//!   a heavy barrier of its own.
//! - The participant gives up the place of a semaphore when the number of permits has changed since its doorway. There
//!   may be fewer, and then no participant gets any before enough have come back. The participant looks at the number
//!   after its barrier; the participant that changes the number passes the heavy barrier before it says so.
//! - A participant keeps its place only if its claim was never less than the place since its number was drawn: a
//!   participant that saw the smaller claim may be about to enter beside it. So an upgrade begins no place, and a
//!   downgrade or a release of some permits ends it for that number.
//! - A waiter takes away every place that stands in its way, not only that of the slot at which it parks.

use super::{
    claim::{Claims, HoldClass, Reentry},
    eviction::{Eviction, EvictionWords},
    light_barrier::{LightBarrier, before_leaver_looks},
    ownership::Ownership,
};
use crate::sync::{AtomicU64, Ordering::Release};
use crate::trace::{self, Step};

/// One slot's words for it.
#[derive(Clone, Copy)]
pub struct Reservation<'a, W = Eviction<'a>> {
    /// See [`super::ownership`].
    pub held: &'a AtomicU64,
    /// Which doorway it is, and whether it is evicted.
    pub eviction: W,
}

impl<W: EvictionWords> Reservation<'_, W> {
    /// Enters by the place with `claim`, which suits it for slot `me`: `reentry` is what [`Claims::suits_reservation`] returned.
    /// [`Reservation::claim_token`] comes next. `false`: the place is lost; nothing was done.
    #[inline(always)]
    pub fn reenter<C: Claims>(
        &self,
        claims: C,
        me: usize,
        (claim, reentry): (C::Claim, Reentry),
        light: impl LightBarrier,
    ) -> bool {
        claims.write_reentry(me, claim, reentry);
        if !self.eviction.publish_trying(self.held, light) {
            return false;
        }
        trace::at(Step::Enter);
        // After our barrier, whose partner is that of the participant that changed the number of permits.
        if claims.has_capacity_changed(me) {
            Eviction::step_back(self.held);
            return false;
        }
        true
    }

    /// The section begins of a holder that came in with `claim` by [`Reservation::reenter`]. Returns the fencing token.
    #[inline(always)]
    pub fn claim_token<C: Claims>(&self, claims: C, claim: C::Claim, ownership: &Ownership) -> u64 {
        match claims.hold_class(claim) {
            HoldClass::Alone => ownership.claim_token_unchecked(self.held),
            HoldClass::Reader | HoldClass::Upgradable => ownership.share_token_unchecked(self.held),
            HoldClass::Granule | HoldClass::Permits | HoldClass::Member => {
                ownership.claim_token_among_unchecked(self.held)
            }
        }
    }

    /// Leaves, and keeps the place. Returns `false` if it is lost.
    #[inline(always)]
    pub fn leave(&self) -> bool {
        // Release. Partner: the acquire load in `Eviction::is_outside`, of the waiter that takes the place away.
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
