//! The page that `turnlock report` makes, as a text. `browser` has it shown.

use super::*;

/// The letters of a page between its tags.
pub fn words(page: &str) -> String {
    let mut text = String::new();
    for part in page.split('<').skip(1) {
        let (_, after) = part.split_once('>').unwrap_or(("", ""));
        text += after;
        text.push(' ');
    }
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

#[test]
fn it_loads_nothing_and_runs_nothing() {
    Scene::with(|scene| {
        let page = scene.printed(&["report"]);
        assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
        assert!(page.contains(
            "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\""
        ));
        for bad in
            ["<script", "<b on", "<i>", "<link", "<img", "<iframe", "src=", "url(", "@import", "javascript:"]
        {
            assert!(!page.contains(bad), "{bad}");
        }
        // Names of namespaces are no addresses that anything is loaded from.
        let without_names = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        assert!(!without_names.contains("http:") && !without_names.contains("https:"));
        let links: Vec<&str> =
            page.split("href=\"").skip(1).map(|after| after.split('"').next().unwrap()).collect();
        assert!(links.len() >= 7);
        for link in links {
            let id = link.strip_prefix('#').expect("a place in the page");
            assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{link}");
        }
    });
}

#[test]
fn names_are_shown_as_they_are_and_what_is_invisible_is_said() {
    Scene::with(|scene| {
        let words = words(&scene.printed(&["report"]));
        let shown = "</script><b on=\"x\">&lt; \\ 'q' {}\\u{202e}\\n";
        for name in [shown, CALLED, "a <b> & c.lock", "patient", "doomed", "readers (rwlock)"] {
            assert!(words.contains(name), "{name}: {words}");
        }
        assert!(!words.contains('\u{202e}'));
    });
}

#[test]
fn each_plot_has_words_and_a_table() {
    Scene::with(|scene| {
        let page = scene.printed(&["report"]);
        let plots: Vec<&str> = page.split("<figure>").skip(1).collect();
        assert!(plots.len() >= 6, "{}", plots.len());
        for plot in plots {
            let (figure, after) = plot.split_once("</figure>").unwrap();
            for width in ["plot wide", "plot narrow"] {
                assert_eq!(figure.matches(width).count(), 1);
            }
            assert_eq!(figure.matches("<svg role=\"img\" aria-label=\"").count(), 2);
            let caption = figure.split("<figcaption>").nth(1).unwrap();
            assert!(caption.len() > 60, "{caption}");
            let table = after.split("</section>").next().unwrap();
            assert!(table.trim_start().starts_with("<details><summary>") && table.contains("<td"), "{table}");
        }
    });
}

#[test]
fn its_numbers_are_those_of_what_happened() {
    Scene::with(|scene| {
        let words = words(&scene.printed(&["report"]));
        let squeezed = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let recording = turnlock::inspect::recording(&scene.path).unwrap().unwrap();
        for part in [
            format!("has {} events", recording.events.len()),
            format!(
                "the latest 4096 entries (events, and names of who came); {} were made",
                recording.recorded
            ),
            "1 death, 1 recovery".into(),
            "1 deaths of holders".into(),
            "CLOCK_MONOTONIC".into(),
            // Who died, with which token, and who repaired it.
            format!("deadly doomed (pid {}", std::process::id()),
            // The hand-over, by its tokens, and no waiter was overtaken.
            scene.handed_on[0].to_string(),
            scene.handed_on[1].to_string(),
            "No waiter was overtaken.".into(),
        ] {
            assert!(squeezed.contains(&part), "{part}: {squeezed}");
        }
        // asked, would block and so on in the table of events.
        assert!(
            squeezed.contains("would block 1 timed out 1 gave up 0 died 1 recovered 1 passed over 0"),
            "{squeezed}"
        );
        let year = squeezed.split("Looked at on ").nth(1).unwrap();
        let now = limit::output(Command::new("date").args(["-u", "+%Y-%m-%d %H"])).unwrap();
        let before =
            limit::output(Command::new("date").args(["-u", "-d", "-1 minute", "+%Y-%m-%d %H"])).unwrap();
        let is_now = |date: &Output| year.starts_with(String::from_utf8_lossy(&date.stdout).trim());
        assert!(is_now(&now) || is_now(&before), "{}", &year[..20]);
    });
}

/// A waiter that is stopped is passed by one that asked later.
#[test]
fn an_overtaken_waiter_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let file = LockFile::options().recorded_events(1000).open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    let [one, two] = [(); 2].map(|()| file.participant().unwrap());
    let held = mutex.lock_as(&one).unwrap();
    let mut late = Command::new(TURNLOCK);
    let late = late.args(["run", "--lock", "a", "--label", "late"]).arg(&path).arg("true");
    let mut late = late.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until_waiting(&path, "a", 1);
    let signal = |signal: &str| {
        assert!(
            limit::status(Command::new("kill").args([signal, &late.id().to_string()])).unwrap().success()
        );
    };
    assert!(report_of(&path).contains("No waiter was overtaken."));
    signal("-STOP");
    drop(held);
    drop(mutex.lock_as(&two).unwrap());
    signal("-CONT");
    assert!(limit::end_of(&mut late, "the one that was stopped").success());
    let page = report_of(&path);
    assert!(page.contains("One was overtaken."), "{page}");
    let squeezed = page.split_whitespace().collect::<Vec<_>>().join(" ");
    // Of three that were served one was overtaken, by one.
    assert!(squeezed.contains("By up to a (mutex) 3 1 1 "), "{squeezed}");
}

