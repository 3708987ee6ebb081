//! The machine's clock (`CLOCK_REALTIME`), set.

use nix::{
    sys::time::TimeSpec,
    time::{ClockId, clock_gettime, clock_settime},
};
use std::time::Duration;

/// Longer than any lease here.
const JUMP: Duration = Duration::from_secs(20);

/// How the clock is wrong; right again when it is dropped. It is all programs' of the machine.
pub struct WrongClock {
    is_ahead: bool,
}

/// Whether this was asked for: `TURNLOCK_NETWORK_CLOCK=1`.
pub fn may_be_set() -> bool {
    std::env::var_os("TURNLOCK_NETWORK_CLOCK").is_some_and(|value| value == "1")
}

impl WrongClock {
    pub fn set(is_ahead: bool) -> Self {
        jump(is_ahead);
        Self { is_ahead }
    }
}

impl Drop for WrongClock {
    fn drop(&mut self) {
        jump(!self.is_ahead);
    }
}

fn jump(is_forward: bool) {
    let now = Duration::from(clock_gettime(ClockId::CLOCK_REALTIME).unwrap());
    let then = if is_forward { now + JUMP } else { now - JUMP };
    clock_settime(ClockId::CLOCK_REALTIME, TimeSpec::from(then)).expect("root may set the clock");
}
