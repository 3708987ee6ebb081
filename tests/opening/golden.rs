//! Format 11.0 stays what it is: a file made by its first version is read for ever, and what is made today differs from
//! it in nothing. Those of formats 1.0 to 10.0 are refused by their version, and left as they are.
//!
//! `TURNLOCK_BLESS=1 cargo test --test opening golden` writes the golden file anew: only for a new format version, and
//! then under a new name beside this one.

use crate::witness::refused;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use support::{
    Place,
    format::{self, Format, poke, poke_u32, poke_u64, renew_checksum, this_boot},
};
use turnlock::{
    LockFile,
    inspect::{self, Life},
    status::TURNLOCK_ERROR_VERSION,
};

const SHAPE: Format = Format { participants: 2, locks: 2 };
/// The last token that was given out: to the holder.
const TOKEN: u64 = (1_700_000_000 << 28) + 7;
const PID: u32 = 4242;
const THREAD: u32 = 4243;
const BOOT: [u8; 16] = *b"\x10\x32\x54\x76\x98\xba\xdc\xfe\x01\x23\x45\x67\x89\xab\xcd\xef";

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-11.0.lock")
}

/// A file with one lock, called `golden`, made by the library of today. Whatever differs from one file to the next is
/// written over by what stands in the golden file: a lock held, with the last token, by a participant in slot 1.
fn made_today(place: &Place) -> Vec<u8> {
    let path = place.at("today.lock");
    LockFile::options().participants(2).locks(2).open(&path).unwrap().mutex("golden").unwrap();
    poke_u64(&path, format::INCARNATION, 0x0123_4567_89ab_cdef);
    poke_u64(&path, format::CREATED, 1_700_000_000_000_000_000);
    renew_checksum(&path);
    poke(&path, format::BOOT_ID, &BOOT);
    poke_u32(&path, format::SLOTS_IN_USE, 2);
    poke_u32(&path, format::SLOTS_BOUND, 2);
    poke_u64(&path, format::SOLE_PROCESS, 0x7ea5_e5ed_0c0f_fee5);
    // Slot 0 named the lock and left; slot 1 is inside.
    poke(&path, SHAPE.slot(0), &[0; 256]);
    poke(&path, SHAPE.slot(1), &slot_of_the_holder());
    for region in 0..3 {
        poke_u64(&path, SHAPE.token(region), TOKEN);
        for slot in 0..2 {
            poke(&path, SHAPE.cell(region, slot), &[0; 128]);
        }
    }
    poke_u64(&path, SHAPE.first_token(1), TOKEN - 7);
    poke_u64(&path, SHAPE.number(1, 1), 2);
    poke_u64(&path, SHAPE.cell(1, 1), TOKEN);
    fs::read(&path).unwrap()
}

/// In use, kept by a mapping, in its first generation.
fn slot_of_the_holder() -> [u8; 256] {
    let mut slot = [0; 256];
    let mut put = |at: usize, bytes: &[u8]| slot[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &1u32.to_le_bytes());
    put(4, &1u32.to_le_bytes());
    put(8, &1u64.to_le_bytes());
    put(16, &PID.to_le_bytes());
    put(20, &THREAD.to_le_bytes());
    put(24, &4_026_531_836u64.to_le_bytes());
    put(32, &1_700_000_001_000_000_000u64.to_le_bytes());
    put(64, "the golden holder".as_bytes());
    put(128, "golden".as_bytes());
    slot
}

/// A copy of the golden file, to be written to.
fn copy(place: &Place) -> PathBuf {
    let path = place.lock_file();
    fs::copy(golden(), &path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

#[test]
fn what_is_made_today_is_the_golden_file_byte_for_byte() {
    let place = Place::new();
    let today = made_today(&place);
    if std::env::var_os("TURNLOCK_BLESS").is_some() {
        fs::write(golden(), &today).unwrap();
    }
    let golden = fs::read(golden()).unwrap();
    assert_eq!(today.len(), golden.len());
    let different = (0..today.len()).filter(|at| today[*at] != golden[*at]);
    assert_eq!(different.collect::<Vec<_>>(), [], "the bytes at which they differ: is it still format 11.0?");
}

#[test]
fn the_golden_file_is_read_as_it_was_meant() {
    let place = Place::new();
    let path = copy(&place);
    poke(&path, format::BOOT_ID, &this_boot());
    let status = inspect::snapshot(&path).unwrap();
    assert_eq!((status.format.as_str(), status.created_unix_seconds), ("11.0", 1_700_000_000));
    assert_eq!((status.participant_capacity, status.lock_capacity, status.of_this_boot), (2, 2, true));
    assert_eq!(status.fences, "membarrier", "one process has taken part");
    let [lock] = status.locks.as_slice() else { panic!("{status:?}") };
    assert_eq!(
        (lock.name.as_str(), lock.kind, lock.algorithm, lock.fencing_token),
        ("golden", "mutex", Some("bakery"), Some(TOKEN))
    );
    assert_eq!(lock.counters.acquisitions, 7);
    let holder = &lock.holders[0].participant;
    assert_eq!((holder.slot, holder.pid, holder.thread, holder.life), (1, PID, THREAD, Life::Dead));
    assert_eq!(
        (holder.label.as_str(), holder.program.as_str(), holder.kept_by),
        ("the golden holder", "golden", "mapping")
    );

    let mutex = LockFile::open(&path).unwrap().existing_mutex("golden").unwrap();
    let mut guard = mutex.try_lock().unwrap();
    assert_eq!(guard.fencing_token(), TOKEN + 1, "the line of tokens goes on");
    let dead = guard.previous_owner().unwrap();
    assert_eq!((dead.fencing_token, dead.pid, dead.thread), (TOKEN, PID, THREAD));
    assert_eq!(dead.label, "the golden holder");
    guard.mark_consistent().unwrap();
    guard.unlock().unwrap();
    assert_eq!(mutex.try_lock().unwrap().fencing_token(), TOKEN + 2);
}

#[test]
fn the_golden_file_of_another_boot_is_made_fit_for_this_one() {
    let place = Place::new();
    let path = copy(&place);
    assert!(!inspect::snapshot(&path).unwrap().of_this_boot);
    let mutex = LockFile::open(&path).unwrap().existing_mutex("golden").unwrap();
    let guard = mutex.try_lock().unwrap();
    assert_eq!(guard.previous_owner().unwrap().fencing_token, TOKEN);
    assert!(guard.fencing_token() > TOKEN + (1 << 40));
}

#[test]
fn a_file_of_an_older_format_is_refused_by_its_version() {
    for format in ["1.0", "2.0", "3.0", "4.0", "5.0", "6.0", "7.0", "8.0", "9.0", "10.0"] {
        let place = Place::new();
        let path = place.lock_file();
        fs::copy(golden().with_file_name(format!("format-{format}.lock")), &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let version = format!("version {format}");
        refused(
            &path,
            TURNLOCK_ERROR_VERSION,
            &[&version, "reads version 11.x", "delete it while no process uses it"],
        );
    }
}
