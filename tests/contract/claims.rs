//! Locks that several can hold at once, or parts of them, taken so that no other participant has anything beside:
//! a rwlock exclusively, a whole range, one key; and a group for each ([`crate::groups`]). Through the Rust API, by threads and by explicit participants.

use crate::{
    rust::{code, holder, open, waiters},
    way::{Held, Party, Wait, Way},
};
use std::{marker::PhantomData, path::Path, sync::Arc};
use turnlock::{
    DeathPolicy, GroupGuard, GroupParticipantGuard, Guard, GuardAs, KeyGuard, KeyParticipantGuard, KeyedLock,
    LockFile, Participant, PreviousOwner, RangeGuard, RangeLock, RangeParticipantGuard, Result, RwLock,
    RwLockKind, RwLockWriteGuard, RwLockWriteParticipantGuard,
    inspect::{LockStatus, WaiterState},
};

/// The one key that all want.
const KEY: &str = "the only one";

/// A lock of such a kind.
pub trait Exclusive: Sized + Send + Sync + 'static {
    type Guard<'a>: Held;
    type GuardAs<'a>: Held;

    fn open(file: &LockFile, name: &str, death_policy: Option<DeathPolicy>) -> Result<Self>;
    fn lock(&self, wait: Wait) -> Result<Self::Guard<'_>>;
    fn lock_as<'a>(&'a self, participant: &'a Participant, wait: Wait) -> Result<Self::GuardAs<'a>>;
    fn reset(&self, wait: Wait) -> Result<()>;
    fn status(&self) -> Result<LockStatus>;
    fn previous_owner(&self) -> Option<PreviousOwner>;
}

macro_rules! exclusive {
    ($($lock:ident $options:ident $guard:ident $guard_as:ident ($($part:expr)?);)*) => { $(
        impl Exclusive for $lock {
            type Guard<'a> = $guard<'a>;
            type GuardAs<'a> = $guard_as<'a>;

            fn open(file: &LockFile, name: &str, death_policy: Option<DeathPolicy>) -> Result<Self> {
                let mut options = file.$options();
                if let Some(death_policy) = death_policy {
                    options.death_policy(death_policy);
                }
                options.open(name)
            }

            fn lock(&self, wait: Wait) -> Result<$guard<'_>> {
                match wait {
                    Wait::Never => self.try_write($($part)?),
                    Wait::For(limit) => self.write_for($($part,)? limit),
                    Wait::Forever => self.write($($part)?),
                }
            }

            fn lock_as<'a>(&'a self, participant: &'a Participant, wait: Wait) -> Result<$guard_as<'a>> {
                match wait {
                    Wait::Never => self.try_write_as(participant, $($part)?),
                    Wait::For(limit) => self.write_for_as(participant, $($part,)? limit),
                    Wait::Forever => self.write_as(participant, $($part)?),
                }
            }

            fn reset(&self, wait: Wait) -> Result<()> {
                match wait {
                    Wait::Never => self.try_reset(),
                    Wait::For(limit) => self.reset_for(limit),
                    Wait::Forever => $lock::reset(self),
                }
            }

            fn status(&self) -> Result<LockStatus> {
                $lock::status(self)
            }

            fn previous_owner(&self) -> Option<PreviousOwner> {
                $lock::previous_owner(self)
            }
        }
    )* };
}
exclusive! {
    RwLock rwlock_options RwLockWriteGuard RwLockWriteParticipantGuard ();
    RangeLock range_lock_options RangeGuard RangeParticipantGuard (..);
    KeyedLock keyed_lock_options KeyGuard KeyParticipantGuard (KEY);
}

/// A rwlock's guard has what the contract asks of it from the one within.
macro_rules! held {
    ($($guard:ident: $within:ident;)*) => { $(impl Held for $guard<'_> {
        fn fencing_token(&self) -> u64 {
            $within::fencing_token(self)
        }

        fn previous_owner_died(&self) -> bool {
            $within::acquired(self).previous_owner_died
        }

        fn mark_consistent(&mut self) -> std::result::Result<(), i32> {
            $within::mark_consistent(self).map_err(code)
        }

        fn is_contended(&self) -> bool {
            $within::is_contended(self)
        }

        fn unlock(self) -> std::result::Result<(), i32> {
            $guard::unlock(self).map_err(code)
        }
    })* };
}
type Within<'a> = Guard<'a, RwLockKind>;
type WithinAs<'a> = GuardAs<'a, RwLockKind>;
held! {
    RwLockWriteGuard: Within;
    RwLockWriteParticipantGuard: WithinAs;
    RangeGuard: RangeGuard;
    RangeParticipantGuard: RangeParticipantGuard;
    KeyGuard: KeyGuard;
    KeyParticipantGuard: KeyParticipantGuard;
    GroupGuard: GroupGuard;
    GroupParticipantGuard: GroupParticipantGuard;
}

