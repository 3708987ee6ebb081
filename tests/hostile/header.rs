//! The header, bit by bit in a file that no process has open, and byte by byte in one that is in use.

use crate::{
    scene::Scene,
    watch::{AT_ONCE, Watch},
};
use std::{fs, time::Duration};
use support::{NoHang, Place, elsewhere, format::poke};
use turnlock::{LockFile, inspect, status::*};

/// The bytes that never change.
const CONSTANT: u64 = 64;
const PAGE: u64 = 4096;
const LIMIT: Duration = Duration::from_millis(1);

#[test]
fn every_bit_of_the_constant_header_flipped_is_a_clean_error_and_the_file_stays_as_it_is() {
    let place = Place::new();
    let path = place.lock_file();
    LockFile::options().participants(3).locks(2).open(&path).unwrap().mutex("a").unwrap();
    let sound = fs::read(&path).unwrap();
    for bit in 0..CONSTANT * 8 {
        let (byte, mask) = ((bit / 8) as usize, 1 << (bit % 8));
        poke(&path, byte as u64, &[sound[byte] ^ mask]);
        let bad = fs::read(&path).unwrap();
        let opened = LockFile::options().participants(3).locks(2).open(&path).map(drop);
        for refused in [opened, inspect::snapshot(&path).map(drop)] {
            let code = refused.map_or_else(|error| error.code(), |()| panic!("bit {bit} was not noticed"));
            let clean = [TURNLOCK_ERROR_NOT_A_LOCK_FILE, TURNLOCK_ERROR_VERSION, TURNLOCK_ERROR_DAMAGED]
                .contains(&code);
            assert!(clean, "bit {bit}: {code}");
        }
        assert!(fs::read(&path).unwrap() == bad, "bit {bit}: the file was changed");
        poke(&path, 0, &sound);
    }
    LockFile::open(&path).unwrap();
}

#[test]
fn every_other_byte_of_the_header_page_flipped_keeps_a_file_that_can_be_used() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    LockFile::options().participants(3).locks(2).open(&path).unwrap().mutex("a").unwrap();
    let sound = fs::read(&path).unwrap();
    // Behind what is in use, one byte of each word stands for the others.
    for byte in (CONSTANT..256).chain((256..PAGE).step_by(8)) {
        poke(&path, byte, &[!sound[byte as usize]]);
        // On a thread of its own, whose end is that of the slot.
        elsewhere(|| {
            inspect::snapshot(&path).unwrap();
            let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
            mutex.try_lock().unwrap().unlock().unwrap();
        });
        poke(&path, 0, &sound);
    }
}

#[test]
fn every_byte_of_the_header_page_flipped_while_it_is_in_use_leaves_every_call_returning() {
    let _no_hang = NoHang::for_seconds(60);
    let scene = Scene::set();
    let Scene { path, file, mutex, other, .. } = &scene;
    let mut watch = Watch::default();
    for byte in 0..PAGE {
        let held = mutex.try_lock_as(other).unwrap();
        scene.poke_byte(byte, !(scene.was(byte & !7) >> (byte % 8 * 8)) as u8);
        let _ = watch.call("try_lock", AT_ONCE, || mutex.try_lock().map(drop));
        // What is not in use is asked about more rarely.
        if byte < 320 || byte % 64 == 0 {
            let _ = watch.call("lock_for", LIMIT, || mutex.lock_for(LIMIT).map(drop));
            let _ = watch.call("status", AT_ONCE, || inspect::snapshot(path));
            let _ = watch.call("open", AT_ONCE, || LockFile::open(path));
            let _ = watch.call("participant", AT_ONCE, || file.participant());
        }
        let _ = watch.call("unlock", AT_ONCE, || held.unlock());
        let _ = watch.call("reset_for", LIMIT, || mutex.reset_for(LIMIT));
        scene.restore();
    }
    println!("{PAGE} bytes: {watch}");
    mutex.try_lock().unwrap().unlock().unwrap();
}
