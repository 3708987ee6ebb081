//! Locks through the C ABI: by threads, and by holds.

use crate::{
    c_functions::{Functions, Open},
    c_handles::{Owned, current_hold, open_file, open_hold, sized},
    way::{Cancel, Held, Party, Wait, Way, WithoutGuards},
};
use std::{
    ffi::{CStr, CString},
    marker::PhantomData,
    os::fd::BorrowedFd,
    path::Path,
    sync::Arc,
    time::Duration,
};
use support::limit::{is_readable, of_processes};
use turnlock::{capi::*, inspect::WaiterState, status::*};

fn done(status: i32) -> Result<(), i32> {
    if status < 0 { Err(status) } else { Ok(()) }
}

impl Cancel for Owned<turnlock_hold> {
    fn cancel(&self) {
        // SAFETY: an open handle.
        assert_eq!(unsafe { turnlock_hold_cancel(self.handle) }, TURNLOCK_OK);
    }

    fn take_back(&self) {
        // SAFETY: an open handle.
        assert_eq!(unsafe { turnlock_hold_clear_cancel(self.handle) }, TURNLOCK_OK);
    }
}

/// A kind of lock through the C ABI, by threads.
pub struct ByThreads<L>(Arc<Owned<turnlock_file>>, PhantomData<fn() -> L>);
/// A kind of lock through the C ABI, by holds that begin, poll and finish.
pub struct ByBegun<L>(ByHolds<L>);
/// A kind of lock through the C ABI, by holds.
pub struct ByHolds<L>(Arc<Owned<turnlock_file>>, PhantomData<fn() -> L>);

pub type BakeryByThreads = ByThreads<turnlock_mutex>;
pub type BakeryByHolds = ByHolds<turnlock_mutex>;
pub type BakeryByBegun = ByBegun<turnlock_mutex>;
pub type RingByThreads = ByThreads<turnlock_ring>;
pub type RingByHolds = ByHolds<turnlock_ring>;
pub type RingByBegun = ByBegun<turnlock_ring>;
/// Exclusively.
pub type RwLockByBegun = ByBegun<turnlock_rwlock>;
/// Exclusively.
pub type RwLockByThreads = ByThreads<turnlock_rwlock>;
/// Exclusively.
pub type RwLockByHolds = ByHolds<turnlock_rwlock>;

/// A thread, or a hold, at a lock.
pub struct AtLock<L> {
    // Dropped in this order: the hold is closed, then the lock, then (by the last) the file.
    pub hold: Option<Arc<Owned<turnlock_hold>>>,
    pub mutex: Owned<L>,
    pub file: Arc<Owned<turnlock_file>>,
    /// How its locks are opened, and created.
    pub open: Open<L>,
    /// Whether the hold begins, is polled and finishes.
    pub begins: bool,
}

pub type AtMutex = AtLock<turnlock_mutex>;

pub struct HeldLock<'a, L> {
    at: &'a AtLock<L>,
    /// A hold of its own, where that of the party has another lock.
    another: Option<Owned<turnlock_hold>>,
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
    Ok(AtLock { hold: None, mutex: open(file, &name)?, file: file.clone(), open, begins: false })
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

impl<L: Functions> Way for ByHolds<L> {
    type Party = AtLock<L>;
    type ByThreads = L::ByThreads;

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        Ok(Self(Arc::new(open_file(path, participants, locks)?), PhantomData))
    }

    fn party(&self, name: &str) -> Result<AtLock<L>, i32> {
        let at = at_lock(&self.0, name)?;
        Ok(AtLock { hold: Some(Arc::new(open_hold(&self.0)?)), ..at })
    }

    fn party_where_death_releases(&self, name: &str) -> Result<AtLock<L>, i32> {
        L::CREATE_RELEASING(&self.0, &CString::new(name).unwrap())?;
        self.party(name)
    }
}

impl<L: Functions> Way for ByBegun<L> {
    type Party = AtLock<L>;
    type ByThreads = L::ByThreads;

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        ByHolds::open(path, participants, locks).map(Self)
    }

    fn party(&self, name: &str) -> Result<AtLock<L>, i32> {
        Ok(AtLock { begins: true, ..self.0.party(name)? })
    }

    fn party_where_death_releases(&self, name: &str) -> Result<AtLock<L>, i32> {
        Ok(AtLock { begins: true, ..self.0.party_where_death_releases(name)? })
    }
}

