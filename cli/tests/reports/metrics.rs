//! `turnlock metrics`, read as Prometheus reads it.

use super::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

type Labels = BTreeMap<String, String>;

/// What was printed: of each metric its type, and its values by their labels.
#[derive(Debug, Default)]
struct Metrics(BTreeMap<String, (String, BTreeMap<Labels, f64>)>);

impl Metrics {
    /// By the text format, version 0.0.4.
    fn parse(text: &str) -> Result<Self, String> {
        let mut found = Self::default();
        let (mut now, mut helped) = (String::new(), String::new());
        for line in text.lines() {
            let wrong = |why: &str| format!("{why}: {line}");
            if let Some(help) = line.strip_prefix("# HELP ") {
                helped = help.split_once(' ').ok_or(wrong("no help"))?.0.into();
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').ok_or(wrong("no type"))?;
                if name != helped || !["gauge", "counter"].contains(&kind) {
                    return Err(wrong("a type without help, or an unknown one"));
                }
                now = name.into();
                if found.0.insert(now.clone(), (kind.into(), BTreeMap::new())).is_some() {
                    return Err(wrong("a metric in two places"));
                }
            } else {
                let (name, rest) = line.split_once('{').ok_or(wrong("no labels"))?;
                let (labels, rest) = labels(rest).ok_or(wrong("bad labels"))?;
                let value = rest.trim().parse().map_err(|_| wrong("no number"))?;
                if name != now || found.0.get_mut(&now).unwrap().1.insert(labels, value).is_some() {
                    return Err(wrong("not with its metric, or twice"));
                }
            }
        }
        if text.ends_with('\n') { Ok(found) } else { Err("the last line has no end".into()) }
    }

    /// A value by its metric and, after the file, the labels that are said; there is one.
    fn get(&self, name: &str, wanted: &[(&str, &str)]) -> Option<f64> {
        let (_, values) = self.0.get(name)?;
        let fits = |labels: &Labels| {
            wanted.iter().all(|(name, value)| labels.get(*name).is_some_and(|of| of == value))
        };
        let mut fitting = values.iter().filter(|(labels, _)| fits(labels));
        let value = fitting.next()?.1;
        assert!(fitting.next().is_none(), "{name} {wanted:?} is not one");
        Some(*value)
    }
}

/// Labels up to the brace, and what comes after it.
fn labels(mut text: &str) -> Option<(Labels, &str)> {
    let mut found = Labels::new();
    loop {
        let (name, rest) = text.split_once("=\"")?;
        let (mut value, mut letters) = (String::new(), rest.char_indices());
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match letters.next()?.1 {
                    'n' => '\n',
                    letter @ ('\\' | '"') => letter,
                    _ => return None,
                }),
                (_, letter) => value.push(letter),
            }
        };
        if found.insert(name.into(), value).is_some() {
            return None;
        }
        text = &rest[end + 1..];
        match text.strip_prefix(',') {
            Some(more) => text = more,
            None => return Some((found, text.strip_prefix('}')?)),
        }
    }
}

