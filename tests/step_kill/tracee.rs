//! A victim under `ptrace`: runs to a point, stops there, is killed there or goes on.

use super::{
    arena::Arena,
    order::{Point, ShortCut},
    seen::Seen,
    threads,
};
use std::{ffi::c_long, io, mem::offset_of, ptr};

const A_TIME_SLICE: std::time::Duration = std::time::Duration::from_millis(1);

/// A system call that the victim is about to make.
pub struct Call {
    number: i64,
    second: u64,
}

impl Call {
    /// Returns whether it sleeps, or tries to.
    pub fn is_futex_wait(&self) -> bool {
        self.number == libc::SYS_futex && self.second as i32 & 0x7f == libc::FUTEX_WAIT
    }
}

/// Where the victim is after being told to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    /// It executed one instruction, or met a breakpoint.
    Trap,
    /// It stands before or after a system call.
    Call,
    /// The thread is no more.
    Away,
}

/// A stopped victim.
pub struct Tracee {
    /// The thread that is stepped.
    thread: i32,
    arena: &'static Arena,
    away: bool,
    /// The processes whose other threads are let come to rest after each system call.
    others: Vec<u32>,
}

/// Called by the victim: from here on every instruction counts, and it stops now.
#[inline(always)]
pub fn begin() {
    // SAFETY: asks to be traced by the parent; then a breakpoint, at which the parent takes over.
    unsafe {
        assert!(libc::ptrace(libc::PTRACE_TRACEME) == 0, "ptrace: {}", io::Error::last_os_error());
        std::arch::asm!("int3");
    }
}

/// Called by the victim when it has done what it was to do. Never returns: it is killed, here at the latest.
#[inline(always)]
pub fn end(arena: &Arena) -> ! {
    arena.ends();
    loop {
        // A system call, at which a tracer that expected it elsewhere gets hold of it.
        std::thread::yield_now();
    }
}

impl Tracee {
    /// Waits until the victim, a child of this process or a thread of it, has come to [`begin`].
    pub fn at_its_beginning(arena: &'static Arena) -> Self {
        let mut status = 0;
        // SAFETY: waits for any child or traced thread; the status is ours.
        let thread = unsafe { libc::waitpid(-1, &mut status, libc::__WALL) };
        assert!(
            libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGTRAP,
            "the victim ended before it began: status {status:#x}, {}",
            io::Error::last_os_error()
        );
        let tracee = Self { thread, arena, away: false, others: Vec::new() };
        // Should this process die, the victim dies too.
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
        tracee.ask(libc::PTRACE_SETOPTIONS, ptr::null_mut(), options as u64);
        tracee
    }

    /// Has the other threads of these processes come to rest now, and after each of its system calls. They have nothing to do but
    /// what those wake them for.
    pub fn lets_others_rest(&mut self, processes: Vec<u32>) {
        self.others = processes;
        self.others_rest();
    }

    fn others_rest(&self) {
        if !self.others.is_empty() {
            threads::come_to_rest(&self.others, self.thread as u32);
        }
    }

    /// Goes to `point`, and tells `at_call` of every system call on the way, right before it.
    pub fn go_to(&mut self, point: &Point, mut at_call: impl FnMut(&Call)) {
        for _ in 0..point.calls {
            if self.run_to_call() {
                at_call(&self.call());
                self.finish_call();
            }
        }
        if let Some(short_cut) = point.short_cut {
            self.run_to(short_cut);
        }
        for _ in 0..point.steps {
            self.step();
        }
        if point.asleep && self.run_to_call() {
            self.resume(libc::PTRACE_CONT);
            std::thread::sleep(std::time::Duration::from_micros(300));
        }
    }

    /// Goes on, one instruction at a time, until `done`.
    pub fn step_until(&mut self, mut done: impl FnMut() -> bool) {
        while !done() {
            assert!(!self.away, "the victim ended before it came there");
            self.step();
        }
    }

    /// Goes on by so many instructions, or to the next system call or the end, and notes every address on the way, the
    /// first and the last included, and which instructions changed what others can see.
    pub fn note(&mut self, instructions: u32) {
        let mut seen = Seen::of(self.thread, self.arena);
        for left in (0..=instructions).rev() {
            self.arena.result.note(self.address(), seen.has_changed());
            if left == 0 || self.is_at_end() || self.is_at_call() {
                return;
            }
            self.step();
        }
    }

    /// Returns whether it has come to the end of what it was to do.
    pub fn is_at_end(&self) -> bool {
        self.away || self.arena.ended.load(std::sync::atomic::Ordering::Relaxed) != 0
    }

    /// Returns whether the next instruction is a system call.
    pub fn is_at_call(&self) -> bool {
        const SYSCALL: u64 = 0x050f;
        !self.away && self.read_code(self.address()) & 0xffff == SYSCALL
    }

    /// The address of the next instruction; 0 for a thread that is no more.
    pub fn address(&self) -> u64 {
        if self.away { 0 } else { self.register(offset_of!(libc::user_regs_struct, rip)) }
    }

