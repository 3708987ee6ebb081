//! The time, in nanoseconds: of the machine, and of the processor for one process.

/// `CLOCK_MONOTONIC`, the same for every process.
#[inline]
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// The processor time that process `pid` has used; 0 if it is gone.
pub fn cpu_time(pid: i32) -> u64 {
    let mut clock = 0;
    // SAFETY: a place for the clock's number.
    match unsafe { libc::clock_getcpuclockid(pid, &mut clock) } {
        0 => read(clock),
        _ => 0,
    }
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a timespec of our own.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
