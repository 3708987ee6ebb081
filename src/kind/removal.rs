//! Removing a named lock, and what becomes of the handles that are open to it.
//!
//! The directory entry of a lock has a *generation*: odd while it names a lock. A handle has it from its opening. Removal
//! is one store that makes it even, by a participant that
//!
//! 1. has the directory's lock: no other is named or removed meanwhile;
//! 2. stands at the head of the region's queue, and has revoked the bias: the bias word is 0, and no participant is inside by
//!    it;
//! 3. found no other participant there: no number, no membership of a ring, no holder; the dead were reaped.
//!
//! *No handle of a removed lock gets in.* An acquisition without the bias checks the generation at the head of the queue,
//! before it writes down that it holds. If that comes before the remover is at the head, the remover finds its number (3) and
//! refuses; if after, the remover has left the queue, and the generation that it reads is the new one. For a turn of a ring it
//! checks with the reconfiguration lock, which is the same queue, before it becomes a member; an earlier membership is found by
//! the remover. With the bias: the remover has cleared the bias word as any revocation does, so the fast path fails until the
//! region names another lock that is biased; [`crate::attach::names`] says why no stale handle profits from that.
//!
//! *Nothing of a removed lock disturbs the next one in its region*, also not of another kind. Between the doorway and the look
//! at the generation a stale handle writes only its own number and cell (a death there is reaped without an owner-dead notice:
//! `held` is 0), and as the queue's head it keeps others waiting for a moment. What is done with a ring's machines is done by
//! members, or under the reconfiguration lock and after a look at the generation. So the participant that names the next lock,
//! with the directory's lock, is alone with the lock's words and the ring's links and may clear them; the numbers and the other
//! words of the cells belong to their slots.
//!
//! *A death on the way* leaves the lock as it was or removed, since it is one store; the bias may be gone. The region is
//! cleared when the next lock is named there, so a half-done clearing is done again.
//!
//! *A lock whose owner died* is not removed before a holder was told, nor while it is closed: the notice would be lost, and the
//! next lock of that name would take the data for consistent. `reset` says that the death is known.

use super::{directory, file::LockFile, named::region_of};
use crate::attach::{attachment::Attachment, site::FileSite, thread::with_thread_attachment};
use crate::os::{linux::Linux, memory};
use crate::recovery;
use crate::registers::{
    Claimed, Exclusively, FileClaims, FileLock, call_participant, is_in_wait, is_linked, link,
};
use std::time::Duration;
use turnlock_core::acquire::{
    attempt::{Attempt, Discipline, LockConfig},
    host::Host,
    local::Idle,
    queue, reservation,
    site::{Limit, Lock, Site, Waiter},
};
use turnlock_core::algorithm::{
    Place, Protocol,
    claim::{Claim, Relation},
    eviction::Eviction,
    ownership::{Health, token_in},
    ring::{Machines, Membership},
};
use turnlock_core::error::{Error, Result};
use turnlock_core::event::{Event, Happening};
use turnlock_core::sync::Ordering::{Acquire, Relaxed, Release};
use turnlock_core::trace::{self, Step};

impl LockFile {
    /// Removes the lock called `name`: its place in the file is free for another lock. Refused while it is used, that
    /// is held, waited for, or a ring with members; the bias of a participant outside does not count.
    ///
    /// Handles that are open to it fail from then on with [`Error::NotFound`], here and in every process; a lock of the
    /// same name that is created later is a new lock. Its fencing tokens go on above those of all locks that were
    /// removed.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let job = file.mutex("job 17")?;
    /// let guard = job.lock()?;
    /// assert!(matches!(file.remove_lock("job 17"), Err(turnlock::Error::InUse { .. })));
    /// drop(guard);
    /// file.remove_lock("job 17")?;
    /// assert!(matches!(job.lock(), Err(turnlock::Error::NotFound { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InUse`]: it is used, or a holder died and no other was told yet. [`Error::NotRecoverable`]: it is closed; reset
    /// it first. [`Error::NotFound`], [`Error::BadName`], [`Error::ParticipantsFull`] (removing a lock takes a slot),
    /// [`Error::Damaged`], [`Error::Replaced`].
    pub fn remove_lock(&self, name: &str) -> Result<()> {
        let file = &self.file.open;
        memory::check()?;
        directory::check_name(name)?;
        if !file.is_intact() {
            return Err(file.not_intact());
        }
        with_thread_attachment(file, |attachment| {
            directory::with_directory_lock(attachment, || remove(attachment, name))
        })
    }
}

