//! The command that `turnlock run` runs: started, waited for, sent on what turnlock is sent.

use super::processes;
use shared_child::{SharedChild, unix::SharedChildExt};
use signal_hook::{
    consts::{SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH},
    iterator::{
        SignalsInfo,
        exfiltrator::origin::{Origin, WithOrigin},
    },
    low_level::{emulate_default_handler, siginfo::Cause},
};
use std::{
    io,
    process::{Command, ExitStatus},
    sync::{Arc, mpsc::channel},
};

const PASSED_ON: [i32; 10] =
    [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP, SIGCONT];

/// Signals that wait to be passed on to a command.
pub struct Signals(SignalsInfo<WithOrigin>);

impl Signals {
    /// From now on signals are kept for the command. Before it is started, so that none is lost in between.
    pub fn keep() -> io::Result<Self> {
        SignalsInfo::new(PASSED_ON).map(Self)
    }

    /// Runs `command` to its end, passing signals on to it.
    fn run(mut self, command: &mut Command) -> io::Result<io::Result<ExitStatus>> {
        let handle = self.0.handle();
        let (started, child) = channel::<Arc<SharedChild>>();
        // Before the command: where no thread is to be had, nothing has begun.
        let passing = std::thread::Builder::new().spawn({
            let handle = handle.clone();
            move || {
                let Ok(child) = child.recv() else { return };
                while !handle.is_closed() {
                    let arrived: Vec<Origin> = self.0.wait().collect();
                    pass_on(&arrived, &child);
                }
            }
        })?;
        let child = Arc::new(SharedChild::spawn(command)?);
        // It waits for it.
        let _ = started.send(child.clone());
        let status = child.wait();
        handle.close();
        // It does not panic; and if it did, the command has ended all the same.
        let _ = passing.join();
        Ok(status)
    }
}

fn pass_on(arrived: &[Origin], child: &SharedChild) {
    let send = |origin: &Origin| {
        // What the terminal sends (Ctrl-C, Ctrl-Z), the kernel sends to the whole foreground group: the command too.
        if !matches!(origin.cause, Cause::Kernel) {
            // A command that has just ended needs no signal.
            let _ = child.send_signal(origin.signal);
        }
    };
    let (stops, others): (Vec<_>, Vec<_>) = arrived.iter().partition(|origin| origin.signal == SIGTSTP);
    stops.iter().for_each(|origin| send(origin));
    others.iter().for_each(|origin| send(origin));
    // In which order the two arrived is not known here. The command knows it; and one that does not let itself be stopped
    // should not be waited for by one that is.
    let continued =
        others.iter().any(|origin| origin.signal == SIGCONT) && !processes::is_stopped(child.id());
    if !stops.is_empty() && !continued && !processes::group_is_orphaned() {
        // As without a handler. An error: then it goes on, and waits for a command that is stopped.
        let _ = emulate_default_handler(SIGTSTP);
    }
}

/// Runs the command to its end. The outer error: it could not be started; the inner one: it could not be waited for.
pub fn run(command: &mut Command, signals: Signals) -> io::Result<io::Result<ExitStatus>> {
    signals.run(command)
}
