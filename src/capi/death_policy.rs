//! The flags of a death policy, which have the same numbers for every noun.

use super::boundary::invalid;
use crate::kind::DeathPolicy;
use turnlock_core::error::Result;

/// `TURNLOCK_..._RELEASE_ON_DEATH`.
pub const RELEASE: u32 = 4;
/// `TURNLOCK_..._INFORM_ON_DEATH`.
pub const INFORM: u32 = 16;
/// `TURNLOCK_..._RELEASE_BY_DEFAULT`.
pub const RELEASE_BY_DEFAULT: u32 = 32;
/// All of them.
pub const ALL: u32 = RELEASE | INFORM | RELEASE_BY_DEFAULT;

/// The death policy that flags ask for, if they do, and the one that a lock gets else, if it is created now.
pub fn of(flags: u32) -> Result<(Option<DeathPolicy>, DeathPolicy)> {
    let asked = match (flags & RELEASE != 0, flags & INFORM != 0) {
        (true, true) => {
            return Err(invalid(
                "the flags ask for both death policies, RELEASE_ON_DEATH and INFORM_ON_DEATH: leave one of them out",
            ));
        }
        (true, false) => Some(DeathPolicy::Release),
        (false, true) => Some(DeathPolicy::Inform),
        (false, false) => None,
    };
    let by_default = if flags & RELEASE_BY_DEFAULT != 0 { DeathPolicy::Release } else { DeathPolicy::Inform };
    Ok((asked, by_default))
}

#[cfg(test)]
mod tests {
    use super::super::{grouplock::*, keyedlock::*, mutex::*, rangelock::*, ring::*, rwlock::*};
    use super::*;

    #[test]
    fn every_noun_has_the_same_numbers() {
        let of_nouns = [
            (
                TURNLOCK_MUTEX_RELEASE_ON_DEATH,
                TURNLOCK_MUTEX_INFORM_ON_DEATH,
                TURNLOCK_MUTEX_RELEASE_BY_DEFAULT,
            ),
            (
                TURNLOCK_RWLOCK_RELEASE_ON_DEATH,
                TURNLOCK_RWLOCK_INFORM_ON_DEATH,
                TURNLOCK_RWLOCK_RELEASE_BY_DEFAULT,
            ),
            (
                TURNLOCK_RANGELOCK_RELEASE_ON_DEATH,
                TURNLOCK_RANGELOCK_INFORM_ON_DEATH,
                TURNLOCK_RANGELOCK_RELEASE_BY_DEFAULT,
            ),
            (
                TURNLOCK_KEYEDLOCK_RELEASE_ON_DEATH,
                TURNLOCK_KEYEDLOCK_INFORM_ON_DEATH,
                TURNLOCK_KEYEDLOCK_RELEASE_BY_DEFAULT,
            ),
            (
                TURNLOCK_GROUPLOCK_RELEASE_ON_DEATH,
                TURNLOCK_GROUPLOCK_INFORM_ON_DEATH,
                TURNLOCK_GROUPLOCK_RELEASE_BY_DEFAULT,
            ),
            (TURNLOCK_RING_RELEASE_ON_DEATH, TURNLOCK_RING_INFORM_ON_DEATH, TURNLOCK_RING_RELEASE_BY_DEFAULT),
        ];
        assert_eq!(of_nouns, [(RELEASE, INFORM, RELEASE_BY_DEFAULT); 6]);
    }
}
