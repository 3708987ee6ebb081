//! What only the C ABI's file handles can be asked; and locks of a file that is opened by its descriptor.

use crate::{
    c::{AtMutex, BakeryByThreads, at_lock},
    c_functions::Functions,
    c_handles::{Owned, file_options, last_message, opened},
    rust::descriptor_of,
    way::Way,
};
use std::{ffi::CString, fs::File, os::fd::AsRawFd, path::Path, ptr, sync::Arc};
use support::Place;
use turnlock::{capi::*, status::*};

pub fn open_descriptor(file: &File, participants: u32, locks: u32) -> Result<Owned<turnlock_file>, i32> {
    let options = file_options(participants, locks);
    // SAFETY: an options struct of the right size, and a place for the handle.
    opened(turnlock_file_close, |handle| unsafe {
        turnlock_file_open_descriptor(file.as_raw_fd(), &options, handle)
    })
}

/// The bakery through the C ABI, by threads, in a file that is opened by its descriptor.
pub struct BakeryByDescriptor(Arc<Owned<turnlock_file>>);

impl Way for BakeryByDescriptor {
    type Party = AtMutex;
    type ByThreads = BakeryByThreads;

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        Ok(Self(Arc::new(open_descriptor(&descriptor_of(path), participants, locks)?)))
    }

    fn party(&self, name: &str) -> Result<AtMutex, i32> {
        at_lock(&self.0, name)
    }

    fn party_where_death_releases(&self, name: &str) -> Result<AtMutex, i32> {
        turnlock_mutex::CREATE_RELEASING(&self.0, &CString::new(name).unwrap())?;
        self.party(name)
    }
}

pub fn a_descriptor_that_is_none_is_an_invalid_argument() {
    let mut file = ptr::null_mut();
    for none in [-1, -2, i32::MIN, i32::MAX] {
        // SAFETY: no options, and a place for the handle.
        let status = unsafe { turnlock_file_open_descriptor(none, ptr::null(), &mut file) };
        assert_eq!((status, file), (TURNLOCK_ERROR_INVALID_ARGUMENT, ptr::null_mut()), "{none}");
        assert!(last_message().contains("descriptor"), "{}", last_message());
    }
    let place = Place::new();
    drop(crate::rust::open(&place.lock_file(), 1, 1).unwrap());
    let to_look_at = File::open(place.lock_file()).unwrap();
    assert_eq!(open_descriptor(&to_look_at, 0, 0).err(), Some(TURNLOCK_ERROR_INVALID_ARGUMENT));
    assert!(last_message().contains("not open for reading and writing"), "{}", last_message());
}
