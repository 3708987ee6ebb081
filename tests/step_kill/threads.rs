//! Where the threads of other processes stand.

use std::fs;

/// The state of each thread of a process but one, as `/proc/PID/task/TID/stat` has it after the name, see proc(5).
pub fn states(process: u32, but: u32) -> impl Iterator<Item = char> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let others = threads.filter(move |thread| thread.file_name().to_str() != Some(&but.to_string()));
    let stats = others.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    stats.filter_map(|stat| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()))
}

/// Waits until no thread of these processes runs but that one: each sleeps, is stopped, or is no more.
pub fn come_to_rest(processes: &[u32], but: u32) {
    let runs = |process: &u32| states(*process, but).any(|state| state == 'R' || state == 'D');
    let mut looks_in_vain = 0;
    // One that was seen asleep may have been woken by one that was looked at later, and sleeps by now.
    while looks_in_vain < 2 {
        looks_in_vain = if processes.iter().any(runs) { 0 } else { looks_in_vain + 1 };
        std::thread::yield_now();
    }
}

/// Returns whether a thread of the process sleeps, and does not only yield; or is the victim, stopped on its way to sleep.
pub fn is_asleep(process: u32) -> bool {
    states(process, 0).any(|state| matches!(state, 'S' | 't'))
}
