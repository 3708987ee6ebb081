//! `turnlock bench`, for as short as it goes: that all contenders are measured, and that it would notice.

use super::*;

/// They would only be in each other's way.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn bench(arguments: &[&str]) -> Output {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    limit::output(Command::new(TURNLOCK).args(["bench", "--seconds", "2"]).args(arguments)).unwrap()
}

#[test]
fn every_contender_is_measured_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("bench.svg");
    let output = bench(&["--json", "--output", plot.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output), errors(&output));
    let results = json(&output);
    let contenders = results["contenders"].as_array().unwrap();
    let (ours, others): (Vec<_>, Vec<_>) = contenders.iter().partition(|one| one["turnlock"] == true);
    assert_eq!((ours.len(), others.len()), (9, 5), "{results:#}");
    let svg = std::fs::read_to_string(plot).unwrap();
    for one in contenders {
        let name = one["name"].as_str().unwrap();
        let contended = one["contended"].as_array().unwrap();
        assert_eq!(contended.len(), 2, "{one}");
        // On a busy machine some process may find no processor while it counts; not each of them.
        let rates =
            contended.iter().map(|cell| &cell["entries_per_second"]).chain([&one["alone_nanoseconds"]]);
        assert!(rates.filter_map(|rate| rate.as_f64()).any(|rate| rate > 0.0), "{one}");
        assert!(svg.contains(name), "{name} is not in the plot");
    }
    assert!(svg.contains("</svg>"));
}

#[test]
fn the_table_fits_80_columns_and_has_the_contenders_that_were_asked_for() {
    let output = bench(&["--contender", "robust", "--contender", "Ring"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output), errors(&output));
    let table = text(&output);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let rows = |start: &str| table.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!((rows("turnlock ring"), rows("pthread robust mutex"), rows("flock")), (1, 1, 0), "{table}");
    let unknown = bench(&["--contender", "spinlock of mine"]);
    assert_eq!(unknown.status.code(), Some(64));
    assert!(errors(&unknown).contains("POSIX semaphore"), "{}", errors(&unknown));
}

/// What lets two in is an error, and no number.
#[test]
fn a_lock_that_locks_nothing_is_caught() {
    let output = bench(&["--json", "--contender", "nothing"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let nothing = &json(&output)["contenders"][0];
    assert!(nothing["problem"].as_str().unwrap().contains("two were inside at once"), "{nothing}");
}

#[test]
fn what_it_cannot_write_or_use_is_an_error() {
    let nowhere = bench(&["--contender", "flock", "--output", "/no/such/folder/bench.svg"]);
    assert_eq!(nowhere.status.code(), Some(71), "{}", errors(&nowhere));
    let folder = bench(&["--contender", "flock", "--folder", "/no/such/folder", "--json"]);
    assert_eq!(folder.status.code(), Some(1));
    assert!(
        json(&folder)["contenders"][0]["problem"].as_str().unwrap().contains("/no/such/folder"),
        "{}",
        text(&folder)
    );
}

#[test]
fn a_signal_ends_it_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = Command::new(TURNLOCK);
    bench.args(["bench", "--seconds", "600", "--contender", "turnlock mutex", "--folder"]).arg(folder.path());
    let mut bench = bench.stderr(Stdio::null()).spawn().unwrap();
    until("it measures", || folder.path().read_dir().unwrap().count() > 0);
    assert!(limit::status(Command::new("kill").args(["-TERM", &bench.id().to_string()])).unwrap().success());
    assert_eq!(limit::end_of(&mut bench, "the bench").code(), Some(128 + 15));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

/// Workers of a bench that was killed do not go on for ever.
#[test]
fn without_its_parent_a_worker_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = Command::new(TURNLOCK);
    bench.args(["bench", "--seconds", "600", "--contender", "flock", "--folder"]).arg(folder.path());
    let mut bench = bench.stderr(Stdio::null()).spawn().unwrap();
    let workers = || -> Vec<String> {
        let pid = bench.id();
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        children.split_whitespace().map(String::from).collect()
    };
    until("it has workers", || !workers().is_empty());
    let workers = workers();
    bench.kill().unwrap();
    bench.wait().unwrap();
    // Or it has ended, and no process waits for it here.
    let is_gone = |pid: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
    };
    until("they are gone", || workers.iter().all(is_gone));
}