/// Before a participant opens the file.
#[test]
fn after_a_boot_it_says_that_the_times_are_of_another_clock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    printed(turnlock(&["create", "--record", "1000", path.to_str().unwrap()]));
    let mut run = Command::new(TURNLOCK);
    // It dies inside, and no participant finds it.
    run.args(["run", "--close"]).arg(&path).args(["sh", "-c", "kill -9 $PPID"]).stderr(Stdio::null());
    assert_eq!(limit::status(&mut run).unwrap().code(), None);
    assert!(printed(turnlock(&["trace", path.to_str().unwrap()])).contains("dead, and not found yet"));
    assert!(!report_of(&path).contains("No process has opened the file since"));
    // docs/format.md: `boot_id`.
    let hand = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&hand, &[7; 16], 64).unwrap();
    assert!(report_of(&path).contains("No process has opened the file since this machine was started:"));
    let trace = printed(turnlock(&["trace", path.to_str().unwrap()]));
    assert!(
        trace.contains("\"of_this_boot\":false") && trace.contains("\"outcome\":\"not recorded\""),
        "{trace}"
    );
}

/// A reader that died, and permits of a dead holder, leave nothing to mark consistent.
#[test]
fn a_holder_that_shared_a_lock_and_died_leaves_nothing_to_recover() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let file = LockFile::options().recorded_events(1000).open(&path).unwrap();
    let doomed = |label: &str| file.participant_options().label(label).open().unwrap();
    let (reader, writer, one) = (doomed("the reader"), doomed("the writer"), doomed("one"));
    let rwlock = file.rwlock("a").unwrap();
    let mutex = file.mutex("b").unwrap();
    std::mem::forget(rwlock.read_as(&reader).unwrap());
    std::mem::forget(mutex.lock_as(&writer).unwrap());
    drop((reader, writer));
    drop(rwlock.write_as(&one).unwrap());
    let _told = mutex.lock_as(&one).unwrap();
    let page = report_of(&path);
    let row = |who: &str| {
        let deaths = page.split("Who died holding a lock").nth(1).unwrap();
        let row = deaths.split(who).nth(1).unwrap_or_else(|| panic!("no {who}: {page}"));
        row.split("(UTC)").next().unwrap().chars().take(80).collect::<String>()
    };
    assert!(row("the reader").contains('–') && !row("the reader").contains("not yet"), "{page}");
    assert!(row("the writer").contains("not yet"), "{page}");
}

/// A page is for a browser, however much has happened.
#[test]
fn it_does_not_grow_with_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let file = LockFile::options().recorded_events(1 << 16).open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    let [one, two] = [(); 2].map(|()| file.participant().unwrap());
    let sizes = [2000, 20_000].map(|times| {
        for _ in 0..times {
            let _held = mutex.lock_as(&one).unwrap();
            assert!(mutex.try_lock_as(&two).is_err());
        }
        printed(turnlock(&["report", path.to_str().unwrap()])).len()
    });
    // Ten times as many events. How spread their times are, and so how long the curves, is up to the machine.
    assert!(sizes[1] < 1 << 20 && sizes[1] < 2 * sizes[0], "{sizes:?}");
}

fn report_of(path: &std::path::Path) -> String {
    words(&printed(turnlock(&["report", path.to_str().unwrap()])))
}

#[test]
fn what_is_forgotten_and_an_empty_recording_are_said() {
    let (_folder, path) = overwritten();
    let page = report_of(&path);
    let recorded = turnlock::inspect::recording(&path).unwrap().unwrap().recorded;
    assert!(page.contains(&format!("The first {} are forgotten", recorded - 64)), "{page}");

    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.lock");
    printed(turnlock(&["create", "--record", "64", empty.to_str().unwrap()]));
    let page = report_of(&empty);
    assert!(page.contains("has recorded nothing since this machine was started"), "{page}");
    assert!(printed(turnlock(&["trace", empty.to_str().unwrap()])).contains("\"traceEvents\":["));
}
