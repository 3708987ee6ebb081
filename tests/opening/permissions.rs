//! Who may open, and where there is no room.

use crate::witness::{refused, told};
use nix::unistd::{Gid, Uid, geteuid, setgid, setgroups, setuid};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use support::{
    Place,
    actor::{Actor, hear, say},
    elsewhere,
    namespace::{in_private_mounts, make_read_only, mount_memory},
    user_space_file_system::UserSpaceFile,
};
use turnlock::{LockFile, inspect, status::*};

const NOBODY: u32 = 65534;
const OTHER_USER: u32 = 65533;

/// Words: user, group. Drops to them, then opens what it hears and says how that went.
pub fn tries_as(words: &[String]) {
    let group = Gid::from_raw(words[1].parse().unwrap());
    setgroups(&[]).unwrap();
    setgid(group).unwrap();
    setuid(Uid::from_raw(words[0].parse().unwrap())).unwrap();
    say("dropped");
    loop {
        let path = hear();
        let tried = LockFile::open(&path).and_then(|file| file.mutex("a")?.try_lock().map(drop));
        say(&tried.map_or_else(|error| format!("{} {error}", error.code()), |()| "0".into()));
    }
}

/// What this user and group are told at this path: the status, and the sentence.
fn tried_as(user: u32, group: u32, path: &Path) -> (i32, String) {
    let mut actor = Actor::start("tries_as", &[&user.to_string(), &group.to_string()]);
    actor.expect("dropped");
    actor.tell(path.to_str().unwrap());
    let said = actor.hear();
    let (status, sentence) = said.split_once(' ').unwrap_or((&said, ""));
    (status.parse().unwrap(), sentence.to_owned())
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Only root can become another user.
fn is_root() -> bool {
    if !geteuid().is_root() {
        println!("LEFT OUT, since only root can become another user");
    }
    geteuid().is_root()
}

#[test]
fn a_file_is_its_owners_alone_unless_a_group_is_named() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    set_mode(place.folder(), 0o755);
    let (own, groups) = (place.at("own.lock"), place.at("groups.lock"));
    LockFile::open(&own).unwrap().mutex("a").unwrap();
    LockFile::options().group(NOBODY).open(&groups).unwrap().mutex("a").unwrap();
    // The sticky bit is for cleaners, which leave such a file alone.
    for (path, mode) in [(&own, 0o101600), (&groups, 0o101660)] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode(), mode, "whatever the umask");
    }
    for (user, group, path, status) in [
        (OTHER_USER, NOBODY, &groups, TURNLOCK_OK),
        (NOBODY, NOBODY, &groups, TURNLOCK_OK),
        (OTHER_USER, OTHER_USER, &groups, TURNLOCK_ERROR_PERMISSION),
        (NOBODY, NOBODY, &own, TURNLOCK_ERROR_PERMISSION),
    ] {
        let (told, sentence) = tried_as(user, group, path);
        assert_eq!(told, status, "{user}:{group} {sentence}");
        if status != TURNLOCK_OK {
            assert!(sentence.contains(path.to_str().unwrap()), "{sentence}");
            assert!(
                sentence.contains("run as its owner, or let the owner create it with a group"),
                "{sentence}"
            );
        }
    }
}

#[test]
fn members_of_the_group_lock_each_other_out_and_reap_each_other() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    set_mode(place.folder(), 0o755);
    let path = place.lock_file();
    let mutex = LockFile::options().group(NOBODY).open(&path).unwrap().mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    assert_eq!(tried_as(OTHER_USER, NOBODY, &path).0, TURNLOCK_ERROR_WOULD_BLOCK);
    guard.unlock().unwrap();
    // The dead one is root's, and the one that cleans up is not.
    let mut dead = support::puppet::Puppet::that_holds(&path, "a");
    dead.0.kill();
    assert_eq!(tried_as(OTHER_USER, NOBODY, &path).0, TURNLOCK_OK);
    assert!(
        mutex.try_lock().is_err_and(|error| error.code() == TURNLOCK_ERROR_NOT_RECOVERABLE),
        "it got the owner-dead notice"
    );
}

#[test]
fn a_folder_that_forbids_it_is_named() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    set_mode(place.folder(), 0o755);
    for (name, mode) in [("closed", 0o700), ("read-only", 0o755)] {
        let folder = place.at(name);
        fs::create_dir(&folder).unwrap();
        set_mode(&folder, mode);
        let path = folder.join("test.lock");
        let (told, sentence) = tried_as(NOBODY, NOBODY, &path);
        assert_eq!(told, TURNLOCK_ERROR_PERMISSION, "{name}: {sentence}");
        assert!(
            sentence.contains(path.to_str().unwrap()) && sentence.contains("no permission to"),
            "{sentence}"
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
}

#[test]
fn a_full_disk_is_an_error_and_not_a_crash_later() {
    let place = Place::new();
    in_private_mounts(|| {
        mount_memory(place.folder(), 128 << 10)?;
        let path = place.lock_file();
        let words = &["no room for", "fewer participants or locks"];
        told(LockFile::options().participants(4096).open(&path), &path, TURNLOCK_ERROR_NO_SPACE, words);
        assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 0, "nothing is left of it");
        // What was taken is given back, so that a smaller one fits: as many locks as there is room for, of those that it
        // could have.
        let small = LockFile::options().participants(128).locks(4096).open(&path).unwrap();
        small.mutex("0").unwrap().lock().unwrap().unlock().unwrap();
        let named = (1..64).take_while(|name| match small.mutex(&name.to_string()) {
            Ok(mutex) => mutex.lock().unwrap().unlock().is_ok(),
            Err(error) => {
                told(Err::<(), _>(error), &path, TURNLOCK_ERROR_NO_SPACE, words);
                false
            }
        });
        let named = named.count() + 1;
        assert!((2..20).contains(&named), "{named} locks");
        assert_eq!(inspect::snapshot(&path).unwrap().locks.len(), named);
        // Those that are there go on, and so does one that needs no more room.
        elsewhere(|| small.mutex("0").unwrap().lock().map(drop)).unwrap();
        Ok(())
    });
}

#[test]
fn a_read_only_file_system_is_an_error() {
    let place = Place::new();
    in_private_mounts(|| {
        mount_memory(place.folder(), 4 << 20)?;
        let (there, absent) = (place.at("there.lock"), place.at("absent.lock"));
        LockFile::open(&there).unwrap();
        make_read_only(place.folder());
        for path in [there, absent] {
            told(LockFile::open(&path), &path, TURNLOCK_ERROR_FILESYSTEM, &["read-only file system"]);
        }
        Ok(())
    });
}

#[test]
fn a_file_system_in_user_space_is_refused() {
    let place = Place::new();
    in_private_mounts(|| {
        let path = place.lock_file();
        fs::write(&path, "").unwrap();
        let _mounted = UserSpaceFile::mount_at(&path)?;
        refused(&path, TURNLOCK_ERROR_FILESYSTEM, &["FUSE", "put it on a local one"]);
        Ok(())
    });
}
