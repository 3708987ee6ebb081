//! `turnlock trace`, `report` and `metrics`: what a lock file has recorded, and how it stands, for other programs and for the eye.
//! What they make is read by a reader of each format, and the page by a browser.

mod browser;
mod coordination;
mod hostile;
mod metrics;
mod report;
mod trace;

use std::{
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    time::Duration,
};
use support::{limit, until_waiting};
use turnlock::{Error, LockFile, ParticipantGuard};

support::watched_for_seconds!(support::watchdog::USUAL);

const TURNLOCK: &str = env!("CARGO_BIN_EXE_turnlock");
/// What breaks HTML, JSON, or a label, where it is not escaped.
const NASTY: &str = "</script><b on=\"x\">&lt; \\ 'q' {}\u{202e}\n";
/// Likewise, of a participant.
const CALLED: &str = "<i>\"two\"\\";

/// A lock file in a folder of its own, and what happened there.
struct Scene {
    _folder: tempfile::TempDir,
    path: PathBuf,
    /// With which NASTY was handed from `one` to CALLED.
    handed_on: [u64; 2],
    /// Waits for "open".
    waiter: Child,
}

impl Scene {
    /// Has `then` look at a file with all sorts of events, while "open" is held by `one`, and a process waits for it.
    fn with<R>(then: impl FnOnce(&Scene) -> R) -> R {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a <b> & c.lock");
        let file = LockFile::options().recorded_events(4096).open(&path).unwrap();
        let participant = |label: &str| file.participant_options().label(label).open().unwrap();
        let (one, two, doomed) = (participant("one"), participant(CALLED), participant("doomed"));

        // Two that overlap, and neither is inside the other.
        let (first, second) = (file.mutex("first").unwrap(), file.mutex("second").unwrap());
        let of_first = first.lock_as(&one).unwrap();
        let of_second = second.lock_as(&one).unwrap();
        drop(of_first);
        drop(of_second);

        let nasty = file.mutex(NASTY).unwrap();
        let held = nasty.lock_as(&one).unwrap();
        assert!(matches!(nasty.try_lock_as(&two), Err(Error::WouldBlock(_))));
        assert!(matches!(nasty.lock_for_as(&two, Duration::from_millis(5)), Err(Error::TimedOut(_))));
        let token = |guard: &ParticipantGuard| guard.fencing_token();
        let before = token(&held);
        let after = std::thread::scope(|threads| {
            let next = threads.spawn(|| token(&nasty.lock_as(&two).unwrap()));
            until_waiting(&path, NASTY, 1);
            drop(held);
            support::join(next)
        });

        let readers = file.rwlock("readers").unwrap();
        let (of_one, of_two) = (readers.read_as(&one).unwrap(), readers.read_as(&two).unwrap());
        drop(of_one);
        drop(of_two);

        let deadly = file.mutex("deadly").unwrap();
        std::mem::forget(deadly.lock_as(&doomed).unwrap());
        drop(doomed);
        let mut told = deadly.lock_as(&two).unwrap();
        assert!(told.previous_owner().is_some());
        told.mark_consistent().unwrap();
        drop(told);

        let open = file.mutex("open").unwrap();
        let _held = open.lock_as(&one).unwrap();
        let mut waiter = Command::new(TURNLOCK);
        waiter.args(["run", "--lock", "open", "--label", "patient"]).arg(&path).arg("true");
        let waiter = waiter.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let scene = Scene { _folder: folder, path, handed_on: [before, after], waiter };
        until_waiting(&scene.path, "open", 1);
        then(&scene)
    }

    /// `turnlock WORDS FILE`.
    fn turnlock(&self, words: &[&str]) -> Output {
        turnlock(&[words, &[self.path.to_str().unwrap()]].concat())
    }

    /// What it prints, where it has to work.
    fn printed(&self, words: &[&str]) -> String {
        printed(self.turnlock(words))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.waiter.kill();
        let _ = self.waiter.wait();
    }
}

fn turnlock(words: &[&str]) -> Output {
    limit::output(Command::new(TURNLOCK).args(words)).unwrap()
}

fn printed(output: Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file of which the ring has come round many times, and what it still has begins in the midst of things.
fn overwritten() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("small.lock");
    let file = LockFile::options().recorded_events(64).open(&path).unwrap();
    let [outer, inner] = ["outer", "inner"].map(|name| file.mutex(name).unwrap());
    let task = file.participant().unwrap();
    let held = outer.lock_as(&task).unwrap();
    (0..200).for_each(|_| drop(inner.lock().unwrap()));
    drop(held);
    (folder, path)
}

/// What all three have in common.
mod common {
    use super::*;
    use std::{fs, os::unix::fs::MetadataExt};

