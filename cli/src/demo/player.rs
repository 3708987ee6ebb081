//! A program that runs: what it says and how it ends are events; it does not survive the demo.

use super::{
    evidence::Expected,
    programs::{Built, Language},
};
use shared_child::SharedChild;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    io::{self, BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    path::Path,
    process::{ChildStdin, Command, ExitStatus, Stdio},
    sync::{Arc, mpsc::Sender},
    thread,
    time::Duration,
};

/// A killed process is gone long before.
const SOON: Duration = Duration::from_secs(10);

/// What the run waits for.
pub enum Event {
    /// A line on standard output.
    Said(Language, String),
    /// A line on standard error.
    Complained(Language, String),
    /// A program ended, after all that it said.
    Ended(Language, io::Result<ExitStatus>),
    /// Ctrl-C, or another signal to end.
    Signal(i32),
}

/// From now on, signals to end are events.
pub fn listen_for_signals<E: Send + 'static>(
    sender: &Sender<E>,
    event: impl Fn(i32) -> E + Send + 'static,
) -> Result<(), String> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| format!("cannot listen for signals: {error}"))?;
    let sender = sender.clone();
    thread::spawn(move || signals.forever().try_for_each(|signal| sender.send(event(signal))));
    Ok(())
}

/// A program that runs; killed when it is dropped, if it still does.
pub struct Player {
    /// Which.
    pub language: Language,
    child: Arc<SharedChild>,
    leads_a_group: bool,
    /// A program that waits to be killed waits for the end of its standard input: if we die, it does.
    _stdin: Option<ChildStdin>,
}

impl Player {
    /// Starts it in `folder`.
    pub fn start(
        program: &Built,
        expected: &Expected,
        folder: &Path,
        sender: &Sender<Event>,
    ) -> Result<Self, String> {
        let language = program.language;
        let mut command = program.command(folder, expected.asked, expected.die_at);
        command.stdin(if expected.die_at.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // The shell program has children of its own.
        let leads_a_group = language == Language::Shell;
        if leads_a_group {
            command.process_group(0);
        }
        let child = SharedChild::spawn(&mut command).map_err(|error| {
            format!(
                "cannot start {}: {error} (can programs be run from {}? TMPDIR names another folder)",
                language.file(),
                folder.display()
            )
        })?;
        let child = Arc::new(child);
        let errors = child.take_stderr().map(|pipe| {
            let sender = sender.clone();
            thread::spawn(move || {
                pass_on(pipe, |line| sender.send(Event::Complained(language, line)).is_ok())
            })
        });
        let (sender, output) = (sender.clone(), child.take_stdout());
        thread::spawn({
            let child = child.clone();
            move || {
                if let Some(pipe) = output {
                    pass_on(pipe, |line| sender.send(Event::Said(language, line)).is_ok());
                }
                if let Some(errors) = errors {
                    // It does not panic; and if it did, there would be nothing to pass on.
                    let _ = errors.join();
                }
                // The receiver is gone when the demo is over.
                let _ = sender.send(Event::Ended(language, child.wait()));
            }
        });
        Ok(Self { language, leads_a_group, _stdin: child.take_stdin(), child })
    }

    /// Returns its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, by SIGKILL.
    pub fn kill(&self) {
        if self.leads_a_group && !matches!(self.child.try_wait(), Ok(Some(_))) {
            // Its children, if there is a `kill` to do it; they end by themselves after their turn in any case.
            let _ = Command::new("sh")
                .args(["-c", "kill -9 -\"$1\"", "sh", &self.child.id().to_string()])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
        // An error: it has ended already.
        let _ = self.child.kill();
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.kill();
        // Leaves no zombie; an error cannot be reported.
        let _ = self.child.wait_timeout(SOON);
    }
}

/// Passes on line after line, to the end or until the receiver is gone.
pub fn pass_on(pipe: impl Read, mut to: impl FnMut(String) -> bool) {
    for line in BufReader::new(pipe).split(b'\n') {
        let Ok(line) = line else { return };
        if !to(String::from_utf8_lossy(&line).trim_end().into()) {
            return;
        }
    }
}
