//! Limits of waiting: whatever a test waits for, it waits for so long and then says what did not come.
//!
//! Nothing here waits for an end of file: any process that inherited the other end can withhold it. A process is waited
//! for itself, and what it prints goes into a file.

#[cfg(not(any(loom, shuttle)))]
mod output;

#[cfg(not(any(loom, shuttle)))]
pub use output::{output, output_within};

use std::{
    io::{self, BufRead, BufReader, Read},
    os::fd::{AsFd, AsRawFd},
    process::{Child, Command, ExitStatus},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

/// How long another process may take for what usually takes it milliseconds, or some seconds where it compiles.
const OF_PROCESSES: u64 = 120;

/// `seconds`, times `TURNLOCK_CHECK_PATIENCE`: all limits are longer on a machine that is said to be slow.
pub fn seconds(seconds: u64) -> Duration {
    static PATIENCE: OnceLock<f64> = OnceLock::new();
    let patience = PATIENCE.get_or_init(|| {
        let given = std::env::var("TURNLOCK_CHECK_PATIENCE").ok().and_then(|given| given.parse().ok());
        given.filter(|patience| (0.001..=1e4).contains(patience)).unwrap_or(1.0)
    });
    Duration::from_secs(seconds).mul_f64(*patience)
}

/// The limit for another process.
pub fn of_processes() -> Duration {
    seconds(OF_PROCESSES)
}

/// Asks until there is an answer, and not for longer than `limit`: often at first, then each 5 milliseconds.
pub fn within<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let (began, mut pause) = (Instant::now(), Duration::from_micros(50));
    loop {
        let late = began.elapsed() >= limit;
        let answer = ask();
        if answer.is_some() || late {
            return answer;
        }
        thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(5));
    }
}

/// Waits for the end of a child; kills one that does not end, and panics.
pub fn end_of(child: &mut Child, what: &str) -> ExitStatus {
    let limit = of_processes();
    within(limit, || child.try_wait().unwrap()).unwrap_or_else(|| {
        let _ = child.kill();
        panic!("{what} (pid {}) has not ended after {limit:?}", child.id())
    })
}

/// What `waitpid` says of child `pid` when it has ended or, with `WUNTRACED` among the options, stopped.
pub fn status_of(pid: i32, options: i32) -> i32 {
    let (limit, mut status) = (of_processes(), 0);
    let came = within(limit, || {
        // SAFETY: the status is ours.
        let came = unsafe { libc::waitpid(pid, &mut status, options | libc::WNOHANG) };
        (came != 0).then_some(came)
    });
    let came = came.unwrap_or_else(|| panic!("process {pid} has not ended after {limit:?}"));
    assert_eq!(came, pid, "waitpid: {}", io::Error::last_os_error());
    status
}

/// [`Command::status`], with a limit.
pub fn status(command: &mut Command) -> io::Result<ExitStatus> {
    Ok(end_of(&mut command.spawn()?, &format!("{command:?}")))
}

/// Returns whether there is something to read, or the end of the file, within so long.
pub fn is_readable(file: &impl AsFd, limit: Duration) -> bool {
    let mut poll = libc::pollfd { fd: file.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = limit.as_millis().try_into().unwrap_or(i32::MAX);
    // SAFETY: one descriptor, which is open, and a structure of our own.
    unsafe { libc::poll(&mut poll, 1, milliseconds) > 0 }
}

/// Why no line came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLine {
    /// The speaker has ended.
    Ended,
    /// The time is over.
    Late,
}

/// The next line that `speaker` prints, without its end. Another process that it left behind may keep the end of file
/// from coming, so the speaker itself is looked at too.
pub fn line<R: Read + AsFd>(from: &mut BufReader<R>, speaker: &mut Child) -> Result<String, NoLine> {
    const A_MOMENT: Duration = Duration::from_millis(50);
    let (began, mut line) = (Instant::now(), Vec::new());
    while began.elapsed() < of_processes() {
        let has_ended = speaker.try_wait().unwrap().is_some();
        if from.buffer().is_empty() && !is_readable(from.get_ref(), A_MOMENT) {
            if has_ended {
                return Err(NoLine::Ended);
            }
            continue;
        }
        let some = from.fill_buf().unwrap();
        let end = some.iter().position(|byte| *byte == b'\n');
        line.extend(&some[..end.unwrap_or(some.len())]);
        let taken = end.map_or(some.len(), |at| at + 1);
        from.consume(taken);
        match (end, taken) {
            (Some(_), _) => return Ok(String::from_utf8(line).unwrap()),
            (None, 0) => return Err(NoLine::Ended),
            (None, _) => {}
        }
    }
    Err(NoLine::Late)
}

/// Has this process ended by SIGALRM after so long: a process that waits for others cannot end itself.
pub fn end_this_process_after(limit: Duration) {
    // SAFETY: only sets a timer of this process.
    unsafe { libc::alarm(limit.as_secs().try_into().unwrap_or(u32::MAX).max(1)) };
}
