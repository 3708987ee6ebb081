//! What programs say, and signals.

use super::super::{no_verdict::NoVerdict, player};
use std::{
    collections::{BTreeMap, VecDeque},
    io::Read,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

/// What comes.
enum Event {
    /// A program has said a line.
    Said(usize, String),
    /// It says nothing more.
    Ended(usize),
    /// Ctrl-C, or another signal to end.
    Signal(i32),
}

/// Hears all programs, by their numbers, and signals.
pub struct Ears {
    sender: Sender<Event>,
    events: Receiver<Event>,
    said: BTreeMap<usize, VecDeque<String>>,
    ended: Vec<usize>,
}

impl Ears {
    /// From now on, signals to end are heard.
    pub fn listen() -> Result<Self, String> {
        let (sender, events) = channel();
        player::listen_for_signals(&sender, Event::Signal)?;
        Ok(Self { sender, events, said: BTreeMap::new(), ended: Vec::new() })
    }

    /// Hears this program from now on.
    pub fn hear(&self, program: usize, pipe: impl Read + Send + 'static) {
        let sender = self.sender.clone();
        thread::spawn(move || {
            player::pass_on(pipe, |line| sender.send(Event::Said(program, line)).is_ok());
            // The receiver is gone when the demo is over.
            let _ = sender.send(Event::Ended(program));
        });
    }

    /// Returns the next line of this program, if one comes within so long.
    pub fn line(&mut self, program: usize, limit: Duration) -> Result<Option<String>, NoVerdict> {
        let began = Instant::now();
        loop {
            if let Some(line) = self.said.get_mut(&program).and_then(VecDeque::pop_front) {
                return Ok(Some(line));
            }
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() || self.ended.contains(&program) {
                return Ok(None);
            }
            self.take(left)?;
        }
    }

    /// Returns whether this program has said something that was not asked for yet.
    pub fn has_said(&self, program: usize) -> bool {
        self.said.get(&program).is_some_and(|lines| !lines.is_empty())
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) -> Result<(), NoVerdict> {
        let began = Instant::now();
        loop {
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            self.take(left)?;
        }
    }

    /// Takes what comes within so long.
    fn take(&mut self, limit: Duration) -> Result<(), NoVerdict> {
        match self.events.recv_timeout(limit) {
            Ok(Event::Said(program, line)) => self.said.entry(program).or_default().push_back(line),
            Ok(Event::Ended(program)) => self.ended.push(program),
            Ok(Event::Signal(signal)) => return Err(NoVerdict::Interrupted(signal)),
            // This has a sender itself.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        Ok(())
    }
}
