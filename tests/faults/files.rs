//! What other programs do to the file, and those that delete what looks old.

use std::{fs, process::Command, time::Duration};
use support::{Place, elsewhere, limit};
use turnlock::{Error, LockFile};

#[test]
fn a_file_replaced_by_a_symbolic_link_takes_no_newcomers() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    drop(mutex.lock().unwrap());
    fs::rename(place.lock_file(), place.at("elsewhere")).unwrap();
    std::os::unix::fs::symlink(place.at("elsewhere"), place.lock_file()).unwrap();
    let newcomer = elsewhere(|| mutex.lock().map(drop));
    assert!(matches!(newcomer, Err(Error::Replaced { .. })), "{newcomer:?}");
    assert!(matches!(LockFile::open(place.lock_file()), Err(Error::NotALockFile { .. })));
}

#[test]
fn fencing_tokens_go_on_rising_when_the_file_is_created_again() {
    let place = Place::new();
    let token = || {
        let mutex = LockFile::open(place.lock_file()).unwrap().mutex("a").unwrap();
        let mut last = 0;
        for _ in 0..1000 {
            last = mutex.lock().unwrap().fencing_token();
        }
        last
    };
    let before = token();
    fs::remove_file(place.lock_file()).unwrap();
    assert!(token() > before);
}

#[test]
fn opening_a_file_makes_it_look_used() {
    use std::time::SystemTime;
    let place = Place::new();
    let path = place.lock_file();
    let month_ago = SystemTime::now() - Duration::from_secs(30 * 86_400);
    let age = || fs::metadata(&path).unwrap().modified().unwrap().elapsed().unwrap_or_default();
    let make_old = || {
        let times = fs::FileTimes::new().set_accessed(month_ago).set_modified(month_ago);
        fs::File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
        assert!(age() > Duration::from_secs(86_400));
    };
    drop(LockFile::open(&path).unwrap());
    make_old();
    // Opening it is a use; for the rest an hour is between two touches.
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    assert!(age() < Duration::from_secs(86_400), "{:?}", age());
    drop(mutex.lock().unwrap());
}

#[test]
fn systemd_leaves_a_lock_file_alone_however_old_it_is() {
    let place = Place::new();
    let folder = place.at("cleaned");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("test.lock");
    drop(LockFile::open(&path).unwrap());
    fs::write(folder.join("other"), "").unwrap();
    fs::write(place.at("rule"), format!("d {} - - - 1s\n", folder.display())).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let cleaned = limit::output(Command::new("systemd-tmpfiles").arg("--clean").arg(place.at("rule")));
    if cleaned.is_err() || folder.join("other").exists() {
        println!("LEFT OUT, since systemd-tmpfiles is not here, or does not clean there: {cleaned:?}");
        return;
    }
    assert!(path.exists());
}

/// Newer versions of systemd-tmpfiles ask for this lock too, before they delete a file for its age.
#[test]
fn a_file_that_is_open_has_a_bsd_lock_that_cleaners_look_at() {
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let cleaner = fs::File::open(&path).unwrap();
    assert!(matches!(cleaner.try_lock(), Err(fs::TryLockError::WouldBlock)));
    drop(file);
    cleaner.try_lock().unwrap();
}
