//! The barrier: participants wait for one another.

use super::{
    claimed::{ClaimedOptions, claimed_options},
    handle::{BiasUse, Handle, LockKind},
    participant::Participant,
    recorder::MayRecord,
    sleeping::{SleepsOn, error_of},
};
use crate::attach::{attachment::Attachment, file_handle::FileHandle, thread::with_thread_attachment};
use crate::layout::{Kind, MAX_PARTICIPANTS, SlotState};
use crate::os::{linux::Linux, processors};
use crate::registers::{self, Exclusively, coordination_words};
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::coordination::{self, Arrival, Awake, Breach, Cause, Standing};
use turnlock_core::error::{Awaited, Error, Result};
use turnlock_core::event::Event;
use turnlock_core::sync::Ordering::{Acquire, Relaxed};

/// The kind of a [`Barrier`].
#[derive(Debug)]
pub enum BarrierKind {}

impl LockKind for BarrierKind {
    type Claims = Exclusively;
    const BIAS: BiasUse = BiasUse::None;
    const KIND: Kind = Kind::Barrier;
    const NAME: &'static str = "barrier";

    fn claims(_: u64) -> Exclusively {
        Exclusively
    }

    fn everything() {}
}

/// A barrier in a lock file: so many parties wait until all of them have come; then all go on, and it can be used again.
///
/// The death of a party breaks the barrier for all: of one that waits, and of one that has waited here before and was not detached.
/// So does a party whose time is over, or whose wait is cancelled. Each of those that wait gets [`Error::BrokenBarrier`], which
/// names the party, and each that comes later, until a [`Barrier::reset`]. A death that no participant has noticed yet when the last
/// party comes (those that wait notice it within 50 ms) lets this generation pass, and breaks the next.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let stage = file.barrier("stage", 2)?;
/// std::thread::scope(|threads| {
///     let other = threads.spawn(|| stage.wait());
///     let last = stage.wait()? as u32 + other.join().unwrap()? as u32;
///     assert_eq!(last, 1); // one of them was the last
///     Ok::<(), turnlock::Error>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Barrier(pub(super) Handle<BarrierKind>, pub(super) u32);

/// Options for opening or creating a barrier.
#[derive(Clone, Debug)]
pub struct BarrierOptions<'a>(pub(super) ClaimedOptions<'a>);

claimed_options!(BarrierOptions);

impl<'a> BarrierOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self(ClaimedOptions::new(file, Kind::Barrier))
    }

    /// Sets how many parties it has: for one that is created now, and required of one that exists. By default whatever it has.
    pub fn parties(&mut self, parties: u32) -> &mut Self {
        self.0.permits = parties;
        self
    }

    /// Opens the barrier called `name`. Names have 1 to 63 bytes.
    ///
    /// # Errors
    /// [`Error::Kind`] if it has another number of parties; [`Error::InvalidArgument`] for more parties than a file can have
    /// participants; [`Error::NotFound`] if there is no such barrier and no number of parties was given; others as [`super::MutexOptions::open`].
    pub fn open(&self, name: &str) -> Result<Barrier> {
        let parties = self.0.permits;
        if parties > MAX_PARTICIPANTS {
            return Err(Error::InvalidArgument(format!(
                "{parties} parties were asked for, and no file has room for more than {MAX_PARTICIPANTS} participants"
            )));
        }
        let must_exist = self.0.must_exist || parties == 0;
        let (handle, has) = ClaimedOptions { must_exist, ..self.0.clone() }.open_with_permits(name)?;
        if parties != 0 && parties != has {
            return Err(Error::Kind {
                path: handle.file.open.reopen().path(),
                why: format!(
                    "its barrier {name:?} has {has} parties, and one with {parties} was asked for: use another name, or remove it first"
                ),
            });
        }
        if has == 0 || has > MAX_PARTICIPANTS {
            let why = format!(
                "its barrier {name:?} has {has} parties, which is impossible: the file was overwritten"
            );
            return Err(handle.file.open.damaged(why));
        }
        Ok(Barrier(handle, has))
    }
}

impl Barrier {
    /// Returns how many parties it has.
    pub fn parties(&self) -> u32 {
        self.1
    }

    /// Returns how many wait at this moment.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was removed; [`Error::Damaged`].
    pub fn waiting(&self) -> Result<u32> {
        self.0.check_there()?;
        Ok(self.0.barrier(self.1).arrived())
    }

