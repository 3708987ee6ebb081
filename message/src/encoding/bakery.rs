//! The messages of the bakery.

use super::{
    super::BakeryMessage as Say,
    Malformed, Wire,
    bytes::{ASKED, Field, LIFE, OWN, ROUND, Reader, Writer, of_a_life, stamped},
};

const QUESTION: Field = of_a_life("question");
const NUMBER: Field = stamped("number").or_none();
const HIGHEST: Field = stamped("highest number").or_none();

impl Wire for Say {
    const MACHINE: u8 = 4;
    const BASE_BYTES: usize = 28;
    const BYTES_PER_PARTICIPANT: usize = 0;

    fn encode(&self, _participants: usize, into: &mut [u8]) -> Result<usize, Malformed> {
        let to = Writer::new::<Self>(into);
        match *self {
            Say::Ask { question, number } => {
                to.kind(1, false).number(QUESTION, question).number(NUMBER, number)
            }
            Say::Answer { question, choosing, number, highest } => to
                .kind(2, choosing)
                .number(QUESTION, question)
                .number(NUMBER, number)
                .number(HIGHEST, highest),
            Say::Join { life, round } => to.kind(3, false).number(LIFE, life).number(ROUND, round),
            Say::Welcome { life, own, round, knows, highest } => to
                .kind(4, knows)
                .number(LIFE, life)
                .number(OWN, own)
                .number(ASKED, round)
                .number(HIGHEST, highest),
            Say::Leave { life } => to.kind(5, false).number(LIFE, life),
        }
        .end()
    }

    fn decode(bytes: &[u8], _participants: usize) -> Result<Self, Malformed> {
        let (mut from, kind) = Reader::new::<Self>(bytes)?;
        let message = match kind {
            1 => Say::Ask { question: from.number(QUESTION)?, number: from.number(NUMBER)? },
            2 => Say::Answer {
                question: from.number(QUESTION)?,
                choosing: from.flag()?,
                number: from.number(NUMBER)?,
                highest: from.number(HIGHEST)?,
            },
            3 => Say::Join { life: from.half(LIFE)?, round: from.half(ROUND)? },
            4 => Say::Welcome {
                life: from.half(LIFE)?,
                own: from.half(OWN)?,
                round: from.half(ASKED)?,
                knows: from.flag()?,
                highest: from.number(HIGHEST)?,
            },
            5 => Say::Leave { life: from.half(LIFE)? },
            kind => return Err(Malformed::Kind { kind }),
        };
        from.end()?;
        Ok(message)
    }
}
