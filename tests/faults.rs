//! Faults that are neither of the file nor of a plain death: what a program, a language or the kernel does around a
//! lock. `docs/reliability.md` lists every fault with its test.
#![cfg(not(any(loom, shuttle)))]

mod support;

use nix::{
    sched::{CloneFlags, unshare},
    sys::{
        signal::Signal,
        wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid},
    },
    unistd::{ForkResult, Pid, fork},
};
use std::{
    ffi::{CStr, CString, c_char, c_void},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Barrier,
        atomic::{AtomicI32, Ordering::Relaxed},
    },
    time::Duration,
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    elsewhere, limit,
};
use turnlock::{
    Error, LockFile,
    inspect::{self, Life},
};

crate::roles! { closes_its_descriptors, creates_in_an_empty_root, fills_the_slots_without_descriptors, forks_in_a_wait, holds, holds_after_its_main_thread_is_gone, lives_in_another_time, spawns_and_waits, waits_without_descriptors }

/// Takes lock "a" of the file, says so, gives it back at the next word.
fn holds(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    say("inside");
    hear();
    guard.unlock().unwrap();
    say("outside");
    hear();
}

/// The lock is taken by somebody who is alive: nobody else gets it, however often they ask.
fn assert_held(path: &Path) {
    let mutex = LockFile::open(path).unwrap().mutex("a").unwrap();
    elsewhere(|| {
        for _ in 0..20 {
            assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock)));
        }
        assert!(matches!(mutex.lock_for(Duration::from_millis(100)), Err(Error::TimedOut)));
    });
}

/// The next one gets the lock, and is told of `pid`'s death.
fn assert_news_of(path: &Path, pid: u32) {
    let mutex = LockFile::open(path).unwrap().mutex("a").unwrap();
    let mut guard = mutex.lock_for(Duration::from_secs(10)).unwrap();
    assert_eq!(guard.previous_owner().map(|dead| dead.pid), Some(pid));
    guard.mark_consistent().unwrap();
}

// --- what a program does ---

// The child is to outlive us.
#[expect(clippy::zombie_processes)]
fn spawns_and_waits(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let _guard = mutex.lock().unwrap();
    // Without `pre_exec` the standard library uses posix_spawn.
    let child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
    say(&format!("spawned {}", child.id()));
    hear();
}

#[test]
fn a_child_started_by_posix_spawn_does_not_keep_a_dead_holder_alive() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut holder = Actor::start("spawns_and_waits", &[place.lock_file().to_str().unwrap()]);
    let child = holder.expect_number("spawned") as i32;
    assert_held(&place.lock_file());
    holder.kill();
    assert_news_of(&place.lock_file(), holder.pid());
    nix::sys::signal::kill(Pid::from_raw(child), Signal::SIGKILL).expect("it was still there");
}

fn closes_its_descriptors(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    // SAFETY: nothing that runs after this uses a descriptor above 2 that it opened before.
    assert_eq!(unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) }, 0);
    say("closed");
    hear();
    guard.unlock().unwrap();
    drop(mutex.lock().unwrap());
    say("outside");
    hear();
}

#[test]
fn a_holder_that_closes_all_its_descriptors_still_holds() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut holder = Actor::start("closes_its_descriptors", &[place.lock_file().to_str().unwrap()]);
    holder.expect("closed");
    assert_held(&place.lock_file());
    holder.tell("go on");
    holder.expect("outside");
    holder.dismiss();
}

fn holds_after_its_main_thread_is_gone(words: &[String]) {
    let path = words[0].clone();
    std::thread::spawn(move || {
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let guard = mutex.lock().unwrap();
        // The main thread is gone when the kernel shows the process as a zombie.
        let gone = || fs::read_to_string("/proc/self/stat").is_ok_and(|stat| stat.contains(") Z "));
        while !gone() {
            std::thread::sleep(Duration::from_millis(1));
        }
        say("inside");
        hear();
        guard.unlock().unwrap();
        say("outside");
        std::process::exit(0);
    });
    // SAFETY: ends this thread alone, without running anything of it; nothing on its stack is used by the other.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
}