    /// What the kernel notes of a change, and what is in it.
    fn state(path: &PathBuf) -> (i64, i64, Vec<u8>) {
        let meta = path.metadata().unwrap();
        (meta.ctime(), meta.ctime_nsec(), fs::read(path).unwrap())
    }

    #[test]
    fn a_file_without_a_recording_is_told_how_to_get_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it's plain.lock");
        drop(LockFile::open(&path).unwrap().mutex("a").unwrap().lock().unwrap());
        let path = path.to_str().unwrap();
        for command in ["trace", "report"] {
            let refused = turnlock(&[command, path]);
            assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{}", errors(&refused));
            let line = errors(&refused);
            let advice = line.split('`').nth(1).unwrap();
            assert!(advice.starts_with("turnlock grow --record 100000 "), "{line}");
            // A user who does as it says is helped.
            if command == "report" {
                let advice = advice.replacen("turnlock", TURNLOCK, 1);
                let done = limit::output(Command::new("sh").args(["-c", &advice])).unwrap();
                assert_eq!(done.status.code(), Some(0), "{advice}: {}", errors(&done));
                printed(turnlock(&[command, path]));
            }
        }
        for command in ["trace", "report", "metrics"] {
            let missing = turnlock(&[command, "/no/such.lock"]);
            assert_eq!(missing.status.code(), Some(66), "{}", errors(&missing));
        }
    }

    #[test]
    fn the_lock_file_is_not_changed_and_never_written_over() {
        let (_folder, path) = overwritten();
        let before = state(&path);
        let name = path.to_str().unwrap();
        for command in ["trace", "report", "metrics"] {
            printed(turnlock(&[command, name]));
        }
        let link = path.with_file_name("link.html");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for to in [name, link.to_str().unwrap()] {
            for command in ["trace", "report"] {
                let refused = turnlock(&[command, name, "--output", to]);
                assert_eq!(refused.status.code(), Some(71));
                assert!(errors(&refused).contains("is a lock file"), "{}", errors(&refused));
            }
        }
        // Nor by a descriptor, whether it can be read or not; but read it may be by one.
        for command in ["trace", "report"] {
            for redirected in [">>", "1<>"] {
                let script = format!("\"$0\" {command} \"$1\" {redirected} \"$1\"");
                let refused =
                    limit::output(Command::new("sh").args(["-c", &script, TURNLOCK, name])).unwrap();
                assert_eq!(refused.status.code(), Some(71), "{script}: {}", errors(&refused));
                assert!(errors(&refused).contains("is a lock file"), "{}", errors(&refused));
            }
        }
        assert!(state(&path) == before);
        // One in the making, as docs/format.md has it.
        let making = path.with_file_name("making.lock");
        fs::write(&making, b"turnmake and more").unwrap();
        let refused = turnlock(&["report", name, "-o", making.to_str().unwrap()]);
        assert_eq!((refused.status.code(), fs::read(&making).unwrap().len()), (Some(71), 17));
    }

    #[test]
    fn the_output_is_where_it_was_asked_for_whole() {
        let (folder, path) = overwritten();
        let path = path.to_str().unwrap();
        for command in ["trace", "report"] {
            let to = folder.path().join("output");
            // What stood there before, and was longer, is gone.
            fs::write(&to, vec![b'x'; 1 << 20]).unwrap();
            assert_eq!(printed(turnlock(&[command, path, "-o", to.to_str().unwrap()])), "");
            let written = fs::read_to_string(&to).unwrap();
            assert!(written.ends_with("}\n") || written.ends_with("</html>\n"), "{command}");
            assert_eq!(turnlock(&[command, path, "-o", "/no/such/folder/x"]).status.code(), Some(71));
            let full = limit::status(
                Command::new("sh")
                    .args(["-c", "\"$0\" \"$1\" \"$2\" > /dev/full 2> /dev/null"])
                    .args([TURNLOCK, command, path]),
            );
            assert_eq!(full.unwrap().code(), Some(71));
            let closed = "set -o pipefail; \"$0\" \"$1\" \"$2\" | head -c 10 > /dev/null";
            let closed = limit::status(Command::new("bash").args(["-c", closed, TURNLOCK, command, path]));
            assert_eq!(closed.unwrap().code(), Some(0), "{command}");
        }
    }

    #[test]
    fn a_descriptor_will_do() {
        let (_folder, path) = overwritten();
        for command in ["trace", "report", "metrics"] {
            let script = "exec \"$0\" \"$1\" /dev/fd/3 3< \"$2\"";
            let by_descriptor =
                limit::output(Command::new("sh").args(["-c", script, TURNLOCK, command]).arg(&path)).unwrap();
            assert!(
                printed(by_descriptor).contains(path.file_name().unwrap().to_str().unwrap()),
                "{command}"
            );
        }
    }
}
