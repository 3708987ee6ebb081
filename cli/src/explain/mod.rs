//! `turnlock explain`: real processes at a real lock file, slowly, with sentences; and machines that send messages.
//!
//! | module | what it has |
//! |---|---|
//! | `debugger` | a process of our own, one machine instruction at a time |
//! | `actor` | the processes: this command, started again |
//! | `registers` | what the file says |
//! | `picture` | what is shown after a step |
//! | `stage` | the processes at their file, and a picture after each of their steps |
//! | `scripts` | who does what, in which order |
//! | `sentences` | what has just happened, told from the registers before and after |
//! | `table` | the registers as a table |
//! | `messages` | locks by messages: machines, and what is under way between them |
//! | `plain`, `screen` | the pictures, printed; the pictures, on a terminal |

mod actor;
mod debugger;
mod messages;
mod picture;
mod plain;
mod registers;
mod screen;
mod scripts;
mod sentences;
mod stage;
mod table;

use super::{
    exit, print,
    seconds::seconds,
    terminal::{self, Screen},
};
use actor::Ring;
use picture::{Audience, Stop};
use stage::Stage;
use std::{io, process::ExitCode, time::Duration};

/// See an algorithm work, store by store or message by message
///
/// bakery, ring and bias start three processes of this very command at a lock file in a temporary folder and have them lock and
/// unlock, stopping each after every store that moves one of the lock's registers. Nothing is acted: what is shown is read
/// from the file, and what runs is the code that every program runs, single-stepped as a debugger does. Where the system
/// forbids that, it goes from call to call.
///
/// messages has three participants of a lock by messages (turnlock run --algorithm) in this one process, and delivers one message at a
/// time, always in the same order. Their machines are those that run in a lock file, and what is shown is read from them. No
/// process is stepped: what a participant of such a lock knows is in its own memory, where no other process can look.
///
/// bakery: a number for each who comes, two that draw the same, a holder that is killed. ring: a privilege that goes round.
/// bias: why most acquisitions take no number at all. messages: for each algorithm who sends what to whom, what each knows,
/// and how the others go on when a holder is killed.
#[derive(clap::Args)]
#[command(after_help = "\
KEYS
  space  go on                        left  back to what was shown before
  a      let it go on by itself       + -   faster, slower
  q      quit

EXIT CODES
  0  shown, or quit
  1  it went otherwise than it should
  64  the command line is wrong
  71  the terminal or standard output cannot be written to
  128 + N  signal N ended it

EXAMPLES
  turnlock explain bakery
  turnlock explain ring --ring k-state
  turnlock explain bias --plain | less
  turnlock explain messages --algorithm lamport-queue")]
pub struct Explain {
    /// What to explain
    subject: Subject,
    /// Which ring
    #[arg(long, value_name = "ALGORITHM", default_value = "raynal")]
    ring: Ring,
    /// Which algorithm by messages [default: all, one after the other]
    #[arg(long)]
    algorithm: Option<messages::Algorithm>,
    /// Print text, as is done where standard output is no terminal
    #[arg(long)]
    plain: bool,
    /// Go on by itself after so many seconds; printed text does so at once
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pace: Option<Duration>,
    /// Show what each call of the library has done, not each store or message
    #[arg(long)]
    by_calls: bool,
    /// Be one of the processes: how the explanation starts this command.
    #[arg(long, hide = true, num_args = 3)]
    act: Vec<String>,
}

/// What can be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Subject {
    /// Lamport's bakery: first come first served
    Bakery,
    /// a virtual ring: in turn
    Ring,
    /// the bias: acquiring again without asking anyone
    Bias,
    /// locks by messages: who sends what to whom
    Messages,
}

impl Explain {
    /// Returns what is wrong with the options.
    pub fn check(&self) -> Result<(), String> {
        match self.algorithm.is_some() && self.subject != Subject::Messages {
            true => Err("--algorithm is for \"explain messages\"".into()),
            false => Ok(()),
        }
    }

    /// Runs it.
    pub fn run(&self) -> ExitCode {
        if !self.act.is_empty() {
            return actor::act(&self.act);
        }
        let told = match self.plain || !terminal::is_there() {
            true => plain::Plain::new(self.pace.unwrap_or_default())
                .map_err(Stop::Failed)
                .and_then(|mut plain| self.tell(&mut |picture| plain.show(picture))),
            false => Screen::open().map_err(Stop::Unprinted).and_then(|screen| {
                let mut show = screen::Show::new(screen, self.pace);
                self.tell(&mut |picture| show.show(picture))?;
                show.end()
            }),
        };
        match told {
            Ok(()) | Err(Stop::Quit(None)) => ExitCode::SUCCESS,
            Err(Stop::Quit(Some(signal))) => {
                ExitCode::from(u8::try_from(128 + signal).unwrap_or(exit::FAILED))
            }
            Err(Stop::Failed(error)) => print::fail(exit::FAILED, &error),
            Err(Stop::Unprinted(error)) => {
                print::fail(exit::OS, &format!("cannot write to the terminal or to standard output: {error}"))
            }
        }
    }

    fn tell(&self, audience: &mut Audience) -> Result<(), Stop> {
        if self.subject == Subject::Messages {
            return messages::show(self.algorithm, self.by_calls, audience);
        }
        let folder = tempfile::Builder::new().prefix("turnlock-explain-").tempdir().map_err(|error| {
            let what = format!("cannot make a temporary folder (TMPDIR says where): {error}");
            io::Error::new(error.kind(), what)
        })?;
        let path = folder.path().join("explained.lock");
        let ring = (self.subject == Subject::Ring).then_some(self.ring);
        let mut show = |picture: &_| audience(picture);
        let mut stage = Stage::set(&path, &scripts::LABELS, ring, self.by_calls, &mut show)?;
        match self.subject {
            Subject::Bakery => scripts::bakery(&mut stage),
            Subject::Ring => scripts::ring(&mut stage),
            Subject::Bias => scripts::bias(&mut stage),
            Subject::Messages => Ok(()),
        }
    }
}
