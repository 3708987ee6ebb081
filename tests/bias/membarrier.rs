//! Machines that refuse `membarrier`, from the beginning or later.

use super::enter_often;
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
};
use turnlock::{LockFile, inspect};

/// Has the kernel refuse membarrier from now on, as a container's filter may.
fn refuse_membarrier() {
    const LOAD_SYSTEM_CALL_NUMBER: libc::sock_filter = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    let skip_unless = libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: libc::SYS_membarrier as u32 };
    let answer = |k| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
    let filter = [
        LOAD_SYSTEM_CALL_NUMBER,
        skip_unless,
        answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: a filter program of our own, read by the kernel during the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}

pub fn forbids_membarrier(words: &[String]) {
    refuse_membarrier();
    match LockFile::open(&words[0]).and_then(|file| file.mutex("a")) {
        Err(error) => say(&error.to_string()),
        Ok(mutex) => {
            enter_often(&mutex);
            say("takes part");
            hear();
            enter_often(&mutex);
            say("took part");
        }
    }
    hear();
}

/// Where the first participant has no membarrier, all participants have full fences.
#[test]
fn without_membarrier_everybody_fences() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let mut without = Actor::start("forbids_membarrier", &[path.to_str().unwrap()]);
    without.expect("takes part");
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    without.tell("again");
    enter_often(&mutex);
    without.expect("took part");
    assert_eq!(inspect::snapshot(&path).unwrap().fences, "full");
    without.tell("end");
    without.end_well();
}

pub fn loses_membarrier(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let (tell_owner, told_owner) = std::sync::mpsc::channel();
    let owner = std::thread::spawn({
        let mutex = mutex.clone();
        move || {
            enter_often(&mutex);
            tell.send(()).unwrap();
            told_owner.recv().unwrap();
            enter_often(&mutex);
        }
    });
    told.recv().unwrap();
    // This thread alone loses it.
    refuse_membarrier();
    say(&mutex.lock().map(drop).unwrap_err().to_string());
    hear();
    tell_owner.send(()).unwrap();
    owner.join().unwrap();
    // Its slot is detached: the lock has no bias owner.
    drop(mutex.lock().unwrap());
    say("inside");
}

/// A filter that comes after the file was opened: a participant that cannot revoke a bias is told so at once, and what to do;
/// the others are not held up, and it takes part again once the lock has no bias owner.
#[test]
fn one_that_membarrier_is_taken_from_is_told_at_once_what_to_do() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let mut loses = Actor::start("loses_membarrier", &[path.to_str().unwrap()]);
    let said = loses.hear();
    assert!(said.contains("membarrier") && said.contains("TURNLOCK_FILE_FULL_FENCES"), "{said}");
    assert!(inspect::snapshot(&path).unwrap().locks[0].queue.is_empty());
    loses.tell("go on");
    loses.expect("inside");
    loses.end_well();
}

pub fn opens_before_it_takes_part(words: &[String]) {
    refuse_membarrier();
    let file = LockFile::open(&words[0]).unwrap();
    say("open");
    hear();
    drop(file.mutex("a").unwrap().lock().unwrap());
    say("took part");
}

/// One that has it opens the file later, and locks first.
#[test]
fn without_membarrier_a_file_that_nobody_uses_does_without_from_the_opening_on() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    enter_often(&LockFile::open(&path).unwrap().mutex("a").unwrap());
    let mut without = Actor::start("opens_before_it_takes_part", &[path.to_str().unwrap()]);
    without.expect("open");
    assert_eq!(inspect::snapshot(&path).unwrap().fences, "full");
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    without.tell("lock");
    without.expect("took part");
    without.end_well();
}

/// Where one process relies on membarrier already, another one without it is told so, and nothing is changed.
#[test]
fn one_without_membarrier_is_refused_among_those_who_rely_on_it() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    enter_often(&mutex);
    let mut without = Actor::start("forbids_membarrier", &[path.to_str().unwrap()]);
    let said = without.hear();
    assert!(said.contains("membarrier"), "{said}");
    assert_eq!(inspect::snapshot(&path).unwrap().fences, "membarrier");
    enter_often(&mutex);
    // Once no participant is left, the file goes over to full fences.
    drop((mutex, file));
    let mut without = Actor::start("forbids_membarrier", &[path.to_str().unwrap()]);
    without.expect("takes part");
    assert_eq!(inspect::snapshot(&path).unwrap().fences, "full");
}

/// Words: the lock file. The filter comes after the file was opened.
pub fn is_refused_after_the_opening(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    refuse_membarrier();
    say("open");
    while hear() == "lock" {
        match file.mutex("a").and_then(|mutex| mutex.lock().map(drop)) {
            Ok(()) => say("took part"),
            Err(error) => say(&error.to_string()),
        }
    }
}

/// It is refused while one takes part who relies on membarrier, and no longer, though it opens the file only once.
#[test]
fn one_without_membarrier_takes_part_as_soon_as_those_who_rely_on_it_are_dead() {
    let _no_hang = NoHang::for_seconds(60);
    if !inspect::has_membarrier() {
        println!("skipped: the kernel has not both barriers");
        return;
    }
    let place = Place::new();
    let path = place.lock_file();
    let mut without = Actor::start("is_refused_after_the_opening", &[path.to_str().unwrap()]);
    without.expect("open");
    let mut relies = Actor::start("owns_the_bias", &[path.to_str().unwrap()]);
    relies.expect("owns");
    for _ in 0..2 {
        without.tell("lock");
        let said = without.hear();
        assert!(said.contains("membarrier"), "{said}");
        assert_eq!(inspect::snapshot(&path).unwrap().fences, "membarrier");
    }
    relies.kill();
    without.tell("lock");
    without.expect("took part");
    assert_eq!(inspect::snapshot(&path).unwrap().fences, "full");
    without.tell("end");
    without.end_well();
}
