//! Processes that lack something: descriptors to open, /proc, a root with files in it.

use std::{ffi::CString, fs, sync::Barrier};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    until,
};
use turnlock::{
    Error, LockFile,
    inspect::{self, Life},
};

/// Has no descriptor of its own any more, and may open none: waits.
pub fn waits_without_descriptors(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    say("open");
    hear();
    let none = libc::rlimit { rlim_cur: 3, rlim_max: 64 };
    // SAFETY: nothing that runs after this uses a descriptor above 2 that it opened before.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &none), 0);
        assert_eq!(libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32), 0);
    }
    say("waits");
    let guard = mutex.lock().unwrap();
    say(if guard.acquired().previous_owner_died { "told" } else { "not told" });
}

/// It cannot see who is alive: it waits for a dead one, says so to `status`, and sees again as soon as it can.
#[test]
fn a_participant_that_can_open_no_descriptor_waits_and_status_says_that_it_sees_no_deaths() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let path = place.lock_file();
    let mut waiter = Actor::start("waits_without_descriptors", &[path.to_str().unwrap()]);
    waiter.expect("open");
    let mut holder = Actor::start("holds", &[path.to_str().unwrap()]);
    holder.expect("inside");
    waiter.tell("go on");
    waiter.expect("waits");
    holder.kill();
    let cannot_probe = || {
        let status = inspect::snapshot(&path).unwrap();
        status
            .participants
            .iter()
            .any(|one| one.pid == waiter.pid() && one.cannot_probe && one.life == Life::Alive)
    };
    until("it says that it cannot probe", cannot_probe);
    let some = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
    // SAFETY: sets a limit of a process of our own.
    unsafe {
        assert_eq!(libc::prlimit(waiter.pid() as i32, libc::RLIMIT_NOFILE, &some, std::ptr::null_mut()), 0)
    };
    waiter.expect("told");
    waiter.end_well();
}

/// In another root, with nothing in it: not even /proc.
pub fn creates_in_an_empty_root(words: &[String]) {
    let root = CString::new(words[0].as_str()).unwrap();
    // SAFETY: a C string.
    if unsafe { libc::chroot(root.as_ptr()) } != 0 {
        return say("not allowed");
    }
    std::env::set_current_dir("/").unwrap();
    let mutex = LockFile::open("/a.lock").unwrap().mutex("a").unwrap();
    mutex.lock().unwrap().unlock().unwrap();
    say("created");
    hear();
}

#[test]
fn a_file_is_created_where_proc_is_not_mounted() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut creator = Actor::start("creates_in_an_empty_root", &[place.folder().to_str().unwrap()]);
    let said = creator.hear();
    if said != "created" {
        println!("LEFT OUT, since this machine does not allow it: another root");
        return;
    }
    let mutex = LockFile::open(place.at("a.lock")).unwrap().existing_mutex("a").unwrap();
    mutex.try_lock().unwrap().unlock().unwrap();
    assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 1, "nothing else is left there");
    creator.tell("end");
    creator.end_well();
}

/// With no descriptor to be had: two threads of this process are at the same lock, and as many slots as are free.
pub fn fills_the_slots_without_descriptors(words: &[String]) {
    let file = LockFile::options().participants(words[1].parse().unwrap()).open(&words[0]).unwrap();
    let mutex = file.mutex("a").unwrap();
    drop(mutex.lock().unwrap());
    let none = libc::rlimit { rlim_cur: 3, rlim_max: 64 };
    // SAFETY: sets a limit of this process.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &none) }, 0);
    let (inside, done) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let guard = mutex.lock().unwrap();
            inside.wait();
            done.wait();
            guard.unlock().unwrap();
        });
        inside.wait();
        // All at once, more than there is room for.
        let others: Vec<_> = (0..12).map(|_| threads.spawn(|| mutex.try_lock().map(drop))).collect();
        for other in others {
            match other.join().unwrap() {
                Err(Error::WouldBlock(_) | Error::ParticipantsFull { .. }) => {}
                robbed => panic!("beside one that lives and is inside: {robbed:?}"),
            }
        }
        done.wait();
    });
    say("nobody was robbed");
}

#[test]
fn without_descriptors_no_slot_is_taken_twice() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    for (number, participants) in [2, 3, 16].into_iter().enumerate() {
        let path = place.at(&format!("{number}.lock"));
        let words = [path.to_str().unwrap(), &participants.to_string()];
        let mut fills = Actor::start("fills_the_slots_without_descriptors", &words);
        fills.expect("nobody was robbed");
        fills.end_well();
    }
}
