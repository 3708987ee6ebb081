//! Locks through the C ABI: by threads, and by explicit participants.

use crate::{
    c_functions::{Functions, Open},
    c_handles::{Owned, current_participant, open_file, open_participant, sized},
    way::{Cancel, Held, Party, Wait, Way, WithoutGuards},
};
use std::{
    ffi::{CStr, CString},
    marker::PhantomData,
    path::Path,
    sync::Arc,
};
use turnlock::{capi::*, inspect::WaiterState, status::*};

fn done(status: i32) -> Result<(), i32> {
    if status < 0 { Err(status) } else { Ok(()) }
}

impl Cancel for Owned<turnlock_participant> {
    fn cancel(&self) {
        // SAFETY: an open handle.
        assert_eq!(unsafe { turnlock_participant_cancel(self.handle) }, TURNLOCK_OK);
    }

    fn take_back(&self) {
        // SAFETY: an open handle.
        assert_eq!(unsafe { turnlock_participant_clear_cancel(self.handle) }, TURNLOCK_OK);
    }
}

/// A kind of lock through the C ABI, by threads.
pub struct ByThreads<L>(Arc<Owned<turnlock_file>>, PhantomData<fn() -> L>);
/// A kind of lock through the C ABI, by explicit participants.
pub struct ByParticipants<L>(Arc<Owned<turnlock_file>>, PhantomData<fn() -> L>);

pub type BakeryByThreads = ByThreads<turnlock_mutex>;
pub type BakeryByParticipants = ByParticipants<turnlock_mutex>;
pub type RingByThreads = ByThreads<turnlock_ring>;
pub type RingByParticipants = ByParticipants<turnlock_ring>;
/// Exclusively.
pub type RwLockByThreads = ByThreads<turnlock_rwlock>;
/// Exclusively.
pub type RwLockByParticipants = ByParticipants<turnlock_rwlock>;

/// A thread, or a participant of its own, at a lock.
pub struct AtLock<L> {
    // Dropped in this order: the participant is closed, then the lock, then (by the last) the file.
    pub participant: Option<Arc<Owned<turnlock_participant>>>,
    pub mutex: Owned<L>,
    pub file: Arc<Owned<turnlock_file>>,
    /// How its locks are opened, and created.
    pub open: Open<L>,
}

pub type AtMutex = AtLock<turnlock_mutex>;

pub struct HeldLock<'a, L> {
    at: &'a AtLock<L>,
    status: i32,
    acquired: turnlock_acquired,
}

pub fn at_lock<L: Functions>(file: &Arc<Owned<turnlock_file>>, name: &str) -> Result<AtLock<L>, i32> {
    at_lock_opened_by(L::OPEN, file, name)
}

pub fn at_lock_opened_by<L>(
    open: Open<L>,
    file: &Arc<Owned<turnlock_file>>,
    name: &str,
) -> Result<AtLock<L>, i32> {
    // A C string ends at its first NUL, so a name with one is another name.
    let name = CString::new(name).expect("C cannot say a name with a NUL in it");
    Ok(AtLock { participant: None, mutex: open(file, &name)?, file: file.clone(), open })
}

impl<L: Functions> Way for ByThreads<L> {
    type Party = AtLock<L>;
    type ByThreads = L::ByThreads;

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        Ok(Self(Arc::new(open_file(path, participants, locks)?), PhantomData))
    }

    fn party(&self, name: &str) -> Result<AtLock<L>, i32> {
        at_lock(&self.0, name)
    }

    fn party_where_death_releases(&self, name: &str) -> Result<AtLock<L>, i32> {
        L::CREATE_RELEASING(&self.0, &CString::new(name).unwrap())?;
        self.party(name)
    }
}

impl<L: Functions> Way for ByParticipants<L> {
    type Party = AtLock<L>;
    type ByThreads = L::ByThreads;

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        Ok(Self(Arc::new(open_file(path, participants, locks)?), PhantomData))
    }

    fn party(&self, name: &str) -> Result<AtLock<L>, i32> {
        let at = at_lock(&self.0, name)?;
        Ok(AtLock { participant: Some(Arc::new(open_participant(&self.0)?)), ..at })
    }

    fn party_where_death_releases(&self, name: &str) -> Result<AtLock<L>, i32> {
        L::CREATE_RELEASING(&self.0, &CString::new(name).unwrap())?;
        self.party(name)
    }
}

impl<L: Functions> Party for AtLock<L> {
    type Canceller = Arc<Owned<turnlock_participant>>;
    type Held<'a> = HeldLock<'a, L>;

    fn at(&self, name: &str) -> Self {
        let at = at_lock_opened_by(self.open, &self.file, name).unwrap();
        Self { participant: self.participant.clone(), ..at }
    }

