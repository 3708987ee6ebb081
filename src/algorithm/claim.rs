//! What an acquisition claims of a lock, and which claims keep each other out.
//!
//! A participant in the bakery's queue waits for the earlier ones whose claims conflict with its own, and passes over the
//! others. A claim is written before the number is, and stays until the number is cleared.
//!
//! | kind of lock | claim | two claims conflict |
//! |---|---|---|
//! | mutex | none | always: [`Always`] |

/// Which claims of one lock's participants conflict.
pub trait Conflicts: Copy {
    /// Returns whether the claim in slot `mine` has to wait for an earlier one in slot `theirs`.
    fn conflicts(&self, mine: usize, theirs: usize) -> bool;
}

/// Every two claims conflict: mutual exclusion.
#[derive(Clone, Copy, Debug)]
pub struct Always;

impl Conflicts for Always {
    #[inline(always)]
    fn conflicts(&self, _: usize, _: usize) -> bool {
        true
    }
}
