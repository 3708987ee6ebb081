//! The killed holder: this program again, as a process of its own.

use crate::robust_futex::RobustFutex;
use std::{
    fmt,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child as Process, Command, Stdio},
    time::Duration,
};
use turnlock::LockFile;

const ROLE: &str = "TURNLOCK_BENCH_DEATH_HOLDER";

/// For how long a child lives, at least.
pub const CHILD_LIVES: Duration = Duration::from_millis(300);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    Mapping,
    Descriptor,
}

impl fmt::Display for Keeping {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str(if *self == Keeping::Mapping { "mapping" } else { "descriptor" })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Child {
    None,
    SharesMemory,
}

impl fmt::Display for Child {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str(if *self == Child::None { "none" } else { "shares memory" })
    }
}

/// What the killed holder is like.
pub struct Holder {
    pub mebibytes: u64,
    pub keeping: Keeping,
    pub child: Child,
}

impl Holder {
    /// Starts it; it holds the lock "a" of the file, and the futex, when this returns.
    pub fn start(&self, lock_file: &Path, futex: &Path) -> Result<Process, String> {
        let text = |path: &Path| path.to_str().expect("a path of our own").to_owned();
        let words = [
            self.mebibytes.to_string(),
            self.keeping.to_string(),
            self.child.to_string(),
            text(lock_file),
            text(futex),
        ];
        let mut process = Command::new(std::env::current_exe().map_err(|error| error.to_string())?)
            .env(ROLE, words.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("starting a holder: {error}"))?;
        let mut said = String::new();
        let heard = BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut said);
        if heard.is_err() || said != "holds\n" {
            let _ = process.kill();
            return Err(format!("a holder did not hold: {:?}", process.wait()));
        }
        Ok(process)
    }
}

/// Plays the holder, until it is killed or its parent is gone, if this process was started for that.
pub fn play_if_asked() {
    let Ok(words) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = words.split('\n').collect();
    let &[mebibytes, keeping, child, lock_file, futex] = &words[..] else { panic!("other words: {words:?}") };
    RobustFutex::open(Path::new(futex)).expect("the futex's file").lock();
    let memory = touched(mebibytes.parse().expect("a number"));
    let file = LockFile::open(lock_file).expect("the lock file");
    let mutex = file.mutex("a").expect("the lock");
    if keeping == Keeping::Mapping.to_string() {
        std::mem::forget(mutex.lock().expect("it is free"));
    } else {
        let participant = file.participant_options().kept_by_descriptor(true).open().expect("a slot");
        std::mem::forget(mutex.lock_as(&participant).expect("it is free"));
        std::mem::forget(participant);
    }
    if child == Child::SharesMemory.to_string() {
        start_child();
    }
    let mut out = std::io::stdout();
    writeln!(out, "holds").and_then(|()| out.flush()).expect("the parent listens");
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(memory);
    std::process::exit(0);
}

/// So much memory, each page of it written to.
fn touched(mebibytes: u64) -> Vec<u8> {
    let mut memory = vec![0; (mebibytes << 20) as usize];
    for byte in memory.iter_mut().step_by(4096) {
        // SAFETY: a byte of our own.
        unsafe { std::ptr::write_volatile(byte, 1) };
    }
    memory
}

/// A child as vfork makes it, which is about to exec for a while. The thread that makes it waits for that.
fn start_child() {
    std::thread::spawn(|| {
        extern "C" fn child(_: *mut libc::c_void) -> libc::c_int {
            let time =
                libc::timespec { tv_sec: 0, tv_nsec: i64::from(CHILD_LIVES.subsec_nanos()) + 20_000_000 };
            // SAFETY: two system calls, by number, which change no memory of ours.
            unsafe {
                libc::syscall(libc::SYS_nanosleep, &raw const time, std::ptr::null::<libc::timespec>());
                libc::syscall(libc::SYS_exit, 0);
            }
            0
        }
        let mut stack = vec![0_u128; 4096];
        let top = stack.as_mut_ptr_range().end;
        // SAFETY: the child has a stack of its own, aligned, for as long as this thread waits (it does until the child
        // has ended), and does nothing but the above.
        let made = unsafe {
            libc::clone(
                child,
                top.cast(),
                libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                std::ptr::null_mut(),
            )
        };
        assert!(made > 0, "clone: {}", std::io::Error::last_os_error());
    });
    // It is there, for all we know, after a moment.
    std::thread::sleep(Duration::from_millis(5));
}
