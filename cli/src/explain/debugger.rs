//! A process of our own, one machine instruction at a time: how the explanation slows a real acquisition down without
//! another line in the code that acquires.
//!
//! This is the debugger's interface of the kernel (ptrace), for a child that this process has started itself and that has
//! one thread. The child is killed by the kernel should this process die.

use crate::processes;
use nix::{
    errno::Errno,
    sys::{
        ptrace::{self, Options},
        signal::{Signal, kill},
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
    /// It may be inside a system call that it has entered.
    in_call: bool,
    /// What it was told to do last took it to a system call other than the one that yields the processor.
    asked: bool,
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

/// The number of `sched_yield`.
#[cfg(target_arch = "x86_64")]
const YIELD: u64 = 24;
#[cfg(not(target_arch = "x86_64"))]
const YIELD: u64 = 124;

/// A process that has slept for so long sleeps until something wakes it.
const ASLEEP_AFTER: Duration = Duration::from_millis(4);

impl Stepped {
    /// Stops the child `pid`.
    pub fn seize(pid: u32) -> io::Result<Self> {
        let pid = Pid::from_raw(pid as i32);
        ptrace::seize(pid, Options::PTRACE_O_EXITKILL)?;
        ptrace::interrupt(pid)?;
        let mut stepped = Self { pid, under_way: true, in_call: true, asked: false };
        match stepped.settle()? {
            Instruction::Ended => Err(Errno::ESRCH.into()),
            _ => Ok(stepped),
        }
    }

    /// Has it take one instruction, or go on with the one that it sleeps in.
    pub fn step(&mut self) -> io::Result<Instruction> {
        if self.under_way {
            return self.settle();
        }
        let next = self.next_system_call();
        self.asked = next.is_ok_and(|call| call.is_some_and(|number| number != YIELD));
        // What is not known may sleep.
        let may_sleep =
            std::mem::take(&mut self.in_call) || next.is_err() || next.is_ok_and(|call| call.is_some());
        if let Err(error) = ptrace::step(self.pid, None) {
            return gone(error);
        }
        self.under_way = true;
        match may_sleep {
            true => self.settle(),
            // Waited for where this thread sleeps too: on a busy machine polling takes far longer.
            false => self.stopped(waitpid(self.pid, None)),
        }
    }

    /// Has it run until it enters a system call or comes back from one. For a process that does nothing but spin: stepped,
    /// that would take long.
    pub fn run_to_system_call(&mut self) -> io::Result<Instruction> {
        if !self.under_way {
            if let Err(error) = ptrace::syscall(self.pid, None) {
                return gone(error);
            }
            self.under_way = true;
        }
        self.in_call = true;
        let done = self.settle();
        self.asked = self.entered_system_call().is_ok_and(|number| number != YIELD);
        done
    }

    /// Returns whether the instruction that is done, or the system call that it was run to, asks the kernel for more than to yield the
    /// processor, as far as is known of this processor.
    pub fn has_asked(&self) -> bool {
        self.asked
    }

    /// Returns the number of the system call that it has entered, or come back from.
    fn entered_system_call(&self) -> nix::Result<u64> {
        #[cfg(target_arch = "x86_64")]
        return ptrace::getregs(self.pid).map(|registers| registers.orig_rax);
        #[cfg(target_arch = "aarch64")]
        return ptrace::getregs(self.pid).map(|registers| registers.regs[8]);
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        Err(Errno::ENOSYS)
    }

    /// Returns the number of the system call that its next instruction is, if it is one.
    fn next_system_call(&self) -> nix::Result<Option<u64>> {
        #[cfg(target_arch = "x86_64")]
        let call = ptrace::getregs(self.pid).map(|registers| (registers.rip, 0xffff, 0x050f, registers.rax));
        #[cfg(target_arch = "aarch64")]
        let call = ptrace::getregs(self.pid)
            .map(|registers| (registers.pc, 0xffff_ffff, 0xd400_0001, registers.regs[8]));
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let call: nix::Result<(u64, i64, i64, u64)> = Err(Errno::ENOSYS);
        call.and_then(|(at, mask, instruction, number)| {
            let next = ptrace::read(self.pid, std::ptr::without_provenance_mut(at as usize))?;
            Ok((next & mask == instruction).then_some(number))
        })
    }

    fn stopped(&mut self, waited: nix::Result<WaitStatus>) -> io::Result<Instruction> {
        match waited {
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::ECHILD) => {
                Ok(Instruction::Ended)
            }
            Ok(_) => {
                self.under_way = false;
                Ok(Instruction::Done)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until it stands still, or sleeps.
    fn settle(&mut self) -> io::Result<Instruction> {
        let (began, mut looks) = (Instant::now(), 0);
        loop {
            match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => {}
                waited => return self.stopped(waited),
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

/// Has a process that is not stepped stand still, once it sleeps or has come out of the kernel.
pub fn stop(pid: u32) -> io::Result<()> {
    Ok(kill(Pid::from_raw(pid as i32), Signal::SIGSTOP)?)
}

/// Has it go on.
pub fn cont(pid: u32) -> io::Result<()> {
    Ok(kill(Pid::from_raw(pid as i32), Signal::SIGCONT)?)
}

fn gone(error: Errno) -> io::Result<Instruction> {
    match error {
        Errno::ESRCH => Ok(Instruction::Ended),
        error => Err(error.into()),
    }
}
