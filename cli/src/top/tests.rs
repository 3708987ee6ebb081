//! The screen, drawn into memory: what a real file says, at the sizes of a small terminal and of a large one.

use super::{app::App, draw};
use ratatui::{
    Terminal,
    backend::TestBackend,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
};
use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};
use turnlock::{LockFile, Participant, inspect};

/// A file with a mutex that is held and waited for, readers, permits, a range, and a lock that was left by a dead one.
struct Scene {
    _folder: tempfile::TempDir,
    path: PathBuf,
    file: LockFile,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scene.lock");
        let file = LockFile::options().label("builder").open(&path).unwrap();
        Self { _folder: folder, path, file }
    }

    fn participant(&self, label: &str) -> Participant {
        self.file.participant_options().label(label).open().unwrap()
    }

    fn app(&self) -> App {
        let mut app = App::new(std::slice::from_ref(&self.path), Duration::from_millis(500));
        app.look();
        app
    }
}

fn screen(app: &mut App, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::draw(frame, app)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect()
}

fn press(app: &mut App, codes: &[KeyCode]) {
    for code in codes {
        assert!(app.key(&KeyEvent::new(*code, KeyModifiers::NONE)), "{code:?} ended it");
    }
}

fn line_with<'a>(screen: &'a [String], what: &str) -> &'a str {
    screen.iter().find(|line| line.contains(what)).unwrap_or_else(|| panic!("no {what:?} in {screen:#?}"))
}

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 50);

/// What a line has no room for comes in the next one: above all the pid.
#[test]
fn a_narrow_terminal_shows_the_pid_of_a_long_label() {
    let scene = Scene::new();
    let users = scene.file.keyed_lock("users").unwrap();
    let people = [scene.participant(&"a".repeat(40)), scene.participant(&"b".repeat(40))];
    let _held = people.each_ref().map(|one| users.write_as(one, format!("customer/{}", one.slot())).unwrap());
    let mut app = scene.app();
    let pid = format!("pid {}", std::process::id());
    for keys in [&[][..], &[KeyCode::Enter]] {
        press(&mut app, keys);
        let screen = screen(&mut app, (60, 24));
        assert_eq!(screen.iter().filter(|line| line.contains(&pid)).count(), 2, "{screen:#?}");
        assert!(screen.iter().all(|line| line.chars().count() <= 60), "{screen:#?}");
    }
}

#[test]
fn a_small_and_a_large_terminal_show_who_holds_and_who_waits() {
    let scene = Scene::new();
    let build = scene.file.mutex_options().patience(Duration::ZERO).open("build").unwrap();
    let cache = scene.file.rwlock("cache-with-a-rather-long-name-that-no-small-column-holds").unwrap();
    let jobs = scene.file.semaphore_options().permits(5).open("jobs").unwrap();
    let people = ["ada", "ben", "cleo", "dan"].map(|label| scene.participant(label));
    let [ada, ben, cleo, dan] = &people;
    let held = build.lock_as(ada).unwrap();
    let (reading, permits) = (cache.read_as(dan).unwrap(), jobs.acquire_as(dan, 3).unwrap());
    thread::scope(|threads| {
        for (count, waiter) in [ben, cleo].into_iter().enumerate() {
            let build = &build;
            threads.spawn(move || drop(build.lock_as(waiter).unwrap()));
            // One after the other, so that the order is known.
            until(&scene, |lock| lock.queue.len() == count + 1);
        }
        let mut app = scene.app();
        for size in [SMALL, LARGE] {
            let screen = screen(&mut app, size);
            assert!(screen[0].contains("scene.lock  5/128 slots  3/64 locks  every 0.5 s"), "{screen:#?}");
            let build = line_with(&screen, "build  ");
            let pid = std::process::id();
            assert!(build.contains("mutex") && build.contains(&format!("ada ({pid})")), "{build}");
            assert_eq!(build.split_whitespace().next_back(), Some("2"), "two wait: {build}");
            assert!(line_with(&screen, "jobs  ").contains("3 of 5 permits"));
            assert!(line_with(&screen, "cache-").contains("dan ("));
            // Below: the selected lock, which is the one with most waiters.
            let at = |what| screen.iter().position(|line| line.contains(what)).unwrap();
            assert!(at("● held for") < at("1 ben (") && at("1 ben (") < at("2 cleo ("), "{screen:#?}");
            assert!(screen[usize::from(size.1) - 1].ends_with("? help  q quit"), "{screen:#?}");
        }
        let wide = screen(&mut app, LARGE);
        assert!(
            wide.iter().any(|line| line.contains("cache-with-a-rather-long-name-that-no-small")),
            "{wide:#?}"
        );

        press(&mut app, &[KeyCode::Enter]);
        let lock = screen(&mut app, SMALL);
        assert!(line_with(&lock, "mutex, bakery, strict order").contains("a death has to be repaired"));
        press(&mut app, &[KeyCode::Char('r')]);
        let registers = screen(&mut app, SMALL);
        let numbers: Vec<&str> = ["ada", "ben", "cleo"]
            .map(|who| line_with(&registers, who).split_whitespace().nth(3).unwrap())
            .to_vec();
        assert_eq!(numbers, ["1", "2", "3"], "{registers:#?}");
        press(&mut app, &[KeyCode::Char('?')]);
        assert!(screen(&mut app, SMALL)[1].contains("help"));
        press(&mut app, &[KeyCode::Esc, KeyCode::Esc]);
        assert!(screen(&mut app, SMALL)[1].contains("HELD BY"));
        drop(held);
    });
    drop((reading, permits));
}

