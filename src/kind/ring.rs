//! The turn ring: each in turn.

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

/// A lock whose turn goes round: whoever had it gets it again only after everybody else who wants it.
///
/// Two ways to take part, chosen for each handle ([`RingOptions::standing`]). *On demand*: in the ring only while a
/// call waits or holds; the ring passes it over otherwise. *Standing*: in the ring from its first turn until
/// [`TurnRing::leave`], the end of its thread or its death; the ring waits for it, so the order among standing
/// participants is exact: by slot, or as the sum ring's step says. A dead one is passed over, and so is one on demand that
/// is stopped when its turn comes (within some milliseconds; it asks again when it goes on); a standing one that is alive
/// and slow, or stopped, is waited for.
///
/// It is the participant that stands, and not the handle: a turn that it takes through a handle on demand is its last
/// one standing.
///
/// Everything else is as with a [`super::Mutex`]: the turn belongs to the thread (or [`Participant`]) that took it, the next
/// holder is told of a holder's death, fencing tokens rise, waits can be limited and cancelled.
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

/// It is this thread's turn until the guard is dropped. Dropped by a panic, the turn passes on as from a dead owner.
pub type TurnGuard<'a> = Guard<'a, RingKind>;
/// It is a [`Participant`]'s turn until the guard is dropped, on whichever thread.
pub type TurnParticipantGuard<'a> = GuardAs<'a, RingKind>;

/// Which ring turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingAlgorithm {
    /// Dijkstra's K-state ring (1974), which stabilises itself: from whatever an overwritten file says, it comes back
    /// to one turn at a time.
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

/// How to open, or create, a turn ring.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// use turnlock::RingAlgorithm;
/// let ring = file.ring_options().algorithm(RingAlgorithm::KState).standing(true).open("relay")?;
/// drop(ring.lock()?); // in the ring from here on
/// ring.leave()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RingOptions<'a> {
    file: &'a FileHandle,
    algorithm: Option<RingAlgorithm>,
    standing: bool,
    settings: SettingOptions,
    must_exist: bool,
}

impl<'a> RingOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        // Nobody lets others pass on a ring.
        let settings = SettingOptions::new(Duration::ZERO);
        Self { file, algorithm: None, standing: false, settings, must_exist: false }
    }

    /// Which ring it must be. If not said: whichever it is, and [`RingAlgorithm::Raynal`] if the lock is created now.
    pub fn algorithm(&mut self, algorithm: RingAlgorithm) -> &mut Self {
        self.algorithm = Some(algorithm);
        self
    }

    /// Participants take part standing: the ring waits for them. On demand if not said.
    pub fn standing(&mut self, standing: bool) -> &mut Self {
        self.standing = standing;
        self
    }

    /// As [`super::MutexOptions::death_policy`].
    pub fn death_policy(&mut self, death_policy: DeathPolicy) -> &mut Self {
        self.settings.death_policy = Some(death_policy);
        self
    }

    /// As [`super::MutexOptions::default_death_policy`].
    pub fn default_death_policy(&mut self, death_policy: DeathPolicy) -> &mut Self {
        self.settings.default_death_policy = death_policy;
        self
    }

    /// Do not create the lock.
    pub fn must_exist(&mut self, must_exist: bool) -> &mut Self {
        self.must_exist = must_exist;
        self
    }

    /// Opens the ring called `name`. Names have 1 to 63 bytes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the sum ring's step leaves somebody out; [`Error::Kind`] if the name belongs to
    /// another kind of lock, another ring or another step, or has another death policy; others as [`super::MutexOptions::open`].
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
            whichever,
            may_create,
        };
        let found = directory::find_or_name(&self.file.open, name, &plan)?;
        let rule = found.rule.ok_or_else(|| Error::Internal("a ring without a rule".into()))?;
        let membership = if self.standing { Membership::EveryTurn } else { Membership::OneTurn };
        Ok(TurnRing(Handle::new(self.file.clone(), found, Discipline::Ring { rule, membership })))
    }
}

impl TurnRing {
    /// Returns what a holder's death means here.
    pub fn death_policy(&self) -> DeathPolicy {
        self.0.death_policy()
    }

    /// Waits for the turn as long as it takes. Errors as [`super::Mutex::lock`].
    pub fn lock(&self) -> Result<TurnGuard<'_>> {
        Ok(TurnGuard::new(&self.0, self.0.lock(Limit::Forever)?))
    }

    /// Takes the turn if that needs no waiting, else [`Error::WouldBlock`]. Other errors as [`super::Mutex::lock`].
    pub fn try_lock(&self) -> Result<TurnGuard<'_>> {
        Ok(TurnGuard::new(&self.0, self.0.lock(Limit::Never)?))
    }

    /// Waits for the turn at most `limit`; then [`Error::TimedOut`]. A standing participant stays in the ring, and the
    /// ring waits for it when its turn comes. Other errors as [`super::Mutex::lock`].
    pub fn lock_for(&self, limit: Duration) -> Result<TurnGuard<'_>> {
        Ok(TurnGuard::new(&self.0, self.0.lock(Limit::For(limit))?))
    }

    /// [`TurnRing::lock`], as `participant`.
    pub fn lock_as<'a>(&'a self, participant: &'a Participant) -> Result<TurnParticipantGuard<'a>> {
        Ok(TurnParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::Forever)?))
    }

    /// [`TurnRing::try_lock`], as `participant`.
    pub fn try_lock_as<'a>(&'a self, participant: &'a Participant) -> Result<TurnParticipantGuard<'a>> {
        Ok(TurnParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::Never)?))
    }

    /// [`TurnRing::lock_for`], as `participant`.
    pub fn lock_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Duration,
    ) -> Result<TurnParticipantGuard<'a>> {
        Ok(TurnParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::For(limit))?))
    }

    /// A standing participant of this thread leaves the ring: it is passed over from now on, until its next turn is
    /// asked for. [`Error::StillHeld`] while it has the turn.
    pub fn leave(&self) -> Result<()> {
        self.0.depart()
    }

    /// [`TurnRing::leave`], as `participant`.
    pub fn leave_as(&self, participant: &Participant) -> Result<()> {
        self.0.depart_as(participant)
    }

    /// Opens a ring that is not recoverable again, in its turn. As [`super::Mutex::reset`].
    pub fn reset(&self) -> Result<()> {
        self.0.reset(Limit::Forever)
    }

    /// [`TurnRing::reset`] if that needs no waiting, else [`Error::WouldBlock`].
    pub fn try_reset(&self) -> Result<()> {
        self.0.reset(Limit::Never)
    }

    /// [`TurnRing::reset`], waiting at most `limit` for the turn.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        self.0.reset(Limit::For(limit))
    }

    /// Who died having the turn, last; `None` if nobody ever did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        self.0.previous_owner()
    }

    /// The handle, for observers.
    pub(crate) fn handle(&self) -> &Handle<RingKind> {
        &self.0
    }

    /// The handle, for the C ABI.
    pub(crate) fn into_handle(self) -> Handle<RingKind> {
        self.0
    }
}
