//! What the kernel is asked: the time, a timer on the same clock, and which machine this is.

use nix::{
    sys::{
        time::TimeSpec,
        timerfd::{ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    },
    time::{ClockId, clock_gettime},
};
use std::{fs, io, sync::Arc, thread, time::Duration};
use turnlock_link_agent::Nanoseconds;

/// Returns the time since the boot, that of a suspension included.
pub fn now() -> Nanoseconds {
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has had this clock since 2.6.39");
    Duration::from(now).as_nanos() as Nanoseconds
}

/// A timer on the clock of [`now`]: a wait that goes on while the host is suspended is over when it resumes.
pub struct Timer {
    timer: Arc<TimerFd>,
    set_to: Option<Nanoseconds>,
}

impl Timer {
    /// Returns one that is not set. `rings` is called by a thread of its own when it is over, for as long as it returns `true`.
    pub fn new(rings: impl Fn() -> bool + Send + 'static) -> io::Result<Self> {
        let timer = Arc::new(TimerFd::new(TimerClock::CLOCK_BOOTTIME, TimerFlags::TFD_CLOEXEC)?);
        let waiting = timer.clone();
        let wait = move || while waiting.wait().is_ok() && rings() {};
        thread::Builder::new().name("timer".into()).spawn(wait)?;
        Ok(Self { timer, set_to: None })
    }

    /// Sets it to this time; `None`: it is not set.
    pub fn set(&mut self, at: Option<Nanoseconds>) -> io::Result<()> {
        if self.set_to != at {
            match at {
                // Zero would mean that it is not set.
                Some(at) => {
                    let at = TimeSpec::from(Duration::from_nanos(at.max(1)));
                    self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
                }
                None => self.timer.unset()?,
            }
            self.set_to = at;
        }
        Ok(())
    }
}

/// Returns what names this machine, and stays over boots.
pub fn machine() -> io::Result<String> {
    let id =
        fs::read_to_string("/etc/machine-id").or_else(|_| fs::read_to_string("/var/lib/dbus/machine-id"));
    // Containers may have none; their kernel's boot is the nearest thing that has a name.
    Ok(id.or_else(|_| fs::read_to_string("/proc/sys/kernel/random/boot_id"))?.trim().into())
}