#[test]
fn the_metrics_say_what_status_says() {
    Scene::with(|scene| {
        let metrics = Metrics::parse(&scene.printed(&["metrics"])).unwrap();
        let status: Value = serde_json::from_str(&scene.printed(&["status", "--json"])).unwrap();
        let file = scene.path.to_str().unwrap();
        let of_file = |name: &str| metrics.get(name, &[("file", file)]);
        assert_eq!(of_file("turnlock_file_readable"), Some(1.0));
        assert_eq!(of_file("turnlock_recording_capacity"), Some(4096.0));
        assert_eq!(of_file("turnlock_locks"), Some(6.0));
        assert_eq!(
            of_file("turnlock_file_created_timestamp_seconds"),
            status["created_unix_seconds"].as_f64()
        );
        let info = metrics.get("turnlock_file_info", &[("format", status["format"].as_str().unwrap())]);
        assert_eq!(info, Some(1.0));
        let alive = status["participants"].as_array().unwrap().len() as f64;
        assert_eq!(metrics.get("turnlock_participants", &[("life", "alive")]), Some(alive));
        assert_eq!(metrics.get("turnlock_participants", &[("life", "dead")]), Some(0.0));

        for lock in status["locks"].as_array().unwrap() {
            let name = lock["name"].as_str().unwrap();
            let of_lock = |metric: &str| metrics.get(metric, &[("file", file), ("lock", name)]);
            for (metric, counter) in [
                ("turnlock_lock_acquisitions_total", "acquisitions"),
                ("turnlock_lock_contended_total", "contended"),
                ("turnlock_lock_timeouts_total", "timed_out"),
                ("turnlock_lock_deaths_total", "died"),
                ("turnlock_lock_passed_over_total", "passed_over"),
            ] {
                assert_eq!(of_lock(metric), lock["counters"][counter].as_f64(), "{metric} of {name}");
                assert_eq!(metrics.0[metric].0, "counter");
            }
            assert_eq!(
                of_lock("turnlock_lock_holders"),
                Some(lock["holders"].as_array().unwrap().len() as f64)
            );
            let kind = metrics
                .get("turnlock_lock_info", &[("lock", name), ("kind", lock["kind"].as_str().unwrap())]);
            assert_eq!(kind, Some(1.0));
            assert_eq!(of_lock("turnlock_lock_patience_seconds"), lock["patience_seconds"].as_f64());
        }
        // They are what happened, and not all 0.
        let of = |metric: &str, lock: &str| metrics.get(metric, &[("lock", lock)]).unwrap();
        assert_eq!(of("turnlock_lock_timeouts_total", NASTY), 1.0);
        assert_eq!(of("turnlock_lock_deaths_total", "deadly"), 1.0);
        assert!(of("turnlock_lock_contended_total", NASTY) >= 2.0);
        assert_eq!(of("turnlock_lock_holders", "open"), 1.0);
        assert_eq!(metrics.get("turnlock_lock_waiters", &[("lock", "open"), ("state", "queued")]), Some(1.0));
        assert!(of("turnlock_lock_longest_wait_seconds", "open") > 0.0);
        assert!(!metrics.0.contains_key("turnlock_lock_recent_wait_seconds"));
    });
}

#[test]
fn what_was_recorded_lately_is_there_on_request() {
    Scene::with(|scene| {
        let metrics = Metrics::parse(&scene.printed(&["metrics", "--recent"])).unwrap();
        let recording = turnlock::inspect::recording(&scene.path).unwrap().unwrap();
        let of_file = |name: &str| metrics.get(name, &[]).unwrap();
        assert_eq!(of_file("turnlock_recording_entries_total"), recording.recorded as f64);
        assert!(of_file("turnlock_recording_span_seconds") > 0.005);
        let recent = |which: &str, percentile: &str| {
            let name = format!("turnlock_lock_recent_{which}_seconds");
            metrics.get(&name, &[("lock", NASTY), ("percentile", percentile)]).unwrap()
        };
        for which in ["wait", "hold"] {
            let rising = ["50", "90", "99", "100"].map(|percentile| recent(which, percentile));
            assert!(rising.is_sorted() && rising[0] > 0.0, "{which} {rising:?}");
        }
        // The one that held it while another one waited for five milliseconds in vain.
        assert!(recent("hold", "100") > 0.005);
    });
}

#[test]
fn inconsistent_closed_and_semaphores_and_rings_have_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let file = LockFile::open(&path).unwrap();
    for lock in ["sad", "closed"] {
        let doomed = file.participant().unwrap();
        std::mem::forget(file.mutex(lock).unwrap().lock_as(&doomed).unwrap());
    }
    drop(file.mutex("closed").unwrap().lock().unwrap());
    // A participant finds that its holder is dead.
    assert!(file.mutex("sad").unwrap().status().unwrap().holders.is_empty() || file.reap().is_ok());
    let jobs = file.semaphore_options().permits(5).open("jobs").unwrap();
    let _two = jobs.acquire(2).unwrap();
    drop(file.turn_ring("turns").unwrap().lock().unwrap());
    let metrics = Metrics::parse(&printed(turnlock(&["metrics", path.to_str().unwrap()]))).unwrap();
    let of = |metric: &str, lock: &str| metrics.get(&format!("turnlock_lock_{metric}"), &[("lock", lock)]);
    assert_eq!((of("inconsistent", "sad"), of("not_recoverable", "sad")), (Some(1.0), Some(0.0)));
    assert_eq!((of("inconsistent", "closed"), of("not_recoverable", "closed")), (Some(0.0), Some(1.0)));
    assert_eq!((of("permits", "jobs"), of("permits_taken", "jobs")), (Some(5.0), Some(2.0)));
    assert_eq!((of("permits", "sad"), of("ring_idle_members", "sad")), (None, None));
    assert_eq!(of("ring_idle_members", "turns"), Some(0.0));
    assert_eq!(metrics.get("turnlock_recording_capacity", &[]), Some(0.0));
}

