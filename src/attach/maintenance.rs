//! Maintenance of a whole file without participants: making it larger, deleting it.
//!
//! It is done with every slot's byte lock. A newcomer that comes first has its byte lock, and the file is in use; one that
//! comes later gets a slot only afterwards, finds that the path names another file or none, and opens it anew.
//!
//! The larger file is a new one: what the old one holds is copied to where the larger has it ([`Geometry::moved_into`]), and
//! cleared as after a boot, since no participant is left. The old one is not written to before its name is gone.

use super::{new_file, open_file::OpenFile};
use crate::layout::{Fences, Geometry, SlotState, View};
use crate::os::{
    clock,
    file::{self, Access},
    folder::Folder,
    identity,
    liveness_lock::{self, Alone, Probe, Seen},
    map::Mapping,
    process, replace,
};
use crate::recovery;
use std::{fmt::Write, fs::File, io, os::fd::AsFd, path::Path, time::Duration};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::Ordering::{Acquire, Relaxed};

/// How often to look while another process clears the file, or is about to take a slot.
const LOOKS: u32 = 2_000;
const BETWEEN_THEM: Duration = Duration::from_millis(1);
/// How many participants an error names.
const NAMED: usize = 8;

impl OpenFile {
    /// Puts a file of the shape `larger` in this one's place, which holds what this one holds.
    ///
    /// # Errors
    /// [`Error::InUse`] if there are participants; [`Error::Replaced`] if the path names another file by now.
    pub fn grow(&self, larger: Geometry) -> Result<()> {
        let path = self.reopen().path();
        // Once: from here on it is this folder, whatever its path leads to.
        let folder = folder_of(&path)?;
        let old = self.by_its_path(&path)?;
        if links(&old, &path)? > 1 {
            return Err(Error::InUse {
                path,
                why: "it has more than one name, and by the other ones its users would go on in the old file: remove those \
                      first"
                    .into(),
            });
        }
        self.while_nobody_takes_part(|| {
            let view = self.view();
            let (locks, slots) = (view.locks_bound(), view.slots_bound());
            let fences = match Fences::of(view.header().sole_process.load(Relaxed)) {
                Fences::Full => Fences::Full,
                Fences::Undecided | Fences::Changing | Fences::PrivateTo(_) => Fences::Undecided,
            };
            let mut parts = larger.bytes_of_new();
            parts.extend([larger.bytes_of_entries(0..locks), larger.bytes_of_slots(0..slots)]);
            parts.extend((1..=locks).map(|region| larger.bytes_of_region(region)));
            let by_messages: Vec<usize> =
                (1..=locks).filter(|region| recovery::mail_of(view, *region).is_some()).collect();
            parts.extend(by_messages.iter().map(|region| larger.bytes_of_mail(*region)));
            // Of a file that was not used yet.
            parts.retain(|part| !part.is_empty());
            let fill = |new: &File| {
                new_file::fill(new, &path, larger)?;
                let mail =
                    by_messages.iter().filter_map(|region| self.geometry().mail_moved_into(larger, *region));
                for moved in self.geometry().moved_into(larger, locks, slots).chain(mail) {
                    replace::copy(&old, moved.from, new, moved.to)?;
                }
                clear(new, &path, larger, fences)
            };
            let still_there = || match folder.has(&path, self.reopen().identity()) {
                true => Ok(()),
                false => Err(Error::Replaced { path: path.clone() }),
            };
            replace::replace_whole(&folder, &path, &old, larger.file_size(), &parts, fill, still_there)?;
            self.say_unlinked();
            Ok(())
        })
    }