#[test]
fn a_thread_that_outlives_the_main_thread_still_holds() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut holder =
        Actor::start("holds_after_its_main_thread_is_gone", &[place.lock_file().to_str().unwrap()]);
    holder.expect("inside");
    assert_held(&place.lock_file());
    let status = inspect::snapshot(place.lock_file()).unwrap();
    assert_eq!(status.locks[0].holder.as_ref().unwrap().participant.life, Life::Alive);
    holder.tell("go on");
    holder.expect("outside");
    holder.end_well();
}

#[test]
fn a_zombie_is_dead() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut holder = Actor::start("holds", &[place.lock_file().to_str().unwrap()]);
    holder.expect("inside");
    holder.kill_without_waiting();
    let zombie = Pid::from_raw(holder.pid() as i32);
    // Dead, and not yet taken off the process table: its number still answers.
    let dead = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
    support::until("it is dead", || waitid(Id::Pid(zombie), dead).unwrap() != WaitStatus::StillAlive);
    nix::sys::signal::kill(zombie, None).expect("a zombie answers kill(pid, 0)");
    assert_news_of(&place.lock_file(), holder.pid());
}

// --- what a language does ---

#[test]
fn an_exception_in_cpp_leaves_the_lock_to_the_next_one_with_the_news() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let program = r#"
        #include <cstring>
        #include <exception>
        #include <stdexcept>
        #include <turnlock.h>
        struct Guard {
            turnlock_mutex *mutex;
            int exceptions = std::uncaught_exceptions();
            explicit Guard(turnlock_mutex *taken) : mutex(taken) { if (turnlock_mutex_lock(mutex, nullptr) < 0) throw 1; }
            ~Guard() {
                if (std::uncaught_exceptions() == exceptions) turnlock_mutex_unlock(mutex);
                else turnlock_mutex_abandon(mutex);
            }
        };
        int main(int, char **arguments) {
            turnlock_file *file;
            turnlock_mutex *mutex;
            if (turnlock_file_open(arguments[1], nullptr, &file) < 0) return 2;
            if (turnlock_mutex_open(file, "a", nullptr, &mutex) < 0) return 3;
            try { Guard guard(mutex); throw std::runtime_error("inside"); } catch (const std::runtime_error &) {}
            if (turnlock_mutex_unlock(mutex) != TURNLOCK_ERROR_NOT_OWNER) return 4;
            if (turnlock_mutex_lock(mutex, nullptr) != TURNLOCK_OWNER_DEAD) return 5;
            if (turnlock_mutex_mark_consistent(mutex) < 0 || turnlock_mutex_unlock(mutex) < 0) return 6;
            Guard guard(mutex);
            throw std::runtime_error("nobody catches this one: the process ends inside");
        }"#;
    fs::write(place.at("program.cpp"), program).unwrap();
    let libraries = libraries();
    let mut compiler = Command::new("c++");
    compiler
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([place.at("program"), place.at("program.cpp")])
        .arg(format!("-I{}/include", env!("CARGO_MANIFEST_DIR")))
        .arg(format!("-L{}", libraries.display()))
        .args(["-lturnlock"]);
    let compiled = limit::output(&mut compiler).unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut running = Command::new(place.at("program"))
        .arg(place.lock_file())
        .env("LD_LIBRARY_PATH", libraries)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = limit::end_of(&mut running, "the program");
    assert_eq!(status.code(), None, "it ends by abort");
    assert_news_of(&place.lock_file(), running.id());
}

/// Where `cargo test` put libturnlock.so: beside this test program.
fn libraries() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    assert!(folder.join("libturnlock.so").exists(), "no libturnlock.so in {}", folder.display());
    folder
}

