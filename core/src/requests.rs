//! The requests of one process for one lock, of which futures and descriptors wait: served in the order of their arrival, by one
//! thread for all of them.
//!
//! What waits for a lock in the file is a participant, in a call that blocks its thread. A future has no thread that may block. So it
//! leaves a *request* here, and a thread of the process, the *server*, makes that call for the first of them, hands over what came of
//! it, and goes on with the next one.
//!
//! | a request | until | what a withdrawal does then |
//! |---|---|---|
//! | waits, and others do before it | those are served or withdrawn | it is gone |
//! | is served: it is the first, and the server is in [`Job::acquire`] for it | that returns | it is gone, and the call is cancelled. What the call got in spite of that the server gives back |
//! | is granted, or has failed | its future takes what it was granted | the withdrawal returns what it was granted |
//!
//! What is shared, or in parts, may be granted to several at once. The server waits before it acquires more while a number of requests
//! have been granted something that their futures have not taken: those may come late, and each keeps a slot of the file meanwhile.
//!
//! One mutex guards all of it. Jobs acquire and give back, and wakers are woken, cloned and dropped, outside of it; only
//! [`Job::cancel`] is called inside.

use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError},
    task::Waker,
    time::Duration,
};

/// What the server does for a request. It panics in none of these.
pub trait Job {
    /// What is acquired.
    type Granted;

    /// Has what it needs to acquire. From then on [`Job::cancel`] ends the call.
    ///
    /// # Errors
    /// The request fails with it.
    fn prepare(&self) -> Result<()>;

    /// Acquires, however long that takes. With an error nothing is held.
    fn acquire(&self) -> Result<Self::Granted>;

    /// Has [`Job::acquire`] return [`Error::Cancelled`] if it waits, or would have to. May be called at any time before `acquire` returns.
    fn cancel(&self);

    /// Gives back what was acquired for a request that was withdrawn, and what [`Job::prepare`] took.
    fn give_back(&self, granted: Result<Self::Granted>);
}

/// The requests of one process for one lock.
pub struct Requests<J: ?Sized + Job> {
    state: Mutex<State<J>>,
    /// Notified when the server may have something to do: a request has joined, or what was granted was taken.
    changed: Condvar,
}

struct State<J: ?Sized + Job> {
    /// The number of the request that joined last.
    last: u64,
    /// By their numbers. The one that is served is among them, and the first.
    waiting: BTreeMap<u64, Waiting<J>>,
    granted: BTreeMap<u64, Result<J::Granted>>,
    /// How many of the granted have something.
    untaken: usize,
    has_server: bool,
}

impl<J: ?Sized + Job> State<J> {
    /// Returns what the request was granted, if it was.
    fn take_granted(&mut self, number: u64) -> Option<Result<J::Granted>> {
        let granted = self.granted.remove(&number);
        self.untaken -= usize::from(matches!(granted, Some(Ok(_))));
        granted
    }
}

struct Waiting<J: ?Sized> {
    job: Arc<J>,
    waker: Waker,
}

/// A request that has joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Its number.
    pub number: u64,
    /// Whether the caller is to have a thread run [`Requests::serve`], or call [`Requests::fail_all`] if there is none to be had.
    pub needs_server: bool,
}

impl<J: ?Sized + Job> Default for Requests<J> {
    fn default() -> Self {
        let (waiting, granted) = (BTreeMap::new(), BTreeMap::new());
        Self {
            state: Mutex::new(State { last: 0, waiting, granted, untaken: 0, has_server: false }),
            changed: Condvar::new(),
        }
    }
}

