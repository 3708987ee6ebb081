//! The head, and numbers with bounds.

use super::{Malformed, VERSION, Wire};

/// What a number is called, how many bytes it has, and which it may be: from `least` to `most`, and 0 if it may be none.
#[derive(Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    pub bytes: usize,
    pub least: u64,
    pub most: u64,
    pub or_none: bool,
}

impl Field {
    pub const fn new(name: &'static str, bytes: usize, least: u64, most: u64) -> Self {
        Self { name, bytes, least, most, or_none: false }
    }

    /// May be 0 too.
    pub const fn or_none(self) -> Self {
        Self { or_none: true, ..self }
    }

    fn check(&self, value: u64) -> Result<(), Malformed> {
        let Self { name: field, least, most, or_none, .. } = *self;
        if (least..=most).contains(&value) || (or_none && value == 0) {
            Ok(())
        } else {
            Err(Malformed::Value { field, value, most })
        }
    }
}

pub const LIFE: Field = Field::new("life", 4, 1, u32::MAX as u64);
pub const OWN: Field = Field::new("own life", 4, 1, u32::MAX as u64);

/// How often one that joins has asked all, and in which of these rounds one that is welcomed has.
pub const ROUND: Field = Field::new("round", 4, 1, u32::MAX as u64);
pub const ASKED: Field = ROUND.or_none();

/// What counts on from the life in the high half, from 1.
pub const fn of_a_life(name: &'static str) -> Field {
    Field::new(name, 8, (1 << 32) + 1, u64::MAX)
}

/// Returns a clock, or a number of the bakery: it makes a fencing token together with the participant's number, of 12 bits.
pub const fn stamped(name: &'static str) -> Field {
    Field::new(name, 8, 1, (1 << 52) - 1)
}

/// Returns a number of a token.
pub const fn of_a_token(name: &'static str) -> Field {
    Field::new(name, 8, 1, (1 << 63) - 1)
}

/// Returns the number of a participant.
pub const fn participant(name: &'static str, participants: usize) -> Field {
    Field::new(name, 2, 0, (participants as u64).saturating_sub(1))
}

/// Writes a message. What goes wrong is said at the end.
pub struct Writer<'a> {
    into: &'a mut [u8],
    at: usize,
    wrong: Option<Malformed>,
}

impl<'a> Writer<'a> {
    /// Begins a message; [`kind`](Self::kind) is next.
    pub fn new<M: Wire>(into: &'a mut [u8]) -> Self {
        let mut writer = Self { into, at: 0, wrong: None };
        writer.put(&[VERSION, M::MACHINE]);
        writer
    }

    pub fn kind(mut self, kind: u8, flag: bool) -> Self {
        self.put(&[kind, flag.into()]);
        self
    }

    fn put(&mut self, bytes: &[u8]) {
        let end = self.at + bytes.len();
        match self.into.get_mut(self.at..end) {
            Some(room) => room.copy_from_slice(bytes),
            None => self.wrong = self.wrong.or(Some(Malformed::Room { bytes: self.into.len() })),
        }
        self.at = end;
    }

    pub fn number(mut self, field: Field, value: impl Into<u64>) -> Self {
        let value = value.into();
        if let Err(wrong) = field.check(value) {
            self.wrong = self.wrong.or(Some(wrong));
        }
        self.put(&value.to_le_bytes()[..field.bytes]);
        self
    }

    /// Returns how long the message is.
    pub fn end(self) -> Result<usize, Malformed> {
        self.wrong.map_or(Ok(self.at), Err)
    }
}

/// Reads a message.
#[derive(Clone)]
pub struct Reader<'a> {
    bytes: usize,
    rest: &'a [u8],
    flag: u8,
}

impl<'a> Reader<'a> {
    /// Begins to read a message; returns its kind too.
    pub fn new<M: Wire>(bytes: &'a [u8]) -> Result<(Self, u8), Malformed> {
        let Some((&[version, machine, kind, flag], rest)) = bytes.split_first_chunk() else {
            return Err(Malformed::Length { bytes: bytes.len() });
        };
        if version != VERSION {
            return Err(Malformed::Version { version });
        }
        if machine != M::MACHINE {
            return Err(Malformed::Machine { machine, expected: M::MACHINE });
        }
        Ok((Self { bytes: bytes.len(), rest, flag }, kind))
    }

    /// Returns the flag, of a kind that has one.
    pub fn flag(&mut self) -> Result<bool, Malformed> {
        match std::mem::take(&mut self.flag) {
            0 => Ok(false),
            1 => Ok(true),
            flag => Err(Malformed::Flag { flag }),
        }
    }

    pub fn number(&mut self, field: Field) -> Result<u64, Malformed> {
        let (bytes, rest) =
            self.rest.split_at_checked(field.bytes).ok_or(Malformed::Length { bytes: self.bytes })?;
        self.rest = rest;
        let mut value = [0; 8];
        value[..field.bytes].copy_from_slice(bytes);
        let value = u64::from_le_bytes(value);
        field.check(value)?;
        Ok(value)
    }

    /// A number of 32 bits.
    pub fn half(&mut self, field: Field) -> Result<u32, Malformed> {
        Ok(self.number(field)? as u32)
    }

    /// Nothing comes after this, and no flag is set that the kind does not have.
    pub fn end(&self) -> Result<(), Malformed> {
        if !self.rest.is_empty() {
            return Err(Malformed::Length { bytes: self.bytes });
        }
        if self.flag != 0 { Err(Malformed::Flag { flag: self.flag }) } else { Ok(()) }
    }
}
