//! Paths at which something else lies than a sound lock file of this format.

use crate::witness::{refused, sound_file, told};
use nix::{sys::stat::Mode, unistd::mkfifo};
use std::{
    fs::{self, OpenOptions},
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
};
use support::{
    Place,
    format::{self, poke, poke_u32, poke_u64, renew_checksum},
};
use turnlock::{LockFile, status::*};

#[test]
fn a_directory_is_refused() {
    let place = Place::new();
    fs::create_dir(place.at("folder")).unwrap();
    for path in ["folder", "folder/", "folder/."] {
        let words = &["a directory", "give the path of a lock file"];
        told(LockFile::open(place.at(path)), &place.at("folder"), TURNLOCK_ERROR_NOT_A_LOCK_FILE, words);
    }
    refused(&place.at("folder"), TURNLOCK_ERROR_NOT_A_LOCK_FILE, &[]);
}

#[test]
fn a_symbolic_link_is_not_followed_wherever_it_leads() {
    let place = Place::new();
    let sound = sound_file(&place);
    for (name, target) in
        [("to sound", sound.clone()), ("dangling", place.at("nothing")), ("loop", place.at("loop"))]
    {
        symlink(target, place.at(name)).unwrap();
        let words = &["symbolic link", "give the path it points to"];
        refused(&place.at(name), TURNLOCK_ERROR_NOT_A_LOCK_FILE, words);
    }
    assert!(!place.at("nothing").exists());
    // A folder on the way may be one.
    symlink(place.folder(), place.at("folder")).unwrap();
    LockFile::open(place.at("folder/test.lock")).unwrap().existing_mutex("a").unwrap();
}

#[test]
fn a_fifo_a_socket_and_a_device_are_refused_at_once() {
    let place = Place::new();
    mkfifo(&place.at("fifo"), Mode::S_IRWXU).unwrap();
    let _socket = UnixListener::bind(place.at("socket")).unwrap();
    for path in [place.at("fifo"), place.at("socket")] {
        refused(&path, TURNLOCK_ERROR_NOT_A_LOCK_FILE, &["not a regular file", "give another path"]);
    }
    for device in ["/dev/null", "/dev/zero"] {
        told(
            LockFile::open(device),
            Path::new(device),
            TURNLOCK_ERROR_NOT_A_LOCK_FILE,
            &["not a regular file"],
        );
    }
}