    /// The system call that is next, or that it stands before.
    pub fn call(&self) -> Call {
        // Right before a call the number is still in `rax`; once entered, in `orig_rax`.
        let entered = self.register(offset_of!(libc::user_regs_struct, orig_rax)) as i64;
        let number = if entered >= 0 {
            entered
        } else {
            self.register(offset_of!(libc::user_regs_struct, rax)) as i64
        };
        Call { number, second: self.register(offset_of!(libc::user_regs_struct, rsi)) }
    }

    /// Stops it while it runs or sleeps.
    pub fn stop(&mut self) {
        if self.away {
            return;
        }
        // SAFETY: a signal to a thread that is traced by us, which has it stop and is not delivered when it goes on.
        unsafe { libc::kill(self.thread, libc::SIGSTOP) };
        let mut status = 0;
        // SAFETY: the status is ours.
        let came = unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL) };
        assert_eq!(came, self.thread, "{}", io::Error::last_os_error());
        assert!(
            libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGSTOP,
            "the victim was to be stopped, and has status {status:#x}"
        );
    }

    /// Goes on to where its next system call begins or ends.
    pub fn go_to_next_call(&mut self) {
        self.go_on(libc::PTRACE_SYSCALL);
    }

    /// Kills process `pid`, which the traced thread belongs to, and waits for its end.
    pub fn kill(self, pid: i32) {
        // SAFETY: a child of our own that has not been waited for.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        let mut status = 0;
        for child in [self.thread, pid] {
            // SAFETY: waits for a child or a traced thread; gone already (as the same one, or by itself) is as good.
            while unsafe { libc::waitpid(child, &mut status, libc::__WALL) } == child {
                if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                    break;
                }
            }
        }
    }

    /// `false`: it came to its end instead.
    fn run_to_call(&mut self) -> bool {
        self.go_on(libc::PTRACE_SYSCALL) == Came::Call
    }

    fn finish_call(&mut self) {
        // As beside a program that computes, after which a waiter yields no more for a while. Else it would depend on
        // the clock how often it does.
        if self.call().number == libc::SYS_sched_yield {
            std::thread::sleep(A_TIME_SLICE);
        }
        self.go_on(libc::PTRACE_SYSCALL);
        self.others_rest();
    }

    fn step(&mut self) {
        self.go_on(libc::PTRACE_SINGLESTEP);
    }

    /// By breakpoints, which are much cheaper than steps.
    fn run_to(&mut self, short_cut: ShortCut) {
        const BREAKPOINT: u64 = 0xcc;
        let code = self.read_code(short_cut.address);
        for visit in 1..=short_cut.visits {
            if self.address() != short_cut.address {
                self.write_code(short_cut.address, code & !0xff | BREAKPOINT);
                if self.go_on(libc::PTRACE_SYSCALL) != Came::Trap {
                    // Another way than last time. Nothing is where it was expected, and the crew will see that.
                    if !self.away {
                        self.write_code(short_cut.address, code);
                    }
                    return;
                }
                self.set_register(offset_of!(libc::user_regs_struct, rip), short_cut.address);
                self.write_code(short_cut.address, code);
            }
            if visit < short_cut.visits {
                self.step();
            }
        }
    }

    fn go_on(&mut self, how: libc::c_uint) -> Came {
        if self.away {
            return Came::Away;
        }
        self.resume(how);
        let mut status = 0;
        // SAFETY: the traced thread, which this process alone waits for.
        let came = unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL) };
        assert_eq!(came, self.thread, "{}", io::Error::last_os_error());
        if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
            self.away = true;
            return Came::Away;
        }
        assert!(libc::WIFSTOPPED(status), "the victim ended by itself, with status {status:#x}");
        match libc::WSTOPSIG(status) {
            libc::SIGTRAP => Came::Trap,
            signal if signal == libc::SIGTRAP | 0x80 => Came::Call,
            signal => panic!("the victim was stopped by signal {signal} at {:#x}", self.address()),
        }
    }

    fn resume(&self, how: libc::c_uint) {
        self.ask(how, ptr::null_mut(), 0);
    }

    fn read_code(&self, address: u64) -> u64 {
        self.ask(libc::PTRACE_PEEKTEXT, address as *mut _, 0) as u64
    }

    fn write_code(&self, address: u64, word: u64) {
        self.ask(libc::PTRACE_POKETEXT, address as *mut _, word);
    }

    fn register(&self, offset: usize) -> u64 {
        self.ask(libc::PTRACE_PEEKUSER, offset as *mut _, 0) as u64
    }

    fn set_register(&self, offset: usize, value: u64) {
        self.ask(libc::PTRACE_POKEUSER, offset as *mut _, value);
    }

    fn ask(&self, what: libc::c_uint, address: *mut libc::c_void, data: u64) -> c_long {
        // SAFETY: no request that is made here writes to our own memory (those that read give the word as the result);
        // the thread is traced by us and stopped, else the request fails.
        unsafe {
            *libc::__errno_location() = 0;
            let answer = libc::ptrace(what, self.thread, address, data);
            assert_eq!(*libc::__errno_location(), 0, "ptrace {what}: {}", io::Error::last_os_error());
            answer
        }
    }
}
