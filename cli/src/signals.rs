//! Signals that turnlock is sent: kept while it waits, where they ask for an end, and passed on to the command that it runs.
//!
//! What was ignored when turnlock was started (by `nohup`, or by a shell for what it starts in the background) stays so,
//! for the command too.

use super::processes::{self, SignalSets};
use shared_child::{SharedChild, unix::SharedChildExt};
use signal_hook::{
    consts::{
        SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2,
        SIGWINCH,
    },
    iterator::{
        SignalsInfo,
        exfiltrator::origin::{Origin, WithOrigin},
    },
    low_level::{emulate_default_handler, siginfo::Cause},
};
use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

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

/// Signals that are kept from here on, until the thread that waits or runs the command asks for them: there is no other.
#[derive(Clone)]
pub struct Signals {
    kept: Arc<Mutex<Kept>>,
    sets: SignalSets,
}

struct Kept {
    signals: SignalsInfo<WithOrigin>,
    /// The first one that asked for an end.
    asked_to_end: Option<i32>,
    /// What came before there was a command to pass it on to.
    early: Vec<Origin>,
    /// All that ever came, each as bit `number - 1`.
    all: u64,
}

/// How a command ended.
pub struct Ended {
    /// What it said; an error: it could not be waited for.
    pub status: io::Result<ExitStatus>,
    /// Whether [`INTERRUPT`] ended it, which turnlock was sent too.
    pub by_interrupt: bool,
}

/// For so many milliseconds a signal that the whole group is sent may reach this process later than its command.
const LATEST: u32 = 200;

/// How often a command is looked after whose end may not come by a signal, since this process was started with that one blocked.
const LOOK_FOR_CHILDREN: Duration = Duration::from_millis(10);

/// What Ctrl-C sends.
pub const INTERRUPT: i32 = SIGINT;

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

impl Kept {
    /// Takes what has come.
    fn take(&mut self) -> Vec<Origin> {
        let arrived: Vec<Origin> = self.signals.pending().collect();
        self.note(&arrived);
        arrived
    }

    /// Waits until something comes, and takes that. If the end of a child may not come by a signal: a moment at most.
    fn wait(&mut self, children_are_told: bool) -> Vec<Origin> {
        if !children_are_told {
            std::thread::sleep(LOOK_FOR_CHILDREN);
            return self.take();
        }
        let arrived: Vec<Origin> = self.signals.wait().collect();
        self.note(&arrived);
        arrived
    }

    fn note(&mut self, arrived: &[Origin]) {
        arrived.iter().for_each(|origin| self.all |= bit(origin.signal));
    }
}

impl Signals {
    /// From now on signals that ask for an end are kept.
    pub fn keep() -> io::Result<Self> {
        let sets = SignalSets::own();
        let is_ignored = |signal: &i32| sets.ignored & bit(*signal) != 0;
        // A process that ignores the ends of its children cannot ask how they ended.
        let children = [SIGCHLD].into_iter().filter(is_ignored);
        let kept = ASK_FOR_AN_END.into_iter().filter(|signal| !is_ignored(signal)).chain(children);
        let signals = SignalsInfo::<WithOrigin>::new(kept)?;
        let kept = Kept { signals, asked_to_end: None, early: Vec::new(), all: 0 };
        Ok(Self { kept: Arc::new(Mutex::new(kept)), sets })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the first signal that has asked for an end, before there is a command to pass it on to.
    pub fn asked_to_end(&self) -> Option<i32> {
        let mut kept = self.kept();
        let arrived = kept.take();
        let first = arrived.iter().find(|origin| ASK_FOR_AN_END.contains(&origin.signal));
        kept.asked_to_end = kept.asked_to_end.or(first.map(|origin| origin.signal));
        kept.early.extend(arrived);
        kept.asked_to_end
    }

    /// Runs the command to its end, passing signals on to it. An error: it could not be started.
    ///
    /// The command is sent every signal that the group is sent: at least once. In the moment in which it is started that may be
    /// twice, for only the kernel knows which of the two came first.
    pub fn run(&self, command: &mut Command) -> io::Result<Ended> {
        self.run_beside(command, |_| {})
    }

    /// Does what [`Signals::run`] does, and calls `beside` once the command runs.
    pub fn run_beside(
        &self,
        command: &mut Command,
        beside: impl FnOnce(&Arc<SharedChild>),
    ) -> io::Result<Ended> {
        let mut kept = self.kept();
        for signal in PASSED_ON_TOO {
            if self.sets.ignored & bit(signal) == 0 {
                kept.signals.add_signal(signal)?;
            }
        }
        // By this the command's end is noticed.
        kept.signals.add_signal(SIGCHLD)?;
        let children_are_told = self.sets.blocked & bit(SIGCHLD) == 0;
        let child = Arc::new(SharedChild::spawn(command)?);
        beside(&child);
        let early = std::mem::take(&mut kept.early).into_iter().chain(kept.take()).collect::<Vec<_>>();
        pass_on(&early, &child, |_| true);
        let status = loop {
            match child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => break Ok(status),
                Err(error) => break Err(error),
            }
            // What is for the whole group, the command has been sent too.
            let misses = |origin: &Origin| {
                let is_to_the_group =
                    matches!(origin.cause, Cause::Kernel) && TO_THE_GROUP.contains(&origin.signal);
                !is_to_the_group
            };
            pass_on(&kept.wait(children_are_told), &child, misses);
        };
        let by_it = matches!(&status, Ok(status) if status.signal() == Some(INTERRUPT));
        Ok(Ended { status, by_interrupt: by_it && was_sent(&mut kept, INTERRUPT) })
    }
}

/// Returns whether this process was sent a signal that its command was sent, too.
fn was_sent(kept: &mut Kept, signal: i32) -> bool {
    (0..LATEST).any(|look| {
        if look > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        kept.take();
        kept.all & bit(signal) != 0
    })
}

/// Ends this process as the unhandled signal does, so that its parent process sees that.
pub fn end_by(signal: i32) -> ! {
    let _ = emulate_default_handler(signal);
    // Of those that ask for an end none does anything else.
    std::process::exit(128 + signal)
}

/// Passes on to the command what it `misses`, and stops this process where it was asked to.
fn pass_on(arrived: &[Origin], child: &SharedChild, misses: impl Fn(&Origin) -> bool) {
    let send = |origin: &Origin| {
        if misses(origin) && origin.signal != SIGCHLD {
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
