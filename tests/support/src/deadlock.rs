//! A deadlock, for commands to look at.

use crate::until;
use std::{path::Path, sync, thread};
use turnlock::{Error, LockFile, Participant};

/// Does `act` while two threads of this process wait for one another, at the mutexes "a" and "b" of the file, once `is_seen` says that
/// it is seen. Neither thread is told.
pub fn with_deadlock(file: &Path, is_seen: impl Fn() -> bool, act: impl FnOnce()) {
    let file = LockFile::options().deadlock_errors(false).open(file).unwrap();
    let [a, b] = ["a", "b"].map(|name| file.mutex(name).unwrap());
    let both = sync::Barrier::new(2);
    let (sender, receiver) = sync::mpsc::channel();
    thread::scope(|threads| {
        for (first, second) in [(&a, &b), (&b, &a)] {
            let sender = sender.clone();
            let (file, both) = (&file, &both);
            threads.spawn(move || {
                let own = file.current_participant().unwrap();
                let _first = first.lock().unwrap();
                both.wait();
                sender.send(own).unwrap();
                let waited = second.lock();
                // Or the other one was cancelled first.
                assert!(matches!(waited, Ok(_) | Err(Error::Cancelled)), "{waited:?}");
            });
        }
        let _end = CancelsAtEnd([(); 2].map(|()| receiver.recv().unwrap()));
        until("they wait for one another", is_seen);
        act();
    });
}

/// Cancels the waits of these, also where a test has failed.
struct CancelsAtEnd([Participant; 2]);

impl Drop for CancelsAtEnd {
    fn drop(&mut self) {
        self.0.iter().for_each(Participant::cancel);
    }
}
