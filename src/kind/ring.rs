//! The turn ring: participants take turns.

use super::{
    acquired::PreviousOwner,
    directory::{self, Plan},
    guard::{Guard, GuardAs},
    handle::{BiasUse, Handle, LockKind},
    participant::Participant,
    settings::SettingOptions,
};
use crate::attach::file_handle::FileHandle;
use crate::layout::{Algorithm, DeathPolicy, Kind};
use crate::registers::Exclusively;
use std::time::Duration;
use turnlock_core::acquire::{attempt::Discipline, site::Limit};
use turnlock_core::algorithm::ring::{Membership, Rule};
use turnlock_core::error::{Error, Result};

/// The kind of a [`TurnRing`].
#[derive(Debug)]
pub enum RingKind {}

impl LockKind for RingKind {
    type Claims = Exclusively;
    const BIAS: BiasUse = BiasUse::None;
    const KIND: Kind = Kind::TurnRing;
    const NAME: &'static str = "ring";

    fn claims(_: u64) -> Exclusively {
        Exclusively
    }

    fn everything() {}
}

/// A lock whose turn goes round: a participant gets it again only after all others that want it.
///
/// A handle takes part in one of two ways ([`RingOptions::member`]). *On demand*: in the ring only while a call waits or
/// holds. *As a member*: in the ring from its first turn until [`TurnRing::leave`], the end of its thread or its death;
/// the ring waits for it, so the order among members is exact: by slot, or as the sum ring's step says. A dead participant
/// is skipped, and so is one on demand that is stopped when its turn comes (within some milliseconds; it asks again when it
/// goes on); a member that is slow or stopped is waited for.
///
/// The participant is the member, not the handle: a turn that it takes through a handle on demand is its last one as a
/// member.
///
/// All else is as with a [`super::Mutex`]: the turn belongs to the thread (or [`Participant`]) that took it, the next holder is
/// told of a holder's death, fencing tokens rise, waits can be limited and cancelled.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let ring = file.turn_ring("stages")?;
/// let turn = ring.lock()?;
/// println!("my turn, with token {}", turn.fencing_token());
/// # drop(turn);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TurnRing(pub(super) Handle<RingKind>);

/// A guard of the calling thread: the turn is passed on when it is dropped, and abandoned when a panic drops it.
pub type TurnGuard<'a> = Guard<'a, RingKind>;
/// A guard of a [`Participant`]: the turn is passed on when it is dropped, on any thread.
pub type TurnParticipantGuard<'a> = GuardAs<'a, RingKind>;

/// The algorithm of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingAlgorithm {
    /// Dijkstra's K-state ring (1974), which stabilises itself: from any states of an overwritten file it comes back to one
    /// turn at a time.
    KState,
    /// Raynal's ring modulo n² (1984): the rule is the same for all participants.
    #[default]
    Raynal,
    /// Raynal's sum ring (1984, section IV): the turn goes from slot i to slot i + `step` (modulo the file's
    /// participants).
    Sum {
        /// Coprime to the number of participants; participants - 1 is the reverse order.
        step: u32,
    },
}

/// Options for opening or creating a turn ring.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// use turnlock::RingAlgorithm;
/// let ring = file.ring_options().algorithm(RingAlgorithm::KState).member(true).open("relay")?;
/// drop(ring.lock()?); // in the ring from here on
/// ring.leave()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RingOptions<'a> {
    file: &'a FileHandle,
    algorithm: Option<RingAlgorithm>,
    member: bool,
    settings: SettingOptions,
    must_exist: bool,
}

