//! The messages of the bakery.

use super::{
    super::BakeryMessage as Say,
    Malformed, Wire,
    bytes::{Field, LIFE, OWN, Reader, Writer, of_a_life, stamped},
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
            Say::Join { life } => to.kind(3, false).number(LIFE, life),
            Say::Welcome { life, own, knows, highest } => {
                to.kind(4, knows).number(LIFE, life).number(OWN, own).number(HIGHEST, highest)
            }
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
            3 => Say::Join { life: from.half(LIFE)? },
            4 => Say::Welcome {
                life: from.half(LIFE)?,
                own: from.half(OWN)?,
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
