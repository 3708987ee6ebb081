//! Locks through the C ABI: by threads, and by explicit participants.

use crate::{
    c_functions::Functions,
    way::{Cancel, Held, Party, Wait, Way, WithoutGuards},
};
use std::{
    ffi::{CStr, CString},
    marker::PhantomData,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr,
    sync::Arc,
};
use turnlock::{capi::*, inspect::WaiterState, status::*};

/// A handle of the C ABI, closed when dropped.
pub struct Owned<T> {
    pub handle: *mut T,
    close: unsafe extern "C" fn(*mut T) -> i32,
}

// SAFETY: the C ABI says that any thread may use its handles.
unsafe impl<T> Send for Owned<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Owned<T> {}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: a handle that is not used any more. Closed already, or still held: then nothing happens.
        unsafe { (self.close)(self.handle) };
    }
}

pub fn opened<T>(
    close: unsafe extern "C" fn(*mut T) -> i32,
    open: impl FnOnce(*mut *mut T) -> i32,
) -> Result<Owned<T>, i32> {
    let mut handle = ptr::null_mut();
    match open(&mut handle) {
        TURNLOCK_OK => Ok(Owned { handle, close }),
        failure => {
            assert!(handle.is_null(), "outputs are written only on success");
            Err(failure)
        }
    }
}

pub fn open_file(path: &Path, participants: u32, locks: u32) -> Result<Owned<turnlock_file>, i32> {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let options = file_options(participants, locks);
    // SAFETY: a C string, an options struct of the right size, and a place for the handle.
    opened(turnlock_file_close, |file| unsafe { turnlock_file_open(path.as_ptr(), &options, file) })
}

pub fn file_options(participants: u32, locks: u32) -> turnlock_file_options {
    turnlock_file_options {
        size: size_of::<turnlock_file_options>(),
        participants,
        locks,
        mode: 0,
        group: 0,
        flags: 0,
        reserved: 0,
        label: ptr::null(),
        is_wait_to_end: None,
        context: ptr::null_mut(),
    }
}

pub fn open_mutex(file: &Owned<turnlock_file>, name: &CStr) -> Result<Owned<turnlock_mutex>, i32> {
    // SAFETY: a file handle, a C string, and a place for the handle.
    opened(turnlock_mutex_close, |mutex| unsafe {
        turnlock_mutex_open(file.handle, name.as_ptr(), ptr::null(), mutex)
    })
}

pub fn open_ring(file: &Owned<turnlock_file>, name: &CStr) -> Result<Owned<turnlock_ring>, i32> {
    // SAFETY: a file handle, a C string, and a place for the handle.
    opened(turnlock_ring_close, |ring| unsafe {
        turnlock_ring_open(file.handle, name.as_ptr(), ptr::null(), ring)
    })
}

pub fn open_participant(file: &Owned<turnlock_file>) -> Result<Owned<turnlock_participant>, i32> {
    // SAFETY: a file handle and a place for the handle.
    opened(turnlock_participant_close, |participant| unsafe {
        turnlock_participant_open(file.handle, ptr::null(), participant)
    })
}

pub fn current_participant(file: &Owned<turnlock_file>) -> Result<Owned<turnlock_participant>, i32> {
    // SAFETY: a file handle and a place for the handle.
    opened(turnlock_participant_close, |participant| unsafe {
        turnlock_participant_current(file.handle, participant)
    })
}

/// The sentence of this thread's last failure.
pub fn last_message() -> String {
    // SAFETY: never NULL, and valid until the next call.
    unsafe { CStr::from_ptr(turnlock_last_error_message()) }.to_str().unwrap().to_owned()
}

/// A struct to be filled in, all zeros but for its size.
pub fn sized<T: Copy>() -> T {
    let mut empty = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: the structs of the ABI are made of numbers, and the first is a size_t.
    unsafe {
        empty.as_mut_ptr().cast::<usize>().write(size_of::<T>());
        empty.assume_init()
    }
}

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

/// A thread, or a participant of its own, at a lock.
pub struct AtLock<L> {
    // Dropped in this order: the participant is closed, then the lock, then (by the last) the file.
    pub participant: Option<Arc<Owned<turnlock_participant>>>,
    pub mutex: Owned<L>,
    pub file: Arc<Owned<turnlock_file>>,
}

pub type AtMutex = AtLock<turnlock_mutex>;

pub struct HeldLock<'a, L> {
    at: &'a AtLock<L>,
    status: i32,
    acquired: turnlock_acquired,
}

pub fn at_lock<L: Functions>(file: &Arc<Owned<turnlock_file>>, name: &str) -> Result<AtLock<L>, i32> {
    // A C string ends at its first NUL, so a name with one is another name.
    let name = CString::new(name).expect("C cannot say a name with a NUL in it");
    Ok(AtLock { participant: None, mutex: L::OPEN(file, &name)?, file: file.clone() })
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
        Self { participant: self.participant.clone(), ..at_lock(&self.file, name).unwrap() }
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