#[test]
fn what_is_wrong_is_said() {
    let scene = Scene::new();
    let lock = scene.file.mutex("data").unwrap();
    let doomed = scene.participant("doomed");
    std::mem::forget(lock.lock_as(&doomed).unwrap());
    // As a death.
    drop(doomed);
    let mut app = scene.app();
    assert!(line_with(&screen(&mut app, SMALL), "data  ").contains("free, owner dead"));
    // Its next holder is told, and does not repair.
    drop(lock.lock().unwrap());
    app.look();
    let closed = screen(&mut app, SMALL);
    assert!(line_with(&closed, "! data").contains("closed: not recov"), "{closed:#?}");
    assert!(line_with(&closed, "turnlock reset").contains("not recoverable"));
    assert!(line_with(&closed, "died holding it").contains("doomed (pid"));
}

#[test]
fn a_file_that_goes_is_said_and_shown_as_it_was() {
    let scene = Scene::new();
    drop(scene.file.mutex("data").unwrap());
    let mut app = scene.app();
    std::fs::remove_file(&scene.path).unwrap();
    app.look();
    let lost = screen(&mut app, SMALL);
    assert!(lost[0].contains("LOST, shown as it last was"), "{lost:#?}");
    line_with(&lost, "data  ");
    drop(LockFile::open(&scene.path).unwrap().mutex("other").unwrap());
    app.look();
    let other = screen(&mut app, SMALL);
    assert!(other[0].contains("REPLACED"), "{other:#?}");
    line_with(&other, "other  ");
    std::fs::OpenOptions::new().write(true).open(&scene.path).unwrap().set_len(4096).unwrap();
    app.look();
    assert!(screen(&mut app, SMALL)[0].contains("LOST"));
}

#[test]
fn the_list_is_filtered_and_sorted() {
    let scene = Scene::new();
    for name in ["apples", "pears", "plums"] {
        drop(scene.file.mutex(name).unwrap());
    }
    let names = |app: &App| app.rows.iter().map(|row| row.lock.clone()).collect::<Vec<_>>();
    let mut app = scene.app();
    assert_eq!(names(&app), ["apples", "pears", "plums"]);
    press(&mut app, &[KeyCode::Char('/'), KeyCode::Char('p'), KeyCode::Char('l')]);
    assert_eq!(names(&app), ["apples", "plums"]);
    assert!(screen(&mut app, SMALL)[23].contains("/pl"));
    press(&mut app, &[KeyCode::Backspace, KeyCode::Char('e'), KeyCode::Enter]);
    assert_eq!((names(&app), app.at()), (vec!["pears".to_owned()], Some(0)));
    press(&mut app, &[KeyCode::Esc]);
    // To the left of the number of waiters, four columns: by name, the other way round.
    press(&mut app, &[KeyCode::Char('<'), KeyCode::Char('<'), KeyCode::Char('<'), KeyCode::Char('R')]);
    assert_eq!(names(&app), ["plums", "pears", "apples"]);
    assert!(screen(&mut app, SMALL)[1].contains("LOCK↑"));
    // A holder's label is found, too.
    let (lock, ada) = (scene.file.mutex("pears").unwrap(), scene.participant("Ada"));
    let guard = lock.lock_as(&ada).unwrap();
    app.look();
    press(&mut app, &[KeyCode::Char('/'), KeyCode::Char('a'), KeyCode::Char('d'), KeyCode::Char('a')]);
    assert_eq!(names(&app), ["pears"]);
    drop(guard);
}

