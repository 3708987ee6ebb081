//! Victims that open the file. No other participant has it open meanwhile.

use super::dies_inside;
use crate::{
    arena::Debt,
    oracle::{Stage, nothing_else_lies_here, options, the_living_go_on},
    tracee::{begin, end},
    trial::Trial,
};
use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt, sync::atomic::Ordering::SeqCst};
use support::format;
use turnlock::inspect;

pub fn creates(trial: &Trial) {
    its_life_is_to_open(trial);
    remove_what_only_a_poor_file_system_leaves(trial);
    nothing_else_lies_here(trial);
    let path = trial.lock_file();
    if path.exists() {
        inspect::snapshot(&path).expect("a file that has its name is whole");
    }
    the_living_go_on(trial, Stage::new(trial));
}

/// Of an empty file, by a descriptor of it: a death half-way leaves one that the next one begins again.
pub fn makes(trial: &Trial) {
    let path = trial.lock_file();
    let given = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    let mut victim = trial.victim(|| {
        // Numbers of two digits from here on, whatever the trial has open: one that is written has the same way then.
        let below_ten: Vec<_> = (0..10).map(|_| given.try_clone().unwrap()).collect();
        let given = given.try_clone().unwrap();
        begin();
        let _file = options().open_descriptor(&given).unwrap();
        std::mem::forget(below_ten);
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();
    let made = inspect::snapshot(&path).is_ok();
    assert!(made || trial.arena.ended.load(SeqCst) == 0, "it was made, and is no lock file");
    drop(options().open_descriptor(&given).unwrap());
    the_living_go_on(trial, Stage::new(trial));
}

pub fn opens(trial: &Trial) {
    trial.bystander(|| drop(Stage::new(trial))).join();
    its_life_is_to_open(trial);
    the_living_go_on(trial, Stage::new(trial));
}

pub fn clears_after_a_boot(trial: &Trial) {
    trial.dead_one(|| dies_inside(trial.arena, &Stage::new(trial)));
    trial.arena.owes(Debt::Owed);
    format::poke(&trial.lock_file(), format::BOOT_ID, &[0xb0; 16]);
    its_life_is_to_open(trial);
    the_living_go_on(trial, Stage::new(trial));
}

fn its_life_is_to_open(trial: &Trial) {
    let path = trial.lock_file();
    let mut victim = trial.victim(|| {
        begin();
        let _file = options().open(&path).unwrap();
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();
}

/// Where a file cannot be made without a name, a death leaves one behind; it is in no participant's way.
fn remove_what_only_a_poor_file_system_leaves(trial: &Trial) {
    let nameless = OpenOptions::new().write(true).custom_flags(libc::O_TMPFILE).open(&trial.folder);
    if nameless.is_err() {
        for entry in std::fs::read_dir(&trial.folder).unwrap().map(Result::unwrap) {
            if entry.file_name().to_string_lossy().starts_with(".turnlock-") {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }
}