    /// Deletes the file.
    ///
    /// # Errors
    /// As [`OpenFile::grow`].
    pub fn remove(&self) -> Result<()> {
        let path = self.reopen().path();
        // Once: from here on it is this folder, whatever its path leads to.
        let folder = folder_of(&path)?;
        let old = self.by_its_path(&path)?;
        self.while_nobody_takes_part(|| {
            if !folder.has(&path, self.reopen().identity()) {
                return Err(Error::Replaced { path: path.clone() });
            }
            folder.unlink(&path).map_err(io::Error::from).map_err(|source| match source.kind() {
                io::ErrorKind::PermissionDenied => Error::Permission {
                    path: path.clone(),
                    why: "no permission to delete it: its folder must be yours to write, and where that has the sticky bit \
                          (/tmp, /dev/shm) the file must be yours"
                        .into(),
                },
                _ => Error::System { what: format!("{}: deleting it", path.display()), source },
            })?;
            if links(&old, &path)? == 0 {
                self.say_unlinked();
            }
            Ok(())
        })
    }

    /// Returns the file, opened once more by its path.
    fn by_its_path(&self, path: &Path) -> Result<File> {
        let opened = file::open_existing(path, Access::Read)?;
        match self.reopen().is_of(opened.as_fd()) {
            true => Ok(opened),
            false => Err(Error::Replaced { path: path.into() }),
        }
    }

    /// Runs `act` with every slot's byte lock.
    fn while_nobody_takes_part(&self, act: impl FnOnce() -> Result<()>) -> Result<()> {
        let slots = 0..self.geometry().participants() as usize;
        let (mut act, mut done) = (Some(act), None);
        for _ in 0..LOOKS {
            let alone = liveness_lock::alone(self.reopen(), slots.clone(), || {
                done = act.take().map(|act| act());
            })?;
            match alone {
                Alone::Done => return done.unwrap_or(Ok(())),
                Alone::SomebodyIsThere => return Err(self.in_use()),
                Alone::NotNow => std::thread::sleep(BETWEEN_THEM),
            }
        }
        Err(self.in_use())
    }

    /// Returns the error that names the participants.
    fn in_use(&self) -> Error {
        let (view, probe) = (self.view(), Probe::new(self.reopen(), 0));
        let taken = |slot: &usize| view.slots()[*slot].state.load(Acquire) != SlotState::Free as u32;
        let alive: Vec<usize> =
            (0..view.slots_bound()).filter(taken).filter(|slot| probe.look(*slot).0 != Seen::Dead).collect();
        let mut who = String::new();
        for (at, slot) in alive.iter().take(NAMED).enumerate() {
            let record = &view.slots()[*slot];
            let between = if at == 0 { "" } else { ", " };
            let _ = write!(who, "{between}{} (pid {})", record.label.get(), record.pid.load(Relaxed));
        }
        if alive.len() > NAMED {
            let _ = write!(who, " and {} more", alive.len() - NAMED);
        }
        if alive.is_empty() {
            who = "a participant that is just coming or going".into();
        }
        Error::InUse {
            path: self.reopen().path(),
            why: format!("it is in use, by {who}: end them first (`turnlock status --all` shows everyone)"),
        }
    }
}

/// Clears a copy as after a boot: it has no participants.
fn clear(new: &File, path: &Path, shape: Geometry, fences: Fences) -> io::Result<()> {
    let mapping = Mapping::read_write(new, shape.file_size(), path).map_err(io::Error::other)?;
    // SAFETY: mapped as long as the geometry says, at a page boundary, until the end of this function; the file has no
    // name yet.
    let view = unsafe { View::new(mapping.base(), &shape) };
    view.header().unlinked.store(0, Relaxed);
    recovery::renew_after_growth(view, fences, process::boot_id(), clock::realtime_ns());
    Ok(())
}

fn folder_of(path: &Path) -> Result<Folder> {
    Folder::of(path).map_err(|errno| Error::System {
        what: format!("{}: opening its folder", path.display()),
        source: errno.into(),
    })
}

fn links(file: &File, path: &Path) -> Result<u64> {
    use std::os::fd::AsRawFd;
    identity::look_at(file.as_raw_fd()).map(|known| known.links).ok_or_else(|| Error::System {
        what: format!("{}: fstat", path.display()),
        source: io::Error::last_os_error(),
    })
}
