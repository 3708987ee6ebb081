//! `turnlock demo`: programs in up to eight languages share a counter; one of them is killed inside; a verdict. `--hosts` is a demo of its own.
//!
//! | module | what it has |
//! |---|---|
//! | `programs` | the programs: how each is built and started, or why it is left out |
//! | `bindings` | those of `bindings/`, where they stand ready: Node, Go, Java |
//! | `limit` | commands that are waited for, but not for ever: compilers |
//! | `library` | where libturnlock.so is |
//! | `stage` | the counter, the journal and the lock |
//! | `player` | a program that runs |
//! | `play` | the run itself: start them, watch, kill one, see how it ends |
//! | `journal` | the journal that they write: whose turn it was, with which fencing token |
//! | `evidence` | what should be, and what was seen |
//! | `verdict` | the one against the other: a pure function |
//! | `no_verdict` | why there is none |
//! | `narrator` | what is printed |
//! | `hosts` | another one: one lock on several hosts |

mod bindings;
#[path = "../../../examples/counter.rs"]
mod counter;
mod evidence;
mod hosts;
mod journal;
mod library;
mod limit;
mod narrator;
mod no_verdict;
mod play;
mod player;
mod programs;
mod stage;
mod verdict;

use super::{exit, print};
use evidence::Expected;
use narrator::Narrator;
use no_verdict::NoVerdict;
use programs::{Built, Language, LeftOut};
use std::{path::PathBuf, process::ExitCode, sync::mpsc};

/// See it work: programs in up to eight languages share a lock, and one of them is killed inside
///
/// Compiles and starts a C, a C++, a Python and a shell program, and one in Rust that is inside this command: those of
/// the examples folder. Programs in Node, Go and Java join in where they stand ready: Node's where the package turnlock
/// is installed (npm install ./bindings/node), Go's and Java's where bindings/check has built them. All add to one
/// counter in a plain file, thousands of times, as fast as they can. Only the lock keeps them from losing each other's
/// updates. Half-way through one of its turns a program is killed with kill -9; the next in the queue gets the lock, is
/// told who died, and repairs the counter. Then everything is checked.
///
/// The programs load the library that was installed or built with this command. Where it came alone, those take part that are
/// inside it: the one in Rust, and the shell's.
///
/// Takes a few seconds, and installs nothing. A program that lacks something is left out, and the demo says what.
/// Everything happens in a temporary folder (TMPDIR says where, CC and CXX name the compilers).
///
/// With --hosts it shows another lock: one that several hosts share. Two to five lock files stand for the hosts, on this one machine; each
/// has an agent (turnlock-link), and all an etcd of the demo's own, on loopback. The hosts contend; then a program, an agent, etcd and a
/// whole host are killed, one after another. In some 15 s, with every claim checked at the end.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  everything was in order
  1  something was off, or the demo could not be run
  64  the command line is wrong
  69  --hosts: etcd or turnlock-link is not installed; it says which, and how to install it
  71  standard output cannot be written to; a reader that closes the pipe is no error
  128 + N  signal N ended it

EXAMPLES
  turnlock demo
  turnlock demo --kill python --keep   look at the journal and the sources afterwards
  turnlock demo --separate-locks       what happens without a common lock: expect a bad verdict
  turnlock demo --hosts 3              one lock on three hosts, over etcd")]
pub struct Demo {
    /// How many turns each program takes; the shell, which starts two processes for each, takes an eighth
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        value_parser = clap::value_parser!(u64).range(100..=10_000_000)
    )]
    turns: u64,
    /// Which program to kill; if not said, the first of these that can be run
    #[arg(long, value_name = "PROGRAM")]
    kill: Option<Victim>,
    /// Give each program a lock of its own, so that nothing keeps them apart: the verdict must find the damage
    #[arg(long)]
    separate_locks: bool,
    /// The libturnlock.so to use, or the folder it is in; if not said, the one that came with this command, if one did
    #[arg(long, value_name = "PATH")]
    library: Option<PathBuf>,
    /// Show a lock that so many hosts share (2 to 5), over an etcd of the demo's own
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(2..=hosts::MOST),
        conflicts_with_all = ["turns", "kill", "separate_locks", "library"]
    )]
    hosts: Option<u64>,
    /// Keep the folder with the sources and programs of the examples, the counter and the journal
    #[arg(long)]
    keep: bool,
    /// Print the verdict as JSON (fencing tokens as decimal strings, since they exceed 2^53)
    #[arg(long)]
    json: bool,
    /// Be the Rust program: how the demo starts this command as one of them.
    #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true)]
    take_part: Vec<String>,
    /// Be a program at a host: likewise.
    #[arg(long, hide = true, num_args = 2)]
    at_host: Vec<String>,
}