    fn lock(&self, wait: Wait) -> Result<HeldLock<'_, L>, i32> {
        let mutex = self.mutex.handle;
        let mut acquired = sized::<turnlock_acquired>();
        let told = &mut acquired;
        // SAFETY: open handles, and a place for the notice.
        let status = unsafe {
            match (&self.participant, wait) {
                (None, Wait::Never) => L::TRY_LOCK(mutex, told),
                (None, Wait::For(limit)) => L::LOCK_FOR(mutex, limit.as_nanos() as u64, told),
                (None, Wait::Forever) => L::LOCK(mutex, told),
                (Some(participant), wait) => match (participant.handle, wait) {
                    (as_whom, Wait::Never) => L::TRY_LOCK_AS(mutex, as_whom, told),
                    (as_whom, Wait::For(limit)) => {
                        L::LOCK_FOR_AS(mutex, as_whom, limit.as_nanos() as u64, told)
                    }
                    (as_whom, Wait::Forever) => L::LOCK_AS(mutex, as_whom, told),
                },
            }
        };
        done(status)?;
        Ok(HeldLock { at: self, status, acquired })
    }

    fn canceller(&self) -> Self::Canceller {
        // A handle of its own for a thread; an explicit participant has one handle, shared here.
        match &self.participant {
            None => Arc::new(current_participant(&self.file).unwrap()),
            Some(participant) => participant.clone(),
        }
    }

    fn reset(&self, wait: Wait) -> Result<(), i32> {
        // SAFETY: an open handle.
        done(unsafe {
            match wait {
                Wait::Never => L::TRY_RESET(self.mutex.handle),
                Wait::For(limit) => L::RESET_FOR(self.mutex.handle, limit.as_nanos() as u64),
                Wait::Forever => L::RESET(self.mutex.handle),
            }
        })
    }

    fn holder(&self) -> Option<(u64, u32, u32)> {
        let mut holder = sized::<turnlock_participant_info>();
        // SAFETY: an open handle, and a place for the answer.
        match unsafe { L::HOLDER(self.mutex.handle, &mut holder) } {
            TURNLOCK_OK => {
                assert_eq!((holder.state, holder.mode), (TURNLOCK_STATE_HOLDING, TURNLOCK_MODE_EXCLUSIVE));
                Some((holder.fencing_token, holder.pid, holder.thread))
            }
            failure => {
                assert_eq!(failure, TURNLOCK_ERROR_NOT_FOUND);
                None
            }
        }
    }

    fn waiters(&self) -> Vec<(u32, WaiterState)> {
        let (mut waiters, mut count) = ([sized::<turnlock_participant_info>(); 16], 0);
        // SAFETY: an open handle, an array as long as said, and a place for the number.
        let status =
            unsafe { L::WAITERS(self.mutex.handle, waiters.len(), waiters.as_mut_ptr(), &mut count) };
        assert_eq!(status, TURNLOCK_OK);
        let state = |state| match state {
            TURNLOCK_STATE_QUEUED => WaiterState::Queued,
            TURNLOCK_STATE_STANDING_BY => WaiterState::StandingBy,
            TURNLOCK_STATE_STANDING => WaiterState::Standing,
            other => panic!("{other} is no state of a waiter"),
        };
        for waiter in &waiters[..count] {
            let doing = [TURNLOCK_ACTIVITY_RUNNING, TURNLOCK_ACTIVITY_SLEEPING];
            assert!(doing.contains(&waiter.activity), "activity {}", waiter.activity);
        }
        waiters[..count].iter().map(|waiter| (waiter.thread, state(waiter.state))).collect()
    }

    fn previous_owner(&self) -> Option<(u64, u32, u32, String)> {
        let mut owner = sized::<turnlock_previous_owner>();
        // SAFETY: an open handle, and a place for the answer.
        match unsafe { L::PREVIOUS_OWNER(self.mutex.handle, &mut owner) } {
            TURNLOCK_OK => {
                // SAFETY: NUL-terminated, as the header says.
                let label = unsafe { CStr::from_ptr(owner.label.as_ptr()) }.to_str().unwrap().to_owned();
                Some((owner.fencing_token, owner.pid, owner.thread, label))
            }
            failure => {
                assert_eq!(failure, TURNLOCK_ERROR_NOT_FOUND);
                None
            }
        }
    }
}

impl Cancel for Arc<Owned<turnlock_participant>> {
    fn cancel(&self) {
        (**self).cancel();
    }

    fn take_back(&self) {
        (**self).take_back();
    }
}

impl<L: Functions> WithoutGuards for AtLock<L> {
    fn unlock_without_asking(&self) -> Result<(), i32> {
        // SAFETY: open handles.
        done(unsafe {
            match &self.participant {
                None => L::UNLOCK(self.mutex.handle),
                Some(participant) => L::UNLOCK_AS(self.mutex.handle, participant.handle),
            }
        })
    }

    fn mark_consistent_without_asking(&self) -> Result<(), i32> {
        // SAFETY: open handles.
        done(unsafe {
            match &self.participant {
                None => L::MARK_CONSISTENT(self.mutex.handle),
                Some(participant) => L::MARK_CONSISTENT_AS(self.mutex.handle, participant.handle),
            }
        })
    }
}

impl<L: Functions> Held for HeldLock<'_, L> {
    fn fencing_token(&self) -> u64 {
        self.acquired.fencing_token
    }

    fn previous_owner_died(&self) -> bool {
        let died = self.status == TURNLOCK_OWNER_DEAD;
        // The status and the struct must say the same.
        assert_eq!(died, self.acquired.previous_owner_died == 1);
        assert_eq!(died, self.acquired.previous_owner_fencing_token != 0);
        assert_eq!(died, self.acquired.previous_owner_pid != 0);
        died
    }

    fn mark_consistent(&mut self) -> Result<(), i32> {
        self.at.mark_consistent_without_asking()
    }

    fn is_contended(&self) -> bool {
        let lock = self.at.mutex.handle;
        // SAFETY: open handles.
        let said = unsafe {
            match &self.at.participant {
                None => L::IS_CONTENDED(lock),
                Some(participant) => L::IS_CONTENDED_AS(lock, participant.handle),
            }
        };
        assert!(matches!(said, TURNLOCK_OK | TURNLOCK_CONTENDED), "{said}");
        said == TURNLOCK_CONTENDED
    }

    fn unlock(self) -> Result<(), i32> {
        self.at.unlock_without_asking()
    }
}
