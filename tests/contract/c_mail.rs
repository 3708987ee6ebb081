//! Mutexes by messages through the C ABI, by holds.

use crate::{
    c::{AtMutex, at_lock_opened_by},
    c_handles::{Owned, file_options, open_file_with, open_hold, opened, sized},
    rust::{BakeryByThreads, Make, asks_for_its_place, is_served_as_shown},
    way::Way,
};
use std::{
    ffi::{CStr, CString},
    marker::PhantomData,
    path::Path,
    sync::Arc,
};
use turnlock::capi::*;

/// A mutex by messages through the C ABI, by holds.
pub struct ByHolds<M>(Arc<Owned<turnlock_file>>, PhantomData<fn() -> M>);

/// A file with mailboxes for as many participants as can have some.
fn open<M: Make>(path: &Path, participants: u32, locks: u32) -> Result<Arc<Owned<turnlock_file>>, i32> {
    assert_ne!(M::ALGORITHM_IN_C, 0, "it is none of those by messages");
    let mut options = file_options(participants, locks);
    options.mailboxes = participants.min(16);
    open_file_with(path, &options).map(Arc::new)
}

fn open_mutex<M: Make>(file: &Owned<turnlock_file>, name: &CStr) -> Result<Owned<turnlock_mutex>, i32> {
    open_mutex_with::<M>(file, name, 0)
}

fn open_mutex_with<M: Make>(
    file: &Owned<turnlock_file>,
    name: &CStr,
    flags: u32,
) -> Result<Owned<turnlock_mutex>, i32> {
    let options = turnlock_mutex_options { algorithm: M::ALGORITHM_IN_C, flags, ..sized() };
    // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
    opened(turnlock_mutex_close, |mutex| unsafe {
        turnlock_mutex_open(file.handle, name.as_ptr(), &options, mutex)
    })
}

fn create_releasing<M: Make>(file: &Owned<turnlock_file>, name: &str) -> Result<(), i32> {
    open_mutex_with::<M>(file, &CString::new(name).unwrap(), TURNLOCK_MUTEX_RELEASE_ON_DEATH).map(drop)
}

impl<M: Make> Way for ByHolds<M> {
    type Party = AtMutex;
    type ByThreads = BakeryByThreads<M>;
    const ROUNDS: u64 = M::ROUNDS;
    const AS_SHOWN: bool = is_served_as_shown::<M>();
    const ASKS_FOR_ITS_PLACE: bool = asks_for_its_place::<M>();

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        Ok(Self(open::<M>(path, participants, locks)?, PhantomData))
    }

    fn party(&self, name: &str) -> Result<AtMutex, i32> {
        let at = at_lock_opened_by(open_mutex::<M>, &self.0, name)?;
        Ok(AtMutex { hold: Some(Arc::new(open_hold(&self.0)?)), ..at })
    }

    fn party_where_death_releases(&self, name: &str) -> Result<AtMutex, i32> {
        create_releasing::<M>(&self.0, name)?;
        self.party(name)
    }
}
