//! The endpoint of one participant at a lock by messages, as its calls and its service thread see it.

use crate::layout::LockWords;
use turnlock_core::sync::Ordering::Relaxed;

/// The error of a machine that refuses an event: something else than turnlock wrote into the mailboxes.
pub struct Refused;

/// The endpoint of one participant at a lock by messages, with any machine.
pub trait Endpoint: Send {
    /// Takes all that came, and sends what there is room for. Returns whether anything came.
    fn pump(&mut self) -> bool;
    /// Returns whether [`Endpoint::pump`] would find anything.
    fn has_news(&self) -> bool;
    /// Returns whether something waits for room in a mailbox.
    fn is_held_up(&self) -> bool;
    /// Goes on with an entry, as far as that is possible now.
    fn go_on(&mut self) -> Result<(), Refused>;
    /// Gives up an entry, or leaves the section.
    fn give_up(&mut self);
    /// Asks again what is unanswered, if the machine needs that.
    fn ask_again(&mut self);
    /// Returns whether it is inside.
    fn is_inside(&self) -> bool;
    /// Returns the fencing token that travels with the algorithm's token, if it has one.
    fn travelled_token(&self) -> Option<u64>;
    /// Returns whether something else than turnlock wrote into the mailboxes.
    fn is_overwritten(&self) -> bool;
}

/// Counts the numbers up to `number` that the lock's word has not seen as skipped, not as acquisitions: a token was made anew
/// with them. For the participant that has the token. If it dies before the word has them too, they are skipped once more.
pub fn skip_numbers(words: &LockWords, number: u64) {
    // Relaxed: for observers, and only the participant that has the token writes either.
    let skipped = number.saturating_sub(words.token.load(Relaxed));
    if skipped != 0 {
        words.first_token.fetch_add(skipped, Relaxed);
    }
}
