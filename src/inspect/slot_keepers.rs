//! The processes that keep the slots of participants whose own process has ended, each looked for once in a snapshot: that goes
//! through all of /proc, and a participant may appear in many locks.

use super::status::Keeper;
use crate::os::{identity::Identity, keepers::keepers_of, process};
use std::{cell::RefCell, collections::HashMap};

/// What is known of them so far.
pub struct SlotKeepers {
    /// The file; `None`: they are not looked for.
    file: Option<Identity>,
    /// By slot, and how often it was taken and given back.
    known: RefCell<HashMap<(usize, u64), Vec<Keeper>>>,
}

impl SlotKeepers {
    /// Of this file.
    pub fn of(file: Option<Identity>) -> Self {
        Self { file, known: RefCell::default() }
    }

    /// Returns those of `slot` in its `generation`, whose participant's process is `pid`: none as long as that runs.
    pub fn find(&self, slot: usize, generation: u64, pid: u32) -> Vec<Keeper> {
        let Some(file) = self.file.filter(|_| process::has_ended(pid)) else { return Vec::new() };
        let keeper = |pid| Keeper { pid, program: process::program_of(pid).unwrap_or_default() };
        let look = || keepers_of(file, slot).into_iter().map(keeper).collect();
        self.known.borrow_mut().entry((slot, generation)).or_insert_with(look).clone()
    }
}
