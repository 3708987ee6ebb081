//! The messages of a ring.

use super::{super::Message, token::RingToken};

/// The messages of a [`super::TokenRing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenRingMessage {
    /// A token.
    Token(RingToken),
    /// Answer when all that the sender has sent before has come.
    Mark {
        /// Comes back with the answer.
        round: u64,
        /// A receiver that is leaving answers when it is free to go.
        to_leave: bool,
    },
    /// The answer to a mark.
    Clear {
        /// The mark's.
        round: u64,
        /// The process to send to from now on: the sender, or if it has left, the one that was next to it.
        next: usize,
    },
    /// The sender wants to take part.
    Join {
        /// The life of the sender.
        life: u32,
    },
    /// The answer to a join, by the one before it on the ring from now on.
    Welcome {
        /// The life of the participant that joins.
        life: u32,
        /// The process to send to.
        next: usize,
    },
    /// The sender wants to leave.
    Leave {
        /// The life of the sender.
        life: u32,
    },
    /// The sender has taken up its place again with another life, and knows of no mark.
    Restarted {
        /// The life of the sender.
        life: u32,
    },
}

use TokenRingMessage as Say;

impl Message for TokenRingMessage {
    fn token(&self) -> Option<usize> {
        match self {
            Say::Token(token) => Some(token.name.into()),
            _ => None,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Say::Token(_) => "token",
            Say::Mark { .. } => "mark",
            Say::Clear { .. } => "clear",
            Say::Join { .. } => "join",
            Say::Welcome { .. } => "welcome",
            Say::Leave { .. } => "leave",
            Say::Restarted { .. } => "restarted",
        }
    }
}

impl TokenRingMessage {
    /// As [`super::TokenRing::visit_numbers`], for a message of a ring with so many tokens.
    #[doc(hidden)]
    pub fn visit_numbers(&mut self, tokens: usize, mut visit: impl FnMut(usize, &mut u64)) {
        if let Self::Token(token) = self {
            token.visit_numbers(tokens, &mut visit);
        }
    }
}