/// The programs that can be killed. Not the shell program, whose turn is several processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Victim {
    C,
    #[value(name = "c++", alias = "cpp")]
    Cpp,
    Python,
    Rust,
    Node,
    Go,
    Java,
}

impl Demo {
    /// Runs the demo.
    pub fn run(&self) -> ExitCode {
        if !self.take_part.is_empty() {
            return counter::take_part(&self.take_part);
        }
        if !self.at_host.is_empty() {
            return hosts::take_part(&self.at_host);
        }
        match self.try_run() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(exit::FAILED),
            Err(NoVerdict::Failed(why)) => print::fail_in_lines(exit::FAILED, &why),
            Err(NoVerdict::Missing(what)) => print::fail_in_lines(exit::CANNOT_RUN, &what),
            Err(NoVerdict::Unprinted(error)) => {
                print::fail(exit::OS, &format!("cannot write to standard output: {error}"))
            }
            Err(NoVerdict::Interrupted(signal)) => {
                let code = u8::try_from(128 + signal).unwrap_or(exit::FAILED);
                print::fail(code, &format!("ended by signal {signal}; every program was killed"))
            }
        }
    }

    /// `true`: all in order.
    fn try_run(&self) -> Result<bool, NoVerdict> {
        if let Some(count) = self.hosts {
            return hosts::run(count as usize, self.keep, self.json);
        }
        let (sender, events) = mpsc::channel();
        player::listen_for_signals(&sender, player::Event::Signal)?;
        let library = library::find(self.library.as_deref())?;
        let mut folder = tempfile::Builder::new()
            .prefix("turnlock-demo-")
            .tempdir()
            .map_err(|error| format!("cannot make a temporary folder (TMPDIR says where): {error}"))?;
        folder.disable_cleanup(self.keep);

        let narrator = Narrator::new(self.json);
        narrator.opening(folder.path(), library.as_deref());
        narrator.busy("compiling");
        let built = programs::build_all(folder.path(), library.as_deref());
        if let Ok(player::Event::Signal(signal)) = events.try_recv() {
            return Err(NoVerdict::Interrupted(signal));
        }
        let (programs, left_out) = built?;
        if programs.len() < 2 {
            narrator.cast(&[], &left_out);
            return Err("a demo needs two programs at least".to_string().into());
        }
        let victim = self.victim(&programs, &left_out)?;
        let expected: Vec<Expected> = programs.iter().map(|program| self.expected(program, victim)).collect();
        narrator.cast(&programs.iter().zip(&expected).collect::<Vec<_>>(), &left_out);

        let stage = stage::Stage::set(folder.path(), &programs, self.separate_locks)?;
        let seen = play::play(&stage, &programs, &expected, (sender, events), &narrator)?;
        let verdict = verdict::verify(&expected, &left_out, &seen);
        let kept = self.keep.then(|| folder.path());
        narrator.verdict(&verdict, kept, self.separate_locks).map_err(NoVerdict::Unprinted)?;
        Ok(verdict.in_order)
    }

    fn victim(&self, programs: &[Built], left_out: &[LeftOut]) -> Result<Language, String> {
        let language = |victim| match victim {
            Victim::C => Language::C,
            Victim::Cpp => Language::Cpp,
            Victim::Python => Language::Python,
            Victim::Rust => Language::Rust,
            Victim::Node => Language::Node,
            Victim::Go => Language::Go,
            Victim::Java => Language::Java,
        };
        let runs = |wanted: &Language| programs.iter().any(|program| program.language == *wanted);
        match self.kill.map(language) {
            None => {
                let mut candidates =
                    [Victim::C, Victim::Cpp, Victim::Python, Victim::Rust].map(language).into_iter();
                candidates.find(runs).ok_or_else(|| "there is no program to kill".into())
            }
            Some(wanted) if runs(&wanted) => Ok(wanted),
            Some(wanted) => {
                let why = left_out.iter().find(|out| out.language == wanted).map_or("", |out| &out.why);
                Err(format!("cannot kill {}, since it is left out: {why}", wanted.file()))
            }
        }
    }

    /// Returns what a program should have done at the end. The victim dies in the middle of its turns.
    fn expected(&self, program: &Built, victim: Language) -> Expected {
        let turns = if program.language == Language::Shell { self.turns / 8 } else { self.turns };
        let die_at = (program.language == victim).then_some(turns / 2);
        Expected { language: program.language, turns: die_at.unwrap_or(turns), asked: turns, die_at }
    }
}
