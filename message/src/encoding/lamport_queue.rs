//! The messages of Lamport's queue.

use super::{
    super::LamportQueueMessage as Say,
    Malformed, Wire,
    bytes::{ASKED, Field, LIFE, OWN, ROUND, Reader, Writer, stamped},
};

const CLOCK: Field = stamped("clock");

impl Wire for Say {
    const MACHINE: u8 = 1;
    const BASE_BYTES: usize = 16;
    const BYTES_PER_PARTICIPANT: usize = 0;

    fn encode(&self, _participants: usize, into: &mut [u8]) -> Result<usize, Malformed> {
        let to = Writer::new::<Self>(into);
        match *self {
            Say::Request { clock } => to.kind(1, false).number(CLOCK, clock),
            Say::Acknowledge { clock } => to.kind(2, false).number(CLOCK, clock),
            Say::Release { clock } => to.kind(3, false).number(CLOCK, clock),
            Say::Join { life, round } => to.kind(4, false).number(LIFE, life).number(ROUND, round),
            Say::Welcome { life, own, round, knows } => {
                to.kind(5, knows).number(LIFE, life).number(OWN, own).number(ASKED, round)
            }
            Say::Leave { life } => to.kind(6, false).number(LIFE, life),
        }
        .end()
    }

    fn decode(bytes: &[u8], _participants: usize) -> Result<Self, Malformed> {
        let (mut from, kind) = Reader::new::<Self>(bytes)?;
        let message = match kind {
            1 => Say::Request { clock: from.number(CLOCK)? },
            2 => Say::Acknowledge { clock: from.number(CLOCK)? },
            3 => Say::Release { clock: from.number(CLOCK)? },
            4 => Say::Join { life: from.half(LIFE)?, round: from.half(ROUND)? },
            5 => Say::Welcome {
                life: from.half(LIFE)?,
                own: from.half(OWN)?,
                round: from.half(ASKED)?,
                knows: from.flag()?,
            },
            6 => Say::Leave { life: from.half(LIFE)? },
            kind => return Err(Malformed::Kind { kind }),
        };
        from.end()?;
        Ok(message)
    }
}
