//! Victims that have permits of a semaphore.

use super::rwlock::{go, usual};
use crate::{
    claims::{PERMITS, Stage, meets_its_fate},
    oracle::{LOCK, PATIENCE},
    tracee::{begin, end},
    trial::Trial,
};
use std::{ffi::CString, mem::forget, os::unix::ffi::OsStrExt, ptr};
use turnlock::{LockFile, Semaphore, capi::*, status::TURNLOCK_OK};

type Permits = Stage<Semaphore>;

pub fn acquires(trial: &Trial) {
    usual(trial, Permits::new(trial), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        stage.lock.acquire(2).unwrap().unlock().unwrap();
    });
}

pub fn acquires_by_its_place(trial: &Trial) {
    usual(trial, Permits::new(trial), |stage| {
        (0..3).for_each(|_| drop(stage.lock.acquire(1).unwrap()));
        begin();
        stage.lock.acquire(1).unwrap().unlock().unwrap();
        stage.lock.acquire(1).unwrap().unlock().unwrap();
    });
}

pub fn acquires_what_a_dead_one_had(trial: &Trial) {
    let stage = Permits::new(trial);
    trial.dead_one(|| forget(stage.lock.acquire(PERMITS).unwrap()));
    // By a try, which does not spin before it asks whether that one is alive.
    usual(trial, stage, |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        stage.lock.try_acquire(2).unwrap().unlock().unwrap();
    });
}

/// Permits come back when the victim falls asleep.
pub fn waits_for_permits(trial: &Trial) {
    let stage = Permits::new(trial);
    let lock = stage.lock.clone();
    let mut held = Some(lock.acquire(2).unwrap());
    let mut victim = trial.victim(|| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        stage.lock.acquire(2).unwrap().unlock().unwrap();
        end(trial.arena)
    });
    victim.go(|call| {
        if call.is_futex_wait() {
            drop(held.take());
        }
    });
    meets_its_fate(trial, stage, victim, vec![], || drop(held));
}

/// More of them, by a slot of its own.
pub fn acquires_more(trial: &Trial) {
    usual(trial, Permits::new(trial), |stage| {
        let first = stage.lock.acquire(1).unwrap();
        begin();
        stage.lock.acquire(1).unwrap().unlock().unwrap();
        first.unlock().unwrap();
    });
}

/// Gives back one of two permits, by the C ABI, and then the other. A waiter that wants two of three sleeps.
pub fn releases_one_by_one(trial: &Trial) {
    let stage = Permits::new(trial);
    let semaphore = in_c(&stage.file);
    let mut victim = trial.victim(|| {
        forget(stage.lock.acquire(2).unwrap());
        begin();
        for _ in 0..2 {
            // SAFETY: an open handle.
            assert_eq!(unsafe { turnlock_semaphore_release(semaphore, 1) }, TURNLOCK_OK);
        }
        end(trial.arena)
    });
    let other = trial.bystander(|| {
        let me = stage.file.participant().unwrap();
        stage.lock.acquire_for_as(&me, 2, PATIENCE).unwrap().unlock().unwrap();
    });
    super::until_asleep(trial, 1);
    victim.go(|_| {});
    let close = || {
        // SAFETY: a handle that this process does not use any more.
        assert_eq!(unsafe { turnlock_semaphore_close(semaphore) }, TURNLOCK_OK);
    };
    meets_its_fate(trial, stage, victim, vec![other], close);
}

fn in_c(file: &LockFile) -> *mut turnlock_semaphore {
    let path = CString::new(file.path().as_os_str().as_bytes()).unwrap();
    let name = CString::new(LOCK).unwrap();
    let (mut in_c, mut semaphore) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: C strings, and places for the handles.
    unsafe {
        assert_eq!(turnlock_file_open(path.as_ptr(), ptr::null(), &mut in_c), TURNLOCK_OK);
        let opened = turnlock_semaphore_open(in_c, name.as_ptr(), ptr::null(), &mut semaphore);
        assert_eq!(opened, TURNLOCK_OK);
        assert_eq!(turnlock_file_close(in_c), TURNLOCK_OK);
    }
    semaphore
}

pub fn resizes(trial: &Trial) {
    let stage = Permits::new(trial);
    let lock = stage.lock.clone();
    let held = lock.acquire(PERMITS).unwrap();
    let release = || drop(held);
    go(
        trial,
        stage,
        vec![],
        release,
        |_| (),
        |stage| {
            begin();
            stage.lock.resize(PERMITS + 1).unwrap();
        },
    );
}
