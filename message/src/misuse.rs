//! What a machine refuses.

use super::{MAX_PARTICIPANTS, Standing};
use std::{error, fmt};

/// A machine was told something that cannot be, and has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// The event does not fit the participant's standing.
    Standing {
        /// The event.
        event: &'static str,
        /// Where the participant stands.
        standing: Standing,
        /// Where it should stand.
        expected: Standing,
    },
    /// A message or a notice about a number that is no other participant's.
    Peer {
        /// The number.
        peer: usize,
        /// How many participants there are.
        participants: usize,
    },
    /// A message that no machine of this lock sends: from a lock made for another number of participants, or damaged.
    Message {
        /// The sender.
        from: usize,
        /// What is wrong with it.
        wrong: &'static str,
    },
    /// [`Event::Recreate`](super::Event::Recreate) for a machine that has no tokens, or has one.
    Recreate {
        /// What is wrong with it.
        wrong: &'static str,
    },
    /// A lock for so many participants, or a participant with this number, cannot be.
    Size {
        /// How many participants.
        participants: usize,
        /// The participant's number.
        me: usize,
    },
    /// A life number 0: the first life is 1.
    Life,
    /// A ring with so many tokens cannot be.
    Tokens {
        /// How many.
        tokens: usize,
    },
}

impl fmt::Display for Misuse {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Standing { event, standing, expected } => write!(
                to,
                "{event} came while the participant is {standing:?}, and it must be {expected:?} for that: ask \
                 standing() first"
            ),
            Self::Peer { peer, participants } => write!(
                to,
                "participant {peer} is not another one of the {participants} of this lock, numbered from 0: connect \
                 each number once, and none to itself"
            ),
            Self::Message { from, wrong } => write!(
                to,
                "a message of participant {from} cannot be: {wrong}; make all machines of a lock alike, and check what \
                 the transport delivers"
            ),
            Self::Recreate { wrong } => {
                write!(
                    to,
                    "tokens cannot be recreated here: {wrong}; rule so only once all tokens are known to be lost"
                )
            }
            Self::Size { participants, me } => write!(
                to,
                "participant {me} of {participants} cannot be: there are 1 to {MAX_PARTICIPANTS}, numbered from 0"
            ),
            Self::Life => write!(
                to,
                "a life with the number 0 cannot be: begin with 1, and take a larger one for each that follows"
            ),
            Self::Tokens { tokens } => {
                write!(to, "a ring with {tokens} tokens cannot be: it has 1 to 8 (2 are Misra's)")
            }
        }
    }
}

impl error::Error for Misuse {}