impl<J: ?Sized + Job> Requests<J> {
    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.state().waiting.is_empty()
    }

    /// Adds a request at the end. `waker` is woken when it is granted.
    pub fn join(&self, job: Arc<J>, waker: Waker) -> Joined {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        state.waiting.insert(number, Waiting { job, waker });
        let needs_server = !std::mem::replace(&mut state.has_server, true);
        drop(state);
        if !needs_server {
            self.changed.notify_one();
        }
        Joined { number, needs_server }
    }

    /// Returns what the request was granted, or why it failed; `None`: it waits, and `waker` is woken instead of the earlier one.
    /// Not called again after it has returned something.
    pub fn poll(&self, number: u64, waker: &Waker) -> Option<Result<J::Granted>> {
        let new = waker.clone();
        let mut state = self.state();
        let granted = state.take_granted(number);
        let old = state.waiting.get_mut(&number).map(|waiting| std::mem::replace(&mut waiting.waker, new));
        drop(state);
        drop(old);
        self.call_server_after(&granted);
        granted
    }

    /// Ends the request. Returns what it was granted, if it was, and no other call has taken it; the caller gives that back.
    pub fn withdraw(&self, number: u64) -> Option<Result<J::Granted>> {
        let mut state = self.state();
        let waiting = state.waiting.remove(&number);
        if let Some(waiting) = &waiting {
            // Inside, so that it comes before the end of this call and of no other one.
            waiting.job.cancel();
        }
        let granted = state.take_granted(number);
        drop(state);
        drop(waiting);
        self.call_server_after(&granted);
        granted
    }

    /// The server may wait for what was taken.
    fn call_server_after(&self, taken: &Option<Result<J::Granted>>) {
        if matches!(taken, Some(Ok(_))) {
            self.changed.notify_one();
        }
    }

    /// Serves the requests until there has been none for as long as `idle`, and never acquires while `ahead` of them have something that
    /// they have not taken. For the thread that [`Joined::needs_server`] asks for.
    pub fn serve(&self, idle: Duration, ahead: usize) {
        while let Some((number, job)) = self.next(idle, ahead) {
            let granted = match job.prepare() {
                // One that is withdrawn after this look cancels the call.
                Ok(()) if self.is_withdrawn(number) => Err(Error::Cancelled),
                Ok(()) => job.acquire(),
                Err(error) => Err(error),
            };
            match self.grant(number, granted) {
                Ok(waker) => wake(waker),
                Err(granted) => job.give_back(granted),
            }
        }
    }

    /// Has a request fail with `error`, as though it were granted that, if it waits. For its time limit. Returns whether it did.
    pub fn fail(&self, number: u64, error: Error) -> bool {
        let mut state = self.state();
        let Some(Waiting { job, waker }) = state.waiting.remove(&number) else { return false };
        // Inside, as in `withdraw`.
        job.cancel();
        state.granted.insert(number, Err(error));
        drop(state);
        drop(job);
        wake(waker);
        true
    }

    /// Has all requests fail, each with an error that `error` makes: no thread is to be had for them.
    pub fn fail_all(&self, mut error: impl FnMut() -> Error) {
        let mut state = self.state();
        state.has_server = false;
        let failed = std::mem::take(&mut state.waiting);
        state.granted.extend(failed.keys().map(|number| (*number, Err(error()))));
        drop(state);
        failed.into_values().for_each(|failed| wake(failed.waker));
    }

    /// Returns the first request, once there is one and it may be served. `None`: there was none for as long as `idle`, and the next one that joins needs a
    /// server.
    fn next(&self, idle: Duration, ahead: usize) -> Option<(u64, Arc<J>)> {
        let mut state = self.state();
        let mut is_over = idle.is_zero();
        loop {
            let first = state.waiting.first_key_value().map(|(number, first)| (*number, first));
            if let Some((number, first)) = first.filter(|_| state.untaken < ahead) {
                return Some((number, first.job.clone()));
            }
            if is_over && first.is_none() {
                state.has_server = false;
                return None;
            }
            let waited = self.changed.wait_timeout(state, idle).unwrap_or_else(PoisonError::into_inner);
            (state, is_over) = (waited.0, waited.1.timed_out());
        }
    }

    fn is_withdrawn(&self, number: u64) -> bool {
        !self.state().waiting.contains_key(&number)
    }

    /// Hands over what came of the call for a request. Returns its waker; or, if it was withdrawn, what is to be given back.
    fn grant(
        &self,
        number: u64,
        granted: Result<J::Granted>,
    ) -> std::result::Result<Waker, Result<J::Granted>> {
        let mut state = self.state();
        let Some(Waiting { waker, job }) = state.waiting.remove(&number) else { return Err(granted) };
        state.untaken += usize::from(granted.is_ok());
        state.granted.insert(number, granted);
        drop(state);
        drop(job);
        Ok(waker)
    }
}

/// A panic of a waker is that of its executor, and ends here: the next request is served all the same.
fn wake(waker: Waker) {
    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
}
