//! Mutants: faults that a test switches on, each of which some rung of the verification ladder must catch.
//!
//! Without the feature `mutants` none is ever on and this costs nothing. With it, a test switches one on by `switch_on`, or
//! in a child process by the environment variable `TURNLOCK_MUTANT`. Those that change one fence or one memory order stand in the code,
//! behind [`full_fence_unless`] and [`release_unless`]; the others are patches in `tests/mutants/`, applied to a copy of the sources.

use crate::sync::{Ordering, full_fence};

/// Declares the mutants, and the list of them all.
macro_rules! mutants {
    ($($(#[$fault:meta])* $name:ident $(= $number:literal)?,)*) => {
        /// A mutant. The name says what is left out or done wrongly.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Mutant {
            $($(#[$fault])* $name $(= $number)?,)*
        }

        impl Mutant {
            /// Every mutant. The table in `docs/reliability.md` says what catches it.
            pub const ALL: &[Mutant] = &[$(Mutant::$name,)*];
        }
    };
}

mutants! {
    /// The doorway does not say that it is choosing (the classic failure without `choosing`).
    NoChoosing = 1,
    /// No full fence between "I am choosing" and the reading of the others' numbers.
    NoFenceAfterChoosing,
    /// No full fence between my number and the reading of the others' numbers in the wait.
    NoFenceBeforeWait,
    /// Equal numbers both pass: the slot does not break the tie.
    NoTieBreak,
    /// The number is given up (on a ring: the privilege passed on) without release order, so the section's writes may come after it.
    RelaxedLeave,
    /// A dead owner's number is cleared before the death is written down, so the next holder gets no owner-dead notice.
    ClearBeforeNotice,
    /// `held` is not looked at after a death, so one in the critical section passes for a clean one.
    NoHeld,
    /// A dead participant is reaped without holding its slot's byte lock.
    ReapWithoutByteLock,
    /// The queue head does not wait for the barrier in the bias owner's process after the revocation.
    NoMembarrier,
    /// The bias owner looks for a revocation, and only then says that it tries.
    FlagAfterCheck,
    /// The queue head clears its number before the bias word says that the lock is biased to it.
    LeaveBeforeBias,
    /// A bias owner under revocation takes its own mark out of the bias word, though it is not the queue head.
    BiasByNonHead,
    /// A participant of a second process has no fences either, as though the file were still one process's.
    NoFenceBesideAnother,
    /// No full fence in a biased acquisition where several processes take part.
    NoFenceInFencedMode,
    /// A participant that died trying to enter passes for a dead owner.
    OwnerDeadByTrying,
    /// The queue head takes the bias while a waiter behind it is queued for good.
    BiasOverQueue,
    /// The queue head that gives up cancels its revocation while a waiter behind it is queued for good.
    CancelsOverQueue,
    /// A biased acquisition is in the file before the thread's own word says that it is under way: a signal handler acquires it again.
    HeldBeforeLocal,
    /// A signal handler sees what its thread has of a lock, and not what it is taking or giving back, and waits for it.
    UnderWayUnseen,
    /// An entry by a reservation looks whether that suits it before its own word says that it is under way: a handler may lose the place.
    ReservationBeforeLocal,
    /// The descriptor by which a slot was taken stays open, so that a forked child keeps a dead participant alive.
    ClaimStaysOpen,
    /// On a ring: a newcomer's link does not count the absent machines between it and its left neighbour (Raynal's k).
    AbsentNotCounted,
    /// On a ring: a machine that comes back goes on with the state it left with.
    StateNotRenewed,
    /// On a ring: a participant becomes a member without the reconfiguration lock.
    JoinWithoutLock,
    /// A handle does not look whether its lock was removed.
    RemovalUnseen,
    /// A lock is removed though others use it.
    RemovedInUse,
    /// A lock is biased through a handle beside one of the lock that had its region before.
    BiasedBesideStale,
    /// A participant that passes over a waiter does not look whether the waiter is inside, or on the way in.
    EvictsHolder,
    /// No full fence between telling a waiter that it lost its place and the look whether it is inside.
    NoFenceToEvict,
    /// The entry step looks whether the place is lost, and only then says that it enters.
    EntryCheckBeforeFlag,
    /// An eviction that another participant wrote down is believed, without a barrier and a look of one's own.
    BelievesEviction,
    /// No participant passes over a waiter that does not come.
    NeverEvicts,
    /// The owner of a ring's privilege goes in without an entry step.
    EntersUnasked,
    /// On a ring, the leaver says that it is outside, and only then passes the privilege on.
    OutsideBeforePass,
    /// On a ring, the waiter does not look whether it is a member still.
    MembershipUnseen,
    /// The home thread of a shared participant has no barrier between what it says and its look whether it is at home.
    NoBarrierAtHome,
    /// The home thread does not look a second time whether it is at home.
    NoSecondLookAtHome,
    /// A writer that gives up revoking the readers' bias says that no biased reader is inside.
    CancelsToNobody,
    /// One that gives up revoking the readers' bias, or an upgrade, leaves the bias as if no notice were due.
    CancelsOverNotice,
    /// A reader in the queue does not look whether an upgrade began since it looked at the modes.
    NoLookForUpgrade,
    /// No full fence between the revocation of the readers' bias, or an upgrade, and the look which participants are inside.
    NoFenceToRevokeReaders,
    /// A dead reader passes for a dead owner.
    DeadReaderIsOwnerDead,
    /// A reaper that finds a participant dead removes that one, and does not look at the others.
    ReapsOne,
    /// By messages: one enters Lamport's queue without waiting for acknowledgements.
    NoAcknowledgement,
    /// By messages: the participant that passes the token on sends it to the next two that ask for it.
    TokenTwice,
    /// By messages: a token is taken whatever its number is, also one that was here before.
    TokenTakenAgain,
    /// By messages: when a peer departs, what others have asked for is forgotten.
    RequestForgotten,
    /// By messages: one that has given up keeps the token when it comes.
    TokenStranded,
    /// By messages: what a process remembers of Misra's tokens is a number modulo n + 1, not which token had it.
    CountersLiteral,
    /// By messages: a token of more than two that was made anew judges at once, by what is remembered of its namesake.
    NoFirstRound,
    /// By messages: one that joins takes the end of another one for its answer, though that may have entered since the others answered.
    EndIsAnswer,
    /// By messages: the participant that makes a token of a ring anew does not remember with what number.
    WardNumberKept,
    /// By messages: one that leaves a ring goes on waiting for the next one, which it has asked to leave first.
    LeaversInCircle,
    /// By messages: on a ring the mark of a former life stands, whatever is asked since.
    MarkOutlives,
    /// By messages: on a ring one that was marked, and has died since, is not marked again.
    MarkNotRepeated,
    /// By messages: on a ring one that has asked to join is let in without being asked whether it still joins.
    StaleJoin,
    /// By messages: one that leaves a mesh waits for a token that died with its sender.
    DeadSendersToken,
    /// By messages: a token on a ring in a file goes on, though no participant waits for it.
    TokenNeverRests,
    /// By messages: on a ring in a file a token that is missed is made anew, whatever its record says.
    MissedIsLost,
    /// By messages: on a ring in a file the token that is left does not set off when the privilege is lost.
    SecondTokenRests,
    /// By messages: a waiter makes a token anew, though the record says that another participant has it, which lives.
    TokenOnSuspicion,
    /// By messages: the participant that makes a lost token anew does not write its name into the record.
    TokenMadeTwice,
    /// By messages: the sender of the token does not look whether the receiver's life is over by then.
    TokenSentToTheDead,
    /// By messages: no participant is told that a life is over.
    DeadAnswerAwaited,
    /// By messages: the life of a dead participant is ended before its death is written down.
    LifeBeforeNotice,
    /// By messages: a message in a mailbox is published without release order, so its words may come after it.
    RelaxedPut,
    /// By messages: an entry of a mailbox is freed without release order, so its words may be read after that.
    RelaxedTake,
    /// By messages: a message in a mailbox is published, and then written.
    TornMessage,
    /// Permits of a dead participant do not come back.
    PermitNeverReturned,
    /// What a dead participant held of a range lock or a keyed lock is not written down.
    DeadGranuleNotRecorded,
    /// The death of a member of a group lock is not counted.
    DeadMemberNotCounted,
    /// A member of a group lock marks every death consistent, also those of which it was not told.
    MarksUntoldDeath,
    /// Participants of different groups do not conflict.
    GroupsTogether,
    /// A participant whose group is inside enters at once, whichever group waits.
    JoinsOverWaiter,
    /// A claim is written after the number that it belongs to.
    ClaimAfterNumber,
    /// The bias word is cleared as soon as an upgrade came about.
    UpgradeEndsTooSoon,
    /// A reader biases the lock by a store, whatever the bias word says.
    RebiasByStore,
    /// A reader takes the next fencing token, as writers do.
    ReaderTakesToken,
    /// A writer that downgrades clears the bias word, which readers may have biased.
    DowngradesOverReaders,
    /// An entry by a reservation does not look whether it was taken away.
    ReservationWithoutLook,
    /// No heavy barrier between taking a reservation away and the look whether its participant is inside.
    EndsWithoutBarrier,
    /// A reader goes past a writer that is inside by its reservation.
    PassesWriterByReservation,
    /// A writer that enters by its reservation does not say so, and was a reader before.
    WriterLeftAsReader,
    /// A participant that died inside by its reservation passes for a writer, also if it was a reader.
    DeadReservedReaderIsOwnerDead,
    /// A slot is left to an open file that does not hold its byte lock.
    LeftWithoutByteLock,
    /// A participant that leaves a slot gives its byte lock back before the open file has it.
    LeftWithGap,
    /// A participant that leaves a slot to an open file gives it back, as on detaching.
    LeaverDetaches,
    /// The reader of the recording believes what stands in a place, whether it is whole or not.
    EventWithoutHash,
    /// A file that records lets acquisitions go by the fast path.
    FastPathUnrecorded,
    /// A C handle names its file to the fast path of every kind of lock.
    FileOfEveryKind,
    /// A C handle that is closed names its file to the fast path.
    FileOutlivesHandle,
    /// No full fence between a waiter's word that says that it parks and its last look.
    NoFenceBeforePark,
    /// No full fence between leaving and the look whether a waiter is parked.
    NoFenceBeforeUnpark,
    /// No full fence between a designated waker's word that says that it parks and its last look.
    NoFenceAsDesignated,
    /// No full fence between a waiter's entry into the passive set and its look which waiter is the designated waker.
    NoFenceInPassiveSet,
    /// No full fence between "none is designated" and the second look into the passive set.
    NoFenceToDesignate,
    /// No full fence between the request that a wait should end and the look where the waiter is parked.
    NoFenceToCancel,
    /// A designated waker says that it parks and does not look again before it sleeps.
    ParksWithoutLook,
    /// A waiter reads its futex word after its last look, so that it misses an unpark between the two.
    WakeReadLate,
    /// A successor hint that names a slot outside of the queue counts, so that the designated waker is not unparked.
    StaleSuccessorCounts,
    /// A waiter that has given up counts as unparked, so that no other is.
    StaleParkedCounts,
    /// A designated waker that retires calls no other out of the passive set.
    NextNotDesignated,
    /// A designated waker that is stopped stays designated.
    DesignatedNotReplaced,
    /// One that waits for a condition, an event or a barrier sleeps without a last look at it.
    SleepsWithoutLook,
    /// The notification of a condition is cleared when the waiter that has it is reaped.
    NotificationDies,
    /// A notification of the dead is passed on without a look whether another waiter has it already.
    PassedOnTwice,
    /// A participant that passes a notification on does not look again whether the dead one's entry still has it.
    OrphanReadOnce,
    /// A waiter that a dead one's notification was passed on to clears its own entry before the dead one's.
    OwnEntryFirst,
    /// A waiter that gives up clears its entry by a store, also if it was just notified.
    GivesUpByStore,
    /// A barrier is broken without a mark in the entries of those that have arrived.
    BreaksUnmarked,
    /// A future that is dropped does not look whether its request was granted meanwhile.
    GrantForgotten,
    /// The server of a process's requests ends without a last look for one.
    ServerEndsUnseen,
    /// The server acquires without a look whether the request was withdrawn before its call could be cancelled.
    WithdrawalUnseen,
    /// A circle of waits that one reading found is reported, without the second reading.
    OneReading,
    /// The second reading compares which slot is in the way of which, but not the fencing token and the numbers of the waits.
    ComparesSlotsOnly,
    /// The word that says that a thread waits is published without an order.
    RelaxedWait,
    /// No full fence after a thread has said that it waits no more.
    NoFenceAfterWait,
    /// No full fence between the two readings of a circle.
    NoFenceBetweenReadings,
    /// A search for a circle goes on past waits that began after the one that searches.
    PastLaterWaits,
    /// A linked lock comes home without release order, so that a program may take a token of the block before.
    RelaxedHome,
    /// No full fence between the word that a program wants a linked lock and the look whether its agent sleeps.
    NoFenceToWant,
    /// No full fence between an agent's word that it sleeps and its last look whether its lock is wanted.
    NoFenceBeforeBell,
    /// The entry step does not look whether a linked lock is away.
    AwayUnseen,
    /// The entry step of a reader does not look whether a linked rwlock is away.
    ReaderEntersAway,
    /// A revocation or an upgrade that is given up leaves the bias of a leased rwlock to the readers.
    CancelsOverLease,
    /// An upgrade does not look whether the block of a linked rwlock has a token for it.
    UpgradesBeyondBlock,
    /// A linked lock comes home before the block of tokens is set.
    HomeBeforeTokens,
    /// A linked rwlock that is home to read admits who takes a fencing token.
    WriterEntersToRead,
    /// A linked rwlock comes home to read before the token of its readers is set.
    ToReadBeforeToken,
    /// An agent that brings its lock home unparks no program.
    HomeUnheard,
    /// A program says that it wants a linked lock, and does not wake the agent.
    WantsUnheard,
    /// A waiter that is not at the head of the queue does not tell the agent of a linked lock that it waits.
    HeadAloneTells,
    /// An agent that moves a lock away does not look whether participants let others pass.
    StandbyUnwanted,
    /// A waiter at the head of the queue tells the agent once, also where the lock came home meanwhile.
    ToldOnce,
    /// A bias begins at a linked lock that is leased.
    BiasUnderLease,
    /// An agent that makes the share of a linked semaphore smaller does not wait until those inside fit.
    GivesBackUndrained,
    /// An agent that looks whether those inside fit passes no barrier before.
    DrainsWithoutBarrier,
    /// An agent that looks whether those inside fit does not count those before the last of them that may enter yet.
    DrainsInsidersOnly,
    /// A lease of a linked semaphore begins once those inside have left, though one of them may have reserved its place.
    LeaseDrainedOnce,
}

/// Returns whether this mutant is switched on: constantly `false` in every build that is shipped.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub const fn is_on(_: Mutant) -> bool {
    false
}

/// A full fence, which the mutant leaves out.
#[inline(always)]
pub fn full_fence_unless(mutant: Mutant) {
    if !is_on(mutant) {
        full_fence();
    }
}

/// Release order, which the mutant makes relaxed.
#[inline(always)]
pub fn release_unless(mutant: Mutant) -> Ordering {
    if is_on(mutant) { Ordering::Relaxed } else { Ordering::Release }
}

#[cfg(feature = "mutants")]
mod switch;
#[cfg(feature = "mutants")]
pub use switch::{is_on, switch_on};
