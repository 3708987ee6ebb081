//! Our identity, and what /proc says of others: for people to read, never to decide.

use std::{ffi::CStr, fmt, io::Write, os::unix::fs::MetadataExt};

/// This process, as its PID namespace numbers it.
pub fn pid() -> u32 {
    std::process::id()
}

/// Returns the calling thread, likewise.
pub fn tid() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Returns which PID namespace our pids belong to, by inode number; 0 where /proc is not mounted.
pub fn pid_namespace() -> u64 {
    std::fs::metadata("/proc/thread-self/ns/pid").map_or(0, |ns| ns.ino())
}

/// Returns the name of the program that runs here.
pub fn program_name() -> String {
    let first = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&first).file_name().map(|name| name.to_string_lossy().into_owned());
    // A library in another program may find no arguments; the kernel's name for it is always there.
    name.or_else(|| Some(std::fs::read_to_string("/proc/self/comm").ok()?.trim_end().to_owned()))
        .unwrap_or_default()
}

/// Returns the name of the program that runs as `pid`, as the kernel cut it. `None`: there is no such process, or /proc does
/// not show it.
pub fn program_of(pid: u32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
}

/// Returns whether there is no such process any more, as far as /proc shows: it has ended, whether or not its parent knows it yet.
pub fn has_ended(pid: u32) -> bool {
    let is_over = |stat: &str| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']));
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        // Its first thread may have ended before the others.
        Ok(stat) if is_over(&stat) => {
            let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let mut stats =
                threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
            stats.all(|stat| is_over(&stat))
        }
        Ok(_) => false,
        // Processes of other users may be hidden (hidepid, proc(5)), and the kernel still knows them.
        Err(error) => {
            error.kind() == std::io::ErrorKind::NotFound
                && std::fs::exists("/proc/self/stat").unwrap_or(false)
                && !is_known(pid)
        }
    }
}

/// Returns whether the kernel knows such a process, whether or not it may be sent signals.
fn is_known(pid: u32) -> bool {
    // SAFETY: takes numbers only, and signal 0 is none.
    let asked = unsafe { libc::kill(pid as libc::pid_t, 0) };
    asked == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// What the kernel says of a process of our own PID namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// It runs, or could.
    Running,
    /// It sleeps.
    Sleeping,
    /// It was stopped (SIGSTOP, a debugger) and will not move until it is continued.
    Stopped,
    /// Nothing is known: no such process, another namespace, or no /proc.
    Unknown,
}

/// Looks a thread up in /proc. Only meaningful for a pid of our own namespace. Allocates nothing: waiters ask.
pub fn state_of(pid: u32, tid: u32) -> ProcessState {
    // Longer than the state's place in it can be: a pid, a name of at most 64 bytes in parentheses.
    let mut stat = [0; 128];
    let read = read_start(format_args!("/proc/{pid}/task/{tid}/stat"), &mut stat)
        .or_else(|| read_start(format_args!("/proc/{pid}/stat"), &mut stat))
        .unwrap_or(0);
    // The state is the letter after the program's name, which is in parentheses and may contain any.
    let name_ends = stat[..read].windows(2).rposition(|two| two == b") ");
    match name_ends.and_then(|at| stat[..read].get(at + 2)) {
        Some(b'T' | b't') => ProcessState::Stopped,
        Some(b'R') => ProcessState::Running,
        Some(b'S' | b'D' | b'I') => ProcessState::Sleeping,
        _ => ProcessState::Unknown,
    }
}

/// Reads the first bytes of a file. Returns how many.
fn read_start(path: fmt::Arguments, into: &mut [u8]) -> Option<usize> {
    // The last byte stays 0.
    let mut name = [0; 64];
    (&mut name[..63]).write_fmt(path).ok()?;
    let name = CStr::from_bytes_until_nul(&name).ok()?;
    // SAFETY: the name ends with a NUL.
    let descriptor = unsafe { libc::open(name.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: the buffer is ours and as long as we say; the descriptor is ours, and closed once.
    unsafe {
        let read = libc::read(descriptor, into.as_mut_ptr().cast(), into.len());
        libc::close(descriptor);
        usize::try_from(read).ok()
    }
}

/// Returns the kernel's number for this boot; zeros where it is not to be had.
pub fn boot_id() -> [u64; 2] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let hex: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let half =
        |range| hex.get(range).and_then(|digits: &str| u64::from_str_radix(digits, 16).ok()).unwrap_or(0);
    [half(0..16), half(16..32)]
}

/// Returns a random number that is not 0.
pub fn random() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer is ours and as long as we say. Up to 256 bytes come whole or, early at boot, after a wait.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    let number = u64::from_ne_bytes(bytes);
    if got == 8 && number != 0 {
        return number;
    }
    // Interrupted or forbidden: unlikely, and time and pid still tell one creation, or one process, from another.
    (super::clock::realtime_ns() ^ (u64::from(pid()) << 40)) | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio, id};

    #[test]
    fn a_process_has_ended_when_it_is_gone_or_waits_for_its_parent() {
        assert!(!has_ended(id()) && is_known(id()) && is_known(1));
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(!has_ended(child.id()));
        drop(child.stdin.take());
        // Not waited for yet.
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(has_ended(child.id()) && !is_known(child.id()));
    }
}
