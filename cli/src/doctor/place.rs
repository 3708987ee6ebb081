//! Whether a lock file lies where it can lie: file system, folder, permissions, cleaners.

use super::{
    super::{describe::quoted, escape},
    cleaners::{self, Effect},
    finding::Finding,
    mounts::{self, Mount},
};
use nix::{
    errno::Errno,
    unistd::{AccessFlags, access},
};
use std::{
    fs::{Metadata, OpenOptions},
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    path::Path,
};

/// File systems that two computers, or a program in between, may see differently, as mount(8) calls them.
const UNFIT: [&str; 13] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "lustre", "afs", "coda", "gfs2", "ocfs2", "gpfs"];
/// File systems that are the kernel's own, where no program can create a lock file.
const OF_THE_KERNEL: [&str; 12] = [
    "proc",
    "sysfs",
    "cgroup",
    "cgroup2",
    "devpts",
    "securityfs",
    "debugfs",
    "tracefs",
    "configfs",
    "pstore",
    "bpf",
    "efivarfs",
];
const STICKY: u32 = 0o1000;
/// From here on user numbers are those of people: logind(8) clears up after them.
const FIRST_OF_PEOPLE: u32 = 1000;

/// What there is to say of the place, and of the file if there is one.
pub fn findings(path: &Path, file: Option<&Metadata>) -> Vec<Finding> {
    let mut found = vec![file_system(mounts::of(path))];
    found.extend(path.parent().and_then(folder));
    match file {
        Some(file) => {
            found.push(permissions(path, file));
            found.extend(names(file));
        }
        None => found.extend(path.parent().and_then(may_not_create)),
    }
    found.push(cleaners(path, file));
    found.extend(path.parent().and_then(leftovers));
    found
}

fn file_system(mount: Option<Mount>) -> Finding {
    const ABOUT: &str = "file system";
    let Some(Mount { at, kind, read_only }) = mount else {
        return Finding::note(
            ABOUT,
            "/proc/self/mountinfo does not tell which file system it lies on",
            "mount /proc; without it some ways to find out who died are missing too",
        );
    };
    let at = escape::path(&at);
    if UNFIT.contains(&kind.as_str()) || kind.starts_with("fuse") {
        return Finding::problem(
            ABOUT,
            format!(
                "it lies on {kind}, mounted at {at}: a network or user-space file system, where mapped memory is not \
                     the same for everyone"
            ),
            "put it on a local one: in a folder of its own below /run or /dev/shm, or beside the data",
        );
    }
    if OF_THE_KERNEL.contains(&kind.as_str()) {
        return Finding::problem(
            ABOUT,
            format!(
                "it would lie on {kind}, mounted at {at}, which is the kernel's own: no file can be created there"
            ),
            "put it elsewhere: in a folder of its own below /run or /dev/shm, or beside the data",
        );
    }
    if read_only {
        return Finding::problem(
            ABOUT,
            format!("it lies on {kind}, mounted at {at} for reading only: no process can take part"),
            "put it elsewhere, or mount that for writing",
        );
    }
    match kind.as_str() {
        "overlay" => Finding::note(
            ABOUT,
            format!(
                "it lies on an overlay, mounted at {at} (a container's own root): each participant is kept by an open \
                     descriptor there, and a program that closes all descriptors counts as dead"
            ),
            "put it on a volume, or into the container's /dev/shm or /run, where a mapping keeps it",
        ),
        "tmpfs" | "ramfs" => Finding::good(
            ABOUT,
            format!("{kind}, mounted at {at}: fit for it (and empty after a reboot, which does no harm)"),
        ),
        _ => Finding::good(ABOUT, format!("{kind}, mounted at {at}: fit for it")),
    }
}

fn folder(folder: &Path) -> Option<Finding> {
    let meta = folder.metadata().ok()?;
    let is_open = meta.mode() & 0o002 != 0 && meta.mode() & STICKY == 0;
    is_open.then(|| {
        let shown = quoted(folder);
        Finding::problem(
            "folder",
            format!("everyone on this machine may delete the file or put another in its place: {shown} may be written by \
                     all, and has no sticky bit"),
            format!("chmod o-w {shown}"),
        )
    })
}

/// Of a file that is still to be created.
fn may_not_create(folder: &Path) -> Option<Finding> {
    let refused = access(folder, AccessFlags::W_OK | AccessFlags::X_OK).err()?;
    // That is said of the file system.
    (refused != Errno::EROFS).then(|| {
        Finding::problem(
            "folder",
            format!("you may not create a file in {}: {}", quoted(folder), refused.desc()),
            "run as a user who may write there, have that user create it (`turnlock create --group`), or put it elsewhere",
        )
    })
}

fn permissions(path: &Path, file: &Metadata) -> Finding {
    const ABOUT: &str = "permissions";
    let mode = file.mode() & 0o777;
    if mode & 0o007 != 0 {
        return Finding::problem(
            ABOUT,
            format!(
                "every user of this machine may open it (mode {mode:03o}), and a user who can open a lock file can \
                     block the clean-up after a death: programs refuse it"
            ),
            format!("chmod o= {}", quoted(path)),
        );
    }
    let who = format!("mode {mode:03o}, owner {}, group {}", user(file.uid()), group(file.gid()));
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(_) => Finding::good(ABOUT, format!("{who}: you may take part")),
        Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => Finding::note(
            ABOUT,
            format!("{who}: the file system is mounted for reading only, so you may look, and not take part"),
            "put it elsewhere, or mount that for writing",
        ),
        Err(_) => Finding::note(
            ABOUT,
            format!("{who}: you may look, and not take part"),
            "to take part, run as its owner; or let its owner create it for a group that you are in (`turnlock create \
             --group`)",
        ),
    }
}

