//! A terminal of its own for a program under test: tmux's, without a window.

use std::{
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};
use support::limit;

/// A terminal in which a shell command runs. Gone, with what runs in it, when dropped.
pub struct Terminal {
    /// The name of a tmux server of our own.
    server: String,
}

/// Whether there is a tmux.
pub fn can_be_had() -> bool {
    Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success())
}

impl Terminal {
    /// Runs `command` in a terminal of this size, with these variables in its environment.
    pub fn run(command: &str, (width, height): (u16, u16), environment: &[(&str, &str)]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let server = format!("turnlock-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let terminal = Self { server };
        let (width, height) = (width.to_string(), height.to_string());
        let mut arguments = vec!["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height];
        let variables: Vec<String> =
            environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        variables.iter().for_each(|variable| arguments.extend(["-e", variable]));
        // The shell that tmux starts is a POSIX one, whatever the user's is.
        arguments.extend(["sh", "-c", command]);
        let output = terminal.tmux(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let mut tmux = Command::new("tmux");
        limit::output(tmux.args(["-L", &self.server]).args(arguments).env_remove("TMUX")).unwrap()
    }

    /// Presses keys, by tmux's names.
    pub fn press(&self, keys: &[&str]) {
        let pressed = self.tmux(&[&["send-keys"], keys].concat());
        assert!(pressed.status.success(), "{keys:?}: {}", String::from_utf8_lossy(&pressed.stderr));
    }

    /// Gives it another size.
    pub fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        assert!(self.tmux(&["resize-window", "-x", &width, "-y", &height]).status.success());
    }

    /// What stands on it.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Whether a program has taken it over.
    pub fn is_taken(&self) -> bool {
        let shown = self.tmux(&["display-message", "-p", "#{alternate_on}"]);
        String::from_utf8_lossy(&shown.stdout).trim() == "1"
    }

    /// Waits until `is_so` of what stands on it.
    pub fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let (began, limit) = (Instant::now(), limit::of_processes());
        loop {
            let text = self.text();
            if is_so(&text) {
                return text;
            }
            assert!(began.elapsed() < limit, "not shown: {what}\n{text}");
            thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits until this stands on it.
    pub fn until_shown(&self, what: &str) -> String {
        self.until(what, |text| text.contains(what))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