    /// Checks that it is not broken.
    ///
    /// # Errors
    /// [`Error::BrokenBarrier`]; [`Error::NotFound`], [`Error::Damaged`].
    pub fn check(&self) -> Result<()> {
        self.0.check_whole(self.1)
    }

    /// Waits without a limit until all parties have come. Returns whether this one was the last: that is so for one of them.
    ///
    /// # Errors
    /// [`Error::BrokenBarrier`]; [`Error::Cancelled`] and [`Error::Interrupted`], which break it for the others;
    /// [`Error::NotFound`] if it was removed, also meanwhile; [`Error::ParticipantsFull`] at a thread's first wait;
    /// [`Error::ParticipantBusy`] in a signal handler that has interrupted a wait of its thread here; [`Error::Damaged`].
    pub fn wait(&self) -> Result<bool> {
        self.0.wait_for_all(self.1, None, Limit::Forever)
    }

    /// Does what [`Barrier::wait`] does, for at most `limit`; then [`Error::TimedOut`], and the barrier is broken for the others.
    pub fn wait_for(&self, limit: Duration) -> Result<bool> {
        self.0.wait_for_all(self.1, None, Limit::For(limit))
    }

    /// Does what [`Barrier::wait`] does, as `participant`.
    pub fn wait_as(&self, participant: &Participant) -> Result<bool> {
        self.0.wait_for_all(self.1, Some(participant), Limit::Forever)
    }

    /// Does what [`Barrier::wait_for`] does, as `participant`.
    pub fn wait_for_as(&self, participant: &Participant, limit: Duration) -> Result<bool> {
        self.0.wait_for_all(self.1, Some(participant), Limit::For(limit))
    }