#[test]
fn a_file_of_something_else_is_refused() {
    let place = Place::new();
    let long = "#!/bin/sh\n".repeat(10_000);
    for (name, bytes, mode) in [
        ("script", long.as_str(), 0o700),
        (
            "text",
            "turnkey and more of it, and more, until \
            it is long enough to have been a header",
            0o600,
        ),
        ("read-only", &long, 0o400),
    ] {
        fs::write(place.at(name), bytes).unwrap();
        fs::set_permissions(place.at(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    // A user who is not root cannot open a read-only file, which is another refusal.
    let root = nix::unistd::geteuid().is_root();
    for name in ["script", "text"].into_iter().chain(root.then_some("read-only")) {
        let words = &["not a turnlock file", "give another path"];
        refused(&place.at(name), TURNLOCK_ERROR_NOT_A_LOCK_FILE, words);
    }
}

#[test]
fn an_empty_file_is_refused_and_not_filled() {
    let place = Place::new();
    fs::write(place.lock_file(), "").unwrap();
    fs::set_permissions(place.lock_file(), fs::Permissions::from_mode(0o600)).unwrap();
    refused(&place.lock_file(), TURNLOCK_ERROR_NOT_A_LOCK_FILE, &["empty file", "delete it"]);
}

#[test]
fn a_truncated_or_grown_lock_file_is_refused() {
    let place = Place::new();
    let path = sound_file(&place);
    let (sound, size) = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().len());
    for length in [1, 7, 8, 40, 63, 64, 127, 4095, 4096, 5000, size - 1, size + 1, size + 4096] {
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();
        let length = length.to_string();
        if file.metadata().unwrap().len() < 64 {
            refused(&path, TURNLOCK_ERROR_NOT_A_LOCK_FILE, &[&length, "not a turnlock file", "delete it"]);
        } else {
            let should_be = format!("should be {size}");
            refused(
                &path,
                TURNLOCK_ERROR_DAMAGED,
                &[&length, &should_be, "delete it and let it be created anew"],
            );
        }
        fs::write(&path, &sound).unwrap();
    }
    LockFile::open(&path).unwrap();
}

#[test]
fn another_format_version_is_refused_and_named() {
    let place = Place::new();
    let path = sound_file(&place);
    for (major, minor) in [(12, 0), (10, 0), (9, 0), (8, 0), (5, 0), (1, 9), (999, 1)] {
        poke(&path, format::VERSION_MAJOR, &u16::to_le_bytes(major));
        poke(&path, format::VERSION_MINOR, &u16::to_le_bytes(minor));
        renew_checksum(&path);
        let theirs = format!("version {major}.{minor}");
        refused(
            &path,
            TURNLOCK_ERROR_VERSION,
            &[&theirs, "version 11.x", "use the turnlock that created it"],
        );
    }
}

#[test]
fn a_larger_minor_version_is_read() {
    let place = Place::new();
    let path = sound_file(&place);
    poke(&path, format::VERSION_MINOR, &7u16.to_le_bytes());
    renew_checksum(&path);
    LockFile::open(&path).unwrap().existing_mutex("a").unwrap().try_lock().unwrap().unlock().unwrap();
}

#[test]
fn another_layout_is_refused() {
    let place = Place::new();
    let path = sound_file(&place);
    poke_u64(&path, format::FINGERPRINT, 0x1234_5678_9abc_def0);
    renew_checksum(&path);
    let words = &["0x123456789abcdef0", "use the turnlock that created it"];
    refused(&path, TURNLOCK_ERROR_VERSION, words);
}

#[test]
fn the_other_byte_order_is_refused_and_named() {
    let place = Place::new();
    let path = sound_file(&place);
    // Number by number, as the other machine would have written them.
    let numbers = [(8, 2), (10, 2), (12, 4), (16, 8), (24, 4), (28, 4), (32, 8), (40, 8), (48, 8), (56, 8)];
    let mut header = fs::read(&path).unwrap();
    for (at, bytes) in numbers {
        header[at..at + bytes].reverse();
    }
    poke(&path, 0, &header[..64]);
    refused(&path, TURNLOCK_ERROR_VERSION, &["other byte order", "delete it while no process uses it"]);
}

#[test]
fn every_flipped_bit_of_the_header_is_noticed() {
    let place = Place::new();
    let path = sound_file(&place);
    let sound = fs::read(&path).unwrap();
    for byte in 0..64 {
        for flip in [1, 0x80, 0xff] {
            poke(&path, byte, &[sound[byte as usize] ^ flip]);
            let status = if byte < 8 { TURNLOCK_ERROR_NOT_A_LOCK_FILE } else { TURNLOCK_ERROR_DAMAGED };
            refused(&path, status, &[]);
            poke(&path, byte, &[sound[byte as usize]]);
        }
    }
    LockFile::open(&path).unwrap();
}

#[test]
fn impossible_numbers_are_refused_even_where_the_checksum_is_right() {
    let place = Place::new();
    let path = sound_file(&place);
    let sound = fs::read(&path).unwrap();
    for (at, number) in [
        (format::PARTICIPANTS, 0),
        (format::PARTICIPANTS, 4097),
        (format::PARTICIPANTS, u32::MAX),
        (format::PARTICIPANTS, 3),
        (format::LOCKS, 0),
        (format::LOCKS, 4097),
        (format::LOCKS, 4),
        (format::BYTE_ORDER, 0),
    ] {
        poke_u32(&path, at, number);
        renew_checksum(&path);
        refused(&path, TURNLOCK_ERROR_DAMAGED, &["delete it and let it be created anew"]);
        poke(&path, 0, &sound);
    }
    poke_u64(&path, format::INCARNATION, 0);
    renew_checksum(&path);
    refused(&path, TURNLOCK_ERROR_DAMAGED, &["incarnation"]);
}

#[test]
fn a_lock_file_that_everyone_may_open_is_refused() {
    let place = Place::new();
    let path = sound_file(&place);
    for mode in [0o604, 0o602, 0o601, 0o666, 0o777] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let before = crate::witness::Witness::of(&path);
        let words = &["everyone", &format!("{mode:o}"), "chmod o="];
        told(LockFile::open(&path), &path, TURNLOCK_ERROR_PERMISSION, words);
        assert_eq!(crate::witness::Witness::of(&path), before);
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
    LockFile::open(&path).unwrap();
}

#[test]
fn a_path_without_a_folder_or_a_name_is_refused() {
    let place = Place::new();
    let nowhere = place.at("missing/test.lock");
    told(
        LockFile::open(&nowhere),
        &nowhere,
        TURNLOCK_ERROR_NOT_FOUND,
        &["does not exist", "create it first"],
    );
    fs::write(place.at("file"), "").unwrap();
    assert!(LockFile::open(place.at("file/test.lock")).is_err());
    for nameless in ["", "/", "..", "/tmp/.."] {
        let error = LockFile::open(nameless).map(drop).unwrap_err();
        assert_eq!(error.code(), TURNLOCK_ERROR_INVALID_ARGUMENT);
        assert!(error.to_string().contains("give the path of a lock file"), "{error}");
    }
    let too_long = place.at(&"x".repeat(256));
    told(LockFile::open(&too_long), &too_long, TURNLOCK_ERROR_SYSTEM, &["too long"]);
    let absent = place.at("absent");
    let must_exist = LockFile::options().must_exist(true).open(&absent);
    told(must_exist, &absent, TURNLOCK_ERROR_NOT_FOUND, &["does not exist"]);
    assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 1, "nothing was created");
}

#[test]
fn options_out_of_range_are_refused_before_anything_is_created() {
    let place = Place::new();
    let path = place.lock_file();
    let refuse = |options: &turnlock::LockFileOptions, words: &[&str]| {
        let error = options.open(&path).map(drop).unwrap_err();
        assert_eq!(error.code(), TURNLOCK_ERROR_INVALID_ARGUMENT);
        assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
        assert!(!path.exists());
    };
    for (participants, locks) in [(4097, 1), (1, 4097), (u32::MAX, u32::MAX)] {
        let words = [participants.to_string(), locks.to_string(), "1 to 4096".into()];
        refuse(
            LockFile::options().participants(participants).locks(locks),
            &words.each_ref().map(String::as_str),
        );
    }
    for mode in [0o604, 0o400, 0o066, 0o1600, 0o4600, 0o601, 0] {
        refuse(LockFile::options().mode(mode), &["mode", "others must not"]);
    }
    for (participants, locks) in [(1, 1), (4096, 1), (4096, 4096)] {
        let file = LockFile::options().participants(participants).locks(locks).open(&path).unwrap();
        assert_eq!((file.participants(), file.locks()), (participants, locks));
        drop(file);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_file_that_is_too_small_for_what_was_asked_is_refused() {
    let place = Place::new();
    let path = sound_file(&place);
    for (participants, locks, words) in [
        (5, 0, ["room for 4 participants", "5 were asked for"]),
        (0, 4, ["room for 3 locks", "4 were asked for"]),
        (4096, 4096, ["room for 4 participants", "4096 were asked for"]),
    ] {
        let opened = LockFile::options().participants(participants).locks(locks).open(&path);
        told(opened, &path, TURNLOCK_ERROR_FILE_TOO_SMALL, &words);
    }
    for (participants, locks) in [(0, 0), (4, 3), (1, 1)] {
        let file = LockFile::options().participants(participants).locks(locks).open(&path).unwrap();
        assert_eq!((file.participants(), file.locks()), (4, 3));
    }
}
