//! The examples of readers and writers, of ranges, of groups, and of producers and consumers, run for real; and that the readers' check
//! can fail.

use std::{
    fs,
    io::BufReader,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};
use support::{Place, built, limit};

support::watched_for_seconds!(support::watchdog::USUAL);

fn example(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("examples").join(name)
}

fn library() -> PathBuf {
    built::folders().1.join("libturnlock.so")
}

fn compiled_c(place: &Place, source: &str) -> PathBuf {
    let program = place.at("program");
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("include"))
        .arg(example(source))
        .arg("-o")
        .arg(&program)
        .arg(library())
        .arg("-Wl,-rpath")
        .arg(format!("-Wl,{}", library().parent().unwrap().display()));
    assert!(limit::status(&mut cc).unwrap().success());
    program
}

/// A program that runs, and what it says.
struct Running(Child, BufReader<ChildStdout>);

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Running(child, output)
    }

    fn line(&mut self) -> String {
        limit::line(&mut self.1, &mut self.0).unwrap()
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        assert_eq!(limit::end_of(&mut self.0, "the killed one").signal(), Some(9));
    }

    /// Its last line, which says that it is done. It ends well.
    fn done(mut self) -> String {
        let mut line = self.line();
        while !line.contains(": done, ") {
            line = self.line();
        }
        assert!(limit::end_of(&mut self.0, &line).success(), "{line}");
        line
    }
}

/// The number after `done, `.
fn count(done: &str) -> u64 {
    done.split_once("done, ").unwrap().1.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn the_cache_is_read_whole_and_a_killed_reader_stops_no_writer() {
    let place = Place::new();
    let (reader, writer) =
        (compiled_c(&place, "cache/reader.c"), built::rust_program(&example("cache/writer.rs")));
    let folder = place.at("shared");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("cache"), vec![0; 4096 * 8]).unwrap();
    let start = |program: &Path, more: &[&str]| {
        Running::start(Command::new(program).arg(&folder).arg("3").args(more))
    };
    let writing = start(&writer, &[]);
    let mut doomed = start(&reader, &["--die-inside"]);
    assert!(doomed.line().starts_with("reader.c: stopped inside; now: kill -9 "));
    let readers: Vec<_> = (0..2).map(|_| start(&reader, &[])).collect();
    let mut python = Command::new("python3");
    python.arg(example("cache/reader.py")).arg(&folder).arg("3").env("TURNLOCK_LIBRARY", library());
    let python = Running::start(&mut python);
    // The writer waits for it, and those who read come after the writer.
    doomed.kill();
    for reader in readers.into_iter().chain([python]) {
        let done = reader.done();
        println!("{done}");
        assert!(count(&done) > 0, "{done}");
    }
    let done = writing.done();
    println!("{done}");
    assert!(count(&done) > 1, "{done}");
}

#[test]
fn a_function_that_locks_calls_itself() {
    let place = Place::new();
    let mut program = Command::new(compiled_c(&place, "recursive.c"));
    let output = limit::output(program.arg(place.lock_file())).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "15 nodes, 4 deep, one fencing token\n");
}

#[test]
fn an_event_loop_goes_on_while_it_waits_for_a_lock() {
    let place = Place::new();
    let program = compiled_c(&place, "event_loop.c");
    let mutex = turnlock::LockFile::open(place.at("event_loop.lock")).unwrap().mutex("turns").unwrap();
    let held = mutex.lock().unwrap();
    let mut loops =
        ["100", "100"].map(|turns| Running::start(Command::new(&program).arg(place.folder()).arg(turns)));
    for one in &mut loops {
        assert_eq!(one.line(), "event_loop.c: begins");
    }
    support::until_waiting(&place.at("event_loop.lock"), "turns", 2);
    std::thread::sleep(std::time::Duration::from_millis(50));
    drop(held);
    for done in loops.map(Running::done) {
        println!("{done}");
        assert_eq!(count(&done), 100, "{done}");
        let ticks: u64 = done.split_once("turns, ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
        // As many as there were at least while another had the lock, and it could do nothing else.
        assert!(ticks > 10, "{done}");
    }
}

#[test]
fn a_cache_that_no_writer_wrote_is_noticed() {
    let place = Place::new();
    let reader = compiled_c(&place, "cache/reader.c");
    let folder = place.at("shared");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("cache"), [vec![0; 4095 * 8], vec![1; 8]].concat()).unwrap();
    let mut python = Command::new("python3");
    python.arg(example("cache/reader.py")).env("TURNLOCK_LIBRARY", library());
    for mut program in [Command::new(reader), python] {
        let output = limit::output(program.arg(&folder).arg("3")).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(" beside fencing token "), "{said}");
    }
}

