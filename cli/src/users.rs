//! Which processes use a file, of whatever format, as /proc shows them: for people to read, never to decide.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};
use turnlock::Error;

/// How many are named.
const NAMED: usize = 5;

/// Adds to the error for a file of another format whether a process uses it: that decides what can be done.
pub fn with_users(error: Error, path: &Path) -> Error {
    match error {
        Error::Version { path: named, why } => {
            let why = format!("{why}; {}", said_of(path));
            Error::Version { path: named, why }
        }
        error => error,
    }
}

fn said_of(path: &Path) -> String {
    let users = users_of(path);
    let named = users.iter().take(NAMED).map(|(pid, program)| format!("{program} (pid {pid})"));
    let named = named.collect::<Vec<_>>().join(", ");
    match users.len() {
        0 => {
            "no process uses it now, as far as /proc shows (processes of others are hidden from all but root)"
                .into()
        }
        1 => format!("{named} uses it now"),
        count if count > NAMED => format!("{count} processes use it now, among them {named}"),
        _ => format!("{named} use it now"),
    }
}

/// The processes that have mapped the file or have it open, with their programs' names.
fn users_of(path: &Path) -> BTreeMap<u32, String> {
    let (Ok(file), Ok(whole)) = (fs::metadata(path), path.canonicalize()) else { return BTreeMap::new() };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let others = pids.filter(|pid| *pid != std::process::id());
    let users =
        others.filter(|pid| has_mapped(*pid, file.ino(), &whole) || has_open(*pid, (file.dev(), file.ino())));
    users.map(|pid| (pid, program_of(pid))).collect()
}

/// Returns whether the process has mapped it. A line of /proc/PID/maps is "start-end perms offset device inode path", and the device
/// is not the one that stat(2) gives on every file system, so that the path is compared.
fn has_mapped(pid: u32, inode: u64, path: &Path) -> bool {
    let Ok(maps) = fs::read(format!("/proc/{pid}/maps")) else { return false };
    maps.split(|byte| *byte == b'\n').any(|line| {
        let mut words = line.splitn(6, |byte| *byte == b' ');
        let found = words.nth(4).and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        found == Some(inode)
            && words.next().is_some_and(|rest| rest.trim_ascii_start() == path.as_os_str().as_bytes())
    })
}

fn has_open(pid: u32, identity: (u64, u64)) -> bool {
    let mut descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    descriptors.any(|entry| fs::metadata(entry.path()).is_ok_and(|file| (file.dev(), file.ino()) == identity))
}

fn program_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).map_or_else(|_| "?".into(), |name| name.trim_end().into())
}
