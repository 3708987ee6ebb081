//! The processes that have a byte lock by an open descriptor, as /proc shows them: for people to read, never to decide.

use super::liveness_lock;
use std::fs;

/// Returns the processes that keep a slot of the file with this inode number by a descriptor of theirs: those that inherited a
/// descriptor share its lock. None where /proc does not show them: processes of another user, or of a namespace that is not seen
/// from here.
pub fn keepers_of(inode: u64, slot: usize) -> Vec<u32> {
    holders_of(inode, liveness_lock::slot_byte(slot))
}

fn holders_of(inode: u64, byte: u64) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut holders: Vec<u32> = pids.filter(|pid| has_lock(*pid, inode, byte)).collect();
    holders.sort_unstable();
    holders
}

/// Returns whether one of the process's descriptors has the lock.
fn has_lock(pid: u32, inode: u64, byte: u64) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let mut texts = descriptors.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    texts.any(|text| {
        text.lines().filter_map(lock_in).any(|lock| lock.0 == inode && lock.1 <= byte && byte <= lock.2)
    })
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
    use crate::os::byte_lock;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_process_with_a_byte_lock_by_a_descriptor_is_found() {
        let file = tempfile::tempfile().unwrap();
        let inode = file.metadata().unwrap().ino();
        assert_eq!(holders_of(inode, 7), []);
        assert!(byte_lock::try_lock(&file, 5..8).unwrap());
        assert_eq!(holders_of(inode, 7), [std::process::id()]);
        assert_eq!((holders_of(inode, 8), holders_of(inode + 1, 7)), (vec![], vec![]));
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
