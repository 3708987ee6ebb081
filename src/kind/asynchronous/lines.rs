//! The lines of this process, and their servers.

use crate::kind::acquired::Acquired;
use crate::os::{
    fork::{ForkGuard, ForkGuarded, process_mark},
    signals::SignalsBlocked,
};
use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};
use turnlock_core::error::{Error, Result};
use turnlock_core::requests::{Job, Requests};
use turnlock_core::sync::{AtomicUsize, Ordering::Relaxed};

/// What the server of a line does for a request.
pub type AnyJob = dyn Job<Granted = Acquired> + Send + Sync;

/// The requests of a line.
pub type Line = Requests<AnyJob>;

/// A server ends when there has been no request for so long.
const IDLE: Duration = Duration::from_secs(2);

/// A server does not acquire while so many futures have not taken what they were given: each of these has a slot of the file.
const AHEAD: usize = 4;

/// For an acquisition, and the wakers of the program's executor.
const STACK: usize = 256 << 10;

/// Which line. Of a file that was closed meanwhile there may be another one at the same address: a line keeps nothing of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineKey {
    /// The address of the open file.
    pub file: usize,
    /// The lock, and the generation of its name.
    pub lock: (usize, u64),
    /// The extent, first and last, of what is a line of its own.
    pub part: Option<(u64, u64)>,
    /// Whether it is that of a rwlock's upgradable holders.
    pub upgradable: bool,
}

/// The lines of one process. A line is there as long as a request or a server has it.
struct Lines {
    process: u64,
    lines: BTreeMap<LineKey, Weak<Line>>,
}

static LINES: ForkGuarded<Lines> = ForkGuarded::new(Lines { process: 0, lines: BTreeMap::new() });

/// How many lines there are, for a look without the fork guard.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn with_lines<R>(act: impl FnOnce(&mut BTreeMap<LineKey, Weak<Line>>) -> R) -> R {
    LINES.with(&ForkGuard::enter(), |lines| {
        let process = process_mark();
        if mem::replace(&mut lines.process, process) != process {
            // The parent's, which a child does not touch.
            mem::forget(mem::take(&mut lines.lines));
        }
        let done = act(&mut lines.lines);
        COUNT.store(lines.lines.len(), Relaxed);
        done
    })
}

/// Returns whether no request of this process waits in the line.
pub fn is_empty(key: &LineKey) -> bool {
    // Relaxed: a request that joins at this moment is neither before nor behind the caller.
    if COUNT.load(Relaxed) == 0 {
        return true;
    }
    let line = with_lines(|lines| lines.get(key).and_then(Weak::upgrade));
    line.is_none_or(|line| line.is_empty())
}

/// Returns the line, made now if there is none.
pub fn find(key: LineKey) -> Arc<Line> {
    with_lines(|lines| match lines.get(&key).and_then(Weak::upgrade) {
        Some(line) => line,
        None => {
            let line = Arc::<Line>::default();
            lines.insert(key, Arc::downgrade(&line));
            line
        }
    })
}

/// Begins the server of the line. Without a thread for it all requests of the line fail.
pub fn begin_server(key: LineKey, line: &Arc<Line>) {
    let its = line.clone();
    let begun = begin_thread("turnlock wait", "waits for a lock for this process's futures", move || {
        its.serve(IDLE, AHEAD);
        drop(its);
        with_lines(|lines| {
            if lines.get(&key).is_some_and(|line| line.strong_count() == 0) {
                lines.remove(&key);
            }
        });
    });
    if let Err(error) = begun {
        let (what, number) = match error {
            Error::System { what, source } => (what, source.raw_os_error().unwrap_or_default()),
            error => (error.to_string(), 0),
        };
        line.fail_all(|| Error::System {
            what: what.clone(),
            source: std::io::Error::from_raw_os_error(number),
        });
    }
}

/// Begins a thread of turnlock's own, which `does` something, and ends by itself.
///
/// # Errors
/// [`Error::System`].
pub fn begin_thread(name: &str, does: &str, act: impl FnOnce() + Send + 'static) -> Result<()> {
    // It inherits the mask: signals are for the program's own threads.
    let _signals = SignalsBlocked::new();
    match thread::Builder::new().name(name.into()).stack_size(STACK).spawn(act) {
        Ok(_) => Ok(()),
        Err(source) => Err(Error::System { what: format!("beginning a thread that {does}"), source }),
    }
}