#[test]
fn four_processes_edit_disjoint_records_and_a_killed_ones_are_repaired() {
    let place = Place::new();
    let program = compiled_c(&place, "ranges/records.c");
    let folder = place.at("shared");
    fs::create_dir(&folder).unwrap();
    let start = |edits: &str, seed: &str, more: &[&str]| {
        Running::start(Command::new(&program).arg(&folder).args([edits, seed]).args(more))
    };
    let mut doomed = start("1", "9", &["--die-inside"]);
    assert!(doomed.line().starts_with("records.c 9: stopped half-way through record "));
    let editors: Vec<_> = ["1", "2", "3", "4"].map(|seed| start("20000", seed, &[])).into();
    doomed.kill();
    for editor in editors {
        assert_eq!(count(&editor.done()), 20_000);
    }
    let numbers = |name: &str| -> Vec<u64> {
        let bytes = fs::read(folder.join(name)).unwrap();
        bytes.chunks_exact(8).map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap())).collect()
    };
    let edits: Vec<Vec<u64>> = ["1", "2", "3", "4", "9"].map(|seed| numbers(&format!("edits.{seed}"))).into();
    for (record, seen) in numbers("records").chunks_exact(8).enumerate() {
        let meant: u64 = edits.iter().map(|edits| edits[record]).sum();
        assert_eq!(seen, [meant; 8], "record {record}");
    }
}

/// Two of each format, and one that is killed in the midst of a conversion.
#[test]
fn programs_of_two_formats_share_a_store_over_a_killed_one() {
    const EACH: u64 = 20_000;
    let place = Place::new();
    let program = compiled_c(&place, "formats/formats.c");
    let folder = place.at("shared");
    fs::create_dir(&folder).unwrap();
    let start = |format: &str, seed: &str, more: &[&str]| {
        let each = EACH.to_string();
        Running::start(Command::new(&program).arg(&folder).args([format, &each, seed]).args(more))
    };
    let mut doomed = start("2", "9", &["--die-inside"]);
    let line = doomed.line();
    assert!(line.starts_with("formats.c 9: stopped half-way through a conversion; "), "{line}");
    let mut first = start("1", "1", &[]);
    doomed.kill();
    let line = first.line();
    assert!(line.starts_with("formats.c 1: told that formats.c 9 "), "{line}");
    let others = [("1", "2"), ("2", "3"), ("2", "4")].map(|(format, seed)| start(format, seed, &[]));
    for one in [first].into_iter().chain(others) {
        assert_eq!(count(&one.done()), EACH);
    }
    let bytes = fs::read(folder.join("store")).unwrap();
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap())).collect();
    let format = words[0];
    assert!(words[1..].iter().all(|word| 1 + word % 2 == format), "{words:?}");
    let numbers = words[1..].iter().map(|word| if format == 1 { word / 2 } else { !word / 2 });
    assert_eq!(numbers.sum::<u64>(), 4 * EACH);
}

/// One consumer is killed while it waits, and one in the midst of taking a number out.
#[test]
fn producers_and_consumers_lose_nothing_over_killed_consumers() {
    const EACH: u64 = 5_000;
    let place = Place::new();
    let program = compiled_c(&place, "buffer/buffer.c");
    let folder = place.at("shared");
    fs::create_dir(&folder).unwrap();
    let start = |act: &[&str]| Running::start(Command::new(&program).arg(&folder).args(act));
    let waits = |mut consumer: Running| {
        let line = consumer.line();
        assert!(line.ends_with(" waits"), "{line}");
        consumer
    };
    let doomed = waits(start(&["consume"]));
    let mut doomed_inside = waits(start(&["consume", "--die-inside"]));
    let consumers = [waits(start(&["consume"])), waits(start(&["consume"]))];
    doomed.kill();
    let each = EACH.to_string();
    let producers = [start(&["produce", &each]), start(&["produce", &each])];
    let line = doomed_inside.line();
    assert!(line.starts_with("buffer.c: stopped half-way through taking "), "{line}");
    doomed_inside.kill();
    for producer in producers {
        assert_eq!(count(&producer.done()), EACH);
    }
    assert_eq!(count(&start(&["close"]).done()), 2 * EACH);
    let taken: u64 = consumers.map(|consumer| count(&consumer.done())).iter().sum();
    assert_eq!(taken, 2 * EACH);
    let bytes = fs::read(folder.join("buffer")).unwrap();
    let numbers: Vec<u64> =
        bytes.chunks_exact(8).map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(numbers[..2], [2 * EACH; 2], "put in, and taken out");
    // The sum of what was taken: of the two, that of an even count.
    assert_eq!(numbers[10], EACH * (EACH + 1), "{numbers:?}");
}
