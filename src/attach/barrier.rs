//! Which processes take part in a file, and so what its barriers are.
//!
//! [`turnlock_core::algorithm::light_barrier`] says why it is right.

use super::open_file::OpenFile;
use crate::layout::Fences;
use crate::os::{fork::process_mark, membarrier};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
    full_fence,
};

impl OpenFile {
    /// Sees to it that nothing of a process that is gone says what barriers are; and that all participants pass full fences, if
    /// that is asked for, or this process is refused the kernel's barriers. If a participant takes part, it is left as it is.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the one process that takes part relies on membarrier, which this one is refused.
    pub fn choose_barrier_mode(&self, full_fences: bool) -> Result<()> {
        let has_membarrier = membarrier::is_there();
        let wanted = if full_fences || !has_membarrier { Fences::Full } else { Fences::Undecided };
        let is_settled = || match self.fences() {
            Fences::Full => true,
            Fences::Undecided => wanted == Fences::Undecided,
            // Also of one that a filter has come to since.
            Fences::PrivateTo(process) => !full_fences && process == process_mark(),
            Fences::Changing => false,
        };
        // With every slot's byte lock in hand: no participant takes part, or is about to.
        self.alone_with_it(is_settled, || self.sole_process().store(wanted.word(), Relaxed))?;
        // Better now than at the first lock.
        if is_settled() || has_membarrier { Ok(()) } else { Err(Error::Unsupported(NO_MEMBARRIER)) }
    }

    /// Has the others know, if they are of another process, that this one takes part too. With a slot's byte lock in hand,
    /// before the first acquisition.
    ///
    /// The first process to take part may rely on membarrier for as long as it is the only one. The second one waits for the
    /// kernel, once, some 8 to 16 milliseconds; from then on all have full fences, until the next boot.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kernel refuses that, or something came to refuse it since the process began to rely on it.
    pub fn join_process(&self) -> Result<()> {
        loop {
            // Acquire. Partner: the release of the process that says that all fence. If we read that, its membarrier is before our
            // looks; if not, we go by what we read, and our exchange fails where that has changed.
            let seen = self.sole_process().load(Acquire);
            // Release, for the same; and acquire where it fails.
            let change =
                |new: Fences| self.sole_process().compare_exchange(seen, new.word(), AcqRel, Acquire);
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
                    // Partner: the light barrier of those that looked before they could read this. If their look comes first, the
                    // membarrier that follows makes what they stored seen; if ours does, they read that they have to fence. The
                    // process that began the change may be dead.
                    full_fence();
                    self.end_the_change()?;
                }
            }
        }
    }

    /// Passes the heavy barrier, after a full fence: a participant that enters by a bias, in an entry step or by a reservation after it
    /// sees what was stored before it. `takes_part`: the caller has a slot's byte lock.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kernel refuses it.
    pub fn heavy_barrier(&self, takes_part: bool) -> Result<()> {
        // Acquire, as in `join_process`.
        let seen = Fences::of(self.sole_process().load(Acquire));
        let passed = match seen {
            // The process that began the change has not ended it, and may be dead. As long as we take part, it is the same change.
            Fences::Changing if takes_part => return self.end_the_change(),
            // A participant that joins from now on passes a full fence, in a doorway, before it has anything to enter by.
            Fences::Full | Fences::Undecided => return Ok(()),
            Fences::PrivateTo(process) if process == process_mark() => membarrier::in_this_process(),
            Fences::PrivateTo(_) | Fences::Changing => membarrier::in_every_process(),
        };
        passed.map_err(|_| Error::Unsupported(NO_MEMBARRIER))
    }

    /// The last step of the change to several processes: every thread that may do without a fence passes the kernel's barrier,
    /// and from then on all fence. With a slot's byte lock in hand, and after a full fence.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kernel refuses the barrier.
    fn end_the_change(&self) -> Result<()> {
        membarrier::in_every_process().map_err(|_| Error::Unsupported(NO_MEMBARRIER))?;
        // Release. Partner: the acquire loads of this word, here and above. If they read ours, our membarrier is before what they do;
        // where our exchange fails, another participant has ended the change.
        let (changing, full) = (Fences::Changing.word(), Fences::Full.word());
        let _ = self.sole_process().compare_exchange(changing, full, AcqRel, Acquire);
        Ok(())
    }

    fn sole_process(&self) -> &AtomicU64 {
        &self.view().header().sole_process
    }

    fn fences(&self) -> Fences {
        Fences::of(self.sole_process().load(Relaxed))
    }
}

/// What a process is told that the kernel refuses a memory barrier which others rely on.
pub const NO_MEMBARRIER: &str = "membarrier (before Linux 4.14, or by a filter), which the process that uses this file now relies \
     on: allow it in the filter; or open the file while no process uses it, from here or with the option for full fences \
     (TURNLOCK_FILE_FULL_FENCES), and all will do without";
