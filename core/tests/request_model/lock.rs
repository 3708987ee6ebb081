//! A lock out of loom's mutex and condition variable, the job that acquires it, and a future's side of a request.

use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::{
    sync::Arc,
    task::{Wake, Waker},
    time::Duration,
};
use turnlock_core::error::{Error, Result};
use turnlock_core::requests::{Job, Joined, Requests};

/// The lock.
pub struct Lock {
    is_held: Mutex<bool>,
    changed: Condvar,
}

impl Lock {
    pub fn new(is_held: bool) -> Arc<Self> {
        Arc::new(Self { is_held: Mutex::new(is_held), changed: Condvar::new() })
    }

    pub fn release(&self) {
        assert!(std::mem::replace(&mut *self.is_held.lock().unwrap(), false), "released twice");
        self.changed.notify_all();
    }

    pub fn check_free(&self) {
        assert!(!*self.is_held.lock().unwrap(), "STILL HELD");
    }
}

/// Acquires the lock.
pub struct Acquires {
    lock: Arc<Lock>,
    /// Whether there is something that can be cancelled, and whether it was: touched with the lock's mutex.
    call: Mutex<(bool, bool)>,
}

impl Job for Acquires {
    type Granted = ();

    fn prepare(&self) -> Result<()> {
        self.call.lock().unwrap().0 = true;
        Ok(())
    }

    fn acquire(&self) -> Result<()> {
        let mut is_held = self.lock.is_held.lock().unwrap();
        while *is_held {
            if self.call.lock().unwrap().1 {
                return Err(Error::Cancelled);
            }
            is_held = self.lock.changed.wait(is_held).unwrap();
        }
        *is_held = true;
        Ok(())
    }

    fn cancel(&self) {
        let _inside = self.lock.is_held.lock().unwrap();
        let mut call = self.call.lock().unwrap();
        call.1 = call.0;
        self.lock.changed.notify_all();
    }

    fn give_back(&self, granted: Result<()>) {
        if granted.is_ok() {
            self.lock.release();
        }
    }
}

/// Wakes a thread that waits for a future.
struct Parked {
    is_woken: Mutex<bool>,
    woken: Condvar,
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        *self.is_woken.lock().unwrap() = true;
        self.woken.notify_all();
    }
}

/// The requests for one lock.
pub type ForLock = Arc<Requests<Acquires>>;

/// A future that has left a request.
pub struct Future {
    requests: ForLock,
    number: u64,
    lock: Arc<Lock>,
    parked: Arc<Parked>,
}

impl Future {
    /// Leaves a request for the lock. Returns the server's thread too, if it needs one.
    pub fn join(requests: &ForLock, lock: &Arc<Lock>) -> (Self, Option<thread::JoinHandle<()>>) {
        Self::join_served(requests, lock, usize::MAX)
    }

    /// [`Future::join`], with a server that acquires while fewer than `ahead` have not taken what they were given.
    pub fn join_served(
        requests: &ForLock,
        lock: &Arc<Lock>,
        ahead: usize,
    ) -> (Self, Option<thread::JoinHandle<()>>) {
        let parked = Arc::new(Parked { is_woken: Mutex::new(false), woken: Condvar::new() });
        let job = Arc::new(Acquires { lock: lock.clone(), call: Mutex::new((false, false)) });
        let Joined { number, needs_server } = requests.join(job, Waker::from(parked.clone()));
        let its = requests.clone();
        let server = needs_server.then(|| thread::spawn(move || its.serve(Duration::ZERO, ahead)));
        (Self { requests: requests.clone(), number, lock: lock.clone(), parked }, server)
    }

    /// Waits until something comes of it.
    pub fn wait(self) -> Result<()> {
        let waker = Waker::from(self.parked.clone());
        loop {
            if let Some(granted) = self.requests.poll(self.number, &waker) {
                return granted;
            }
            let mut is_woken = self.parked.is_woken.lock().unwrap();
            while !*is_woken {
                is_woken = self.parked.woken.wait(is_woken).unwrap();
            }
            *is_woken = false;
        }
    }

    pub fn withdraw(self) {
        if let Some(Ok(())) = self.requests.withdraw(self.number) {
            self.lock.release();
        }
    }

    pub fn fail(&self) {
        self.requests.fail(self.number, Error::Interrupted);
    }
}
