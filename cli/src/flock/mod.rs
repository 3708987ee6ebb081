//! `turnlock flock`: for scripts that were written for flock(1).
//!
//! | module | what it has |
//! |---|---|
//! | `turns` | a file that is a lock file of turnlock's: its own locks |
//! | `kernel` | any other file, or a folder: flock(2), as flock(1) takes it |
//! | `say` | flock(1)'s messages |
//!
//! What of the two it is, the file's first letters say, and nothing else: so all that lock it do the same.

mod kernel;
mod say;
mod turns;

use super::{exit, failed::Failed, hold, seconds, shell};
use std::{
    ffi::OsString,
    fs::File,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

/// Do what flock(1) does, for scripts that were written for it
///
/// Takes flock(1)'s options and arguments. A FILE that is a lock file of turnlock's (`turnlock create FILE` makes one) is
/// locked as `turnlock run` and `turnlock lock` do: first come first served, shown by `turnlock status`, with their
/// environment. Anything else (an empty file, which is created if nothing is there, a folder, the script itself) is locked
/// as flock(1) does, by flock(2): so both exclude each other, and a script may go over to turnlock at any time that it is
/// not running.
///
/// On a file of turnlock's it differs from flock(1) in three ways. The lock is held until the command ends: what the command left
/// in the background does not keep it (with flock(2) an inherited descriptor does). A FILE that is a symbolic link is refused: give
/// the path of the file itself. And what is in the file is turnlock's: a script that keeps something of its own there, a pid for
/// example, keeps it elsewhere.
///
/// A file of turnlock's is opened by `N<>FILE`, or `N<FILE`. `N>FILE`, which flock(1) puts up with, empties it: in use, it is
/// not locked then, with an error.
///
/// Called by the name flock (`ln -s turnlock flock`), turnlock is this command.
#[derive(clap::Args)]
#[command(
    version,
    override_usage = "turnlock flock [OPTIONS] FILE|FOLDER COMMAND [ARGUMENTS]\n       \
                      turnlock flock [OPTIONS] FILE|FOLDER -c STRING\n       \
                      turnlock flock [OPTIONS] N\n       \
                      turnlock flock [OPTIONS] --fd N COMMAND [ARGUMENTS]\n       \
                      turnlock flock [OPTIONS] --fd N -c STRING",
    after_help = "\
EXIT CODES
  the command's own; 128 + N if signal N killed it; 0 if there is none
  -E CODE (1)  the lock was taken, with -n, or the time limit of -w passed
  64  the command line is wrong
  65  the descriptor cannot be locked
  66  the file cannot be opened
  69  the command could not be started
  71, 73  something else went wrong; the file cannot be created

EXAMPLES
  turnlock flock /run/app.lock ./nightly-report
  turnlock flock -n /run/app.lock -c 'date >>log' || echo busy
  (turnlock flock -w 10 9 || exit 1; ./import) 9<>/run/app.lock
  exec 9<>/run/app.lock; turnlock flock 9; ./import; turnlock flock -u 9
  alias flock='turnlock flock'"
)]
pub struct Flock {
    /// Beside others that have it shared
    #[arg(long, short = 's', overrides_with = "exclusive")]
    shared: bool,
    /// Alone, which is what happens without it too
    #[arg(long, short = 'x', visible_short_alias = 'e', overrides_with = "shared")]
    exclusive: bool,
    /// Unlock what a descriptor holds
    #[arg(long, short = 'u')]
    unlock: bool,
    /// Do not wait: end at once if it is locked
    #[arg(long = "nonblock", short = 'n', visible_aliases = ["nonblocking", "nb"])]
    nonblocking: bool,
    /// Wait at most so long, in seconds; fractions allowed, and 0 is -n
    #[arg(long, short = 'w', visible_alias = "wait", value_name = "SECONDS", value_parser = seconds::seconds,
        allow_negative_numbers = true)]
    timeout: Option<Duration>,
    /// The exit code when it is locked or the time limit passed
    #[arg(long, short = 'E', value_name = "CODE", default_value_t = 1)]
    conflict_exit_code: u8,
    /// Do not let the command inherit the descriptor on which the lock is held
    #[arg(long, short = 'o', conflicts_with = "no_fork")]
    close: bool,
    /// Become the command, which goes on holding the lock
    #[arg(long, short = 'F')]
    no_fork: bool,
    /// Run this one string in a shell ($SHELL, or /bin/sh); after the file, or with --fd
    #[arg(long = "command", short = 'c', value_name = "STRING")]
    string: Option<OsString>,
    /// Lock by this descriptor, and run a command
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    fd: Option<i32>,
    /// By fcntl(2), not flock(2): of files that are none of turnlock's
    #[arg(long)]
    fcntl: bool,
    /// With --fcntl, which it implies: the first byte
    #[arg(long, value_name = "OFFSET", value_parser = bytes)]
    start: Option<i64>,
    /// With --fcntl, which it implies: how many bytes; to the end, if not said
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    length: Option<i64>,
    /// Say how long it took, or why it was not to be had
    #[arg(long)]
    verbose: bool,
    /// The file, folder or descriptor, and the command
    #[arg(trailing_var_arg = true, value_name = "ARGUMENTS")]
    words: Vec<OsString>,
}