impl<'a> RingOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        // Waiters of a ring let no others pass.
        let settings = SettingOptions::new(Duration::ZERO);
        Self { file, algorithm: None, member: false, settings, must_exist: false }
    }

    /// Sets the algorithm that the ring must have. By default whichever it has, and [`RingAlgorithm::Raynal`] if it is created
    /// now.
    pub fn algorithm(&mut self, algorithm: RingAlgorithm) -> &mut Self {
        self.algorithm = Some(algorithm);
        self
    }

    /// Sets whether participants are members of the ring, for which the ring waits; on demand by default.
    pub fn member(&mut self, member: bool) -> &mut Self {
        self.member = member;
        self
    }

    /// Sets what a holder's death means, as [`super::MutexOptions::death_policy`].
    pub fn death_policy(&mut self, death_policy: DeathPolicy) -> &mut Self {
        self.settings.death_policy = Some(death_policy);
        self
    }

    /// Sets the death policy of a ring that is created now, as [`super::MutexOptions::default_death_policy`].
    pub fn default_death_policy(&mut self, death_policy: DeathPolicy) -> &mut Self {
        self.settings.default_death_policy = death_policy;
        self
    }

    /// Sets whether opening fails where there is no ring of the name, instead of creating it.
    pub fn must_exist(&mut self, must_exist: bool) -> &mut Self {
        self.must_exist = must_exist;
        self
    }

    /// Opens the ring called `name`. Names have 1 to 63 bytes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the sum ring's step leaves a participant out; [`Error::Kind`] if the name belongs to
    /// another kind of lock, another ring or another step, or has another death policy; others as
    /// [`super::MutexOptions::open`].
    pub fn open(&self, name: &str) -> Result<TurnRing> {
        let participants = self.file.open.geometry().participants();
        let (algorithm, ring_step) = match self.algorithm.unwrap_or_default() {
            RingAlgorithm::KState => (Algorithm::KState, 0),
            RingAlgorithm::Raynal => (Algorithm::Raynal, 0),
            RingAlgorithm::Sum { step } => (Algorithm::Sum, step),
        };
        if algorithm == Algorithm::Sum && !Rule::step_is_sound(ring_step as usize, participants as usize) {
            return Err(Error::InvalidArgument(format!(
                "a sum ring of {participants} participants cannot have step {ring_step}: it would leave some of them out; take \
                 one that has no divisor in common with {participants}, such as 1 or {}",
                participants.max(2) - 1
            )));
        }
        let (whichever, may_create) = (self.algorithm.is_none(), !self.must_exist);
        let plan = Plan {
            kind: Kind::TurnRing,
            permits: 0,
            algorithm,
            ring_step,
            settings: self.settings.settings(),
            recursive: false,
            linked: false,
            whichever,
            may_create,
        };
        let found = directory::find_or_name(&self.file.open, name, &plan)?;
        let rule = found.rule.ok_or_else(|| Error::Internal("a ring without a rule".into()))?;
        let membership = if self.member { Membership::EveryTurn } else { Membership::OneTurn };
        Ok(TurnRing(Handle::new(self.file.clone(), found, Discipline::Ring { rule, membership })))
    }
}

impl TurnRing {
    /// Returns what a holder's death means for this lock.
    pub fn death_policy(&self) -> DeathPolicy {
        self.0.death_policy()
    }

    /// Takes the turn, waiting without a limit. Errors as [`super::Mutex::lock`].
    pub fn lock(&self) -> Result<TurnGuard<'_>> {
        Ok(TurnGuard::new(&self.0, self.0.lock(Limit::Forever)?))
    }

    /// Takes the turn if that needs no wait, else [`Error::WouldBlock`]. Other errors as [`super::Mutex::lock`].
    pub fn try_lock(&self) -> Result<TurnGuard<'_>> {
        Ok(TurnGuard::new(&self.0, self.0.lock(Limit::Never)?))
    }

    /// Takes the turn, waiting for at most `limit`; then [`Error::TimedOut`]. A member stays in the ring, and the
    /// ring waits for it when its turn comes. Other errors as [`super::Mutex::lock`].
    pub fn lock_for(&self, limit: Duration) -> Result<TurnGuard<'_>> {
        Ok(TurnGuard::new(&self.0, self.0.lock(Limit::For(limit))?))
    }

    /// Does what [`TurnRing::lock`] does, as `participant`.
    pub fn lock_as<'a>(&'a self, participant: &'a Participant) -> Result<TurnParticipantGuard<'a>> {
        Ok(TurnParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::Forever)?))
    }

    /// Does what [`TurnRing::try_lock`] does, as `participant`.
    pub fn try_lock_as<'a>(&'a self, participant: &'a Participant) -> Result<TurnParticipantGuard<'a>> {
        Ok(TurnParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::Never)?))
    }

    /// Does what [`TurnRing::lock_for`] does, as `participant`.
    pub fn lock_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Duration,
    ) -> Result<TurnParticipantGuard<'a>> {
        Ok(TurnParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::For(limit))?))
    }

    /// Ends the membership of the calling thread: the ring does not wait for it until it asks for its next turn.
    /// [`Error::StillHeld`] while it has the turn.
    pub fn leave(&self) -> Result<()> {
        self.0.depart()
    }

    /// Does what [`TurnRing::leave`] does, as `participant`.
    pub fn leave_as(&self, participant: &Participant) -> Result<()> {
        self.0.depart_as(participant)
    }

    /// Opens a ring again that is not recoverable, in its turn. As [`super::Mutex::reset`].
    pub fn reset(&self) -> Result<()> {
        self.0.reset(Limit::Forever)
    }

    /// Does what [`TurnRing::reset`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_reset(&self) -> Result<()> {
        self.0.reset(Limit::Never)
    }

    /// Does what [`TurnRing::reset`] does, waiting for at most `limit` for the turn.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        self.0.reset(Limit::For(limit))
    }

    /// Returns the last participant that died having the turn; `None` if none did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        self.0.previous_owner()
    }

    /// Returns the handle, for observers.
    pub(crate) fn handle(&self) -> &Handle<RingKind> {
        &self.0
    }

    /// Returns the handle, for the C ABI.
    pub(crate) fn into_handle(self) -> Handle<RingKind> {
        self.0
    }
}