impl<L> AtLock<L> {
    /// The lock, as one of any kind.
    pub fn any(&self) -> *const turnlock_lock {
        self.mutex.handle.cast_const().cast()
    }
}

/// What a program with an event loop does, with nothing else in its loop.
///
/// # Safety
/// As `turnlock_hold_acquire`.
pub unsafe fn begin_and_finish(
    hold: &Owned<turnlock_hold>,
    request: &turnlock_request,
    acquired: *mut turnlock_acquired,
) -> i32 {
    let mut descriptor = -1;
    // SAFETY: the caller's promise, and a place for the number.
    let begun = unsafe { turnlock_hold_begin_acquire(hold.handle, request) };
    if begun != TURNLOCK_OK {
        return begun;
    }
    // SAFETY: likewise.
    assert_eq!(unsafe { turnlock_hold_fd(hold.handle, &mut descriptor) }, TURNLOCK_OK);
    // SAFETY: it is the hold's, and open as long as that is.
    let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
    assert!(is_readable(&descriptor, of_processes()), "nothing comes of it");
    // SAFETY: the caller's promise.
    let finished = unsafe { turnlock_hold_finish_acquire(hold.handle, acquired) };
    assert!(finished != TURNLOCK_ERROR_WOULD_BLOCK && !is_readable(&descriptor, Duration::ZERO));
    finished
}

/// Again, as long as another thread is in a brief call by the hold.
pub fn unless_busy(act: impl Fn() -> i32) -> i32 {
    loop {
        match act() {
            TURNLOCK_ERROR_HOLD_BUSY => std::thread::yield_now(),
            status => return status,
        }
    }
}

impl<L: Functions> Party for AtLock<L> {
    type Canceller = Arc<Owned<turnlock_hold>>;
    type Held<'a> = HeldLock<'a, L>;

    fn at(&self, name: &str) -> Self {
        let at = at_lock_opened_by(self.open, &self.file, name).unwrap();
        Self { hold: self.hold.clone(), begins: self.begins, ..at }
    }

