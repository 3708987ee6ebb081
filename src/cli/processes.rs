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

/// Whether `pid` is stopped, as far as can be seen.
pub fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Whether `pid` sleeps until something wakes it, as far as can be seen.
pub fn is_asleep(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// This process's parent, its parent, and so on, as far as they can be seen.
fn ancestors() -> impl Iterator<Item = (u32, Place)> {
    let parent_of = |place: Place| Some((place.parent, self::place(place.parent)?));
    std::iter::successors(place(std::process::id()).and_then(parent_of), move |(_, place)| parent_of(*place))
}

/// Whether there is such a process, as far as can be seen.
pub fn exists(pid: u32) -> bool {
    place(pid).is_some()
}

/// Whether this process was started by `pid`, or by a process that was, and so on.
pub fn descends_from(pid: u32) -> bool {
    ancestors().any(|(ancestor, _)| ancestor == pid)
}

/// Whether this process's group is orphaned: no shell of its session is left that could continue it, so the kernel does
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_an_ancestor_and_the_process_itself_is_not() {
        assert!(descends_from(std::os::unix::process::parent_id()));
        assert!(!descends_from(std::process::id()));
    }
}
