//! Who we are, and what /proc says of others: for people to read, never to decide.

use std::os::unix::fs::MetadataExt;

/// This process, as its PID namespace numbers it.
pub fn pid() -> u32 {
    std::process::id()
}

/// The calling thread, likewise.
pub fn tid() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Which PID namespace our pids belong to, by inode number; 0 where /proc is not mounted.
pub fn pid_namespace() -> u64 {
    std::fs::metadata("/proc/thread-self/ns/pid").map_or(0, |ns| ns.ino())
}

/// The name of the program that runs here.
pub fn program_name() -> String {
    let first = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&first).file_name().map(|name| name.to_string_lossy().into_owned());
    // A library in somebody else's program may find no arguments; the kernel's name for it is always there.
    name.or_else(|| Some(std::fs::read_to_string("/proc/self/comm").ok()?.trim_end().to_owned()))
        .unwrap_or_default()
}

/// What the kernel says of a process of our own PID namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// It runs or sleeps.
    Running,
    /// It was stopped (SIGSTOP, a debugger) and will not move until it is continued.
    Stopped,
    /// Nothing is known: no such process, another namespace, or no /proc.
    Unknown,
}

/// Looks a thread up in /proc. Only meaningful for a pid of our own namespace.
pub fn state_of(pid: u32, tid: u32) -> ProcessState {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat"))
        .or_else(|_| std::fs::read_to_string(format!("/proc/{pid}/stat")));
    // The state is the letter after the program's name, which is in parentheses and may contain any.
    match stat.ok().and_then(|stat| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())) {
        Some('T' | 't') => ProcessState::Stopped,
        Some('R' | 'S' | 'D' | 'I') => ProcessState::Running,
        _ => ProcessState::Unknown,
    }
}

/// The kernel's number for this boot; zeros where it is not to be had.
pub fn boot_id() -> [u64; 2] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let hex: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let half =
        |range| hex.get(range).and_then(|digits: &str| u64::from_str_radix(digits, 16).ok()).unwrap_or(0);
    [half(0..16), half(16..32)]
}

/// A random number that is not 0.
pub fn random() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer is ours and as long as we say. Up to 256 bytes come whole or, early at boot, after a wait.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    let number = u64::from_ne_bytes(bytes);
    if got == 8 && number != 0 {
        return number;
    }
    // Interrupted or forbidden: unlikely, and time and pid still tell one creation from another.
    (super::clock::realtime_ns() ^ (u64::from(pid()) << 40)) | 1
}
