//! What the file says: read anew each time.

use super::actor::LOCK;
use std::{fs::File, io, os::unix::fs::FileExt, path::Path};
use turnlock::inspect::{self, LockRegisters, SlotRegisters};

/// Returns the registers of a slot.
pub fn slot_in(registers: &LockRegisters, slot: usize) -> Option<&SlotRegisters> {
    registers.slots.iter().find(|seen| seen.slot == slot)
}

/// Returns whether the call of the process in `slot` says that it waits.
pub fn waits(path: &Path, slot: usize) -> io::Result<bool> {
    Ok(slot_in(&read(path)?, slot).is_some_and(|slot| slot.waits))
}

fn read(path: &Path) -> io::Result<LockRegisters> {
    let read = inspect::registers(path, LOCK).map_err(io::Error::other)?;
    read.ok_or_else(|| io::Error::other("the lock is not in its file"))
}

/// Reads the lock's registers from the file at `path`.
pub fn registers(path: &Path) -> io::Result<LockRegisters> {
    let mut registers = read(path)?;
    for slot in &mut registers.slots {
        // Read only by a thread that wakes others, and not shown.
        (slot.parked, slot.waits) = (false, false);
    }
    Ok(registers)
}

/// The bytes of the file: whether there is anything new in them is known sooner than what.
pub struct FileBytes {
    file: File,
    last: Vec<u8>,
    now: Vec<u8>,
}

impl FileBytes {
    /// Returns those of the file at `path`, which keeps its size.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        Ok(Self { file, last: vec![0; bytes], now: vec![0; bytes] })
    }

    /// Returns whether they are other ones than at the last look.
    pub fn are_other(&mut self) -> io::Result<bool> {
        self.file.read_exact_at(&mut self.now, 0)?;
        let other = self.now != self.last;
        std::mem::swap(&mut self.now, &mut self.last);
        Ok(other)
    }
}
