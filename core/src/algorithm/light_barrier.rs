//! The light side of an asymmetric barrier: between what a participant says and what it looks at then, where the other side
//! passes a heavy one.
//!
//! A participant that enters by a bias, in an entry step or by a reservation stores `held = TRYING`, passes the light
//! barrier, and looks whether it may. A participant that revokes or evicts stores the revocation or the eviction,
//! passes the heavy barrier, and looks at `held`. If the entry's store comes first, the other side sees `held`; if the
//! other side's does, the entry sees that it may not (Dekker's argument). The heavy barrier reaches the threads of one
//! process and no others (`membarrier`, as the kernel keeps it: `os::membarrier`), so the light one is free as long as
//! one process alone takes part in the file, and a full fence otherwise. The file's word `sole_process` says which:
//!
//! ```text
//! light   sole_process == my process? then nothing. Else full fence
//! heavy   full fence; sole_process == several? then that was all. == my process? membarrier in it. Else in every process
//! share   a newcomer of another process, before it takes part:
//!         sole_process = changing; membarrier in every process; sole_process = several
//! ```
//! The word is read after what the light side says is stored. A participant that reads its own process there did so
//! before the newcomer's membarrier, which then has the others see what was stored. While the word says *changing*, a
//! revoking participant that cannot know yet that every process fences uses membarrier. `spec/fences_tso.pml` goes
//! through every execution.

use crate::mutants::{self, Mutant};
use crate::sync::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
    compiler_fence,
};

/// The light side.
pub trait LightBarrier: Copy {
    /// Comes between the store of what the participant says and its look.
    fn pass(self);
}

/// Comes between the leaver's store and its look whether a waiter is to be unparked. Where one process alone takes
/// part, membarrier makes it as good as a fence. Where several do, the look may come too early: then the waiter looks
/// again at the end of a nap, instead of being unparked, and an unlock costs no fence. No safety depends on it.
#[inline(always)]
pub(super) fn before_leaver_looks() {
    compiler_fence(SeqCst);
}

/// That of a participant of a file.
#[derive(Clone, Copy)]
pub struct FileBarrier<'a> {
    /// The file's word.
    pub sole_process: &'a AtomicU64,
    /// How it reads if no other process than the participant's takes part.
    pub process: &'a u64,
}

impl LightBarrier for FileBarrier<'_> {
    #[inline(always)]
    fn pass(self) {
        compiler_fence(SeqCst);
        // Relaxed. Partner: the membarrier of the process that joins the file, which comes after what we stored if it
        // comes after this load.
        if self.sole_process.load(Relaxed) != *self.process {
            mutants::full_fence_unless(Mutant::NoFenceInFencedMode);
        }
    }
}

/// Full fences wherever a barrier is needed: neither loom nor shuttle has a membarrier.
#[cfg(any(loom, shuttle))]
#[derive(Clone, Copy)]
pub struct FullFences {
    /// Whether one is needed: a search may have no participant that revokes or evicts.
    pub needed: bool,
}

#[cfg(any(loom, shuttle))]
impl LightBarrier for FullFences {
    fn pass(self) {
        if self.needed {
            mutants::full_fence_unless(Mutant::NoFenceInFencedMode);
        }
    }
}
