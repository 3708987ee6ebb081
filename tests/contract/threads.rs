//! What threads have in common with themselves: one slot in each file.

use crate::{
    stage::Stage,
    way::{Held, Party, Wait, Way},
};
use turnlock::status::*;

pub fn two_handles_of_one_file_share_the_threads_slot<W: Way>() {
    let stage = Stage::<W>::new();
    let folder = stage.place.folder();
    std::os::unix::fs::symlink(folder, stage.place.at("itself")).unwrap();
    std::fs::hard_link(stage.path(), stage.place.at("other.lock")).unwrap();
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    for path in [
        stage.path(),
        folder.join("itself/test.lock"),
        folder.join("itself/../").join(folder.file_name().unwrap()).join("test.lock"),
        stage.place.at("other.lock"),
    ] {
        let same_file = W::open(&path, 0, 0).unwrap();
        let same_lock = same_file.party("a").unwrap();
        assert_eq!(same_lock.lock(Wait::Forever).err(), Some(TURNLOCK_ERROR_DEADLOCK), "{}", path.display());
    }
    assert_eq!(turnlock::inspect::snapshot(stage.path()).unwrap().participants.len(), 1);
    held.unlock().unwrap();
}

pub fn locks_of_one_name_in_two_files_are_two_locks<W: Way>() {
    let (here, there) = (Stage::<W>::new(), Stage::<W>::new());
    let (party_here, party_there) = (here.party("a"), there.party("a"));
    let held_here = party_here.lock(Wait::Never).unwrap();
    let held_there = party_there.lock(Wait::Never).unwrap();
    held_here.unlock().unwrap();
    here.somebody_else_can_take("a");
    assert_eq!(there.somebody_else_is_told("a", Wait::Never), Some(TURNLOCK_ERROR_WOULD_BLOCK));
    held_there.unlock().unwrap();
}
