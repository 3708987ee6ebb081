//! The message service of one attachment: its endpoints at locks by messages, and its service thread.
//!
//! Messages must be answered whatever the program does. So an attachment that is a member of such a lock has a *service
//! thread*, which sleeps until the slot's bell rings and then runs the machines. While a call of the participant waits for a
//! lock, that call *attends* to the endpoint there: it is woken by itself, and runs the machine; the service thread keeps away.
//!
//! A child that is forked has neither the thread nor the attachment. The thread ends when the attachment is detached, before the
//! slot is given up; it blocks all signals, and takes no lock of the program's.

#[cfg(feature = "messages")]
use super::machines::open_endpoint;
use super::{endpoint::Endpoint, open_file::OpenFile};
use crate::layout::{Algorithm, MAX_MAIL_PARTICIPANTS};
use crate::os::{fork::process_mark, futex, signals::SignalsBlocked};
use crate::registers::{call_participant, ring_own_bell};
use crate::transport::end_life;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
    full_fence,
};

/// A participant in one lock by messages.
pub struct Membership {
    file: Arc<OpenFile>,
    slot: usize,
    region: usize,
    generation: u64,
    /// `None` once it is over.
    endpoint: Mutex<Option<Box<dyn Endpoint>>>,
}

impl Membership {
    /// Runs `act` with the endpoint, for one thread at a time. `None`: the membership is over, since the lock was removed.
    pub fn with_endpoint<R>(&self, act: impl FnOnce(&mut dyn Endpoint) -> R) -> Option<R> {
        let mut endpoint = self.endpoint.lock().unwrap_or_else(PoisonError::into_inner);
        endpoint.as_mut().map(|endpoint| act(endpoint.as_mut()))
    }

    /// Ends the membership.
    fn end(&self) {
        let mut endpoint = self.endpoint.lock().unwrap_or_else(PoisonError::into_inner);
        if endpoint.take().is_some() {
            let (view, region) = (self.file.view(), self.region);
            end_life(&view.mail(region), self.slot, |peer| call_participant(view, region, peer));
        }
    }

    /// Has the calling thread look into the mailboxes from now on, or the service thread again.
    pub fn attend(&self, attends: bool) {
        let peer_record = &self.file.view().mail(self.region).peer_records[self.slot];
        peer_record.attended.store(u32::from(attends), Relaxed);
        // Partner: the fence in `registers::call_participant`. If ours comes first, the peer sees which slot to wake;
        // if theirs does, our next look into the mailboxes sees what it stored.
        full_fence();
    }

    fn is_attended(&self) -> bool {
        self.file.view().mail(self.region).peer_records[self.slot].attended.load(Relaxed) != 0
    }

    fn still_exists(&self) -> bool {
        self.file.still_exists(self.region, self.generation)
    }
}

/// What the attachment and its service thread share.
struct Shared {
    file: Arc<OpenFile>,
    slot: usize,
    memberships: Mutex<Vec<Arc<Membership>>>,
    ends: AtomicBool,
}

/// The endpoints of one attachment, and its service thread, once it has one.
#[derive(Default)]
pub struct MessageService(Mutex<Option<(Arc<Shared>, JoinHandle<()>)>>);

impl MessageService {
    /// Returns the attachment's membership in the lock of `region`, whose name has this generation; taken now if there is none.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the lock was removed; [`Error::FileTooSmall`]: the slot is none of those that have
    /// mailboxes; [`Error::System`]: no thread is to be had; [`Error::Damaged`].
    pub fn membership(
        &self,
        file: &Arc<OpenFile>,
        slot: usize,
        (region, generation): (usize, u64),
    ) -> Result<Arc<Membership>> {
        let mut service = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = match &*service {
            Some((shared, _)) => shared.clone(),
            None => {
                let begun = begin(file, slot)?;
                let shared = begun.0.clone();
                *service = Some(begun);
                shared
            }
        };
        let mut memberships = shared.memberships();
        let known = memberships.iter().find(|known| known.region == region);
        if let Some(known) = known {
            if known.generation == generation {
                return Ok(known.clone());
            }
            // One of a lock that was removed.
            known.end();
            memberships.retain(|known| known.region != region);
        }
        let membership = Arc::new(join(file, slot, (region, generation))?);
        memberships.push(membership.clone());
        Ok(membership)
    }

    /// Returns the membership in the lock of `region`, if there is one.
    pub fn known(&self, region: usize) -> Option<Arc<Membership>> {
        let service = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let memberships = service.as_ref()?.0.memberships();
        memberships.iter().find(|known| known.region == region).cloned()
    }

    /// Ends the memberships in those locks that `ends` says, by their regions.
    pub fn end_where(&self, ends: impl Fn(usize) -> bool) {
        let service = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((shared, _)) = &*service {
            shared.memberships().retain(|membership| {
                let goes = ends(membership.region);
                if goes {
                    membership.end();
                }
                !goes
            });
        }
    }

