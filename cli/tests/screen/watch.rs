//! `turnlock watch`: lines for programs and for people.

use super::{Fixture, TURNLOCK, new_fixture};
use std::{
    fs,
    io::BufReader,
    process::{Child, ChildStdout, Command, Stdio},
};
use support::limit;

/// A `turnlock watch` and what it prints.
struct Watch {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watch {
    fn new(fixture: &Fixture, options: &[&str]) -> Self {
        Self::with(fixture, options, &[])
    }

    fn with(fixture: &Fixture, options: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(TURNLOCK);
        command.envs(environment.iter().copied());
        command.args(["watch", "--interval", "0.02"]).args(options).arg(&fixture.file);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        limit::line(&mut self.lines, &mut self.child).unwrap_or_else(|_| panic!("no line comes"))
    }

    /// The next line with this event, if it comes; those before it are passed over.
    fn until(&mut self, event: &str) -> serde_json::Value {
        let mut passed = Vec::new();
        loop {
            let line = self.line();
            let change: serde_json::Value = serde_json::from_str(&line).unwrap();
            if change["event"] == event {
                return change;
            }
            passed.push(line);
            assert!(passed.len() < 100, "no {event} in {passed:#?}");
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn people_read_the_time_of_their_zone() {
    let fixture = new_fixture();
    let _holder = fixture.hold(&["--lock", "build"]);
    // As POSIX writes it: five hours to the east.
    let minutes = ["UTC0", "EAST-5"].map(|zone| {
        let mut watch = Watch::with(&fixture, &[], &[("TZ", zone)]);
        let line = watch.line();
        let (hours, rest) = line.split_once(':').unwrap();
        60 * hours.parse::<i32>().unwrap() + rest[..2].parse::<i32>().unwrap()
    });
    let east = (minutes[1] - minutes[0]).rem_euclid(24 * 60);
    assert!((5 * 60..5 * 60 + 10).contains(&east), "{minutes:?}");
}

#[test]
fn a_log_gets_deaths_and_closed_locks_with_priorities_and_nothing_else() {
    let fixture = new_fixture();
    let mut first = fixture.hold(&["--lock", "build", "--on-death", "inform"]);
    let mut watch = Watch::new(&fixture, &["--journal"]);
    let began = watch.line();
    assert!(began.starts_with("<6>watching /") && began.ends_with("test.lock"), "{began}");
    let dead = first.pid();
    first.kill();
    let died = watch.line();
    assert!(
        died.starts_with("<4>build: died holding it: ") && died.contains(&format!("pid {dead}")),
        "{died}"
    );
    // The next one does not mark the data consistent, and so the lock is closed.
    let mutex = turnlock::LockFile::open(&fixture.file).unwrap().mutex("build").unwrap();
    assert!(mutex.lock().unwrap().acquired().previous_owner_died);
    let mut closed = watch.line();
    while !closed.starts_with("<3>") {
        assert!(closed.starts_with("<4>") || closed.starts_with("<5>"), "{closed}");
        closed = watch.line();
    }
    assert_eq!(closed, "<3>build: not recoverable: closed until turnlock reset");
}

#[test]
fn each_change_is_a_line_of_json() {
    let fixture = new_fixture();
    let mut first = fixture.hold(&["--lock", "build"]);
    let mut watch = Watch::new(&fixture, &["--json"]);
    assert!(watch.until("watching")["message"].as_str().unwrap().ends_with("test.lock"));
    let holds = watch.until("holds");
    assert_eq!((&holds["lock"], &holds["participant"]["pid"]), (&"build".into(), &first.pid().into()));
    let token = holds["fencing_token"].as_str().unwrap().parse::<u64>().unwrap();

    let mut second = fixture.want(&["--lock", "build"]);
    assert_eq!(watch.until("asked")["participant"]["pid"], second.pid());
    first.end();
    let acquired = watch.until("acquired");
    assert_eq!(acquired["participant"]["pid"], second.pid());
    assert_eq!(acquired["fencing_token"], (token + 1).to_string());
    assert!(acquired["waited_seconds"].as_f64().unwrap() >= 0.0);

    let _third = fixture.want(&["--lock", "build"]);
    watch.until("asked");
    second.kill();
    let died = watch.until("died");
    assert_eq!((&died["lock"], &died["participant"]["pid"]), (&"build".into(), &second.pid().into()));
    assert_eq!(died["fencing_token"], (token + 1).to_string());
}

#[test]
fn a_file_that_goes_and_comes_is_said_and_watched_on() {
    let fixture = new_fixture();
    let _first = fixture.hold(&["--lock", "build"]);
    let mut watch = Watch::new(&fixture, &["--json"]);
    watch.until("holds");
    fs::remove_file(&fixture.file).unwrap();
    assert_eq!(watch.until("file_lost")["why"], "gone");
    let _second = fixture.hold(&["--lock", "build"]);
    watch.until("file_found");
    let third = new_fixture();
    drop(third.hold(&["--lock", "deploy"]));
    fs::rename(&third.file, &fixture.file).unwrap();
    watch.until("file_replaced");
    fs::OpenOptions::new().write(true).open(&fixture.file).unwrap().set_len(4096).unwrap();
    assert_eq!(watch.until("file_lost")["why"], "damaged");
}

#[test]
fn people_read_sentences_and_of_one_lock_if_they_say_so() {
    let fixture = new_fixture();
    let mut holder = fixture.hold(&["--lock", "build"]);
    let _other = fixture.hold(&["--lock", "deploy"]);
    let mut watch = Watch::new(&fixture, &["--lock", "build"]);
    assert!(watch.line().contains("watching"));
    let line = watch.line();
    assert!(line.contains("build  held by cat, run by turnlock"), "{line}");
    holder.end();
    let line = watch.line();
    assert!(line.contains("build  released by cat"), "{line}");
}

#[test]
fn a_reader_that_has_enough_ends_it_and_a_file_that_is_not_there_is_an_error() {
    let fixture = new_fixture();
    let _holder = fixture.hold(&["--lock", "build"]);
    let script = format!("{TURNLOCK} watch --interval 0.02 {} | head -n 1", fixture.file.display());
    let mut pipe = Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
    // It notices when it has something more to say.
    let ended = limit::within(limit::of_processes(), || {
        drop(fixture.hold(&["--lock", "another"]));
        pipe.try_wait().unwrap()
    });
    assert!(ended.expect("watch | head ends").success());
    let output = limit::output(Command::new(TURNLOCK).args(["watch", "/nowhere/a.lock"])).unwrap();
    assert_eq!(output.status.code(), Some(66));
    let output = limit::output(Command::new(TURNLOCK).args(["watch", "--interval", "0", "a.lock"])).unwrap();
    assert_eq!(output.status.code(), Some(64));
}
