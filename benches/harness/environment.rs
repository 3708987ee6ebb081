//! What the numbers belong to: the machine, its software, and how busy it was.

use crate::process;
use std::{ffi::CStr, fmt, fs};

pub struct Environment {
    cpu: String,
    cores: usize,
    kernel: String,
    glibc: String,
    load: f64,
}

impl Environment {
    pub fn look() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let cpu = read("/proc/cpuinfo");
        let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let load = read("/proc/loadavg");
        Self {
            cpu: cpu.map_or(std::env::consts::ARCH, |(_, name)| name.trim()).into(),
            cores: process::cores().len(),
            kernel: read("/proc/sys/kernel/osrelease").trim().into(),
            glibc: glibc(),
            load: load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN),
        }
    }

    /// Why the numbers may be worth little.
    pub fn warning(&self) -> Option<String> {
        let busy = self.load > 0.3 * self.cores as f64;
        busy.then(|| {
            format!(
                "WARNING: the load average was {} at the start, on {} cores. Something else runs here: \
                 expect wide spreads, and trust no close verdict.",
                self.load, self.cores
            )
        })
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let Self { cpu, cores, kernel, glibc, load } = self;
        let turnlock = env!("CARGO_PKG_VERSION");
        writeln!(
            to,
            "turnlock {turnlock}; {cpu}, {cores} cores; Linux {kernel}; glibc {glibc}; load average {load}"
        )
    }
}

fn glibc() -> String {
    // SAFETY: gives a string that is valid for ever.
    unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_string_lossy().into_owned()
}
