//! One trial: a process that sets a scene, has a victim go to one point of its way, kills or stops it there, and looks on
//! with the survivors. It plays a survivor itself; others are its children.

use super::{
    arena::Arena,
    order::{Fate, Point},
    threads,
    tracee::{Call, Tracee},
};
use std::{
    io, panic,
    path::{Path, PathBuf},
    sync::atomic::{
        AtomicU32,
        Ordering::{Relaxed, SeqCst},
    },
    time::Instant,
};
use support::limit;

/// No trial takes longer than this, in seconds.
const LONGEST: u64 = 120;

/// How many more times this process and its children may fork: a test has one of them fail.
pub static FORKS_LEFT: AtomicU32 = AtomicU32::new(u32::MAX);

pub struct Trial {
    pub arena: &'static Arena,
    /// An empty folder.
    pub folder: PathBuf,
    pub point: Point,
    /// Go on from the point by so many instructions, and note them.
    pub instructions_to_note: u32,
    /// What then becomes of the victim.
    pub fate: Fate,
}

impl Trial {
    /// Runs `play` in a new process, a child of this one; gives its pid. It ends with 0 if all went well.
    pub fn start(arena: &'static Arena, folder: &Path, play: fn(&Trial)) -> i32 {
        in_child(arena, || {
            // Should it hang, in whatever wait; its children die with it.
            limit::end_this_process_after(limit::seconds(LONGEST));
            let (point, instructions_to_note, fate) = arena.order.read();
            play(&Trial { arena, folder: folder.to_owned(), point, instructions_to_note, fate });
        })
    }

    pub fn lock_file(&self) -> PathBuf {
        self.folder.join("step.lock")
    }

    /// Starts the victim; gives it back at its beginning. `life` must come to `begin`, and then to `end` or to the end
    /// of a thread.
    pub fn victim(&self, life: impl FnOnce()) -> Victim<'_> {
        let pid = in_child(self.arena, life);
        Victim { trial: self, pid, tracee: Tracee::at_its_beginning(self.arena) }
    }

    /// Another process, which does something and ends.
    pub fn bystander(&self, life: impl FnOnce()) -> Bystander {
        Bystander { pid: in_child(self.arena, life) }
    }

    /// A process that does something and is killed at the end of it.
    pub fn dead_one(&self, life: impl FnOnce()) {
        let pid = in_child(self.arena, || {
            life();
            // SAFETY: kills this process.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        });
        let status = wait_for(pid);
        assert!(libc::WIFSIGNALED(status), "the process that was to die has status {status:#x}");
    }
}

/// A victim on its way.
pub struct Victim<'a> {
    trial: &'a Trial,
    pub pid: i32,
    tracee: Tracee,
}

impl Victim<'_> {
    /// Goes to the point. `at_call` is told of every system call on the way, right before it.
    pub fn go(&mut self, at_call: impl FnMut(&Call)) {
        self.tracee.go_to(&self.trial.point, at_call);
        if self.trial.instructions_to_note > 0 {
            self.tracee.note(self.trial.instructions_to_note);
        }
        let (result, point) = (&self.trial.arena.result, &self.trial.point);
        if !point.asleep {
            let at_call = self.tracee.is_at_call();
            let at_sleep = at_call && self.tracee.call().is_futex_wait();
            result.address.store(self.tracee.address(), SeqCst);
            result.at_end.store(self.tracee.is_at_end().into(), SeqCst);
            result.at_call.store(at_call.into(), SeqCst);
            result.at_sleep.store(at_sleep.into(), SeqCst);
        }
        result.inside.store(self.trial.arena.inside.load(SeqCst), SeqCst);
    }

    /// Has its other threads, and those of `peers`, come to rest before it goes, and after each of its system calls: so that it
    /// goes the same way each time.
    pub fn lets_others_rest(&mut self, peers: &[&Bystander]) {
        let all = [self.pid].into_iter().chain(peers.iter().map(|peer| peer.pid));
        self.tracee.lets_others_rest(all.map(|pid| pid as u32).collect());
    }

    /// Stops it, if it does not stand still already: in its sleep it does not.
    pub fn stop(&mut self) {
        if self.trial.point.asleep {
            self.tracee.stop();
        }
    }

    /// Goes on until it has slept, or to its end.
    pub fn go_to_its_sleep(&mut self) {
        // The beginning and the end of a sleep, and the beginning of the next.
        const STOPS: u32 = 3;
        let (began, limit) = (Instant::now(), limit::seconds(LONGEST / 3));
        let mut stops = 0;
        while stops < STOPS && !self.tracee.is_at_end() {
            assert!(began.elapsed() < limit, "the victim went on, and did not come to a sleep in {limit:?}");
            self.tracee.go_to_next_call();
            stops += u32::from(!self.tracee.is_at_end() && self.tracee.call().is_futex_wait());
        }
    }

    /// Goes on to its end, which comes soon.
    pub fn go_to_its_end(&mut self) {
        self.go_to_its_end_by(|_| {});
    }

    /// Likewise. `at_call` is told of every system call on the way, right before it.
    pub fn go_to_its_end_by(&mut self, mut at_call: impl FnMut(&Call)) {
        let (began, limit) = (Instant::now(), limit::seconds(LONGEST / 3));
        while !self.tracee.is_at_end() {
            assert!(began.elapsed() < limit, "the victim went on, and did not come to its end in {limit:?}");
            self.tracee.go_to_next_call();
            if !self.tracee.is_at_end() {
                at_call(&self.tracee.call());
            }
        }
    }

    /// Kills it.
    pub fn kill(self) {
        self.tracee.kill(self.pid);
    }

    /// Does not go to the point: it is another one's. It goes on until `then`, and dies there.
    pub fn dies_when(mut self, then: impl FnMut() -> bool) {
        self.tracee.step_until(then);
        self.kill();
    }
}

