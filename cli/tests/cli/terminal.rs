//! A terminal of its own, with a command that obeys its keys.

use super::*;

/// What a shell on it is called by.
pub const SHELL: &str = "bash --norc --noprofile -i";

/// Ended whatever happens: with its terminal go the processes that are stopped in it.
pub struct Terminal(pub Child);

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Terminal {
    /// Runs the command in the fixture's folder, with turnlock in $PATH and the lock file in $F. `None`: script(1) is not installed.
    pub fn of(fixture: &Fixture, command: &str) -> Option<Self> {
        if !Command::new("script").arg("--version").output().is_ok_and(|output| output.status.success()) {
            println!("left out: script(1) is not installed");
            return None;
        }
        let shell = fixture.shell("");
        let mut script = Command::new("script");
        script.args(["-qec", command, "/dev/null"]).current_dir(fixture.file.parent().unwrap());
        script.envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Some(Self(script.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()))
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        std::io::Write::write_all(self.0.stdin.as_mut().unwrap(), keys.as_bytes()).unwrap();
    }
}
