//! A process of our own, one machine instruction at a time: how the explanation slows a real acquisition down without
//! another line in the code that acquires.
//!
//! This is the debugger's interface of the kernel (ptrace), for a child that this process has started itself and that has
//! one thread. The child is killed by the kernel should this process die.

use crate::cli::processes;
use nix::{
    errno::Errno,
    sys::{
        ptrace::{self, Options},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use std::{
    io,
    time::{Duration, Instant},
};

/// A process that stands still, except where it is told to go on.
pub struct Stepped {
    pid: Pid,
    /// Told to take an instruction, and not yet done with it: a system call that sleeps.
    under_way: bool,
}

/// What became of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// It is done, and the process stands still again.
    Done,
    /// It is a system call in which the process sleeps.
    Asleep,
    /// The process has ended.
    Ended,
}

/// A process that has slept for so long sleeps until something wakes it.
const ASLEEP_AFTER: Duration = Duration::from_millis(4);

impl Stepped {
    /// Stops the child `pid`.
    pub fn seize(pid: u32) -> io::Result<Self> {
        let pid = Pid::from_raw(pid as i32);
        ptrace::seize(pid, Options::PTRACE_O_EXITKILL)?;
        ptrace::interrupt(pid)?;
        let mut stepped = Self { pid, under_way: true };
        match stepped.settle()? {
            Instruction::Ended => Err(Errno::ESRCH.into()),
            _ => Ok(stepped),
        }
    }

    /// Has it take one instruction, or go on with the one that it sleeps in.
    pub fn step(&mut self) -> io::Result<Instruction> {
        if !self.under_way {
            match ptrace::step(self.pid, None) {
                Err(Errno::ESRCH) => return Ok(Instruction::Ended),
                stepped => stepped?,
            }
            self.under_way = true;
        }
        self.settle()
    }

    /// Waits until it stands still, or sleeps.
    fn settle(&mut self) -> io::Result<Instruction> {
        let (began, mut looks) = (Instant::now(), 0);
        loop {
            match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => {}
                Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::ECHILD) => {
                    return Ok(Instruction::Ended);
                }
                Ok(_) => {
                    self.under_way = false;
                    return Ok(Instruction::Done);
                }
                Err(error) => return Err(error.into()),
            }
            looks += 1;
            if looks < 50 {
                std::thread::yield_now();
            } else if began.elapsed() > ASLEEP_AFTER && processes::is_asleep(self.pid.as_raw() as u32) {
                return Ok(Instruction::Asleep);
            } else {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    }
}
