//! `turnlock-link`: the agents of linked locks, over etcd. `docs/hosts.md` says what a linked lock is and what its agent decides; here is what
//! carries that out, over the public surface of the library and over etcd's transactions, watches and leases.
#![forbid(unsafe_code)]

mod agents;
mod answers;
mod calls;
mod cluster;
mod desk;
mod exit;
mod failure;
mod forget;
mod keys;
mod leaving;
mod local;
mod members;
mod os;
mod print;
mod registration;
mod run;
mod semaphores;
mod sentences;
mod silence;
mod snapshot;
mod status;
mod values;
mod watches;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// One lock on several hosts: the agents of turnlock's linked locks, over etcd
///
/// A linked lock is a mutex or a rwlock in a lock file whose programs enter only while their host has the lock's privilege. An agent on each host
/// brings the privilege there when a program wants the lock, first come first served among hosts, and gives it up when another host wants
/// it. Of a rwlock several hosts have it to read at once; of a semaphore each host has some of the permits, which go where they are wanted.
/// Programs need no change: they open the lock by its name. While the lock is home an entry costs what it costs at any other, and etcd is
/// asked nothing.
#[derive(Parser)]
#[command(name = "turnlock-link", version, max_term_width = 100)]
#[command(after_help = "\
TRY IT ON ONE MACHINE, two lock files being two hosts:
  etcd --data-dir /tmp/etcd &
  turnlock-link run /tmp/a.lock accounts --host a & turnlock-link run /tmp/b.lock accounts --host b &
  turnlock run --lock accounts /tmp/a.lock echo at a; turnlock run --lock accounts /tmp/b.lock echo at b; turnlock-link status")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Forget(forget::Forget),
    Status(status::Status),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { exit::USAGE } else { 0 };
            return if error.print().is_ok() { ExitCode::from(code) } else { ExitCode::from(exit::OS) };
        }
    };
    let ended = match cli.command {
        Command::Run(run) => run.run(),
        Command::Forget(forget) => forget.run(),
        Command::Status(status) => status.run(),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            print::message(&failure.why);
            ExitCode::from(failure.code)
        }
    }
}
