//! The bakery mutex through the C ABI: by threads, and by explicit participants.

use crate::way::{Cancel, Held, Party, Wait, Way, WithoutGuards};
use std::{
    ffi::{CStr, CString},
    mem::MaybeUninit,
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

fn opened<T>(
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
    let options = turnlock_file_options {
        size: size_of::<turnlock_file_options>(),
        participants,
        locks,
        mode: 0,
        group: 0,
        flags: 0,
        reserved: 0,
        label: ptr::null(),
    };
    // SAFETY: a C string, an options struct of the right size, and a place for the handle.
    opened(turnlock_file_close, |file| unsafe { turnlock_file_open(path.as_ptr(), &options, file) })
}

pub fn open_mutex(file: &Owned<turnlock_file>, name: &CStr) -> Result<Owned<turnlock_mutex>, i32> {
    // SAFETY: a file handle, a C string, and a place for the handle.
    opened(turnlock_mutex_close, |mutex| unsafe {
        turnlock_mutex_open(file.handle, name.as_ptr(), ptr::null(), mutex)
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

/// The bakery mutex through the C ABI, by threads.
pub struct BakeryByThreads(Arc<Owned<turnlock_file>>);

/// The bakery mutex through the C ABI, by explicit participants.
pub struct BakeryByParticipants(Arc<Owned<turnlock_file>>);

/// A thread, or a participant of its own, at a mutex.
pub struct AtMutex {
    // Dropped in this order: the participant is closed, then the mutex, then (by the last) the file.
    pub participant: Option<Arc<Owned<turnlock_participant>>>,
    pub mutex: Owned<turnlock_mutex>,
    pub file: Arc<Owned<turnlock_file>>,
}

pub struct HeldMutex<'a> {
    at: &'a AtMutex,
    status: i32,
    acquired: turnlock_acquired,
}

fn at_mutex(file: &Arc<Owned<turnlock_file>>, name: &str) -> Result<AtMutex, i32> {
    // A C string ends at its first NUL, so a name with one is another name.
    let name = CString::new(name).expect("C cannot say a name with a NUL in it");
    Ok(AtMutex { participant: None, mutex: open_mutex(file, &name)?, file: file.clone() })
}

impl Way for BakeryByThreads {
    type Party = AtMutex;
    type ByThreads = crate::rust::BakeryByThreads;

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        open_file(path, participants, locks).map(Arc::new).map(Self)
    }

    fn party(&self, name: &str) -> Result<AtMutex, i32> {
        at_mutex(&self.0, name)
    }
}

impl Way for BakeryByParticipants {
    type Party = AtMutex;
    type ByThreads = crate::rust::BakeryByThreads;

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        open_file(path, participants, locks).map(Arc::new).map(Self)
    }

    fn party(&self, name: &str) -> Result<AtMutex, i32> {
        let at = at_mutex(&self.0, name)?;
        Ok(AtMutex { participant: Some(Arc::new(open_participant(&self.0)?)), ..at })
    }
}

impl Party for AtMutex {
    type Canceller = Arc<Owned<turnlock_participant>>;
    type Held<'a> = HeldMutex<'a>;

    fn at(&self, name: &str) -> Self {
        Self { participant: self.participant.clone(), ..at_mutex(&self.file, name).unwrap() }
    }

    fn lock(&self, wait: Wait) -> Result<HeldMutex<'_>, i32> {
        let mutex = self.mutex.handle;
        let mut acquired = MaybeUninit::uninit();
        let told = acquired.as_mut_ptr();
        // SAFETY: open handles, and a place for the news.
        let status = unsafe {
            match (&self.participant, wait) {
                (None, Wait::Never) => turnlock_mutex_try_lock(mutex, told),
                (None, Wait::For(limit)) => turnlock_mutex_lock_for(mutex, limit.as_nanos() as u64, told),
                (None, Wait::Forever) => turnlock_mutex_lock(mutex, told),
                (Some(participant), wait) => match (participant.handle, wait) {
                    (as_whom, Wait::Never) => turnlock_mutex_try_lock_as(as_whom, mutex, told),
                    (as_whom, Wait::For(limit)) => {
                        turnlock_mutex_lock_for_as(as_whom, mutex, limit.as_nanos() as u64, told)
                    }
                    (as_whom, Wait::Forever) => turnlock_mutex_lock_as(as_whom, mutex, told),
                },
            }
        };
        done(status)?;
        // SAFETY: written on success.
        Ok(HeldMutex { at: self, status, acquired: unsafe { acquired.assume_init() } })
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
        done(unsafe { turnlock_mutex_reset(self.mutex.handle) })
    }

    fn previous_owner(&self) -> Option<(u64, u32, u32, String)> {
        let mut owner = MaybeUninit::<turnlock_previous_owner>::uninit();
        // SAFETY: an open handle, and a place for the answer.
        match unsafe { turnlock_mutex_previous_owner(self.mutex.handle, owner.as_mut_ptr()) } {
            TURNLOCK_OK => {
                // SAFETY: written on success.
                let owner = unsafe { owner.assume_init() };
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

impl WithoutGuards for AtMutex {
    fn unlock_without_asking(&self) -> Result<(), i32> {
        // SAFETY: open handles.
        done(unsafe {
            match &self.participant {
                None => turnlock_mutex_unlock(self.mutex.handle),
                Some(participant) => turnlock_mutex_unlock_as(participant.handle, self.mutex.handle),
            }
        })
    }

    fn mark_consistent_without_asking(&self) -> Result<(), i32> {
        // SAFETY: open handles.
        done(unsafe {
            match &self.participant {
                None => turnlock_mutex_mark_consistent(self.mutex.handle),
                Some(participant) => turnlock_mutex_mark_consistent_as(participant.handle, self.mutex.handle),
            }
        })
    }
}

impl Held for HeldMutex<'_> {
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
