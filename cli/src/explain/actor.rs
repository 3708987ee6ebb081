//! The processes of an explanation: this command, started again, that calls the library as it is told.

use super::debugger::{self, Instruction, Stepped};
use crate::processes;
use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, ExitCode, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};
use turnlock::{LockFile, RingAlgorithm};

/// The name of the lock.
pub const LOCK: &str = "explained";

/// A process that is told to lock and unlock, seen from the one that explains.
pub struct Actor {
    /// What it calls itself.
    pub label: &'static str,
    /// Its slot.
    pub slot: usize,
    /// What it does, for people.
    pub doing: &'static str,
    child: Child,
    orders: ChildStdin,
    answers: Receiver<String>,
    /// Nothing: it runs by itself, from call to call.
    stepped: Option<Stepped>,
    /// Its last order has not been answered.
    in_call: bool,
}

/// Why a process stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Still {
    /// What was waited for has happened.
    Moved,
    /// It sleeps inside a call.
    Asleep,
    /// Its call has returned.
    Returned,
}

/// One that has taken so many instructions without a move, and asked the kernel for nothing meanwhile, spins: no step of an acquisition is as
/// long. Between looks for a dead participant and what is cleared for it there may be more instructions, but no fewer system calls.
const SPINS_AFTER: u32 = 20_000;
/// A process that takes longer has gone astray. Where others compute, a call that is stepped may take minutes.
const LONGEST: Duration = Duration::from_secs(600);

impl Actor {
    /// Starts a process that has a slot in the lock file at `path`.
    pub fn start(label: &'static str, path: &Path, ring: Option<Ring>) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let ring = ring.map_or("", Ring::name);
        command.args(["explain", "bakery", "--act", label, ring]).arg(path);
        // The terminal's Ctrl-C is for who explains.
        let mut child = command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(orders), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a process was started without its pipes"));
        };
        let (said, answers) = channel();
        std::thread::Builder::new().spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    break;
                }
            }
        })?;
        let (doing, in_call) = ("outside", true);
        let mut actor = Self { label, slot: 0, doing, child, orders, answers, stepped: None, in_call };
        let ready = actor.answer()?;
        actor.slot = ready.parse().map_err(|_| io::Error::other(format!("{label} said {ready:?}")))?;
        Ok(actor)
    }

    /// Stops it: from now on it goes on as it is stepped.
    pub fn seize(&mut self) -> io::Result<()> {
        self.stepped = Some(Stepped::seize(self.child.id())?);
        Ok(())
    }

    /// Returns its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to call something. It does not move yet if it is stepped.
    pub fn tell(&mut self, order: &str) -> io::Result<()> {
        self.in_call = true;
        writeln!(self.orders, "{order}")?;
        self.orders.flush()
    }

    /// Lets it go on until `is_so`, or until its call has returned, or it sleeps and `waits` says that it does so in the
    /// call. Before and after, it stands still: one that is not stepped, too, which would pass over another one that is late for its turn
    /// on a busy machine.
    pub fn go_on(
        &mut self,
        is_so: impl FnMut() -> io::Result<bool>,
        waits: impl FnMut() -> io::Result<bool>,
    ) -> io::Result<Still> {
        if self.stepped.is_some() {
            return self.go_on_until(is_so, waits);
        }
        debugger::cont(self.pid())?;
        let still = self.go_on_until(is_so, waits);
        debugger::stop(self.pid())?;
        still
    }

    fn go_on_until(
        &mut self,
        mut is_so: impl FnMut() -> io::Result<bool>,
        mut waits: impl FnMut() -> io::Result<bool>,
    ) -> io::Result<Still> {
        let (began, mut instructions) = (Instant::now(), 0);
        while began.elapsed() < LONGEST {
            match &mut self.stepped {
                Some(stepped) => {
                    let spins = instructions >= SPINS_AFTER;
                    match if spins { stepped.run_to_system_call() } else { stepped.step() }? {
                        Instruction::Done if is_so()? => return Ok(Still::Moved),
                        Instruction::Done => {
                            // Whatever it asks of the kernel but to yield, it does not spin, or spins no more.
                            instructions = if stepped.has_asked() { 0 } else { instructions + 1 };
                            continue;
                        }
                        Instruction::Asleep => {}
                        Instruction::Ended => return Err(self.ended()),
                    }
                }
                None => {
                    std::thread::sleep(Duration::from_millis(2));
                    if !processes::is_asleep(self.child.id()) {
                        continue;
                    }
                    // Whatever it did, it has done.
                    if is_so()? {
                        return Ok(Still::Moved);
                    }
                }
            }
            if !self.in_call || self.has_answered()? {
                return Ok(Still::Returned);
            }
            if waits()? {
                return Ok(Still::Asleep);
            }
        }
        Err(io::Error::other(format!("{} does not come to rest", self.label)))
    }

    /// Has it take one instruction.
    pub fn one_instruction(&mut self) -> io::Result<()> {
        match self.stepped.as_mut().map(Stepped::step).transpose()? {
            Some(Instruction::Ended) => Err(self.ended()),
            _ => Ok(()),
        }
    }

    /// Returns whether it can be told from instruction to instruction.
    pub fn is_stepped(&self) -> bool {
        self.stepped.is_some()
    }

    /// Returns whether its call has returned.
    fn has_answered(&mut self) -> io::Result<bool> {
        match self.answers.recv_timeout(Duration::from_millis(5)) {
            Ok(answer) if answer == "done" => {
                self.in_call = false;
                Ok(true)
            }
            Ok(answer) => Err(io::Error::other(format!("{}: {answer}", self.label))),
            Err(RecvTimeoutError::Timeout) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
        }
    }

    fn answer(&mut self) -> io::Result<String> {
        let answer = self.answers.recv_timeout(LONGEST).map_err(|_| self.ended())?;
        self.in_call = false;
        Ok(answer)
    }

    fn ended(&self) -> io::Error {
        io::Error::other(format!("{} has ended", self.label))
    }

    /// Kills it, as kill -9 does.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(|_| ())
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // It may be dead.
        let _ = self.kill();
    }
}