/// By threads.
pub struct ByThreads<L>(Arc<LockFile>, PhantomData<fn() -> L>);
/// By explicit participants.
pub struct ByParticipants<L>(Arc<LockFile>, PhantomData<fn() -> L>);

pub struct AtLock<L> {
    file: Arc<LockFile>,
    lock: L,
}

pub struct ParticipantAtLock<L> {
    participant: Participant,
    at: AtLock<L>,
}

fn at<L: Exclusive>(file: &Arc<LockFile>, name: &str) -> std::result::Result<AtLock<L>, i32> {
    let lock = L::open(file, name, None).map_err(code)?;
    Ok(AtLock { lock, file: file.clone() })
}

impl<L: Exclusive> Way for ByThreads<L> {
    type Party = AtLock<L>;
    type ByThreads = Self;

    fn open(path: &Path, participants: u32, locks: u32) -> std::result::Result<Self, i32> {
        Ok(Self(open(path, participants, locks)?, PhantomData))
    }

    fn party(&self, name: &str) -> std::result::Result<AtLock<L>, i32> {
        at(&self.0, name)
    }

    fn party_where_death_releases(&self, name: &str) -> std::result::Result<AtLock<L>, i32> {
        L::open(&self.0, name, Some(DeathPolicy::Release)).map_err(code)?;
        self.party(name)
    }
}

impl<L: Exclusive> Way for ByParticipants<L> {
    type Party = ParticipantAtLock<L>;
    type ByThreads = ByThreads<L>;

    fn open(path: &Path, participants: u32, locks: u32) -> std::result::Result<Self, i32> {
        Ok(Self(open(path, participants, locks)?, PhantomData))
    }

    fn party(&self, name: &str) -> std::result::Result<ParticipantAtLock<L>, i32> {
        let at = at(&self.0, name)?;
        Ok(ParticipantAtLock { participant: self.0.participant().map_err(code)?, at })
    }

    fn party_where_death_releases(&self, name: &str) -> std::result::Result<ParticipantAtLock<L>, i32> {
        L::open(&self.0, name, Some(DeathPolicy::Release)).map_err(code)?;
        self.party(name)
    }
}

impl<L: Exclusive> Party for AtLock<L> {
    type Held<'a> = L::Guard<'a>;
    type Canceller = Participant;

    fn at(&self, name: &str) -> Self {
        at(&self.file, name).unwrap()
    }

    fn lock(&self, wait: Wait) -> std::result::Result<L::Guard<'_>, i32> {
        self.lock.lock(wait).map_err(code)
    }

    fn canceller(&self) -> Participant {
        self.file.current_participant().unwrap()
    }

    fn reset(&self, wait: Wait) -> std::result::Result<(), i32> {
        self.lock.reset(wait).map_err(code)
    }

    fn holder(&self) -> Option<(u64, u32, u32)> {
        holder(self.lock.status())
    }

    fn waiters(&self) -> Vec<(u32, WaiterState)> {
        waiters(self.lock.status())
    }

    fn previous_owner(&self) -> Option<(u64, u32, u32, String)> {
        self.lock.previous_owner().map(|dead| (dead.fencing_token, dead.pid, dead.thread, dead.label))
    }
}

impl<L: Exclusive> Party for ParticipantAtLock<L> {
    type Held<'a> = L::GuardAs<'a>;
    type Canceller = Participant;

    fn at(&self, name: &str) -> Self {
        Self { participant: self.participant.clone(), at: self.at.at(name) }
    }

    fn lock(&self, wait: Wait) -> std::result::Result<L::GuardAs<'_>, i32> {
        self.at.lock.lock_as(&self.participant, wait).map_err(code)
    }

    fn canceller(&self) -> Participant {
        self.participant.clone()
    }

    fn reset(&self, wait: Wait) -> std::result::Result<(), i32> {
        self.at.reset(wait)
    }

    fn holder(&self) -> Option<(u64, u32, u32)> {
        self.at.holder()
    }

    fn waiters(&self) -> Vec<(u32, WaiterState)> {
        self.at.waiters()
    }

    fn previous_owner(&self) -> Option<(u64, u32, u32, String)> {
        self.at.previous_owner()
    }
}