#[test]
fn two_copies_of_the_library_in_one_process_exclude_each_other() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let path = CString::new(place.lock_file().as_os_str().as_bytes()).unwrap();
    let copy = CString::new(libraries().join("libturnlock.so").as_os_str().as_bytes()).unwrap();
    // SAFETY: our own library; loaded beside the one that this test is linked with, with symbols of its own.
    let copy = unsafe { libc::dlopen(copy.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!copy.is_null());
    let symbol = |name: &CStr| {
        // SAFETY: the library is open.
        let found = unsafe { libc::dlsym(copy, name.as_ptr()) };
        assert!(!found.is_null(), "{name:?}");
        found
    };
    type Open = unsafe extern "C" fn(*const c_char, *const c_void, *mut *mut c_void) -> i32;
    type OpenMutex = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void, *mut *mut c_void) -> i32;
    type Try = unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32;
    type Unlock = unsafe extern "C" fn(*mut c_void) -> i32;
    let ours = LockFile::open(place.lock_file()).unwrap().mutex("a").unwrap();
    let (mut file, mut theirs) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the types are those of the header, and the arguments what it asks for.
    unsafe {
        let open: Open = std::mem::transmute(symbol(c"turnlock_file_open"));
        let open_mutex: OpenMutex = std::mem::transmute(symbol(c"turnlock_mutex_open"));
        let try_lock: Try = std::mem::transmute(symbol(c"turnlock_mutex_try_lock"));
        let unlock: Unlock = std::mem::transmute(symbol(c"turnlock_mutex_unlock"));
        assert_eq!(open(path.as_ptr(), std::ptr::null(), &mut file), 0);
        assert_eq!(open_mutex(file, c"a".as_ptr(), std::ptr::null(), &mut theirs), 0);
        let guard = ours.lock().unwrap();
        assert_eq!(try_lock(theirs, std::ptr::null_mut()), turnlock::status::TURNLOCK_ERROR_WOULD_BLOCK);
        guard.unlock().unwrap();
        assert_eq!(try_lock(theirs, std::ptr::null_mut()), 0);
        assert!(matches!(ours.try_lock(), Err(Error::WouldBlock)));
        assert_eq!(unlock(theirs), 0);
    }
    drop(ours.try_lock().unwrap());
}

// --- what the kernel does ---

#[test]
fn equal_pids_in_two_pid_namespaces_are_two_participants() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    drop(LockFile::open(place.lock_file()).unwrap().mutex("a").unwrap());
    // Two processes that both believe to be number 1.
    let in_namespace = |name: &str| {
        let script = format!("exec unshare --pid --fork --kill-child {name}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        command
    };
    let allowed = limit::status(&mut in_namespace("true")).is_ok_and(|status| status.success());
    if !allowed {
        println!("LEFT OUT, since this machine does not allow it: a PID namespace");
        return;
    }
    let turnlock = env!("CARGO_BIN_EXE_turnlock");
    let file = place.lock_file();
    let run = |script: &str| {
        let command = format!("{turnlock} run --lock a {} -- {script}", file.display());
        in_namespace(&format!("sh -c 'exec {command}'")).stdout(Stdio::null()).spawn().unwrap()
    };
    let mut holder = run("sleep 60");
    let one_holds = || inspect::snapshot(&file).is_ok_and(|status| status.locks[0].holder.is_some());
    support::until("one holds", one_holds);
    let mut waiter = run("true");
    support::until_waiting(&file, "a", 1);
    let status = inspect::snapshot(&file).unwrap();
    let (holds, waits) = (status.locks[0].holder.as_ref().unwrap(), &status.locks[0].queue[0]);
    assert_eq!((holds.pid(), waits.pid()), (1, 1), "both have pid 1");
    assert!(!holds.participant.same_pid_namespace);
    assert_eq!(holds.participant.life, Life::Alive);
    assert_held(&file);
    assert!(waiter.try_wait().unwrap().is_none(), "it still waits");
    // With `unshare` dies its child, and with that, number 1 of its namespace, everything in it.
    holder.kill().unwrap();
    limit::end_of(&mut holder, "the holder");
    assert!(limit::end_of(&mut waiter, "the waiter").success(), "the other one is told and goes on");
}

/// Words: the lock file. Its monotonic clock is a day ahead of everybody else's.
fn lives_in_another_time(words: &[String]) {
    let changed = unshare(CloneFlags::from_bits_retain(0x80)) // CLONE_NEWTIME
        .map_err(|errno| errno.to_string())
        .and_then(|()| {
            fs::write("/proc/self/timens_offsets", "monotonic 86400 0").map_err(|error| error.to_string())
        });
    if let Err(reason) = changed {
        say(&format!("not allowed: {reason}"));
        return;
    }
    // SAFETY: this process has one thread; the child is in the new time from the start.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            holds(words);
            std::process::exit(0);
        }
        ForkResult::Parent { child } => assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0))),
    }
}