    /// Breaks it: those that wait, and those that come until a reset, get [`Error::BrokenBarrier`].
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::ParticipantsFull`], [`Error::Damaged`].
    pub fn abort(&self) -> Result<()> {
        self.0.abort_barrier(self.1)
    }

    /// Opens it anew, whether it is broken or not. Those that wait get [`Error::BrokenBarrier`]; the deaths so far are forgotten.
    /// Errors as [`Barrier::abort`].
    pub fn reset(&self) -> Result<()> {
        self.0.reset_barrier(self.1)
    }

    /// The handle under it.
    pub(crate) fn handle(&self) -> &Handle<BarrierKind> {
        &self.0
    }

    /// The handle under it, and the number of its parties.
    #[cfg(feature = "capi")]
    pub(crate) fn into_handle(self) -> Handle<BarrierKind> {
        self.0
    }
}

impl Handle<BarrierKind> {
    fn barrier(&self, parties: u32) -> coordination::Barrier<'_> {
        registers::barrier(self.file.open.view(), self.lock.region, self.name.generation, parties)
    }

    /// Its words, for a participant whose steps are recorded.
    fn barrier_of<'a>(&'a self, parties: u32, records: &'a MayRecord) -> coordination::Barrier<'a> {
        coordination::Barrier { recorder: records.recorder(), ..self.barrier(parties) }
    }

    /// Returns how many parties it has, from the file.
    pub(crate) fn parties(&self) -> Result<u32> {
        let entry = &self.file.open.view().directory()[self.lock.region - 1];
        self.read_named(|| entry.permits.load(Relaxed))
    }

    pub(crate) fn check_whole(&self, parties: u32) -> Result<()> {
        self.check_there()?;
        self.barrier(parties).breach().map_or(Ok(()), |breach| Err(self.broken(breach)))
    }

    pub(crate) fn arrived(&self, parties: u32) -> u32 {
        self.barrier(parties).arrived()
    }

    /// Returns the error that says why it broke, and at whom.
    fn broken(&self, Breach { cause, slot }: Breach) -> Error {
        let view = self.file.open.view();
        let Some(cell) = view.lock(self.lock.region).cells().get(slot) else {
            return Error::BrokenBarrier("at a slot that the file does not have".into());
        };
        let pid = (cell.claim.last.load(Relaxed) >> 32) as u32;
        let record = &view.slots()[slot];
        let is_its = slot < view.slots_bound()
            && record.state.load(Acquire) == SlotState::InUse as u32
            && record.pid.load(Relaxed) == pid;
        let label = if is_its { format!(" ({})", record.label.get()) } else { String::new() };
        Error::BrokenBarrier(match cause {
            Cause::Died => format!("process {pid}{label}, one of its parties, has died (slot {slot})"),
            Cause::GaveUp => format!("process {pid}{label} gave up waiting (slot {slot})"),
            Cause::Aborted => format!("process {pid}{label} broke it (slot {slot})"),
            _ => "it was reset while participants waited".into(),
        })
    }

    /// Writes down who the participant is, before it can be named as the one at which the barrier broke.
    fn say_who(&self, attachment: &Attachment, parties: u32) {
        let view = self.file.open.view();
        let record = &view.slots()[attachment.slot];
        let who = u64::from(record.pid.load(Relaxed)) << 32 | u64::from(record.tid.load(Relaxed));
        let said = &view.lock(self.lock.region).cells()[attachment.slot].claim.last;
        // Of one that died, it says who that was, which had the slot before.
        if said.load(Relaxed) != who && !self.barrier(parties).is_dead(attachment.slot) {
            said.store(who, Relaxed);
        }
    }

    pub(crate) fn wait_for_all(
        &self,
        parties: u32,
        participant: Option<&Participant>,
        limit: Limit,
    ) -> Result<bool> {
        self.with_waiting(participant, |attachment| {
            let _wait = self.begin_wait(attachment)?;
            let me = attachment.slot;
            self.say_who(attachment, parties);
            let records = self.recorder_of(me);
            match self.barrier_of(parties, &records).arrive::<Linux>(me) {
                Arrival::Last => Ok(true),
                Arrival::Broken(breach) => Err(self.broken(breach)),
                Arrival::Removed => Err(self.gone()),
                Arrival::Waits(generation) => {
                    let waited = self.wait_at(attachment, (parties, &records), generation, limit);
                    records.note_end(&waited);
                    waited.map(|()| false)
                }
            }
        })
    }

    fn wait_at(
        &self,
        attachment: &Attachment,
        (parties, records): (u32, &MayRecord),
        generation: u64,
        limit: Limit,
    ) -> Result<()> {
        let (me, barrier) = (attachment.slot, self.barrier_of(parties, records));
        let wake = &coordination_words(self.file.open.view(), self.lock.region).wake;
        let look_after =
            || barrier.look_after::<Linux>(me, generation, |slot| self.reap_if_dead(attachment, slot));
        // With more parties than processors, spinning would keep the others from coming.
        let awake = if parties as usize <= processors::online() { Awake::Spinning } else { Awake::Yielding };
        let on = SleepsOn { wake, alone: false, awake };
        let slept = self.sleep(attachment, &on, limit, || !barrier.is_waiting(generation), look_after);
        let error = match slept {
            Ok(slept) => error_of(slept, limit, Awaited::Parties),
            Err(error) => Some(error),
        };
        if !attachment.is_ours() {
            return Err(Error::Interrupted);
        }
        if let Some(error) = error
            && barrier.break_generation::<Linux>(generation, Cause::GaveUp, me)
        {
            barrier.standing::<Linux>(me, generation);
            return Err(error);
        }
        match barrier.standing::<Linux>(me, generation) {
            Standing::Passed => Ok(()),
            Standing::Broken(breach) => Err(self.broken(breach)),
            Standing::Removed => Err(self.gone()),
            Standing::Waits => Err(Error::Internal("a barrier's wait ended too soon".into())),
        }
    }

    pub(crate) fn abort_barrier(&self, parties: u32) -> Result<()> {
        with_thread_attachment(&self.file.open, |attachment| {
            self.check_there()?;
            self.say_who(attachment, parties);
            let records = self.recorder_of(attachment.slot);
            self.barrier_of(parties, &records).break_at::<Linux>(Cause::Aborted, attachment.slot);
            Ok(())
        })
    }

    pub(crate) fn reset_barrier(&self, parties: u32) -> Result<()> {
        with_thread_attachment(&self.file.open, |attachment| {
            self.check_there()?;
            // The dead that no participant has found yet would break it again.
            for slot in 0..self.file.open.view().slots_bound() {
                if slot != attachment.slot && self.barrier(parties).is_party(slot) {
                    self.reap_if_dead(attachment, slot)?;
                }
            }
            let records = self.recorder_of(attachment.slot);
            records.note(Event::Reset, 0);
            self.barrier_of(parties, &records).reset::<Linux>(attachment.slot).ok_or_else(|| self.gone())
        })
    }
}
