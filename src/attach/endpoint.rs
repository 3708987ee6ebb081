//! The endpoint of one participant at a lock by messages, as its calls and its service thread see it.

use crate::layout::LockWords;
use turnlock_core::sync::Ordering::Relaxed;

/// The machine refuses what happened: something else than turnlock wrote into the mailboxes.
pub struct Refused;

/// What is asked of an endpoint, whichever machine it has.
pub trait Endpoint: Send {
    /// Takes all that came, and sends what there is room for. Returns whether anything came.
    fn pump(&mut self) -> bool;
    /// Returns whether [`Endpoint::pump`] would find anything.
    fn has_news(&self) -> bool;
    /// Returns whether something waits for room in a mailbox.
    fn is_held_up(&self) -> bool;
    /// Does what there is to do on the way in.
    fn go_on(&mut self) -> Result<(), Refused>;
    /// Gives up on the way in, or leaves the section.
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

/// Has the numbers up to `number` that the lock's word has not seen, which a token was made anew with, not count as
/// acquisitions. By who has the token. One who dies before the word has them too leaves them to be skipped once more.
pub fn skip_numbers(words: &LockWords, number: u64) {
    // Relaxed: for observers, and only who has the token writes either.
    let skipped = number.saturating_sub(words.token.load(Relaxed));
    if skipped != 0 {
        words.first_token.fetch_add(skipped, Relaxed);
    }
}
