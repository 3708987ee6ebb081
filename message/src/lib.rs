//! Mutual exclusion by messages: machines that any transport can carry.
//!
//! Participants share no memory: each has local variables only, and sends messages. A machine is one participant's part in one
//! lock. It takes an [`Event`] and returns the [`Action`]s that this leads to. It does no I/O, reads no clock and no random
//! numbers, and keeps a bounded memory, fixed when it is made: the same machines are searched to the last interleaving,
//! simulated, and run over a real [`Transport`].
//!
//! | machine | order of service | messages an entry | channels | source |
//! |---|---|---|---|---|
//! | [`LamportQueue`] | by stamp | 3(n-1) | in order, nothing lost | Lamport 1978 |
//! | [`RicartAgrawala`] | within n-1 turns | 0 with the token at home, else n | any order; the token is not lost | Ricart and Agrawala 1983, Suzuki and Kasami 1985 |
//! | [`TokenRing`] | round the ring | n a round, entered or not | in order; tokens may be lost, not all of them | Misra 1983 |
//! | [`DemandRing`] | round the ring | at most n, 0 where the token was last | any order; needs a host that sees which members are there | Misra 1983 |
//! | [`Bakery`] | first come first served | unbounded: it polls | any order, loss, repeats | Lamport 1974 |
//!
//! *n* is the number of participants. They are numbered 0 to n-1, of which not all need be present: a participant joins and
//! departs. `docs/messages.md` has the counts as measured, what was searched, and what a lost peer means for each machine.
//!
//! ```
//! use turnlock_message::{Action, Event, LamportQueue, Machine};
//!
//! // Two participants, and a transport that is two lines: each message goes where it is to go, at once.
//! let mut machines = [LamportQueue::founding(2, 0)?, LamportQueue::founding(2, 1)?];
//! let mut inside = None;
//! let mut under_way = vec![(0, Event::Request)];
//! while let Some((at, event)) = under_way.pop() {
//!     for action in machines[at].on(event)? {
//!         match action {
//!             Action::Send { to, message } => under_way.push((to, Event::Receive { from: at, message })),
//!             Action::Enter { fencing_token } => inside = Some((at, fencing_token)),
//!             Action::Joined | Action::Departed => {}
//!         }
//!     }
//! }
//! assert_eq!(inside.map(|(at, _)| at), Some(0));
//! # Ok::<(), turnlock_message::Misuse>(())
//! ```
//!
//! # A participant's life
//!
//! ```text
//!             Join            Request           (Enter)
//! absent ---> joining ---> idle ------> waiting ------> inside
//!    ^                     | ^  ^          |              |
//!    +----- leaving <------+ |  +----------+              |
//!                            |    Withdraw                |
//!                            +----------------------------+
//!                                       Release
//! ```
//! A *founding* participant is idle from the start; all founding ones know of each other. Any other is *absent* until
//! it joins. [`Event::Withdraw`] is what a time limit or a cancelled wait leads to. A participant that returns (after a
//! departure, or after a death that cost it its state) has a larger *life* number than before.
//!
//! # Fencing tokens
//!
//! Each [`Action::Enter`] has a number larger than that of every earlier entry of any participant. Where there is a token, it
//! is a number in the token, which counts every entry and every hop. [`LamportQueue`] makes it of the request's stamp, since
//! entries are in the order of stamps; [`Bakery`] of the number that it took, which there never begins again at 1. A number
//! that dies with its participants cannot be remembered by the others: where that can happen, a `floor` comes from outside (a
//! word of the lock file, a store, the count of such rulings in the high bits).
//!
//! # Deaths
//!
//! Silence means nothing here: no machine has a clock. That a peer is dead is said by [`Event::Down`], which a transport says
//! only when it is certain, and after the last message of the dead one. That a token died with its holder is ruled from
//! outside, by one that can know it (the reaper of a lock file sees all mailboxes): [`Event::Recreate`], to one machine. Said
//! on suspicion, it makes two privileges.

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod bakery;
mod demand_ring;
mod encoding;
mod lamport_queue;
mod members;
mod misuse;
mod node;
mod ricart_agrawala;
mod token_ring;
mod transport;

