//! On which file system a path lies, by /proc/self/mountinfo.

use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where.
    pub at: PathBuf,
    /// Its type, as mount(8) calls it.
    pub kind: String,
    /// Whether it is mounted for reading only.
    pub read_only: bool,
}

/// Returns the one that `path` lies on, which is absolute and has no symbolic link in it. Nothing: /proc does not tell.
pub fn of(path: &Path) -> Option<Mount> {
    find(&std::fs::read_to_string("/proc/self/mountinfo").ok()?, path)
}

fn find(mountinfo: &str, path: &Path) -> Option<Mount> {
    let mounts = mountinfo.lines().filter_map(parse).filter(|mount| path.starts_with(&mount.at));
    // The deepest; of those at one place the last, which hides the others.
    mounts.fold(None, |best: Option<Mount>, mount| {
        let depth = |mount: &Mount| mount.at.components().count();
        Some(best.filter(|best| depth(best) > depth(&mount)).unwrap_or(mount))
    })
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn parse(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(4);
    let (at, options) = (unescaped(fields.next()?), fields.next()?);
    let mut fields = after.split(' ');
    let (kind, super_options) = (fields.next()?.to_owned(), fields.nth(1).unwrap_or_default());
    let says_ro = |options: &str| options.split(',').any(|option| option == "ro");
    Some(Mount { at: at.into(), kind, read_only: says_ro(options) || says_ro(super_options) })
}

/// A space is written as `\040` there.
fn unescaped(field: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .into_iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(field.to_owned(), |text, (escaped, letter)| text.replace(escaped, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
25 22 0:22 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw
26 22 0:23 / /srv/my\\040disk rw - ext4 /dev/sdb ro
27 22 0:24 / /tmp rw - tmpfs tmpfs rw
28 27 0:25 / /tmp rw - overlay overlay rw,lowerdir=/a
";

    #[test]
    fn the_deepest_and_last_mount_counts() {
        let kind = |path: &str| find(SEEN, Path::new(path)).map(|mount| (mount.kind, mount.read_only));
        assert_eq!(kind("/home/a.lock"), Some(("ext4".into(), false)));
        assert_eq!(kind("/dev/shm/a.lock"), Some(("tmpfs".into(), false)));
        assert_eq!(kind("/dev/shmfoo"), Some(("ext4".into(), false)));
        assert_eq!(kind("/srv/my disk/a.lock"), Some(("ext4".into(), true)));
        assert_eq!(kind("/tmp/a.lock"), Some(("overlay".into(), false)));
        assert_eq!(find("", Path::new("/a")), None);
    }

    #[test]
    fn this_machine_is_read() {
        assert!(of(Path::new("/proc/self/maps")).is_some_and(|mount| mount.kind == "proc"));
    }
}
