//! One death, and when it shows where.

use crate::{holder::Holder, robust_futex::RobustFutex};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, fcntl},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs::{File, OpenOptions},
    process::Child,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use turnlock::{LockFile, inspect};

/// What is seen, each at its moment after the kill.
pub const NAMES: [&str; 5] = ["futex", "byte lock", "waiter", "pidfd", "waitpid"];

/// As [`NAMES`].
pub type Moments = [Duration; NAMES.len()];

const LIMIT: Duration = Duration::from_secs(20);
const BETWEEN_LOOKS: Duration = Duration::from_micros(20);

/// How long the waiter has waited when the holder is killed. Not long: a waiter that has waited for long looks less
/// often.
const WAITED: Duration = Duration::from_millis(4);

/// From docs/format.md: the byte of slot 0.
const SLOT_BYTES: i64 = 1 << 40;

pub fn run(holder: &Holder) -> Result<Moments, String> {
    let folder = tempfile::Builder::new()
        .prefix("turnlock-bench-")
        .tempdir_in("/dev/shm")
        .map_err(|error| format!("a folder in /dev/shm: {error}"))?;
    let (lock_file, futex_file) = (folder.path().join("lock"), folder.path().join("futex"));
    let text = |error: turnlock::Error| error.to_string();
    let futex = RobustFutex::open(&futex_file)?;
    let mutex = LockFile::open(&lock_file).map_err(text)?.mutex("a").map_err(text)?;
    let mut process = holder.start(&lock_file, &futex_file)?;
    let status = inspect::snapshot(&lock_file).map_err(text)?;
    let slot = status.locks[0].holders.first().ok_or("no process holds it")?.participant.slot;
    let opened =
        OpenOptions::new().read(true).write(true).open(&lock_file).map_err(|error| error.to_string())?;

    let (waits, waiting) = mpsc::channel();
    let (killed, entered, seen) = thread::scope(|threads| {
        let waiter = threads.spawn(|| {
            let _ = waits.send(());
            let mut guard = mutex.lock_for(LIMIT).map_err(text)?;
            let entered = Instant::now();
            guard.previous_owner().ok_or("the waiter came in, and was not told of a death")?;
            guard.mark_consistent().map_err(text)?;
            Ok::<_, String>(entered)
        });
        waiting.recv().map_err(|error| error.to_string())?;
        thread::sleep(WAITED);
        let looker = threads.spawn(|| look(&futex, &opened, slot));
        // So that its first look is over.
        thread::sleep(Duration::from_millis(1));
        let killed = Instant::now();
        let ended = end(&mut process)?;
        let panicked = |_| "a thread panicked".to_owned();
        let looked = looker.join().map_err(panicked)??;
        Ok::<_, String>((killed, waiter.join().map_err(panicked)??, (looked, ended)))
    })?;
    let ((marked, free), (readable, waited_for)) = seen;
    Ok([marked, free, entered, readable, waited_for].map(|moment| moment - killed))
}

/// Kills it. When its pidfd says that it has ended, and when waitpid has.
fn end(process: &mut Child) -> Result<(Instant, Instant), String> {
    let pid = Pid::from_raw(process.id() as i32);
    // SAFETY: gives a new descriptor, or -1.
    let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) } as i32;
    if pidfd < 0 {
        return Err(format!("pidfd_open: {}", std::io::Error::last_os_error()));
    }
    kill(pid, Signal::SIGKILL).map_err(|errno| format!("kill: {errno}"))?;
    let mut asked = libc::pollfd { fd: pidfd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd.
    let ready = unsafe { libc::poll(&mut asked, 1, LIMIT.as_millis() as i32) };
    let readable = Instant::now();
    // SAFETY: opened above.
    unsafe { libc::close(pidfd) };
    if ready != 1 {
        return Err("it does not end".into());
    }
    process.wait().map_err(|error| error.to_string())?;
    Ok((readable, Instant::now()))
}

/// When the futex is marked, and when the slot's byte is free.
fn look(futex: &RobustFutex, file: &File, slot: usize) -> Result<(Instant, Instant), String> {
    let (began, mut marked, mut free) = (Instant::now(), None, None);
    while began.elapsed() < LIMIT {
        if marked.is_none() && futex.owner_died() {
            marked = Some(Instant::now());
        }
        if free.is_none()
            && !is_locked(file, SLOT_BYTES + slot as i64).map_err(|errno| format!("fcntl: {errno}"))?
        {
            free = Some(Instant::now());
        }
        if let (Some(marked), Some(free)) = (marked, free) {
            return Ok((marked, free));
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    Err(format!(
        "after {LIMIT:?}: the futex is marked: {}; the byte is free: {}",
        marked.is_some(),
        free.is_some()
    ))
}

fn is_locked(file: &File, byte: i64) -> Result<bool, Errno> {
    let mut question = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte,
        l_len: 1,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut question))?;
    Ok(i32::from(question.l_type) != libc::F_UNLCK)
}
