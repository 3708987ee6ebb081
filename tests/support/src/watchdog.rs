//! Ends the whole test program, with a report of the tests that still run, when it has shown no sign of life for too
//! long: a wait that never ends can be neither caught nor joined.
//!
//! Begins before `main`, so that no test can be forgotten. Processes that only play a role have none: they have one
//! thread, and end with the test.

use super::limit;
use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// For [`watched_for_seconds`](crate::watched_for_seconds): the tests of one program together take less than a minute,
/// unless they are told to take longer.
pub const USUAL: u64 = 600;

/// Names the role that a process is to play, see `actor`.
pub const ROLE: &str = "TURNLOCK_TEST_ROLE";

/// Has this test program ended when it has not ended by itself, nor shown a [`sign_of_life`], after so many seconds
/// (times `TURNLOCK_CHECK_PATIENCE`).
#[macro_export]
macro_rules! watched_for_seconds {
    ($seconds:expr) => {
        // Run by the dynamic linker before `main`, which runs the tests.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static WATCH: extern "C" fn() = {
            extern "C" fn watch() {
                $crate::watchdog::watch($seconds);
            }
            watch
        };
    };
}

/// Signs of life so far.
static SIGNS: AtomicU64 = AtomicU64::new(0);
/// The tests that have begun: thread and name. The kernel keeps only the first 15 bytes of a thread's name.
static BEGUN: Mutex<Vec<(i32, String)>> = Mutex::new(Vec::new());

/// See [`watched_for_seconds`](crate::watched_for_seconds).
pub fn watch(seconds: u64) {
    if std::env::var_os(ROLE).is_some() {
        return;
    }
    let dog = thread::Builder::new().name("watchdog".into());
    dog.spawn(move || wait_and_give_up(limit::seconds(seconds))).expect("a thread for the watchdog");
}

/// Something came of it: the limit begins anew. For tests that may take as long as they are told to.
pub fn sign_of_life() {
    SIGNS.fetch_add(1, Relaxed);
}

/// This thread is a test's: the report will name it in full.
pub fn a_test_begins() {
    // SAFETY: only asks for a number.
    let thread = unsafe { libc::gettid() };
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    let name = thread::current().name().unwrap_or("a test").to_owned();
    if !begun.iter().any(|(other, same)| *other == thread && *same == name) {
        begun.push((thread, name));
    }
}

fn wait_and_give_up(limit: Duration) {
    let (mut signs, mut since) = (0, Instant::now());
    loop {
        // Mostly asleep: some tests count what the processor does besides.
        thread::sleep(limit.saturating_sub(since.elapsed()));
        let now = SIGNS.load(Relaxed);
        if now == signs {
            let running = still_running().into_iter().collect::<Vec<_>>().join(", ");
            give_up(&format!("{limit:?} without a sign of life; still running: {running}"));
        }
        (signs, since) = (now, Instant::now());
    }
}

/// Ends the whole test program with a report: not by a panic, which would wait for threads that never end, and past the
/// test harness, which keeps what is printed until a test ends.
pub fn give_up(report: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "\nHANG: {report}");
    std::process::abort();
}

/// The names of the tests whose threads are there, in full or as far as the kernel knows them.
pub fn still_running() -> BTreeSet<String> {
    // SAFETY: only asks for a number.
    let main = unsafe { libc::getpid() };
    // Who was interrupted while it had this must not keep us from reporting.
    let begun = BEGUN.try_lock().map(|begun| begun.clone()).unwrap_or_default();
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let (mut known, mut others) = (BTreeSet::new(), BTreeSet::new());
    for thread in threads {
        let number = thread.file_name().to_string_lossy().parse().unwrap_or(0);
        let short = fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        let short = short.trim_end();
        match begun.iter().rev().find(|(other, name)| *other == number && name.starts_with(short)) {
            Some((_, name)) => known.insert(name.clone()),
            None if number == main || short == "watchdog" => continue,
            None => others.insert(short.to_owned()),
        };
    }
    // The threads that a test starts bear its name too.
    others.retain(|short| !known.iter().any(|name| name.starts_with(short.as_str())));
    known.extend(others.into_iter().map(|short| if short.len() == 15 { short + "..." } else { short }));
    known
}