/// With the directory's lock.
pub(super) fn remove(attachment: &Attachment, name: &str) -> Result<()> {
    let file = &attachment.file;
    let Some((region, generation)) = region_of(file, name) else {
        return Err(directory::no_such_lock(file, name));
    };
    if recovery::mail_of(file.view(), region).is_some() {
        let site = FileSite::new(attachment, region, generation, Exclusively, None);
        return remove_by_messages(&site, name, generation);
    }
    // It conflicts with every claim, whichever kind of lock it is.
    let claims = Claimed::in_region(file.view(), region);
    if claims.relation == Relation::Always {
        remove_as(&FileSite::new(attachment, region, generation, Exclusively, None), (), name, generation)
    } else {
        let site = FileSite::new(attachment, region, generation, claims, None);
        remove_as(&site, Claim::EVERYTHING, name, generation)
    }
}

fn remove_as<F: FileClaims>(site: &FileSite<F>, claim: F::Claim, name: &str, generation: u64) -> Result<()> {
    let file = &site.attachment().file;
    let in_use = |why: String| Error::InUse { path: file.reopen().path(), why };
    let local = site.local();
    // From here on a signal handler of this thread finds it under way.
    let Some(idle) = local.begin() else {
        return Err(in_use(format!("this thread has its lock {name:?}: unlock it first")));
    };
    let config = LockConfig {
        patience: 0,
        may_be_biased: false,
        release_on_death: false,
        is_linked: false,
        discipline: Discipline::Queue,
    };
    let attempt = Attempt { site: *site, config, claim };
    if idle == Idle::Reserved {
        reservation::give_up(&attempt);
    }
    attempt.write_claim();
    let removed = match queue::queue_and_enter(&attempt, Limit::Never, 0, true) {
        Ok(_) => {
            let unused = check_unused(site, claim, name);
            // Its bias owner has lost the bias.
            site.lock().bias().unbias();
            let removed = unused.map(|()| make_generation_even(site, generation));
            leave_the_queue(site.lock(), site.me());
            removed
        }
        Err(Error::WouldBlock(_)) => Err(in_use(format!(
            "its lock {name:?} is in use (`turnlock status` shows by whom): remove it when no participant holds it or waits for it"
        ))),
        Err(error) => Err(error),
    };
    site.local().record(None);
    removed
}

