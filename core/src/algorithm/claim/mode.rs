//! The modes in which a lock is held.

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Mode {
    /// Beside others that hold it shared, and one that holds it upgradable.
    Shared = 1,
    /// Beside others that hold it shared; it may become exclusive in place.
    Upgradable = 2,
    /// Beside no other.
    Exclusive = 3,
    /// Upgradable, and waiting to be exclusive: later claims wait for it already.
    Upgrading = 4,
    /// Beside no other, whichever part of the lock: for its removal.
    Everything = 5,
    /// Exclusive, by a reservation: held so, or not at all. Of a semaphore: some permits, likewise.
    Reserved = 6,
    /// Shared, by a reservation, which is an exclusive one.
    ReservedReading = 7,
}

impl Mode {
    /// Returns the mode of this number. One that no participant writes is taken for the mode that lets no other in.
    pub fn of(number: u32) -> Self {
        match number {
            1 => Mode::Shared,
            2 => Mode::Upgradable,
            3 => Mode::Exclusive,
            4 => Mode::Upgrading,
            6 => Mode::Reserved,
            7 => Mode::ReservedReading,
            _ => Mode::Everything,
        }
    }

    /// Returns in which mode one holds a lock that has this mode in its claim.
    #[inline]
    pub fn held(self) -> Self {
        match self {
            Mode::Reserved => Mode::Exclusive,
            Mode::ReservedReading => Mode::Shared,
            mode => mode,
        }
    }

    /// Returns whether two participants can hold the same thing at once, one in each mode.
    #[inline]
    pub fn is_compatible_with(self, other: Self) -> bool {
        use Mode::{Shared, Upgradable};
        matches!((self, other), (Shared, Shared | Upgradable) | (Upgradable, Shared))
    }

    /// Returns the modes of a rwlock's reservation that is entered by in this mode, and in the other one.
    #[inline(always)]
    pub(super) fn reserved(self) -> Option<(Self, Self)> {
        match self {
            Mode::Shared => Some((Mode::ReservedReading, Mode::Reserved)),
            Mode::Exclusive => Some((Mode::Reserved, Mode::ReservedReading)),
            _ => None,
        }
    }
}

/// Returns a claim's mode and weight in one word.
#[inline(always)]
pub(super) fn mode_word(mode: Mode, weight: u32) -> u64 {
    u64::from(weight) << 32 | mode as u64
}