fn user(uid: u32) -> String {
    uzers::get_user_by_uid(uid).map_or(uid.to_string(), |user| escape::text(&user.name().to_string_lossy()))
}

fn group(gid: u32) -> String {
    uzers::get_group_by_gid(gid)
        .map_or(gid.to_string(), |group| escape::text(&group.name().to_string_lossy()))
}

fn names(file: &Metadata) -> Option<Finding> {
    (file.nlink() > 1).then(|| {
        Finding::note(
            "names",
            format!("it has {} names (hard links): who deletes or replaces it by one of them leaves those who use another in \
                     a file of their own", file.nlink()),
            "leave it one name; `find -xdev -inum` with its inode number finds the others",
        )
    })
}

fn cleaners(path: &Path, file: Option<&Metadata>) -> Finding {
    const ABOUT: &str = "cleaners";
    let rules = cleaners::rules_about(path);
    let by = |wanted: Effect| rules.iter().find(|(_, effect)| *effect == wanted).map(|(rule, _)| rule);
    // What `turnlock` creates has it.
    let is_sticky = file.is_none_or(|file| file.mode() & STICKY != 0);
    let temporary = ["/tmp", "/var/tmp"].into_iter().find(|folder| path.starts_with(folder));
    if let Some(rule) = by(Effect::Excludes) {
        return Finding::good(
            ABOUT,
            format!("systemd-tmpfiles leaves it alone, by \"{}\"", shown(&rule.line)),
        );
    }
    if let (Some(rule), false) = (by(Effect::Ages), is_sticky) {
        return Finding::problem(
            ABOUT,
            format!(
                "systemd-tmpfiles deletes it when it looks old, by \"{}\" in {}",
                shown(&rule.line),
                escape::path(&rule.from)
            ),
            format!(
                "chmod +t {} (files with the sticky bit are left alone), or put it elsewhere",
                quoted(path)
            ),
        );
    }
    if let (Some(name), Some(folder)) = (cleaners::another(), temporary) {
        return Finding::problem(
            ABOUT,
            format!("{name} is installed, and deletes what looks old in {folder}"),
            format!("put it elsewhere, or have {name} leave it alone (--protect, --exclude)"),
        );
    }
    if let Some(rule) = by(Effect::Removes) {
        return Finding::note(
            ABOUT,
            format!(
                "systemd-tmpfiles deletes it when the rules for removal are applied, which is at boot, by \"{}\"",
                shown(&rule.line)
            ),
            "nothing, if they are not applied at another time (systemd-tmpfiles --remove)",
        );
    }
    if let Some(finding) = of_a_session(path, file) {
        return finding;
    }
    if path.parent().is_some_and(|folder| Some(folder) == temporary.map(Path::new)) {
        return Finding::note(
            ABOUT,
            "it lies bare in a folder for temporary files, where people and programs delete what looks old",
            "put it into a folder of the program's own, below /run or /dev/shm, or beside the data",
        );
    }
    match by(Effect::Ages) {
        Some(_) => Finding::good(
            ABOUT,
            "systemd-tmpfiles deletes what looks old there, and leaves this one alone for its sticky bit",
        ),
        None => Finding::good(ABOUT, "no rule of systemd-tmpfiles, tmpreaper or tmpwatch is about it"),
    }
}

/// Returns what ends with the session of the user whose file it is.
fn of_a_session(path: &Path, file: Option<&Metadata>) -> Option<Finding> {
    let is_of_people = file.is_some_and(|file| file.uid() >= FIRST_OF_PEOPLE);
    if path.starts_with("/run/user") {
        return Some(Finding::note(
            "cleaners",
            "/run/user goes away with its user's last session",
            "for what must outlive it, put it elsewhere (or `loginctl enable-linger`)",
        ));
    }
    let logind = Path::new("/run/systemd/system").exists();
    let says_no = std::fs::read_to_string("/etc/systemd/logind.conf")
        .is_ok_and(|text| text.lines().any(|line| line.trim() == "RemoveIPC=no"));
    (logind && is_of_people && path.starts_with("/dev/shm") && !says_no).then(|| {
        Finding::note(
            "cleaners",
            "systemd-logind deletes what a user has in /dev/shm when the last session of that user ends",
            "for what must outlive it, put it elsewhere, or say RemoveIPC=no in /etc/systemd/logind.conf",
        )
    })
}

fn shown(line: &str) -> String {
    escape::text(&line.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Files whose makers died.
fn leftovers(folder: &Path) -> Option<Finding> {
    let is_one = |name: &str| {
        name.strip_prefix(".turnlock-")
            .is_some_and(|rest| rest.len() == 16 && rest.bytes().all(|letter| letter.is_ascii_hexdigit()))
    };
    let left = folder.read_dir().ok()?.flatten();
    let left: Vec<_> = left.filter(|entry| entry.file_name().to_str().is_some_and(is_one)).collect();
    let first = left.first()?;
    Some(Finding::note(
        "leftovers",
        format!(
            "beside it lie {} of the names that a lock file has while it is made: if they are not made at this moment, \
                 a process was killed at it, and no process uses them",
            left.len()
        ),
        format!("rm {}", quoted(&first.path())),
    ))
}