#[test]
fn pausing_keeps_what_is_shown() {
    let scene = Scene::new();
    let (lock, ada) = (scene.file.mutex("data").unwrap(), scene.participant("ada"));
    let mut app = scene.app();
    press(&mut app, &[KeyCode::Char('p')]);
    let guard = lock.lock_as(&ada).unwrap();
    app.look();
    let paused = screen(&mut app, SMALL);
    assert!(paused[0].contains("PAUSED") && line_with(&paused, "data  ").contains("free"), "{paused:#?}");
    press(&mut app, &[KeyCode::Char('p')]);
    app.look();
    assert!(line_with(&screen(&mut app, SMALL), "data  ").contains("ada ("));
    drop(guard);
    assert!(!app.key(&KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE)), "q ends it");
}

#[test]
fn no_terminal_is_too_small() {
    let scene = Scene::new();
    let (lock, ada) = (scene.file.mutex("data").unwrap(), scene.participant("ada"));
    let guard = lock.lock_as(&ada).unwrap();
    let mut app = scene.app();
    for page in [&[][..], &[KeyCode::Enter], &[KeyCode::Char('r')], &[KeyCode::Char('?')]] {
        press(&mut app, page);
        for size in [(1, 1), (10, 3), (40, 8), (80, 16), (300, 100)] {
            assert_eq!(screen(&mut app, size).len(), usize::from(size.1));
        }
        // As far down as it goes.
        press(&mut app, &[KeyCode::PageDown; 10]);
        screen(&mut app, SMALL);
    }
    drop(guard);
}

/// A ring's page of registers has its states and links.
#[test]
fn a_rings_registers_are_those_of_its_machines() {
    let scene = Scene::new();
    let ring = scene.file.ring_options().open("tour").unwrap();
    let ada = scene.participant("ada");
    let turn = ring.lock_as(&ada).unwrap();
    let mut app = scene.app();
    press(&mut app, &[KeyCode::Char('r')]);
    let registers = screen(&mut app, SMALL);
    let line = line_with(&registers, "ada");
    assert!(line.contains("one turn") && line.contains("  here  "), "{registers:#?}");
    assert!(line.contains(&turn.fencing_token().to_string()), "{line}");
    drop(turn);
}

/// Waits until the first lock is as wanted.
fn until(scene: &Scene, is_so: impl Fn(&inspect::LockStatus) -> bool) {
    let began = Instant::now();
    loop {
        let status = inspect::snapshot(&scene.path).unwrap();
        if is_so(&status.locks[0]) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{status:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_is_no_lock_shows_how_it_stands() {
    let scene = Scene::new();
    let (ready, stage) = (scene.file.event("ready").unwrap(), scene.file.barrier("stage", 3).unwrap());
    let once = scene.file.once("schema").unwrap();
    drop(scene.file.condition("changed").unwrap());
    ready.set().unwrap();
    let (waiter, guard) = (scene.participant("waits"), once.begin().unwrap());
    thread::scope(|threads| {
        threads.spawn(|| stage.wait_for_as(&waiter, Duration::from_secs(20)).unwrap_err());
        let began = Instant::now();
        while inspect::snapshot(&scene.path).unwrap().locks.iter().all(|lock| lock.queue.is_empty()) {
            assert!(began.elapsed() < Duration::from_secs(20));
        }
        let mut app = scene.app();
        let shown = screen(&mut app, (120, 30));
        assert!(line_with(&shown, "ready").contains("set, once so far"), "{shown:#?}");
        assert!(line_with(&shown, "changed").contains("no waiter"), "{shown:#?}");
        assert!(line_with(&shown, "stage").contains("1 of 3 have come"), "{shown:#?}");
        assert!(line_with(&shown, "schema").contains("builder ("), "{shown:#?}");
        let at = app.rows.iter().position(|row| row.lock == "stage").unwrap();
        press(&mut app, &vec![KeyCode::Down; at]);
        press(&mut app, &[KeyCode::Enter]);
        let shown = screen(&mut app, (120, 30));
        line_with(&shown, " barrier, 3 parties");
        assert!(line_with(&shown, "waits (").contains(", waiting"), "{shown:#?}");
        assert!(
            !shown.iter().any(|line| line.contains("fencing token") || line.contains(" free")),
            "{shown:#?}"
        );
        press(&mut app, &[KeyCode::Char('r')]);
        line_with(&screen(&mut app, (120, 30)), "it is no lock");
        stage.abort().unwrap();
    });
    let mut app = scene.app();
    let shown = screen(&mut app, (120, 30));
    assert!(line_with(&shown, "stage").trim_start().starts_with('!'), "{shown:#?}");
    line_with(&shown, "aborted");
    drop(guard);
}
