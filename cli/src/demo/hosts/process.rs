//! A process of the demo: it does not survive it.

use shared_child::SharedChild;
use std::{
    io::Write,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::Arc,
    time::Duration,
};

/// A killed process is gone long before.
const SOON: Duration = Duration::from_secs(10);
/// What the guard does when the demo is gone: it kills what is left, and removes the folder.
const GUARD: &str =
    r#"while read -r pid; do pids="$pids $pid"; done; kill -9 $pids; [ -z "$1" ] || rm -rf -- "$1""#;

/// A process, killed when it is dropped if it still runs.
pub struct Process {
    child: Arc<SharedChild>,
}

impl Process {
    /// Starts it, out of the way of the terminal's Ctrl-C, which the demo alone takes.
    pub fn start(command: &mut Command, guard: &mut Guard) -> Result<Self, String> {
        command.process_group(0);
        let child = SharedChild::spawn(command)
            .map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
        guard.guard(child.id());
        Ok(Self { child: Arc::new(child) })
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns how it ended, if it has.
    pub fn end(&self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// Returns the child, for its pipes.
    pub fn child(&self) -> &Arc<SharedChild> {
        &self.child
    }

    /// `kill -9`.
    pub fn kill(&self) {
        // An error: it has ended already.
        let _ = self.child.kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        // Leaves no zombie; an error cannot be reported.
        let _ = self.child.wait_timeout(SOON);
    }
}

/// Ends what is left, and removes the folder, if the demo itself is killed: a shell that waits for the end of its standard input. Where there is
/// no shell, there is no guard.
pub struct Guard {
    shell: Option<(Child, ChildStdin)>,
}

impl Guard {
    /// Begins. `folder`: what to remove.
    pub fn begin(folder: Option<&Path>) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", GUARD, "sh"]).args(folder).process_group(0);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let shell = child.ok().and_then(|mut child| {
            let stdin = child.stdin.take()?;
            Some((child, stdin))
        });
        Self { shell }
    }

    fn guard(&mut self, pid: u32) {
        if let Some((_, stdin)) = &mut self.shell {
            // An error: it was killed by another program, and the demo goes on without.
            let _ = writeln!(stdin, "{pid}").and_then(|()| stdin.flush());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some((child, _stdin)) = &mut self.shell {
            // Before its standard input ends: there is nothing left for it to do.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