/// A process that ends by itself.
#[must_use]
pub struct Bystander {
    pid: i32,
}

impl Bystander {
    /// Stops it, once none of its threads runs.
    pub fn stop(&self) {
        threads::come_to_rest(&[self.pid as u32], 0);
        // SAFETY: a child of our own that has not been waited for.
        unsafe { libc::kill(self.pid, libc::SIGSTOP) };
        let mut status = 0;
        // SAFETY: the status is ours.
        let came = unsafe { libc::waitpid(self.pid, &mut status, libc::WUNTRACED) };
        assert!(came == self.pid && libc::WIFSTOPPED(status), "another survivor ended: status {status:#x}");
    }

    /// It goes on.
    pub fn resume(&self) {
        // SAFETY: as above.
        unsafe { libc::kill(self.pid, libc::SIGCONT) };
    }

    /// Kills it.
    pub fn kill(self) {
        // SAFETY: a child of our own that has not been waited for.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        wait_for(self.pid);
    }

    /// Waits for its end, which must be a good one.
    pub fn join(self) {
        let status = wait_for(self.pid);
        assert_eq!(status, 0, "another survivor ended with status {status:#x}");
    }
}

/// What a process, a child of this one, has ended with. For trials, which are ended if they wait too long, and for those
/// who wait for nothing but a trial's end.
pub fn wait_for(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the status is ours.
    let ended = unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(ended, pid, "{}", io::Error::last_os_error());
    status
}

/// Forks. The child dies with its parent, writes the message of a panic into the arena, and never returns.
pub fn in_child(arena: &'static Arena, life: impl FnOnce()) -> i32 {
    let parent = std::process::id();
    let pid = fork().unwrap_or_else(|error| panic!("fork: {error}"));
    if pid > 0 {
        return pid;
    }
    // SAFETY: only sets a signal, and ends a child whose parent was gone before that.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if std::os::unix::process::parent_id() != parent {
            libc::_exit(101);
        }
    }
    panic::set_hook(Box::new(move |panic| {
        arena.result.complain(&panic.to_string());
        // SAFETY: ends the process at once; what it leaves behind is what a dead one leaves.
        unsafe { libc::_exit(101) };
    }));
    life();
    // SAFETY: as above. Thread-local destructors do not run: slots are given back where a trial says so.
    unsafe { libc::_exit(0) }
}

fn fork() -> io::Result<i32> {
    if FORKS_LEFT.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err() {
        return Err(io::Error::from_raw_os_error(libc::EAGAIN));
    }
    // SAFETY: the child runs on with a copy of this thread; it allocates, which glibc allows after a fork, and takes
    // no lock that another thread might have had.
    let pid = unsafe { libc::fork() };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// Returns why no child can be stepped here; `None`: it is possible.
pub fn stepping_is_forbidden() -> Option<String> {
    let pid = fork().unwrap_or_else(|error| panic!("fork: {error}"));
    // SAFETY: the child asks to be traced, says by its status whether it may, and is killed or ends.
    unsafe {
        if pid == 0 {
            if libc::ptrace(libc::PTRACE_TRACEME) != 0 {
                libc::_exit(*libc::__errno_location());
            }
            libc::raise(libc::SIGSTOP);
            libc::_exit(0);
        }
        let status = limit::status_of(pid, 0);
        if libc::WIFEXITED(status) {
            return Some(io::Error::from_raw_os_error(libc::WEXITSTATUS(status)).to_string());
        } else if libc::WIFSIGNALED(status) {
            return Some(format!("asking for it is punished by signal {}", libc::WTERMSIG(status)));
        }
        let stepped = libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, 0) == 0
            && libc::WIFSTOPPED(limit::status_of(pid, 0));
        libc::kill(pid, libc::SIGKILL);
        limit::status_of(pid, 0);
        (!stepped).then(|| "PTRACE_SINGLESTEP does not work".into())
    }
}