pub use bakery::{Bakery, BakeryMessage};
pub use demand_ring::{DemandRing, RingHost};
pub use encoding::{Malformed, Wire};
pub use lamport_queue::{LamportQueue, LamportQueueMessage};
pub use misuse::Misuse;
pub use node::{Node, Unfit};
pub use ricart_agrawala::{MeshToken, RicartAgrawala, RicartAgrawalaMessage};
pub use token_ring::{RingToken, TokenRing, TokenRingMessage};
pub use transport::{Channels, Notice, Refusal, Transport};

/// The most participants that a lock can have, as many as a lock file has slots.
pub const MAX_PARTICIPANTS: usize = 4096;

/// What happens to a machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<M> {
    /// The local participant wants the critical section. Only when [`Standing::Idle`].
    Request,
    /// The local participant gives up waiting: a time limit, a cancelled wait. Only when [`Standing::Waiting`]; one that is
    /// inside by then releases instead.
    Withdraw,
    /// The local participant leaves the critical section. Only when [`Standing::Inside`].
    Release,
    /// The participant takes part from now on. Only when [`Standing::Absent`]; [`Action::Joined`] says when it does.
    Join,
    /// The participant takes no part any more. Only when [`Standing::Idle`]; [`Action::Departed`] says when it is free to go.
    Leave,
    /// Some time has passed: what is still unanswered is asked again. Comes whenever the host likes, and once after the
    /// machine was made. How often it comes is a question of cost, never of exclusion.
    Retry,
    /// A message came.
    Receive {
        /// Its sender's number.
        from: usize,
        /// The message.
        message: M,
    },
    /// A peer is dead or has departed, for certain: nothing that it sent will come any more, until it has joined again. A
    /// joining participant is told the same of all that are not there.
    Down {
        /// The peer's number.
        peer: usize,
    },
    /// What all depend on is lost for certain, and this machine, of all that are left, is to make it anew: all tokens, or in
    /// machines without tokens what numbers have been given, when only joining ones are left. A joining one is told of tokens
    /// only where none takes part. Ruled only when it is certain, and after all that are left have been told which
    /// peers are down: else a new token may go the way of the old one, and another ruling is due.
    Recreate {
        /// A number that no fencing token so far, and no number in a token, was larger than.
        floor: u64,
    },
}

/// What a machine wants done, in this order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action<M> {
    /// A message is to be sent.
    Send {
        /// The receiver's number.
        to: usize,
        /// The message.
        message: M,
    },
    /// The local participant is inside the critical section.
    Enter {
        /// Larger than that of every earlier entry.
        fencing_token: u64,
    },
    /// The local participant takes part, and may request.
    Joined,
    /// The local participant takes no part any more: none waits for it, and no token will come its way.
    Departed,
}

/// The standing of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Takes no part.
    Absent,
    /// Has asked to take part.
    Joining,
    /// Takes part, and wants nothing.
    Idle,
    /// Wants the critical section.
    Waiting,
    /// Is in the critical section.
    Inside,
    /// Has said that it leaves, and is not free to go yet.
    Leaving,
}

/// A participant's part in a lock by messages.
pub trait Machine {
    /// The messages of these machines.
    type Message: Message;

    /// What the machine requires of the channels between participants.
    const NEEDS: Channels;

    /// Takes an event and answers with what is to be done: at most three messages to each participant, and one other
    /// action. Where the state is to outlive its process, it is stored before the actions are carried out.
    ///
    /// # Errors
    /// [`Misuse`] if the event cannot happen to a participant in this standing, or the message cannot have come from
    /// there. Nothing has changed then.
    fn on(&mut self, event: Event<Self::Message>) -> Result<Vec<Action<Self::Message>>, Misuse>;

    /// Returns the standing of the participant.
    fn standing(&self) -> Standing;

    /// Returns the participant's number.
    fn me(&self) -> usize;

    /// Returns how many participants the lock is made for.
    fn participants(&self) -> usize;

    /// Returns whether this machine has token number `token`: 0 is the privilege. Never, of a machine without tokens.
    fn has_token(&self, token: usize) -> bool;
}

/// What can be said of a message without knowing the machine.
pub trait Message: Clone {
    /// Returns which token the message is: 0 is the privilege. `None` for any other message.
    fn token(&self) -> Option<usize>;

    /// Returns the name of the kind of message, for counts and logs.
    fn kind(&self) -> &'static str;
}
