//! The messages of a ring.

use super::{
    super::{RingToken, TokenRingMessage as Say},
    Malformed, Wire,
    bytes::{Field, LIFE, Reader, Writer, of_a_life, of_a_token, participant},
};

/// A ring has at most 8 tokens; whether it has this one its machines know.
const NAME: Field = Field::new("token name", 1, 0, 7);
const NUMBER: Field = of_a_token("token number");
const WARD_NUMBER: Field = of_a_token("ward number").or_none();
const ROUND: Field = of_a_life("round");

/// What runs modulo the number of participants and one.
const fn up_to(name: &'static str, participants: usize) -> Field {
    Field::new(name, 2, 0, participants as u64)
}

impl Wire for Say {
    const MACHINE: u8 = 3;
    const BASE_BYTES: usize = 25;
    const BYTES_PER_PARTICIPANT: usize = 0;

    fn encode(&self, participants: usize, into: &mut [u8]) -> Result<usize, Malformed> {
        let to = Writer::new::<Self>(into);
        let next_is = participant("next participant", participants);
        match *self {
            Say::Token(RingToken { name, counter, fresh, number, ward_number }) => to
                .kind(1, false)
                .number(NAME, name)
                .number(up_to("counter", participants), counter)
                .number(up_to("first round", participants), fresh)
                .number(NUMBER, number)
                .number(WARD_NUMBER, ward_number),
            Say::Mark { round, to_leave } => to.kind(2, to_leave).number(ROUND, round),
            Say::Clear { round, next } => to.kind(3, false).number(ROUND, round).number(next_is, next as u64),
            Say::Join { life } => to.kind(4, false).number(LIFE, life),
            Say::Welcome { life, next } => to.kind(5, false).number(LIFE, life).number(next_is, next as u64),
            Say::Leave { life } => to.kind(6, false).number(LIFE, life),
            Say::Restarted { life } => to.kind(7, false).number(LIFE, life),
        }
        .end()
    }

    fn decode(bytes: &[u8], participants: usize) -> Result<Self, Malformed> {
        let (mut from, kind) = Reader::new::<Self>(bytes)?;
        let next_is = participant("next participant", participants);
        let message = match kind {
            1 => Say::Token(RingToken {
                name: from.number(NAME)? as u8,
                counter: from.number(up_to("counter", participants))? as u16,
                fresh: from.number(up_to("first round", participants))? as u16,
                number: from.number(NUMBER)?,
                ward_number: from.number(WARD_NUMBER)?,
            }),
            2 => Say::Mark { round: from.number(ROUND)?, to_leave: from.flag()? },
            3 => Say::Clear { round: from.number(ROUND)?, next: from.number(next_is)? as usize },
            4 => Say::Join { life: from.half(LIFE)? },
            5 => Say::Welcome { life: from.half(LIFE)?, next: from.number(next_is)? as usize },
            6 => Say::Leave { life: from.half(LIFE)? },
            7 => Say::Restarted { life: from.half(LIFE)? },
            kind => return Err(Malformed::Kind { kind }),
        };
        from.end()?;
        Ok(message)
    }
}
