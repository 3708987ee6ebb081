//! Messages as bytes, for mailboxes, sockets and whatever else carries bytes.

mod bakery;
mod bytes;
mod lamport_queue;
mod malformed;
mod ricart_agrawala;
mod token_ring;

pub use malformed::Malformed;

use super::Message;

/// The version of the encoding, the first byte of each message.
const VERSION: u8 = 1;

/// A message that can be written as bytes and read again, the same on every machine.
///
/// A message is a head of four bytes and then its fields, in the order of this table, without gaps. All numbers are little
/// endian, with as many bits as the table says:
///
/// | byte | holds |
/// |---|---|
/// | 0 | the version of the encoding: 1 |
/// | 1 | the machine: [`Wire::MACHINE`] |
/// | 2 | the kind of message |
/// | 3 | the flag, 0 or 1; 0 where the kind has none |
///
/// | machine | kind | flag | fields |
/// |---|---|---|---|
/// | 1, Lamport's queue | 1 request | | clock 64 |
/// | | 2 acknowledge | | clock 64 |
/// | | 3 release | | clock 64 |
/// | | 4 join | | life 32, round 32 |
/// | | 5 welcome | knows | life 32, own 32, round 32 |
/// | | 6 leave | | life 32 |
/// | 2, mesh | 1 request | | stamp 64 |
/// | | 2 token | | number 64, visits 64 for each participant |
/// | | 3 join | | life 32 |
/// | | 4 welcome | | life 32, own 32 |
/// | | 5 leave | | life 32 |
/// | | 6 farewell | | life 32, sent 64 |
/// | 3, ring | 1 token | | name 8, counter 16, fresh 16, number 64, ward number 64 |
/// | | 2 mark | to leave | round 64 |
/// | | 3 clear | | round 64, next 16 |
/// | | 4 join | | life 32 |
/// | | 5 welcome | | life 32, next 16 |
/// | | 6 leave | | life 32 |
/// | | 7 restarted | | life 32 |
/// | 4, bakery | 1 ask | | question 64, number 64 |
/// | | 2 answer | choosing | question 64, number 64, highest 64 |
/// | | 3 join | | life 32, round 32 |
/// | | 4 welcome | knows | life 32, own 32, round 32, highest 64 |
/// | | 5 leave | | life 32 |
///
/// A message has one form only: what [`decode`](Self::decode) accepts is what [`encode`](Self::encode) writes, byte for
/// byte. Both refuse numbers that no machine has in `participants` participants, and those so large that a machine could
/// not count on from there: clocks and numbers of the queue and the bakery are below 2^52, those of tokens below 2^63.
/// The transport knows the sender and the receiver of a message; it knows too where a message ends.
///
/// ```
/// use turnlock_message::{LamportQueueMessage, Wire};
///
/// let mut bytes = [0; LamportQueueMessage::BASE_BYTES];
/// let message = LamportQueueMessage::Request { clock: 7 };
/// let length = message.encode(3, &mut bytes)?;
/// assert_eq!(bytes[..length], [1, 1, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
/// assert_eq!(LamportQueueMessage::decode(&bytes[..length], 3)?, message);
/// # Ok::<(), turnlock_message::Malformed>(())
/// ```
pub trait Wire: Message {
    /// The machine's number.
    const MACHINE: u8;

    /// The bytes of the longest message, but for those that each participant adds.
    const BASE_BYTES: usize;

    /// How many bytes each participant adds to the longest message.
    const BYTES_PER_PARTICIPANT: usize;

    /// Returns how many bytes the longest message has in a lock of so many participants.
    fn max_bytes(participants: usize) -> usize {
        Self::BASE_BYTES + participants * Self::BYTES_PER_PARTICIPANT
    }

    /// Writes the message to the beginning of `into`, which has room if it is [`max_bytes`](Self::max_bytes) long.
    /// Returns its length in bytes.
    ///
    /// # Errors
    /// [`Malformed`] if there is no room, or the message is not of a lock with so many participants. Of a message that a
    /// machine sent it is [`Malformed::Value`] once its numbers are used up, and never before. What `into` holds then is
    /// no message.
    fn encode(&self, participants: usize, into: &mut [u8]) -> Result<usize, Malformed>;

    /// Reads a message that is all of `bytes`. Only the visits of a mesh's token are allocated, once all of it has
    /// been checked.
    ///
    /// # Errors
    /// [`Malformed`] of everything that [`encode`](Self::encode) does not write.
    fn decode(bytes: &[u8], participants: usize) -> Result<Self, Malformed>
    where
        Self: Sized;
}
