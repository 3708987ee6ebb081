//! Real processes: the test program starts itself again to play a role.
//!
//! A test file names its roles with [`roles!`](crate::roles). A role is played before `main`, so by a process with one
//! thread, which may fork, drop privileges or change its namespaces as it likes. It talks with the test by lines on
//! its standard input and output, and dies with the thread that started it. Neither waits for the other without a limit.

use super::{
    limit::{self, NoLine},
    watchdog::ROLE,
};
use std::{
    io::{BufRead, BufReader, Write},
    panic::catch_unwind,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

const WORDS: &str = "TURNLOCK_TEST_ROLE_WORDS";
/// No role takes longer than this, in seconds, from its beginning or from the last time that it was told something.
const LONGEST_ROLE: u64 = 600;
const BETWEEN_WORDS: char = '\u{1f}';

/// Names the functions of this test file that [`Actor::start`] may have played, each a `fn(&[String])`.
#[macro_export]
macro_rules! roles {
    ($($role:ident),* $(,)?) => {
        // Run by the dynamic linker before `main`, which would run tests.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static PLAY: extern "C" fn() = {
            extern "C" fn play() {
                $crate::actor::play(&[$((stringify!($role), $role)),*]);
            }
            play
        };
    };
}

/// What a role looks like.
pub type Role = fn(&[String]);

/// Plays a role and ends the process, if this process was started for that.
pub fn play(roles: &[(&str, Role)]) {
    let Ok(name) = std::env::var(ROLE) else { return };
    die_with_parent();
    limit::end_this_process_after(limit::seconds(LONGEST_ROLE));
    let words = std::env::var(WORDS).unwrap_or_default();
    let words: Vec<String> = words.split(BETWEEN_WORDS).map(str::to_owned).collect();
    let role = roles.iter().find(|(role, _)| *role == name).map(|(_, act)| *act);
    let played = catch_unwind(|| role.unwrap_or_else(|| panic!("no role is called {name}"))(&words));
    std::process::exit(if played.is_ok() { 0 } else { 101 });
}

fn die_with_parent() {
    // SAFETY: PR_SET_PDEATHSIG takes one number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Tells the test something: one line.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
}

/// Waits for a line from the test; the test gone, the process ends.
pub fn hear() -> String {
    let mut line = String::new();
    // Also in a child of the process that plays the role: that child does not die with the test.
    limit::end_this_process_after(limit::seconds(LONGEST_ROLE));
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => std::process::exit(0),
        Ok(_) => line.trim_end().to_owned(),
    }
}

/// A process that plays a role. Killed when dropped.
pub struct Actor {
    process: Child,
    said: BufReader<ChildStdout>,
    ears: Option<ChildStdin>,
    role: &'static str,
}

impl Actor {
    /// Starts the test program again, as `role`, with `words` to tell it what to do.
    pub fn start(role: &'static str, words: &[&str]) -> Self {
        Self::start_with(role, words, &[])
    }

    /// [`Actor::start`], with more in its environment.
    pub fn start_with(role: &'static str, words: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .env(ROLE, role)
            .env(WORDS, words.join(&BETWEEN_WORDS.to_string()))
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        let ears = process.stdin.take();
        Self { process, said, ears, role }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The next line that it says.
    pub fn hear(&mut self) -> String {
        match limit::line(&mut self.said, &mut self.process) {
            Ok(line) => line,
            Err(NoLine::Ended) => {
                let how = self.end();
                panic!("{} ended without a word: {how}", self.role)
            }
            Err(NoLine::Late) => panic!("{} has said nothing for {:?}", self.role, limit::of_processes()),
        }
    }

    /// Waits for it to say exactly `line`.
    pub fn expect(&mut self, line: &str) {
        assert_eq!(self.hear(), line, "{}", self.role);
    }

    /// Waits for it to say `word` and a number.
    pub fn expect_number(&mut self, word: &str) -> u64 {
        let line = self.hear();
        let number = line.strip_prefix(word).map(|rest| rest.trim().parse());
        match number {
            Some(Ok(number)) => number,
            _ => panic!("{} said {line:?} where {word} and a number were expected", self.role),
        }
    }

    /// Gives it a line to hear.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.ears.as_mut().expect("it can still hear"), "{line}").unwrap();
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid() as i32), signal).unwrap();
    }

    /// `kill -9`, and its parent knows: the process is gone when this returns.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.end();
    }

    /// `kill -9` without waiting.
    pub fn kill_without_waiting(&mut self) {
        self.process.kill().unwrap();
    }

    /// Waits for it to end by itself.
    pub fn end(&mut self) -> ExitStatus {
        limit::end_of(&mut self.process, self.role)
    }

    /// Nothing more will be said to it: waits for it to end, well.
    pub fn dismiss(mut self) {
        self.ears = None;
        self.end_well();
    }

    /// Waits for it to end by itself, well.
    pub fn end_well(mut self) {
        let status = self.end();
        assert!(status.success(), "{}: {status}", self.role);
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        // No panic here: one may be under way.
        let _ = limit::within(limit::of_processes(), || self.process.try_wait().ok().flatten());
    }
}
