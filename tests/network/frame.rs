//! What goes over a connection: frames, each a length, a kind and a body.

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The first one, of both ends.
    Hello(Hello),
    /// A message of a machine, with its number.
    Message { number: u64, bytes: Vec<u8> },
    /// All messages up to this one were taken.
    Taken { number: u64 },
}

/// The participant that speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    pub from: u16,
    /// Its life.
    pub life: u32,
    /// The number of the last message that it has taken.
    pub taken: u64,
}

/// No frame is longer: a length that is can only be something else.
const LONGEST: usize = 1 << 16;

/// The stream does not hold frames.
#[derive(Debug, PartialEq, Eq)]
pub struct NoFrame;

impl Frame {
    pub fn write(&self, into: &mut Vec<u8>) {
        let mut body = Vec::new();
        match self {
            Frame::Hello(Hello { from, life, taken }) => {
                body.push(0);
                body.extend(from.to_le_bytes());
                body.extend(life.to_le_bytes());
                body.extend(taken.to_le_bytes());
            }
            Frame::Message { number, bytes } => {
                body.push(1);
                body.extend(number.to_le_bytes());
                body.extend(bytes);
            }
            Frame::Taken { number } => {
                body.push(2);
                body.extend(number.to_le_bytes());
            }
        }
        into.extend((body.len() as u32).to_le_bytes());
        into.extend(body);
    }

    /// Takes the first frame out of what has come, if all of it has.
    pub fn read(from: &mut Vec<u8>) -> Result<Option<Self>, NoFrame> {
        let Some((length, rest)) = from.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > LONGEST {
            return Err(NoFrame);
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let frame = Self::of(body).ok_or(NoFrame)?;
        from.drain(..4 + length);
        Ok(Some(frame))
    }

    fn of(body: &[u8]) -> Option<Self> {
        let (kind, body) = body.split_first()?;
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
        match kind {
            0 => {
                let (from, rest) = body.split_first_chunk()?;
                let (life, taken) = rest.split_first_chunk()?;
                let (from, life) = (u16::from_le_bytes(*from), u32::from_le_bytes(*life));
                Some(Frame::Hello(Hello { from, life, taken: number(taken)? }))
            }
            1 => {
                let (first, bytes) = body.split_first_chunk::<8>()?;
                Some(Frame::Message { number: number(first)?, bytes: bytes.to_vec() })
            }
            2 => Some(Frame::Taken { number: number(body)? }),
            _ => None,
        }
    }
}

#[test]
fn frames_are_read_whole_or_not_yet() {
    let frames = [
        Frame::Hello(Hello { from: 2, life: 3, taken: 4 }),
        Frame::Message { number: 5, bytes: vec![6, 7] },
        Frame::Taken { number: 8 },
    ];
    let (mut stream, mut read, mut come) = (Vec::new(), Vec::new(), Vec::new());
    frames.iter().for_each(|frame| frame.write(&mut stream));
    for byte in stream {
        come.push(byte);
        read.extend(Frame::read(&mut come).unwrap());
    }
    assert_eq!(read, frames);
    assert_eq!(Frame::read(&mut vec![0xff; 8]), Err(NoFrame));
    assert_eq!(Frame::read(&mut vec![1, 0, 0, 0, 9]), Err(NoFrame));
}