/// What is to be locked.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Path(PathBuf),
    Descriptor(i32),
}

/// What is to be done.
#[derive(Clone, Debug)]
struct Job {
    target: Target,
    /// And then; nothing: the descriptor keeps the lock.
    command: Option<Vec<OsString>>,
}

impl Flock {
    /// Whether what was said goes together. If not, what does not.
    pub fn check(&self) -> Result<(), String> {
        self.job().map(drop)
    }

    /// Runs it.
    pub fn run(&self) -> ExitCode {
        // Checked before.
        let Ok(job) = self.job() else { return ExitCode::from(exit::USAGE) };
        let by_turns = is_lock_file(&job.target) && self.bytes().is_none();
        let done = if by_turns { turns::flock(self, &job) } else { kernel::flock(self, &job) };
        done.unwrap_or_else(Failed::end)
    }

    /// As flock(1) reads its arguments.
    fn job(&self) -> Result<Job, String> {
        let needs = "a file, a folder or a descriptor is missing: which is to be locked?";
        let line = |name: &str, line: &[OsString]| match line {
            [line] => Ok(Some(shell::command(line))),
            _ => Err(format!("{name} takes one string, in quotes, and nothing after it")),
        };
        let (target, command) = match (self.fd, &self.string, self.words.as_slice()) {
            (Some(fd), Some(string), []) => (Target::Descriptor(fd), Some(shell::command(string))),
            (_, Some(_), [_, ..]) => {
                return Err("-c takes one string, in quotes, and nothing after it".into());
            }
            (None, Some(_), []) => return Err(needs.into()),
            (Some(_), None, []) => return Err("a command is missing: --fd locks for one".into()),
            (Some(fd), None, words) => (Target::Descriptor(fd), Some(words.to_vec())),
            (None, None, []) => return Err(needs.into()),
            (None, None, [number]) => {
                let number = number.to_string_lossy();
                let fd = number.parse().ok().filter(|fd| *fd >= 0);
                let fd = fd.ok_or_else(|| {
                    format!("{number:?} is no descriptor; and if it is a file, the command is missing")
                })?;
                (Target::Descriptor(fd), None)
            }
            (None, None, [file, first, rest @ ..]) => {
                let command = match first.to_str() {
                    Some(name @ ("-c" | "--command")) => line(name, rest)?,
                    _ => Some(self.words[1..].to_vec()),
                };
                (Target::Path(file.into()), command)
            }
        };
        Ok(Job { target, command })
    }

    fn limit(&self) -> Option<Duration> {
        if self.nonblocking { Some(Duration::ZERO) } else { self.timeout }
    }

