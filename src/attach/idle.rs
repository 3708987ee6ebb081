//! Participants that hold nothing, kept for the next owned guard or hold: to attach costs some system calls.

use super::{
    attachment::{AttachOptions, Attachment},
    open_file::OpenFile,
};
use crate::os::{
    fork::{ForkGuard, ForkGuarded, process_mark},
    thread_end::{self, Ending},
};
use std::sync::Arc;
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{AtomicU64, Ordering::Relaxed};

/// So many are kept of a file at most: each has a slot.
const MOST: usize = 8;

/// Those of all files that are open. Each keeps its file open, so they are given up with the program's last handle of it.
static IDLE: ForkGuarded<Vec<Arc<Attachment>>> = ForkGuarded::new(Vec::new());

/// The mark of the process that kept one last; 0: none did.
static KEPT_BY: AtomicU64 = AtomicU64::new(0);

fn ends(ending: Ending) -> bool {
    if ending == Ending::ProcessEnds {
        give_up_all();
    }
    false
}

fn is_of(attachment: &Arc<Attachment>, file: &OpenFile) -> bool {
    std::ptr::eq(&*attachment.file, file)
}

/// Takes one of this file, if there is one that is this process's own. It is not cancelled: what its last owner was told does not
/// concern the next.
pub fn take(file: &OpenFile) -> Option<Arc<Attachment>> {
    loop {
        let attachment = IDLE.with(&ForkGuard::enter(), |idle| {
            let at = idle.iter().position(|attachment| is_of(attachment, file))?;
            Some(idle.swap_remove(at))
        })?;
        // In a forked child they are its parent's: dropped here, outside of the fork guard, which that enters.
        if attachment.check().is_ok() {
            attachment.cancel.clear();
            return Some(attachment);
        }
    }
}

/// Keeps one that holds nothing, if there is room; else gives it up.
pub fn keep(attachment: Arc<Attachment>) {
    // Without memory for that they are left to be found dead.
    let _ = thread_end::tell_at_end(ends);
    KEPT_BY.store(process_mark(), Relaxed);
    let mut attachment = Some(attachment);
    IDLE.with(&ForkGuard::enter(), |idle| {
        let of_file = |one: &&Arc<Attachment>| attachment.as_ref().is_some_and(|kept| is_of(one, &kept.file));
        if idle.iter().filter(of_file).count() < MOST && idle.try_reserve(1).is_ok() {
            idle.extend(attachment.take());
        }
    });
    // Outside of the fork guard, as above.
    drop(attachment);
}

/// Attaches one as these options say. Where all slots are taken, or the one that is chosen, those that are kept here make room
/// for it.
pub fn attach(file: &Arc<OpenFile>, options: &AttachOptions) -> Result<Attachment> {
    match Attachment::attach(file, options) {
        Err(Error::ParticipantsFull { .. } | Error::InUse { .. }) => {
            give_up(file);
            Attachment::attach(file, options)
        }
        attached => attached,
    }
}

/// Gives up those of all files, as the process ends: their slots, and nothing more. The file that each keeps open is not closed
/// this late.
fn give_up_all() {
    // A child that was forked past the fork handlers may find the fork guard closed for ever, and has kept none.
    if KEPT_BY.load(Relaxed) == 0 || KEPT_BY.load(Relaxed) != process_mark() {
        return;
    }
    let given_up = IDLE.with(&ForkGuard::enter(), std::mem::take);
    // Outside of the fork guard, which to detach enters.
    for attachment in given_up {
        attachment.detach();
        std::mem::forget(attachment);
    }
}

/// Gives up those of this file.
pub fn give_up(file: &OpenFile) {
    let mut given_up = Vec::new();
    IDLE.with(&ForkGuard::enter(), |idle| {
        given_up.extend(idle.extract_if(.., |attachment| is_of(attachment, file)));
    });
    drop(given_up);
}
