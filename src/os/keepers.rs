//! The processes that have a byte lock by an open descriptor, as /proc shows them: for people to read, never to decide.

use super::{identity::Identity, liveness_lock};
use std::{ffi::OsStr, fs, path::Path};

/// Returns the processes that keep a slot of this file by a descriptor of theirs: those that inherited a descriptor share its
/// lock. None where /proc does not show them: processes of another user, or of a namespace that is not seen from here.
pub fn keepers_of(file: Identity, slot: usize) -> Vec<u32> {
    holders_of(file, liveness_lock::slot_byte(slot))
}

fn holders_of(file: Identity, byte: u64) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut holders: Vec<u32> = pids.filter(|pid| has_lock(*pid, file, byte)).collect();
    holders.sort_unstable();
    holders
}

/// Returns whether one of the process's descriptors has the lock.
fn has_lock(pid: u32, file: Identity, byte: u64) -> bool {
    let mut descriptors = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    descriptors.any(|entry| {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let is_it = |lock: (u64, u64, u64)| lock.0 == file.inode() && lock.1 <= byte && byte <= lock.2;
        text.lines().filter_map(lock_in).any(is_it) && is_of(pid, &entry.file_name(), file)
    })
}

/// Returns whether a process's descriptor is of this file. The device that /proc/PID/fdinfo names is not the one that stat(2) does on
/// every file system.
fn is_of(pid: u32, descriptor: &OsStr, file: Identity) -> bool {
    let path = Path::new("/proc").join(pid.to_string()).join("fd").join(descriptor);
    fs::metadata(path).is_ok_and(|metadata| Identity::of_metadata(&metadata) == file)
}

/// Reads a line of /proc/PID/fdinfo/FD (proc(5)): "lock:\t1: OFDLCK ADVISORY  WRITE -1 00:1f:1234 0 EOF". Returns the inode number,
/// the first byte and the last.
fn lock_in(line: &str) -> Option<(u64, u64, u64)> {
    let mut words =
        line.strip_prefix("lock:")?.split_whitespace().skip_while(|word| *word != "OFDLCK").skip(4);
    let (_, inode) = words.next()?.rsplit_once(':')?;
    let first = words.next()?.parse().ok()?;
    let last = match words.next()? {
        "EOF" => u64::MAX,
        last => last.parse().ok()?,
    };
    Some((inode.parse().ok()?, first, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::{byte_lock, identity};

    #[test]
    fn a_process_with_a_byte_lock_by_a_descriptor_is_found() {
        let file = tempfile::tempfile().unwrap();
        let named = identity::of(&file, Path::new("a file")).unwrap();
        assert!(holders_of(named, 7).is_empty());
        assert!(byte_lock::try_lock(&file, 5..8).unwrap());
        assert_eq!(holders_of(named, 7), [std::process::id()]);
        // Each tmpfs has inode numbers of its own, from the first on.
        assert_eq!((holders_of(named, 8), holders_of(named.elsewhere(), 7)), (vec![], vec![]));
    }

    #[test]
    fn lines_of_other_locks_and_of_no_lock_are_none() {
        assert_eq!(
            lock_in("lock:\t1: OFDLCK ADVISORY  WRITE -1 00:1f:1234 0 EOF"),
            Some((1234, 0, u64::MAX))
        );
        assert_eq!(lock_in("lock:\t1: POSIX  ADVISORY  WRITE 4711 00:1f:1234 0 EOF"), None);
        assert_eq!(lock_in("flags:\t0100002"), None);
    }
}