/// Is one of the processes: calls what standard input says, line by line.
pub fn act(words: &[String]) -> ExitCode {
    let [label, ring, path] = words else { return ExitCode::FAILURE };
    match try_to_act(label, ring, Path::new(path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn try_to_act(label: &str, ring: &str, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let file = LockFile::options().label(label).participants(8).locks(1).open(path)?;
    let slot = file.current_participant()?.slot();
    let say = |what: &str| println!("{what}");
    let orders = io::stdin().lines();
    match Ring::of(ring) {
        None => {
            let mutex = file.mutex_options().patience(Duration::ZERO).open(LOCK)?;
            say(&slot.to_string());
            let mut guard = None;
            for order in orders {
                match &order?[..] {
                    "lock" => guard = Some(mutex.lock()?),
                    "repair" => guard.as_mut().map_or(Ok(()), |guard| guard.mark_consistent())?,
                    _ => drop(guard.take()),
                }
                say("done");
            }
        }
        Some(algorithm) => {
            let ring = file.ring_options().algorithm(algorithm).open(LOCK)?;
            say(&slot.to_string());
            let mut guard = None;
            for order in orders {
                match &order?[..] {
                    "lock" => guard = Some(ring.lock()?),
                    "repair" => guard.as_mut().map_or(Ok(()), |guard| guard.mark_consistent())?,
                    _ => drop(guard.take()),
                }
                say("done");
            }
        }
    }
    Ok(())
}

/// A ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Ring {
    /// Dijkstra's, which stabilises itself
    KState,
    /// Raynal's, modulo n squared
    Raynal,
    /// Raynal's sum ring
    Sum,
}

impl Ring {
    fn name(self) -> &'static str {
        match self {
            Ring::KState => "k-state",
            Ring::Raynal => "raynal",
            Ring::Sum => "sum",
        }
    }

    fn of(name: &str) -> Option<RingAlgorithm> {
        match name {
            "k-state" => Some(RingAlgorithm::KState),
            "raynal" => Some(RingAlgorithm::Raynal),
            "sum" => Some(RingAlgorithm::Sum { step: 1 }),
            _ => None,
        }
    }
}
