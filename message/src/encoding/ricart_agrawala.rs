//! The messages of a token on a mesh.

use super::{
    super::{MeshToken, RicartAgrawalaMessage as Say},
    Malformed, Wire,
    bytes::{Field, LIFE, OWN, Reader, Writer, of_a_life, of_a_token},
};

const STAMP: Field = of_a_life("stamp");
const NUMBER: Field = of_a_token("token number");
/// The last number with which the token was sent, if it was.
const SENT: Field = of_a_token("token number as sent").or_none();
/// The stamp of a visit, if there was one. It may have been without a request.
const VISIT: Field = Field::new("visit", 8, 1 << 32, u64::MAX).or_none();

impl Wire for Say {
    const MACHINE: u8 = 2;
    const BASE_BYTES: usize = 12;
    const BYTES_PER_PARTICIPANT: usize = 8;

    fn encode(&self, participants: usize, into: &mut [u8]) -> Result<usize, Malformed> {
        let to = Writer::new::<Self>(into);
        match self {
            Say::Request { stamp } => to.kind(1, false).number(STAMP, *stamp),
            Say::Token(MeshToken { number, visits }) => {
                let (value, most) = (visits.len() as u64, participants as u64);
                if value != most {
                    return Err(Malformed::Value { field: "number of visits", value, most });
                }
                visits
                    .iter()
                    .fold(to.kind(2, false).number(NUMBER, *number), |to, visit| to.number(VISIT, *visit))
            }
            Say::Join { life } => to.kind(3, false).number(LIFE, *life),
            Say::Welcome { life, own } => to.kind(4, false).number(LIFE, *life).number(OWN, *own),
            Say::Leave { life } => to.kind(5, false).number(LIFE, *life),
            Say::Farewell { life, sent } => to.kind(6, false).number(LIFE, *life).number(SENT, *sent),
        }
        .end()
    }

    fn decode(bytes: &[u8], participants: usize) -> Result<Self, Malformed> {
        let (mut from, kind) = Reader::new::<Self>(bytes)?;
        let message = match kind {
            1 => Say::Request { stamp: from.number(STAMP)? },
            2 => {
                let number = from.number(NUMBER)?;
                // Nothing is allocated for what turns out to be no token.
                let mut ahead = from.clone();
                (0..participants).try_for_each(|_| ahead.number(VISIT).map(|_| ()))?;
                ahead.end()?;
                let visits: Result<_, _> = (0..participants).map(|_| from.number(VISIT)).collect();
                Say::Token(MeshToken { number, visits: visits? })
            }
            3 => Say::Join { life: from.half(LIFE)? },
            4 => Say::Welcome { life: from.half(LIFE)?, own: from.half(OWN)? },
            5 => Say::Leave { life: from.half(LIFE)? },
            6 => Say::Farewell { life: from.half(LIFE)?, sent: from.number(SENT)? },
            kind => return Err(Malformed::Kind { kind }),
        };
        from.end()?;
        Ok(message)
    }
}
