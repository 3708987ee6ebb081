//! The clocks: one for time limits, a cheap one for "since when", one for people.

use std::time::Duration;

/// `CLOCK_MONOTONIC`, in nanoseconds: for time limits. The wall clock may jump, this one does not.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_MONOTONIC_COARSE`, in nanoseconds: the same to within a few milliseconds at a third of the price.
pub fn coarse_monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC_COARSE)
}

/// `CLOCK_BOOTTIME`, in nanoseconds: the time since the boot, that in which the host was suspended included.
pub fn boot_ns() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// Returns the wall clock, in nanoseconds since 1970: for people to read, and for what must rise from file to file.
pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Sleeps; no cancellation point, unlike the C library's sleeps.
pub fn nap(time: Duration) {
    let time = libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: time.subsec_nanos() as libc::c_long,
    };
    // SAFETY: a timespec of ours; where the rest of an interrupted sleep goes is not asked.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, 0usize) };
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec of our own; these clocks exist on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