/// Removes a lock by messages, from inside. One that enters after it checks the generation then.
fn remove_by_messages(site: &FileSite<'_>, name: &str, generation: u64) -> Result<()> {
    let (file, region) = (&site.attachment().file, site.lock().region);
    let in_use = |why: String| Err(Error::InUse { path: file.reopen().path(), why });
    let config = LockConfig {
        patience: 0,
        may_be_biased: false,
        release_on_death: false,
        is_linked: false,
        discipline: Discipline::Messages,
    };
    let attempt = Attempt { site: *site, config, claim: () };
    let acquisition = match attempt.lock(Limit::Never) {
        Err(Error::Deadlock) => return in_use(format!("this thread has its lock {name:?}: unlock it first")),
        Err(Error::WouldBlock(_)) => {
            return in_use(format!(
                "its lock {name:?} is in use, or a participant of it does not answer (`turnlock status` shows which): \
                 remove it when no participant holds it or waits for it"
            ));
        }
        locked => locked?,
    };
    let removed = if acquisition.owner_dead {
        in_use(format!(
            "a holder of its lock {name:?} died, and no holder has been told yet: lock it and look at the data, or reset it"
        ))
    } else if site.lock().is_another_waiting(site.me()) {
        in_use(format!("its lock {name:?} is waited for (`turnlock status` shows by whom)"))
    } else {
        make_generation_even(site, generation);
        Ok(())
    };
    attempt.note(Event::Released, acquisition.token);
    // The notice of a death, if there was one, stays for the next holder.
    site.lock().ownership().exit_unchanged(site.lock().held(site.me()));
    site.lock().set_since(site.me(), 0);
    site.release_by_messages();
    site.local().record(None);
    if removed.is_ok() {
        let members = recovery::mail_of(file.view(), region).map_or(0, |mail| mail.peer_records.len());
        (0..members).for_each(|member| call_participant(file.view(), region, member));
        // Their threads leave it; until they have, no other lock comes in its place.
        for _ in 0..MEMBERS_LEAVE {
            if !recovery::has_members(file.view(), region) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    removed
}

/// Milliseconds that a removal waits for the participants of the lock to leave it.
const MEMBERS_LEAVE: u32 = 100;

/// Point 3 above, and that no owner-dead notice would be lost.
fn check_unused<F: FileClaims>(site: &FileSite<F>, claim: F::Claim, name: &str) -> Result<()> {
    let (attachment, lock, me) = (site.attachment(), site.lock(), site.me());
    let in_use = |why: String| Err(Error::InUse { path: attachment.file.reopen().path(), why });
    let (queue, machines) = (lock.queue(), lock.machines());
    let is_there = |slot: usize| {
        // Acquire, here and in there. Partners: the release stores of these words by their slots.
        let queued = slot != me && queue.place(slot) != Place::Idle;
        let member = machines.membership(slot) != Membership::None;
        let waits = is_in_wait(lock.view, lock.region, slot);
        queued || member || waits || token_in(lock.held(slot).load(Acquire)).is_some()
    };
    for slot in (0..attachment.file.view().slots_bound()).filter(|slot| is_there(*slot)) {
        if slot == me {
            return in_use(format!("this thread stands in the ring of its lock {name:?}: leave it first"));
        }
        if !site.waiter(Limit::Never, 0, false).check_alive(slot)? && is_there(slot) {
            let (label, pid) = {
                let record = &attachment.file.view().slots()[slot];
                (record.label.get(), record.pid.load(Relaxed))
            };
            return in_use(format!(
                "its lock {name:?} is in use by {label} (pid {pid}, slot {slot}): remove it when no participant holds it, waits \
                 for it or is on its ring"
            ));
        }
    }
    let (link, words) = (link(&lock.lock), lock.lock.words);
    let has_no_share = link.is_shared_out() && words.permits.load(Relaxed) == 0;
    let is_away = link.is_away() || has_no_share;
    if is_linked(lock.view, lock.region) && (is_away || link.agent().is_some()) {
        return in_use(format!(
            "its lock {name:?} is linked, and {}: the host that has it would not know of a new one of that name",
            if is_away { "away" } else { "has an agent" }
        ));
    }
    match lock.ownership().health() {
        Health::Consistent
            if lock.is_told_of_death(me, claim) && lock.claims.relation() == Relation::Groups =>
        {
            in_use(format!(
                "a member of its lock {name:?} died inside, and that has not been marked consistent: lock it and look at the \
                 data, or reset it"
            ))
        }
        Health::Consistent if lock.is_told_of_death(me, claim) => in_use(format!(
            "a holder of a part of its lock {name:?} died, and it has not been marked consistent: lock that part and look at \
             the data, or reset the lock"
        )),
        Health::Consistent => Ok(()),
        Health::NotRecoverable => Err(Error::NotRecoverable),
        Health::Inconsistent => in_use(format!(
            "a holder of its lock {name:?} died, and no holder has been told yet: lock it and look at the data, or reset it"
        )),
    }
}

/// The one store.
fn make_generation_even<F: FileClaims>(site: &FileSite<F>, generation: u64) {
    let (view, lock) = (site.lock().view, site.lock());
    let (header, words) = (view.header(), lock.lock.words);
    // Before it: the next lock of this name begins above.
    let last = header.removed_token.load(Relaxed).max(words.token.load(Relaxed));
    header.removed_token.store(last, Relaxed);
    trace::at(Step::Remove);
    // Release. Partner: the acquire load in `OpenFile::generation_of`, and in `named::read`.
    view.directory()[lock.region - 1].generation.store(generation + 1, Release);
    trace::at(Step::Removed);
    site.note(Happening { event: Event::Removed, slot: site.me(), shared: false, value: 0 });
}

fn leave_the_queue<F: FileClaims>(lock: &FileLock<F>, me: usize) {
    Eviction::step_back(lock.held(me));
    lock.queue().leave(me);
    lock.unpark_waiters_of(me);
    // Waiters that let others pass find out for themselves: none of them would call the next one.
    lock.standby().unpark_all::<Linux>();
}
