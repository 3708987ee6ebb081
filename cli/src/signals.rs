//! Signals that turnlock is sent: kept while it waits, where they ask for an end, and passed on to the command that it runs.
//!
//! What was ignored when turnlock was started (by `nohup`, or by a shell for what it starts in the background) stays so,
//! for the command too.

use super::processes;
use shared_child::{SharedChild, unix::SharedChildExt};
use signal_hook::{
    consts::{
        SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2,
        SIGWINCH,
    },
    iterator::{
        Handle, SignalsInfo,
        exfiltrator::origin::{Origin, WithOrigin},
    },
    low_level::{emulate_default_handler, raise, siginfo::Cause},
};
use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};
use turnlock::Participant;

/// Those that end a process which does not mind them.
const ASK_FOR_AN_END: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM];
/// Those that are passed on to a command besides. Until there is one, they do what they always do.
const PASSED_ON_TOO: [i32; 3] = [SIGWINCH, SIGTSTP, SIGCONT];
/// What the terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z, another size), the kernel sends to the whole foreground group: the command too.
/// Other signals of the kernel (an alarm, a hangup) may be for this process alone.
const TO_THE_GROUP: [i32; 4] = [SIGINT, SIGQUIT, SIGTSTP, SIGWINCH];
/// A command that one of these ended was asked to, by a terminal, by another process, or by a reader that had enough.
const ORDINARY_ENDS: [i32; 5] = [SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM];

/// Returns whether a command that this signal ended came to an ordinary end, and was not killed in the midst of it.
pub fn is_ordinary_end(signal: i32) -> bool {
    ORDINARY_ENDS.contains(&signal)
}

/// Signals that are kept from here on.
pub struct Signals {
    handle: Handle,
    seen: Arc<Mutex<Seen>>,
    thread: Option<JoinHandle<()>>,
    ignored: u64,
}

/// What the thread that listens knows.
#[derive(Default)]
struct Seen {
    /// The first one that asked for an end.
    asked_to_end: Option<i32>,
    /// Whose wait it ends.
    waiter: Option<Participant>,
    /// The command that they are passed on to.
    child: Option<Arc<SharedChild>>,
    /// What came before it was there.
    early: Vec<Origin>,
    /// All that ever came, each as bit `number - 1`.
    all: u64,
    /// [`STARTED`] has come: what comes now and is for the whole group, the command has been sent too.
    has_started: bool,
}

/// What this process sends itself when its command has been started, so that the thread that listens, which may be late, knows
/// what came before. Nothing else comes of it.
const STARTED: i32 = SIGCHLD;

/// How a command ended.
pub struct Ended {
    /// What it said; an error: it could not be waited for.
    pub status: io::Result<ExitStatus>,
    /// Whether [`INTERRUPT`] ended it, which turnlock was sent too.
    pub by_interrupt: bool,
}

/// So many milliseconds a signal may be on its way from the kernel to the thread that listens.
const LATEST: u32 = 200;