#[test]
fn clocks_that_disagree_by_a_day_change_nothing() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut holder = Actor::start("lives_in_another_time", &[place.lock_file().to_str().unwrap()]);
    let said = holder.hear();
    if said != "inside" {
        println!("LEFT OUT, since this machine does not allow it: {said}");
        return;
    }
    assert_held(&place.lock_file());
    // Entered "tomorrow", by our clock: not a nonsensical age, and not a death.
    let status = inspect::snapshot(place.lock_file()).unwrap();
    let holds = status.locks[0].holder.as_ref().unwrap();
    assert_eq!(
        (holds.participant.life, holds.for_seconds.map(|seconds| seconds < 60.0)),
        (Life::Alive, Some(true))
    );
    holder.tell("go on");
    holder.expect("outside");
    holder.dismiss();
}

#[test]
fn a_file_replaced_by_a_symbolic_link_takes_no_newcomers() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    drop(mutex.lock().unwrap());
    fs::rename(place.lock_file(), place.at("elsewhere")).unwrap();
    std::os::unix::fs::symlink(place.at("elsewhere"), place.lock_file()).unwrap();
    let newcomer = elsewhere(|| mutex.lock().map(drop));
    assert!(matches!(newcomer, Err(Error::Replaced { .. })), "{newcomer:?}");
    assert!(matches!(LockFile::open(place.lock_file()), Err(Error::NotALockFile { .. })));
}

#[test]
fn fencing_tokens_go_on_rising_when_the_file_is_created_again() {
    let place = Place::new();
    let token = || {
        let mutex = LockFile::open(place.lock_file()).unwrap().mutex("a").unwrap();
        let mut last = 0;
        for _ in 0..1000 {
            last = mutex.lock().unwrap().fencing_token();
        }
        last
    };
    let before = token();
    fs::remove_file(place.lock_file()).unwrap();
    assert!(token() > before);
}

// --- descriptors, rights, roots ---

/// Has no descriptor of its own any more, and may open none: waits.
fn waits_without_descriptors(words: &[String]) {
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

/// It cannot see who is alive: it waits for a dead one, says so to who looks, and sees again as soon as it can.
#[test]
fn one_who_can_open_no_descriptor_waits_and_status_says_that_it_sees_no_deaths() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let path = place.lock_file();
    let mut waiter = Actor::start("waits_without_descriptors", &[path.to_str().unwrap()]);
    waiter.expect("open");
    let mut holder = Actor::start("holds", &[path.to_str().unwrap()]);
    holder.expect("inside");
    waiter.tell("go on");
    waiter.expect("waits");
    holder.kill();
    let blind = || {
        let status = inspect::snapshot(&path).unwrap();
        status.participants.iter().any(|one| one.pid == waiter.pid() && one.blind && one.life == Life::Alive)
    };
    support::until("it says that it is blind", blind);
    let some = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
    // SAFETY: sets a limit of a process of our own.
    unsafe {
        assert_eq!(libc::prlimit(waiter.pid() as i32, libc::RLIMIT_NOFILE, &some, std::ptr::null_mut()), 0)
    };
    waiter.expect("told");
    waiter.end_well();
}

