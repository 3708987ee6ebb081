//! How the two sides of the barriers of a file pass them: which processes take part in it, and what that costs.
//!
//! [`crate::algorithm::light_barrier`] says why it is right.

use super::open_file::OpenFile;
use crate::error::{Error, Result};
use crate::layout::Fences;
use crate::os::{fork::process_mark, membarrier};
use crate::sync::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
    full_fence,
};

impl OpenFile {
    /// Sees to it that nothing of a process that is gone says how barriers are passed; and, with `full_fences`, that nobody
    /// ever does without them: if nobody takes part, else it is left as it is.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the one process that takes part relies on membarrier, which this one is refused.
    pub fn settle_fences(&self, full_fences: bool) -> Result<()> {
        let wanted = if full_fences { Fences::Full } else { Fences::Undecided };
        let is_settled = || match self.fences() {
            Fences::Full => true,
            Fences::Undecided => !full_fences,
            Fences::PrivateTo(process) => !full_fences && process == process_mark(),
            Fences::Changing => false,
        };
        // With every slot's byte lock in hand: nobody takes part, or is about to.
        self.alone_with_it(is_settled, || self.private_to().store(wanted.word(), Relaxed))?;
        // Better now than at the first lock.
        if is_settled() || membarrier::is_there() { Ok(()) } else { Err(Error::Unsupported(NO_MEMBARRIER)) }
    }

    /// Has the others know, if they are of another process, that this one takes part too. With a slot's byte lock in hand,
    /// before the first acquisition.
    ///
    /// The first process to take part may rely on membarrier for as long as it is the only one. The second one waits for the
    /// kernel, once, some 8 to 16 milliseconds; from then on everybody has full fences, until the next boot.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kernel refuses that, or something came to refuse it since the process began to rely on it.
    pub fn settle_barriers(&self) -> Result<()> {
        loop {
            // Acquire. Partner: the release of whoever says that everybody fences: the membarrier before it is before us.
            let seen = self.private_to().load(Acquire);
            // Release, for the same; and acquire where it fails.
            let change = |new: Fences| self.private_to().compare_exchange(seen, new.word(), AcqRel, Acquire);
            match Fences::of(seen) {
                Fences::Full => return Ok(()),
                Fences::PrivateTo(process) if process == process_mark() => return Ok(()),
                Fences::Undecided => {
                    // Only where others can come later.
                    let by_membarrier = membarrier::is_there() && membarrier::register();
                    let new = if by_membarrier { Fences::PrivateTo(process_mark()) } else { Fences::Full };
                    let _ = change(new);
                }
                Fences::PrivateTo(_) => {
                    if !membarrier::is_there() {
                        return Err(Error::Unsupported(NO_MEMBARRIER));
                    }
                    let _ = change(Fences::Changing);
                }
                Fences::Changing => {
                    // Partner: the light barrier of those that have looked before they could read this. Whoever began the
                    // change may be dead.
                    full_fence();
                    membarrier::in_every_process().map_err(|_| Error::Unsupported(NO_MEMBARRIER))?;
                    let _ = change(Fences::Full);
                }
            }
        }
    }

    /// Passes the heavy barrier, after a full fence: whoever enters by a bias, in an entry step or by a retained place after it
    /// sees what was stored before it. Also where the process does not take part.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kernel refuses it.
    pub fn heavy_barrier(&self) -> Result<()> {
        // Acquire, as in `settle_barriers`. Partner: the light barrier, which looks first and reads this then.
        let passed = match Fences::of(self.private_to().load(Acquire)) {
            Fences::Full => return Ok(()),
            Fences::PrivateTo(process) if process == process_mark() => membarrier::in_this_process(),
            _ => membarrier::in_every_process(),
        };
        passed.map_err(|_| Error::Unsupported(NO_MEMBARRIER))
    }

    fn private_to(&self) -> &AtomicU64 {
        &self.view().header().private_to
    }

    fn fences(&self) -> Fences {
        Fences::of(self.private_to().load(Relaxed))
    }
}

/// What a process is told that the kernel refuses a memory barrier which others rely on.
pub const NO_MEMBARRIER: &str = "membarrier (before Linux 4.14, or by a filter), which the process that uses this file now relies \
     on: allow it in the filter; or open the file while nobody uses it, from here or with the option for full fences \
     (TURNLOCK_FILE_FULL_FENCES), and everybody will do without";
