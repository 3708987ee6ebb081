//! Other processes, as /proc shows them.

/// Where a process stands among the others.
#[derive(Clone, Copy)]
struct Place {
    parent: u32,
    group: u32,
    session: u32,
}

/// Looks it up. Nothing: it has ended (whether or not its parent knows it yet), or /proc does not show it.
fn place(pid: u32) -> Option<Place> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // "pid (name) state parent group session ...", where the name may contain anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let mut numbers = fields.map(|field| field.parse().ok());
    Some(Place { parent: numbers.next()??, group: numbers.next()??, session: numbers.next()?? })
}

/// Returns whether `pid` is stopped, as far as can be seen.
pub fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Returns whether `pid` has been sent `signal`, and has not come to deal with it, as far as can be seen.
pub fn has_pending(pid: u32, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let sets =
        status.lines().filter_map(|line| line.strip_prefix("ShdPnd:").or(line.strip_prefix("SigPnd:")));
    let mut sets = sets.filter_map(|set| u64::from_str_radix(set.trim(), 16).ok());
    sets.any(|set| set & (1 << (signal - 1)) != 0)
}

/// Returns whether `pid` sleeps until something wakes it, as far as can be seen.
pub fn is_asleep(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// This process's parent, its parent, and so on, as far as they can be seen.
fn ancestors() -> impl Iterator<Item = (u32, Place)> {
    let parent_of = |place: Place| Some((place.parent, self::place(place.parent)?));
    std::iter::successors(place(std::process::id()).and_then(parent_of), move |(_, place)| parent_of(*place))
}

/// Returns whether there is such a process, as far as can be seen.
pub fn exists(pid: u32) -> bool {
    place(pid).is_some()
}

/// Returns whether this process was started by `pid`, or by a process that was, and so on.
pub fn descends_from(pid: u32) -> bool {
    ancestors().any(|(ancestor, _)| ancestor == pid)
}

/// Returns whether this process's group is orphaned: no shell of its session is left that could continue it, so the kernel does
/// not let SIGTSTP stop it. Looks at the ancestors only; one that cannot be seen is taken for such a shell.
pub fn group_is_orphaned() -> bool {
    let Some(own) = place(std::process::id()) else { return false };
    if own.parent == 0 {
        return true;
    }
    match ancestors().find(|(_, place)| (place.group, place.session) != (own.group, own.session)) {
        Some((_, other)) => other.session != own.session,
        None => false,
    }
}

/// What becomes of signals in this process; each is bit `number - 1`.
#[derive(Clone, Copy)]
pub struct SignalSets {
    pub ignored: u64,
    pub blocked: u64,
}

impl SignalSets {
    /// Of this process. None where /proc does not tell.
    pub fn own() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let set = |name: &str| {
            let set = status.lines().find_map(|line| line.strip_prefix(name));
            set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
        };
        Self { ignored: set("SigIgn:"), blocked: set("SigBlk:") }
    }
}

/// Returns whether this process is in the foreground of its terminal, as far as can be seen.
pub fn is_in_foreground() -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // state parent group session terminal foreground-group
    let fields: Vec<&str> = stat.rsplit_once(") ").map_or(Vec::new(), |(_, rest)| rest.split(' ').collect());
    matches!(fields.get(2..=5), Some([group, _, _, foreground]) if group == foreground)
}

/// Returns the name of the program that runs as `pid`, as the kernel cut it.
pub fn program_of(pid: u32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_an_ancestor_and_the_process_itself_is_not() {
        assert!(descends_from(std::os::unix::process::parent_id()));
        assert!(!descends_from(std::process::id()));
    }
}
