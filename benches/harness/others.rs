//! How much of the machine was not ours while we measured: the load at the start says little about the end.

use crate::usage::Usage;
use std::fs;

/// Processor time until now, in seconds.
pub struct Others {
    /// Of all programs, and what the hypervisor gave to other machines; and of time itself, over all cores.
    machine: Option<(f64, f64)>,
    own: f64,
}

impl Others {
    pub fn look() -> Self {
        Self { machine: machine(), own: seconds(libc::RUSAGE_SELF) + seconds(libc::RUSAGE_CHILDREN) }
    }

    /// The share of the machine that others took since then, from 0 to 1; `None` where the kernel does not tell.
    pub fn share_since(&self, then: &Self) -> Option<f64> {
        let ((busy, all), (busy_then, all_then)) = (self.machine?, then.machine?);
        let others = (busy - busy_then) - (self.own - then.own);
        Some((others / (all - all_then)).max(0.0))
    }
}

fn machine() -> Option<(f64, f64)> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let first = stat.lines().next()?.strip_prefix("cpu ")?;
    // user, nice, system, idle, waiting for a disk, interrupts, soft interrupts, stolen; what follows is in these.
    let times: Vec<f64> = first.split_whitespace().take(8).filter_map(|time| time.parse().ok()).collect();
    let [user, nice, system, idle, disk, hard, soft, stolen] = times[..] else { return None };
    let busy = user + nice + system + hard + soft + stolen;
    // SAFETY: asks for a number.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    Some((busy / ticks, (busy + idle + disk) / ticks))
}

/// Ours, or that of the children we have waited for.
fn seconds(whose: i32) -> f64 {
    Usage::of(whose).cpu_ns as f64 * 1e-9
}
