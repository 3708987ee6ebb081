//! What an encoding refuses.

use std::{error, fmt};

/// Bytes that are no message of this lock, or a message that cannot be written as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes begin with another version of the encoding.
    Version {
        /// The version that they begin with.
        version: u8,
    },
    /// A message of another machine.
    Machine {
        /// The number of that machine.
        machine: u8,
        /// The number of the machine that was expected.
        expected: u8,
    },
    /// The machine has no message of this kind.
    Kind {
        /// The number of the kind.
        kind: u8,
    },
    /// The flag is not 0 or 1, or set where the kind has none.
    Flag {
        /// What it is.
        flag: u8,
    },
    /// There are fewer bytes, or more, than the message has.
    Length {
        /// How many there are.
        bytes: usize,
    },
    /// A number that no machine of this lock sends.
    Value {
        /// What it would be.
        field: &'static str,
        /// The number.
        value: u64,
        /// The largest that may be; the smallest is 0 or 1 or what the life makes it.
        most: u64,
    },
    /// No room to write the message.
    Room {
        /// How many bytes there are.
        bytes: usize,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Version { version } => write!(
                to,
                "a message in version {version} of the encoding, not {}: have all participants use the same turnlock",
                super::VERSION
            ),
            Self::Machine { machine, expected } => write!(
                to,
                "a message of machine {machine}, not {expected}: make all machines of a lock alike, and check what the \
                 transport delivers"
            ),
            Self::Kind { kind } => {
                write!(to, "the machine has no message of kind {kind}: check what the transport delivers")
            }
            Self::Flag { flag } => {
                write!(
                    to,
                    "a message whose flag is {flag}: 0 or, where it has one, 1; check what the transport delivers"
                )
            }
            Self::Length { bytes } => write!(
                to,
                "the message has not {bytes} bytes: deliver each message whole and by itself, and make all machines for \
                 the same number of participants"
            ),
            Self::Value { field, value, most } => write!(
                to,
                "a message whose {field} is {value} (at most {most}) cannot be: make all machines for the same number of \
                 participants, and check what the transport delivers"
            ),
            Self::Room { bytes } => {
                write!(to, "{bytes} bytes have no room for the message: provide max_bytes() of them")
            }
        }
    }
}

impl error::Error for Malformed {}
