//! Locks through the C ABI: by threads, and by explicit participants.

use crate::way::{Cancel, Held, Party, Wait, Way, WithoutGuards};
use std::{
    ffi::{CStr, CString},
    marker::PhantomData,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr,
    sync::Arc,
};
use turnlock::{capi::*, status::*};

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
        turnlock_participant_open(file.handle, participant)
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

type Take<L> = unsafe extern "C" fn(*const L, *mut turnlock_acquired) -> i32;
type TakeAs<L> = unsafe extern "C" fn(*const L, *const turnlock_participant, *mut turnlock_acquired) -> i32;
type TakeFor<L> = unsafe extern "C" fn(*const L, u64, *mut turnlock_acquired) -> i32;
type TakeForAs<L> =
    unsafe extern "C" fn(*const L, *const turnlock_participant, u64, *mut turnlock_acquired) -> i32;
type Act<L> = unsafe extern "C" fn(*const L) -> i32;
type ActAs<L> = unsafe extern "C" fn(*const L, *const turnlock_participant) -> i32;

/// The functions of one kind of lock.
pub trait Functions: Sized + 'static {
    /// The same lock through the Rust API, by threads.
    type ByThreads: Way;
    const OPEN: fn(&Owned<turnlock_file>, &CStr) -> Result<Owned<Self>, i32>;
    const LOCK: Take<Self>;
    const TRY_LOCK: Take<Self>;
    const LOCK_FOR: TakeFor<Self>;
    const LOCK_AS: TakeAs<Self>;
    const TRY_LOCK_AS: TakeAs<Self>;
    const LOCK_FOR_AS: TakeForAs<Self>;
    const UNLOCK: Act<Self>;
    const UNLOCK_AS: ActAs<Self>;
    const MARK_CONSISTENT: Act<Self>;
    const MARK_CONSISTENT_AS: ActAs<Self>;
    const RESET: Act<Self>;
    const PREVIOUS_OWNER: unsafe extern "C" fn(*const Self, *mut turnlock_previous_owner) -> i32;
}

impl Functions for turnlock_mutex {
    type ByThreads = crate::rust::BakeryByThreads;
    const OPEN: fn(&Owned<turnlock_file>, &CStr) -> Result<Owned<Self>, i32> = open_mutex;
    const LOCK: Take<Self> = turnlock_mutex_lock;
    const TRY_LOCK: Take<Self> = turnlock_mutex_try_lock;
    const LOCK_FOR: TakeFor<Self> = turnlock_mutex_lock_for;
    const LOCK_AS: TakeAs<Self> = turnlock_mutex_lock_as;
    const TRY_LOCK_AS: TakeAs<Self> = turnlock_mutex_try_lock_as;
    const LOCK_FOR_AS: TakeForAs<Self> = turnlock_mutex_lock_for_as;
    const UNLOCK: Act<Self> = turnlock_mutex_unlock;
    const UNLOCK_AS: ActAs<Self> = turnlock_mutex_unlock_as;
    const MARK_CONSISTENT: Act<Self> = turnlock_mutex_mark_consistent;
    const MARK_CONSISTENT_AS: ActAs<Self> = turnlock_mutex_mark_consistent_as;
    const RESET: Act<Self> = turnlock_mutex_reset;
    const PREVIOUS_OWNER: unsafe extern "C" fn(*const Self, *mut turnlock_previous_owner) -> i32 =
        turnlock_mutex_previous_owner;
}

impl Functions for turnlock_ring {
    type ByThreads = crate::ring::ByThreads<crate::ring::Raynal>;
    const OPEN: fn(&Owned<turnlock_file>, &CStr) -> Result<Owned<Self>, i32> = open_ring;
    const LOCK: Take<Self> = turnlock_ring_lock;
    const TRY_LOCK: Take<Self> = turnlock_ring_try_lock;
    const LOCK_FOR: TakeFor<Self> = turnlock_ring_lock_for;
    const LOCK_AS: TakeAs<Self> = turnlock_ring_lock_as;
    const TRY_LOCK_AS: TakeAs<Self> = turnlock_ring_try_lock_as;
    const LOCK_FOR_AS: TakeForAs<Self> = turnlock_ring_lock_for_as;
    const UNLOCK: Act<Self> = turnlock_ring_unlock;
    const UNLOCK_AS: ActAs<Self> = turnlock_ring_unlock_as;
    const MARK_CONSISTENT: Act<Self> = turnlock_ring_mark_consistent;
    const MARK_CONSISTENT_AS: ActAs<Self> = turnlock_ring_mark_consistent_as;
    const RESET: Act<Self> = turnlock_ring_reset;
    const PREVIOUS_OWNER: unsafe extern "C" fn(*const Self, *mut turnlock_previous_owner) -> i32 =
        turnlock_ring_previous_owner;
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

    fn reset(&self) -> Result<(), i32> {
        // SAFETY: an open handle.
        done(unsafe { L::RESET(self.mutex.handle) })
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

    fn unlock(self) -> Result<(), i32> {
        self.at.unlock_without_asking()
    }
}
