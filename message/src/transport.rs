//! What carries the messages: a trait and its contract, apart from the machines and from any mailbox or socket.

use std::{error, fmt};

/// What links do to messages: what a machine can bear, or what a transport may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Messages of one link come in the order in which they were sent.
    pub in_order: bool,
    /// Any message may be lost, except tokens.
    pub loses: bool,
    /// A message may come more than once.
    pub repeats: bool,
    /// A token may be lost.
    pub loses_tokens: bool,
}

impl Channels {
    /// Returns whether links that do this will do for a machine that needs `needs`.
    ///
    /// ```
    /// use turnlock_message::{Channels, LamportQueue, Machine, RicartAgrawala};
    ///
    /// let datagrams_sent_until_acknowledged =
    ///     Channels { in_order: false, loses: false, repeats: true, loses_tokens: false };
    /// assert!(datagrams_sent_until_acknowledged.will_do_for(&RicartAgrawala::NEEDS));
    /// assert!(!datagrams_sent_until_acknowledged.will_do_for(&LamportQueue::NEEDS));
    /// ```
    pub fn will_do_for(&self, needs: &Self) -> bool {
        (self.in_order || !needs.in_order)
            && (!self.loses || needs.loses)
            && (!self.repeats || needs.repeats)
            && (!self.loses_tokens || needs.loses_tokens)
    }
}

/// One participant's end of all its links.
///
/// # The contract
///
/// A *link* goes from one participant to another; there is one in each direction. Both ends number the participants alike.
/// What a transport promises of its links it says in [`Self::CHANNELS`], and what a machine needs stands in
/// [`Machine::NEEDS`](super::Machine::NEEDS); [`Node::new`](super::Node::new) compares them.
///
/// - *Whole.* A message comes as it was sent, or not at all: never torn, never of another.
/// - *Order.* With `in_order`, messages of one link come in the order in which they were sent. Nothing is said about two
///   links.
/// - *Loss.* Without `loses`, what [`Self::send`] took comes, unless its sender dies first, or its receiver dies or departs. A
///   connection that breaks and is made again between two that live has lost nothing: what was not delivered is sent again, or
///   both ends are told that the other is down. Of what the dead have sent, the last may be lost, on each link by itself.
///   `loses_tokens` allows the loss of tokens, and of nothing else: what a link loses that knows of its losses, or a
///   participant that dies.
/// - *Departure.* What was sent before [`Action::Departed`](super::Action::Departed) comes: the host keeps its links until then.
///   The last that a participant of the mesh sends may be the token.
/// - *Repetition.* Without `repeats`, a message comes once.
/// - *Delay.* A message may take as long as it likes. No machine has a time limit; its host may have.
/// - *Failure notice.* [`Notice::Down`] is said of a peer that is dead or has departed, and only when that is certain: a lock
///   that the kernel let go of, a connection that the peer's own host has closed, a supervisor that saw the process end.
///   Never because nothing came for a while. It comes after the last message of that peer that will ever come, once to each
///   participant, and for each death.
/// - *Reconnection.* A participant that returns has a larger life number, and joins. No message of an earlier life comes after
///   the first of the later one, and none that was sent to an earlier life comes to the later one. So nothing of a later life
///   is taken before the notice about the earlier one. A joining participant gets a [`Notice::Down`] about each that is not
///   there.
/// - *A death without a loss.* A participant that dies with its state stored, and whose links keep what is on its way, needs
///   no notice: it goes on where it was. To the others it was slow.
pub trait Transport<M> {
    /// What the links may do to messages.
    const CHANNELS: Channels;

    /// Takes a message for participant `to`, to be delivered as the contract says. Does not wait.
    ///
    /// # Errors
    /// [`Refusal::Full`]: the link has no room now, and the message was not taken; it comes back with the error. Sending to
    /// one that is down is no error: the message is dropped.
    fn send(&mut self, to: usize, message: M) -> Result<(), (Refusal, M)>;

    /// Returns what came next, over all links, or `None` if nothing has come. Does not wait.
    fn receive(&mut self) -> Option<Notice<M>>;
}

/// What a transport delivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice<M> {
    /// A message.
    Message {
        /// The number of the sender.
        from: usize,
        /// The message.
        message: M,
    },
    /// A peer is dead or has departed, for certain.
    Down {
        /// Which one.
        peer: usize,
    },
}

/// Why a transport did not take a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The link has no room now: its other end is slow or stopped.
    Full,
}

impl fmt::Display for Refusal {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Full => {
                write!(to, "the link has no room: its other end takes nothing at the moment; send it later")
            }
        }
    }
}

impl error::Error for Refusal {}