#[test]
fn a_file_that_cannot_be_read_is_said_and_the_others_are_there() {
    let (_folder, path) = overwritten();
    let name = path.to_str().unwrap();
    let missing = path.with_file_name("missing.lock");
    let missing = missing.to_str().unwrap();
    // A file twice is one file.
    let some = turnlock(&["metrics", name, missing, name]);
    assert_eq!(some.status.code(), Some(66));
    assert!(errors(&some).contains("missing.lock"), "{}", errors(&some));
    let metrics = Metrics::parse(std::str::from_utf8(&some.stdout).unwrap()).unwrap();
    let readable = |file: &str| metrics.get("turnlock_file_readable", &[("file", file)]);
    assert_eq!((readable(name), readable(missing)), (Some(1.0), Some(0.0)));
    assert_eq!(metrics.0["turnlock_locks"].1.len(), 1);
    assert_eq!(turnlock(&["metrics"]).status.code(), Some(64));
}

/// The reader above refuses what is wrong.
#[test]
fn a_bad_text_is_refused() {
    let good = "# HELP a b\n# TYPE a gauge\na{x=\"1\"} 2\n";
    assert!(Metrics::parse(good).is_ok());
    for bad in [
        "a{x=\"1\"} 2\n",
        "# TYPE a gauge\na{x=\"1\"} 2\n",
        "# HELP a b\n# TYPE a gauge\na{x=\"1\"} 2\na{x=\"1\"} 2\n",
        "# HELP a b\n# TYPE a gauge\na{x=\"1\\q\"} 2\n",
        "# HELP a b\n# TYPE a gauge\na{x=\"1} 2\n",
        "# HELP a b\n# TYPE a gauge\na{x=\"1\"} two\n",
        "# HELP a b\n# TYPE a gauge\na{x=\"1\"} 2",
    ] {
        assert!(Metrics::parse(bad).is_err(), "{bad:?}");
    }
}

fn has_promtool() -> bool {
    let is_there =
        Command::new("promtool").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        println!("left out: promtool is not installed");
    }
    is_there
}

/// The same, by Prometheus' own tool.
#[test]
fn promtool_finds_nothing_to_say() {
    if !has_promtool() {
        return;
    }
    Scene::with(|scene| {
        let script = "\"$0\" metrics --recent \"$1\" | promtool check metrics";
        let checked =
            limit::output(Command::new("sh").args(["-c", script, TURNLOCK]).arg(&scene.path)).unwrap();
        let said = String::from_utf8_lossy(&checked.stdout).into_owned() + &errors(&checked);
        assert_eq!((checked.status.code(), said.trim()), (Some(0), ""));
    });
}

/// The alerts that the document recommends.
#[test]
fn promtool_reads_the_rules_of_the_document() {
    let document = include_str!("../../../docs/metrics.md");
    let rules = document.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let names = rules.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    let metrics: BTreeSet<&str> = names.filter(|name| name.starts_with("turnlock_")).collect();
    assert!(metrics.len() >= 3);
    for metric in metrics {
        assert!(document.contains(&format!("| `{metric}` |")), "{metric}");
    }
    if !has_promtool() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yml");
    std::fs::write(&file, rules).unwrap();
    let checked = limit::output(Command::new("promtool").args(["check", "rules"]).arg(&file)).unwrap();
    let said = String::from_utf8_lossy(&checked.stdout).into_owned() + &errors(&checked);
    assert!(checked.status.success() && said.contains("SUCCESS: 3 rules found"), "{said}");
}

/// Each metric that is printed is in docs/metrics.md, with its labels. (That all of these are in the command, and their meanings
/// the same, a test in the command itself compares.)
#[test]
fn what_is_printed_is_documented() {
    let document = include_str!("../../../docs/metrics.md");
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `turnlock_"));
    let documented: BTreeMap<String, (String, BTreeSet<String>)> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split(" | ").collect();
            let labels = cells[2].split(", ").map(|label| label.trim_matches('`').to_owned()).collect();
            (format!("turnlock_{}", cells[0].trim_matches('`')), (cells[1].to_owned(), labels))
        })
        .collect();
    Scene::with(|scene| {
        let metrics = Metrics::parse(&scene.printed(&["metrics", "--recent"])).unwrap();
        assert!(metrics.0.len() > 25);
        for (name, (kind, values)) in &metrics.0 {
            let (documented, labels) = &documented[name];
            assert_eq!(kind, documented, "{name}");
            for value in values.keys() {
                assert_eq!(&value.keys().cloned().collect::<BTreeSet<_>>(), labels, "{name}");
            }
        }
    });
}
