//! What the kernel counts: context switches, and processor time.

use std::mem::MaybeUninit;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Voluntary context switches: it went to sleep, and was woken up later.
    pub sleeps: u64,
    /// Involuntary ones: it lost its core to another one, or yielded it.
    pub preemptions: u64,
    /// Processor time in nanoseconds, of user and system.
    pub cpu_ns: u64,
}

impl Usage {
    /// Until now, of `RUSAGE_SELF`, `RUSAGE_THREAD` or `RUSAGE_CHILDREN`.
    pub fn of(whose: i32) -> Self {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: a place of the right size; all zeros is a value of it.
        let usage = unsafe {
            libc::getrusage(whose, usage.as_mut_ptr());
            usage.assume_init()
        };
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        Self {
            sleeps: usage.ru_nvcsw as u64,
            preemptions: usage.ru_nivcsw as u64,
            cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
        }
    }

    pub fn since(&self, then: &Self) -> Self {
        Self {
            sleeps: self.sleeps - then.sleeps,
            preemptions: self.preemptions - then.preemptions,
            cpu_ns: self.cpu_ns - then.cpu_ns,
        }
    }

    pub fn and(&self, other: &Self) -> Self {
        Self {
            sleeps: self.sleeps + other.sleeps,
            preemptions: self.preemptions + other.preemptions,
            cpu_ns: self.cpu_ns + other.cpu_ns,
        }
    }

    pub fn switches(&self) -> u64 {
        self.sleeps + self.preemptions
    }
}