    fn lock(&self, wait: Wait) -> Result<HeldLock<'_, L>, i32> {
        let mutex = self.mutex.handle;
        let mut acquired = sized::<turnlock_acquired>();
        let told = &mut acquired;
        let Some(hold) = &self.hold else {
            // SAFETY: an open handle, and a place for the notice.
            let status = unsafe {
                match wait {
                    Wait::Never => L::TRY_LOCK(mutex, told),
                    Wait::For(limit) => L::LOCK_FOR(mutex, limit.as_nanos() as u64, told),
                    Wait::Forever => L::LOCK(mutex, told),
                }
            };
            done(status)?;
            return Ok(HeldLock { at: self, another: None, status, acquired });
        };
        let (wait, time_ns) = match wait {
            Wait::Never => (TURNLOCK_WAIT_NEVER, 0),
            Wait::For(limit) => (TURNLOCK_WAIT_AT_MOST, limit.as_nanos() as u64),
            Wait::Forever => (TURNLOCK_WAIT_FOREVER, 0),
        };
        let request = turnlock_request { lock: self.any(), wait, time_ns, ..sized() };
        // SAFETY: open handles, a request of the right size, and a place for the notice.
        let mut acquire = |hold: &Owned<turnlock_hold>| unsafe {
            if self.begins {
                return begin_and_finish(hold, &request, told);
            }
            turnlock_hold_acquire(hold.handle, &request, told)
        };
        let (mut status, mut another) = (acquire(hold), None);
        // It has another lock, and one at a time: that is what several holds are for.
        if status == TURNLOCK_ERROR_STILL_HELD {
            let hold = another.insert(open_hold(&self.file)?);
            status = acquire(hold);
        }
        done(status)?;
        Ok(HeldLock { at: self, another, status, acquired })
    }

    fn canceller(&self) -> Self::Canceller {
        // A handle of its own for a thread; a hold has one handle, shared here.
        match &self.hold {
            None => Arc::new(current_hold(&self.file).unwrap()),
            Some(hold) => hold.clone(),
        }
    }

    fn reset(&self, wait: Wait) -> Result<(), i32> {
        // SAFETY: an open handle.
        done(unsafe {
            match wait {
                Wait::Never => turnlock_lock_try_reset(self.any()),
                Wait::For(limit) => turnlock_lock_reset_for(self.any(), limit.as_nanos() as u64),
                Wait::Forever => turnlock_lock_reset(self.any()),
            }
        })
    }

    fn holder(&self) -> Option<(u64, u32, u32)> {
        let (mut holder, mut count) = (sized::<turnlock_participant_info>(), usize::MAX);
        // SAFETY: an open handle, and places for the answer.
        let status = unsafe { turnlock_lock_holders(self.any(), 1, &mut holder, &mut count) };
        assert_eq!(status, TURNLOCK_OK);
        assert!(count <= 1, "{count} hold it exclusively");
        (count == 1).then(|| {
            assert_eq!((holder.state, holder.mode), (TURNLOCK_STATE_HOLDING, TURNLOCK_MODE_EXCLUSIVE));
            (holder.fencing_token, holder.pid, holder.thread)
        })
    }

    fn waiters(&self) -> Vec<(u32, WaiterState)> {
        let (mut waiters, mut count) = ([sized::<turnlock_participant_info>(); 16], 0);
        // SAFETY: an open handle, an array as long as said, and a place for the number.
        let status =
            unsafe { turnlock_lock_waiters(self.any(), waiters.len(), waiters.as_mut_ptr(), &mut count) };
        assert_eq!(status, TURNLOCK_OK);
        let state = |state| match state {
            TURNLOCK_STATE_QUEUED => WaiterState::Queued,
            TURNLOCK_STATE_BACKED_OFF => WaiterState::BackedOff,
            TURNLOCK_STATE_RING_MEMBER => WaiterState::RingMember,
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
        match unsafe { turnlock_lock_previous_owner(self.any(), &mut owner) } {
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

impl Cancel for Arc<Owned<turnlock_hold>> {
    fn cancel(&self) {
        (**self).cancel();
    }

    fn take_back(&self) {
        (**self).take_back();
    }
}

impl<L: Functions> WithoutGuards for AtLock<L> {
    fn names_the_lock(&self) -> bool {
        self.hold.is_none()
    }

    fn unlock_without_asking(&self) -> Result<(), i32> {
        // SAFETY: open handles.
        done(unsafe {
            match &self.hold {
                None => L::UNLOCK(self.mutex.handle),
                Some(hold) => unless_busy(|| turnlock_hold_release(hold.handle)),
            }
        })
    }

    fn mark_consistent_without_asking(&self) -> Result<(), i32> {
        // SAFETY: open handles.
        done(unsafe {
            match &self.hold {
                None => L::MARK_CONSISTENT(self.mutex.handle),
                Some(hold) => turnlock_hold_mark_consistent(hold.handle),
            }
        })
    }
}

impl<L> HeldLock<'_, L> {
    /// The hold by which it is held, if it is not the thread's.
    fn hold(&self) -> Option<*const turnlock_hold> {
        let hold = self.another.as_ref().or(self.at.hold.as_deref())?;
        Some(hold.handle)
    }
}

impl<L: Functions> Held for HeldLock<'_, L> {
    fn fencing_token(&self) -> u64 {
        if let Some(hold) = self.hold() {
            let mut token = 0;
            // SAFETY: an open handle, and a place for the token.
            assert_eq!(unsafe { turnlock_hold_fencing_token(hold, &mut token) }, TURNLOCK_OK);
            assert_eq!(token, self.acquired.fencing_token);
        }
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
        // SAFETY: open handles.
        let said = unsafe {
            match self.hold() {
                None => turnlock_lock_is_contended(self.at.any()),
                Some(hold) => turnlock_hold_is_contended(hold),
            }
        };
        assert!(matches!(said, TURNLOCK_OK | TURNLOCK_CONTENDED), "{said}");
        said == TURNLOCK_CONTENDED
    }

    fn unlock(self) -> Result<(), i32> {
        match &self.another {
            None => self.at.unlock_without_asking(),
            // SAFETY: an open handle.
            Some(hold) => done(unless_busy(|| unsafe { turnlock_hold_release(hold.handle) })),
        }
    }
}