    /// Returns the bytes that fcntl(2) is to lock, if it is.
    fn bytes(&self) -> Option<(i64, i64)> {
        let wanted = self.fcntl || self.start.is_some() || self.length.is_some();
        wanted.then(|| (self.start.unwrap_or(0), self.length.unwrap_or(0)))
    }
}

/// Returns whether it is one of turnlock's, by its first letters; one that cannot be read is none.
fn is_lock_file(target: &Target) -> bool {
    let begins = |path: &Path| {
        path.is_file() && File::open(path).is_ok_and(|mut file| super::file::is_turnlocks(&mut file))
    };
    match target {
        Target::Path(path) => begins(path),
        Target::Descriptor(fd) => begins(&hold::path_of(*fd)),
    }
}

/// Returns a number of bytes: with K, M, G, T for powers of 1024.
fn bytes(text: &str) -> Result<i64, String> {
    let (number, power) = match text.strip_suffix("iB").unwrap_or(text) {
        text if text.ends_with(['K', 'k']) => (&text[..text.len() - 1], 10),
        text if text.ends_with('M') => (&text[..text.len() - 1], 20),
        text if text.ends_with('G') => (&text[..text.len() - 1], 30),
        text if text.ends_with('T') => (&text[..text.len() - 1], 40),
        text => (text, 0),
    };
    let number = number.parse::<i64>().ok().filter(|number| *number >= 0);
    let bytes = number.and_then(|number| number.checked_mul(1 << power));
    bytes.ok_or_else(|| format!("{text:?} is not a number of bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        flock: Flock,
    }

    fn parsed(line: &str) -> Result<(Flock, Job), String> {
        let words = std::iter::once("flock").chain(line.split_whitespace());
        let Cli { flock } = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
        flock.job().map(|job| (flock, job))
    }

    #[test]
    fn arguments_are_read_as_flock_reads_them() {
        let path = |path: &str| Target::Path(path.into());
        for (line, target, command) in [
            ("f true", path("f"), Some(vec!["true"])),
            ("-n f ls -l -n", path("f"), Some(vec!["ls", "-l", "-n"])),
            ("-sn f -x", path("f"), Some(vec!["-x"])),
            ("-w5 f -c exit", path("f"), Some(vec!["-c", "exit"])),
            ("-sw5 -E75 f -c exit", path("f"), Some(vec!["-c", "exit"])),
            ("f --command exit", path("f"), Some(vec!["-c", "exit"])),
            ("9", Target::Descriptor(9), None),
            ("-u 9", Target::Descriptor(9), None),
            ("--fd 9 true", Target::Descriptor(9), Some(vec!["true"])),
            ("--fd 9 -c exit", Target::Descriptor(9), Some(vec!["-c", "exit"])),
            ("-- f true", path("f"), Some(vec!["true"])),
            ("-- -f true", path("-f"), Some(vec!["true"])),
        ] {
            let (_, job) = parsed(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(job.target, target, "{line}");
            let words = |command: Vec<OsString>| -> Vec<String> {
                let words = command.into_iter().map(|word| word.into_string().unwrap());
                // Whichever the shell is.
                words.skip(usize::from(line.contains("exit"))).collect()
            };
            assert_eq!(
                job.command.map(words),
                command.map(|words| words.iter().map(|word| (*word).into()).collect()),
                "{line}"
            );
        }
        for line in [
            "",
            "f",
            "-1",
            "--fd 9",
            "f -c",
            "f -c a b",
            "-c true",
            "-Z f true",
            "-oF f true",
            "-E 256 f true",
            "-w x f true",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
        assert!(parsed("-s -x f true").unwrap().0.exclusive);
        assert!(parsed("-x -s f true").unwrap().0.shared);
        assert_eq!(parsed("--length 2KiB f true").unwrap().0.bytes(), Some((0, 2048)));
    }
}