/// In another root, with nothing in it: not even /proc.
fn creates_in_an_empty_root(words: &[String]) {
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
fn fills_the_slots_without_descriptors(words: &[String]) {
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
                Err(Error::WouldBlock | Error::ParticipantsFull { .. }) => {}
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

/// What it asks while it waits forks: the child comes out of its parent's wait with nothing, and the parent waits on.
fn forks_in_a_wait(words: &[String]) {
    let parent = std::process::id();
    let mut options = LockFile::options();
    options.interrupted_by(move || {
        if std::process::id() == parent && FORKED.load(Relaxed) == 0 {
            // SAFETY: the child runs on as a copy of this process, which allocates no more than glibc allows it.
            FORKED.store(unsafe { libc::fork() }, Relaxed);
        }
        false
    });
    let mutex = options.open(&words[0]).unwrap().mutex("a").unwrap();
    say("waits");
    let locked = mutex.lock();
    if std::process::id() != parent {
        let left = matches!(locked, Err(Error::Interrupted));
        drop(locked);
        // It takes part on its own, like any child.
        let own = matches!(mutex.lock_for(Duration::from_millis(20)), Err(Error::TimedOut));
        // SAFETY: ends the child without the rest of the parent's program.
        unsafe { libc::_exit(if left && own { 0 } else { 1 }) };
    }
    let child = waitpid(Pid::from_raw(FORKED.load(Relaxed)), None).unwrap();
    say(&format!("{child:?}"));
    locked.unwrap().unlock().unwrap();
    say("unlocked");
}

static FORKED: AtomicI32 = AtomicI32::new(0);

#[test]
fn a_child_that_is_forked_in_a_wait_has_no_part_in_it() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    let mut waiter = Actor::start("forks_in_a_wait", &[path.to_str().unwrap()]);
    waiter.expect("waits");
    support::until("the child has come and gone", || {
        let children = format!("/proc/{0}/task/{0}/children", waiter.pid());
        let child = fs::read_to_string(children).unwrap_or_default();
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        stat.contains(") Z ")
    });
    let line = support::line_at(&path, "a");
    assert_eq!(
        line.iter().map(|entry| entry.pid()).collect::<Vec<_>>(),
        [waiter.pid()],
        "the parent waits on"
    );
    guard.unlock().unwrap();
    assert!(waiter.hear().contains(", 0)"), "the child was told that its wait is none");
    waiter.expect("unlocked");
    waiter.end_well();
}

// --- those who delete what looks old ---

#[test]
fn opening_a_file_makes_it_look_used() {
    use std::time::SystemTime;
    let place = Place::new();
    let path = place.lock_file();
    let month_ago = SystemTime::now() - Duration::from_secs(30 * 86_400);
    let age = || fs::metadata(&path).unwrap().modified().unwrap().elapsed().unwrap_or_default();
    let make_old = || {
        let times = fs::FileTimes::new().set_accessed(month_ago).set_modified(month_ago);
        fs::File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
        assert!(age() > Duration::from_secs(86_400));
    };
    drop(LockFile::open(&path).unwrap());
    make_old();
    // Opening it is a use; for the rest an hour is between two touches.
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    assert!(age() < Duration::from_secs(86_400), "{:?}", age());
    drop(mutex.lock().unwrap());
}

#[test]
fn systemd_leaves_a_lock_file_alone_however_old_it_is() {
    let place = Place::new();
    let folder = place.at("cleaned");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("test.lock");
    drop(LockFile::open(&path).unwrap());
    fs::write(folder.join("other"), "").unwrap();
    fs::write(place.at("rule"), format!("d {} - - - 1s\n", folder.display())).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let cleaned = limit::output(Command::new("systemd-tmpfiles").arg("--clean").arg(place.at("rule")));
    if cleaned.is_err() || folder.join("other").exists() {
        println!("LEFT OUT, since systemd-tmpfiles is not here, or does not clean there: {cleaned:?}");
        return;
    }
    assert!(path.exists());
}

/// Newer versions of systemd-tmpfiles ask for this lock too, before they delete a file for its age.
#[test]
fn a_file_that_is_open_has_a_bsd_lock_that_cleaners_look_at() {
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let cleaner = fs::File::open(&path).unwrap();
    assert!(matches!(cleaner.try_lock(), Err(fs::TryLockError::WouldBlock)));
    drop(file);
    cleaner.try_lock().unwrap();
}

// --- Ctrl-C ---

#[test]
fn ctrl_c_ends_the_wait_of_a_python_program_at_once() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    fs::write(place.at("counter"), "0\n").unwrap();
    fs::write(place.at("journal"), "").unwrap();
    let path = place.at("demo.lock");
    let mutex = LockFile::open(&path).unwrap().mutex("counter").unwrap();
    let guard = mutex.lock().unwrap();
    let output = fs::File::create(place.at("output")).unwrap();
    let mut python = Command::new("python3")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/counter.py"))
        .args([place.folder().to_str().unwrap(), "1"])
        .env("TURNLOCK_LIBRARY", libraries().join("libturnlock.so"))
        .stderr(output)
        .spawn()
        .unwrap();
    support::until_waiting(&path, "counter", 1);
    nix::sys::signal::kill(Pid::from_raw(python.id() as i32), Signal::SIGINT).unwrap();
    let status = limit::end_of(&mut python, "the program");
    assert_eq!(status.code(), Some(1));
    let said = fs::read_to_string(place.at("output")).unwrap();
    assert!(said.contains("interrupted"), "{said}");
    let after = inspect::snapshot(&path).unwrap();
    assert!(after.locks[0].queue.is_empty() && after.locks[0].state == "consistent", "{after:?}");
    guard.unlock().unwrap();
}