/// What Ctrl-C sends.
pub const INTERRUPT: i32 = SIGINT;

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Signals {
    /// From now on signals that ask for an end are kept.
    pub fn keep() -> io::Result<Self> {
        // While there is no thread beside this one. What is wrong shows when a file is opened.
        let _ = turnlock::prepare_process();
        let ignored = processes::ignored_signals();
        let is_ignored = |signal: &i32| ignored & (1 << (*signal - 1)) != 0;
        // A process that ignores the ends of its children cannot ask how they ended.
        let children = [SIGCHLD].into_iter().filter(is_ignored);
        let kept = ASK_FOR_AN_END.into_iter().filter(|signal| !is_ignored(signal)).chain(children);
        let mut signals = SignalsInfo::<WithOrigin>::new(kept)?;
        let (handle, seen) = (signals.handle(), Arc::<Mutex<Seen>>::default());
        let thread = std::thread::Builder::new().spawn({
            let (handle, seen) = (handle.clone(), seen.clone());
            move || {
                let this = std::process::id();
                let is_ours = |origin: &Origin| origin.process.is_some_and(|from| from.pid as u32 == this);
                while !handle.is_closed() {
                    let arrived: Vec<Origin> = signals.wait().collect();
                    let (ends, arrived): (Vec<_>, Vec<_>) =
                        arrived.into_iter().partition(|origin| origin.signal == SIGCHLD);
                    // What comes together counts as before the mark.
                    take(&seen, arrived);
                    if ends.iter().any(is_ours) {
                        locked(&seen).has_started = true;
                    }
                }
            }
        })?;
        Ok(Self { handle, seen, thread: Some(thread), ignored })
    }

    /// Returns the first signal that asked for an end, before there was a command to pass it on to.
    pub fn asked_to_end(&self) -> Option<i32> {
        locked(&self.seen).asked_to_end
    }

    /// Does `wait`, which a signal that asks for an end cancels.
    pub fn while_waiting<T>(&self, waiter: &Participant, wait: impl FnOnce() -> T) -> T {
        {
            let mut seen = locked(&self.seen);
            if seen.asked_to_end.is_some() {
                waiter.cancel();
            }
            seen.waiter = Some(waiter.clone());
        }
        let waited = wait();
        locked(&self.seen).waiter = None;
        waited
    }

    /// Runs the command to its end, passing signals on to it. An error: it could not be started.
    ///
    /// The command is sent every signal that the group is sent: at least once. In the moment in which it is started that may be
    /// twice, for only the kernel knows which of the two came first.
    pub fn run(&self, command: &mut Command) -> io::Result<Ended> {
        for signal in PASSED_ON_TOO {
            if self.ignored & (1 << (signal - 1)) == 0 {
                self.handle.add_signal(signal)?;
            }
        }
        self.handle.add_signal(STARTED)?;
        let child = Arc::new(SharedChild::spawn(command)?);
        let early = {
            let mut seen = locked(&self.seen);
            seen.child = Some(child.clone());
            std::mem::take(&mut seen.early)
        };
        pass_on(&early, &child, |_| true);
        // An error: then the command gets twice what the group is sent, rather than not at all.
        let _ = raise(STARTED);
        let status = child.wait();
        {
            let mut seen = locked(&self.seen);
            (seen.child, seen.has_started) = (None, false);
        }
        let by_it = matches!(&status, Ok(status) if status.signal() == Some(INTERRUPT));
        Ok(Ended { status, by_interrupt: by_it && self.was_sent(INTERRUPT) })
    }

    /// Returns whether this process was sent a signal that its command was sent, too. The thread that listens may hear of it
    /// later than of the command's end.
    fn was_sent(&self, signal: i32) -> bool {
        (0..LATEST).any(|look| {
            if look > 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            locked(&self.seen).all & (1 << (signal - 1)) != 0
        })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // It does not panic; and if it did, it is not needed any more.
            let _ = thread.join();
        }
    }
}

/// Ends this process as the unhandled signal does, so that its parent process sees that.
pub fn end_by(signal: i32) -> ! {
    let _ = emulate_default_handler(signal);
    // Of those that ask for an end none does anything else.
    std::process::exit(128 + signal)
}

fn take(seen: &Mutex<Seen>, arrived: Vec<Origin>) {
    let (child, has_started) = {
        let mut seen = locked(seen);
        arrived.iter().for_each(|origin| seen.all |= 1 << (origin.signal - 1));
        if seen.child.is_none() {
            let first = arrived.iter().find(|origin| ASK_FOR_AN_END.contains(&origin.signal));
            seen.asked_to_end = seen.asked_to_end.or(first.map(|origin| origin.signal));
            if let (Some(_), Some(waiter)) = (first, &seen.waiter) {
                waiter.cancel();
            }
            seen.early.extend(arrived.iter().cloned());
        }
        (seen.child.clone(), seen.has_started)
    };
    if let Some(child) = child {
        pass_on(&arrived, &child, |origin| {
            let is_to_the_group =
                matches!(origin.cause, Cause::Kernel) && TO_THE_GROUP.contains(&origin.signal);
            !(has_started && is_to_the_group)
        });
    }
}

/// Passes on to the command what it `misses`, and stops this process where it was asked to.
fn pass_on(arrived: &[Origin], child: &SharedChild, misses: impl Fn(&Origin) -> bool) {
    let send = |origin: &Origin| {
        if misses(origin) {
            // A command that has just ended needs no signal.
            let _ = child.send_signal(origin.signal);
        }
    };
    let (stops, others): (Vec<_>, Vec<_>) = arrived.iter().partition(|origin| origin.signal == SIGTSTP);
    stops.iter().for_each(|origin| send(origin));
    others.iter().for_each(|origin| send(origin));
    // In which order the two arrived is not known here. The command knows it; and one that does not let itself be stopped
    // should not be waited for by one that is.
    let continued = others.iter().any(|origin| origin.signal == SIGCONT) && !comes_to_a_stop(child.id());
    if !stops.is_empty() && !continued && !processes::group_is_orphaned() {
        // As without a handler. An error: then it goes on, and waits for a command that is stopped.
        let _ = emulate_default_handler(SIGTSTP);
    }
}

/// Returns whether the command is stopped, once it has dealt with a SIGTSTP that it was sent: on a busy machine it finds no
/// processor for a while. One that blocks the signal is not waited for longer than a second.
fn comes_to_a_stop(command: u32) -> bool {
    let began = Instant::now();
    loop {
        // Before the first look too: to send a signal to a whole group takes the kernel a moment.
        std::thread::sleep(Duration::from_millis(1));
        let pending = processes::has_pending(command, SIGTSTP);
        if processes::is_stopped(command) {
            return true;
        }
        if !pending || began.elapsed() > Duration::from_secs(1) {
            return false;
        }
    }
}