    /// Ends the service thread. What the endpoints leave in the file is for [`crate::recovery`].
    pub fn stop(&self) {
        let service = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((shared, thread)) = service {
            // Release. Partner: the acquire in `serve`.
            shared.ends.store(true, Release);
            full_fence();
            // Not by what the file says of its being asleep: another process may have overwritten that, and we would wait for
            // the end of a nap.
            ring_own_bell(shared.file.view(), shared.slot);
            // A panic of the thread ends here.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn memberships(&self) -> MutexGuard<'_, Vec<Arc<Membership>>> {
        self.memberships.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn begin(file: &Arc<OpenFile>, slot: usize) -> Result<(Arc<Shared>, JoinHandle<()>)> {
    let (file, memberships) = (file.clone(), Mutex::default());
    let shared = Arc::new(Shared { file, slot, memberships, ends: AtomicBool::new(false) });
    let its = shared.clone();
    // It inherits the mask: signals are for the program's own threads.
    let _signals = SignalsBlocked::new();
    let thread = thread::Builder::new().name("turnlock mail".into()).stack_size(STACK);
    let thread = thread.spawn(move || serve(&its)).map_err(|source| Error::System {
        what: format!("{}: beginning a thread that answers messages", shared.file.reopen().path().display()),
        source,
    })?;
    Ok((shared, thread))
}

fn join(file: &Arc<OpenFile>, slot: usize, (region, generation): (usize, u64)) -> Result<Membership> {
    let has = file.geometry().mail_participants();
    if slot >= has as usize {
        // Those with the lowest slots have some.
        let (path, wanted, most) = (file.reopen().path(), slot as u32 + 1, MAX_MAIL_PARTICIPANTS);
        return Err(Error::FileTooSmall { path, what: "participants with mailboxes", has, wanted, most });
    }
    let named = || if file.still_exists(region, generation) { Ok(()) } else { Err(file.removed()) };
    named()?;
    let algorithm = Algorithm::of(file.view().directory()[region - 1].algorithm.load(Relaxed));
    let endpoint = algorithm
        .and_then(|algorithm| open_endpoint(file.clone(), region, slot, algorithm))
        .ok_or_else(|| file.damaged(OVERWRITTEN.into()))?;
    let membership =
        Membership { file: file.clone(), slot, region, generation, endpoint: Mutex::new(Some(endpoint)) };
    // Partner: the fence in `open_endpoint` comes before it. If ours comes first, the participant that gives the region to
    // another lock sees that we are there; if theirs does, we see that the lock was removed.
    named().inspect_err(|_| membership.end())?;
    Ok(membership)
}

/// Returns none: a program without machines opens no lock that needs one (`kind::directory`).
#[cfg(not(feature = "messages"))]
fn open_endpoint(_: Arc<OpenFile>, _: usize, _: usize, _: Algorithm) -> Option<Box<dyn Endpoint>> {
    None
}

/// The service thread.
fn serve(shared: &Shared) {
    let record = &shared.file.view().slots()[shared.slot];
    let process = process_mark();
    loop {
        // Acquire. Partner: the release in `registers::ring_bell`; read before the looks, so that a bell after them counts.
        let seen = record.bell.load(Acquire);
        record.asleep.store(1, Relaxed);
        // Partner: the fence in `registers::call_participant`. If ours comes first, the peer sees which slot to wake;
        // if theirs does, our next look into the mailboxes sees what it stored.
        full_fence();
        // Acquire. Partner: the release in `MessageService::stop`.
        if shared.ends.load(Acquire) || process_mark() != process || !shared.file.is_intact() {
            return;
        }
        let (mut came, mut is_held_up) = (false, false);
        let all: Vec<Arc<Membership>> = shared.memberships().clone();
        for membership in &all {
            if !membership.still_exists() {
                membership.end();
                shared.memberships().retain(|known| !Arc::ptr_eq(known, membership));
                continue;
            }
            if membership.is_attended() {
                continue;
            }
            let pumped = membership.with_endpoint(|endpoint| (endpoint.pump(), endpoint.is_held_up()));
            let (pumped, waits) = pumped.unwrap_or((false, false));
            came |= pumped;
            is_held_up |= waits;
        }
        if !came {
            futex::wait(&record.bell, seen, if is_held_up { HELD_UP } else { NAP });
        }
        record.asleep.store(0, Relaxed);
    }
}

/// The error text for mailboxes that something else wrote into.
pub const OVERWRITTEN: &str = "something else than turnlock wrote into the mailboxes of one of its locks: stop its users, delete it \
     and let it be created anew";
const STACK: usize = 128 << 10;
/// While a message waits for room: the receiver may make some before it can see that it has to call us.
const HELD_UP: Duration = Duration::from_millis(1);
/// Without messages there is nothing to do; this is for a bell that was overwritten.
const NAP: Duration = Duration::from_secs(10);
